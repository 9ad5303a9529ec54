"""Judged claims: the file of them, the run that checks them, and how well they were told apart."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Protocol, get_args

from pydantic import TypeAdapter

from paper_qa.domain import Claim
from paper_qa.errors import QuestionError, UnknownPaperError
from paper_qa.evaluation import bootstrap, facts, measures
from paper_qa.evaluation.bootstrap import Interval, Median, Ratios, Sampled, Separation
from paper_qa.evaluation.json_lines import read_items

Label = Literal["supported", "contradicted", "not_mentioned"]


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """A sentence, the paper that it is checked against, and what the abstract makes of it.

    ``kind`` says how it was made, ``span`` has the words of the abstract that tell, and ``where``
    the line that it stands on, for complaints.
    """

    id: str
    paper_id: str
    claim: str
    label: Label
    kind: str
    span: str = ""
    where: str = field(default="", compare=False)

    @property
    def is_supported(self) -> bool:
        """Whether the abstract supports it."""
        return self.label == "supported"


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """One claim with what the checker made of it, and the milliseconds that this took."""

    judged: JudgedClaim
    checked: Claim
    ms: float

    @property
    def is_accepted(self) -> bool:
        """Whether the checker holds it for supported."""
        return self.checked.support == "supported"

    @property
    def is_right(self) -> bool:
        """Whether a supported claim was accepted, or another one was not."""
        return self.is_accepted == self.judged.is_supported


@dataclass(frozen=True, slots=True)
class Measured:
    """A measure with its interval; both are None where it does not apply."""

    value: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class ClaimReport:
    """All results of one run over claims."""

    results: tuple[ClaimResult, ...]

    @property
    def overall(self) -> Mapping[str, Measured]:
        """The measures over all claims, by their names."""
        supported = [result.judged.is_supported for result in self.results]
        accepted = [result.is_accepted for result in self.results]
        scores = [result.checked.score for result in self.results]
        lengths = [float(facts.num_words(result.judged.claim)) for result in self.results]
        found = {
            "f1": _measured(f1_ratios(accepted, supported)),
            "accuracy": _share([result.is_right for result in self.results]),
            "verdict_accuracy": _share(
                [result.checked.support == result.judged.label for result in self.results]
            ),
            "auroc": _separation(scores, supported),
            "auroc_length": _separation(lengths, supported),
            "calibration_error": _calibration(scores, supported),
            "median_ms": _measured(Median(tuple(result.ms for result in self.results))),
        }
        return MappingProxyType(found)

    @property
    def by_kind(self) -> Mapping[str, tuple[ClaimResult, ...]]:
        """The results per kind of claim: first the supported kinds, each in the file's order."""
        labels = get_args(Label)
        ordered = sorted(self.results, key=lambda result: labels.index(result.judged.label))
        kinds = dict.fromkeys(result.judged.kind for result in ordered)
        return MappingProxyType(
            {kind: tuple(r for r in self.results if r.judged.kind == kind) for kind in kinds}
        )

    @property
    def detection(self) -> Mapping[str, Measured]:
        """The share of each kind that was told right: accepted, or for other kinds not."""
        shares = {
            kind: _share([result.is_right for result in results])
            for kind, results in self.by_kind.items()
        }
        return MappingProxyType(shares)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON types, in the documented schema (``docs/evaluation.md``)."""
        overall, detection = self.overall, self.detection
        return {
            "num_claims": len(self.results),
            **_values(overall),
            "detection": _values(detection),
            "intervals": {**_intervals(overall), "detection": _intervals(detection)},
        }


class ClaimChecker(Protocol):
    """What is evaluated; ``PaperQA`` is one."""

    def check(self, claim: str, *, paper_id: str | None = None) -> Claim:
        """Say what the abstract of a paper makes of a sentence."""
        ...


_JUDGED_CLAIM = TypeAdapter(JudgedClaim)


def read_claims(path: Path) -> list[JudgedClaim]:
    """Read a file of judged claims; fields that it has beyond ours are ignored.

    Raises:
        FormatError: the file can't be read, is empty, or has a line that is no judged claim.
    """
    items = read_items(path, _JUDGED_CLAIM, name="claim", problem=_problem)
    return [replace(claim, where=where) for where, claim in items]


def run_claims(
    qa: ClaimChecker,
    claims: Sequence[JudgedClaim],
    *,
    progress: Callable[[int, int], None] | None = None,
) -> ClaimReport:
    """Check every claim once; ``progress`` hears how many of how many are done.

    Raises:
        UnknownPaperError: the library does not have the paper of a claim.
        QuestionError: a claim is too long, or has no words.
    """
    results: list[ClaimResult] = []
    for claim in claims:
        results.append(_check(qa, claim))
        if progress is not None:
            progress(len(results), len(claims))
    return ClaimReport(tuple(results))


def f1_ratios(accepted: Sequence[bool], supported: Sequence[bool]) -> Ratios:
    """Return F1, item by item: twice what is rightly accepted over all accepted and supported."""
    pairs = list(zip(accepted, supported, strict=True))
    return Ratios(
        tuple(2.0 * (taken and true) for taken, true in pairs),
        tuple(float(taken) + float(true) for taken, true in pairs),
    )


def _problem(claim: JudgedClaim) -> str | None:
    """Find what the types alone do not forbid."""
    return None if claim.claim.strip() else "'claim' is blank; write a sentence"


def _check(qa: ClaimChecker, claim: JudgedClaim) -> ClaimResult:
    start = time.perf_counter()
    try:
        checked = qa.check(claim.claim, paper_id=claim.paper_id)
    except (UnknownPaperError, QuestionError) as error:
        raise type(error)(f"{claim.where or claim.id}: {error}") from error
    return ClaimResult(claim, checked, 1000 * (time.perf_counter() - start))


def _measured(measure: Sampled) -> Measured:
    return Measured(measure.value, bootstrap.interval(measure))


def _share(hits: Sequence[bool]) -> Measured:
    return _measured(Ratios(tuple(map(float, hits)), (1.0,) * len(hits)))


def _separation(scores: Sequence[float], supported: Sequence[bool]) -> Measured:
    """Measure how well a score tells the supported claims from the others."""
    pairs = list(zip(scores, supported, strict=True))
    positives = tuple(score for score, is_supported in pairs if is_supported)
    negatives = tuple(score for score, is_supported in pairs if not is_supported)
    return _measured(Separation(positives, negatives))


def _calibration(scores: Sequence[float], supported: Sequence[bool]) -> Measured:
    if not scores:
        return Measured(None, None)
    return Measured(
        measures.calibration_error(scores, supported),
        bootstrap.calibration_interval(scores, supported),
    )


def _values(found: Mapping[str, Measured]) -> dict[str, float | None]:
    return {key: measured.value for key, measured in found.items()}


def _intervals(found: Mapping[str, Measured]) -> dict[str, list[float]]:
    return {key: list(measured.interval) for key, measured in found.items() if measured.interval}

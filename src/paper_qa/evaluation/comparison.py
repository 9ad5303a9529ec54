"""Compares two runs over the same questions, question by question: reports, or their JSON."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import BeforeValidator, Field, FiniteFloat, TypeAdapter, ValidationError

from paper_qa.errors import FormatError
from paper_qa.evaluation import bootstrap
from paper_qa.evaluation.attribution import JudgeRecord
from paper_qa.evaluation.bootstrap import (
    Difference,
    Median,
    Ratios,
    RiskCoverage,
    Sampled,
    Separation,
)
from paper_qa.evaluation.json_lines import explained, read_text
from paper_qa.evaluation.report import Report
from paper_qa.evaluation.results import JUDGED, SHARES

Weight = Annotated[float, Field(gt=0, allow_inf_nan=False)]

_NUM_NAMED = 3  # questions that a complaint names


@dataclass(frozen=True, slots=True)
class SavedQuestion:
    """What one question added to the measures of a run.

    ``measured`` has its value in each measure of ``SHARES``, None where it has no say, and
    ``weights`` what that value was divided by, if not by one.
    """

    id: str
    type: str
    answerable: bool
    confidence: FiniteFloat
    seconds: FiniteFloat
    weights: Mapping[str, Weight]
    measured: Mapping[str, FiniteFloat | None]

    def share(self, key: str) -> tuple[float, float]:
        """Return what it adds above and below the line of a measure."""
        value = self.measured.get(key)
        weight = self.weights.get(key, 1.0)
        return (0.0, 0.0) if value is None else (value * weight, weight)


def _gathered(row: Any) -> Any:
    """Put the measures of a row of the JSON, which stand beside its other fields, together."""
    if not isinstance(row, dict):
        return row
    fields = cast("dict[str, Any]", row)
    return {**fields, "measured": {key: fields[key] for key in SHARES if key in fields}}


@dataclass(frozen=True, slots=True)
class SavedReport:
    """A report as far as another one can be compared with it."""

    model: str
    questions: tuple[Annotated[SavedQuestion, BeforeValidator(_gathered)], ...]
    judge: JudgeRecord | None = None

    def over(self, types: Collection[str]) -> "SavedReport":
        """Return the questions of some types; all of them if none is named."""
        chosen = tuple(item for item in self.questions if not types or item.type in types)
        return replace(self, questions=chosen)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs over the same questions.

    Raises:
        ValueError: they are not over the same questions.
    """

    first: SavedReport
    second: SavedReport

    def __post_init__(self) -> None:
        if problem := _mismatch(self.first, self.second):
            raise ValueError(f"the reports are over different questions ({problem})")

    @property
    def has_one_judge(self) -> bool:
        """Whether the citations of both were judged by the same."""
        judges = {saved.judge.name if saved.judge else "" for saved in (self.first, self.second)}
        return len(judges) == 1

    @property
    def differences(self) -> Mapping[str, Difference]:
        """How far the second is above the first, for each measure that both have.

        The same resamples are drawn for both, so what is hard in a question cancels out. What
        two judges said is not compared: the difference may be theirs.
        """
        by_id = {item.id: item for item in self.second.questions}
        before = _measures(self.first.questions)
        after = _measures([by_id[item.id] for item in self.first.questions])
        keys = [key for key in before if self.has_one_judge or key not in JUDGED]
        found = {key: bootstrap.paired_difference(before[key], after[key]) for key in keys}
        return {key: difference for key, difference in found.items() if difference}

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON types, in the documented schema (``docs/evaluation.md``)."""
        return {
            "num_questions": len(self.first.questions),
            "models": [self.first.model, self.second.model],
            "differences": {
                key: {
                    "first": found.first,
                    "second": found.second,
                    "difference": found.value,
                    "interval": [found.low, found.high],
                    "clear": found.is_clear,
                }
                for key, found in self.differences.items()
            },
        }


_REPORT = TypeAdapter(SavedReport)


def compare(first: Report, second: Report) -> Mapping[str, Difference]:
    """Return how far ``second`` is above ``first``, per measure that both have.

    Raises:
        ValueError: they are not over the same questions.
    """
    before, after = (_REPORT.validate_python(report.to_dict()) for report in (first, second))
    return Comparison(before, after).differences


def read_comparison(first: Path, second: Path, types: Collection[str] = ()) -> Comparison:
    """Read two reports, as ``paper-qa evaluate --json`` prints them, and pair their questions.

    Raises:
        FormatError: a file is no such report, or they are not over the same questions.
    """
    before, after = _read_report(first).over(types), _read_report(second).over(types)
    if not before.questions:
        named = f" of type {' or '.join(types)}" if types else ""
        raise FormatError(f"{first}: no questions{named}; evaluate it on some")
    if problem := _mismatch(before, after):
        raise FormatError(
            f"{first} and {second} are over different questions ({problem}): "
            "evaluate both on the same file"
        )
    return Comparison(before, after)


def _read_report(path: Path) -> SavedReport:
    try:
        report = _REPORT.validate_json(read_text(path, name="report"))
    except ValidationError as error:
        hint = "give what `paper-qa evaluate --json` printed"
        raise FormatError(f"{path}: {explained(error)}; {hint}") from error
    if len({item.id for item in report.questions}) < len(report.questions):
        raise FormatError(f"{path}: an id of a question occurs twice; evaluate it anew")
    return report


def _mismatch(first: SavedReport, second: SavedReport) -> str | None:
    """Say which questions only one of the reports has; None if they have the same."""
    before, after = (
        {item.id: item.answerable for item in report.questions} for report in (first, second)
    )
    for place, ids in (
        ("first", [key for key in before if key not in after]),
        ("second", [key for key in after if key not in before]),
    ):
        if ids:
            more = ", …" if len(ids) > _NUM_NAMED else ""
            return f"{len(ids)} only in the {place}: {', '.join(ids[:_NUM_NAMED])}{more}"
    changed = [key for key in before if before[key] != after[key]]
    return f"{changed[0]} is answerable in one of them only" if changed else None


def _measures(questions: Sequence[SavedQuestion]) -> dict[str, Sampled]:
    """Return every measure, over the questions in their order."""
    able = tuple(item.confidence for item in questions if item.answerable)
    unable = tuple(item.confidence for item in questions if not item.answerable)
    return {
        **{key: _ratios([item.share(key) for item in questions]) for key in SHARES},
        "abstention_auroc": Separation(able, unable),
        "aurc": RiskCoverage(able, unable),
        "median_s": Median(tuple(item.seconds for item in questions)),
    }


def _ratios(shares: Sequence[tuple[float, float]]) -> Ratios:
    return Ratios(tuple(above for above, _ in shares), tuple(below for _, below in shares))

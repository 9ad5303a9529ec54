"""The report: the measures over groups of questions, with their intervals."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from paper_qa.evaluation import abstention, bootstrap
from paper_qa.evaluation.attribution import JudgeRecord
from paper_qa.evaluation.bootstrap import Interval, Median, Sampled
from paper_qa.evaluation.results import SHARES, QuestionResult, ratios


@dataclass(frozen=True, slots=True)
class Group:
    """The measures over some questions; a measure that does not apply to them is None."""

    num_questions: int
    values: Mapping[str, float | None]
    intervals: Mapping[str, Interval]

    def to_dict(self) -> dict[str, Any]:
        """Return the group as JSON types."""
        intervals = {key: list(interval) for key, interval in self.intervals.items()}
        return {"num_questions": self.num_questions, **self.values, "intervals": intervals}


@dataclass(frozen=True, slots=True)
class Report:
    """All results of one run, and who judged the citations, if someone did."""

    results: tuple[QuestionResult, ...]
    judge: JudgeRecord | None = None

    @property
    def model(self) -> str:
        """What answered: ``"extractive"``, or the name of the language model."""
        return ", ".join(dict.fromkeys(result.answer.model for result in self.results))

    @property
    def overall(self) -> Group:
        """The measures over all questions."""
        return summarize(self.results)

    @property
    def single_turn(self) -> Group:
        """The measures over the questions that stand alone, which need no rewriting."""
        return summarize([result for result in self.results if not result.question.history])

    @property
    def by_type(self) -> dict[str, Group]:
        """The measures per type of question, in the order of the file."""
        types = dict.fromkeys(result.question.type for result in self.results)
        return {name: self.over({name}) for name in types}

    def over(self, types: Collection[str]) -> Group:
        """Return the measures over the questions of some types, pooled."""
        return summarize([result for result in self.results if result.question.type in types])

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON types, in the documented schema (``docs/evaluation.md``)."""
        return {
            "model": self.model,
            "judge": asdict(self.judge) if self.judge else None,
            "overall": self.overall.to_dict(),
            "single_turn": self.single_turn.to_dict(),
            "by_type": {name: group.to_dict() for name, group in self.by_type.items()},
            "abstention": abstention.to_dict(self.results),
            "questions": [result.to_dict() for result in self.results],
        }


def summarize(results: Sequence[QuestionResult]) -> Group:
    """Compute every measure and its interval over some results."""
    found: dict[str, Sampled] = {
        **{key: ratios(results, key) for key in SHARES},
        "abstention_auroc": abstention.separation(results),
        "aurc": abstention.risk_coverage(results),
        "median_s": Median(tuple(result.seconds for result in results)),
    }
    values = {key: measure.value for key, measure in found.items()}
    intervals = {key: bootstrap.interval(measure) for key, measure in found.items()}
    known = {key: interval for key, interval in intervals.items() if interval}
    return Group(len(results), MappingProxyType(values), MappingProxyType(known))

"""The report: per-question results, and the measures over groups of them with their intervals."""

import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from paper_qa.domain import Answer
from paper_qa.evaluation import bootstrap, facts, measures
from paper_qa.evaluation.bootstrap import Interval, Ratios
from paper_qa.evaluation.questions import Question


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """One question with its answer, how long that took, and how many of its quotes hold."""

    question: Question
    answer: Answer
    seconds: float
    num_quotes: int
    num_valid_quotes: int

    def to_dict(self) -> dict[str, Any]:
        """Return what the question contributes to each measure; None where it has no say."""
        shares = {key: share(self) for key, share in SHARES.items()}
        return {
            "id": self.question.id,
            "type": self.question.type,
            "abstained": self.answer.abstained,
            "confidence": self.answer.confidence,
            "seconds": self.seconds,
            **{key: above / below if below else None for key, (above, below) in shares.items()},
        }


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
    """All results of one run."""

    results: tuple[QuestionResult, ...]

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
            "overall": self.overall.to_dict(),
            "single_turn": self.single_turn.to_dict(),
            "by_type": {name: group.to_dict() for name, group in self.by_type.items()},
            "questions": [result.to_dict() for result in self.results],
        }


Share = tuple[float, float]
"""What one question adds above and below the line of a measure; (0, 0) where it has no say."""

_NO_SAY: Share = (0.0, 0.0)


def _relevance(result: QuestionResult) -> dict[str, float]:
    return dict.fromkeys(result.question.gold, 1.0)


def _ranked(result: QuestionResult) -> list[str]:
    return [hit.paper.id for hit in result.answer.retrieved]


def _answerable(score: Callable[[QuestionResult], float]) -> Callable[[QuestionResult], Share]:
    """Make a score the share of a question that has gold papers."""
    return lambda result: (score(result), 1.0) if result.question.is_answerable else _NO_SAY


def _given(score: Callable[[QuestionResult], float]) -> Callable[[QuestionResult], Share]:
    """Make a score the share of an answer that was given: a refusal has no length."""
    return lambda result: _NO_SAY if result.answer.abstained else (score(result), 1.0)


def _fact_recall(result: QuestionResult) -> Share:
    wanted = result.question.facts
    text = "" if result.answer.abstained else result.answer.text
    return facts.num_facts_stated(text, wanted), len(wanted)


def _false_answer(result: QuestionResult) -> Share:
    question = result.question
    if question.is_answerable:
        return _NO_SAY
    return measures.is_false_answer(result.answer, kind=question.kind, near=question.near), 1.0


def _cited(result: QuestionResult) -> frozenset[str]:
    return measures.cited_papers(result.answer)


SHARES: Mapping[str, Callable[[QuestionResult], Share]] = MappingProxyType(
    {
        "ndcg@10": _answerable(lambda r: measures.ndcg_at_k(_ranked(r), _relevance(r), k=10)),
        "recall@5": _answerable(lambda r: measures.recall_at_k(_ranked(r), r.question.gold, k=5)),
        "recall@10": _answerable(lambda r: measures.recall_at_k(_ranked(r), r.question.gold, k=10)),
        "mrr": _answerable(lambda r: measures.reciprocal_rank(_ranked(r), r.question.gold)),
        "fact_recall": _fact_recall,
        "citation_precision": _answerable(
            lambda r: measures.citation_precision(_cited(r), r.question.gold)
        ),
        "citation_recall": _answerable(
            lambda r: measures.citation_recall(_cited(r), r.question.gold)
        ),
        "quote_validity": lambda r: (r.num_valid_quotes, r.num_quotes),
        "false_answer_rate": _false_answer,
        "false_refusal_rate": _answerable(lambda r: float(r.answer.abstained)),
        "mean_claims": _given(lambda r: len(r.answer.claims)),
        "mean_words": _given(lambda r: facts.num_words(r.answer.text)),
    }
)
"""The measures that are one sum over questions divided by another, in the order of the report."""


def ratios(results: Sequence[QuestionResult], key: str) -> Ratios:
    """Return the numerators and denominators of one measure of ``SHARES``, question by question."""
    shares = [SHARES[key](result) for result in results]
    return Ratios(tuple(above for above, _ in shares), tuple(below for _, below in shares))


def summarize(results: Sequence[QuestionResult]) -> Group:
    """Compute every measure and its interval over some results."""
    values: dict[str, float | None] = {}
    intervals: dict[str, Interval | None] = {}
    for key in SHARES:
        measured = ratios(results, key)
        values[key], intervals[key] = measured.value, bootstrap.ratio_interval(measured)
    values["abstention_auroc"], intervals["abstention_auroc"] = _abstention_auroc(results)
    seconds = [result.seconds for result in results]
    values["median_s"] = statistics.median(seconds) if seconds else None
    intervals["median_s"] = bootstrap.median_interval(seconds)
    known = {key: interval for key, interval in intervals.items() if interval}
    return Group(len(results), MappingProxyType(values), MappingProxyType(known))


def _abstention_auroc(
    results: Sequence[QuestionResult],
) -> tuple[float | None, Interval | None]:
    """Measure how well the confidence tells the answerable questions from the others."""
    able = [r.answer.confidence for r in results if r.question.is_answerable]
    unable = [r.answer.confidence for r in results if not r.question.is_answerable]
    if not (able and unable):
        return None, None
    return measures.auroc(able, unable), bootstrap.auroc_interval(able, unable)

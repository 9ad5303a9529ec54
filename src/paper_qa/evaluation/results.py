"""One question with its answer, and what it adds to each measure that is a sum over questions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from paper_qa.domain import Answer
from paper_qa.evaluation import facts, measures
from paper_qa.evaluation.attribution import Attribution
from paper_qa.evaluation.bootstrap import Ratios
from paper_qa.evaluation.questions import Question

Share = tuple[float, float]
"""What one question adds above and below the line of a measure; (0, 0) where it has no say."""

_NO_SAY: Share = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """One question with its answer, how long that took, and how many of its quotes hold.

    ``attributions`` has what the judge says of its claims; none where nobody judged them.
    """

    question: Question
    answer: Answer
    seconds: float
    num_quotes: int
    num_valid_quotes: int
    attributions: tuple[Attribution, ...] = ()

    @property
    def cited(self) -> frozenset[str]:
        """The ids of the papers that the answer cites."""
        return measures.cited_papers(self.answer)

    @property
    def ranked(self) -> tuple[str, ...]:
        """The ids of the papers that were retrieved, best first."""
        return tuple(hit.paper.id for hit in self.answer.retrieved)

    @property
    def is_false_answer(self) -> bool:
        """Whether it was answered though no abstract does."""
        question = self.question
        return not question.is_answerable and measures.is_false_answer(
            self.answer, kind=question.kind, near=question.near
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what the question contributes to each measure; None where it has no say.

        A question counts once in a measure, unless ``weights`` says what it was divided by.
        """
        shares = {key: share(self) for key, share in SHARES.items()}
        return {
            "id": self.question.id,
            "type": self.question.type,
            "answerable": self.question.is_answerable,
            "abstained": self.answer.abstained,
            "confidence": self.answer.confidence,
            "seconds": self.seconds,
            **{key: above / below if below else None for key, (above, below) in shares.items()},
            "weights": {key: shares[key][1] for key in POOLED if shares[key][1]},
        }


def ratios(results: Sequence[QuestionResult], key: str) -> Ratios:
    """Return the numerators and denominators of one measure of ``SHARES``, question by question."""
    shares = [SHARES[key](result) for result in results]
    return Ratios(tuple(above for above, _ in shares), tuple(below for _, below in shares))


def _answerable(score: Callable[[QuestionResult], float]) -> Callable[[QuestionResult], Share]:
    """Make a score the share of a question that has gold papers."""
    return lambda result: (score(result), 1.0) if result.question.is_answerable else _NO_SAY


def _given(score: Callable[[QuestionResult], float]) -> Callable[[QuestionResult], Share]:
    """Make a score the share of an answer that was given: a refusal has no length."""
    return lambda result: _NO_SAY if result.answer.abstained else (score(result), 1.0)


def _ndcg(result: QuestionResult) -> float:
    relevance = dict.fromkeys(result.question.gold, 1.0)
    return measures.ndcg_at_k(result.ranked, relevance, k=10)


def _fact_recall(result: QuestionResult) -> Share:
    wanted = result.question.facts
    text = "" if result.answer.abstained else result.answer.text
    return facts.num_facts_stated(text, wanted), len(wanted)


def _false_answer(result: QuestionResult) -> Share:
    return _NO_SAY if result.question.is_answerable else (float(result.is_false_answer), 1.0)


def _abstention_kind(result: QuestionResult) -> Share:
    reason = result.question.right_reason
    if reason is None or not result.answer.abstained:
        return _NO_SAY
    return float(result.answer.abstain_reason == reason), 1.0


def _alce_recall(result: QuestionResult) -> Share:
    """Count the claims that their citations, all together, support (Gao et al., 2023)."""
    judged = result.attributions
    return sum(item.is_supported for item in judged), len(judged)


def _alce_precision(result: QuestionResult) -> Share:
    """Count the citations that matter (Gao et al., 2023); a claim without any adds none."""
    matter = [one for item in result.attributions for one in item.citations_matter]
    return sum(matter), len(matter)


SHARES: Mapping[str, Callable[[QuestionResult], Share]] = MappingProxyType(
    {
        "ndcg@10": _answerable(_ndcg),
        "recall@5": _answerable(lambda r: measures.recall_at_k(r.ranked, r.question.gold, k=5)),
        "recall@10": _answerable(lambda r: measures.recall_at_k(r.ranked, r.question.gold, k=10)),
        "mrr": _answerable(lambda r: measures.reciprocal_rank(r.ranked, r.question.gold)),
        "fact_recall": _fact_recall,
        "citation_precision": _answerable(
            lambda r: measures.citation_precision(r.cited, r.question.gold)
        ),
        "citation_recall": _answerable(
            lambda r: measures.citation_recall(r.cited, r.question.gold)
        ),
        "quote_validity": lambda r: (r.num_valid_quotes, r.num_quotes),
        "alce_recall": _alce_recall,
        "alce_precision": _alce_precision,
        "false_answer_rate": _false_answer,
        "false_refusal_rate": _answerable(lambda r: float(r.answer.abstained)),
        "abstention_kind_accuracy": _abstention_kind,
        "mean_claims": _given(lambda r: len(r.answer.claims)),
        "mean_words": _given(lambda r: facts.num_words(r.answer.text)),
    }
)
"""The measures that are one sum over questions divided by another, in the order of the report."""

JUDGED = ("alce_recall", "alce_precision")
"""Those of ``SHARES`` that a judge is needed for."""

POOLED = ("fact_recall", "quote_validity", *JUDGED)
"""Those of ``SHARES`` to which a question may add more than one item."""

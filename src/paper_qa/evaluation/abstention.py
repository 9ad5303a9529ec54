"""When to decline: how the confidence tells what is answerable, and which reason is given.

A question counts as wrong here if it is unanswerable: any answer to it is a false one.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, get_args

from paper_qa.domain import AbstainReason
from paper_qa.evaluation import measures
from paper_qa.evaluation.bootstrap import RiskCoverage, Separation
from paper_qa.evaluation.measures import CalibrationBin
from paper_qa.evaluation.results import QuestionResult

REASONS: tuple[AbstainReason, ...] = ("not_in_abstract", "no_evidence")
"""The reasons for which an unanswerable question may rightly be declined."""


def separation(results: Sequence[QuestionResult]) -> Separation:
    """Return how well the confidence tells the answerable questions from the others."""
    return Separation(*_confidences(results))


def risk_coverage(results: Sequence[QuestionResult]) -> RiskCoverage:
    """Return how much false is answered first, if what is most confident is."""
    return RiskCoverage(*_confidences(results))


def curve(results: Sequence[QuestionResult]) -> list[tuple[float, float]]:
    """Return the points of the risk-coverage curve; none of nothing."""
    return measures.risk_coverage(*_confidences(results))


def calibration(results: Sequence[QuestionResult]) -> list[CalibrationBin]:
    """Return how many questions of each confidence are answerable."""
    return measures.calibration_bins(
        [result.answer.confidence for result in results],
        [result.question.is_answerable for result in results],
    )


def confusion(results: Sequence[QuestionResult]) -> dict[str, dict[str, int]]:
    """Count, for each reason that is right, the reasons that were given."""
    given = Counter(
        (result.question.right_reason, result.answer.abstain_reason)
        for result in results
        if result.answer.abstained
    )
    return {
        right: {reason: given[right, reason] for reason in get_args(AbstainReason)}
        for right in REASONS
    }


def to_dict(results: Sequence[QuestionResult]) -> dict[str, Any]:
    """Return what the report says about declining beyond the measures, as JSON types."""
    return {
        "confusion": confusion(results),
        "risk_coverage": [list(point) for point in curve(results)],
        "calibration": [
            {
                "num_questions": alike.num_items,
                "confidence": alike.score,
                "answerable": alike.share_true,
            }
            for alike in calibration(results)
        ],
    }


def _confidences(
    results: Sequence[QuestionResult],
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the confidences of the answerable questions and of the others."""
    able, unable = (
        tuple(
            result.answer.confidence
            for result in results
            if result.question.is_answerable == is_answerable
        )
        for is_answerable in (True, False)
    )
    return able, unable

"""The measures, one function each, as they are defined; all are between 0 and 1.

Where a measure is undefined, since no paper is relevant or a class is empty, it divides by zero:
such a question has no score, rather than a score of zero, and is not to be asked for one.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from paper_qa.domain import Answer, Citation

NUM_BINS = 10  # of the calibration error


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Items with scores that are alike: how many, their mean score, and how many came true."""

    num_items: int
    score: float
    share_true: float


def ndcg_at_k(ranked: Sequence[str], relevance: Mapping[str, float], *, k: int) -> float:
    """Return the normalised discounted cumulative gain with linear gain.

    DCG@k is the sum over ranks i of rel(i) / log2(i + 1), divided by that of the best possible
    ranking (Järvelin & Kekäläinen, ACM TOIS 20(4), 2002, with the discount that trec_eval uses).
    """
    gains = [relevance.get(paper_id, 0.0) for paper_id in ranked[:k]]
    return _dcg(gains) / _dcg(sorted(relevance.values(), reverse=True)[:k])


def recall_at_k(ranked: Sequence[str], relevant: Collection[str], *, k: int) -> float:
    """Return the share of the relevant papers that are among the first ``k``."""
    return len(set(ranked[:k]) & set(relevant)) / len(set(relevant))


def reciprocal_rank(ranked: Sequence[str], relevant: Collection[str]) -> float:
    """Return one over the rank of the first relevant paper, 0 when none is ranked."""
    for rank, paper_id in enumerate(ranked, start=1):
        if paper_id in relevant:
            return 1 / rank
    return 0.0


def citation_precision(cited: Collection[str], gold: Collection[str]) -> float:
    """Return the share of the cited papers that are gold; 0 when nothing is cited."""
    return len(set(cited) & set(gold)) / len(set(cited)) if cited else 0.0


def citation_recall(cited: Collection[str], gold: Collection[str]) -> float:
    """Return the share of the gold papers that are cited."""
    return len(set(cited) & set(gold)) / len(set(gold))


def quote_is_valid(citation: Citation, abstract: str) -> bool:
    """Tell whether the quote is, character by character, what its offsets point to."""
    in_bounds = 0 <= citation.start < citation.end <= len(abstract)
    return in_bounds and citation.quote == abstract[citation.start : citation.end]


def is_false_answer(answer: Answer, *, kind: str, near: Collection[str]) -> bool:
    """Tell whether an unanswerable question was answered.

    Setting a false premise right out of a ``near`` abstract is as good as declining, and so is
    the computed answer that no paper has the words.
    """
    if answer.claims and not cited_papers(answer):
        return any(claim.support != "computed" for claim in answer.claims)
    corrected = kind == "false_premise" and answer.premise_corrected
    return not (answer.abstained or (corrected and cited_papers(answer) & set(near)))


def cited_papers(answer: Answer) -> frozenset[str]:
    """Return the ids of the papers that the claims cite."""
    return frozenset(c.paper_id for claim in answer.claims for c in claim.citations)


def auroc(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """Return the chance that a positive scores higher than a negative, a tie counting half.

    This is the area under the ROC curve (Hanley & McNeil, Radiology 143(1), 1982).
    """
    difference = np.subtract.outer(np.asarray(positives), np.asarray(negatives))
    return float(np.sum((np.sign(difference) + 1) / 2)) / (len(positives) * len(negatives))


def risk_coverage(right: Sequence[float], wrong: Sequence[float]) -> list[tuple[float, float]]:
    """Return coverage and risk when only the most confident is answered, the two most, up to all.

    Risk is the share of what is wrong in what is answered (El-Yaniv & Wiener, JMLR 11, 2010;
    Geifman & El-Yaniv, NeurIPS 2017). Those of one confidence come in no order, so each adds the
    share of wrong ones among them: the mean over all their orders.
    """
    num_right, num_wrong = Counter(right), Counter(wrong)
    points: list[tuple[float, float]] = []
    errors = 0.0
    for score in sorted({*right, *wrong}, reverse=True):
        alike = num_right[score] + num_wrong[score]
        for _ in range(alike):
            errors += num_wrong[score] / alike
            answered = len(points) + 1
            points.append((answered / (len(right) + len(wrong)), errors / answered))
    return points


def aurc(right: Sequence[float], wrong: Sequence[float]) -> float:
    """Return the area under the risk-coverage curve: the mean of its risks.

    It is 0 at best only if nothing is wrong (Geifman, Uziel & El-Yaniv, ICLR 2019).
    """
    points = risk_coverage(right, wrong)
    return sum(risk for _, risk in points) / len(points)


def calibration_error(scores: Sequence[float], outcomes: Sequence[bool]) -> float:
    """Return the expected calibration error of probabilities, over bins of equal width.

    It is the sum over bins of the share of the items in the bin times the distance between the
    bin's mean score and its share of true outcomes (Naeini, Cooper & Hauskrecht, AAAI 2015).
    """
    gaps = calibration_gaps(scores, outcomes)
    return float(np.abs(gaps.sum(axis=0)).sum()) / len(scores)


def calibration_gaps(scores: Sequence[float], outcomes: Sequence[bool]) -> NDArray[np.float64]:
    """Return outcome minus score, a row for each item with the gap in the column of its bin.

    A score on the border of two bins is in the upper one; 1 is in the last.
    """
    gaps = np.zeros((len(scores), NUM_BINS))
    for row, (score, outcome) in enumerate(zip(scores, outcomes, strict=True)):
        gaps[row, _bin(score)] = outcome - score
    return gaps


def calibration_bins(scores: Sequence[float], outcomes: Sequence[bool]) -> list[CalibrationBin]:
    """Return the bins of the calibration error that something is in, the lowest first."""
    pairs = list(zip(scores, outcomes, strict=True))
    bins = [[pair for pair in pairs if _bin(pair[0]) == number] for number in range(NUM_BINS)]
    return [
        CalibrationBin(
            len(inside),
            sum(score for score, _ in inside) / len(inside),
            sum(outcome for _, outcome in inside) / len(inside),
        )
        for inside in bins
        if inside
    ]


def _bin(score: float) -> int:
    return min(int(score * NUM_BINS), NUM_BINS - 1)


def _dcg(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))

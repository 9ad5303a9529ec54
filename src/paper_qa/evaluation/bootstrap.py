"""Percentile bootstrap intervals, resampling questions (Efron & Tibshirani, 1993, ch. 13).

Claims are resampled in the same way. Each resample is a row of counts, how often each question was
drawn, so that all of them are computed at once as a matrix product. Seeded: the same scores give
the same interval.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from paper_qa.evaluation import measures

RESAMPLES = 2000
LEVEL = 0.95

Interval = tuple[float, float]
Floats = NDArray[np.float64]


class Sampled(Protocol):
    """A measure over items that can be computed anew over resamples of them."""

    @property
    def num_items(self) -> int:
        """How many items there are to draw from."""
        ...

    @property
    def value(self) -> float | None:
        """The measure over the items as they are; None where it is undefined."""
        ...

    def resampled(self, counts: Floats) -> Floats:
        """Return it for each row of counts, how often each item was drawn; NaN if undefined."""
        ...


@dataclass(frozen=True, slots=True)
class Ratios:
    """A measure that is a sum over questions divided by another: a mean, or a pooled share."""

    numerators: tuple[float, ...]
    denominators: tuple[float, ...]

    @property
    def num_items(self) -> int:
        """How many questions there are, with a say or without."""
        return len(self.numerators)

    @property
    def value(self) -> float | None:
        """The ratio over all questions; None where no question has a say."""
        total = sum(self.denominators)
        return sum(self.numerators) / total if total else None

    def resampled(self, counts: Floats) -> Floats:
        """Return the ratio of each resample."""
        return _divide(counts @ _floats(self.numerators), counts @ _floats(self.denominators))


@dataclass(frozen=True, slots=True)
class Median:
    """The median of some values."""

    values: tuple[float, ...]

    @property
    def num_items(self) -> int:
        """How many values there are."""
        return len(self.values)

    @property
    def value(self) -> float | None:
        """The median; None of nothing."""
        return float(np.median(self.values)) if self.values else None

    def resampled(self, counts: Floats) -> Floats:
        """Return the median of each resample: the mean of the two values in its middle."""
        values = _floats(self.values)
        order = np.argsort(values)
        passed = counts[:, order].cumsum(axis=1)
        lower, upper = (
            values[order][(passed <= rank).sum(axis=1)]
            for rank in ((len(values) - 1) // 2, len(values) // 2)
        )
        return (lower + upper) / 2


@dataclass(frozen=True, slots=True)
class Separation:
    """How well a score tells two classes apart: the AUROC. Both are drawn from together."""

    positives: tuple[float, ...]
    negatives: tuple[float, ...]

    @property
    def num_items(self) -> int:
        """How many scores there are in both classes."""
        return len(self.positives) + len(self.negatives)

    @property
    def value(self) -> float | None:
        """The AUROC; None where a class is empty."""
        both = self.positives and self.negatives
        return measures.auroc(self.positives, self.negatives) if both else None

    def resampled(self, counts: Floats) -> Floats:
        """Return the AUROC of each resample."""
        drawn, undrawn = np.split(counts, [len(self.positives)], axis=1)
        difference = np.subtract.outer(_floats(self.positives), _floats(self.negatives))
        wins = ((drawn @ ((np.sign(difference) + 1) / 2)) * undrawn).sum(axis=1)
        return _divide(wins, drawn.sum(axis=1) * undrawn.sum(axis=1))


@dataclass(frozen=True, slots=True)
class RiskCoverage:
    """How much wrong is among the most confident: the area under the risk-coverage curve."""

    right: tuple[float, ...]
    wrong: tuple[float, ...]

    @property
    def num_items(self) -> int:
        """How many confidences there are, of right and wrong ones."""
        return len(self.right) + len(self.wrong)

    @property
    def value(self) -> float | None:
        """The area; None where all are right or all are wrong, since no order matters then."""
        return measures.aurc(self.right, self.wrong) if self.right and self.wrong else None

    def resampled(self, counts: Floats) -> Floats:
        """Return the area of each resample.

        After a items with v wrong ones among them, b of one confidence with w wrong ones add
        Σ (v + j·w/b) / (a + j) for j from 1 to b, which is w + (v − a·w/b) (H(a + b) − H(a)).
        """
        scores = _floats([*self.right, *self.wrong])
        is_wrong = np.arange(self.num_items) >= len(self.right)
        levels = np.unique(scores)[::-1]
        member = (scores[:, None] == levels).astype(np.float64)
        drawn, wrong = counts @ member, counts @ (member * is_wrong[:, None])
        after = drawn.cumsum(axis=1)
        before, wrong_before = after - drawn, wrong.cumsum(axis=1) - wrong
        share = np.divide(wrong, drawn, out=np.zeros_like(wrong), where=drawn > 0)
        harmonic = np.cumsum([0.0, *(1 / np.arange(1, self.num_items + 1))])
        steps = harmonic[after.astype(np.intp)] - harmonic[before.astype(np.intp)]
        return (wrong + (wrong_before - before * share) * steps).sum(axis=1) / self.num_items


@dataclass(frozen=True, slots=True)
class Difference:
    """A measure of two runs over the same questions, and the interval of second minus first."""

    first: float
    second: float
    low: float
    high: float

    @property
    def value(self) -> float:
        """How much the second is above the first."""
        return self.second - self.first

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves zero out."""
        return self.low > 0 or self.high < 0


def interval(measure: Sampled, *, seed: int = 0) -> Interval | None:
    """Return the interval of a measure; None where it has no value."""
    if measure.value is None:
        return None
    return _percentiles(measure.resampled(_counts(measure.num_items, seed)))


def calibration_interval(
    scores: Sequence[float], outcomes: Sequence[bool], *, seed: int = 0
) -> Interval:
    """Return the interval of the calibration error, stretched to the value where that is lower.

    Noise makes a distance larger rather than smaller: all resamples may lie above the value.
    """
    gaps = _counts(len(scores), seed) @ measures.calibration_gaps(scores, outcomes)
    low, high = _percentiles(np.abs(gaps).sum(axis=1) / len(scores))
    return min(low, measures.calibration_error(scores, outcomes)), high


def paired_difference(first: Sampled, second: Sampled, *, seed: int = 0) -> Difference | None:
    """Compare two runs over the same items in the same order; None if one of them has no value."""
    if first.value is None or second.value is None:
        return None
    counts = _counts(first.num_items, seed)
    low, high = _percentiles(second.resampled(counts) - first.resampled(counts))
    return Difference(first.value, second.value, low, high)


@lru_cache(maxsize=4)  # every measure of a group draws the same resamples
def _counts(num_items: int, seed: int) -> Floats:
    shares = np.full(num_items, 1 / num_items)
    drawn = np.random.default_rng(seed).multinomial(num_items, shares, RESAMPLES)
    counts = drawn.astype(np.float64)
    counts.setflags(write=False)
    return counts


def _floats(values: Sequence[float]) -> Floats:
    return np.asarray(values, dtype=np.float64)


def _divide(numerators: Floats, denominators: Floats) -> Floats:
    """Divide; a resample that drew nothing to divide by becomes NaN."""
    undefined = np.full_like(numerators, np.nan)
    return np.divide(numerators, denominators, out=undefined, where=denominators > 0)


def _percentiles(values: NDArray[Any]) -> Interval:
    """Cut off the tails; the resamples that are undefined are left out."""
    low, high = np.nanquantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)

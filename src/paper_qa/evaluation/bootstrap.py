"""Percentile bootstrap intervals, resampling questions (Efron & Tibshirani, 1993, ch. 13).

Claims are resampled in the same way. Each resample is a row of counts, how often each question was
drawn, so that all of them are computed at once as a matrix product. Seeded: the same scores give
the same interval.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper_qa.evaluation import measures

RESAMPLES = 2000
LEVEL = 0.95

Interval = tuple[float, float]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ratios:
    """A measure that is a sum over questions divided by another: a mean, or a pooled share."""

    numerators: tuple[float, ...]
    denominators: tuple[float, ...]

    @property
    def value(self) -> float | None:
        """The ratio over all questions; None where no question has a say."""
        total = sum(self.denominators)
        return sum(self.numerators) / total if total else None


@dataclass(frozen=True, slots=True)
class Difference:
    """How much the second of two runs over the same questions is above the first."""

    value: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves zero out."""
        return self.low > 0 or self.high < 0


def ratio_interval(ratios: Ratios, *, seed: int = 0) -> Interval | None:
    """Return the interval of a mean or of a pooled share."""
    if ratios.value is None:
        return None
    return _percentiles(_resampled(ratios, _counts(len(ratios.numerators), seed)))


def median_interval(values: Sequence[float], *, seed: int = 0) -> Interval | None:
    """Return the interval of the median."""
    if not values:
        return None
    draws = np.random.default_rng(seed).integers(len(values), size=(RESAMPLES, len(values)))
    return _percentiles(np.median(np.asarray(values, dtype=np.float64)[draws], axis=1))


def auroc_interval(
    positives: Sequence[float], negatives: Sequence[float], *, seed: int = 0
) -> Interval:
    """Return the interval of the AUROC; both classes are drawn from together."""
    counts = _counts(len(positives) + len(negatives), seed)
    drawn, undrawn = counts[:, : len(positives)], counts[:, len(positives) :]
    difference = np.subtract.outer(np.asarray(positives), np.asarray(negatives))
    wins = ((drawn @ ((np.sign(difference) + 1) / 2)) * undrawn).sum(axis=1)
    return _percentiles(_divide(wins, drawn.sum(axis=1) * undrawn.sum(axis=1)))


def calibration_interval(
    scores: Sequence[float], outcomes: Sequence[bool], *, seed: int = 0
) -> Interval:
    """Return the interval of the calibration error, stretched to the value where that is lower.

    Noise makes a distance larger rather than smaller: all resamples may lie above the value.
    """
    gaps = _counts(len(scores), seed) @ measures.calibration_gaps(scores, outcomes)
    low, high = _percentiles(np.abs(gaps).sum(axis=1) / len(scores))
    return min(low, measures.calibration_error(scores, outcomes)), high


def paired_difference(first: Ratios, second: Ratios, *, seed: int = 0) -> Difference | None:
    """Compare two runs over the same questions; None where one of them has no value."""
    if first.value is None or second.value is None:
        return None
    counts = _counts(len(first.numerators), seed)
    low, high = _percentiles(_resampled(second, counts) - _resampled(first, counts))
    return Difference(second.value - first.value, low, high)


@lru_cache(maxsize=4)  # every measure of a group draws the same resamples
def _counts(num_items: int, seed: int) -> Floats:
    shares = np.full(num_items, 1 / num_items)
    drawn = np.random.default_rng(seed).multinomial(num_items, shares, RESAMPLES)
    counts = drawn.astype(np.float64)
    counts.setflags(write=False)
    return counts


def _resampled(ratios: Ratios, counts: Floats) -> Floats:
    numerators = np.asarray(ratios.numerators, dtype=np.float64)
    denominators = np.asarray(ratios.denominators, dtype=np.float64)
    return _divide(counts @ numerators, counts @ denominators)


def _divide(numerators: Floats, denominators: Floats) -> Floats:
    """Divide; a resample that drew nothing to divide by becomes NaN."""
    undefined = np.full_like(numerators, np.nan)
    return np.divide(numerators, denominators, out=undefined, where=denominators > 0)


def _percentiles(values: NDArray[Any]) -> Interval:
    """Cut off the tails; the resamples that are undefined are left out."""
    low, high = np.nanquantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)

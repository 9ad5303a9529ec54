"""The small learnt models that judge what differs between a claim and an abstract.

Two logistic heads over the measures of ``differences``: does the abstract support the claim, and if
not, does it contradict it. A sign of contradiction counts for more where all else is covered, word
for word: so each of them is there a second time, times the coverage. Where the reader is installed,
a second model of the same kind weighs its state as well. The weights are in ``models/checker.json``
and ``models/reading_checker.json``, readable, and fitted by ``tools/fit_checker.py``.
"""

import functools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper_qa.differences import FEATURES
from paper_qa.models import reader

CHECKER_FILE = "checker.json"
READING_CHECKER_FILE = "reading_checker.json"
THRESHOLD = 0.5  # more likely supported than not
FOREIGN_FIGURE_FACTOR = 0.25  # too few true claims have such a figure for the fit to learn it
SIGNS = (
    "foreign_figures",
    "figure_context",
    "figure_rebound",
    "foreign_names",
    "name_swapped",
    "negation_added",
    "negation_dropped",
    "negation_odd",
    "negation_unmet",
    "negation_lost",
    "opposite",
    "opposite_aligned",
    "direction_differs",
    "modifier_differs",
    "sides_crossed",
    "order_inverted",
    "strength_raised",
    "strength_added",
    "restriction_added",
    "replaced",
)
TERMS = (*FEATURES, *(f"{name}*covered*literal" for name in SIGNS))
READING_TERMS = (*TERMS, *(f"reader_{number}" for number in range(reader.DIM)))

Values = NDArray[np.float64]
NOT_READ: Values = np.zeros(0)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The probabilities that a claim is supported, and that it is contradicted."""

    support: float
    contradiction: float


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """A logistic model over the terms."""

    bias: float
    weights: Values

    def probability(self, terms: Values) -> float:
        """Return its probability for standardised terms."""
        return 1 / (1 + math.exp(-float(np.clip(self.bias + self.weights @ terms, -30, 30))))


@dataclass(frozen=True, slots=True, eq=False)
class Checker:
    """A fitted model: how terms are standardised, and its heads."""

    means: Values
    scales: Values
    supported: Head
    contradicted: Head

    def judge(self, differences: Values, reading: Values = NOT_READ) -> Judgement:
        """Judge a claim by what differs between it and its window, and by the reader's state."""
        terms = np.concatenate([expand(differences[np.newaxis])[0], reading])
        terms = (terms - self.means) / self.scales
        support = self.supported.probability(terms)
        if differences[FEATURES.index("foreign_figures")] > 0:
            support *= FOREIGN_FIGURE_FACTOR
        return Judgement(support, (1 - support) * self.contradicted.probability(terms))


def expand(differences: Values) -> Values:
    """Return the terms of the model, one row for each row of measures."""
    column = {name: number for number, name in enumerate(FEATURES)}
    covered = 1 - differences[:, [column["uncovered"]]]
    literal = differences[:, [column["literal"]]]
    signs = differences[:, [column[name] for name in SIGNS]]
    return np.concatenate([differences, signs * covered * literal], axis=1)


def load_checker() -> Checker:
    """Read the model that weighs words alone, on the first call."""
    return _load(CHECKER_FILE, TERMS)


def load_reading_checker() -> Checker:
    """Read the model that weighs the reader's state too, on the first call."""
    return _load(READING_CHECKER_FILE, READING_TERMS)


@functools.cache
def _load(file: str, terms: Sequence[str]) -> Checker:
    fitted = read_fitted(file, terms, ("supported", "contradicted"), "fit_checker.py")
    return Checker(fitted.means, fitted.scales, *fitted.heads)


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """What a file of a fitted model holds: how terms are standardised, two heads, and a shift."""

    means: Values
    scales: Values
    heads: tuple[Head, Head]
    shift: float


def read_fitted(file: str, names: Sequence[str], heads: tuple[str, str], tool: str) -> Fitted:
    """Read a fitted model of the package.

    Raises:
        ValueError: it was fitted on other terms than these.
    """
    path = resources.files("paper_qa.models") / file
    content: dict[str, Any] = json.loads(path.read_text("utf-8"))
    terms: Sequence[Mapping[str, Any]] = content["terms"]
    if [term["name"] for term in terms] != list(names):
        raise ValueError(f"{file} was fitted on other terms: run tools/{tool}")

    def column(key: str) -> Values:
        return np.array([term[key] for term in terms], dtype=np.float64)

    first, second = (Head(content["bias"][head], column(head)) for head in heads)
    return Fitted(column("mean"), column("scale"), (first, second), content.get("shift", 0.0))

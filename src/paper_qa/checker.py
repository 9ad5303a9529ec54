"""The small learnt model that judges what differs between a claim and an abstract.

Two logistic heads over the measures of ``differences``: does the abstract support the claim, and if
not, does it contradict it. The weights are in ``models/checker.json``, readable, and fitted by
``tools/fit_checker.py``. A sign of contradiction counts for more where all else is covered, word
for word: so each of them is there a second time, times the coverage.
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

CHECKER_FILE = "checker.json"
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

Values = NDArray[np.float64]


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
    """The fitted model: how terms are standardised, its heads, and from where on it says yes."""

    means: Values
    scales: Values
    supported: Head
    contradicted: Head
    threshold: float

    def judge(self, differences: Values) -> Judgement:
        """Judge a claim by what differs between it and its window."""
        terms = (expand(differences[np.newaxis])[0] - self.means) / self.scales
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


@functools.cache
def load_checker() -> Checker:
    """Read the model that comes with the package, on the first call."""
    fitted = read_fitted(CHECKER_FILE, TERMS, ("supported", "contradicted"), "fit_checker.py")
    return Checker(fitted.means, fitted.scales, *fitted.heads, fitted.content["threshold"])


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """What a file of a fitted model holds: how terms are standardised, two heads, and the rest."""

    means: Values
    scales: Values
    heads: tuple[Head, Head]
    content: Mapping[str, Any]


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
    return Fitted(column("mean"), column("scale"), (first, second), content)

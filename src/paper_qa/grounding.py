"""Which words of the abstracts support a sentence, if any do.

A sentence is compared with every sentence of the papers it may rest on, and with pairs of
neighbours, by meaning (word against word, rare words counting more) and by its figures: a number
that a paper does not have is not supported by it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from paper_qa.domain import Paper, Span
from paper_qa.figures import figures
from paper_qa.late_interaction import EncodedWords, encode_words
from paper_qa.sentences import split_sentences
from paper_qa.word_index import PaperWords, WordIndex

THRESHOLD = 0.5
SUPPORT_SLOPE, SUPPORT_MIDDLE = 14.0, 0.565  # of the logistic curve over the match
FOREIGN_FIGURE_FACTOR = 0.25  # for each figure that the abstract does not have
SECOND_GAIN = 0.06  # how much better a second span must make the match to be cited too


@dataclass(frozen=True, slots=True)
class Support:
    """Where a claim stands in the papers: the spans that support it, best first."""

    score: float
    spans: tuple[tuple[Paper, Span], ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Window:
    """One or two neighbouring sentences, and how well they match each word of a claim."""

    paper: Paper
    span: Span
    best: NDArray[np.float32]


class Grounder:
    """Finds the support of a sentence in papers."""

    def __init__(self, word_index: WordIndex) -> None:
        self._words = word_index

    def ground(self, sentence: str, papers: Sequence[Paper]) -> Support:
        """Return the spans that support a sentence best, and the probability that they do."""
        claim = encode_words(sentence)
        weights = self._words.weights(claim.words)
        if not claim.words or not papers:
            return Support(0.0, ())
        read = self._words.of(papers)
        windows = [
            window
            for paper in papers
            if paper.id in read
            for window in _windows(paper, claim, read[paper.id])
        ]
        if not windows:
            return Support(0.0, ())
        matches = [_match(window.best, weights) for window in windows]
        first = max(range(len(windows)), key=lambda number: _length_fair(windows, matches, number))
        chosen = [windows[first]]
        match = matches[first]
        second, better = _second(windows, windows[first], weights)
        if second is not None and better > match + SECOND_GAIN:
            chosen.append(second)
            match = better
        cited = {window.paper.id: window.paper for window in chosen}
        score = _probability(match) * _figures_factor(sentence, list(cited.values()))
        return Support(score, tuple((window.paper, window.span) for window in chosen))


def _windows(paper: Paper, claim: EncodedWords, words: PaperWords) -> Iterator[_Window]:
    if not len(words.vectors):
        return
    similarity = claim.vectors @ words.vectors.T
    sentences = split_sentences(paper.abstract)
    pairs = [Span(first.start, second.end) for first, second in pairwise(sentences)]
    title = similarity[:, words.starts < 0].max(axis=1, initial=0.0)
    for span in [*sentences, *pairs]:
        inside = words.inside(span)
        if inside.any():
            # The title names what the abstract speaks of.
            yield _Window(paper, span, np.maximum(similarity[:, inside].max(axis=1), title))


def _match(best: NDArray[np.float32], weights: NDArray[np.float64]) -> float:
    return float(weights @ best / max(weights.sum(), 1e-9))


def _length_fair(windows: Sequence[_Window], matches: Sequence[float], number: int) -> float:
    """Prefer one sentence to two, unless two are clearly better."""
    span = windows[number].span
    is_pair = any(
        other.paper.id == windows[number].paper.id
        and other.span.start == span.start
        and other.span.end < span.end
        for other in windows
    )
    return matches[number] - (SECOND_GAIN / 2 if is_pair else 0.0)


def _second(
    windows: Sequence[_Window], first: _Window, weights: NDArray[np.float64]
) -> tuple[_Window | None, float]:
    """Return the window that adds most to the first, and the match of both together."""
    apart = [
        window
        for window in windows
        if window.paper.id != first.paper.id
        or window.span.end <= first.span.start
        or window.span.start >= first.span.end
    ]
    if not apart:
        return None, 0.0
    together = [_match(np.maximum(first.best, window.best), weights) for window in apart]
    best = int(np.argmax(together))
    return apart[best], together[best]


def _probability(match: float) -> float:
    return 1 / (1 + math.exp(-SUPPORT_SLOPE * (match - SUPPORT_MIDDLE)))


def _figures_factor(sentence: str, papers: Sequence[Paper]) -> float:
    known = [figure for paper in papers for figure in figures(f"{paper.title} {paper.abstract}")]
    foreign = [
        figure for figure in set(figures(sentence)) if not any(map(figure.is_rounded, known))
    ]
    return FOREIGN_FIGURE_FACTOR ** len(foreign)

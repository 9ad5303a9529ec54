"""A claim set against an abstract word by word.

The claim is aligned with the one to three sentences that cover it best, and with one from elsewhere
if that adds enough. A word is covered by a form or a synonym of it, or by one of like meaning.
"""

import functools
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from paper_qa.domain import Paper, Span
from paper_qa.injection import are_adjacent, is_instruction, statements
from paper_qa.lexicon import load_lexicon
from paper_qa.tokens import Token, part_stems, tokens_of
from paper_qa.word_index import PlacedWords

Likeness = NDArray[np.float32]

FORM_LIKENESS, SYNONYM_LIKENESS = 0.97, 0.85  # of a form of the same word, of a synonym
BARELY, FULLY = 0.35, 0.72  # the likeness from which a word begins to be covered, and is
ALIGNED = 0.6  # how much of a word must be covered for its place to count
SENTENCE_PRICE = 0.015  # what another sentence in the window must add to the coverage
SECOND_GAIN = 0.15  # what a sentence from elsewhere must add to it
MAX_SENTENCES = 3


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A paper, its tokens (those of the title before zero), and how like the claim's they are."""

    paper: Paper
    tokens: tuple[Token, ...]
    likeness: Likeness


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Stretches of abstracts that a claim may rest on, and how they cover its content words."""

    spans: tuple[tuple[Source, Span], ...]
    tokens: tuple[Token, ...]
    likeness: Likeness
    covered: NDArray[np.float64]
    coverage: float
    num_sentences: int

    @property
    def worth(self) -> float:
        """The coverage, less what each sentence costs."""
        return self.coverage - SENTENCE_PRICE * self.num_sentences


@dataclass(frozen=True, slots=True, eq=False)
class AlignedClaim:
    """A claim's tokens, its best window, and the token there of each content word, or -1."""

    tokens: tuple[Token, ...]
    places: tuple[int, ...]
    window: Window
    aligned: tuple[int, ...]
    sources: tuple[Source, ...]
    claim: str

    @property
    def pairs(self) -> list[tuple[Token, Token]]:
        """The claim's words that are covered well, each with its counterpart."""
        return [
            (self.tokens[place], self.window.tokens[other])
            for place, other in zip(self.places, self.aligned, strict=True)
            if other >= 0
        ]


def read_claim(text: str) -> tuple[Token, ...]:
    """Return the tokens of a claim."""
    return tokens_of(text)


def read_source(
    claim: Sequence[Token], words: PlacedWords, paper: Paper, paper_words: PlacedWords
) -> Source:
    """Compare each word of a claim with each word of a paper."""
    tokens = paper_tokens(paper)
    likeness: Likeness = np.zeros((len(claim), len(tokens)), dtype=np.float32)
    rows = {int(start): row for row, start in enumerate(words.starts)}
    columns = {int(start): column for column, start in enumerate(paper_words.starts)}
    mine = [
        (at, rows[token.span.start]) for at, token in enumerate(claim) if token.span.start in rows
    ]
    theirs = [
        (at, columns[token.span.start])
        for at, token in enumerate(tokens)
        if token.span.start in columns
    ]
    if mine and theirs:
        cosines = (
            words.vectors[[row for _, row in mine]]
            @ paper_words.vectors[[column for _, column in theirs]].T
        )
        likeness[np.ix_([at for at, _ in mine], [at for at, _ in theirs])] = cosines
    _know_forms(claim, paper, likeness)
    return Source(paper, tokens, likeness)


@functools.lru_cache(maxsize=512)
def paper_tokens(paper: Paper) -> tuple[Token, ...]:
    """Return the tokens of a paper; those of the title end before zero."""
    title = len(paper.title) + 1 if paper.title else 0
    return (*tokens_of(paper.title, -title), *tokens_of(paper.abstract))


def align(claim: str, tokens: Sequence[Token], sources: Sequence[Source]) -> list[AlignedClaim]:
    """Return the claim in its best window of each source, best first; none without words."""
    found = [aligned for source in sources if (aligned := _align_in(claim, tokens, source))]
    return sorted(found, key=lambda aligned: aligned.window.worth, reverse=True)


def join(aligned: AlignedClaim, sources: Sequence[Source]) -> AlignedClaim | None:
    """Return the claim with the sentence of any source that adds most, if that is enough."""
    weights = word_weights(aligned.tokens)
    apart = [
        window
        for source in sources
        for window in _windows(source, aligned.places, weights, longest=1)
        if not _overlap(window, aligned.window)
    ]
    if not apart:
        return None
    together = max(
        (_together(aligned.window, window, weights) for window in apart), key=_coverage_of
    )
    if together.coverage < aligned.window.coverage + SECOND_GAIN:
        return None
    return _aligned(aligned.claim, aligned.tokens, aligned.places, together)


def word_weights(tokens: Sequence[Token]) -> NDArray[np.float64]:
    """Return what each content word of a claim counts for."""
    return np.array([token.rarity for token in tokens if token.content]) + 0.1


def covered_by(likeness: Likeness) -> NDArray[np.float64]:
    """Return how far each word of the rows is covered by any of the columns."""
    best = likeness.max(axis=1, initial=0.0).astype(np.float64)
    return np.clip((best - BARELY) / (FULLY - BARELY), 0.0, 1.0)


def _align_in(claim: str, tokens: Sequence[Token], source: Source) -> AlignedClaim | None:
    places = tuple(at for at, token in enumerate(tokens) if token.content)
    if not places:
        return None
    windows = _windows(source, places, word_weights(tokens))
    if not windows:
        return None
    best = max(windows, key=lambda window: window.worth)
    aligned = _aligned(claim, tokens, places, best)
    return join(aligned, [source]) or aligned


def _aligned(
    claim: str, tokens: Sequence[Token], places: tuple[int, ...], window: Window
) -> AlignedClaim:
    sources = tuple({id(source): source for source, _ in window.spans}.values())
    return AlignedClaim(tuple(tokens), places, window, _places_in(window, places), sources, claim)


def _coverage_of(window: Window) -> float:
    return window.coverage


def _overlap(one: Window, other: Window) -> bool:
    return any(
        source is another and span.start < inside.end and inside.start < span.end
        for source, span in one.spans
        for another, inside in other.spans
    )


def _windows(
    source: Source,
    places: Sequence[int],
    weights: NDArray[np.float64],
    longest: int = MAX_SENTENCES,
) -> list[Window]:
    sentences = statements(source.paper.abstract)
    starts = np.array([token.span.start for token in source.tokens])
    is_said = not is_instruction(source.paper.title)
    titled: list[int] = np.flatnonzero(starts < 0).tolist() if is_said else []
    title = covered_by(source.likeness[np.ix_(places, titled)])
    found: list[Window] = []
    for size in range(1, min(longest, len(sentences)) + 1):
        for first in range(len(sentences) - size + 1):
            chosen = sentences[first : first + size]
            span = Span(chosen[0].start, chosen[-1].end)
            if not are_adjacent(source.paper.abstract, chosen):
                continue
            begin, end = np.searchsorted(starts, (span.start, span.end))
            if begin == end:
                continue
            likeness = source.likeness[:, begin:end]
            # The title names what the abstract speaks of.
            covered = np.maximum(covered_by(likeness[list(places)]), title)
            coverage = float(weights @ covered / weights.sum())
            tokens = source.tokens[begin:end]
            found.append(Window(((source, span),), tokens, likeness, covered, coverage, size))
    return found


def _together(one: Window, other: Window, weights: NDArray[np.float64]) -> Window:
    first, second = (one, other) if _comes_first(one, other) else (other, one)
    covered = np.maximum(one.covered, other.covered)
    return Window(
        (*first.spans, *second.spans),
        (*first.tokens, *second.tokens),
        np.concatenate([first.likeness, second.likeness], axis=1),
        covered,
        float(weights @ covered / weights.sum()),
        one.num_sentences + other.num_sentences,
    )


def _comes_first(one: Window, other: Window) -> bool:
    (source, span), (another, inside) = one.spans[0], other.spans[0]
    return source is not another or span.start < inside.start


def _places_in(window: Window, places: Sequence[int]) -> tuple[int, ...]:
    """Return the place of each content word in the window: of equally good ones, the nearest."""
    rows = window.likeness[list(places)]
    first = rows.argmax(axis=1)
    best = rows.max(axis=1)
    found: list[int] = []
    for at, row in enumerate(rows):
        if (best[at] - BARELY) / (FULLY - BARELY) < ALIGNED:
            found.append(-1)
            continue
        near = [first[other] for other in (at - 1, at + 1) if 0 <= other < len(rows)]
        good = np.flatnonzero(row >= best[at] - 0.03)
        middle = float(np.mean(near)) if near else 0.0
        found.append(int(min(good, key=lambda place: abs(place - middle))))
    return tuple(found)


def _know_forms(claim: Sequence[Token], paper: Paper, likeness: Likeness) -> None:
    """Raise the likeness of words of one stem, of synonyms, and of the parts of compounds."""
    by_stem = _places_by_stem(paper)
    for row, token in enumerate(claim):
        if not token.content:
            continue
        for form, least in _forms(token, by_stem):
            here = by_stem.get(form, [])
            likeness[row, here] = np.maximum(likeness[row, here], least)


@functools.lru_cache(maxsize=512)
def _places_by_stem(paper: Paper) -> Mapping[str, Sequence[int]]:
    places: dict[str, list[int]] = {}
    for at, token in enumerate(paper_tokens(paper)):
        for part in {token.stem, *part_stems(token.word)}:
            places.setdefault(part, []).append(at)
    return places


def _forms(token: Token, known: Container[str]) -> Iterator[tuple[str, float]]:
    for synonym in load_lexicon().synonyms.get(token.stem, frozenset()):
        yield synonym, SYNONYM_LIKENESS
    parts = part_stems(token.word)
    if parts and all(part in known for part in parts):
        yield parts[-1], FORM_LIKENESS
    yield token.stem, FORM_LIKENESS

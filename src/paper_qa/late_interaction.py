"""Comparing a question with a text word by word: late interaction.

Each word has a vector that knows its context: the mean of the built-in model's last hidden states
over the word's tokens, projected to 128 dimensions. A question matches a text by how well each of
its words is matched by the best word there (MaxSim: Khattab and Zaharia, "ColBERT", 2020), rare
words counting more. No training is involved beyond the model's own: the projection keeps the
directions of the largest variance.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from paper_qa.domain import Paper, Passage, Span
from paper_qa.embedding import hidden_states
from paper_qa.words import content_words

PROJECTION_FILE = "word_projection.npy"
MODEL = "all-MiniLM-L6-v2-int8/words-128"

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class EncodedWords:
    """The content words of a text, their spans, and one vector of length 1 for each."""

    words: tuple[str, ...]
    spans: tuple[Span, ...]
    vectors: Matrix


def encode_words(text: str) -> EncodedWords:
    """Read a text of at most 256 tokens word by word; what is longer is left out."""
    hidden, offsets = hidden_states(text)
    words: list[str] = []
    spans: list[Span] = []
    rows: list[Matrix] = []
    starts = np.array([start for start, _ in offsets])
    ends = np.array([end for _, end in offsets])
    for word, span in content_words(text):
        tokens = np.flatnonzero((starts >= span.start) & (ends <= span.end) & (ends > starts))
        if tokens.size:
            words.append(word)
            spans.append(span)
            rows.append(hidden[tokens].mean(axis=0))
    matrix = np.array(rows, dtype=np.float32).reshape(len(rows), hidden.shape[1])
    return EncodedWords(tuple(words), tuple(spans), unit_rows(matrix @ _projection()))


def encode_paper(paper: Paper, passages: Sequence[Passage]) -> tuple[tuple[Span, ...], Matrix]:
    """Read a paper's passages; spans are of the abstract, those of the title are below zero."""
    spans: list[Span] = []
    rows: list[Matrix] = []
    for number, passage in enumerate(passages):
        title = f"{paper.title}\n" if paper.title else ""
        encoded = encode_words(title + paper.abstract[passage.start : passage.end])
        shift = passage.start - len(title)
        for span, row in zip(encoded.spans, encoded.vectors, strict=True):
            if span.start < len(title):
                if number == 0:
                    spans.append(Span(span.start - len(title), span.end - len(title)))
                    rows.append(row)
            else:
                spans.append(Span(span.start + shift, span.end + shift))
                rows.append(row)
    return tuple(spans), np.array(rows, dtype=np.float32).reshape(len(rows), _projection().shape[1])


def max_sim(question: Matrix, weights: NDArray[np.float64], text: Matrix) -> float:
    """Return the weighted mean, over the question's words, of the best cosine in the text."""
    if not len(question) or not len(text) or weights.sum() <= 0:
        return 0.0
    best = (question @ text.T).max(axis=1)
    return float(weights @ best / weights.sum())


def unit_rows(matrix: Matrix) -> Matrix:
    """Scale rows to length 1; a row of zeros stays one."""
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix / np.maximum(lengths, 1e-9)


@functools.cache
def _projection() -> Matrix:
    """Return the projection, one column for each of its dimensions."""
    with (resources.files("paper_qa.models") / PROJECTION_FILE).open("rb") as file:
        return np.load(file, allow_pickle=False).astype(np.float32)

"""Comparing a question with a text word by word: late interaction.

Each word has a vector that knows its context: the mean of the built-in model's last hidden states
over the word's tokens, projected to 160 dimensions. A question matches a text by how well each of
its words is matched by the best word there (MaxSim: Khattab and Zaharia, "ColBERT", 2020), rare
words counting more. No training is involved beyond the model's own: the projection keeps the
directions of the largest variance.
"""

import functools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from paper_qa.domain import Span
from paper_qa.embedding import hidden_states, mean_vector
from paper_qa.models import model_name
from paper_qa.vector_cache import WordVectors
from paper_qa.words import content_words

INT8_MAX = 127
PROJECTION_FILE = "word_projection.npy"

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class EncodedWords:
    """The content words of a text, their spans, and one vector of length 1 for each."""

    words: tuple[str, ...]
    spans: tuple[Span, ...]
    vectors: Matrix

    def packed(self) -> WordVectors:
        """Return them as they are kept: a byte for each number."""
        scales: Matrix = np.abs(self.vectors).max(axis=1, initial=1e-9) / INT8_MAX
        matrix = np.rint(self.vectors / scales[:, np.newaxis]).astype(np.int8)
        spans = np.array([(span.start, span.end) for span in self.spans], dtype=np.int32)
        return WordVectors(spans.reshape(-1, 2), matrix, scales)


def encode_words(text: str) -> EncodedWords:
    """Read a text of at most 256 tokens word by word; what is longer is left out."""
    return _words_of(text, *hidden_states(text))


def read_texts(texts: Sequence[str], num_threads: int) -> list[tuple[Matrix, EncodedWords]]:
    """Return the vector of each text, as the built-in embedding has it, and its words.

    Not too many texts at once: the states of all their tokens are kept until the end.
    """
    with ThreadPoolExecutor(num_threads, "paper-qa-read") as pool:
        states = list(pool.map(hidden_states, texts))
    # Only now: numpy's own threads and those of the pool would keep each other waiting.
    return [
        (mean_vector(hidden), _words_of(text, hidden, offsets))
        for text, (hidden, offsets) in zip(texts, states, strict=True)
    ]


def _words_of(text: str, hidden: Matrix, offsets: Sequence[tuple[int, int]]) -> EncodedWords:
    found = content_words(text)
    starts = np.array([start for start, _ in offsets[1:-1]])
    first = np.searchsorted(starts, [span.start for _, span in found])
    last = np.searchsorted(starts, [span.end for _, span in found])
    kept = [number for number in range(len(found)) if first[number] < last[number]]
    rows = [hidden[first[number] + 1 : last[number] + 1].mean(axis=0) for number in kept]
    matrix = np.array(rows, dtype=np.float32).reshape(len(rows), hidden.shape[1])
    return EncodedWords(
        tuple(found[number][0] for number in kept),
        tuple(found[number][1] for number in kept),
        unit_rows(matrix @ _projection()),
    )


@functools.cache
def word_model_name() -> str:
    """Return the name under which word vectors are kept: made otherwise, named otherwise."""
    return f"{model_name()}/words-{sha256(_projection().tobytes()).hexdigest()[:8]}"


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

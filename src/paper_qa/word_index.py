"""The word vectors of the library's papers, and what each word of a question weighs there."""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from paper_qa.chunking import chunk_paper
from paper_qa.domain import Paper, Span
from paper_qa.embedding import available_cores, num_tokens
from paper_qa.late_interaction import MODEL, Matrix, encode_paper, encode_words
from paper_qa.library import Library
from paper_qa.questions import Question
from paper_qa.vector_cache import SentenceVectors

RARITY_EXPONENT = 0.7  # how much more the rare words count
BACKGROUND_WEIGHT = 0.4  # of a word that is only in the conversation before the question
INT8_MAX = 127


@dataclass(frozen=True, slots=True, eq=False)
class PaperWords:
    """The content words of a paper: spans in the abstract (below zero: in the title), vectors."""

    spans: tuple[Span, ...]
    vectors: Matrix


@dataclass(frozen=True, slots=True, eq=False)
class QuestionWords:
    """The content words of a question, their vectors and how much each counts."""

    words: tuple[str, ...]
    vectors: Matrix
    weights: NDArray[np.float64]


class WordIndex:
    """Reads papers word by word, each once, and keeps what it read in the library."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def of(self, papers: Sequence[Paper]) -> dict[str, PaperWords]:
        """Return the words of papers; those not read before are read now."""
        kept = self._library.sentence_vectors(MODEL, [paper.id for paper in papers])
        missing = [paper for paper in papers if paper.id not in kept and paper.abstract]
        if missing:
            with ThreadPoolExecutor(available_cores()) as pool:
                new = dict(
                    zip((p.id for p in missing), pool.map(_read_paper, missing), strict=True)
                )
            self._library.store_sentence_vectors(MODEL, new)
            kept |= new
        return {paper.id: _unpacked(kept[paper.id]) for paper in papers if paper.id in kept}

    def read_question(self, question: Question) -> QuestionWords:
        """Read a question; what the conversation was about before counts for less."""
        asked = encode_words(question.query)
        words, vectors = asked.words, asked.vectors
        weights = [self._weight(word) for word in words]
        if question.background:
            before = encode_words(question.background)
            new = [row for row, word in enumerate(before.words) if word not in set(words)]
            words += tuple(before.words[row] for row in new)
            vectors = np.concatenate([vectors, before.vectors[new]])
            weights += [BACKGROUND_WEIGHT * self._weight(before.words[row]) for row in new]
        return QuestionWords(words, vectors, np.array(weights, dtype=np.float64))

    def weights(self, words: Sequence[str]) -> NDArray[np.float64]:
        """Return how much each word counts."""
        return np.array([self._weight(word) for word in words], dtype=np.float64)

    def _weight(self, word: str) -> float:
        """Return a power of the inverse document frequency (Robertson and Zaragoza, 2009)."""
        num_papers, count = self._library.num_papers(), self._library.num_papers_with(word)
        idf = math.log(1 + (num_papers - count + 0.5) / (count + 0.5))
        return idf**RARITY_EXPONENT


def _read_paper(paper: Paper) -> SentenceVectors:
    spans, vectors = encode_paper(paper, chunk_paper(paper, num_tokens))
    scales: Matrix = np.abs(vectors).max(axis=1, initial=1e-9) / INT8_MAX
    matrix = np.rint(vectors / scales[:, np.newaxis]).astype(np.int8)
    return SentenceVectors(spans, matrix, scales)


def _unpacked(item: SentenceVectors) -> PaperWords:
    return PaperWords(item.spans, item.matrix.astype(np.float32) * item.scales[:, np.newaxis])

"""The word vectors of the library's papers, and what each word of a question weighs there."""

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from paper_qa.chunking import chunk_paper, passage_text
from paper_qa.cores import available_cores
from paper_qa.domain import Paper, Passage, Span
from paper_qa.embedding import num_tokens
from paper_qa.late_interaction import Matrix, encode_words, read_texts, word_model_name
from paper_qa.library import Library
from paper_qa.questions import Question
from paper_qa.vector_cache import WordVectors

RARITY_EXPONENT = 0.7  # how much more the rare words count
BACKGROUND_WEIGHT = 0.4  # of a word that is only in the conversation before the question
NUM_PAPERS_KEPT = 512  # in memory, about 50 kB each

Places = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class PlacedWords:
    """The content words of a text, by where they start; those of a paper's title below zero."""

    starts: Places
    vectors: Matrix

    def inside(self, span: Span) -> NDArray[np.bool_]:
        """Tell of each word whether it is in this stretch of the abstract."""
        return (self.starts >= span.start) & (self.starts < span.end)

    def part(self, span: Span) -> "PlacedWords":
        """Return the words of a stretch, as a text of its own that was read in its place."""
        inside = self.inside(span)
        return PlacedWords(self.starts[inside] - span.start, self.vectors[inside])


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
        self._kept: OrderedDict[Paper, PlacedWords] = OrderedDict()
        self._latest: tuple[Question, int, QuestionWords] | None = None
        self._lock = Lock()

    def of(self, papers: Sequence[Paper]) -> dict[str, PlacedWords]:
        """Return the words of papers that have an abstract; those not read before are read now."""
        with self._lock:
            known = {paper: self._kept[paper] for paper in papers if paper in self._kept}
        new = self._load([paper for paper in papers if paper not in known and paper.abstract])
        with self._lock:
            self._kept |= new
            while len(self._kept) > NUM_PAPERS_KEPT:
                self._kept.popitem(last=False)
        both = known | new
        return {paper.id: both[paper] for paper in papers if paper in both}

    def _load(self, papers: Sequence[Paper]) -> dict[Paper, PlacedWords]:
        passages = {paper: chunk_paper(paper, num_tokens) for paper in papers}
        texts = {
            passage.id: passage_text(paper, passage)
            for paper, cut in passages.items()
            for passage in cut
        }
        kept = self._library.word_vectors(word_model_name(), list(texts.values()))
        missing = [text for text in texts.values() if text not in kept]
        if missing:
            read = read_texts(missing, available_cores())
            new = {text: words.packed() for text, (_, words) in zip(missing, read, strict=True)}
            self._library.store_word_vectors(word_model_name(), new)
            kept |= new
        return {
            paper: join_passages(
                paper, [(passage, *_unpacked(kept[texts[passage.id]])) for passage in cut]
            )
            for paper, cut in passages.items()
            if cut
        }

    def read_question(self, question: Question) -> QuestionWords:
        """Read a question; what the conversation was about before counts for less."""
        generation = self._library.generation
        with self._lock:
            latest = self._latest
        if latest is None or latest[:2] != (question, generation):
            latest = (question, generation, self._read_question(question))
            with self._lock:
                self._latest = latest
        return latest[2]

    def _read_question(self, question: Question) -> QuestionWords:
        asked = encode_words(question.query)
        words, vectors, weights = asked.words, asked.vectors, self.weights(asked.words)
        if question.background:
            before = encode_words(question.background)
            new = [row for row, word in enumerate(before.words) if word not in set(words)]
            added = tuple(before.words[row] for row in new)
            words += added
            vectors = np.concatenate([vectors, before.vectors[new]])
            weights = np.concatenate([weights, BACKGROUND_WEIGHT * self.weights(added)])
        return QuestionWords(words, vectors, weights)

    def weights(self, words: Sequence[str]) -> NDArray[np.float64]:
        """Return a power of each word's inverse document frequency, as BM25 has it."""
        num_papers = self._library.num_papers()
        counts = [self._library.num_papers_with(word) for word in words]
        idf = [math.log(1 + (num_papers - count + 0.5) / (count + 0.5)) for count in counts]
        return np.array(idf, dtype=np.float64) ** RARITY_EXPONENT


def place_words(text: str) -> PlacedWords:
    """Read a text of at most 256 tokens word by word; what is longer is left out."""
    read = encode_words(text)
    starts = np.array([span.start for span in read.spans], dtype=np.int32)
    return PlacedWords(starts, read.vectors)


def join_passages(paper: Paper, read: Sequence[tuple[Passage, Places, Matrix]]) -> PlacedWords:
    """Put the words of a paper's passages together, those of the title once.

    Args:
        paper: the paper.
        read: each passage with the starts of its words in `passage_text`, and their vectors.
    """
    title = len(paper.title) + 1 if paper.title else 0
    starts: list[Places] = []
    rows: list[Matrix] = []
    for number, (passage, places, vectors) in enumerate(read):
        chosen = slice(None) if number == 0 else places >= title
        in_text = places[chosen]
        starts.append(np.where(in_text < title, in_text, in_text + passage.start) - title)
        rows.append(vectors[chosen])
    return PlacedWords(np.concatenate(starts), np.concatenate(rows))


def _unpacked(words: WordVectors) -> tuple[Places, Matrix]:
    return words.spans[:, 0], words.matrix.astype(np.float32) * words.scales[:, np.newaxis]

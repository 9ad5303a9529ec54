"""Vectors kept in the library file, so that nothing is embedded twice.

A vector is found again by its model and its text, so it outlives every index made from it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from paper_qa.database import Database, listed
from paper_qa.domain import Span

Vector = NDArray[np.float32]

_FLOAT32 = np.dtype("<f4")
_INT32 = np.dtype("<i4")


@dataclass(frozen=True, slots=True, eq=False)
class SentenceVectors:
    """The vectors of a paper's sentences: row ``i`` is ``matrix[i] * scales[i]``."""

    spans: tuple[Span, ...]
    matrix: NDArray[np.int8]
    scales: NDArray[np.float32]


def text_hash(text: str) -> bytes:
    """Return what a text is known by."""
    return sha256(text.encode(errors="surrogatepass")).digest()


def vector_of(blob: bytes) -> Vector:
    """Return the vector that is kept in these bytes."""
    return np.frombuffer(blob, dtype=_FLOAT32)


class VectorCache:
    """The vectors of texts, and those of the sentences of papers."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def vectors(self, model: str, texts: Sequence[str]) -> dict[str, Vector]:
        """Return those that are there, by text."""
        by_hash = {text_hash(text): text for text in texts}
        found = self.by_hash(model, list(by_hash))
        return {by_hash[digest]: vector for digest, vector in found.items()}

    def by_hash(self, model: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
        """Return those that are there, by the hash of their text."""
        found: dict[bytes, Vector] = {}
        with self._database.reading() as connection:
            for digest in hashes:
                row = connection.execute(
                    "SELECT vector FROM vectors WHERE text_hash = ? AND model = ?", (digest, model)
                ).fetchone()
                if row:
                    found[digest] = vector_of(row[0])
        return found

    def store_vectors(self, model: str, items: Mapping[str, Vector]) -> None:
        """Keep vectors by the text they are of."""
        rows = [(model, text_hash(text), _blob(vector)) for text, vector in items.items()]
        with self._database.writing() as connection:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)

    def forget_other_models(self, model: str) -> None:
        """Drop what no index of this library will ask for again."""
        with self._database.writing() as connection:
            connection.execute("DELETE FROM vectors WHERE model != ?", (model,))
            connection.execute("DELETE FROM sentence_vectors WHERE model != ?", (model,))

    def forget_other_lengths(self, model: str, dim: int) -> None:
        """Drop vectors of a model that had another length under the same name."""
        with self._database.writing() as connection:
            connection.execute(
                "DELETE FROM vectors WHERE model = ? AND length(vector) != ?",
                (model, dim * _FLOAT32.itemsize),
            )

    def sentence_vectors(self, model: str, paper_ids: Sequence[str]) -> dict[str, SentenceVectors]:
        """Return those that are there, by paper."""
        query = (
            "SELECT papers.id, spans, matrix, scales FROM sentence_vectors "
            "JOIN papers ON papers.number = paper "
            "WHERE papers.id IN (SELECT value FROM json_each(?)) AND model = ?"
        )
        with self._database.reading() as connection:
            rows = connection.execute(query, (listed(paper_ids), model)).fetchall()
        return {paper_id: _unpacked(*blobs) for paper_id, *blobs in rows}

    def store_sentence_vectors(self, model: str, items: Mapping[str, SentenceVectors]) -> None:
        """Keep them for the papers that are still in the library."""
        query = (
            "INSERT OR REPLACE INTO sentence_vectors "
            "SELECT number, ?, ?, ?, ? FROM papers WHERE id = ?"
        )
        rows = [(model, *_packed(item), paper_id) for paper_id, item in items.items()]
        with self._database.writing() as connection:
            connection.executemany(query, rows)


def _blob(vector: Vector) -> bytes:
    return np.ascontiguousarray(vector, dtype=_FLOAT32).tobytes()


def _packed(item: SentenceVectors) -> tuple[bytes, bytes, bytes]:
    spans = np.array([(span.start, span.end) for span in item.spans], dtype=_INT32)
    matrix = np.ascontiguousarray(item.matrix, dtype=np.int8)
    return spans.tobytes(), matrix.tobytes(), _blob(item.scales)


def _unpacked(spans: bytes, matrix: bytes, scales: bytes) -> SentenceVectors:
    offsets = np.frombuffer(spans, dtype=_INT32).reshape(-1, 2).tolist()
    count = len(offsets)
    return SentenceVectors(
        tuple(Span(start, end) for start, end in offsets),
        np.frombuffer(matrix, dtype=np.int8).reshape(count, -1 if count else 0),
        np.frombuffer(scales, dtype=_FLOAT32),
    )

"""Vectors kept in the library file, so that nothing is embedded twice.

A vector is found again by its model and its text, so it outlives every index made from it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from paper_qa.database import Database

Vector = NDArray[np.float32]

_FLOAT32 = np.dtype("<f4")
_INT32 = np.dtype("<i4")


@dataclass(frozen=True, slots=True, eq=False)
class WordVectors:
    """The words of a text: ``spans[i]`` is its stretch, ``matrix[i] * scales[i]`` its vector."""

    spans: NDArray[np.int32]  # (n, 2)
    matrix: NDArray[np.int8]
    scales: NDArray[np.float32]


def text_hash(text: str) -> bytes:
    """Return what a text is known by."""
    return sha256(text.encode(errors="surrogatepass")).digest()


def vector_of(blob: bytes) -> Vector:
    """Return the vector that is kept in these bytes."""
    return np.frombuffer(blob, dtype=_FLOAT32)


class VectorCache:
    """The vectors of texts, and of the words in them."""

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

    def forget_other_lengths(self, model: str, dim: int) -> None:
        """Drop vectors of a model that had another length under the same name."""
        with self._database.writing() as connection:
            connection.execute(
                "DELETE FROM vectors WHERE model = ? AND length(vector) != ?",
                (model, dim * _FLOAT32.itemsize),
            )

    def word_vectors(self, model: str, texts: Sequence[str]) -> dict[str, WordVectors]:
        """Return those that are there, by text."""
        by_hash = {text_hash(text): text for text in texts}
        query = "SELECT spans, matrix, scales FROM word_vectors WHERE text_hash = ? AND model = ?"
        found: dict[str, WordVectors] = {}
        with self._database.reading() as connection:
            for digest, text in by_hash.items():
                row = connection.execute(query, (digest, model)).fetchone()
                if row:
                    found[text] = _unpacked(*row)
        return found

    def store_word_vectors(self, model: str, items: Mapping[str, WordVectors]) -> None:
        """Keep the words of texts that are passages of the library."""
        query = (
            "INSERT OR REPLACE INTO word_vectors SELECT ?1, ?2, ?3, ?4, ?5 "
            "WHERE EXISTS (SELECT 1 FROM passages WHERE text_hash = ?2)"
        )
        rows = [(model, text_hash(text), *_packed(item)) for text, item in items.items()]
        with self._database.writing() as connection:
            connection.executemany(query, rows)


def _blob(vector: Vector) -> bytes:
    return np.ascontiguousarray(vector, dtype=_FLOAT32).tobytes()


def _packed(item: WordVectors) -> tuple[bytes, bytes, bytes]:
    spans = np.ascontiguousarray(item.spans, dtype=_INT32)
    matrix = np.ascontiguousarray(item.matrix, dtype=np.int8)
    return spans.tobytes(), matrix.tobytes(), _blob(item.scales)


def _unpacked(spans: bytes, matrix: bytes, scales: bytes) -> WordVectors:
    offsets = np.frombuffer(spans, dtype=_INT32).reshape(-1, 2)
    rows = np.frombuffer(matrix, dtype=np.int8).reshape(len(offsets), -1 if len(offsets) else 0)
    return WordVectors(offsets, rows, np.frombuffer(scales, dtype=_FLOAT32))

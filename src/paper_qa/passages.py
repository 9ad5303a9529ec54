"""Which passages the papers of the library have, and which of them the present index holds."""

import functools
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from paper_qa.database import Database, listed, read_meta, write_meta
from paper_qa.domain import Passage
from paper_qa.vector_cache import Vector, text_hash, vector_of

_PENDING_PASSAGES = "SELECT DISTINCT paper FROM passages WHERE NOT indexed"  # by the partial index


@dataclass(frozen=True, slots=True)
class FileMark:
    """A file of an index and what it must look like."""

    name: str
    size: int
    checksum: int


@dataclass(frozen=True, slots=True)
class IndexState:
    """The present index: where it is, what made it and how it must look when opened."""

    location: str  # the address of a Chroma server, or '' for a directory of ours
    name: str
    model: str
    dim: int
    num_passages: int
    num_deleted: int = 0  # of those taken out, the places on disk are still used
    files: tuple[FileMark, ...] = ()


class PassageTable:
    """The passages of the library, and the state of the index made from them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def index_state(self) -> IndexState | None:
        """Return which index is the present one, if one was made."""
        with self._database.reading() as connection:
            return _read_state(connection)

    def num_pending(self, chunking: str) -> int:
        """Count the papers that the index lacks, whole or in part."""
        query = (
            "SELECT count(*) FROM (SELECT number FROM papers WHERE chunking != ? "
            f"UNION {_PENDING_PASSAGES})"
        )
        with self._database.reading() as connection:
            return connection.execute(query, (chunking,)).fetchone()[0]

    def num_with_abstract(self) -> int:
        """Count the papers that there is something to index of."""
        query = "SELECT count(*) FROM papers WHERE abstract != ''"
        with self._database.reading() as connection:
            return connection.execute(query).fetchone()[0]

    def can_add(self, model: str) -> bool:
        """Tell whether there are passages with a vector that the present index lacks."""
        query = (
            "SELECT EXISTS (SELECT 1 FROM passages JOIN vectors "
            "ON vectors.text_hash = passages.text_hash AND model = ? WHERE NOT indexed)"
        )
        with self._database.reading() as connection:
            return bool(connection.execute(query, (model,)).fetchone()[0])

    def num_indexed(self) -> int:
        """Count the passages that the present index holds and the library still has."""
        with self._database.reading() as connection:
            query = "SELECT count(*) FROM passages WHERE indexed"
            return connection.execute(query).fetchone()[0]

    def num_not_chunked(self, chunking: str, paper_ids: Sequence[str] | None) -> int:
        """Count the papers whose passages are not cut in this way, of all or of some."""
        chosen, arguments = _chosen("id", paper_ids)
        query = f"SELECT count(*) FROM papers WHERE chunking != ? {chosen}"
        with self._database.reading() as connection:
            return connection.execute(query, (chunking, *arguments)).fetchone()[0]

    def not_chunked(self, chunking: str, paper_ids: Sequence[str] | None, k: int) -> list[str]:
        """Return the ids of up to ``k`` of them."""
        chosen, arguments = _chosen("id", paper_ids)
        query = f"SELECT id FROM papers WHERE chunking != ? {chosen} ORDER BY number LIMIT ?"
        with self._database.reading() as connection:
            return [row[0] for row in connection.execute(query, (chunking, *arguments, k))]

    def store(self, chunking: str, items: Mapping[str, Sequence[tuple[Passage, str]]]) -> None:
        """Keep the passages of papers, each with its text; those they had before go."""
        with self._database.writing() as connection:
            for paper_id, passages in items.items():
                row = connection.execute(
                    "SELECT number FROM papers WHERE id = ?", (paper_id,)
                ).fetchone()
                if row:
                    _store(connection, row[0], passages)
                    connection.execute(
                        "UPDATE papers SET chunking = ? WHERE number = ?", (chunking, row[0])
                    )

    def not_embedded(
        self, model: str, paper_ids: Sequence[str] | None, after: int, k: int
    ) -> list[tuple[int, Passage]]:
        """Return up to ``k`` passages without a vector, and their numbers, from a number on."""
        chosen, arguments = _chosen("papers.id", paper_ids)
        query = (
            "SELECT passages.number, passages.id, papers.id, start, end FROM passages "
            "JOIN papers ON papers.number = passages.paper "
            "WHERE passages.number > ? AND NOT EXISTS (SELECT 1 FROM vectors "
            "WHERE vectors.text_hash = passages.text_hash AND model = ?) "
            f"{chosen} ORDER BY passages.number LIMIT ?"
        )
        with self._database.reading() as connection:
            rows = connection.execute(query, (after, model, *arguments, k)).fetchall()
        return [(number, Passage(*fields)) for number, *fields in rows]

    def num_not_embedded(self, model: str, paper_ids: Sequence[str] | None) -> int:
        """Count the passages without a vector, of all papers or of some."""
        chosen, arguments = _chosen("papers.id", paper_ids)
        query = (
            "SELECT count(*) FROM passages JOIN papers ON papers.number = passages.paper "
            "WHERE NOT EXISTS (SELECT 1 FROM vectors "
            f"WHERE vectors.text_hash = passages.text_hash AND model = ?) {chosen}"
        )
        with self._database.reading() as connection:
            return connection.execute(query, (model, *arguments)).fetchone()[0]

    def embedded_ids(self, model: str) -> list[str]:
        """Return the ids of all passages that have a vector, in the order of their making."""
        query = (
            "SELECT id FROM passages WHERE EXISTS (SELECT 1 FROM vectors "
            "WHERE vectors.text_hash = passages.text_hash AND model = ?) ORDER BY number"
        )
        with self._database.reading() as connection:
            return [row[0] for row in connection.execute(query, (model,))]

    def passages(self, passage_ids: Sequence[str]) -> dict[str, Passage]:
        """Return those that the library has."""
        query = (
            "SELECT passages.id, papers.id, start, end FROM passages "
            "JOIN papers ON papers.number = passages.paper "
            "WHERE passages.id IN (SELECT value FROM json_each(?))"
        )
        with self._database.reading() as connection:
            rows = connection.execute(query, (listed(passage_ids),)).fetchall()
        return {row[0]: Passage(*row) for row in rows}

    def ids_of(self, paper_ids: Sequence[str]) -> list[str]:
        """Return the ids of the passages of these papers that the present index holds."""
        query = (
            "SELECT passages.id FROM passages JOIN papers ON papers.number = passages.paper "
            "WHERE indexed AND papers.id IN (SELECT value FROM json_each(?))"
        )
        with self._database.reading() as connection:
            return [row[0] for row in connection.execute(query, (listed(paper_ids),))]

    def vectors(self, model: str, passage_ids: Sequence[str]) -> dict[str, Vector]:
        """Return the vectors of those passages that the library still has, by passage id."""
        query = (
            "SELECT id, vector FROM passages JOIN vectors "
            "ON vectors.text_hash = passages.text_hash AND model = ? "
            "WHERE id IN (SELECT value FROM json_each(?))"
        )
        with self._database.reading() as connection:
            rows = connection.execute(query, (model, listed(passage_ids))).fetchall()
        return {passage_id: vector_of(blob) for passage_id, blob in rows}

    def publish(self, state: IndexState, passage_ids: Iterable[str]) -> None:
        """Make ``state`` the present index, which holds just these passages."""
        with self._database.writing() as connection:
            connection.execute("CREATE TEMP TABLE IF NOT EXISTS held (id TEXT PRIMARY KEY)")
            connection.execute("DELETE FROM temp.held")
            connection.executemany(
                "INSERT INTO temp.held VALUES (?)", ((passage_id,) for passage_id in passage_ids)
            )
            connection.execute(
                "UPDATE passages SET indexed = id IN (SELECT id FROM temp.held) "
                "WHERE indexed != (id IN (SELECT id FROM temp.held))"
            )
            connection.execute("DELETE FROM temp.held")
            write_meta(connection, "index", json.dumps(asdict(state)))


def _chosen(column: str, ids: Sequence[str] | None) -> tuple[str, tuple[str, ...]]:
    """Return a condition that holds for these ids, or for all, and its arguments."""
    if ids is None:
        return "", ()
    return f"AND {column} IN (SELECT value FROM json_each(?))", (listed(ids),)


def _store(
    connection: sqlite3.Connection, number: int, passages: Sequence[tuple[Passage, str]]
) -> None:
    """New ones first: a vector that both need must not go with the old ones."""
    connection.executemany(
        "INSERT OR IGNORE INTO passages (id, paper, start, end, text_hash) VALUES (?, ?, ?, ?, ?)",
        [
            (passage.id, number, passage.start, passage.end, text_hash(text))
            for passage, text in passages
        ],
    )
    connection.execute(
        "DELETE FROM passages WHERE paper = ? AND id NOT IN (SELECT value FROM json_each(?))",
        (number, listed(passage.id for passage, _ in passages)),
    )


def _read_state(connection: sqlite3.Connection) -> IndexState | None:
    text = read_meta(connection, "index")
    return None if text is None else _parsed(text)


@functools.lru_cache(maxsize=8)  # it is looked at several times for each search
def _parsed(text: str) -> IndexState:
    fields = json.loads(text)
    files = tuple(FileMark(**mark) for mark in fields.pop("files"))
    return IndexState(**fields, files=files)

"""The library: the papers a person keeps, in one SQLite file. The truth; the rest can be rebuilt.

Everything is committed before it is called done, and whole: papers, their places and the keyword
index change in one transaction. Several processes may have one library open.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from paper_qa.corpus import content_key, merge_papers
from paper_qa.database import Database, read_meta, write_meta
from paper_qa.domain import Paper, Scope
from paper_qa.errors import UnknownPaperError
from paper_qa.keywords import KeywordSearch
from paper_qa.paper_rows import (
    insert_paper,
    read_admitted,
    read_papers,
    storable,
    update_paper,
)
from paper_qa.passages import PassageTable
from paper_qa.vector_cache import Vector, VectorCache, WordVectors

__all__ = ["AddReport", "Library", "WordVectors"]

BATCH = 1000  # papers of one transaction: what a killed process loses at most


@dataclass(frozen=True, slots=True)
class AddReport:
    """What ``add`` did, by paper id, each once: new papers, and known ones that came again."""

    added: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()


class Library:
    """The papers, their keyword index and their vectors, in ``home/library.sqlite``.

    Raises:
        LibraryError: it can't be opened; from the methods, that it can't be read or written.
    """

    def __init__(self, home: Path) -> None:
        self.home = home.expanduser().resolve()
        self._database = Database(self.home)
        self._keywords = KeywordSearch(self._database)
        self._cache = VectorCache(self._database)
        self.passages = PassageTable(self._database)
        self._admitted: tuple[Scope, int, list[str]] | None = None

    @property
    def uuid(self) -> str:
        """What tells this library from all others."""
        return self._meta("uuid")

    @property
    def generation(self) -> int:
        """Grows with every committed change of the papers, by whichever process."""
        return int(self._meta("generation"))

    def add(self, papers: Iterable[Paper]) -> AddReport:
        """Add papers as they come, a batch at a time; what recurs is kept once."""
        added: dict[str, None] = {}
        merged: dict[str, None] = {}
        remaining = iter(papers)
        while batch := list(islice(remaining, BATCH)):
            keyed = [(paper, _key(paper)) for paper in map(storable, batch)]
            with self._database.writing() as connection:
                changed = [_add(connection, *item, added, merged) for item in keyed]
                if any(changed):
                    _bump_generation(connection)
        return AddReport(tuple(added), tuple(merged))

    def remove(self, paper_ids: Sequence[str]) -> None:
        """Remove papers with all that was kept for them.

        Raises:
            UnknownPaperError: there is no such paper; none is removed then.
        """
        with self._database.writing() as connection:
            for paper_id in dict.fromkeys(paper_ids):
                cursor = connection.execute("DELETE FROM papers WHERE id = ?", (paper_id,))
                if not cursor.rowcount:
                    raise UnknownPaperError(_unknown(connection, paper_id))
            if paper_ids:
                _bump_generation(connection)

    def paper(self, paper_id: str) -> Paper:
        """Return one paper.

        Raises:
            UnknownPaperError: there is none; the message names ids that look alike.
        """
        with self._database.reading() as connection:
            found = read_papers(connection, [paper_id])
            if not found:
                raise UnknownPaperError(_unknown(connection, paper_id))
        return found[0]

    def ids_alike(self, paper_id: str) -> list[str]:
        """Return up to three ids that may have been meant, the likeliest first."""
        with self._database.reading() as connection:
            return _closest(connection, paper_id)

    def papers(self, paper_ids: Sequence[str] | None = None) -> list[Paper]:
        """Return all papers in the order of their adding, or those of the given ids in theirs."""
        with self._database.reading() as connection:
            return read_papers(connection, paper_ids)

    def admitted(self, scope: Scope) -> Sequence[str]:
        """Return the ids of the papers within a scope, in the order of their adding.

        Those of the latest scope are kept: a conversation asks within one, question by question.

        Raises:
            UnknownPaperError: the scope names a paper that is not here.
        """
        generation = self.generation
        latest = self._admitted
        if latest is None or latest[:2] != (scope, generation):
            latest = (scope, generation, self._read_admitted(scope))
            self._admitted = latest
        return latest[2]

    def _read_admitted(self, scope: Scope) -> list[str]:
        with self._database.reading() as connection:
            for paper_id in scope.paper_ids:
                if not read_papers(connection, [paper_id]):
                    raise UnknownPaperError(_unknown(connection, paper_id))
            return read_admitted(connection, scope)

    def num_papers(self) -> int:
        """Count the papers."""
        with self._database.reading() as connection:
            return connection.execute("SELECT count(*) FROM papers").fetchone()[0]

    def keyword_search(
        self, query: str, k: int, within: Sequence[str] | None = None
    ) -> list[tuple[str, float]]:
        """Return up to ``k`` paper ids with BM25 scores above 0, best first, ties by id.

        With ``within`` only these papers are looked at; their scores are the same.
        """
        return self._keywords.search(query, k, within)

    def respelt(self, query: str, is_name: Callable[[str], bool]) -> list[str]:
        """Return words of the library that a query means and writes in another way."""
        return self._keywords.respelt(query, is_name)

    def num_papers_with(self, word: str) -> int:
        """Count the papers that have this word in one of its forms in title or abstract."""
        return self._keywords.count(word)

    def ids_with(self, words: Sequence[str]) -> list[str]:
        """Return the papers that have all of these words in title or abstract, best first."""
        return self._keywords.ids_with(words)

    def stems(self, text: str) -> list[str]:
        """Return what the keyword index makes of the words of a text, in their order."""
        return self._keywords.stems(text)

    def vectors(self, model: str, texts: Sequence[str]) -> dict[str, Vector]:
        """Return the kept vectors of those texts that have one."""
        return self._cache.vectors(model, texts)

    def store_vectors(self, model: str, items: Mapping[str, Vector]) -> None:
        """Keep vectors by the text they are of; shared by all who embed for this library."""
        self._cache.store_vectors(model, items)

    def word_vectors(self, model: str, texts: Sequence[str]) -> dict[str, WordVectors]:
        """Return the kept words of those texts that have been read."""
        return self._cache.word_vectors(model, texts)

    def store_word_vectors(self, model: str, items: Mapping[str, WordVectors]) -> None:
        """Keep the words of passages by their text, as long as a paper has the passage."""
        self._cache.store_word_vectors(model, items)

    def forget_other_models(self, model: str) -> None:
        """Drop the vectors of all models but one."""
        self._cache.forget_other_models(model)

    def forget_other_lengths(self, model: str, dim: int) -> None:
        """Drop vectors of a model that had another length under the same name."""
        self._cache.forget_other_lengths(model, dim)

    def close(self) -> None:
        """Let go of the file."""
        self._keywords.close()
        self._database.close()

    def _meta(self, key: str) -> str:
        with self._database.reading() as connection:
            return read_meta(connection, key) or ""


def _add(
    connection: sqlite3.Connection,
    paper: Paper,
    key: str,
    added: dict[str, None],
    merged: dict[str, None],
) -> bool:
    """Add one paper, or what is new in it; return whether anything changed."""
    known = _known(connection, paper, key)
    if known is None:
        paper_id = _free_id(connection, paper.id)
        insert_paper(connection, replace(paper, id=paper_id), key)
        added[paper_id] = None
        return True
    first = read_papers(connection, [known])[0]
    merged[known] = None
    both = replace(merge_papers(first, paper), abstract=first.abstract or paper.abstract)
    if both == first:
        return False
    update_paper(connection, first, both, _key(both))
    return True


def _known(connection: sqlite3.Connection, paper: Paper, key: str) -> str | None:
    """Return the id under which the library has this paper already."""
    row = connection.execute("SELECT id FROM papers WHERE content_key = ?", (key,)).fetchone()
    if row:
        return row[0]
    # The same entry with an abstract now, or without one this time.
    row = connection.execute(
        "SELECT id, title FROM papers WHERE id = ? AND (abstract = '' OR ? = '')",
        (paper.id, paper.abstract),
    ).fetchone()
    if row and row[1] and content_key(row[1], "") == content_key(paper.title, ""):
        return row[0]
    return None


def _key(paper: Paper) -> str:
    key = content_key(paper.title, paper.abstract)
    # "Introduction", without an abstract, is the title of many papers.
    return key if paper.abstract.strip() else f"{key}:{paper.id}"


def _free_id(connection: sqlite3.Connection, wanted: str) -> str:
    paper_id, count = wanted, 1
    while connection.execute("SELECT 1 FROM papers WHERE id = ?", (paper_id,)).fetchone():
        count += 1
        paper_id = f"{wanted}-{count}"
    return paper_id


def _bump_generation(connection: sqlite3.Connection) -> None:
    generation = int(read_meta(connection, "generation") or 0)
    write_meta(connection, "generation", str(generation + 1))


def _unknown(connection: sqlite3.Connection, paper_id: str) -> str:
    alike = _closest(connection, paper_id)
    hint = f"did you mean {' or '.join(map(repr, alike))}?" if alike else "see `paper-qa list`"
    return f"no paper {paper_id!r} in the library: {hint}"


def _closest(connection: sqlite3.Connection, paper_id: str) -> list[str]:
    return get_close_matches(paper_id.casefold(), _alike(connection, paper_id), n=3, cutoff=0.7)


def _alike(connection: sqlite3.Connection, paper_id: str) -> list[str]:
    """Return ids worth comparing: of a small library all, else those that begin alike."""
    (num_papers,) = connection.execute("SELECT count(*) FROM papers").fetchone()
    length = 1 if num_papers <= 2000 else 4
    rows: Iterator[tuple[str]] = connection.execute(
        "SELECT id FROM papers WHERE substr(id, 1, ?) = substr(?, 1, ?) COLLATE NOCASE LIMIT 5000",
        (length, paper_id, length),
    )
    return [row[0] for row in rows]

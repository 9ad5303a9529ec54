"""A paper as rows of the library file, and back."""

import json
import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace

from paper_qa.database import listed
from paper_qa.domain import Paper, Place, Scope

_COLUMNS = "id, title, abstract, authors, year, venue, url, retracted"
_UNSTORABLE = re.compile("[\ud800-\udfff]")


def insert_paper(connection: sqlite3.Connection, paper: Paper, key: str) -> None:
    """Keep a new paper and the places where it was found."""
    cursor = connection.execute(
        f"INSERT INTO papers ({_COLUMNS}, content_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*_row(paper), key),
    )
    _insert_places(connection, cursor.lastrowid or 0, paper.found_in)


def update_paper(connection: sqlite3.Connection, before: Paper, after: Paper, key: str) -> None:
    """Replace a paper; what was made of its text goes if the text is another."""
    row = connection.execute("SELECT number FROM papers WHERE id = ?", (before.id,)).fetchone()
    number: int = row[0]
    connection.execute(
        f"UPDATE papers SET ({_COLUMNS}) = (?, ?, ?, ?, ?, ?, ?, ?) WHERE number = ?",
        (*_row(after), number),
    )
    _insert_places(connection, number, after.found_in)
    if (before.title, before.abstract) != (after.title, after.abstract):
        connection.execute(
            "UPDATE papers SET chunking = '', content_key = ? WHERE number = ?",
            (key, number),
        )


def _insert_places(connection: sqlite3.Connection, number: int, places: Iterable[Place]) -> None:
    connection.executemany(
        "INSERT OR IGNORE INTO places VALUES (?, ?, ?)",
        [(number, place.file, place.paragraph) for place in places],
    )


def read_papers(connection: sqlite3.Connection, paper_ids: Sequence[str] | None) -> list[Paper]:
    """Return all papers in the order of their adding, or those of the given ids in theirs."""
    chosen = "" if paper_ids is None else "WHERE id IN (SELECT value FROM json_each(?))"
    arguments = () if paper_ids is None else (listed(paper_ids),)
    places: dict[int, list[Place]] = {}
    for number, file, paragraph in connection.execute(
        "SELECT paper, file, paragraph FROM places JOIN papers ON papers.number = paper "
        f"{chosen} ORDER BY places.rowid",
        arguments,
    ):
        places.setdefault(number, []).append(Place(file, paragraph))
    rows = connection.execute(
        f"SELECT number, {_COLUMNS} FROM papers {chosen} ORDER BY number", arguments
    )
    found = {row[1]: _paper(row[1:], places.get(row[0], ())) for row in rows}
    if paper_ids is None:
        return list(found.values())
    return [found[paper_id] for paper_id in dict.fromkeys(paper_ids) if paper_id in found]


def read_admitted(connection: sqlite3.Connection, scope: Scope) -> list[str]:
    """Return the ids of the papers within a scope in the order of their adding.

    Abstracts are not read: the library may be large.
    """
    rows: Iterable[tuple[str, str, int | None, str]] = connection.execute(
        "SELECT id, authors, year, venue FROM papers WHERE (:first IS NULL OR year >= :first) "
        "AND (:last IS NULL OR year <= :last) "
        "AND (:ids IS NULL OR id IN (SELECT value FROM json_each(:ids))) ORDER BY number",
        {
            "first": scope.year_from,
            "last": scope.year_to,
            "ids": listed(scope.paper_ids) if scope.paper_ids else None,
        },
    )
    papers = (
        Paper(key, "", "", tuple(json.loads(authors)), year, venue)
        for key, authors, year, venue in rows
    )
    return [paper.id for paper in papers if scope.admits(paper)]


def _paper(row: Sequence[object], places: Iterable[Place]) -> Paper:
    paper_id, title, abstract, authors, year, venue, url, retracted = row
    return Paper(
        id=str(paper_id),
        title=str(title),
        abstract=str(abstract),
        authors=tuple(json.loads(str(authors))),
        year=year if isinstance(year, int) else None,
        venue=str(venue),
        url=str(url),
        retracted=bool(retracted),
        found_in=tuple(places),
    )


def _row(paper: Paper) -> tuple[object, ...]:
    return (
        paper.id,
        paper.title,
        paper.abstract,
        json.dumps(paper.authors, ensure_ascii=False),
        paper.year,
        paper.venue,
        paper.url,
        int(paper.retracted),
    )


def storable(paper: Paper) -> Paper:
    """Replace half characters, which SQLite can't keep; the readers let none through."""
    texts = (paper.id, paper.title, paper.abstract, paper.venue, paper.url, *paper.authors)
    if not any(map(_UNSTORABLE.search, texts)):
        return paper
    return replace(
        paper,
        id=_mended(paper.id),
        title=_mended(paper.title),
        abstract=_mended(paper.abstract),
        authors=tuple(map(_mended, paper.authors)),
        venue=_mended(paper.venue),
        url=_mended(paper.url),
    )


def _mended(text: str) -> str:
    return _UNSTORABLE.sub("\ufffd", text)

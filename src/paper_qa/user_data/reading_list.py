"""The reading list: papers that a person marked, each with a note."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime

from paper_qa.domain import Paper
from paper_qa.user_data.errors import UnknownItemError
from paper_qa.user_data.serial import Serial, read_time, time_text


@dataclass(frozen=True, slots=True)
class Saved:
    """A paper of the reading list, whole: it may leave the library. ``saved_at`` is in UTC."""

    paper: Paper
    note: str
    saved_at: datetime


_PAPER = Serial(Paper)


def star(connection: sqlite3.Connection, owner: str, paper: Paper, now: datetime) -> None:
    """Add a paper; of one that is there already, the note and the time stay.

    One that was removed comes back with its note.
    """
    connection.execute(
        "INSERT INTO saved (owner, paper_id, title, saved_at, content) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (owner, paper_id) DO UPDATE "
        "SET title = excluded.title, content = excluded.content, "
        "saved_at = CASE saved_at WHEN '' THEN excluded.saved_at ELSE saved_at END",
        (owner, paper.id, paper.name, time_text(now), _PAPER.write(paper)),
    )


def unstar(connection: sqlite3.Connection, owner: str, paper_id: str) -> None:
    """Remove a paper; one that is not there is no error. A note stays, for when it comes back.

    Such a row has '' in place of the time.
    """
    connection.execute(
        "DELETE FROM saved WHERE owner = ? AND paper_id = ? AND note = ''", (owner, paper_id)
    )
    connection.execute(
        "UPDATE saved SET saved_at = '' WHERE owner = ? AND paper_id = ?", (owner, paper_id)
    )


def annotate(connection: sqlite3.Connection, owner: str, paper_id: str, note: str) -> None:
    """Set the note of a paper, '' for none; raise if it is not in the list."""
    cursor = connection.execute(
        "UPDATE saved SET note = ? WHERE owner = ? AND paper_id = ? AND saved_at <> ''",
        (note.strip(), owner, paper_id),
    )
    if not cursor.rowcount:
        raise UnknownItemError(f"no paper {paper_id!r} in the reading list: add it first")


def read_ids(connection: sqlite3.Connection, owner: str) -> frozenset[str]:
    """Return the ids of the papers."""
    rows = connection.execute(
        "SELECT paper_id FROM saved WHERE owner = ? AND saved_at <> ''", (owner,)
    )
    return frozenset(paper_id for (paper_id,) in rows)


def read_list(connection: sqlite3.Connection, owner: str) -> list[Saved]:
    """Return the papers, newest first."""
    rows = connection.execute(
        "SELECT paper_id, title, note, saved_at, content FROM saved "
        "WHERE owner = ? AND saved_at <> '' ORDER BY saved_at DESC, number DESC",
        (owner,),
    )
    return [
        # What another version kept in another way still has its title.
        Saved(
            paper=_PAPER.read(content) or Paper(paper_id, title, ""),
            note=note,
            saved_at=read_time(saved_at),
        )
        for paper_id, title, note, saved_at, content in rows
    ]

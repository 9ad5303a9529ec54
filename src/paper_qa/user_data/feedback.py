"""Feedback: what people think of answers, each with all that is needed to look into it later."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from paper_qa.domain import Answer, Turn
from paper_qa.user_data.serial import Serial, time_text

Verdict = Literal["up", "down"]


@dataclass(frozen=True, slots=True)
class Feedback:
    """A verdict on an answer; it outlives the conversation that the answer was given in.

    ``history`` is what was said before the question. ``version`` is the program's, ``library`` a
    fingerprint of what it knew. ``at`` is in UTC.
    """

    verdict: Verdict
    question: str
    answer: Answer
    at: datetime
    comment: str = ""
    model: str = ""
    version: str = ""
    library: str = ""
    history: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class GivenFeedback:
    """Feedback with the id of the exchange that it is about; it does not say whose it is."""

    exchange_id: str
    feedback: Feedback


_FEEDBACK = Serial(Feedback)


def give(connection: sqlite3.Connection, owner: str, exchange_id: str, given: Feedback) -> None:
    """Keep feedback; a changed mind replaces what it was before."""
    connection.execute(
        "INSERT INTO feedback (owner, exchange_id, given_at, content) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (owner, exchange_id) DO UPDATE "
        "SET given_at = excluded.given_at, content = excluded.content",
        (owner, exchange_id, time_text(given.at), _FEEDBACK.write(given)),
    )


def withdraw(connection: sqlite3.Connection, owner: str, exchange_id: str) -> None:
    """Delete feedback; what is not there is no error."""
    connection.execute(
        "DELETE FROM feedback WHERE owner = ? AND exchange_id = ?", (owner, exchange_id)
    )


def read_own(connection: sqlite3.Connection, owner: str) -> list[GivenFeedback]:
    """Return a person's feedback, oldest first."""
    return _readable(
        connection.execute(
            "SELECT exchange_id, content FROM feedback WHERE owner = ? ORDER BY given_at, number",
            (owner,),
        )
    )


def read_all(connection: sqlite3.Connection) -> list[GivenFeedback]:
    """Return the feedback of all people, oldest first."""
    return _readable(
        connection.execute("SELECT exchange_id, content FROM feedback ORDER BY given_at, number")
    )


def _readable(rows: Iterable[tuple[str, str]]) -> list[GivenFeedback]:
    """Leave out what another version kept in a way that we can't read; it stays in the file."""
    read = ((exchange_id, _FEEDBACK.read(content)) for exchange_id, content in rows)
    return [GivenFeedback(exchange_id, given) for exchange_id, given in read if given]

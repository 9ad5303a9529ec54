"""Conversations: what a person asked and what was answered, so that a page can show it again.

The functions take a connection inside a transaction; ``store.py`` opens those.
"""

import sqlite3
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from paper_qa.domain import Answer, Evidence, Paper
from paper_qa.user_data.errors import UnknownItemError, UserDataError
from paper_qa.user_data.serial import Serial, read_time, time_text

UNREADABLE = (
    "this answer was kept by another version of paper-qa and can't be shown: "
    "upgrade paper-qa, or ask again"
)
UNTITLED = "Untitled"
_TITLE_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and what came of it: an answer, an error, or neither when it was stopped.

    ``papers`` and ``evidence`` are what was shown beside it. ``asked_at`` is in UTC.
    """

    id: str
    question: str
    asked_at: datetime
    answer: Answer | None = None
    papers: tuple[Paper, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    error: str = ""
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation with all that was said; times are in UTC."""

    id: str
    title: str
    created_at: datetime
    updated_at: datetime
    exchanges: tuple[Exchange, ...]


@dataclass(frozen=True, slots=True)
class ConversationHead:
    """A conversation as a line of a list; the time of its last question is in UTC."""

    id: str
    title: str
    updated_at: datetime
    num_exchanges: int


_EXCHANGE = Serial(Exchange)


def new_id() -> str:
    """Return an id for a conversation or an exchange that nobody can guess."""
    return uuid4().hex


def save_exchange(
    connection: sqlite3.Connection,
    owner: str,
    conversation_id: str,
    position: int,
    exchange: Exchange,
) -> None:
    """Put an exchange at its position, making the conversation if it is the first."""
    asked_at = time_text(exchange.asked_at)
    connection.execute(
        "INSERT INTO conversations (owner, id, created_at, updated_at) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (owner, id) DO UPDATE "
        "SET updated_at = max(updated_at, excluded.updated_at)",
        (owner, conversation_id, asked_at, asked_at),
    )
    connection.execute(
        "INSERT OR REPLACE INTO exchanges "
        "(conversation, position, id, question, said, asked_at, content) "
        "VALUES ((SELECT number FROM conversations WHERE owner = ? AND id = ?), ?, ?, ?, ?, ?, ?)",
        (
            owner,
            conversation_id,
            position,
            exchange.id,
            exchange.question,
            exchange.answer.text if exchange.answer else "",
            asked_at,
            _EXCHANGE.write(exchange),
        ),
    )


def truncate(
    connection: sqlite3.Connection, owner: str, conversation_id: str, position: int
) -> None:
    """Drop the exchanges from a position on."""
    connection.execute(
        "DELETE FROM exchanges WHERE position >= ? AND conversation = "
        "(SELECT number FROM conversations WHERE owner = ? AND id = ?)",
        (position, owner, conversation_id),
    )


def read_conversation(
    connection: sqlite3.Connection, owner: str, conversation_id: str
) -> Conversation:
    """Return a conversation with its exchanges in order; raise if there is none."""
    row = connection.execute(
        "SELECT number, title, created_at, updated_at FROM conversations "
        "WHERE owner = ? AND id = ?",
        (owner, conversation_id),
    ).fetchone()
    if row is None:
        raise UnknownItemError(_unknown(conversation_id))
    number, title, created_at, updated_at = row
    rows = connection.execute(
        "SELECT id, question, asked_at, content FROM exchanges "
        "WHERE conversation = ? ORDER BY position",
        (number,),
    )
    exchanges = tuple(_exchange(*row) for row in rows)
    first = exchanges[0].question if exchanges else ""
    return Conversation(
        id=conversation_id,
        title=title or _cut(first),
        created_at=read_time(created_at),
        updated_at=read_time(updated_at),
        exchanges=exchanges,
    )


def _exchange(exchange_id: str, question: str, asked_at: str, content: str) -> Exchange:
    return _EXCHANGE.read(content) or Exchange(
        id=exchange_id, question=question, asked_at=read_time(asked_at), error=UNREADABLE
    )


def list_conversations(
    connection: sqlite3.Connection, owner: str, search: str
) -> list[ConversationHead]:
    """Return the conversations that have every word of ``search``, newest first."""
    rows = connection.execute(
        "SELECT number, id, title, updated_at, "
        "(SELECT count(*) FROM exchanges WHERE conversation = number), "
        "(SELECT question FROM exchanges WHERE conversation = number ORDER BY position LIMIT 1) "
        "FROM conversations WHERE owner = ? ORDER BY updated_at DESC, number DESC",
        (owner,),
    ).fetchall()
    words = set(_folded(search).split())
    texts = _texts(connection, owner) if words else {}
    heads: list[ConversationHead] = []
    for number, conversation_id, title, updated_at, num_exchanges, first in rows:
        said = "\n".join([_folded(title), *texts.get(number, ())])
        if all(word in said for word in words):
            shown = title or _cut(first or "")
            heads.append(
                ConversationHead(conversation_id, shown, read_time(updated_at), num_exchanges)
            )
    return heads


def _texts(connection: sqlite3.Connection, owner: str) -> dict[int, list[str]]:
    """Return the questions and answers by conversation, folded: SQLite folds ASCII only."""
    texts: dict[int, list[str]] = {}
    for number, question, said in connection.execute(
        "SELECT number, question, said FROM exchanges JOIN conversations ON number = conversation "
        "WHERE owner = ?",
        (owner,),
    ):
        texts.setdefault(number, []).extend((_folded(question), _folded(said)))
    return texts


def rename(connection: sqlite3.Connection, owner: str, conversation_id: str, title: str) -> None:
    """Give a conversation a title of one line; raise if it is blank, or there is no such one."""
    title = " ".join(title.split())
    if not title:
        raise UserDataError("the title of a conversation can't be blank: write one")
    cursor = connection.execute(
        "UPDATE conversations SET title = ? WHERE owner = ? AND id = ?",
        (title, owner, conversation_id),
    )
    if not cursor.rowcount:
        raise UnknownItemError(_unknown(conversation_id))


def delete(connection: sqlite3.Connection, owner: str, conversation_id: str) -> None:
    """Delete a conversation with its exchanges; one that is gone already is no error."""
    connection.execute(
        "DELETE FROM conversations WHERE owner = ? AND id = ?", (owner, conversation_id)
    )


def _cut(question: str) -> str:
    """Make a title of a question: its beginning, up to a word."""
    line = " ".join(question.split())
    if len(line) <= _TITLE_LENGTH:
        return line or UNTITLED
    start = line[:_TITLE_LENGTH]
    whole, _, _ = line[: _TITLE_LENGTH + 1].rpartition(" ")
    # Languages without blanks, and addresses, are cut where they stand.
    is_near = len(whole) > _TITLE_LENGTH // 2
    return f"{(whole if is_near else start).rstrip(' ,;:.')}…"


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _unknown(conversation_id: str) -> str:
    return f"no conversation {conversation_id!r}: it may have been deleted; start a new one"

"""The file of user data as SQLite sees it.

What is committed outlives ``kill -9`` and a power cut.
"""

import sqlite3
from typing import Any

from typing_extensions import override

from paper_qa.sqlite_file import SqliteFile
from paper_qa.user_data.errors import UserDataError
from paper_qa.user_data.serial import mended

SCHEMA = 1
APPLICATION_ID = 0x70617075  # "papu": tells our files from other programs' SQLite files

# ``content`` is a whole object as JSON. What stands beside it can be read by every version.
_TABLES = (
    """
    CREATE TABLE conversations (
        number INTEGER PRIMARY KEY,
        owner TEXT NOT NULL CHECK (owner <> ''),
        id TEXT NOT NULL,
        title TEXT NOT NULL DEFAULT '',  -- '' until the person gives one
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL,
        UNIQUE (owner, id)  -- ids of one person never meet those of another
    )
    """,
    """
    CREATE TABLE exchanges (
        conversation INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
        position INTEGER NOT NULL CHECK (position >= 0),
        id TEXT NOT NULL,
        question TEXT NOT NULL,
        said TEXT NOT NULL,  -- the text of the answer, '' without one
        asked_at TEXT NOT NULL,
        content TEXT NOT NULL,
        UNIQUE (conversation, position)
    )
    """,
    """
    CREATE TABLE saved (
        number INTEGER PRIMARY KEY,
        owner TEXT NOT NULL CHECK (owner <> ''),
        paper_id TEXT NOT NULL,
        title TEXT NOT NULL,
        note TEXT NOT NULL DEFAULT '',
        saved_at TEXT NOT NULL,
        content TEXT NOT NULL,
        UNIQUE (owner, paper_id)
    )
    """,
    """
    CREATE TABLE feedback (
        number INTEGER PRIMARY KEY,
        owner TEXT NOT NULL CHECK (owner <> ''),
        exchange_id TEXT NOT NULL,
        given_at TEXT NOT NULL,
        content TEXT NOT NULL,
        UNIQUE (owner, exchange_id)
    )
    """,
)


class _Connection(sqlite3.Connection):
    """Replaces half characters in all that is bound: SQLite can't keep them, and raises."""

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        bound = [mended(value) if isinstance(value, str) else value for value in parameters]
        return super().execute(sql, bound)


class UserFile(SqliteFile):
    """One process's connection to the file.

    Raises:
        UserDataError: the file can't be made, is damaged, foreign, or made by a newer version.
    """

    name = "the user data"
    error = UserDataError
    schema = SCHEMA
    application_id = APPLICATION_ID
    pragmas = (
        "secure_delete = ON",  # what a person deletes is gone
        # Unlike an index, nobody can make these again: they are on the disk before we go on.
        "synchronous = FULL",
    )
    without = "move it away to start without conversations"
    factory = _Connection

    @override
    def _make_place(self) -> None:
        super()._make_place()
        # Made before SQLite does: what people asked is for nobody else's eyes.
        self.path.touch(mode=0o600)  # the files that SQLite puts beside it get the same mode

    @override
    def _create(self, connection: sqlite3.Connection) -> None:
        for statement in _TABLES:
            connection.execute(statement)

    @override
    def _not_writable(self) -> str:
        return (
            f"the user data {str(self.path)!r} can't be written: "
            "allow it, or set PAPER_QA_HOME to a folder that can"
        )

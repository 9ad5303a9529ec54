"""The file of user data as SQLite sees it: its tables, transactions, and errors in words.

One connection for a process, guarded by a lock; other processes have their own. What is committed
outlives ``kill -9`` and a power cut.
"""

import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from paper_qa.user_data.errors import UserDataError
from paper_qa.user_data.serial import mended

SCHEMA = 1
APPLICATION_ID = 0x70617075  # "papu": tells our files from other programs' SQLite files
BUSY_S = 60.0

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


class UserFile:
    """One process's connection to the file.

    Raises:
        UserDataError: the file can't be made, is damaged, foreign, or made by a newer version.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        _make_private(path)
        with self._explained():
            self._connection = sqlite3.connect(
                path,
                timeout=BUSY_S,
                isolation_level=None,
                check_same_thread=False,
                factory=_Connection,
            )
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """Lend the connection; everything read inside is of one moment."""
        with self._lock, self._explained(), self._transaction("DEFERRED"):
            yield self._connection

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """Lend the connection; what is done inside is committed whole, or not at all."""
        with self._lock, self._explained(), self._transaction("IMMEDIATE"):
            yield self._connection

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _transaction(self, kind: str) -> Generator[None]:
        self._connection.execute(f"BEGIN {kind}")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # after some errors SQLite has rolled back already
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _explained(self) -> Generator[None]:
        """Turn SQLite's errors into one line that says what to do."""
        try:
            yield
        except sqlite3.Error as error:
            raise UserDataError(_explanation(error, self.path)) from error

    def _prepare(self) -> None:
        version = self._version()
        if version > SCHEMA:
            raise UserDataError(
                f"the user data {str(self.path)!r} was made by a newer version of paper-qa: "
                "upgrade paper-qa"
            )
        self._connection.execute("PRAGMA foreign_keys = ON")
        self._connection.execute("PRAGMA secure_delete = ON")  # what a person deletes is gone
        if version == 0:
            self._connection.execute("PRAGMA journal_mode = WAL")
        # Unlike an index, nobody can make these again: they are on the disk before we go on.
        self._connection.execute("PRAGMA synchronous = FULL")
        with self._transaction("IMMEDIATE"):  # fails here and now if nothing can be written
            if self._version() == 0:  # another process may have been first
                self._create()

    def _version(self) -> int:
        """Return the file's schema, 0 for a new file."""
        (application,) = self._connection.execute("PRAGMA application_id").fetchone()
        (num_tables,) = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if num_tables and application != APPLICATION_ID:
            raise UserDataError(
                f"{str(self.path)!r} belongs to another program: "
                "set PAPER_QA_HOME to another folder"
            )
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        return int(version)

    def _create(self) -> None:
        for statement in _TABLES:
            self._connection.execute(statement)
        self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        self._connection.execute(f"PRAGMA user_version = {SCHEMA}")


class _Connection(sqlite3.Connection):
    """Replaces half characters in all that is bound: SQLite can't keep them, and raises."""

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        bound = [mended(value) if isinstance(value, str) else value for value in parameters]
        return super().execute(sql, bound)


def _make_private(path: Path) -> None:
    """Make the file before SQLite does: what people asked is for nobody else's eyes."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)  # the files that SQLite puts beside it get the same mode
    except OSError as error:
        raise UserDataError(_not_writable(path)) from error


def _explanation(error: sqlite3.Error, path: Path) -> str:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    known = {
        sqlite3.SQLITE_BUSY: f"the user data {str(path)!r} is being written by another process: "
        "wait until it is done, then try again",
        sqlite3.SQLITE_READONLY: _not_writable(path),
        sqlite3.SQLITE_CANTOPEN: _not_writable(path),
        sqlite3.SQLITE_PERM: _not_writable(path),
        sqlite3.SQLITE_FULL: f"the disk is full; what was in {str(path)!r} before is safe: "
        "free some space, then try again",
        sqlite3.SQLITE_CORRUPT: _damaged(path),
        sqlite3.SQLITE_NOTADB: _damaged(path),
    }
    return known.get(code) or (
        f"the user data {str(path)!r} can't be read or written ({error}): "
        "check the disk, then try again"
    )


def _not_writable(path: Path) -> str:
    return (
        f"the user data {str(path)!r} can't be written: "
        "allow it, or set PAPER_QA_HOME to a folder that can"
    )


def _damaged(path: Path) -> str:
    return (
        f"the user data {str(path)!r} is damaged: put back a copy, "
        "or move it away to start without conversations"
    )

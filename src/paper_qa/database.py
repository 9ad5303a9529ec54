"""The library file as SQLite sees it: opening, transactions, and what its errors mean to a person.

Knows nothing of papers: ``library.py``, ``keywords.py``, ``passages.py`` and ``vector_cache.py``
keep them here. One connection for a process, guarded by a lock; other processes have their own.
"""

import json
import sqlite3
import threading
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from paper_qa.errors import LibraryError
from paper_qa.schema import APPLICATION_ID, SCHEMA, TABLES

FILE_NAME = "library.sqlite"
BUSY_S = 60.0


class Database:
    """One process's connection to the library file.

    Raises:
        LibraryError: the file can't be made, is damaged, foreign, or made by a newer version.
    """

    def __init__(self, home: Path) -> None:
        self.path = home / FILE_NAME
        self._lock = threading.RLock()
        try:
            home.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LibraryError(_not_writable(home)) from error
        with self._explained():
            self._connection = sqlite3.connect(
                self.path, timeout=BUSY_S, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """Lend the connection; everything read inside is of one moment."""
        with self._lock, self._explained():
            if self._connection.in_transaction:
                yield self._connection
                return
            with self._transaction("DEFERRED"):
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
            raise LibraryError(_explanation(error, self.path)) from error

    def _prepare(self) -> None:
        self._connection.execute("PRAGMA foreign_keys = ON")
        version = self._version()
        if version > SCHEMA:
            raise LibraryError(
                f"the library {str(self.path)!r} was made by a newer version of paper-qa: "
                "upgrade paper-qa"
            )
        if version == 0:
            self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        with self._transaction("IMMEDIATE"):  # fails here and now if nothing can be written
            if self._version() == 0:  # another process may have been first
                self._create()

    def _version(self) -> int:
        """Return the file's schema, 0 for a new file."""
        (application,) = self._connection.execute("PRAGMA application_id").fetchone()
        (num_tables,) = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if num_tables and application != APPLICATION_ID:
            raise LibraryError(
                f"{str(self.path)!r} belongs to another program: "
                "set PAPER_QA_HOME to another folder"
            )
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        return int(version)

    def _create(self) -> None:
        for statement in _statements(TABLES):
            self._connection.execute(statement)
        self._connection.executemany(
            "INSERT INTO meta VALUES (?, ?)", [("uuid", uuid4().hex), ("generation", "0")]
        )
        self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        self._connection.execute(f"PRAGMA user_version = {SCHEMA}")


def read_meta(connection: sqlite3.Connection, key: str) -> str | None:
    """Return what is kept under ``key``."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return row[0] if row else None


def write_meta(connection: sqlite3.Connection, key: str, value: str) -> None:
    """Keep ``value`` under ``key``."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def listed(values: Iterable[str | int]) -> str:
    """Return ``values`` for ``IN (SELECT value FROM json_each(?))``, which has no limit."""
    return json.dumps(list(values))


def _statements(script: str) -> Iterator[str]:
    """Cut a script up: ``executescript`` would commit the transaction that we are in."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _explanation(error: sqlite3.Error, path: Path) -> str:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    known = {
        sqlite3.SQLITE_BUSY: f"the library {str(path)!r} is being written by another process: "
        "wait until it is done, then try again",
        sqlite3.SQLITE_READONLY: _not_writable(path.parent),
        sqlite3.SQLITE_CANTOPEN: _not_writable(path.parent),
        sqlite3.SQLITE_PERM: _not_writable(path.parent),
        sqlite3.SQLITE_FULL: f"the disk is full; what was in {str(path)!r} before is safe: "
        "free some space, then try again",
        sqlite3.SQLITE_CORRUPT: _damaged(path),
        sqlite3.SQLITE_NOTADB: _damaged(path),
    }
    return known.get(code) or (
        f"the library {str(path)!r} can't be read or written ({error}): "
        "check the disk, then try again"
    )


def _not_writable(home: Path) -> str:
    if home.exists() and not home.is_dir():
        return f"{str(home)!r} is a file: set PAPER_QA_HOME to a folder"
    return (
        f"the folder {str(home)!r} can't be written: "
        "allow it, or set PAPER_QA_HOME to a folder that can"
    )


def _damaged(path: Path) -> str:
    return (
        f"the library {str(path)!r} is damaged: put back a copy, "
        "or move it away and add the papers again"
    )

"""One process's connection to a SQLite file of ours: transactions, versions, errors in plain words.

Knows nothing of what is in it: ``database.py`` keeps the library with it, ``user_data/file.py``
what belongs to people.
"""

import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

from paper_qa.errors import PaperQAError

BUSY_S = 60.0


class SqliteFile:
    """The connection, guarded by a lock; other processes have their own.

    Raises:
        PaperQAError: of the kind ``error``: the file can't be made, is damaged, foreign, or newer.
    """

    name: ClassVar[str]  # what the file is to a person: "the library"
    error: ClassVar[type[PaperQAError]]
    schema: ClassVar[int]
    application_id: ClassVar[int]
    pragmas: ClassVar[tuple[str, ...]]
    without: ClassVar[str]  # what to do about a damaged one, if there is no copy
    factory: ClassVar[type[sqlite3.Connection]] = sqlite3.Connection

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        try:
            self._make_place()
        except OSError as error:
            raise self.error(self._not_writable()) from error
        with self._explained():
            self._connection = sqlite3.connect(
                path,
                timeout=BUSY_S,
                isolation_level=None,
                check_same_thread=False,
                factory=self.factory,
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
            raise self.error(self._explanation(error)) from error

    def _prepare(self) -> None:
        version = self._version()
        if version > self.schema:
            raise self.error(
                f"{self.name} {str(self.path)!r} was made by a newer version of paper-qa: "
                "upgrade paper-qa"
            )
        if version == 0:
            self._connection.execute("PRAGMA journal_mode = WAL")
        for pragma in ("foreign_keys = ON", *self.pragmas):
            self._connection.execute(f"PRAGMA {pragma}")
        with self._transaction("IMMEDIATE"):  # fails here and now if nothing can be written
            if self._version() == 0:  # another process may have been first
                self._create(self._connection)
                self._connection.execute(f"PRAGMA application_id = {self.application_id}")
                self._connection.execute(f"PRAGMA user_version = {self.schema}")

    def _version(self) -> int:
        """Return the file's schema, 0 for a new file."""
        (application,) = self._connection.execute("PRAGMA application_id").fetchone()
        (num_tables,) = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if num_tables and application != self.application_id:
            raise self.error(
                f"{str(self.path)!r} belongs to another program: "
                "set PAPER_QA_HOME to another folder"
            )
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        return int(version)

    def _make_place(self) -> None:
        """Make what must be there before SQLite makes the file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)

    def _create(self, connection: sqlite3.Connection) -> None:
        """Make the tables."""
        raise NotImplementedError

    def _not_writable(self) -> str:
        raise NotImplementedError

    def _explanation(self, error: sqlite3.Error) -> str:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        where = f"{self.name} {str(self.path)!r}"
        match code:
            case sqlite3.SQLITE_BUSY:
                return (
                    f"{where} is being written by another process: "
                    "wait until it is done, then try again"
                )
            case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
                return self._not_writable()
            case sqlite3.SQLITE_FULL:
                return (
                    f"the disk is full; what was in {str(self.path)!r} before is safe: "
                    "free some space, then try again"
                )
            case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
                return f"{where} is damaged: put back a copy, or {self.without}"
            case _:
                return f"{where} can't be read or written ({error}): check the disk, then try again"

"""The library file as SQLite sees it.

Knows nothing of papers: ``library.py``, ``keywords.py``, ``passages.py`` and ``vector_cache.py``
keep them here.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from uuid import uuid4

from typing_extensions import override

from paper_qa.errors import LibraryError
from paper_qa.schema import APPLICATION_ID, SCHEMA, TABLES
from paper_qa.sqlite_file import SqliteFile

FILE_NAME = "library.sqlite"


class Database(SqliteFile):
    """One process's connection to the library file.

    Raises:
        LibraryError: the file can't be made, is damaged, foreign, or made by a newer version.
    """

    name = "the library"
    error = LibraryError
    schema = SCHEMA
    application_id = APPLICATION_ID
    pragmas = ("synchronous = NORMAL",)
    without = "move it away and add the papers again"

    def __init__(self, home: Path) -> None:
        super().__init__(home / FILE_NAME)

    @override
    def _create(self, connection: sqlite3.Connection) -> None:
        for statement in _statements(TABLES):
            connection.execute(statement)
        connection.executemany(
            "INSERT INTO meta VALUES (?, ?)", [("uuid", uuid4().hex), ("generation", "0")]
        )

    @override
    def _not_writable(self) -> str:
        home = self.path.parent
        if home.exists() and not home.is_dir():
            return f"{str(home)!r} is a file: set PAPER_QA_HOME to a folder"
        return (
            f"the folder {str(home)!r} can't be written: "
            "allow it, or set PAPER_QA_HOME to a folder that can"
        )


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

"""The files of the search index: one directory for each state of it, never written again.

Who has a directory open may go on reading it while the next one is made beside it.
"""

import os
import shutil
import sqlite3
import zlib
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from secrets import token_hex

from paper_qa.errors import LibraryError
from paper_qa.passages import FileMark
from paper_qa.vectors import DamagedIndexError

FOLDER = "index"

_DATABASE = "chroma.sqlite3"
_JOURNAL = "chroma.sqlite3-journal"
_BLOCK = 1 << 20


class UnwrittenIndexError(LibraryError):
    """The index can't be written; the one before, if there is one, is as it was."""


def new_directory(home: Path) -> Path:
    """Return where the next state of the index goes; it does not exist yet."""
    return home / FOLDER / token_hex(8)


def copy_directory(source: Path, target: Path) -> None:
    """Copy an index that others may be opening at this moment.

    Raises:
        DamagedIndexError: it can't be read.
    """
    try:
        # Whoever opens a collection writes one row to Chroma's file: the lock keeps them out.
        with closing(sqlite3.connect(source / _DATABASE, timeout=60)) as connection:
            connection.execute("BEGIN")
            connection.execute("SELECT count(*) FROM sqlite_master")
            for path in _files(source):
                copy = target / path.relative_to(source)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
    except (sqlite3.Error, FileNotFoundError) as error:
        raise DamagedIndexError(source, str(error)) from error


def flush_directory(directory: Path) -> tuple[FileMark, ...]:
    """Have the disk keep all files, and return what they look like."""
    marks = tuple(_mark(path, directory) for path in _files(directory))
    for path in [*_files(directory), *_folders(directory), directory.parent]:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    return marks


def check_directory(directory: Path, marks: Iterable[FileMark]) -> None:
    """Compare the files with what they looked like; Chroma crashes on some that are damaged.

    Raises:
        DamagedIndexError: one is missing or not what it was.
    """
    for mark in marks:
        path = directory / mark.name
        try:
            found = _mark(path, directory)
        except OSError as error:
            raise DamagedIndexError(directory, f"{mark.name} is missing") from error
        if found != mark:
            raise DamagedIndexError(directory, f"{mark.name} is not as it was")


def remove_directories(home: Path, keep: Iterable[str]) -> None:
    """Remove all states of the index but these, those of killed processes included."""
    kept = set(keep)
    folder = home / FOLDER
    for directory in folder.iterdir() if folder.is_dir() else ():
        if directory.name not in kept:
            remove_directory(directory)


def remove_directory(directory: Path) -> None:
    """Remove one state of the index, as far as it can be removed."""
    shutil.rmtree(directory, ignore_errors=True)


def unwritten(home: Path, reason: str) -> UnwrittenIndexError:
    """Return what to tell a person whose disk did not take the index."""
    free = shutil.disk_usage(home).free
    return UnwrittenIndexError(
        f"the search index in {str(home)!r} can't be written ({reason}; {free / 1e6:,.0f} MB are "
        "free there): the papers are safe; make room or allow it, then run `paper-qa index`"
    )


def _mark(path: Path, directory: Path) -> FileMark:
    name = path.relative_to(directory).as_posix()
    if path.name == _DATABASE:  # changes whenever someone opens it, and SQLite checks it
        return FileMark(name, min(path.stat().st_size, 1), 0)
    return FileMark(name, path.stat().st_size, _checksum(path))


def _checksum(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            checksum = zlib.crc32(block, checksum)
    return checksum


def _files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file() and path.name != _JOURNAL)


def _folders(directory: Path) -> list[Path]:
    return [directory, *(path for path in directory.rglob("*") if path.is_dir())]

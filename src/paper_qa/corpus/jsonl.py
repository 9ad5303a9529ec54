"""JSON Lines: one paper per line, plain or gzipped; read as a stream, written as it is read."""

import io
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO, cast

from paper_qa.corpus.encoding import marked_encoding
from paper_qa.corpus.record import Record, paper_from_record, record_line
from paper_qa.corpus.source import Source, open_source
from paper_qa.domain import Paper, Place
from paper_qa.errors import FormatError

MAX_LINE = 2**20
MAX_LINES = 1_000_000
MAX_CHARACTERS = 2**30

# What surrogateescape makes of a byte that is not UTF-8: found per line, so the line is known.
_UNDECODED = re.compile("[\udc80-\udcff]")


def read_json_lines(path: Path) -> Iterator[Paper]:
    """Return the papers of a file, one after the other.

    The file is gone through once before the first paper is handed out, so that nothing of a
    malformed file is taken.

    Raises:
        FormatError: a line is malformed (``path:line: why``), or no line has a paper.
    """
    num_papers = sum(1 for _ in _papers(path))
    if not num_papers:
        raise FormatError(f"{path}: has no papers; each line is one paper as a JSON object")
    return _papers(path)


def read_records(path: Path) -> Iterator[tuple[str, int, Record]]:
    """Yield each line's ``path:line``, number and object; blank lines are passed over.

    Raises:
        FormatError: a line is not a JSON object, or too long.
    """
    with open_source(path) as stream:
        for number, line in enumerate(_lines(stream, path), start=1):
            if line and not line.isspace():
                where = f"{path}:{number}"
                yield where, number, _record(line, where)


def write_papers(papers: Iterable[Paper], stream: TextIO) -> None:
    """Write one line of JSON per paper, in the form that is read."""
    stream.writelines(record_line(paper) + "\n" for paper in papers)


def _papers(path: Path) -> Iterator[Paper]:
    for where, number, record in read_records(path):
        yield paper_from_record(record, where, Place(path.name, number))


def _lines(stream: Source, path: Path) -> Iterator[str]:
    encoding = marked_encoding(stream.peek(4096)[:4096]) or "utf-8"
    errors = "surrogateescape" if encoding.startswith("utf-8") else "strict"
    text = io.TextIOWrapper(stream, encoding, errors)
    try:
        yield from _checked_lines(text, path)
    finally:
        text.detach()  # the stream is closed by whoever opened it


def _checked_lines(text: io.TextIOWrapper, path: Path) -> Iterator[str]:
    num_characters = 0
    for number in range(1, MAX_LINES + 2):
        line = _next_line(text, path, number)
        num_characters += len(line)
        if not line:
            return
        if num_characters > MAX_CHARACTERS:
            break
        yield line.lstrip("\ufeff")  # left over where files were joined end to end
    raise FormatError(
        f"{path}: has more than {MAX_LINES:,} lines or {MAX_CHARACTERS >> 30} GiB; split it"
    )


def _next_line(text: io.TextIOWrapper, path: Path, number: int) -> str:
    try:
        line = text.readline(MAX_LINE + 1)
    except UnicodeDecodeError as error:
        why = f"damaged {text.encoding}; save the file as UTF-8"
        raise FormatError(f"{path}:{number}: {why}") from error
    if len(line) > MAX_LINE:
        why = "is longer than a million characters; put one paper on each line"
        raise FormatError(f"{path}:{number}: {why}")
    if not line.isascii() and _UNDECODED.search(line):
        raise FormatError(f"{path}:{number}: not UTF-8; save the file as UTF-8")
    return line


def _record(line: str, where: str) -> Record:
    try:
        value: object = json.loads(line)
    except json.JSONDecodeError as error:
        why = f"not valid JSON ({error.msg} at column {error.pos + 1})"
        raise FormatError(f"{where}: {why}; correct the line or take it out") from error
    except RecursionError as error:
        raise FormatError(f"{where}: nested too deeply; take the line out") from error
    except ValueError as error:  # Python refuses numbers of more than 4,300 digits
        raise FormatError(f"{where}: a number is too long; take the line out") from error
    if not isinstance(value, dict):
        raise FormatError(f"{where}: is no JSON object; each line is one paper")
    return cast("Record", value)

"""Opening a file and seeing what is in it: by content, never by name.

Everything that can be wrong with a file as a file is said here, in one line each.
"""

import gzip
import io
import re
import stat
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from paper_qa.corpus.encoding import decode_head
from paper_qa.errors import FormatError

Kind = Literal["text", "json lines"]
Source = io.BufferedReader | gzip.GzipFile

MAX_TEXT_BYTES = 64 * 2**20
HEAD_BYTES = 64 * 2**10
GIVE_INSTEAD = "give a text file (one abstract per paragraph) or JSON Lines (one paper per line)"

_GZIP = b"\x1f\x8b"
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", "a PDF"),
    (b"PK\x03\x04", "a zip archive (or an Office document)"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document"),
    (b"{\\rtf", "a rich-text document"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
    (b"\x89PNG\r\n", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"RIFF", "a picture or a recording"),
    (b"II*\x00", "a picture"),
    (b"MM\x00*", "a picture"),
    (_GZIP, "a gzip file inside a gzip file"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!", "a rar archive"),
    (b"\x7fELF", "a program"),
    (b"%!PS", "a PostScript file"),
)
_NOT_YET: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("BibTeX", re.compile(r"^[ \t]{0,20}@\s{0,20}\w[\w-]{0,50}\s{0,20}[{(]", re.MULTILINE)),
    ("RIS", re.compile(r"^TY {1,2}- ?", re.MULTILINE)),
    ("MEDLINE (NBIB)", re.compile(r"^PMID ?- ?\d", re.MULTILINE)),
    ("Web of Science", re.compile(r"\A(FN (Clarivate|ISI|Thomson)|PT\tAU\t|PT [A-Z]\s)")),
)
_HTML = re.compile(r"(<!--.*?-->\s*)?<(!doctype html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_XML = re.compile(r"<[?!a-zA-Z]")
_COLUMNS = frozenset(
    ("title", "article title", "document title", "abstract", "authors", "author", "year", "doi")
)
_JSON_LINES_SUFFIXES = frozenset((".jsonl", ".ndjson"))
_SUFFIXES = {
    ".bib": "BibTeX",
    ".ris": "RIS",
    ".nbib": "MEDLINE (NBIB)",
    ".xml": "XML",
    ".csv": "a table (CSV)",
    ".tsv": "a table (TSV)",
    ".json": "JSON that is not one object per line",
}
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\ufffe\uffff]")


@contextmanager
def open_source(path: Path) -> Generator[Source]:
    """Open a file for reading, unpacked if it is gzipped.

    Raises:
        FormatError: it can't be opened, or reading it fails inside the block.
    """
    with _explained(path):
        _check_is_file(path)
        with path.open("rb") as file:
            packed = file.read(2) == _GZIP
            file.seek(0)
            if packed:
                with gzip.GzipFile(fileobj=file) as unpacked:
                    yield unpacked
            else:
                yield file


def detect_kind(path: Path) -> Kind:
    """Return which reader a file is for.

    Raises:
        FormatError: none; the message says what the file is and what to give instead.
    """
    with open_source(path) as stream:
        head = stream.read(HEAD_BYTES)
    text = decode_head(head).lstrip()
    why = _why_not_text(head, text) or _foreign_format(text)
    if why:
        raise FormatError(f"{path}: {why}; {GIVE_INSTEAD}")
    return "json lines" if text.startswith("{") else _by_name(path)


def read_whole(path: Path) -> bytes:
    """Return the bytes of a text file, unpacked, up to the limit.

    Raises:
        FormatError: it is larger than that, or can't be read.
    """
    with open_source(path) as stream:
        data = stream.read(MAX_TEXT_BYTES + 1)
    if len(data) > MAX_TEXT_BYTES:
        raise FormatError(
            f"{path}: is larger than {MAX_TEXT_BYTES >> 20} MiB; split it, or give JSON Lines"
        )
    return data


@contextmanager
def _explained(path: Path) -> Generator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise FormatError(f"{path}: no such file; check the path") from error
    except PermissionError as error:
        raise FormatError(f"{path}: may not be read; change its permissions") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FormatError(
            f"{path}: the gzip file is damaged or cut off; download or pack it again"
        ) from error
    except OSError as error:
        raise FormatError(f"{path}: can't be read ({error.strerror}); check the path") from error


def _check_is_file(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except ValueError as error:  # a NUL in the name
        raise FormatError(f"{path}: no such file; check the path") from error
    if stat.S_ISDIR(mode):
        raise FormatError(f"{path}: is a folder; give the files in it")
    if not stat.S_ISREG(mode):
        raise FormatError(f"{path}: is no ordinary file; save what it delivers and give that")


def _why_not_text(head: bytes, text: str) -> str:
    for magic, name in _MAGIC:
        if head.startswith(magic):
            return f"is {name}"
    if head[257:262] == b"ustar":
        return "is a tar archive"
    if not text:
        return "is empty"
    # One or two control characters happen in texts, and are taken out later.
    return "is a binary file" if len(_CONTROLS.findall(text)) * 20 > len(text) else ""


def _foreign_format(text: str) -> str:
    """Return what to say about a text that is neither prose nor JSON Lines."""
    if _HTML.match(text):
        return "is a web page, not the papers themselves"
    if _XML.match(text):
        return "XML is not read yet"
    if re.match(r"\[\s*[{\]]", text) or re.match(r"\{\s*\n", text):
        return "JSON that is not one object per line is not read"
    for name, pattern in _NOT_YET:
        if pattern.search(text):
            return f"{name} is not read yet"
    return "a table (CSV) is not read yet" if _has_column_names(text) else ""


def _by_name(path: Path) -> Kind:
    """Let the name decide about what looks like prose: a broken first line must not pass as it."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    suffix = suffixes[-1] if suffixes else ""
    if suffix in _SUFFIXES:
        raise FormatError(f"{path}: {_SUFFIXES[suffix]} is not read yet; {GIVE_INSTEAD}")
    return "json lines" if suffix in _JSON_LINES_SUFFIXES else "text"


def _has_column_names(text: str) -> bool:
    for line in text.splitlines()[:20]:
        for delimiter in ",;\t|":
            names = {cell.strip(' "\ufeff').casefold() for cell in line.split(delimiter)}
            if len(names & _COLUMNS) >= 2:
                return True
    return False

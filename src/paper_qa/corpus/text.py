"""A text file of abstracts: a heading (or none), then one abstract per paragraph.

A paragraph that ``metadata.jsonl`` beside the file knows, by the SHA-256 of its text, gets the
id, title, authors, year, venue and link from there, and its text is kept to the letter.
"""

import hashlib
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from paper_qa.corpus.encoding import decode_text
from paper_qa.corpus.jsonl import read_records
from paper_qa.corpus.normalize import field_text, make_paper_id, prose_text
from paper_qa.corpus.record import MAX_ABSTRACT, Record, paper_from_record
from paper_qa.corpus.source import read_whole
from paper_qa.domain import Paper, Place
from paper_qa.errors import FormatError

METADATA_NAME = "metadata.jsonl"
MAX_HEADING = 200
MAX_PARAGRAPHS = 50_000

Metadata = Mapping[str, tuple[str, Record]]
"""What is known of a paragraph, and the ``path:line`` that says so, by the SHA-256 of its text."""

_FINAL_STOPS = (".", "。", "．")


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines with no blank line between them, and the number of the first one."""

    line: int
    lines: tuple[str, ...]


def read_text_file(path: Path, metadata: Metadata | None = None) -> list[Paper]:
    """Return the papers of a text file, one per paragraph, repeats included.

    Args:
        path: the file.
        metadata: what is known of the paragraphs; read from the file beside it if left out.

    Raises:
        FormatError: there is no paragraph, or one is too long to be an abstract.
    """
    if metadata is None:
        metadata = read_metadata(path.parent)
    paragraphs = _paragraphs(decode_text(read_whole(path), path), path)
    if not paragraphs:
        raise FormatError(f"{path}: has no paragraphs; put each abstract into one of its own")
    if len(paragraphs) > MAX_PARAGRAPHS:
        raise FormatError(f"{path}: has more than {MAX_PARAGRAPHS:,} paragraphs; split it")
    return [
        _paper(block, f"{path}:{block.line}", Place(path.name, number), metadata)
        for number, block in enumerate(paragraphs, start=1)
    ]


def read_metadata(folder: Path) -> Metadata:
    """Return what ``metadata.jsonl`` in a folder says, by the SHA-256 of the abstract.

    Raises:
        FormatError: a line is malformed.
    """
    path = folder / METADATA_NAME
    try:
        if not path.exists():
            return {}
    except OSError:  # the folder may not be entered: reading its text files will say so
        return {}
    known: dict[str, tuple[str, Record]] = {}
    for where, _, record in read_records(path):
        digest = record.get("abstract_sha256")
        if isinstance(digest, str):  # a file of that name that is not ours knows nothing
            known.setdefault(digest.lower(), (where, record))
    return known


def _paper(block: _Block, where: str, place: Place, metadata: Metadata) -> Paper:
    paragraph = "\n".join(block.lines).strip()
    known = metadata.get(hashlib.sha256(paragraph.encode(errors="replace")).hexdigest())
    if known is not None:
        fields = {**known[1], "abstract": paragraph, "found_in": None}
        return paper_from_record(fields, known[0], place)
    title, abstract = _title_and_abstract(block)
    if len(abstract) > MAX_ABSTRACT:
        raise _too_long(where)
    return Paper(make_paper_id(title, abstract), title, abstract, found_in=(place,))


def _title_and_abstract(block: _Block) -> tuple[str, str]:
    if _begins_with_title(block):
        return field_text(block.lines[0]), prose_text("\n".join(block.lines[1:]))
    return "", prose_text("\n".join(block.lines))


def _too_long(where: str) -> FormatError:
    return FormatError(
        f"{where}: a paragraph of more than {MAX_ABSTRACT:,} characters; "
        "put a blank line between the abstracts"
    )


def _paragraphs(text: str, path: Path) -> list[_Block]:
    """Return the blocks that are abstracts, without the file's heading."""
    blocks = list(islice(_blocks(text, path), MAX_PARAGRAPHS + 2))
    if not blocks:
        return []
    first, rest = blocks[0], blocks[1:]
    if len(first.lines) == 1 and _is_heading(first.lines[0]):
        return rest
    if _begins_with_title(first) and rest and not any(map(_begins_with_title, rest)):
        # A heading with no blank line after it: the only "title" of a file without titles.
        return [_Block(first.line + 1, first.lines[1:]), *rest]
    return blocks


def _blocks(text: str, path: Path) -> Iterator[_Block]:
    lines: list[str] = []
    # str.splitlines() would end lines at form feeds and U+2028 too.
    for number, line in enumerate(chain(io.StringIO(text, newline=None), [""]), start=1):
        if not line.isspace() and field_text(line):  # the former is only faster
            lines.append(line.removesuffix("\n"))
        elif lines:
            yield _Block(number - len(lines), tuple(lines))
            lines = []
        if len(lines) > MAX_ABSTRACT:
            raise _too_long(f"{path}:{number - len(lines) + 1}")


def _is_heading(line: str) -> bool:
    line = line.strip()
    return len(line) <= MAX_HEADING and not line.endswith(_FINAL_STOPS)


def _begins_with_title(block: _Block) -> bool:
    """Tell a title from the first line of wrapped text.

    In wrapped text the next word would not have fitted on the line; after a title it would.
    """
    if len(block.lines) < 2 or not _is_heading(block.lines[0]):
        return False
    first, second = block.lines[0].rstrip(), block.lines[1].split()[0]
    width = max(len(line.rstrip()) for line in block.lines[1:])
    return not second[0].islower() and len(first) + 1 + len(second) <= width

"""Files of papers to ``Paper`` and back: one reader per format, chosen by content."""

from collections.abc import Iterator
from pathlib import Path

from paper_qa.corpus.jsonl import read_json_lines, write_papers
from paper_qa.corpus.normalize import content_key, make_paper_id, merge_papers
from paper_qa.corpus.seeds import read_seeds, seeds_folder
from paper_qa.corpus.source import detect_kind
from paper_qa.corpus.text import read_text_file
from paper_qa.domain import Paper

__all__ = [
    "content_key",
    "make_paper_id",
    "merge_papers",
    "read_papers",
    "read_seeds",
    "seeds_folder",
    "write_papers",
]


def read_papers(path: Path) -> Iterator[Paper]:
    """Return the papers of a file in the order of the file, repeats included.

    The whole file is checked before this returns: of a malformed file not one paper is taken.

    Raises:
        FormatError: the file can't be read or is malformed; one line, with what to do.
    """
    if detect_kind(path) == "json lines":
        return read_json_lines(path)
    return iter(read_text_file(path))

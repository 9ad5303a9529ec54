"""Files that a command writes: whole, or not at all."""

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from paper_qa.errors import PaperQAError


@contextmanager
def replacing(path: Path) -> Generator[TextIO]:
    """Open a file beside ``path`` for writing, and put it in its place once it is complete.

    Raises:
        PaperQAError: the file cannot be written.
    """
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        part = Path(name)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as stream:
                yield stream
            part.chmod(0o666 & ~_umask())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise PaperQAError(f"cannot write {str(path)!r}: {error.strerror}") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

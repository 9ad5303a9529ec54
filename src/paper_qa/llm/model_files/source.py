"""What a place to fetch a model from has to do, and how it says that it can't."""

from collections.abc import Callable, Generator
from typing import Protocol

Tell = Callable[[int], None]
"""Told how many bytes of the file have arrived."""


class Source(Protocol):
    """A place that has the file."""

    name: str
    whole_pieces: bool
    """Whether it can start only where a piece starts."""

    def blocks(self, start: int, tell: Tell) -> Generator[bytes]:
        """Yield the bytes of the file from ``start`` on; tell of what arrives before that.

        Raises:
            SourceError: it can't.
        """
        ...


class SourceError(Exception):
    """A source can't give the file: half a line that says why, for between two others."""


class BrokenOffError(SourceError):
    """It came to an end too early, or wrong; the next attempt may have more luck."""

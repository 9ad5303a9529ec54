"""Frozen dataclasses as JSON text, and back to equal values.

A row may have been written by an older or a newer version: fields that we do not know are passed
over, and what makes no sense any more is None, for the caller to say so.
"""

import json
import re
from datetime import UTC, datetime
from typing import Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

T = TypeVar("T")
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


class Serial(Generic[T]):
    """Writes and reads the values of one type."""

    def __init__(self, shape: type[T]) -> None:
        self._shape: TypeAdapter[T] = TypeAdapter(shape)

    def write(self, value: T) -> str:
        """Return the value as JSON; half characters become U+FFFD."""
        fields = self._shape.dump_python(value, mode="json")
        return mended(json.dumps(fields, ensure_ascii=False))

    def read(self, text: str) -> T | None:
        """Return the value, or None if this version can't make one of the text."""
        try:
            return self._shape.validate_json(text)
        except ValidationError:
            return None


def mended(text: str) -> str:
    """Replace half characters, which are no Unicode and can't be stored."""
    return _HALF_CHARACTER.sub("\ufffd", text)


def time_text(moment: datetime) -> str:
    """Return a moment in UTC as text that sorts as time goes."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def read_time(text: str) -> datetime:
    """Undo `time_text`."""
    return datetime.fromisoformat(text)

"""Files of judged items: JSON Lines, one item with an id of its own on each line."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from paper_qa.errors import FormatError


class Item(Protocol):
    """What a line holds: a question, or a claim."""

    @property
    def id(self) -> str:
        """What tells it from the others of its file."""
        ...


ItemT = TypeVar("ItemT", bound=Item)


def read_items(
    path: Path,
    shape: TypeAdapter[ItemT],
    *,
    name: str,
    problem: Callable[[ItemT], str | None],
) -> list[tuple[str, ItemT]]:
    """Read a file of items, each with its place as ``path:line``; unknown fields are ignored.

    Args:
        path: the file.
        shape: what a line must look like.
        name: what an item is called in complaints.
        problem: finds what the types alone do not forbid.

    Raises:
        FormatError: the file can't be read, is empty, or has a line that is no such item.
    """
    items: dict[str, tuple[str, ItemT]] = {}
    for number, line in _lines(path, name):
        where = f"{path}:{number}"
        item = _parse(line, shape, where=where)
        if complaint := problem(item):
            raise FormatError(f"{where}: {complaint}")
        if item.id in items:
            raise FormatError(f"{where}: the id {item.id!r} occurs twice; give each its own")
        items[item.id] = where, item
    if not items:
        raise FormatError(f"{path}:1: no {name}s; put one JSON object on each line")
    return list(items.values())


def read_text(path: Path, *, name: str) -> str:
    """Read a file in UTF-8; ``name`` says in complaints what it should hold.

    Raises:
        FormatError: it can't be read, or is in another encoding.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        reason = (error.strerror or "unknown error").lower()
        raise FormatError(f"can't read {str(path)!r}: {reason}; give a {name} file") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise FormatError(f"{path}:{line}: not UTF-8; save the file in that encoding") from error


def explained(error: ValidationError) -> str:
    """Return the first complaint about an item, with the field that it is about."""
    first = error.errors(include_input=False, include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    message = first["msg"][0].lower() + first["msg"][1:]
    return f"{f'{field!r}: ' if field else ''}{message}"


def _lines(path: Path, name: str) -> Iterator[tuple[int, str]]:
    # Not splitlines(): a text may hold U+2028 and its like, which JSON need not escape.
    numbered = enumerate(read_text(path, name=name).split("\n"), start=1)
    return ((number, line) for number, line in numbered if line.strip())


def _parse(line: str, shape: TypeAdapter[ItemT], *, where: str) -> ItemT:
    try:
        return shape.validate_json(line, strict=True)
    except ValidationError as error:
        raise FormatError(f"{where}: {explained(error)}") from error

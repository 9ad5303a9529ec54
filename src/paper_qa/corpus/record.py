"""One JSON object to a Paper and back: names, types and sizes of the fields."""

import json
import re
from typing import cast

from paper_qa.corpus.normalize import (
    abstract_text,
    field_text,
    make_paper_id,
    web_address,
)
from paper_qa.domain import Paper, Place
from paper_qa.errors import FormatError

Record = dict[str, object]
"""A JSON object, as parsed."""

_OTHER_NAMES = {"id": "_id", "abstract": "text"}  # as retrieval benchmarks (BEIR) have them

MAX_ID = 200
MAX_TITLE = 1_000
MAX_ABSTRACT = 20_000
MAX_AUTHORS = 500
MAX_PLACES = 10_000
MAX_YEAR = 9_999

# Legal in JSON, but line breaks to some readers, or not to be encoded at all.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def paper_from_record(record: Record, where: str, place: Place) -> Paper:
    """Return the paper that a JSON object describes; unknown names in it are ignored.

    Args:
        record: the object.
        where: what to put in front of a complaint, ``path:line``.
        place: where the paper was found, unless the object says where it was found before.

    Raises:
        FormatError: a field has the wrong type or is too long, or there is nothing to read.
    """
    title = _field(record, "title", where, MAX_TITLE)
    abstract = abstract_text(_text(record, "abstract", where))
    _check_length("abstract", abstract, where, MAX_ABSTRACT)
    _check_has_content(record, title, abstract, where)
    return Paper(
        id=_field(record, "id", where, MAX_ID) or make_paper_id(title, abstract),
        title=title,
        abstract=abstract,
        authors=_authors(record, where),
        year=_year(record, where),
        venue=_field(record, "venue", where, MAX_TITLE),
        url=web_address(_text(record, "url", where)),
        retracted=_flag(record, "retracted", where),
        found_in=_places(record, where, place),
    )


def record_line(paper: Paper) -> str:
    """Return the paper as one line of JSON, without the line break."""
    record = {
        "id": paper.id,
        "title": paper.title,
        "abstract": paper.abstract,
        "authors": list(paper.authors),
        "year": paper.year,
        "venue": paper.venue,
        "url": paper.url,
        "retracted": paper.retracted,
        "found_in": [
            {"file": place.file, "paragraph": place.paragraph} for place in paper.found_in
        ],
    }
    line = json.dumps(record, ensure_ascii=False)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", line)


_ONE_PAPER = "each line is one paper with these names"
_REPAIR = "correct the line or take it out"


def _check_has_content(record: Record, title: str, abstract: str, where: str) -> None:
    if not abstract and "abstract_sha256" in record:
        raise FormatError(f"{where}: describes the abstract of a text file; give the text file")
    if not abstract and not title:
        raise FormatError(f"{where}: has no 'title' and no 'abstract'; {_ONE_PAPER}")


def _wrong_type(name: str, expected: str, value: object, where: str) -> FormatError:
    return FormatError(f"{where}: {name!r} must be {expected}, not {_type_name(value)}; {_REPAIR}")


def _type_name(value: object) -> str:
    if value is None:
        return "null"
    names: tuple[tuple[type, str], ...] = (
        (dict, "an object"),
        (list, "a list"),
        (str, "text"),
        (bool, "true or false"),
    )
    return next((name for kind, name in names if isinstance(value, kind)), "a number")


def _text(record: Record, name: str, where: str) -> str:
    value = record.get(name)
    if value is None and name in _OTHER_NAMES:
        value = record.get(_OTHER_NAMES[name])
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _wrong_type(name, "text", value, where)
    return value


def _field(record: Record, name: str, where: str, limit: int) -> str:
    text = field_text(_text(record, name, where))
    _check_length(name, text, where, limit)
    return text


def _check_length(name: str, text: str, where: str, limit: int) -> None:
    if len(text) > limit:
        raise FormatError(
            f"{where}: {name!r} is longer than {limit:,} characters; shorten it or take it out"
        )


def _items(record: Record, name: str, where: str, limit: int) -> list[object]:
    value = record.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise _wrong_type(name, "a list", value, where)
    items = cast("list[object]", value)
    if len(items) > limit:
        raise FormatError(f"{where}: {name!r} has more than {limit:,} items; {_REPAIR}")
    return items


def _authors(record: Record, where: str) -> tuple[str, ...]:
    authors: list[str] = []
    for value in _items(record, "authors", where, MAX_AUTHORS):
        if not isinstance(value, str):
            raise _wrong_type("authors", "a list of names", value, where)
        authors.append(field_text(value))
        _check_length("authors", authors[-1], where, MAX_TITLE)
    return tuple(filter(None, authors))


def _year(record: Record, where: str) -> int | None:
    value = record.get("year")
    return None if value is None else _whole_number("year", value, where, MAX_YEAR)


def _whole_number(name: str, value: object, where: str, limit: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong_type(name, "a whole number", value, where)
    if not 1 <= value <= limit:
        raise FormatError(f"{where}: {name!r} must lie between 1 and {limit:,}; {_REPAIR}")
    return value


def _flag(record: Record, name: str, where: str) -> bool:
    value = record.get(name)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise _wrong_type(name, "true or false", value, where)
    return value


def _places(record: Record, where: str, place: Place) -> tuple[Place, ...]:
    if record.get("found_in") is None:
        return (place,)
    places = [_place(value, where) for value in _items(record, "found_in", where, MAX_PLACES)]
    return tuple(dict.fromkeys(places))


def _place(value: object, where: str) -> Place:
    if not isinstance(value, dict):
        raise _wrong_type("found_in", "a list of places", value, where)
    fields = cast("Record", value)
    number = _whole_number("paragraph", fields.get("paragraph"), where, 10**9)
    return Place(_field(fields, "file", where, MAX_TITLE), number)

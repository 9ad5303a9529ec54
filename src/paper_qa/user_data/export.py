"""What a person can take away: conversations and the reading list as files."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime

from paper_qa.bibtex import ascii_text, entries
from paper_qa.citing import see_heading
from paper_qa.domain import Answer, Paper, Reference
from paper_qa.user_data.conversations import Conversation, Exchange
from paper_qa.user_data.markdown import escaped, link, no_block, paragraphs
from paper_qa.user_data.reading_list import Saved
from paper_qa.user_data.serial import mended, time_text

SCHEMA_VERSION = 1
_MAX_NAME = 60
_RESERVED = re.compile(r"con|prn|aux|nul|conin|conout|(?:com|lpt)\d", re.IGNORECASE)


def conversation_markdown(conversation: Conversation) -> str:
    """Return a conversation to read: questions as headings, answers, references with links."""
    count = len(conversation.exchanges)
    day = f"{conversation.updated_at:%Y-%m-%d}"
    parts = [
        f"# {escaped(conversation.title)}",
        f"{count} question{'' if count == 1 else 's'}, the last on {day}.",
    ]
    for exchange in conversation.exchanges:
        parts += _exchange(exchange)
    return "\n\n".join(part for part in parts if part) + "\n"


def conversation_json(conversation: Conversation) -> str:
    """Return a conversation whole, as a JSON object.

    Its keys are ``schema_version`` (1), ``id``, ``title``, ``created_at``, ``updated_at`` and
    ``exchanges``; of each exchange ``id``, ``asked_at``, ``question``, ``answer`` (null, or the
    object of ``docs/answer.md``), ``papers`` and ``evidence`` (the fields of `Paper` and
    `Evidence`), ``error`` and ``stopped``. Times are ISO 8601 in UTC, to the microsecond.
    """
    fields = {
        "schema_version": SCHEMA_VERSION,
        "id": conversation.id,
        "title": conversation.title,
        "created_at": time_text(conversation.created_at),
        "updated_at": time_text(conversation.updated_at),
        "exchanges": [_fields(exchange) for exchange in conversation.exchanges],
    }
    return mended(json.dumps(fields, ensure_ascii=False, indent=2)) + "\n"


def conversation_bibtex(conversation: Conversation) -> str:
    """Return the papers that the answers cite, each once, in the order of their first citation."""
    cited: dict[str, Paper] = {}
    for exchange in conversation.exchanges:
        known = {paper.id: paper for paper in _papers(exchange)}
        for item in exchange.answer.references if exchange.answer else ():
            cited.setdefault(item.paper_id, known.get(item.paper_id) or _as_paper(item))
    return entries(cited.values())


def reading_list_markdown(saved: Sequence[Saved]) -> str:
    """Return the reading list to read: title with link, authors, venue and year, note."""
    return "\n\n".join(["# Reading list", *map(_saved, saved)]) + "\n"


def reading_list_bibtex(saved: Sequence[Saved]) -> str:
    """Return the reading list as BibTeX, with the notes as ``annote``."""
    notes = {item.paper.id: item.note for item in saved}
    return entries((item.paper for item in saved), notes=notes)


def file_name(title: str, suffix: str) -> str:
    """Return a name that every system takes, with its suffix: ``what-is-dpo.md``.

    It has ASCII letters, digits and dashes, and at most 60 characters in all.

    Args:
        title: anything.
        suffix: of up to ten ASCII letters and digits, with its dot or without.
    """
    ending = f".{suffix.removeprefix('.')}"
    words = re.findall("[A-Za-z0-9]+", re.sub("['’]", "", ascii_text(title)))
    stem = "-".join(words)[: _MAX_NAME - len(ending)]
    if len(stem) < len("-".join(words)) and "-" in stem:
        stem = stem.rpartition("-")[0]  # no half word
    if not stem or _RESERVED.fullmatch(stem):
        stem = f"paper-qa-{stem}".rstrip("-")
    return f"{stem}{ending}"


def _exchange(exchange: Exchange) -> Iterator[str]:
    yield f"## {escaped(exchange.question) or 'No question'}"
    if exchange.answer:
        yield from _answer(exchange.answer)
    if exchange.error:
        yield f"No answer: {escaped(exchange.error)}"
    if exchange.stopped:
        yield "Stopped."
    yield f"Asked on {_minute(exchange.asked_at)}."


def _answer(answer: Answer) -> Iterator[str]:
    if answer.text.startswith("- "):
        lines = (escaped(line.removeprefix("- ")) for line in answer.text.splitlines())
        yield "\n".join(f"- {line}" for line in lines if line)
    else:
        yield paragraphs(answer.text)
    if answer.withheld:
        count = len(answer.withheld)
        sentences = "1 sentence" if count == 1 else f"{count} sentences"
        them = "it" if count == 1 else "them"
        yield f"{sentences} withheld: nothing in the abstracts supports {them}."
    for note in answer.notes:
        yield f"Note: {escaped(note)}"
    if answer.references:
        yield "References:"
        yield "\n".join(f"- \\[{item.number}\\] {_described(item)}" for item in answer.references)
    if answer.see:
        yield f"{see_heading(answer)}:"
        yield "\n".join(f"- {_described(item)}" for item in answer.see)


def _saved(item: Saved) -> str:
    lines = [f"- {_described(item.paper)}"]
    lines += [f"  Note: {paragraphs(item.note)}".replace("\n\n", "\n\n  ")] if item.note else []
    return "\n\n".join(lines)


def _described(paper: Paper | Reference) -> str:
    """Return a line about a paper: who, what with its link, where and when."""
    year = "" if paper.year is None else str(paper.year)
    where = paper.venue if year in paper.venue else f"{paper.venue} {year}"
    title = paper.name if isinstance(paper, Paper) else paper.title
    named = link(title or "Untitled", paper.url)
    parts = [escaped(", ".join(paper.authors)), named, escaped(where)]
    text = no_block(". ".join(part for part in parts if part))  # an author may be named "1"
    return f"{'RETRACTED: ' if paper.retracted else ''}{text}."


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d at %H:%M} UTC"


def _fields(exchange: Exchange) -> dict[str, object]:
    return {
        "id": exchange.id,
        "asked_at": time_text(exchange.asked_at),
        "question": exchange.question,
        "answer": exchange.answer.to_dict() if exchange.answer else None,
        "papers": [asdict(paper) for paper in exchange.papers],
        "evidence": [asdict(item) for item in exchange.evidence],
        "error": exchange.error,
        "stopped": exchange.stopped,
    }


def _papers(exchange: Exchange) -> Iterable[Paper]:
    yield from exchange.papers
    if exchange.answer:
        yield from (hit.paper for hit in exchange.answer.retrieved)


def _as_paper(item: Reference) -> Paper:
    """Return what a reference tells of a paper that was not shown."""
    return Paper(
        id=item.paper_id,
        title=item.title,
        abstract="",
        authors=item.authors,
        year=item.year,
        venue=item.venue,
        url=item.url,
        retracted=item.retracted,
    )

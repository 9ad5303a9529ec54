"""Which papers of the library a person wants to see, and in which order; no HTML, no Gradio."""

import re
import threading
import time
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol

from paper_qa.domain import AskOptions, Paper, Scope, ScoredPaper

Order = Literal["title", "year", "author", "added", "nearest"]
NEAR_TEXT: Final = "text"
NEAR_PAPER: Final = "paper/"
"""How `Wish.near` begins when it names a paper."""

NUM_NEAREST = 20
IMPOSSIBLE: Final = "The first year is after the last: both are left out."
_LONG_TEXT = 12  # words: more is no search for words, but a text to find papers for
_MAX_TEXT = 4000  # characters, as `PaperQA.search` takes them
_FRESH_S = 15.0
_YEAR = re.compile("[1-9][0-9]{3}")  # what is shorter is still being typed
_ACCENTS = re.compile("[\u0300-\u036f]+")
_PUNCTUATION = re.compile(r"^[\W_]+")


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for.

    ``near`` is ``""``, `NEAR_TEXT`, or `NEAR_PAPER` with the id of the paper to be near to.
    """

    text: str = ""
    order: Order = "title"
    year_from: int | None = None
    year_to: int | None = None
    near: str = ""

    @property
    def paper_id(self) -> str:
        """The paper to be near to, or ``""``."""
        return self.near.removeprefix(NEAR_PAPER) if self.near.startswith(NEAR_PAPER) else ""

    @property
    def is_ranked(self) -> bool:
        """Tell whether the papers nearest to something are asked for, and not those with words."""
        return bool(self.near) or self.order == "nearest"


@dataclass(frozen=True, slots=True)
class Found:
    """The papers in their order, the number of all papers, and the paper that they are near to."""

    papers: Sequence[Paper]
    num_papers: int
    near: Paper | None = None


class Searched(Protocol):
    """What is needed of ``PaperQA``."""

    def search(self, query: str, *, k: int = 10, options: AskOptions = ...) -> list[ScoredPaper]:
        """Return the papers nearest to a text, best first."""
        ...

    def papers(self) -> list[Paper]:
        """Return all papers in the order of their adding."""
        ...

    def paper(self, paper_id: str) -> Paper:
        """Return one paper."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """A paper, and all its words as they are searched; the title comes first."""

    paper: Paper
    words: str


class Catalogue:
    """The papers of a library; all methods may take seconds when the library is large.

    What was read is kept, since every key pressed asks for it; after 15 seconds it is read anew.
    """

    def __init__(self, qa: Searched, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._qa = qa
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: list[Entry] = []
        self._read_at = -_FRESH_S

    def find(self, wish: Wish) -> Found:
        """Return what is asked for.

        Raises:
            PaperQAError: the library can't be read, or the text can't be searched for.
        """
        return self._nearest(wish) if wish.is_ranked else self._with_words(wish)

    def _with_words(self, wish: Wish) -> Found:
        entries = self._read()
        found = [entry for entry in entries if _has_year(entry.paper, wish)]
        for word in fold(wish.text).split():
            found = [entry for entry in found if word in entry.words]
        return Found([entry.paper for entry in ordered(found, wish.order)], len(entries))

    def _nearest(self, wish: Wish) -> Found:
        near = self._qa.paper(wish.paper_id) if wish.paper_id else None
        text = f"{near.title}\n{near.abstract}" if near else wish.text
        num_hits = NUM_NEAREST + bool(near)  # it is the nearest to itself
        hits = self._qa.search(_shortened(text), k=num_hits, **_within(wish))
        papers = [hit.paper for hit in hits if near is None or hit.paper.id != near.id]
        entries = [_entry(paper) for paper in papers[:NUM_NEAREST]]
        return Found([entry.paper for entry in ordered(entries, wish.order)], len(papers), near)

    def _read(self) -> list[Entry]:
        with self._lock:
            if self._clock() - self._read_at >= _FRESH_S:
                self._entries = [_entry(paper) for paper in self._qa.papers()]
                self._read_at = self._clock()
            return self._entries


def settled(wish: Wish) -> Wish:
    """Return the wish as its text has it: a long text asks for what is near, a short one does not.

    The order follows, unless the person has chosen another since.
    """
    text = wish.text.strip()
    if wish.paper_id and not text:
        return wish
    if len(text.split()) >= _LONG_TEXT:
        order = wish.order if wish.near == NEAR_TEXT else "nearest"
        return replace(wish, near=NEAR_TEXT, order=order)
    is_left_over = wish.order == "nearest" and (bool(wish.near) or not text)
    return replace(wish, near="", order="title" if is_left_over else wish.order)


def years(first: str, last: str) -> tuple[int | None, int | None]:
    """Return two years as far as they are typed; both are left out if they are the wrong way."""
    if are_reversed(first, last):
        return None, None
    return _year(first), _year(last)


def are_reversed(first: str, last: str) -> bool:
    """Tell whether the first year is after the last."""
    year_from, year_to = _year(first), _year(last)
    return year_from is not None and year_to is not None and year_from > year_to


def _year(typed: str) -> int | None:
    return int(typed) if _YEAR.fullmatch(typed.strip()) else None


def ordered(entries: Sequence[Entry], order: Order) -> list[Entry]:
    """Return the entries, given in the order of adding or of nearness, in another order."""
    match order:
        case "nearest":
            return list(entries)
        case "added":
            return list(reversed(entries))
        case "title":
            return sorted(entries, key=_title)
        case "author":
            return sorted(entries, key=lambda entry: (*_surname(entry.paper), *_title(entry)))
        case "year":
            return sorted(entries, key=lambda entry: (-(entry.paper.year or 0), *_title(entry)))


def fold(text: str) -> str:
    """Return a text without case and accents, fast enough for whole libraries."""
    if not text.isascii():
        text = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return text.casefold()


def _entry(paper: Paper) -> Entry:
    text = (paper.name, " ".join(paper.authors), paper.venue, paper.abstract)
    return Entry(paper, fold("\n".join(text)))


def _title(entry: Entry) -> tuple[str, str]:
    return _PUNCTUATION.sub("", entry.words[:200]), entry.paper.id


def _surname(paper: Paper) -> tuple[bool, str]:
    words = paper.authors[0].split() if paper.authors else []
    return not words, fold(words[-1]) if words else ""


def _has_year(paper: Paper, wish: Wish) -> bool:
    if wish.year_from is None and wish.year_to is None:
        return True
    return paper.year is not None and (
        (wish.year_from or 0) <= paper.year and (wish.year_to is None or paper.year <= wish.year_to)
    )


def _within(wish: Wish) -> dict[str, AskOptions]:
    scope = Scope(year_from=wish.year_from, year_to=wish.year_to)
    return {} if scope.is_open else {"options": AskOptions(scope=scope)}


def _shortened(text: str) -> str:
    if len(text) <= _MAX_TEXT:
        return text
    return text[:_MAX_TEXT].rsplit(maxsplit=1)[0]

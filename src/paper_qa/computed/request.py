"""What the library can be asked, and how the wording of such a question is taken apart."""

import re
from dataclasses import dataclass
from typing import Literal

Form = Literal["count", "exists", "list"]
Criterion = Literal["all", "author", "year", "venue", "mention", "topic"]
Detail = Literal["authors", "published"]

PUBLISHED = r"(?:published|appear(?:ed|ing)|presented|accepted|written|released)"
_QUOTES = " \t\"'“”‘’«»`"


@dataclass(frozen=True, slots=True)
class PapersRequest:
    """How many papers, whether any, or which: those that a criterion holds for.

    ``values`` are authors, all of whom have to be; or terms, one of which is enough; or a year, or
    a venue.
    """

    form: Form
    criterion: Criterion = "all"
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DetailRequest:
    """Who wrote a paper, or where and when it appeared.

    ``name`` is the paper's title or what stands before its colon; a mere part of a title is enough
    if it has ``min_words``, since "gradient descent" is in a title without being that paper. It is
    empty for the one paper that is asked about.
    """

    detail: Detail
    name: str
    min_words: int


def pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern that is written over several lines, for either case."""
    return re.compile(text, re.IGNORECASE | re.VERBOSE)


def unquoted(text: str) -> str:
    """Return a name or a term without quotation marks and the article before it."""
    bare = text.strip(_QUOTES)
    return re.sub(r"^(?:the|an?)\s+", "", bare).strip(_QUOTES)

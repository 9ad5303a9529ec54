"""The types that the rest of the program speaks in: plain, frozen, without behaviour of their own.

Offsets are counted in characters of ``Paper.abstract`` (Python ``str`` indices), end exclusive.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, cast

from paper_qa.errors import ConfigurationError

Support = Literal["supported", "computed", "contradicted", "not_mentioned"]
WithheldReason = Literal["contradicted", "not_mentioned", "refers_back"]
AbstainReason = Literal["no_evidence", "not_in_abstract", "language"]
Role = Literal["user", "assistant"]

SCHEMA_VERSION = 1
COMPUTED: Final = "computed"  # the ``model`` of an answer that the library itself gave
EXTRACTIVE: Final = "extractive"  # the ``model`` of an answer of key passages
MAX_SOURCES: Final = 20


@dataclass(frozen=True, slots=True)
class Place:
    """Where a paper was found: a file name and the number of its paragraph or line, from 1."""

    file: str
    paragraph: int


@dataclass(frozen=True, slots=True)
class Paper:
    """One paper of the library: its abstract and what is known about it."""

    id: str
    title: str
    abstract: str
    authors: tuple[str, ...] = ()
    year: int | None = None
    venue: str = ""
    url: str = ""
    retracted: bool = False
    found_in: tuple[Place, ...] = ()

    @property
    def name(self) -> str:
        """The title, or the abstract's first words when the paper came without one."""
        if self.title:
            return self.title
        words = self.abstract.split()
        return " ".join(words[:10]) + ("…" if len(words) > 10 else "")


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of text by its character offsets, end exclusive."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk of whole sentences of one abstract, as it is embedded."""

    id: str
    paper_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ScoredPaper:
    """A paper with its fused retrieval score, between 0 and 1."""

    paper: Paper
    score: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """A sentence of an abstract that an answer may rest on; ``text == abstract[start:end]``."""

    paper_id: str
    start: int
    end: int
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Citation:
    """A marker ``[number]`` and the words it points to; ``quote == abstract[start:end]``."""

    number: int
    paper_id: str
    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True)
class Claim:
    """One checked sentence of an answer, without its markers; ``score`` is between 0 and 1."""

    text: str
    support: Support
    score: float
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class Withheld:
    """A sentence that nothing supports, kept out of the answer, and why.

    ``quote`` has the words of an abstract that contradict it. A sentence may also go because it
    speaks of the one before ("it", "they"), which was withheld.
    """

    text: str
    score: float
    reason: WithheldReason = "not_mentioned"
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Reference:
    """A cited paper, as listed under an answer."""

    number: int
    paper_id: str
    title: str
    authors: tuple[str, ...]
    year: int | None
    venue: str
    url: str
    retracted: bool


@dataclass(frozen=True, slots=True)
class Usage:
    """What the language model was asked to do for one answer."""

    llm_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds since the question arrived."""

    retrieve_s: float = 0.0
    first_claim_s: float = 0.0
    total_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Scope:
    """Which papers a question may be answered from: those that all of its bounds admit.

    ``venue`` and ``author`` are parts of a name, in either case and with or without accents;
    ``paper_ids`` are the only papers, or none of them to admit all.

    Raises:
        ConfigurationError: the years can't be met.
    """

    year_from: int | None = None
    year_to: int | None = None
    venue: str = ""
    author: str = ""
    paper_ids: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        first, last = self.year_from, self.year_to
        if first is not None and last is not None and first > last:
            raise ConfigurationError(
                f"no year is from {first} on and up to {last}: give the earlier year first"
            )

    @property
    def is_open(self) -> bool:
        """Tell whether every paper is admitted."""
        bounds = (self.venue.strip(), self.author.strip(), self.paper_ids)
        return self.year_from is None and self.year_to is None and not any(bounds)

    @property
    def only_paper_id(self) -> str:
        """The one paper that is asked about, or ``""``."""
        return self.paper_ids[0] if len(set(self.paper_ids)) == 1 else ""

    def admits(self, paper: Paper) -> bool:
        """Tell whether a paper is within all bounds; one of unknown year is within no years."""
        author = folded(self.author)
        return (
            self._admits_year(paper.year)
            and folded(self.venue) in folded(paper.venue)
            and (not author or any(author in folded(name) for name in paper.authors))
            and (not self.paper_ids or paper.id in self.paper_ids)
        )

    def _admits_year(self, year: int | None) -> bool:
        if year is None:
            return self.year_from is None and self.year_to is None
        after = self.year_from is None or self.year_from <= year
        return after and (self.year_to is None or year <= self.year_to)


ANY_PAPER: Final = Scope()


@dataclass(frozen=True, slots=True)
class AskOptions:
    """How one question is to be answered; what is None is as configured.

    Args:
        scope: which papers may be used.
        num_sources: how many papers the answer may rest on at most, 1 to 20.
        write: False answers with key passages even where a model could write.
        flag_unsupported: show sentences that nothing supports, marked, instead of none of them.
        abstain_threshold: the confidence under which there is no answer, 0 to 1.

    Raises:
        ConfigurationError: a value is out of its range.
    """

    scope: Scope = ANY_PAPER
    num_sources: int | None = None
    write: bool = True
    flag_unsupported: bool | None = None
    abstain_threshold: float | None = None

    def __post_init__(self) -> None:
        if self.num_sources is not None and not 1 <= self.num_sources <= MAX_SOURCES:
            raise ConfigurationError(
                f"num_sources={self.num_sources!r} papers can't be read: give 1 to {MAX_SOURCES}"
            )
        if self.abstain_threshold is not None and not 0 <= self.abstain_threshold <= 1:
            raise ConfigurationError(
                f"abstain_threshold={self.abstain_threshold!r} is no probability: give 0 to 1"
            )


AS_CONFIGURED: Final = AskOptions()


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer whose every sentence is a claim, or the honest word that there is none."""

    question: str
    text: str
    claims: tuple[Claim, ...] = ()
    withheld: tuple[Withheld, ...] = ()
    references: tuple[Reference, ...] = ()
    see: tuple[Reference, ...] = ()
    retrieved: tuple[ScoredPaper, ...] = ()
    abstained: bool = False
    abstain_reason: AbstainReason | None = None
    confidence: float = 0.0
    premise_corrected: bool = False
    notes: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    model: str = EXTRACTIVE
    timings: Timings = field(default_factory=Timings)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON types, in the documented schema (``docs/answer.md``)."""
        fields = asdict(self)
        fields["see"] = [_without(reference, "number") for reference in fields["see"]]
        fields["retrieved"] = [
            {"paper_id": hit.paper.id, "score": round(hit.score, 6)} for hit in self.retrieved
        ]
        return {"schema_version": SCHEMA_VERSION, **_listed(fields)}


@dataclass(frozen=True, slots=True)
class Stage:
    """What is going on, for a status line: ``"Searching"``, ``"Reading 4 papers"``."""

    text: str


@dataclass(frozen=True, slots=True)
class Sources:
    """The best papers and the passages that bear on the question, before anything is written."""

    papers: tuple[ScoredPaper, ...]
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class KeyPassages:
    """What there is to read while a model writes; no part of the answer."""

    passages: tuple[Claim, ...]


Event = Stage | Sources | KeyPassages | Claim | Withheld | Answer
"""What a streamed answer is made of, in this order; the last event is always the Answer."""


def folded(text: str) -> str:
    """Return a name without case, and without what is written above or under its letters."""
    letters = unicodedata.normalize("NFKD", text.strip())
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold()


def _without(fields: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name != key}


def _listed(value: Any) -> Any:
    """Turn the tuples inside ``value`` into lists, as JSON has them."""
    match value:
        case dict():
            return {key: _listed(item) for key, item in cast("dict[str, Any]", value).items()}
        case list() | tuple():
            return [_listed(item) for item in cast("Sequence[Any]", value)]
        case _:
            return value

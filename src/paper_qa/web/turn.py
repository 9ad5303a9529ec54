"""One question of a conversation and what is known of its answer so far."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from paper_qa.citing import refer, with_markers, without_stop
from paper_qa.domain import (
    EXTRACTIVE,
    Answer,
    Citation,
    Claim,
    Event,
    Evidence,
    KeyPassages,
    Paper,
    Sources,
    Stage,
    Turn,
    Withheld,
)
from paper_qa.user_data import Exchange, new_id


@dataclass(frozen=True, slots=True)
class Mark:
    """Words of an abstract to mark, ``[start, end)``, and which marker of the message cites them.

    Markers are counted from 0 in the order in which they stand in the message.
    """

    start: int
    end: int
    marker: int | None = None


@dataclass(frozen=True, slots=True)
class TurnView:
    """A question with everything of its answer that has arrived.

    ``stage`` says what is going on and is empty once the turn is over, one way or another.
    ``passages`` are there to be read until the first sentence is written.
    """

    question: str
    model: str = EXTRACTIVE
    stage: str = ""
    progress: float | None = None
    papers: tuple[Paper, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    passages: tuple[Claim, ...] = ()
    claims: tuple[Claim, ...] = ()
    withheld: tuple[Withheld, ...] = ()
    answer: Answer | None = None
    error: str = ""
    can_retry: bool = True
    stopped: bool = False
    id: str = field(default_factory=new_id)
    asked_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The citations of all claims, in the order of the text."""
        return tuple(citation for claim in self.claims for citation in claim.citations)

    def paper(self, paper_id: str) -> Paper | None:
        """Return the paper if it was among the sources."""
        return next((paper for paper in self.papers if paper.id == paper_id), None)


def advance(turn: TurnView, event: Event) -> TurnView:
    """Return ``turn`` with what ``event`` brings."""
    match event:
        case Stage():
            return replace(turn, stage=event.text, progress=None)
        case Sources():
            papers = tuple(hit.paper for hit in event.papers)
            return replace(turn, papers=papers, evidence=event.evidence)
        case KeyPassages():
            return replace(turn, passages=event.passages)
        case Claim():
            return replace(turn, claims=(*turn.claims, event))
        case Withheld():
            return replace(turn, withheld=(*turn.withheld, event))
        case Answer():
            return _finished(turn, event)


def _finished(turn: TurnView, answer: Answer) -> TurnView:
    known = {paper.id for paper in turn.papers}
    more = tuple(hit.paper for hit in answer.retrieved if hit.paper.id not in known)
    return replace(
        turn,
        stage="",
        model=answer.model,
        papers=turn.papers + more,
        claims=answer.claims,
        withheld=answer.withheld,
        answer=answer,
    )


def missing_papers(turn: TurnView) -> list[str]:
    """Return the ids of papers that the answer names but that were not among the sources."""
    if turn.answer is None:
        return []
    named = (*turn.answer.references, *turn.answer.see)
    return [item.paper_id for item in named if turn.paper(item.paper_id) is None]


def written_and_quoted(claims: Sequence[Claim]) -> tuple[list[Claim], list[Claim]]:
    """Part the claims into sentences that were written, and passages quoted word for word.

    The message shows them in this order. Extraction quotes, and steps in for a model that fails.
    """
    quoted = [claim for claim in claims if _is_quoted(claim)]
    return [claim for claim in claims if not _is_quoted(claim)], quoted


def _is_quoted(claim: Claim) -> bool:
    quotes = (f"“{without_stop(citation.quote)}”" for citation in claim.citations)
    # What the library lists has titles in quotation marks.
    return claim.support != "computed" and any(quote in claim.text for quote in quotes)


def cited_marks(turn: TurnView, paper_id: str) -> list[Mark]:
    """Return the words of a paper that the claims cite."""
    marks: list[Mark] = []
    marker = -1
    written, quoted = written_and_quoted(turn.claims)
    for claim in (*written, *quoted):
        for number in sorted({citation.number for citation in claim.citations}):
            marker += 1
            marks += [
                Mark(citation.start, citation.end, marker)
                for citation in claim.citations
                if (citation.number, citation.paper_id) == (number, paper_id)
            ]
    return marks


def evidence_marks(turn: TurnView, paper_id: str) -> list[Mark]:
    """Return the words of a paper that were read for the answer, the strongest first."""
    found = sorted(
        (item for item in turn.evidence if item.paper_id == paper_id), key=lambda item: -item.score
    )
    return [Mark(item.start, item.end) for item in found]


def history_of(turns: Sequence[TurnView]) -> list[Turn]:
    """Return what was said so far, as the question answerer takes it; failed turns said nothing."""
    messages: list[Turn] = []
    for turn in turns:
        said = turn.answer.text if turn.answer else " ".join(claim.text for claim in turn.claims)
        if said:
            messages += [Turn("user", turn.question), Turn("assistant", said)]
    return messages


def exchange_of(turn: TurnView) -> Exchange:
    """Return what is kept of a turn; of one that was cut short, the claims that had come."""
    answer = turn.answer
    if answer is None and turn.claims:
        answer = _so_far(turn)
    return Exchange(
        turn.id,
        turn.question,
        turn.asked_at,
        answer,
        turn.papers,
        turn.evidence,
        turn.error,
        turn.stopped,
    )


def _so_far(turn: TurnView) -> Answer:
    numbers = {citation.number: turn.paper(citation.paper_id) for citation in turn.citations}
    cited = [(number, paper) for number, paper in sorted(numbers.items()) if paper]
    return Answer(
        turn.question,
        " ".join(with_markers(claim) for claim in turn.claims),
        turn.claims,
        turn.withheld,
        tuple(refer(paper, number) for number, paper in cited),
        model=turn.model,
    )


def turn_of(exchange: Exchange) -> TurnView:
    """Return a turn as it was when it was kept."""
    answer = exchange.answer
    return TurnView(
        exchange.question,
        model=answer.model if answer else "",
        papers=exchange.papers,
        evidence=exchange.evidence,
        claims=answer.claims if answer else (),
        withheld=answer.withheld if answer else (),
        answer=answer,
        error=exchange.error,
        stopped=exchange.stopped,
        id=exchange.id,
        asked_at=exchange.asked_at,
    )

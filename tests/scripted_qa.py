"""A question answerer that says what the test tells it to, over real papers.

It has the methods of ``PaperQA`` that the chat uses, for states that are hard to reach with it:
a slow model, a first start that takes a while, an error in mid-answer.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from paper_qa.domain import (
    AS_CONFIGURED,
    Answer,
    AskOptions,
    Citation,
    Claim,
    Event,
    Evidence,
    Paper,
    Reference,
    ScoredPaper,
    Sources,
    Stage,
    Timings,
    Turn,
)
from paper_qa.errors import PaperQAError, UnknownPaperError


def quote_of(paper: Paper, words: str, number: int = 1) -> Citation:
    """Cite the place of ``words`` in the abstract."""
    start = paper.abstract.index(words)
    return Citation(number, paper.id, start, start + len(words), words)


def reference_to(paper: Paper, number: int) -> Reference:
    return Reference(
        number,
        paper.id,
        paper.title,
        paper.authors,
        paper.year,
        paper.venue,
        paper.url,
        paper.retracted,
    )


def scripted_answer(
    question: str, papers: Sequence[Paper], claims: Sequence[Claim], **fields: object
) -> Answer:
    """Build the answer that these claims make, with its references."""
    numbers = {c.number: c.paper_id for claim in claims for c in claim.citations}
    by_id = {paper.id: paper for paper in papers}
    answer = Answer(
        question=question,
        text=" ".join(claim.text for claim in claims),
        claims=tuple(claims),
        references=tuple(reference_to(by_id[numbers[n]], n) for n in sorted(numbers)),
        retrieved=tuple(ScoredPaper(paper, 0.9) for paper in papers),
        timings=Timings(0.01, 0.02, 0.1),
    )
    return replace(answer, **fields)


@dataclass
class ScriptedQA:
    """Plays ``events`` for every question, with a pause before each; records what it was asked."""

    library: list[Paper]
    events: Sequence[Event] | Callable[[str], Iterable[Event]] = ()
    pause_s: float = 0.0
    error: Exception | None = None
    model_name: str = "extractive"
    prepare_steps: int = 0
    prepare_step_s: float = 0.05
    prepare_errors: list[PaperQAError] = field(default_factory=list)
    asked: list[tuple[str, tuple[Turn, ...]]] = field(default_factory=list)
    options: list[AskOptions] = field(default_factory=list)
    cancelled_at: float | None = None

    def papers(self) -> list[Paper]:
        return self.library

    def paper(self, paper_id: str) -> Paper:
        for paper in self.library:
            if paper.id == paper_id:
                return paper
        raise UnknownPaperError(f"no paper {paper_id!r}: `paper-qa list` names them")

    def prepare(self, progress: Callable[[str, int, int], None]) -> None:
        for step in range(self.prepare_steps):
            progress("Indexing the papers", step, self.prepare_steps)
            time.sleep(self.prepare_step_s)
        if self.prepare_errors:
            raise self.prepare_errors.pop(0)

    def search(
        self, query: str, *, k: int = 10, options: AskOptions = AS_CONFIGURED
    ) -> list[ScoredPaper]:
        """Find the papers whose title or abstract has the query."""
        admitted = [paper for paper in self.library if options.scope.admits(paper)]
        found = [p for p in admitted if query.lower() in f"{p.title} {p.abstract}".lower()]
        return [ScoredPaper(paper, 0.9) for paper in found[:k]]

    async def astream(
        self,
        question: str,
        *,
        history: Sequence[Turn] = (),
        options: AskOptions = AS_CONFIGURED,
    ) -> AsyncGenerator[Event, None]:
        self.asked.append((question, tuple(history)))
        self.options.append(options)
        events = self.events(question) if callable(self.events) else self.events
        try:
            for event in events:
                await asyncio.sleep(self.pause_s)
                yield event
            if self.error:
                raise self.error
        except (asyncio.CancelledError, GeneratorExit):
            self.cancelled_at = time.monotonic()
            raise


def play(
    question: str, papers: Sequence[Paper], claims: Sequence[Claim], **fields: object
) -> list[Event]:
    """Return the events of an answer that makes these claims."""
    evidence = tuple(
        Evidence(c.paper_id, c.start, c.end, c.quote, claim.score)
        for claim in claims
        for c in claim.citations
    )
    return [
        Stage("Searching"),
        Sources(tuple(ScoredPaper(paper, 0.9) for paper in papers), evidence),
        Stage(f"Reading {len(papers)} papers"),
        *claims,
        scripted_answer(question, papers, claims, **fields),
    ]

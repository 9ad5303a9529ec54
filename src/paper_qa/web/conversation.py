"""From a question to the successive states of its turn; knows nothing of the page."""

import logging
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from typing import Protocol

from paper_qa.domain import AskOptions, Claim, Event, KeyPassages, Paper, ScoredPaper, Turn
from paper_qa.errors import PaperQAError, UnknownPaperError
from paper_qa.questions import QuestionError
from paper_qa.web.line import Line
from paper_qa.web.preparation import Preparation
from paper_qa.web.turn import TurnView, advance, missing_papers

FAULT = "something went wrong inside the program; the terminal it was started from says what"

logger = logging.getLogger(__name__)
_MIN_STEP_S = 0.06
"""Claims that follow each other faster than this are shown together."""


class Asker(Protocol):
    """What the chat needs of ``PaperQA``."""

    @property
    def model_name(self) -> str:
        """Who writes the answers: a model's name, or ``"extractive"``."""
        ...

    def astream(
        self, question: str, *, history: Sequence[Turn] = (), options: AskOptions = ...
    ) -> AsyncGenerator[Event]:
        """Answer the question, event by event."""
        ...

    def search(self, query: str, *, k: int = 10, options: AskOptions = ...) -> list[ScoredPaper]:
        """Return the papers nearest to a text, best first."""
        ...

    def papers(self) -> list[Paper]:
        """Return all papers of the library."""
        ...

    def paper(self, paper_id: str) -> Paper:
        """Return one paper; raise ``UnknownPaperError`` if there is none."""
        ...

    def prepare(self, progress: Callable[[str, int, int], None]) -> object:
        """Index what is not indexed yet."""
        ...


async def run_turn(
    qa: Asker,
    preparation: Preparation,
    line: Line,
    turn: TurnView,
    history: Sequence[Turn],
    options: AskOptions,
) -> AsyncGenerator[TurnView]:
    """Yield the turn as it grows; its last state is over, answered or with an error."""
    turn = replace(turn, stage="Searching")
    yield turn
    shown, shown_at, pause_s = turn, time.monotonic(), _MIN_STEP_S
    try:
        async for progress in preparation.wait():
            yield replace(turn, stage=progress.text, progress=progress.share)
        asked = qa.astream(turn.question, history=history, options=options)
        async with AsyncExitStack() as stack:
            events = await stack.enter_async_context(aclosing(asked))
            async for event in events:
                turn = _with_missing_papers(qa, advance(turn, event))
                # Only claims come in a burst; after anything else the wait may be a long one.
                began = time.monotonic()
                is_late = began - shown_at >= pause_s
                if (is_late or not isinstance(event, Claim)) and turn != shown:
                    yield turn
                    shown, shown_at = turn, time.monotonic()
                    pause_s = max(_MIN_STEP_S, shown_at - began)  # a busy server takes long steps
                if isinstance(event, KeyPassages):  # the model is not asked before the next step
                    ticket = line.join()
                    stack.callback(ticket.leave)
                    async for before in ticket.wait():
                        shown = replace(turn, stage=f"Waiting for the model: {before} before you")
                        yield shown
    except PaperQAError as error:
        can_retry = not isinstance(error, QuestionError)  # which would be the same again
        yield replace(turn, stage="", progress=None, error=str(error), can_retry=can_retry)
    except Exception:  # the edge: a fault of ours must not leave the page waiting
        logger.exception("a question could not be answered")
        yield replace(turn, stage="", progress=None, error=FAULT)


def _with_missing_papers(qa: Asker, turn: TurnView) -> TurnView:
    """Add the papers that an answer names without their having been among the sources."""
    found: list[Paper] = []
    for paper_id in missing_papers(turn):
        try:
            found.append(qa.paper(paper_id))
        except UnknownPaperError:  # removed in this moment; the card shows what the reference says
            continue
    return replace(turn, papers=turn.papers + tuple(found)) if found else turn

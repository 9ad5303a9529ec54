"""From a question to the successive states of its turn; knows nothing of the page."""

import logging
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

from paper_qa.domain import Claim, Event, Paper, Turn
from paper_qa.errors import PaperQAError, UnknownPaperError
from paper_qa.questions import QuestionError
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

    def astream(self, question: str, *, history: Sequence[Turn] = ()) -> AsyncGenerator[Event]:
        """Answer the question, event by event."""
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
    qa: Asker, preparation: Preparation, question: str, history: Sequence[Turn]
) -> AsyncGenerator[TurnView]:
    """Yield the turn as it grows; its last state is over, answered or with an error."""
    turn = TurnView(question, model=qa.model_name, stage="Searching")
    yield turn
    shown_at = time.monotonic()
    try:
        async for progress in preparation.wait():
            yield replace(turn, stage=progress.text, progress=progress.share)
        async with aclosing(qa.astream(question, history=history)) as events:
            async for event in events:
                turn = _with_missing_papers(qa, advance(turn, event))
                # Only claims come in a burst; after anything else the wait may be a long one.
                is_late = time.monotonic() - shown_at >= _MIN_STEP_S
                if is_late or not isinstance(event, Claim):
                    yield turn
                    shown_at = time.monotonic()
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

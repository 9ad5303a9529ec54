"""Thumbs up and down: what a person thinks of an answer, and the words they add to it."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import gradio as gr

from paper_qa.domain import Answer
from paper_qa.errors import PaperQAError
from paper_qa.user_data import Feedback
from paper_qa.web.conversation import Asker
from paper_qa.web.kept import Kept
from paper_qa.web.present import status_html
from paper_qa.web.turn import TurnView, history_of
from paper_qa.web.visitor import owner_of

Shown = tuple[Any, Any, Any, Any]
"""The chat with its thumbs, the row for the comment, its words, and what they are about."""

_SKIP: Any = gr.skip()  # pyright: ignore[reportUnknownVariableType]
_UNSAID: Shown = (_SKIP, gr.update(visible=False), "", "")
_LABELS = {"up": "Like", "down": "Dislike"}


class Thumbs:
    """What happens when a person judges an answer."""

    def __init__(self, qa: Asker, kept: Kept) -> None:
        self._qa = qa
        self._kept = kept

    async def judge(
        self,
        messages: list[dict[str, Any]],
        conversation_id: str,
        turns: list[TurnView],
        request: gr.Request,
        judged: gr.LikeData,
    ) -> Shown:
        """Keep a thumb up or down, and ask what it is about; a thumb taken back is forgotten."""
        owner = owner_of(request)
        turns = await self._kept.latest(owner, conversation_id, turns, len(messages) // 2)
        place = (judged.index if isinstance(judged.index, int) else judged.index[0]) // 2
        if not 0 <= place < len(turns) or turns[place].answer is None:
            return _UNSAID
        verdict = ("up" if judged.liked else "down") if isinstance(judged.liked, bool) else ""
        return await self._keep(owner, turns, place, verdict)

    async def _keep(self, owner: str, turns: list[TurnView], place: int, verdict: str) -> Shown:
        exchange_id = turns[place].id
        try:
            if verdict:
                given = await self._feedback(turns, place, verdict, "")
                await self._kept.give_feedback(owner, exchange_id, given)
            else:
                await self._kept.withdraw(owner, exchange_id)
        except PaperQAError as error:
            raise gr.Error(str(error), print_exception=False) from error
        thumbs = thumbs_of(turns, await self._kept.verdicts(owner))
        judged = f"{exchange_id}/{verdict}" if verdict else ""
        return gr.update(feedback_value=thumbs), gr.update(visible=bool(verdict)), "", judged

    async def comment(
        self,
        words: str,
        judged: str,
        messages: list[dict[str, Any]],
        conversation_id: str,
        turns: list[TurnView],
        request: gr.Request,
    ) -> tuple[Any, ...]:
        """Add a comment to the thumb that was given last, and say so in the status line."""
        owner = owner_of(request)
        turns = await self._kept.latest(owner, conversation_id, turns, len(messages) // 2)
        exchange_id, _, verdict = judged.partition("/")
        ids = [turn.id for turn in turns]
        if exchange_id not in ids or verdict not in _LABELS:
            return (*_UNSAID, _SKIP)
        given = await self._feedback(turns, ids.index(exchange_id), verdict, words.strip())
        try:
            await self._kept.give_feedback(owner, exchange_id, given)
        except PaperQAError as error:
            raise gr.Error(str(error), print_exception=False) from error
        return (*_UNSAID, status_html("Your comment is kept on this machine."))

    async def _feedback(
        self, turns: list[TurnView], place: int, verdict: str, comment: str
    ) -> Feedback:
        turn = turns[place]
        answer = turn.answer or Answer(turn.question, "")
        papers = await asyncio.to_thread(self._qa.papers)
        return Feedback(
            "up" if verdict == "up" else "down",
            turn.question,
            answer,
            datetime.now(UTC),
            comment,
            answer.model,
            version("paper-qa-chat"),
            f"{len(papers)} papers",
            tuple(history_of(turns[:place])),
        )


def thumbs_of(turns: Sequence[TurnView], verdicts: Mapping[str, str]) -> list[str | None]:
    """Return the thumb of every answer as the page shows it, in the order of the answers."""
    return [_LABELS.get(verdicts.get(turn.id, "")) for turn in turns]

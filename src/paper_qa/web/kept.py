"""What is kept of a person from one visit to the next, read and written beside the event loop."""

import asyncio
import logging
from collections.abc import Sequence

from paper_qa.domain import Paper
from paper_qa.errors import PaperQAError
from paper_qa.user_data import ConversationHead, Feedback, UnknownItemError, UserData
from paper_qa.web.turn import TurnView, exchange_of, turn_of

logger = logging.getLogger(__name__)


class Kept:
    """The data of the people who use the chat.

    A browser without a cookie has no owner: nothing is kept for it, and it is shown nothing. The
    chat goes on where the data can't be read or written: it says so, and answers all the same.
    """

    def __init__(self, data: UserData) -> None:
        self._data = data

    async def turns(self, owner: str, conversation_id: str) -> list[TurnView] | None:
        """Return the turns of a conversation, or None if this person has no such one."""
        if not owner or not conversation_id:
            return None
        try:
            found = await asyncio.to_thread(self._data.conversation, owner, conversation_id)
        except UnknownItemError:
            return None
        except PaperQAError as error:
            logger.warning("a conversation could not be read: %s", error)
            return None
        return [turn_of(exchange) for exchange in found.exchanges]

    async def latest(
        self, owner: str, conversation_id: str, turns: list[TurnView], num_asked: int
    ) -> list[TurnView]:
        """Return the turns that the page shows: after a restart of the server, what was kept."""
        if len(turns) >= num_asked:
            return turns
        return await self.turns(owner, conversation_id) or turns

    async def grown(
        self, owner: str, conversation_id: str, turns: list[TurnView]
    ) -> list[TurnView]:
        """Return the turns with those that were added to them elsewhere, in another tab.

        After a restart of the server, when the page has none, these are all that were kept.
        """
        kept = await self.turns(owner, conversation_id) or []
        has_grown = [turn.id for turn in kept[: len(turns)]] == [turn.id for turn in turns]
        return [*turns, *kept[len(turns) :]] if has_grown else turns

    async def keep(self, owner: str, conversation_id: str, place: int, turn: TurnView) -> str:
        """Keep a turn as the last of its conversation; return what went wrong, or nothing."""
        if not owner:
            return ""
        try:
            await asyncio.to_thread(self._keep, owner, conversation_id, place, turn)
        except PaperQAError as error:
            logger.warning("an answer could not be kept: %s", error)
            return str(error)
        return ""

    def _keep(self, owner: str, conversation_id: str, place: int, turn: TurnView) -> None:
        self._data.save_exchange(owner, conversation_id, place, exchange_of(turn))
        self._data.truncate(owner, conversation_id, place + 1)

    async def conversations(self, owner: str, words: str = "") -> Sequence[ConversationHead]:
        """Return the conversations that have these words, newest first.

        Raises:
            UserDataError: they can't be read.
        """
        return await asyncio.to_thread(self._data.conversations, owner, words) if owner else ()

    async def rename(self, owner: str, conversation_id: str, title: str) -> None:
        """Give a conversation another title.

        Raises:
            UserDataError: it is blank, or there is no such conversation.
        """
        await asyncio.to_thread(self._data.rename, owner, conversation_id, title)

    async def delete(self, owner: str, conversation_id: str) -> None:
        """Delete a conversation.

        Raises:
            UserDataError: it can't be written.
        """
        await asyncio.to_thread(self._data.delete, owner, conversation_id)

    async def starred(self, owner: str) -> frozenset[str]:
        """Return the ids of the papers on the reading list."""
        try:
            return await asyncio.to_thread(self._data.starred, owner) if owner else frozenset()
        except PaperQAError as error:
            logger.warning("the reading list could not be read: %s", error)
            return frozenset()

    async def star(self, owner: str, paper: Paper) -> None:
        """Put a paper on the reading list.

        Raises:
            UserDataError: it can't be written.
        """
        if owner:
            await asyncio.to_thread(self._data.star, owner, paper)

    async def unstar(self, owner: str, paper_id: str) -> None:
        """Take a paper off the reading list.

        Raises:
            UserDataError: it can't be written.
        """
        await asyncio.to_thread(self._data.unstar, owner, paper_id)

    async def give_feedback(self, owner: str, exchange_id: str, given: Feedback) -> None:
        """Keep what a person thinks of an answer.

        Raises:
            UserDataError: it can't be written.
        """
        if owner:
            await asyncio.to_thread(self._data.give_feedback, owner, exchange_id, given)

    async def withdraw(self, owner: str, exchange_id: str) -> None:
        """Forget what a person thinks of an answer.

        Raises:
            UserDataError: it can't be written.
        """
        await asyncio.to_thread(self._data.withdraw, owner, exchange_id)

    async def verdicts(self, owner: str) -> dict[str, str]:
        """Return what a person thinks of answers, ``"up"`` or ``"down"``, by exchange."""
        try:
            given = await asyncio.to_thread(self._data.feedback, owner) if owner else []
        except PaperQAError as error:
            logger.warning("feedback could not be read: %s", error)
            return {}
        return {item.exchange_id: item.feedback.verdict for item in given}

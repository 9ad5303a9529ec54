"""All that belongs to the people who use the chat, in one SQLite file."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from paper_qa.domain import Paper
from paper_qa.user_data import conversations, feedback, reading_list
from paper_qa.user_data.conversations import Conversation, ConversationHead, Exchange
from paper_qa.user_data.feedback import Feedback, GivenFeedback
from paper_qa.user_data.file import UserFile
from paper_qa.user_data.reading_list import Saved

FILE_NAME = "user_data.sqlite3"


def _now() -> datetime:
    return datetime.now(UTC)


class UserData:
    """Conversations, reading lists and feedback, by ``owner``: a secret, random id of a person.

    No method but `all_feedback` returns or changes what belongs to another owner: another's id is
    an unknown id. Threads may share an object, and processes the file. Every change is on the disk
    when its method returns.

    Args:
        path: the file, ``settings.home / FILE_NAME``; it is made with its folder.
        now: tells the time in UTC.

    Raises:
        UserDataError: it can't be opened; from the methods, that it can't be read or written.
    """

    def __init__(self, path: Path, *, now: Callable[[], datetime] = _now) -> None:
        self._file = UserFile(path.expanduser().resolve())
        self._now = now

    def save_exchange(
        self, owner: str, conversation_id: str, position: int, exchange: Exchange
    ) -> None:
        """Put an exchange at a position, from 0, in place of what was there.

        The first one makes the conversation; `new_id` gives it an id.
        """
        with self._file.writing() as connection:
            conversations.save_exchange(connection, owner, conversation_id, position, exchange)

    def truncate(self, owner: str, conversation_id: str, position: int) -> None:
        """Keep the first ``position`` exchanges, and drop the rest.

        After a retry at ``p``: save the new exchange at ``p``, then truncate to ``p + 1``.
        """
        with self._file.writing() as connection:
            conversations.truncate(connection, owner, conversation_id, position)

    def conversation(self, owner: str, conversation_id: str) -> Conversation:
        """Return a conversation with its exchanges in order.

        One that another version kept, and this one can't read, is its question with an error.

        Raises:
            UnknownItemError: there is none.
        """
        with self._file.reading() as connection:
            return conversations.read_conversation(connection, owner, conversation_id)

    def conversations(self, owner: str, search: str = "") -> list[ConversationHead]:
        """Return the conversations by the time of their last question, newest first.

        With ``search``, those that have each of its words somewhere in title, questions or answers,
        in either case, as parts of words too.
        """
        with self._file.reading() as connection:
            return conversations.list_conversations(connection, owner, search)

    def rename(self, owner: str, conversation_id: str, title: str) -> None:
        """Give a conversation a title in place of its first question; blanks around it go.

        Raises:
            UserDataError: the title is blank.
            UnknownItemError: there is no such conversation.
        """
        with self._file.writing() as connection:
            conversations.rename(connection, owner, conversation_id, title)

    def delete(self, owner: str, conversation_id: str) -> None:
        """Delete a conversation, if it is there; feedback on its answers stays until withdrawn."""
        with self._file.writing() as connection:
            conversations.delete(connection, owner, conversation_id)

    def star(self, owner: str, paper: Paper) -> None:
        """Put a paper on the reading list; if it is there, its note and time stay."""
        with self._file.writing() as connection:
            reading_list.star(connection, owner, paper, self._now())

    def unstar(self, owner: str, paper_id: str) -> None:
        """Take a paper off the reading list, if it is there; a note on it stays, unseen."""
        with self._file.writing() as connection:
            reading_list.unstar(connection, owner, paper_id)

    def annotate(self, owner: str, paper_id: str, note: str) -> None:
        """Set the note of a paper on the reading list; a blank one takes it away.

        Raises:
            UnknownItemError: the paper is not on the list.
        """
        with self._file.writing() as connection:
            reading_list.annotate(connection, owner, paper_id, note)

    def starred(self, owner: str) -> frozenset[str]:
        """Return the ids of the papers on the reading list; the papers are not read."""
        with self._file.reading() as connection:
            return reading_list.read_ids(connection, owner)

    def reading_list(self, owner: str) -> list[Saved]:
        """Return the papers of the reading list, newest first."""
        with self._file.reading() as connection:
            return reading_list.read_list(connection, owner)

    def give_feedback(self, owner: str, exchange_id: str, given: Feedback) -> None:
        """Keep what a person thinks of an answer, in place of what they thought before."""
        with self._file.writing() as connection:
            feedback.give(connection, owner, exchange_id, given)

    def withdraw(self, owner: str, exchange_id: str) -> None:
        """Delete the feedback on an answer, if there is any."""
        with self._file.writing() as connection:
            feedback.withdraw(connection, owner, exchange_id)

    def feedback(self, owner: str) -> list[GivenFeedback]:
        """Return a person's feedback, oldest first."""
        with self._file.reading() as connection:
            return feedback.read_own(connection, owner)

    def all_feedback(self) -> list[GivenFeedback]:
        """Return everybody's feedback, oldest first: for the operator of the machine only."""
        with self._file.reading() as connection:
            return feedback.read_all(connection)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

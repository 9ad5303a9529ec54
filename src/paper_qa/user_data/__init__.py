"""What belongs to a person who uses the chat: conversations, a reading list, feedback."""

from paper_qa.user_data.conversations import Conversation, ConversationHead, Exchange, new_id
from paper_qa.user_data.errors import UnknownItemError, UserDataError
from paper_qa.user_data.export import (
    conversation_bibtex,
    conversation_json,
    conversation_markdown,
    file_name,
    reading_list_bibtex,
    reading_list_markdown,
)
from paper_qa.user_data.feedback import Feedback, GivenFeedback, Verdict
from paper_qa.user_data.judged import evaluation_file
from paper_qa.user_data.reading_list import Saved
from paper_qa.user_data.store import FILE_NAME, UserData

__all__ = [
    "FILE_NAME",
    "Conversation",
    "ConversationHead",
    "Exchange",
    "Feedback",
    "GivenFeedback",
    "Saved",
    "UnknownItemError",
    "UserData",
    "UserDataError",
    "Verdict",
    "conversation_bibtex",
    "conversation_json",
    "conversation_markdown",
    "evaluation_file",
    "file_name",
    "new_id",
    "reading_list_bibtex",
    "reading_list_markdown",
]

"""What can go wrong with a person's own things; each edge catches these as ``PaperQAError``."""

from paper_qa.errors import PaperQAError


class UserDataError(PaperQAError):
    """The user data is newer than this version, not writable or damaged, or is asked to be odd."""


class UnknownItemError(UserDataError):
    """This person has nothing with this id; another person's things count as nothing."""

"""Every exception that a caller of paper_qa may catch.

::

    PaperQAError                       its message is shown to the person as it stands
    ├── ConfigurationError             a setting is missing, misspelt or impossible
    ├── LibraryError                   the library is missing, newer, not writable or damaged
    │   └── UnknownPaperError          no paper in the library has this id
    ├── QuestionError                  the question is blank, or too long to be one
    ├── FormatError                    a file is not what it claims to be
    ├── ModelFileError                 the file of a local model is missing, or can't be had
    └── ModelError                     the chat or embedding model failed
        ├── ModelAuthenticationError   the endpoint refused the key
        ├── ModelNotFoundError         the endpoint does not have this model
        ├── ModelConnectionError       the endpoint can't be reached, timed out or broke off
        ├── ModelRateLimitError        the endpoint asks to wait, or the quota is used up
        └── ContextLengthError         the prompt is longer than the model can read

Messages are one line, name the thing with its value, and end with what to do.
"""


class PaperQAError(Exception):
    """Base of all errors; the message is written for the person who asked."""


class ConfigurationError(PaperQAError):
    """A setting is missing, misspelt or impossible."""


class LibraryError(PaperQAError):
    """The library is missing, newer than this version, not writable or damaged."""


class UnknownPaperError(LibraryError):
    """No paper in the library has this id."""


class QuestionError(PaperQAError):
    """The question is blank, or too long to be one."""


class FormatError(PaperQAError):
    """A file is not what it claims to be: ``path:line: why``."""


class ModelFileError(PaperQAError):
    """The file of a local model is missing, or can't be fetched, written or deleted."""


class ModelError(PaperQAError):
    """The chat model or the embedding model failed."""


class ModelAuthenticationError(ModelError):
    """The endpoint refused the key."""


class ModelNotFoundError(ModelError):
    """The endpoint does not have the model that was asked for."""


class ModelConnectionError(ModelError):
    """The endpoint can't be reached, timed out, or broke off in the middle."""


class ModelRateLimitError(ModelError):
    """The endpoint asks to wait, or the account's quota is used up."""


class ContextLengthError(ModelError):
    """The prompt is longer than the model can read."""

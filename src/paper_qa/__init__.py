"""Ask a collection of paper abstracts, and get answers with checked citations."""

from typing import TYPE_CHECKING, Any

from paper_qa.domain import (
    Answer,
    AskOptions,
    Citation,
    Claim,
    Event,
    Evidence,
    KeyPassages,
    Paper,
    Place,
    Reference,
    Scope,
    ScoredPaper,
    Sources,
    Span,
    Stage,
    Timings,
    Turn,
    Usage,
    Withheld,
)
from paper_qa.errors import (
    ConfigurationError,
    ContextLengthError,
    FormatError,
    LibraryError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelFileError,
    ModelNotFoundError,
    ModelRateLimitError,
    PaperQAError,
    QuestionError,
    UnknownPaperError,
)

if TYPE_CHECKING:
    from paper_qa.library import AddReport
    from paper_qa.qa import PaperQA
    from paper_qa.settings import Settings, load_settings

__all__ = [
    "AddReport",
    "Answer",
    "AskOptions",
    "Citation",
    "Claim",
    "ConfigurationError",
    "ContextLengthError",
    "Event",
    "Evidence",
    "FormatError",
    "KeyPassages",
    "LibraryError",
    "ModelAuthenticationError",
    "ModelConnectionError",
    "ModelError",
    "ModelFileError",
    "ModelNotFoundError",
    "ModelRateLimitError",
    "Paper",
    "PaperQA",
    "PaperQAError",
    "Place",
    "QuestionError",
    "Reference",
    "Scope",
    "ScoredPaper",
    "Settings",
    "Sources",
    "Span",
    "Stage",
    "Timings",
    "Turn",
    "UnknownPaperError",
    "Usage",
    "Withheld",
    "load_settings",
]

# Imported when first asked for: the shell's --help must not wait for LlamaIndex and pydantic.
_LAZY = {
    "AddReport": "paper_qa.library",
    "PaperQA": "paper_qa.qa",
    "Settings": "paper_qa.settings",
    "load_settings": "paper_qa.settings",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - as late as what it imports

    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return __all__

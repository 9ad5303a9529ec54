"""Question files: JSON Lines, one question with its judged papers and its facts a line."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pydantic import TypeAdapter

from paper_qa.domain import AbstainReason, Turn
from paper_qa.evaluation.json_lines import read_items

_REASONS: Mapping[str, AbstainReason] = MappingProxyType(
    {
        "not_in_abstract": "not_in_abstract",
        "false_premise": "not_in_abstract",
        "absent_topic": "no_evidence",
        "off_topic": "no_evidence",
    }
)


@dataclass(frozen=True, slots=True)
class Question:
    """One question; without ``gold`` papers it is one that the abstracts do not answer.

    ``quote[i]`` is a verbatim span of the abstract ``quote_paper[i]`` and proves ``facts[i]``.
    ``near`` are related papers that are not correct sources.
    ``kind`` says why an unanswerable question is one.
    """

    id: str
    question: str
    type: str
    lang: str = "en"
    gold: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    quote: tuple[str, ...] = ()
    quote_paper: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    kind: str = ""
    history: tuple[Turn, ...] = ()

    @property
    def is_answerable(self) -> bool:
        """Whether some abstract answers it."""
        return bool(self.gold)

    @property
    def right_reason(self) -> AbstainReason | None:
        """The reason for which an unanswerable question is declined; None if its kind names none.

        Of a false premise too the paper is there, and what is asked for is not in it.
        """
        return None if self.is_answerable else _REASONS.get(self.kind)


_QUESTION = TypeAdapter(Question)


def read_questions(path: Path) -> list[Question]:
    """Read a question file; fields that it has beyond ours are ignored.

    Raises:
        FormatError: the file can't be read, is empty, or has a line that is no question.
    """
    items = read_items(path, _QUESTION, name="question", problem=_problem)
    return [question for _, question in items]


def _problem(question: Question) -> str | None:
    """Find what the types alone do not forbid."""
    if not question.question.strip():
        return "'question' is blank; ask something"
    if question.facts and not question.gold:
        return "'facts' without 'gold'; name the papers that state them"
    if any(not fact.replace("||", "").strip() for fact in question.facts):
        return "'facts' has a blank one; write what to look for"
    if len(question.quote) != len(question.quote_paper):
        return "'quote' and 'quote_paper' differ in length; name the paper of each quote"
    return None

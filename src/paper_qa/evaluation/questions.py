"""Question files: JSON Lines, one question with its judged papers and its facts a line."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from paper_qa.domain import Turn
from paper_qa.evaluation.json_lines import read_items


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

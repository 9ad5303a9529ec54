"""Question files: JSON Lines, one question with its judged papers and its facts a line."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from paper_qa.domain import Turn
from paper_qa.errors import FormatError


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
    questions: dict[str, Question] = {}
    for number, line in _lines(path):
        question = _parse(line, where=f"{path}:{number}")
        if question.id in questions:
            raise FormatError(
                f"{path}:{number}: the id {question.id!r} occurs twice; give each its own"
            )
        questions[question.id] = question
    if not questions:
        raise FormatError(f"{path}:1: no questions; put one JSON object on each line")
    return list(questions.values())


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        reason = (error.strerror or "unknown error").lower()
        raise FormatError(f"can't read {str(path)!r}: {reason}; give a question file") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise FormatError(f"{path}:{line}: not UTF-8; save the file in that encoding") from error
    # Not splitlines(): a question may hold U+2028 and its like, which JSON need not escape.
    numbered = enumerate(text.split("\n"), start=1)
    return ((number, line) for number, line in numbered if line.strip())


def _parse(line: str, *, where: str) -> Question:
    try:
        question = _QUESTION.validate_json(line, strict=True)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        message = first["msg"][0].lower() + first["msg"][1:]
        raise FormatError(f"{where}: {f'{field!r}: ' if field else ''}{message}") from error
    if problem := _problem(question):
        raise FormatError(f"{where}: {problem}")
    return question


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

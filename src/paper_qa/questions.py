"""What is asked: the kind of question, and a query that stands alone when it follows others."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from paper_qa.domain import AS_CONFIGURED, AskOptions, Turn
from paper_qa.errors import QuestionError
from paper_qa.followup import depends_on_history
from paper_qa.language import ENGLISH, language_of

MAX_QUESTION_CHARACTERS = 4000
MAX_HISTORY_TURNS = 6
MAX_BACKGROUND_CHARACTERS = 600

Kind = Literal["answer", "list", "compare", "summary"]

_PAPERS = r"(?:papers?|works?|articles?|studies|publications?)"
_LIST = re.compile(
    rf"""^(?:(?:and|so|ok|okay|please)\b[\s,]*)*(?:
        (?:which|what)\s+(?:of\s+(?:the|these|those)\s+)?(?:other\s+)?{_PAPERS}\b
      | (?:list|name|find|show|give|enumerate)\s+(?:(?:me|all|every|of|the|some)\s+)*{_PAPERS}\b
      | (?:all|any|other|more)\s+(?:the\s+)?{_PAPERS}\b
      | (?:is|are)\s+there\s+(?:(?:any|other|more)\s+)*(?:{_PAPERS}|research)\b
      | papers\s+(?:on|about|that|which|using|with)\b
      | (?:who|which\s+authors)\s+(?:works?|worked|writes?|wrote)\s+(?:on|about)\b
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_COMPARE = re.compile(
    rf"""\b(?:compar(?:e[ds]?|ing|ison)\b | versus\b | vs\b
      | contrast\s+.{{3,120}}?\b(?:with|and|to)\b
      | differences?\s+between\b
      | how\s+(?:do|does|did)\s+.{{3,120}}?\band\b.{{3,120}}?\bdiffer
      | (?:the\s+)?two\s+(?:[\w-]+\s+){{0,3}}(?:{_PAPERS}|authors|approaches|methods|defen[cs]es)\b
      | both\s+(?:[\w-]+\s+){{0,2}}{_PAPERS}\b
      | one\s+paper\b.*\b(?:another|other)
      | papers?\s+and\s+the\s+(?:[\w-]+\s+){{1,4}}(?:paper|one)\b
      | what\s+do\s+.{{3,120}}\band\b.{{3,120}}\b(?:each|have\s+in\s+common)\b )""",
    re.IGNORECASE | re.VERBOSE,
)
_SUMMARY = re.compile(
    r"""^(?:(?:please|can\s+you|could\s+you)\s+)*(?:
        summari[sz]e | sum\s+up | tl;?dr | summary\s+of
      | (?:give|write|make)\s+(?:me\s+)?an?\s+(?:short\s+|brief\s+)?summary\s+of
    )\b[\s:,]*(?:the\s+)?(?:papers?\s+(?:on|about|called|titled|named)?\s*)?(?P<topic>.+?)[\s.?!]*$""",
    re.IGNORECASE | re.VERBOSE,
)
_UNREADABLE = re.compile(
    "\u001b\\[[0-9;?]*[ -/]*[@-~]"  # how terminals are told of colours
    "|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]"
)
_LETTER = re.compile(r"[^\W\d_]")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f\u0370-\u03ff]")  # Greek letters are maths here


@dataclass(frozen=True, slots=True)
class Question:
    """A question as it is understood.

    ``query`` is what retrieval looks for; ``background`` is what the conversation was about, and
    counts for less. ``readable`` is False when the embedder does not know the script; what is
    ``is_foreign`` it may guess, as far as terms and names are the same as in English.
    ``language`` is a code (ISO 639-1).
    ``paper_id`` is of the one paper that a summary was asked of by name.
    ``options`` say from which papers and how it is to be answered.
    """

    text: str
    query: str
    kind: Kind = "answer"
    background: str = ""
    readable: bool = True
    language: str = ENGLISH
    paper_id: str = ""
    options: AskOptions = AS_CONFIGURED

    @property
    def asks_for_papers(self) -> bool:
        """Tell whether all papers of a kind are wanted, rather than an answer."""
        return self.kind in {"list", "summary"}

    @property
    def is_foreign(self) -> bool:
        """Tell whether it is not in English."""
        return self.language != ENGLISH

    @property
    def stands_alone(self) -> bool:
        """Tell whether retrieval can do with the query as it is."""
        if self.paper_id:
            return True
        is_known = not self.background or bool(self.options.scope.only_paper_id)
        return self.readable and not self.is_foreign and is_known


def understand(
    text: str, history: Sequence[Turn] = (), options: AskOptions = AS_CONFIGURED
) -> Question:
    """Read a question in the light of the turns before it.

    Raises:
        QuestionError: it is blank or too long.
    """
    question = " ".join(_UNREADABLE.sub(" ", text).split())
    if not _LETTER.search(question) and not any(character.isdigit() for character in question):
        raise QuestionError("the question is empty: write what you want to know")
    if len(question) > MAX_QUESTION_CHARACTERS:
        raise QuestionError(
            f"the question has {len(question):,} characters: "
            f"ask it in {MAX_QUESTION_CHARACTERS:,} at most"
        )
    summary = _SUMMARY.search(question)
    return Question(
        text=question,
        query=summary["topic"] if summary else question,
        kind=_kind(question),
        background=_background(history) if depends_on_history(question) else "",
        readable=_is_readable(question),
        language=language_of(question),
        options=options,
    )


def _kind(question: str) -> Kind:
    if _SUMMARY.search(question):
        return "summary"
    if _LIST.search(question):
        return "list"
    return "compare" if _COMPARE.search(question) else "answer"


def _background(history: Sequence[Turn]) -> str:
    """Return the last question and answer, the newest first, cut to a bounded length."""
    turns = [turn.content for turn in history[-MAX_HISTORY_TURNS:]][::-1]
    return "\n".join(" ".join(turn.split())[:MAX_BACKGROUND_CHARACTERS] for turn in turns[:2])


def _is_readable(question: str) -> bool:
    """Tell whether most letters are of the script that the built-in embedder was trained on."""
    letters = _LETTER.findall(question)
    latin = sum(bool(_LATIN.match(letter)) for letter in letters)
    return not letters or latin >= len(letters) / 2

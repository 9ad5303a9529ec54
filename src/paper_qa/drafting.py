"""A language model's answer, sentence by sentence as it comes in."""

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, cast

from llama_index.core.llms import LLM, ChatMessage

from paper_qa.domain import Usage
from paper_qa.errors import ModelError, PaperQAError
from paper_qa.llm.reply import finish_reason_of, usage_of
from paper_qa.sentences import MATHS, outside_maths, split_sentences

_MARKER = re.compile(
    r"""
    \s*\[\s*\^?[1-9]\d{0,2}(?:\s*[,;–-]\s*[1-9]\d{0,2})*\s*\](?![\w(])  # [7], [1, 2], [1-3], [^1]
    | \s+\[\s*0\s*\](?![\w(])
    | \s*【[^】\n]{0,60}】                                               # 【1†source】
    | \s*\[(?:abstract|citation|document|excerpt|paper|passage|ref|reference|source|summary)s?\b
      [^\]\n]{0,80}\](?!\()
    | \s*\((?:see\s|cf\.\s|e\.g\.,?\s)?(?-i:[A-Z])[\w.'’-]+          # (Smith et al., 2024)
      (?:[\s,&]+(?:and|et|al\.?|(?-i:[A-Z])[\w.'’-]*))*,?\s+(?:19|20)\d\d[a-z]?(?:\s*;[^()]*)?\)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_DEBRIS = re.compile(
    r"<\|[^|>\n]{1,40}\|>|</?s>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>"
    r"|^(?:\#+\s*)?(?:answer|assistant|response)\s*:\s*",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_YES_NO = re.compile(r"^(?:yes|no)(?:[,;:.!]|\s+[–—-])(?:\s+(?!\d)|$)", re.IGNORECASE)
_WRAPPING = re.compile(r"^(?:\*\*|__)(.*?)(?:\*\*|__)$", re.DOTALL)
_FIRST_PERSON = re.compile(r"\b(?:[Ww]e|[Oo]urs?|us|[Oo]urselves)\b")
_QUOTED = re.compile('(“[^”]*”|"[^"]*"|«[^»]*»)')
_ENDED = re.compile(r"[.!?…。！？][\s\"'”’)\]]*$")
_MAY_END = re.compile(r"[.!?…]\S*\s+\S|[。！？\n]")
_OPENED = re.compile(r"\$|\\\(|\\\[")


class Draft:
    """What a model writes, read as a stream; ``usage`` is what the request has cost so far."""

    def __init__(self) -> None:
        self.usage = Usage()
        self.is_cut_off = False

    async def sentences(self, llm: LLM, messages: Sequence[tuple[str, str]]) -> AsyncGenerator[str]:
        """Yield the sentences of the answer, each as soon as the next one has begun.

        Raises:
            ModelError: the model failed, whichever it is.
        """
        self.usage = Usage(llm_calls=1)
        self.is_cut_off = False
        text, given = "", 0
        async with aclosing(self._deltas(llm, messages)) as deltas:
            async for delta in deltas:
                text += delta
                if not _MAY_END.search(text, max(0, len(text) - len(delta) - 20)):
                    continue
                whole = whole_sentences(text)
                for sentence in whole[given:]:
                    yield sentence
                given = max(given, len(whole))
        rest = all_sentences(text)[given:]
        if self.is_cut_off and len(rest) + given > 1 and not _ENDED.search(text):
            rest = rest[:-1]  # the limit of tokens came in the middle of it
        for sentence in rest:
            yield sentence

    async def _deltas(self, llm: LLM, messages: Sequence[tuple[str, str]]) -> AsyncGenerator[str]:
        chat = [ChatMessage(role=role, content=content) for role, content in messages]
        try:
            async with aclosing(cast("Any", await llm.astream_chat(chat))) as stream:
                async for response in stream:
                    usage = usage_of(response)
                    if usage.prompt_tokens or usage.completion_tokens:
                        self.usage = usage
                    self.is_cut_off = finish_reason_of(response) == "length"
                    yield response.delta or ""
        except PaperQAError:
            raise
        except Exception as error:  # a model handed in from outside may raise anything
            raise ModelError(f"{llm.class_name()} failed: {error}") from error


def all_sentences(text: str) -> list[str]:
    """Return the sentences of a text, without the bullets of lists; a line break ends one too."""
    lines = (_BULLET.sub("", line) for line in text.split("\n"))
    return [line[span.start : span.end] for line in lines for span in split_sentences(line)]


def whole_sentences(text: str) -> list[str]:
    """Return those sentences that will stay as they are, whatever comes after ``text``.

    The last one may go on, and in maths that is opened and not closed yet nothing is certain.
    """
    start = text.rfind("\n") + 1
    last_line = text[start:]
    closed = MATHS.sub(lambda match: "x" * len(match[0]), last_line)
    if opened := _OPENED.search(closed):
        last_line = last_line[: opened.start()] + "…"
    return [*all_sentences(text[:start]), *all_sentences(last_line)[:-1]]


def clean_sentence(sentence: str, sources: str = "") -> str:
    """Return a model's sentence without its own markers and the emphasis around it.

    A "yes" or "no" before it goes as well: no abstract can be shown to say that.

    Args:
        sentence: what the model wrote.
        sources: what it was shown; what looks like a marker there is none.
    """

    def unmarked(part: str) -> str:
        return _MARKER.sub(lambda found: found[0] if found[0].strip() in sources else "", part)

    text = outside_maths(unmarked, _DEBRIS.sub("", sentence)).strip()
    wrapped = _WRAPPING.match(text)
    text = (wrapped[1] if wrapped else text).strip()
    said = _YES_NO.sub("", text)
    return said[:1].upper() + said[1:] if said != text else text


def in_third_person(sentence: str, authors: str) -> str:
    """Return a sentence without "we": what a model copied is the authors' to say, not ours.

    The first "we" or "our" becomes ``authors``, in the plural, the further ones "they".
    """
    later = {
        "we": "they",
        "our": "their",
        "us": "them",
        "ours": "theirs",
        "ourselves": "themselves",
    }
    possessive = f"{authors}'" if authors.endswith("s") else f"{authors}'s"
    first = {**later, "we": authors, "our": possessive, "us": authors}
    words = iter((first,))

    def other(match: re.Match[str]) -> str:
        found = next(words, later)[match[0].lower()]
        return found[:1].upper() + found[1:] if match[0][0].isupper() else found

    parts = _QUOTED.split(sentence)
    parts[::2] = [_FIRST_PERSON.sub(other, part) for part in parts[::2]]
    return "".join(parts)

"""A language model's answer, sentence by sentence as it comes in."""

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, cast

from llama_index.core.llms import LLM, ChatMessage

from paper_qa.domain import Usage
from paper_qa.llm.reply import usage_of
from paper_qa.sentences import split_sentences

_MARKER = re.compile(r"\s*\[\s*\d{1,2}(?:\s*[,;–-]\s*\d{1,2})*\s*\](?!\()")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_WRAPPING = re.compile(r"^(?:\*\*|__)(.*?)(?:\*\*|__)$", re.DOTALL)


@dataclass(slots=True)
class Draft:
    """Reads a stream of text and gives its sentences, each as soon as the next one has begun."""

    usage: Usage = field(default_factory=Usage)

    async def sentences(self, llm: LLM, messages: Sequence[tuple[str, str]]) -> AsyncGenerator[str]:
        """Yield the sentences of the model's answer, without markers and bullets."""
        chat = [ChatMessage(role=role, content=content) for role, content in messages]
        self.usage = Usage(llm_calls=1)
        text, given = "", 0
        async with aclosing(cast("Any", await llm.astream_chat(chat))) as stream:
            async for response in stream:
                self.usage = _latest(usage_of(response), self.usage)
                text += response.delta or ""
                whole = _pieces(text)[:-1]
                for piece in whole[given:]:
                    yield piece
                given = max(given, len(whole))
        for piece in _pieces(text)[given:]:
            yield piece


def _latest(usage: Usage, before: Usage) -> Usage:
    return usage if usage.prompt_tokens or usage.completion_tokens else before


def _pieces(text: str) -> list[str]:
    """Return the sentences of a text; a line break ends one too.

    What is given once must not change when more comes: a sentence is only cut from its successor.
    """
    found: list[str] = []
    for line in text.split("\n"):
        found += [line[span.start : span.end] for span in split_sentences(line)]
    return found


def clean_sentence(sentence: str) -> str:
    """Return a model's sentence without its own markers, bullets and emphasis around it."""
    text = _BULLET.sub("", _MARKER.sub("", sentence)).strip()
    wrapped = _WRAPPING.match(text)
    return (wrapped[1] if wrapped else text).strip()

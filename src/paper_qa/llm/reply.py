"""Reads a streamed completion: its visible text without reasoning, its usage, and how it ended."""

import re
from collections.abc import Mapping
from typing import Any, cast

from paper_qa.domain import Usage

_TAG = re.compile(r"</?think>")
_TAGS = ("<think>", "</think>")


class WithoutReasoning:
    """Takes text in pieces, and gives back what is outside of ``<think>…</think>``.

    ``text`` is all that is visible so far. A closing tag that was never opened means that the
    chat template opened it: what came before was reasoning too, and leaves ``text``, though it
    can't be taken back from who has seen it streaming.
    """

    def __init__(self) -> None:
        self.text = ""
        self._held = ""  # what may turn out to be the beginning of a tag
        self._thinking = False

    def feed(self, piece: str) -> str:
        """Return what becomes visible with this piece."""
        rest = self._held + piece
        visible = ""
        while tag := _TAG.search(rest):
            visible += "" if self._thinking else rest[: tag.start()]
            opens = tag.group() == "<think>"
            if not opens and not self._thinking:
                visible = self.text = ""
            self._thinking = opens
            rest = rest[tag.end() :]
        known = len(rest) - _length_of_tag_begun(rest)
        self._held = rest[known:]
        return self._show(visible + ("" if self._thinking else rest[:known]))

    def flush(self) -> str:
        """Return what was held back, now that nothing more comes."""
        held, self._held = self._held, ""
        return "" if self._thinking else self._show(held)

    def _show(self, visible: str) -> str:
        delta = visible if self.text else visible.lstrip()
        self.text += delta
        return delta


class Reply:
    """A completion as it comes in, chunk by chunk.

    Trusts nothing in a chunk: servers leave fields out, or put other types into them.
    """

    def __init__(self) -> None:
        self.finish_reason: str | None = None
        self.has_begun = False
        self.num_characters = 0  # reasoning and all
        self._visible = WithoutReasoning()
        self._usage: dict[str, int] = {}
        self._model = ""

    @property
    def text(self) -> str:
        """What is visible so far."""
        return self._visible.text

    @property
    def raw(self) -> dict[str, Any]:
        """What `usage_of` and `finish_reason_of` read, in OpenAI's words."""
        return {
            "model": self._model,
            "usage": dict(self._usage),
            "finish_reason": self.finish_reason,
        }

    def read(self, chunk: Any) -> str:
        """Take a chunk in, and return what it adds to the visible text."""
        self._model = _text(getattr(chunk, "model", None)) or self._model
        self._usage = _counts(getattr(chunk, "usage", None)) or self._usage
        choices = getattr(chunk, "choices", None)
        if not isinstance(choices, list) or not choices:
            return ""
        choice = cast("list[Any]", choices)[0]
        self.has_begun = True
        self.finish_reason = _text(getattr(choice, "finish_reason", None)) or self.finish_reason
        delta = getattr(choice, "delta", None)
        content = _content(getattr(delta, "content", None))
        thought = _text(getattr(delta, "reasoning_content", None))
        self.num_characters += 1 + len(content) + len(thought)
        return self._visible.feed(content)

    def flush(self) -> str:
        """Return the visible text that was held back, now that nothing more comes."""
        return self._visible.flush()


def usage_of(response: Any) -> Usage:
    """Return what one call has cost, from a ``ChatResponse`` or the last one of a stream.

    Reads ``response.raw["usage"]``, where `OpenAICompatibleLLM` puts it, and the places where
    other LlamaIndex LLMs do. Nothing is estimated: what the server did not count is 0.
    """
    raw = getattr(response, "raw", None)
    kept = getattr(response, "additional_kwargs", None)
    counts = _counts(_field(raw, "usage")) or _counts(kept)
    return Usage(
        llm_calls=1,
        prompt_tokens=counts.get("prompt_tokens", 0),
        completion_tokens=counts.get("completion_tokens", 0),
    )


def finish_reason_of(response: Any) -> str | None:
    """Return why the model stopped: ``"stop"``, ``"length"`` when it was cut short, or another."""
    return _text(_field(getattr(response, "raw", None), "finish_reason")) or None


def _length_of_tag_begun(text: str) -> int:
    """Return how many characters at the end of ``text`` may be the beginning of a tag."""
    start = text.rfind("<")
    begun = text[start:] if start >= 0 else ""
    return len(begun) if begun and any(tag.startswith(begun) for tag in _TAGS) else 0


def _counts(usage: Any) -> dict[str, int]:
    names = {
        "prompt_tokens": ("prompt_tokens", "input_tokens"),
        "completion_tokens": ("completion_tokens", "output_tokens"),
    }
    found = {
        name: value
        for name, spellings in names.items()
        for spelling in spellings
        if isinstance(value := _field(usage, spelling), int) and value >= 0
    }
    return found | {"total_tokens": sum(found.values())} if found else {}


def _field(thing: Any, name: str) -> Any:
    if isinstance(thing, Mapping):
        return cast("Mapping[str, Any]", thing).get(name)
    return getattr(thing, name, None)


def _content(content: Any) -> str:
    """Return the text of a delta; some servers send a list of parts, thoughts among them."""
    if isinstance(content, list):
        parts = cast("list[Any]", content)
        return "".join(_text(_field(p, "text")) for p in parts if _field(p, "type") == "text")
    return _text(content)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""

"""What the scripted OpenAI server can be told to do: good replies, and every way of going wrong."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Messages = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Reply:
    """A completion, well-behaved unless told otherwise."""

    text: str | Callable[[Messages], str] = ""
    pieces: Sequence[str] = ()  # the tokens as they are sent; else the words of the text
    reasoning: Sequence[str] = ()  # sent before the text, as reasoning_content
    first_delay_s: float = 0.0
    delay_s: float = 0.0  # before every token
    finish_reason: str | None = "stop"
    usage: bool = True
    choices: bool = True
    cut_after: int | None = None  # tokens, then the connection breaks
    tail: bytes = b""  # sent as it is before the end

    def tokens(self, messages: Messages) -> list[str]:
        """Return the pieces in which this is sent."""
        text = self.text(messages) if callable(self.text) else self.text
        return list(self.pieces) or re.findall(r"\S+\s*|\s+", text)


@dataclass(frozen=True)
class Failure:
    """A reply with a status and a body of its own; ``{key}`` becomes the header with the key."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Hang:
    """Silence until the client hangs up, after the headers or even before them."""

    headers: bool = False
    comments: bool = False  # "I am still here", over and over, after the headers


Item = str | Reply | Failure | Hang


def error(status: int, message: str, code: Any = None, kind: str = "", **more: str) -> Failure:
    """Return a failure in the form that OpenAI gives it; ``more`` are headers."""
    body = {"error": {"message": message, "type": kind, "param": None, "code": code}}
    return Failure(status, body, {name.replace("_", "-"): value for name, value in more.items()})


def wrong_key() -> Failure:
    return error(401, "Incorrect API key provided: {key}.", "invalid_api_key")


def forbidden() -> Failure:
    return error(403, "You are not allowed to sample from this model")


def no_such_model() -> Failure:
    return error(404, "The model `m` does not exist", "model_not_found", "invalid_request_error")


def rate_limited(retry_after: str = "7") -> Failure:
    return error(429, "Rate limit reached", "rate_limit_exceeded", retry_after=retry_after)


def quota_used_up() -> Failure:
    return error(429, "You exceeded your current quota", "insufficient_quota")


def server_error() -> Failure:
    return error(500, "The server had an error", None, "server_error")


def loading() -> Failure:
    return error(503, "Loading model", 503, "unavailable_error")


def key_echoed(status: int = 400) -> Failure:
    return error(status, "bad request with header {key}")


def redirect(url: str, status: int = 307) -> Failure:
    return Failure(status, "", {"Location": url})


def web_page() -> Failure:
    return Failure(200, "<!doctype html><html><body>Welcome</body></html>")


def garbled() -> Reply:
    return Reply("Half an", tail=b'data: {"choices": [{"delta": {"content": "ans\n\n')


def error_in_stream(message: str, code: Any = None) -> Reply:
    event = json.dumps({"error": {"message": message, "code": code}})
    return Reply("Half an answer", tail=f"data: {event}\n\n".encode())


TOO_LONG: Mapping[str, Item] = {
    "openai": error(
        400,
        "This model's maximum context length is 8192 tokens. However, your messages resulted in "
        "9001 tokens. Please reduce the length of the messages.",
        "context_length_exceeded",
        "invalid_request_error",
    ),
    "llama.cpp": Failure(
        400,
        {
            "error": {
                "code": 400,
                "message": "request (9001 tokens) exceeds the available context size (8192 tokens)",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 9001,
                "n_ctx": 8192,
            }
        },
    ),
    "vllm": Failure(
        400,
        {
            "object": "error",
            "message": "The decoder prompt (length 9001) is longer than the maximum model length "
            "of 8192. Make sure that `max_model_len` is no smaller than the number of text tokens.",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
    ),
    "ollama": error(400, "prompt too long; exceeded max context length by 809 tokens"),
    "lm studio": Failure(
        400,
        {
            "error": "The number of tokens to keep from the initial prompt is greater than the "
            "context length (n_keep: 9001>= n_ctx: 8192)."
        },
    ),
    "lm studio, as an event": Reply(
        choices=False,
        finish_reason=None,
        tail=b'event: error\ndata: {"error": "Cannot truncate prompt with n_keep (9001) >= '
        b'n_ctx (8192)"}\n\n',
    ),
    "a proxy": Failure(413, "<html><h1>413 Request Entity Too Large</h1></html>"),
}
"""How different servers say that the prompt is too long."""

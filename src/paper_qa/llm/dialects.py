"""What some servers reject in a request, and how to ask them for the same without it.

The newest models of OpenAI take no ``max_tokens`` and no ``temperature``, some servers know no
``stream_options``, and some chat templates no system message. All of them say so in words.
"""

import re
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any

Request = dict[str, Any]


def adapt(request: Request, rejected: Collection[str]) -> Request:
    """Return the request without what the server is known to reject."""
    for name in sorted(rejected):
        request = _REWRITES[name](request)
    return request


def find_rejected(request: Request, message: str) -> str | None:
    """Return the part of the request that the server complains of, if it can be done without."""
    for name, complaint in _COMPLAINTS.items():
        if complaint.search(message) and _REWRITES[name](request) != request:
            return name
    return None


def _without_stream_options(request: Request) -> Request:
    return {name: value for name, value in request.items() if name != "stream_options"}


def _without_temperature(request: Request) -> Request:
    return {name: value for name, value in request.items() if name != "temperature"}


def _with_the_newer_limit(request: Request) -> Request:
    newer = {"max_tokens": "max_completion_tokens"}
    return {newer.get(name, name): value for name, value in request.items()}


def _without_system_message(request: Request) -> Request:
    """Put what the system message says in front of the first message of the user."""
    first, *others = request["messages"]
    if first["role"] != "system" or not others:
        return request
    merged = {**others[0], "content": f"{first['content']}\n\n{others[0]['content']}"}
    return {**request, "messages": [merged, *others[1:]]}


_REWRITES: Mapping[str, Callable[[Request], Request]] = MappingProxyType(
    {
        "stream_options": _without_stream_options,
        "max_tokens": _with_the_newer_limit,
        "temperature": _without_temperature,
        "system": _without_system_message,
    }
)
_COMPLAINTS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "stream_options": re.compile(r"stream_options|include_usage"),
        "max_tokens": re.compile(r"max_tokens.*max_completion_tokens", re.DOTALL),
        "temperature": re.compile(r"temperature"),
        "system": re.compile(
            r"system (role|message|prompt)s?\b.*not (supported|allowed)"
            r"|only user(,| and) (and )?assistant",
            re.IGNORECASE | re.DOTALL,
        ),
    }
)

"""Turns whatever the openai SDK raises into our own errors, in one line each.

Knows openai 2, which lets raw httpx errors out of a broken stream, and openai 3, which does not.
The words of a server are shown only where they help, and never with the key in them.
"""

import importlib
import re
import socket
import ssl
from collections.abc import Iterator
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

import openai

from paper_qa.errors import (
    ContextLengthError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelRateLimitError,
)

NO_KEY = "none"  # is sent where there is no key, since the SDK insists on one

# The HTTP library beneath the SDK, which does not export the errors that come from there.
httpx: Any = importlib.import_module("httpx" if openai.__version__ < "3" else "httpx2")

VENDOR_ERRORS: tuple[type[Exception], ...] = (
    openai.OpenAIError,
    httpx.HTTPError,
    httpx.InvalidURL,
    httpx.StreamError,
    OSError,  # includes ssl.SSLError, and the TimeoutError of asyncio
    ValueError,  # JSON or UTF-8 that is none, and pydantic's complaints
)
"""Everything that a call of the SDK may raise when the endpoint is at fault."""

# In lower case, like the text they are looked for in.
_BAD_KEY = re.compile(r"\bapi[ _-]?key\b.*valid|(incorrect|invalid|missing) api[ _-]?key")
_QUOTA = re.compile(r"quota|billing|credits?\b|insufficient.balance")
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size_error"  # the codes of OpenAI and llama.cpp
    r"|context (length|size|window)"  # OpenAI, llama.cpp, vLLM, Ollama, LM Studio
    r"|maximum model length"  # vLLM
    r"|n_keep.* n_ctx"  # LM Studio
    r"|(prompt|input|request|messages?)( is| are)? too (long|large)"  # Anthropic, Ollama
    r"|too large to process"  # llama.cpp, when the prompt exceeds a batch
    r"|tokens?\b.* exceeds? .*(maximum|limit)"  # Gemini
    r"|reduce the length"  # Groq
)
_NO_MODEL = re.compile(
    r"model_not_found"
    r"|\bmodel\b.*(not (found|exist|loaded|supported)|does(n't| not) exist)"
    r"|no models? (is |are )?loaded|(unknown|invalid|not a valid) model"
)
_LOADING = re.compile(r"\bloading\b")
_LOOKS_LIKE_A_KEY = re.compile(r"(?i)\b(Bearer|Basic)\s+\S+|\b(sk|key|gsk|hf|xai)[-_][\w*.-]{6,}")
_MAX_READ, _MAX_QUOTED = 1000, 200


class _Failure(NamedTuple):
    """What is known of an error, with the server's own words made safe to show."""

    error: Exception
    url: str
    model: str
    prefix: str
    status: int | None
    code: str
    detail: str

    @property
    def where(self) -> str:
        return f"the endpoint {self.url!r}" + (f" (model {self.model!r})" if self.model else "")

    @property
    def quoted(self) -> str:
        if len(self.detail) > _MAX_QUOTED:
            return f", saying '{self.detail[:_MAX_QUOTED]}…'"
        return f", saying {self.detail!r}" if self.detail else ""

    def says(self, pattern: re.Pattern[str]) -> bool:
        return bool(pattern.search(f"{self.code} {self.detail}".lower()))


def translate(
    error: Exception, *, base_url: str, model: str, prefix: str = "PAPER_QA_LLM"
) -> ModelError:
    """Return the error of ours that ``error`` amounts to; ``prefix`` names the settings at fault.

    An error that is one of ours already comes back as it is.
    """
    if isinstance(error, ModelError):
        return error
    failure = _Failure(
        error=error,
        url=display_url(base_url),
        model=model,
        prefix=prefix,
        status=_status(error),
        code=f"{getattr(error, 'code', '')} {getattr(error, 'type', '')}",
        detail=said_by_server(error),
    )
    for rule in (_of_status, _of_request, _of_connection):
        if translated := rule(failure):
            return translated
    return _of_anything_else(failure)


def display_url(base_url: str) -> str:
    """Return the address without what may be secret in it: user, password, query."""
    try:
        parts = urlsplit(base_url)
    except ValueError:
        return "?"
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}".rstrip("/")


def redact(text: str, key: str) -> str:
    """Return ``text`` in one line, without ``key``, pieces of it, or what looks like another."""
    if len(key) >= 8:
        pieces = "|".join(re.escape(piece) for piece in (key, key[:8], key[-8:]))
        text = re.sub(rf"[^\s\"']*(?:{pieces})[^\s\"']*", "[key]", text)
    elif key:
        text = text.replace(key, "[key]")
    text = _LOOKS_LIKE_A_KEY.sub("[key]", text)
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _of_status(failure: _Failure) -> ModelError | None:
    """Judge by the status code of the reply, where that says enough."""
    match failure.status:
        case 401:
            return _bad_key(failure)
        case 403:
            return ModelAuthenticationError(
                f"{failure.where} refuses this key: "
                f"check {failure.prefix}_API_KEY, and whether it may use this model"
            )
        case 402 | 429:
            return _rate_limit(failure)
        case 502 | 503 | 504:
            state = "is still loading the model" if failure.says(_LOADING) else "is not available"
            return ModelConnectionError(
                f"{failure.where} {state} (status {failure.status}): ask again in a moment"
            )
        case int(status) if 300 <= status < 400:
            return _redirect(failure)
        case _:
            return None


def _of_request(failure: _Failure) -> ModelError | None:
    """Judge by what the endpoint says of the request: too long, or for a model it has not."""
    if not isinstance(failure.error, openai.APIError):
        return None
    if failure.status == 413 or failure.says(_TOO_LONG):
        return ContextLengthError(
            f"the prompt is too long for {failure.where}{failure.quoted}: "
            "run the model with a larger context, or ask about less at once"
        )
    if failure.says(_BAD_KEY):
        return _bad_key(failure)
    if failure.says(_NO_MODEL):
        return ModelNotFoundError(
            f"{failure.where} does not have this model: "
            f"set {failure.prefix}_MODEL to one that {failure.url}/models lists"
        )
    if failure.status == 404:
        return ModelNotFoundError(
            f"{failure.where} answers 404: "
            f"check {failure.prefix}_MODEL, and {failure.prefix}_BASE_URL, which often ends in /v1"
        )
    return None


def _of_connection(failure: _Failure) -> ModelError | None:
    """Judge by the way in which the connection failed."""
    kinds = (openai.APIConnectionError, httpx.HTTPError, httpx.InvalidURL, OSError)
    if not isinstance(failure.error, kinds):
        return None
    match _broken(failure.error):
        case "silent":
            return ModelConnectionError(
                f"{failure.where} was silent for too long: "
                f"raise {failure.prefix}_TIMEOUT, or use a smaller model"
            )
        case "cut":
            return ModelConnectionError(
                f"{failure.where} broke the connection off: ask again, or look into its log"
            )
        case reason:
            return ModelConnectionError(
                f"can't reach {failure.where}: {reason}; "
                f"is it running, and is {failure.prefix}_BASE_URL right?"
            )


def _broken(error: Exception) -> str:
    """Return ``"silent"``, ``"cut"``, or why there is no connection at all."""
    chain = tuple(_chain(error))

    def has(*kinds: Any) -> bool:
        return any(isinstance(link, kinds) for link in chain)

    if has(httpx.ConnectTimeout):
        return "it takes no connections"
    if has(httpx.ConnectError, httpx.UnsupportedProtocol, httpx.InvalidURL, httpx.ProxyError):
        if has(ssl.SSLError):
            return "it does not speak TLS, or its certificate is not trusted"
        return "its host name is not known" if has(socket.gaierror) else "no connection"
    if has(httpx.NetworkError, httpx.ProtocolError):
        return "cut"
    return "silent" if has(openai.APITimeoutError, httpx.TimeoutException, TimeoutError) else "cut"


def _of_anything_else(failure: _Failure) -> ModelError:
    if isinstance(failure.error, openai.APIError) and (failure.status or failure.detail):
        status = f" with status {failure.status}" if failure.status else ""
        return ModelError(
            f"{failure.where} failed{status}{failure.quoted}: ask again, or look into its log"
        )
    return ModelError(
        f"{failure.where} sent what is not a reply of an OpenAI-compatible API: "
        f"check {failure.prefix}_BASE_URL, which often ends in /v1"
    )


def _bad_key(failure: _Failure) -> ModelError:
    return ModelAuthenticationError(
        f"{failure.where} refuses the key, or wants one: set {failure.prefix}_API_KEY"
    )


def _rate_limit(failure: _Failure) -> ModelError:
    if failure.status == 402 or failure.says(_QUOTA):
        return ModelRateLimitError(
            f"the quota at {failure.where} is used up: check the account's plan and billing"
        )
    seconds = _header(failure.error, "retry-after")
    wait = f"{seconds} s" if re.fullmatch(r"\d{1,6}(\.\d+)?", seconds) else "a moment"
    return ModelRateLimitError(f"{failure.where} takes no more for now: ask again in {wait}")


def _redirect(failure: _Failure) -> ModelError:
    target = display_url(_header(failure.error, "location"))
    return ModelConnectionError(
        f"{failure.where} sends on to {redact(target, _key_sent(failure.error))!r}, "
        "which is not followed, since the key is not meant for it: "
        f"set {failure.prefix}_BASE_URL to the address that answers itself"
    )


def _status(error: Exception) -> int | None:
    """Return the HTTP status, or the one that an error inside a stream names as its code."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return status
    code = str(getattr(error, "code", ""))
    return int(code) if re.fullmatch(r"[45]\d\d", code) else None


def said_by_server(error: Exception) -> str:
    """Return what the server said, if it said it in words."""
    said = getattr(error, "body", None)
    for _ in range(2):
        if isinstance(said, dict):
            fields = cast("dict[str, object]", said)
            said = fields.get("message") or fields.get("error") or fields.get("detail")
    if not isinstance(said, str) or said.lstrip().startswith("<"):  # a web page says nothing
        return ""
    return redact(said[:_MAX_READ], _key_sent(error))


def _key_sent(error: Exception) -> str:
    """Return the key that went out with the request, for taking it out of the reply."""
    headers = getattr(getattr(error, "request", None), "headers", {})
    key = str(headers.get("authorization", "")).removeprefix("Bearer ")
    return "" if key == NO_KEY else key


def _header(error: Exception, name: str) -> str:
    headers = getattr(getattr(error, "response", None), "headers", {})
    return str(headers.get(name, ""))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield ``error`` and what led to it, down to the system's own error, if there is one."""
    link: BaseException | None = error
    while link is not None:
        yield link
        link = None if isinstance(link, OSError) else link.__cause__ or link.__context__

"""A real HTTP server that speaks the OpenAI protocol, and misbehaves when told to.

::

    with OpenAIServer() as server:
        server.script("The first answer.", replies.wrong_key(), Reply("cut off", cut_after=1))
        ...                                    # point a client at server.base_url
        server.chats[-1].body["messages"]      # what it was asked
        server.wait_for_disconnect()           # when a client hung up in the middle

Every chat request takes the next item of the script, and ``server.default`` when there is none.
"""

import base64
import json
import re
import select
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

import pytest

import openai_replies as replies
from openai_replies import Failure, Hang, Item, Reply

CHAT, EMBEDDINGS = "/v1/chat/completions", "/v1/embeddings"


@dataclass(frozen=True)
class Request:
    """A request as it came; header names are in lower case."""

    path: str
    headers: Mapping[str, str]
    body: Any
    at: float


def bag_of_words(text: str, dimensions: int = 64) -> list[float]:
    """Embed by hashed words: deterministic, and texts that share words are near each other."""
    vector = [0.0] * dimensions
    for word in re.findall(r"\w+", text.lower()):
        vector[int(sha256(word.encode()).hexdigest(), 16) % dimensions] += 1.0
    length = sum(value * value for value in vector) ** 0.5 or 1.0
    return [value / length for value in vector]


class OpenAIServer:
    """The server; a context manager. Change its attributes at any time."""

    def __init__(self, default: Item = "This is a scripted reply.") -> None:
        self.default: Item = default
        self.models: list[str] = ["scripted-model"]
        self.key = ""  # if set, every request must carry it
        self.rejects: dict[str, str] = {}  # request field -> the message of the 400 it earns
        self.embed: Callable[[str], list[float]] = bag_of_words
        self.requests: list[Request] = []
        self.disconnects: list[float] = []
        self.changed = threading.Condition()
        self._chat_script: deque[Item] = deque()
        self._embedding_script: deque[Failure | Hang] = deque()
        self._stop_here, self._stop_there = socket.socketpair()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler, bind_and_activate=False)
        self._http.scripted = self  # type: ignore[attr-defined]
        self._http.daemon_threads = False  # so that closing waits for the handlers
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))

    @property
    def host_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def base_url(self) -> str:
        return f"{self.host_url}/v1"

    @property
    def chats(self) -> list[Request]:
        """The chat requests so far."""
        return [request for request in self.requests if request.path == CHAT]

    def script(self, *items: Item) -> None:
        """Say what the next chat requests get."""
        self._chat_script.extend(items)

    def script_embeddings(self, *items: Failure | Hang) -> None:
        """Say how the next embedding requests fail."""
        self._embedding_script.extend(items)

    def wait_for_request(self, count: int = 1, timeout_s: float = 5.0) -> Request:
        """Wait until ``count`` requests have come, and return that one."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.requests) >= count, timeout_s)
        return self.requests[count - 1]

    def wait_for_disconnect(self, count: int = 1, timeout_s: float = 5.0) -> float:
        """Wait until ``count`` clients have hung up in the middle; return when, monotonic."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.disconnects) >= count, timeout_s)
        return self.disconnects[count - 1]

    def next_for(self, request: Request) -> Item | None:
        """Return what this request gets; None means the ordinary reply of its kind."""
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            return replies.wrong_key()
        if request.path == EMBEDDINGS:
            return self._embedding_script.popleft() if self._embedding_script else None
        if request.path != CHAT:
            return None
        for name, message in self.rejects.items():
            if name in request.body:
                return replies.error(400, message, "unsupported_parameter", "invalid_request_error")
        return self._chat_script.popleft() if self._chat_script else self.default

    def note(self, events: list[Any], event: Any) -> None:
        with self.changed:
            events.append(event)
            self.changed.notify_all()

    def __enter__(self) -> Self:
        self._http.server_bind()
        self._http.server_activate()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop_here.close()  # wakes the handlers that wait
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()
        self._stop_there.close()


@pytest.fixture
def openai_server() -> Iterator[OpenAIServer]:
    """Yield a running scripted server."""
    with OpenAIServer() as server:
        yield server


class _HungUpError(Exception):
    """The client has closed the connection, or the server is stopping."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # tokens go out as they come
    timeout = 5  # so that a client that connects and says nothing can't hold up the end of a test

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers.get("content-length", 0)))))

    def do_GET(self) -> None:
        self._answer(None)

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _answer(self, body: Any) -> None:
        self.close_connection = True  # one request per connection, so that no handler lingers
        self.scripted: OpenAIServer = self.server.scripted  # type: ignore[attr-defined]
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(urlsplit(self.path).path, headers, body, time.monotonic())
        self.scripted.note(self.scripted.requests, request)
        try:
            self._carry_out(self.scripted.next_for(request), request)
        except (_HungUpError, OSError):
            self.scripted.note(self.scripted.disconnects, time.monotonic())

    def _carry_out(self, item: Item | None, request: Request) -> None:
        match item:
            case None:
                self._behave(request)
            case Failure():
                self._fail(item, request)
            case Hang():
                self._hang(item)
            case Reply() | str():
                self._complete(Reply(item) if isinstance(item, str) else item, request)

    def _hang(self, item: Hang) -> None:
        if item.headers or item.comments:
            self._start_stream()
        while item.comments:
            self._chunk(b": still here\n\n")
            self._wait(0.05)
        self._wait(None)

    def _behave(self, request: Request) -> None:
        match request.path:
            case "/v1/models":
                models = [{"id": name, "object": "model"} for name in self.scripted.models]
                self._send_json({"object": "list", "data": models})
            case "/v1/embeddings":
                self._send_json(self._embeddings(request.body))
            case _:
                self._send(404, b"404 page not found", {"Content-Type": "text/plain"})

    def _complete(self, reply: Reply, request: Request) -> None:
        messages = request.body["messages"]
        tokens = reply.tokens(messages)
        words = sum(len(str(message["content"]).split()) for message in messages)
        usage = {
            "prompt_tokens": words,
            "completion_tokens": len(tokens),
            "total_tokens": words + len(tokens),
        }
        self._wait(reply.first_delay_s)
        if request.body.get("stream"):
            asked = (request.body.get("stream_options") or {}).get("include_usage")
            self._stream(reply, tokens, usage if reply.usage and asked else None)
            return
        self._wait(reply.delay_s * len(tokens))
        message = {"role": "assistant", "content": "".join(tokens)}
        choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason}
        completion: dict[str, Any] = _shell("chat.completion", [choice] if reply.choices else [])
        self._send_json(completion | ({"usage": usage} if reply.usage else {}))

    def _stream(self, reply: Reply, tokens: list[str], usage: dict[str, int] | None) -> None:
        self._start_stream()
        deltas: list[dict[str, Any]] = [{"reasoning_content": piece} for piece in reply.reasoning]
        deltas += [{"content": piece} for piece in tokens]
        for number, delta in enumerate([{"role": "assistant", "content": ""}, *deltas]):
            if reply.cut_after is not None and number > reply.cut_after:
                return  # without the last chunk of the encoding: the connection breaks
            self._wait(reply.delay_s if number else 0)
            self._event(_shell("chat.completion.chunk", _choices(delta, None) * reply.choices))
        if reply.finish_reason:
            self._event(_shell("chat.completion.chunk", _choices({}, reply.finish_reason)))
        if usage:
            self._event(_shell("chat.completion.chunk", []) | {"usage": usage})
        self._chunk(reply.tail or b"data: [DONE]\n\n")
        self._chunk(b"")

    def _embeddings(self, body: dict[str, Any]) -> dict[str, Any]:
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        vectors = [self.scripted.embed(text) for text in texts]
        in_base64 = body.get("encoding_format") == "base64"  # what the SDK asks for by itself
        items = [
            {"object": "embedding", "index": i, "embedding": _packed(v) if in_base64 else v}
            for i, v in enumerate(vectors)
        ]
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        return {"object": "list", "data": items, "model": body["model"], "usage": usage}

    def _fail(self, failure: Failure, request: Request) -> None:
        body = failure.body if isinstance(failure.body, str) else json.dumps(failure.body)
        kind = "application/json" if body.startswith("{") else "text/html"
        body = body.replace("{key}", request.headers.get("authorization", ""))
        self._send(failure.status, body.encode(), {"Content-Type": kind, **failure.headers})

    def _send_json(self, body: dict[str, Any]) -> None:
        self._send(200, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def _start_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()

    def _event(self, payload: dict[str, Any]) -> None:
        self._chunk(f"data: {json.dumps(payload)}\n\n".encode())

    def _chunk(self, content: bytes) -> None:
        self._wait(0)
        self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")

    def _wait(self, seconds: float | None) -> None:
        """Wait, forever with None, and raise as soon as the client hangs up."""
        watched = [self.connection, self.scripted._stop_there]
        if select.select(watched, [], [], seconds)[0]:
            raise _HungUpError  # the whole request has been read: more can only be the end


def _shell(kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": kind,
        "created": 1,
        "model": "scripted-model",
        "choices": choices,
    }


def _choices(delta: dict[str, Any], finish_reason: str | None) -> list[dict[str, Any]]:
    return [{"index": 0, "delta": delta, "finish_reason": finish_reason}]


def _packed(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()

"""What stands between the network and the chat: who may come in, and what the page may do."""

import asyncio
import base64
import binascii
import re
import secrets
from collections.abc import MutableMapping
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self' 'nonce-{nonce}'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "media-src 'self' blob:",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "manifest-src 'self'",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
CLOSED = (
    "/monitoring",
    "/openapi.json",
    "/gradio_api/custom_component",
    "/gradio_api/deep_link",
    "/gradio_api/dev",
    "/gradio_api/file",
    "/gradio_api/openapi.json",
    "/gradio_api/process_recording",
    "/gradio_api/proxy=",
    "/gradio_api/run-history",
    "/gradio_api/stream",
    "/gradio_api/undo-vibe-",
    "/gradio_api/upload",
    "/gradio_api/vibe-",
)
"""Doors of Gradio's that this chat has no use for, by the beginnings of their paths."""

OWNER = "paper_qa_owner"
_OWNER_COOKIE = re.compile(rf"(?:^|;)\s*{OWNER}=([\w-]{{32}})(?:;|$)")
# Lax: a strict cookie is not sent where a link of another site leads here, so the page would give
# the browser a new name then, and the person would lose what is kept under the old one.
_COOKIE_RULES = "Path=/; HttpOnly; SameSite=Lax; Max-Age=34560000"  # as long as browsers allow
_ASK_FOR_LOGIN = {"www-authenticate": 'Basic realm="paper-qa", charset="UTF-8"'}
_WRONG_LOGIN_DELAY_S = 0.5


class SecurityHeaders:
    """Give every response its headers, and every page a policy with a nonce of its own.

    Plain ASGI: Starlette's ``BaseHTTPMiddleware`` would stand in the way of the event stream.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and its response through a `_Response`."""
        if scope["type"] == "http":
            send = _Response(send).send
            if scope["path"] == "/":
                # The nonces are written into the page, so it has to come uncompressed.
                kept = [item for item in scope["headers"] if item[0] != b"accept-encoding"]
                scope = {**scope, "headers": kept}
        await self._app(scope, receive, send)


class _Response:
    """One response on its way out; a page is held until it is whole."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._nonce = secrets.token_urlsafe(16)
        self._page: Message | None = None
        self._body = bytearray()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [*message["headers"], *HEADERS]
            if Headers(raw=headers).get("content-type", "").startswith("text/html"):
                self._page = self._page_start(message, headers)
                return
            message = {**message, "headers": headers}
        elif self._page and message["type"] == "http.response.body":
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._send_page(self._page)
            return
        await self._send(message)

    def _page_start(
        self, message: MutableMapping[str, Any], headers: list[tuple[bytes, bytes]]
    ) -> Message:
        policy = CONTENT_SECURITY_POLICY.format(nonce=self._nonce).encode()
        kept = [item for item in headers if item[0].lower() != b"content-length"]
        kept += [(b"content-security-policy", policy), (b"cache-control", b"no-store")]
        return {**message, "headers": kept}

    async def _send_page(self, start: Message) -> None:
        # Nothing that was read from papers or people is part of the page: it comes by events later.
        nonce = f'<script nonce="{self._nonce}"'.encode()
        body = bytes(self._body).replace(b"<script", nonce)
        start["headers"].append((b"content-length", str(len(body)).encode()))
        await self._send(start)
        await self._send({"type": "http.response.body", "body": body})


class OwnerCookie:
    """Give every browser a secret, random name, under which the server keeps what is its own.

    No script can read it; another site can send it along by a link to the page, by nothing else.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Set the cookie with the page, where there is none."""
        is_page = scope["type"] == "http" and scope["path"] == "/"
        if is_page and not owner_in(Headers(scope=scope).get("cookie", "")):
            cookie = f"{OWNER}={secrets.token_urlsafe(24)}; {_COOKIE_RULES}"
            send = _with_header(send, (b"set-cookie", cookie.encode()))
        await self._app(scope, receive, send)


def owner_in(cookies: str) -> str:
    """Return the owner that a cookie header names, or nothing."""
    found = _OWNER_COOKIE.search(cookies)
    return found[1] if found else ""


def _with_header(send: Send, header: tuple[bytes, bytes]) -> Send:
    async def send_with_header(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], header]}
        await send(message)

    return send_with_header


class ClosedDoors:
    """Answer 404 where Gradio offers what this chat does not use."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let everything else through."""
        closed = scope["type"] == "http" and scope["path"].startswith(CLOSED)
        app = PlainTextResponse("Not found", 404) if closed else self._app
        await app(scope, receive, send)


class BasicLogin:
    """Ask every request for the one name and password (``login`` is ``"name:password"``)."""

    def __init__(self, app: ASGIApp, login: str) -> None:
        self._app = app
        self._login = login.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let in who knows the login; make guessing slow."""
        inside = scope["type"] == "lifespan" or await self._knows_login(Headers(scope=scope))
        app = self._app if inside else PlainTextResponse("Please log in", 401, _ASK_FOR_LOGIN)
        await app(scope, receive, send)

    async def _knows_login(self, headers: Headers) -> bool:
        given = _credentials(headers.get("authorization", ""))
        if given is None:
            return False
        if secrets.compare_digest(given, self._login):
            return True
        await asyncio.sleep(_WRONG_LOGIN_DELAY_S)
        return False


def _credentials(header: str) -> bytes | None:
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        return base64.b64decode(encoded.strip(), validate=True)
    except binascii.Error:
        return b""

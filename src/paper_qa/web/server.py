"""The web server around the chat: one port of this machine, and who may come in."""

import asyncio
import socket
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from paper_qa.errors import ConfigurationError
from paper_qa.settings import LOOPBACK
from paper_qa.user_data import UserData
from paper_qa.web.conversation import Asker
from paper_qa.web.preparation import ModelPreparation

_HANG_UP_S = 0.1
_GRACE_S = 1

OnReady = Callable[[str], object]


def build_app(
    qa: Asker,
    *,
    data: UserData,
    host: str = "127.0.0.1",
    login: str = "",
    model: ModelPreparation | None = None,
) -> FastAPI:
    """Build the chat about ``qa`` as an ASGI app.

    Args:
        qa: The papers and who answers.
        data: The conversations, reading lists and feedback of the people who use it.
        host: The address it will be served at; on loopback, requests under other names are refused.
        login: ``"name:password"`` that every request has to bring, or nothing.
        model: How the model is made ready, in the background; the page shows how far it is.
    """
    from paper_qa.web.app import build  # noqa: PLC0415 - Gradio takes seconds to import

    return build(
        qa,
        allowed_hosts=_allowed_hosts(host),
        data=data,
        login=login,
        model=model,
    )


def _allowed_hosts(host: str) -> list[str]:
    """Return the names that a browser may know this server by.

    A page elsewhere can point its own name at 127.0.0.1; beyond loopback there is the login.
    """
    return [*sorted(LOOPBACK), "[::1]"] if host in LOOPBACK else ["*"]


def serve(
    qa: Asker,
    *,
    data: UserData,
    host: str = "127.0.0.1",
    port: int = 7860,
    login: str = "",
    model: ModelPreparation | None = None,
    on_ready: OnReady | None = None,
) -> None:
    """Serve the chat until interrupted; ``on_ready`` gets its address once it answers.

    Raises:
        ConfigurationError: the port is taken, or the address is not of this machine.
    """
    with _listen(host, port) as listener:
        app = build_app(
            qa,
            data=data,
            host=host,
            login=login,
            model=model,
        )
        config = uvicorn.Config(
            app, log_level="warning", timeout_graceful_shutdown=_GRACE_S, server_header=False
        )
        url = _url(host, listener.getsockname()[1])

        def ready() -> None:
            if on_ready:
                on_ready(url)

        _Server(config, ready).run(sockets=[listener])


class _Server(uvicorn.Server):
    """Uvicorn, telling when it has begun to answer."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Every open page holds a stream without an end. Hanging up lets it end by itself; uvicorn
        # would wait for it in vain, break it off, and print where it broke.
        for connection in list(self.server_state.connections):
            connection.transport.close()
        await asyncio.sleep(_HANG_UP_S)
        await super().shutdown(sockets)


def _listen(host: str, port: int) -> socket.socket:
    """Take the port at once: seconds later, after Gradio's import, is late to hear it is taken."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ConfigurationError(_unknown_host(host)) from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise ConfigurationError(_refused(host, port, error)) from error
    return listener


def _unknown_host(host: str) -> str:
    return f"host {host!r} is not known here: set PAPER_QA_HOST to an address of this machine"


def _refused(host: str, port: int, error: OSError) -> str:
    match error:
        case PermissionError():
            reason = f"port {port} needs more rights than you have"
        case OSError(errno=98 | 48):  # EADDRINUSE on Linux and macOS
            reason = f"port {port} is already in use, perhaps by a chat that is still open"
        case _:
            return _unknown_host(host)
    return f"{reason}: choose another with --port or PAPER_QA_PORT"


def _url(host: str, port: int) -> str:
    name = "127.0.0.1" if host in {"0.0.0.0", "::"} else host  # noqa: S104 - compared, not bound
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"

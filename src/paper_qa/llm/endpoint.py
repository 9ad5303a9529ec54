"""One OpenAI-compatible endpoint: its address, its key, and a client that sends nothing else there.

The SDK reads keys, addresses and headers from ``OPENAI_*``, describes this machine in its headers,
retries by itself and follows redirects. None of it happens here.
"""

import functools
import ipaddress
import ssl
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import openai
from pydantic import SecretStr

from paper_qa.errors import ConfigurationError, ModelError
from paper_qa.llm.errors import NO_KEY, display_url, httpx, translate

CONNECT_TIMEOUT_S = 5.0
_HEADERS = frozenset(
    {
        "accept",
        "accept-encoding",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "host",
        "user-agent",
    }
)


@dataclass(frozen=True)
class Endpoint:
    """Where requests go; ``prefix`` is that of the settings that named it."""

    base_url: str
    key: SecretStr
    timeout: float
    prefix: str = "PAPER_QA_LLM"

    def __post_init__(self) -> None:
        parts = _split(self.base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ConfigurationError(
                f"{self.prefix}_BASE_URL={display_url(self.base_url)!r} is not a web address: "
                "write it like http://127.0.0.1:8080/v1"
            )
        if parts.username is not None or parts.query:
            raise ConfigurationError(
                f"{self.prefix}_BASE_URL must not hold a name, password or query: "
                f"put the key into {self.prefix}_API_KEY"
            )
        key = self.key.get_secret_value()
        if not key.isascii() or not key.isprintable() or " " in key:
            raise ConfigurationError(
                f"{self.prefix}_API_KEY holds a character that no key has: copy it again"
            )

    @property
    def is_local(self) -> bool:
        """Whether this is the machine we run on."""
        host = _split(self.base_url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")

    def connect(self) -> openai.AsyncOpenAI:
        """Return a new client, to be used as a context manager."""
        return openai.AsyncOpenAI(
            api_key=self.key.get_secret_value() or NO_KEY,
            base_url=self.base_url,
            organization="",
            project="",
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(
                timeout=openai.Timeout(self.timeout, connect=min(CONNECT_TIMEOUT_S, self.timeout)),
                trust_env=not self.is_local,  # a proxy has no way to this machine
                follow_redirects=False,  # the key, and the prompt, are for this host only
                verify=_tls() if self.base_url.startswith("https") else _no_tls(),
                event_hooks={"request": [self._send_nothing_else]},
            ),
        )

    def error(self, error: Exception, model: str) -> ModelError:
        """Return what has happened in our words."""
        return translate(error, base_url=self.base_url, model=model, prefix=self.prefix)

    def cause(self, error: Exception) -> Exception | None:
        """Return ``error`` as a cause to be shown in a traceback, unless the key is in it."""
        key = self.key.get_secret_value()
        return None if key and key in str(error) else error

    async def _send_nothing_else(self, request: Any) -> None:
        """Take out the headers that the SDK has put in, some of them from the environment."""
        for name in set(request.headers) - _HEADERS:
            del request.headers[name]
        request.headers["Authorization"] = f"Bearer {self.key.get_secret_value() or NO_KEY}"


def _split(base_url: str) -> Any:
    try:
        return urlsplit(base_url)
    except ValueError:
        return urlsplit("")


@functools.cache
def _tls() -> ssl.SSLContext:
    """Return the settings of TLS; reading the trusted certificates takes about 0.1 s."""
    return httpx.create_ssl_context()


@functools.cache
def _no_tls() -> ssl.SSLContext:
    """Return settings that trust nobody, and so cost nothing: plain HTTP never asks for them."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

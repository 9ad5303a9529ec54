import asyncio
import inspect
import socket
import traceback
from collections.abc import Iterator

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

import openai_replies as replies
from openai_replies import Item, Reply
from openai_server import OpenAIServer
from paper_qa.errors import (
    ContextLengthError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelRateLimitError,
    PaperQAError,
)
from paper_qa.llm.errors import VENDOR_ERRORS, display_url, httpx, redact, translate
from paper_qa.llm.openai_compatible import OpenAICompatibleLLM

KEY = "sk-very-secret-0123456789"
URL = "http://127.0.0.1:8080/v1"


def exceptions_of(module: object) -> list[type[Exception]]:
    return [
        kind
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, Exception) and not issubclass(kind, Warning)
    ]


def bare(kind: type[Exception]) -> Exception:
    """Return an instance without the arguments that this class would like to have."""
    error = kind.__new__(kind)
    Exception.__init__(error, "went wrong")
    return error


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


def failure_of(
    server: OpenAIServer, *items: Item, key: str = KEY, timeout: float = 5
) -> ModelError:
    server.script(*items)
    llm = OpenAICompatibleLLM(base_url=server.base_url, model="m", api_key=key, timeout=timeout)
    with pytest.raises(ModelError) as caught:
        llm.complete("hello")
    return caught.value


@pytest.mark.parametrize("kind", exceptions_of(openai), ids=lambda kind: kind.__name__)
def test_every_exception_of_the_sdk_arrives_as_a_model_error(kind: type[Exception]) -> None:
    translated = translate(bare(kind), base_url=URL, model="m")

    assert issubclass(kind, VENDOR_ERRORS)
    assert isinstance(translated, ModelError)


@pytest.mark.parametrize(
    "kind",
    [
        kind
        for kind in exceptions_of(httpx)
        if issubclass(kind, (httpx.HTTPError, httpx.StreamError))
    ],
    ids=lambda kind: kind.__name__,
)
def test_every_exception_of_the_http_library_arrives_as_a_model_error(kind) -> None:
    assert isinstance(translate(bare(kind), base_url=URL, model="m"), ModelError)


@pytest.mark.parametrize(
    ("kind", "ours"),
    [
        (openai.AuthenticationError, ModelAuthenticationError),
        (openai.PermissionDeniedError, ModelAuthenticationError),
        (openai.NotFoundError, ModelNotFoundError),
        (openai.RateLimitError, ModelRateLimitError),
        (openai.APIConnectionError, ModelConnectionError),
        (openai.APITimeoutError, ModelConnectionError),
        (httpx.RemoteProtocolError, ModelConnectionError),
        (httpx.ReadTimeout, ModelConnectionError),
        (ConnectionResetError, ModelConnectionError),
        (TimeoutError, ModelConnectionError),
        (openai.APIResponseValidationError, ModelError),
        (ValueError, ModelError),
    ],
)
def test_the_kind_of_an_error_is_kept(kind: type[Exception], ours: type[ModelError]) -> None:
    assert type(translate(bare(kind), base_url=URL, model="m")) is ours


def test_an_error_of_ours_comes_back_as_it_is() -> None:
    error = ContextLengthError("too long")

    assert translate(error, base_url=URL, model="m") is error


@pytest.mark.parametrize(
    ("item", "ours", "words"),
    [
        (replies.wrong_key(), ModelAuthenticationError, "set PAPER_QA_LLM_API_KEY"),
        (replies.forbidden(), ModelAuthenticationError, "whether it may use this model"),
        (replies.no_such_model(), ModelNotFoundError, "set PAPER_QA_LLM_MODEL"),
        (replies.Failure(404, "404 page not found"), ModelNotFoundError, "often ends in /v1"),
        (replies.rate_limited("7"), ModelRateLimitError, "ask again in 7 s"),
        (replies.rate_limited("Fri, 31 Dec"), ModelRateLimitError, "ask again in a moment"),
        (replies.quota_used_up(), ModelRateLimitError, "quota"),
        (replies.error(402, "Insufficient Balance"), ModelRateLimitError, "quota"),
        (replies.server_error(), ModelError, "status 500, saying 'The server had an error'"),
        (replies.loading(), ModelConnectionError, "still loading the model"),
        (replies.Failure(502, "<html>Bad Gateway</html>"), ModelConnectionError, "not available"),
        (replies.web_page(), ModelError, "check PAPER_QA_LLM_BASE_URL"),
        (replies.garbled(), ModelError, "check PAPER_QA_LLM_BASE_URL"),
        (replies.error_in_stream("out of memory"), ModelError, "out of memory"),
        (replies.error_in_stream("slow down", 429), ModelRateLimitError, "ask again"),
        (
            replies.error(400, "API key not valid."),
            ModelAuthenticationError,
            "set PAPER_QA_LLM_API_KEY",
        ),
        (replies.error(400, "foo is not a valid model ID"), ModelNotFoundError, "/models lists"),
        (Reply("cut in the middle", cut_after=1), ModelConnectionError, "broke"),
        (Reply("ends early", finish_reason=None), ModelConnectionError, "broke"),
        (Reply("unseen", choices=False, finish_reason=None), ModelError, "no completion"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)[:30]),
)
def test_a_misbehaving_endpoint_is_one_clear_line(server, item, ours, words) -> None:
    error = failure_of(server, item)

    assert type(error) is ours
    assert words in str(error)
    assert server.base_url in str(error)
    assert "\n" not in str(error)


@pytest.mark.parametrize("name", replies.TOO_LONG)
def test_a_prompt_that_is_too_long_is_recognised(server: OpenAIServer, name: str) -> None:
    assert type(failure_of(server, replies.TOO_LONG[name])) is ContextLengthError
    assert len(server.chats) == 1  # and is not sent again


@pytest.mark.parametrize(
    "item",
    [
        *(replies.key_echoed(status) for status in (400, 401, 403, 404, 413, 429, 500, 503)),
        replies.error_in_stream(f"the key {KEY} is bad"),
        replies.error(400, f"cut off: ...{KEY[:12]}"),
        replies.error(400, f"cut off: {KEY[-12:]}"),
        replies.error(400, f"prompt too long for {KEY}"),
        replies.redirect(f"http://other.example/{KEY}"),
        replies.Failure(400, KEY),
    ],
    ids=str,
)
def test_the_key_is_never_repeated_even_when_the_server_does(server: OpenAIServer, item) -> None:
    error = failure_of(server, item)

    shown = "".join(traceback.format_exception(error))
    assert KEY not in shown
    assert KEY[:10] not in str(error)
    assert KEY[-10:] not in str(error)


def test_a_short_key_is_not_repeated_either(server: OpenAIServer) -> None:
    assert "tiny" not in str(failure_of(server, replies.key_echoed(), key="tiny"))


def test_without_a_key_the_words_of_a_server_are_left_alone(server: OpenAIServer) -> None:
    error = failure_of(server, replies.error(400, "none of the slots is free"), key="")

    assert "none of the slots is free" in str(error)


def test_long_words_of_a_server_are_cut(server: OpenAIServer) -> None:
    assert len(str(failure_of(server, replies.error(400, "blah " * 5000)))) < 400


def test_no_connection_says_so() -> None:
    llm = OpenAICompatibleLLM(base_url="http://127.0.0.1:9/v1", model="m")

    with pytest.raises(ModelConnectionError, match=r"can't reach .*127.0.0.1:9.* is it running"):
        llm.complete("hello")


def test_an_unknown_host_says_so() -> None:
    error = httpx.ConnectError("no")
    error.__cause__ = socket.gaierror(-2, "Name or service not known")

    translated = translate(error, base_url="http://typo.example/v1", model="m")

    assert "can't reach the endpoint 'http://typo.example/v1'" in str(translated)
    assert "its host name is not known" in str(translated)


def test_an_earlier_error_that_was_being_handled_is_not_blamed(server: OpenAIServer) -> None:
    try:
        asyncio.run(asyncio.wait_for(asyncio.sleep(1), timeout=0))
    except TimeoutError:
        error = failure_of(server, Reply("cut in the middle", cut_after=1))

    assert "broke the connection off" in str(error)


def test_tls_against_a_server_that_has_none_says_so(server: OpenAIServer) -> None:
    url = server.base_url.replace("http:", "https:")

    with pytest.raises(ModelConnectionError, match="TLS"):
        OpenAICompatibleLLM(base_url=url, model="m").complete("hello")


@pytest.mark.parametrize(
    "item", [replies.Hang(), replies.Hang(headers=True), replies.Hang(comments=True)], ids=str
)
def test_silence_ends_at_the_time_out(server: OpenAIServer, item: replies.Hang) -> None:
    error = failure_of(server, item, timeout=0.3)

    assert "silent for too long: raise PAPER_QA_LLM_TIMEOUT" in str(error)
    assert server.wait_for_disconnect() - server.chats[0].at < 1.5


def test_the_settings_at_fault_are_named_as_the_caller_says() -> None:
    error = translate(
        bare(openai.AuthenticationError), base_url=URL, model="m", prefix="PAPER_QA_EMBEDDING"
    )

    assert "PAPER_QA_EMBEDDING_API_KEY" in str(error)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://user:password@host:80/v1/?key=secret", "http://host:80/v1"),
        ("https://host/v1", "https://host/v1"),
        ("http://[broken/v1", "?"),
    ],
)
def test_an_address_is_shown_without_its_secrets(address: str, shown: str) -> None:
    assert display_url(address) == shown


@given(before=st.text(), key=st.text("abcXYZ019-_", min_size=1, max_size=40), after=st.text())
def test_redacted_text_is_one_line_without_the_key(before: str, key: str, after: str) -> None:
    text = redact(f"{before} {key} {after}", key)

    assert key not in text.replace("[key]", "")
    assert len(text.splitlines()) <= 1


def test_model_errors_can_all_be_caught_as_one() -> None:
    assert issubclass(ModelError, PaperQAError)

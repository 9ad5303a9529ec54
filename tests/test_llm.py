import asyncio
import copy
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core.callbacks import CallbackManager, TokenCountingHandler
from llama_index.core.llms import LLM, ChatMessage, MessageRole
from llama_index.core.prompts import PromptTemplate

import openai_replies as replies
from openai_replies import Hang, Item, Reply
from openai_server import OpenAIServer
from paper_qa.domain import Usage
from paper_qa.errors import ConfigurationError, ModelConnectionError, ModelRateLimitError
from paper_qa.llm import OPENAI_URL, load_endpoint
from paper_qa.llm.openai_compatible import OpenAICompatibleLLM
from paper_qa.llm.reply import finish_reason_of, usage_of
from paper_qa.settings import load_settings

KEY = "sk-very-secret-0123456789"
QUESTION = [
    ChatMessage(role=MessageRole.SYSTEM, content="Be brief."),
    ChatMessage(role=MessageRole.USER, content="How are you?"),
]
SLOW = Reply("word " * 200, delay_s=0.02)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest.fixture
def llm(server: OpenAIServer) -> OpenAICompatibleLLM:
    return OpenAICompatibleLLM(base_url=server.base_url, model="m", api_key=KEY, timeout=5)


def say(server: OpenAIServer, llm: LLM, *items: Item) -> str:
    server.script(*items)
    return llm.chat(QUESTION).message.content or ""


async def read(llm: LLM) -> None:
    async for _ in await llm.astream_chat(QUESTION):
        pass


# The ways to ask


def test_every_way_of_asking_gives_the_same_answer(server, llm) -> None:
    async def ask_asynchronously() -> list[str | None]:
        streamed = [response async for response in await llm.astream_chat(QUESTION)]
        completed = [response async for response in await llm.astream_complete("How are you?")]
        return [
            (await llm.achat(QUESTION)).message.content,
            (await llm.acomplete("How are you?")).text,
            streamed[-1].message.content,
            "".join(response.delta or "" for response in streamed),
            completed[-1].text,
        ]

    answers = [
        llm.chat(QUESTION).message.content,
        llm.complete("How are you?").text,
        "".join(response.delta or "" for response in llm.stream_chat(QUESTION)),
        list(llm.stream_complete("How are you?"))[-1].text,
        *asyncio.run(ask_asynchronously()),
    ]

    assert answers == ["This is a scripted reply."] * 9
    assert len(server.chats) == 8


def test_the_synchronous_methods_work_inside_a_running_loop(llm) -> None:
    async def ask() -> str | None:
        return llm.chat(QUESTION).message.content

    assert asyncio.run(ask()) == "This is a scripted reply."


def test_llamaindex_can_ask_with_a_prompt_template(server, llm) -> None:
    answer = llm.predict(PromptTemplate("Say {word}."), word="yes")

    assert answer == "This is a scripted reply."
    assert server.chats[0].body["messages"] == [{"role": "user", "content": "Say yes."}]


def test_the_request_says_what_is_wanted(server, llm) -> None:
    llm.chat(QUESTION, seed=7)

    assert server.chats[0].body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "How are you?"},
        ],
        "temperature": 0.0,
        "max_tokens": 1024,
        "seed": 7,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_the_metadata_say_that_it_is_a_chat_model(llm) -> None:
    assert llm.metadata.is_chat_model
    assert llm.metadata.model_name == "m"
    assert llm.metadata.num_output == 1024
    assert llm.metadata.context_window == 8192


def test_a_stream_that_is_never_read_asks_nothing(server, llm) -> None:
    llm.stream_chat(QUESTION)

    async def open_only() -> None:
        await llm.astream_chat(QUESTION)

    asyncio.run(open_only())
    assert not server.requests


# What comes back


def test_the_usage_is_that_of_the_server(server, llm) -> None:
    response = llm.chat(QUESTION)

    assert usage_of(response) == Usage(llm_calls=1, prompt_tokens=5, completion_tokens=5)
    assert usage_of(llm.complete("Hello")).completion_tokens == 5
    assert list(llm.stream_chat(QUESTION))[-1].raw == {
        "model": "scripted-model",
        "usage": {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10},
        "finish_reason": "stop",
    }


def test_usage_that_the_server_does_not_send_is_not_estimated(server, llm) -> None:
    server.script(Reply("Short.", usage=False))

    assert usage_of(llm.chat(QUESTION)) == Usage(llm_calls=1)


def test_llamaindex_can_count_the_tokens(server, llm) -> None:
    counter = TokenCountingHandler(tokenizer=str.split)
    llm.callback_manager = CallbackManager([counter])

    llm.chat(QUESTION)

    assert counter.prompt_llm_token_count == 5
    assert counter.completion_llm_token_count == 5


def test_an_answer_cut_by_its_limit_says_so(server, llm) -> None:
    server.script(Reply("Cut sho", finish_reason="length"), Reply("Whole."))

    assert finish_reason_of(llm.chat(QUESTION)) == "length"
    assert finish_reason_of(llm.chat(QUESTION)) == "stop"


def test_an_endpoint_that_never_stops_is_stopped(server) -> None:
    server.script(Reply(pieces=["x" * 50] * 10_000))
    llm = OpenAICompatibleLLM(base_url=server.base_url, model="m", max_tokens=10)

    response = llm.chat(QUESTION)

    assert finish_reason_of(response) == "length"
    assert 640 <= len(response.message.content or "") < 800
    server.wait_for_disconnect()


def test_reasoning_is_dropped_while_it_streams(server, llm) -> None:
    server.script(
        Reply("The answer.", reasoning=["Let me ", "think."]),
        Reply(pieces=["<th", "ink>Let me think", ".</", "think>", "\n\n", "The ", "answer."]),
    )

    for _ in range(2):
        deltas = [response.delta for response in llm.stream_chat(QUESTION)]
        assert "".join(filter(None, deltas)) == "The answer."


def test_an_answer_that_is_all_reasoning_is_empty_and_cut_by_its_limit(server, llm) -> None:
    server.script(Reply("", reasoning=["on and on"], finish_reason="length"))

    response = llm.chat(QUESTION)

    assert response.message.content == ""
    assert finish_reason_of(response) == "length"


# Cancelling


@pytest.mark.parametrize("item", [Hang(), Hang(headers=True), SLOW], ids=["sent", "begun", "words"])
def test_cancelling_the_task_ends_the_request_at_once(server, llm, item) -> None:
    server.script(item)

    async def ask_and_cancel() -> float:
        task = asyncio.create_task(read(llm))
        await asyncio.to_thread(server.wait_for_request)
        await asyncio.sleep(0.1)
        task.cancel()
        cancelled_at = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        return cancelled_at

    cancelled_at = asyncio.run(ask_and_cancel())
    assert server.wait_for_disconnect() - cancelled_at < 0.3


def test_closing_an_asynchronous_stream_ends_the_request_at_once(server, llm) -> None:
    server.script(SLOW)

    async def ask_and_close() -> float:
        stream = await llm.astream_chat(QUESTION)
        await anext(stream)
        closed_at = time.monotonic()
        await stream.aclose()
        await asyncio.to_thread(server.wait_for_disconnect)  # while the loop goes on
        return closed_at

    closed_at = asyncio.run(ask_and_close())
    assert server.disconnects[0] - closed_at < 0.3


def test_closing_a_synchronous_stream_ends_the_request_at_once(server, llm) -> None:
    server.script(SLOW)
    stream = llm.stream_chat(QUESTION)
    next(stream)

    closed_at = time.monotonic()
    stream.close()

    assert server.wait_for_disconnect() - closed_at < 0.3


def test_an_interrupt_ends_the_request_and_its_thread(server, llm) -> None:
    server.script(SLOW)
    stream = llm.stream_chat(QUESTION)
    next(stream)

    with pytest.raises(KeyboardInterrupt):
        stream.throw(KeyboardInterrupt)

    server.wait_for_disconnect()
    assert not [t for t in threading.enumerate() if t.name.startswith("paper-qa-stream")]


def test_nothing_is_tried_twice(server, llm) -> None:
    server.script(replies.rate_limited())

    with pytest.raises(ModelRateLimitError):
        llm.chat(QUESTION)

    assert len(server.requests) == 1


def test_many_questions_at_once_do_not_mix(server, llm) -> None:
    server.default = Reply(lambda messages: messages[-1]["content"], delay_s=0.01)

    async def ask_all() -> list[str]:
        return [r.text for r in await asyncio.gather(*(llm.acomplete(f"n {i}") for i in range(8)))]

    assert asyncio.run(ask_all()) == [f"n {i}" for i in range(8)]


# What some servers do not take

NO_MAX_TOKENS = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. "
    "Use 'max_completion_tokens' instead."
)
NO_TEMPERATURE = "Unsupported value: 'temperature' does not support 0.0 with this model."


def test_a_server_that_knows_no_stream_options_is_asked_without_them(server, llm) -> None:
    server.rejects = {"stream_options": "Extra inputs are not permitted: stream_options"}

    assert say(server, llm) == "This is a scripted reply."
    assert say(server, llm) == "This is a scripted reply."
    assert ["stream_options" in chat.body for chat in server.chats] == [True, False, False]


def test_the_newest_models_of_openai_are_asked_in_their_way(server, llm) -> None:
    server.rejects = {"max_tokens": NO_MAX_TOKENS, "temperature": NO_TEMPERATURE}

    assert say(server, llm) == "This is a scripted reply."
    assert server.chats[-1].body["max_completion_tokens"] == 1024
    assert len(server.chats) == 3


@pytest.mark.parametrize(
    ("status", "message"),
    [(400, "Only user and assistant roles are supported!"), (500, "System role not supported")],
)
def test_a_chat_template_without_system_messages_gets_it_in_front(
    server, llm, status: int, message: str
) -> None:
    assert say(server, llm, replies.error(status, message)) == "This is a scripted reply."
    assert server.chats[-1].body["messages"] == [
        {"role": "user", "content": "Be brief.\n\nHow are you?"}
    ]


def test_a_complaint_that_nothing_can_be_done_about_is_not_answered_with_a_retry(server) -> None:
    server.rejects = {"messages": "System role not supported, nor stream_options, nor temperature"}
    llm = OpenAICompatibleLLM(base_url=server.base_url, model="m", api_key=KEY)

    with pytest.raises(Exception, match="failed with status 400"):
        llm.complete("Hello")

    assert len(server.chats) == 3


# Keys and addresses


def test_the_key_is_in_no_text_of_the_model(llm) -> None:
    shown = [repr(llm), str(llm), llm.to_json(), str(llm.to_payload()), str(llm.metadata)]

    assert not [text for text in shown if KEY in text]
    assert KEY not in repr(vars(llm))
    assert KEY not in repr(llm.__pydantic_private__)


def test_a_copy_of_the_model_works(server, llm) -> None:
    assert say(server, copy.deepcopy(llm)) == "This is a scripted reply."
    assert server.chats[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_pickled_model_leaves_its_key_behind(server, llm) -> None:
    pickled = pickle.dumps(llm)

    assert KEY.encode() not in pickled
    assert say(server, pickle.loads(pickled)) == "This is a scripted reply."  # noqa: S301
    assert server.chats[0].headers["authorization"] == "Bearer none"


def test_nothing_of_the_environment_is_sent(server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET"):
        monkeypatch.setenv(f"OPENAI_{name}", "stolen")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/stolen")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer stolen\nX-More: stolen")
    llm = OpenAICompatibleLLM(base_url=server.base_url)  # asks for the model too

    llm.chat(QUESTION)

    assert len(server.requests) == 2
    for request in server.requests:
        assert "stolen" not in str(request)
        assert request.headers["authorization"] == "Bearer none"
        assert not [name for name in request.headers if name.startswith(("x-", "openai-"))]


def test_a_proxy_does_not_come_between_this_machine_and_itself(
    server, llm, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    assert say(server, llm) == "This is a scripted reply."


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_reaches_no_other_server(server, llm, status: int) -> None:
    with OpenAIServer() as other:
        server.script(replies.redirect(f"{other.base_url}/chat/completions", status))

        with pytest.raises(ModelConnectionError, match=f"sends on to '{other.base_url}"):
            llm.chat(QUESTION)

        assert not other.requests


@pytest.mark.parametrize(
    ("base_url", "api_key", "words"),
    [
        ("ftp://host/v1", "", "not a web address"),
        ("http://[broken/v1", "", "not a web address"),
        ("http:///v1", "", "not a web address"),
        (f"http://me:{KEY}@host/v1", "", "must not hold a name, password or query"),
        (f"http://host/v1?key={KEY}", "", "must not hold a name, password or query"),
        (f"ftp://me:{KEY}@host/v1", "", "not a web address"),
        ("http://host/v1", f"{KEY}\nX-Header: 1", "a character that no key has"),
        ("http://host/v1", f"{KEY}ü", "a character that no key has"),
        ("http://host/v1", f"Bearer {KEY}", "a character that no key has"),
    ],
)
def test_an_impossible_address_or_key_is_refused_without_showing_it(
    base_url: str, api_key: str, words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words) as caught:
        OpenAICompatibleLLM(base_url=base_url, api_key=api_key)

    assert KEY not in str(caught.value)


def test_white_space_around_a_key_is_forgiven(server) -> None:
    server.key = KEY
    llm = OpenAICompatibleLLM(base_url=server.base_url, model="m", api_key=f" {KEY}\n")

    assert say(server, llm) == "This is a scripted reply."


# Which model


def test_the_only_model_of_an_endpoint_is_taken_and_asked_for_once(server) -> None:
    llm = OpenAICompatibleLLM(base_url=server.base_url)
    assert llm.metadata.model_name == f"the model at {server.base_url}"

    llm.chat(QUESTION)
    llm.chat(QUESTION)

    assert [chat.body["model"] for chat in server.chats] == ["scripted-model"] * 2
    assert len(server.requests) == 3
    assert llm.metadata.model_name == "scripted-model"


@pytest.mark.parametrize(
    ("models", "words"),
    [
        (["b", "a"], "set PAPER_QA_LLM_MODEL to one of those at .*: a, b$"),
        ([f"m{i:02}" for i in range(30)], r"m09, …$"),
        ([], "lists no model: set PAPER_QA_LLM_MODEL"),
    ],
)
def test_a_choice_of_models_is_left_to_the_person(server, models: list[str], words: str) -> None:
    server.models = models

    with pytest.raises(ConfigurationError, match=words):
        OpenAICompatibleLLM(base_url=server.base_url).chat(QUESTION)


def test_an_endpoint_that_lists_no_models_wants_one_named(server) -> None:
    llm = OpenAICompatibleLLM(base_url=f"{server.host_url}/elsewhere")

    with pytest.raises(ConfigurationError, match="lists no model"):
        llm.chat(QUESTION)


# What the settings ask for


@pytest.mark.parametrize(
    "choice", [{}, {"llm": "extractive"}, {"llm": "extractive", "llm_base_url": "http://host/v1"}]
)
def test_without_an_endpoint_there_is_no_model(
    choice: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    assert load_endpoint(load_settings(**choice)) is None


@pytest.mark.parametrize("choice", ["auto", "openai"])
def test_an_endpoint_is_used_without_the_key_of_openai(
    server, choice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    settings = load_settings(
        llm=choice, llm_base_url=server.base_url, llm_model="m", llm_timeout=7, llm_context=4096
    )

    llm = load_endpoint(settings)

    assert isinstance(llm, OpenAICompatibleLLM)
    assert llm.timeout == 7
    assert say(server, llm) == "This is a scripted reply."
    assert server.chats[0].headers["authorization"] == "Bearer none"


def test_an_endpoint_gets_its_own_key(server) -> None:
    server.key = KEY

    llm = load_endpoint(load_settings(llm_base_url=server.base_url, llm_api_key=KEY))

    assert llm is not None
    assert say(server, llm) == "This is a scripted reply."


def test_openai_itself_is_used_only_when_asked_for_by_name(monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    llm = load_endpoint(load_settings(llm="openai", llm_model="some-model"))

    assert isinstance(llm, OpenAICompatibleLLM)
    assert llm.base_url == OPENAI_URL
    assert llm._endpoint.key.get_secret_value() == KEY


def test_the_key_of_our_own_setting_comes_first(monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "another")

    llm = load_endpoint(load_settings(llm="openai", llm_model="some-model", llm_api_key=KEY))

    assert isinstance(llm, OpenAICompatibleLLM)
    assert llm._endpoint.key.get_secret_value() == KEY


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"llm_model": "m"}, "set PAPER_QA_LLM_API_KEY or OPENAI_API_KEY"),
        ({"llm_api_key": KEY}, "set PAPER_QA_LLM_MODEL"),
    ],
)
def test_openai_without_a_key_or_a_model_says_what_to_set(
    choice: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        load_endpoint(load_settings(llm="openai", **choice))


@pytest.mark.parametrize(
    ("host", "is_local"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("localhost", True),
        ("chat.localhost", True),
        ("[::1]", True),
        ("192.168.1.7", False),
        ("localhost.example.org", False),
        ("api.openai.com", False),
    ],
)
def test_this_machine_is_told_from_others(host: str, is_local: bool) -> None:
    llm = OpenAICompatibleLLM(base_url=f"http://{host}:8080/v1")

    assert llm._endpoint.is_local is is_local


def test_no_vendor_is_imported_before_a_model_is_loaded() -> None:
    code = (
        "import sys, paper_qa.llm, paper_qa.llm.reply; "
        "sys.exit(bool({'openai', 'llama_index', 'httpx', 'httpx2'} & set(sys.modules)))"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

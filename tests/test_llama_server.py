"""The embedded model with a tiny model of random weights: real files, processes and requests."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.llms import ChatMessage, MessageRole

from paper_qa.errors import ConfigurationError, ModelConnectionError, ModelError, ModelFileError
from paper_qa.library import Library
from paper_qa.llm import Writer
from paper_qa.llm.embedded import EmbeddedLLM
from paper_qa.llm.llama_server import LOG_NAME, LlamaModel, LlamaServer, _check_processor
from paper_qa.llm.model_files import read_models
from paper_qa.llm.reply import finish_reason_of, usage_of
from paper_qa.qa import PaperQA
from paper_qa.settings import load_settings
from paper_qa.synthesizer import NOTE_UNSUPPORTED
from papers import make_paper

pytest.importorskip("xllamacpp", reason="llama.cpp has no build for this machine")
from toy_gguf import CONTEXT, WORDS, write_toy

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")

QUESTION = [ChatMessage(role=MessageRole.USER, content="Whÿ?")]
ENDLESS = CONTEXT - 1000  # tokens: minutes of nonsense
PARENT = """
import sys
from pathlib import Path
from llama_index.core.llms import ChatMessage
from paper_qa.llm.embedded import EmbeddedLLM
from paper_qa.llm.llama_server import LlamaModel, LlamaServer

server = LlamaServer(LlamaModel(Path(sys.argv[1]), "toy", 32768, 30000), Path(sys.argv[2]))
llm = EmbeddedLLM(server)
for number, _ in enumerate(llm.stream_chat([ChatMessage("Why?")])):
    if number == 3:
        print(server.pid, flush=True)
"""

Make = Callable[..., EmbeddedLLM]


@pytest.fixture(autouse=True, scope="module")
def one_core() -> Iterator[None]:
    """Keep llama.cpp to one thread: two wait for each other by spinning, slow on a busy machine."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    yield
    os.sched_setaffinity(0, allowed)


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("toy") / "toy.gguf")


@pytest.fixture
def make(toy: Path, tmp_path: Path) -> Iterator[Make]:
    """Yield what makes an embedded model; all are ended."""
    made: list[EmbeddedLLM] = []

    def make_one(path: Path = toy, *, max_tokens: int = 20, idle_s: int = -1) -> EmbeddedLLM:
        model = LlamaModel(path, "toy", CONTEXT, max_tokens)
        made.append(EmbeddedLLM(LlamaServer(model, tmp_path / "logs", idle_s), timeout=30))
        return made[-1]

    yield make_one
    for llm in made:
        llm.close()


@pytest.fixture(scope="module")
def shared_llm(toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedLLM]:
    """Yield one model for the tests that leave it as it was."""
    model = LlamaModel(toy, "toy", CONTEXT, 20)
    llm = EmbeddedLLM(LlamaServer(model, tmp_path_factory.mktemp("logs")), timeout=30)
    yield llm
    llm.close()


def say(llm: EmbeddedLLM, **options: Any) -> str:
    return llm.chat(QUESTION, **options).message.content or ""


def request(
    llm: EmbeddedLLM, path: str, *, key: bool = True, body: object = None, **headers: str
) -> tuple[int, dict[str, str], Any]:
    """Return the status, the headers and the body of a reply to a program that is not ours."""
    url = llm._server.start().result(30).removesuffix("/v1") + path
    if key:
        headers["Authorization"] = f"Bearer {llm._server.api_key}"
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(url, data, {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(asked, timeout=30) as reply:
            return reply.status, dict(reply.headers), json.loads(reply.read() or b"null")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, dict(error.headers), json.loads(error.read() or b"null")


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def children() -> set[int]:
    """Return the processes of llama.cpp that this one has started."""
    found: set[int] = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            is_ours = f"\nPPid:\t{os.getpid()}\n" in (folder / "status").read_text()
            if is_ours and b"llama_child" in (folder / "cmdline").read_bytes():
                found.add(int(folder.name))
        except OSError:
            continue
    return {pid for pid in found if is_alive(pid)}


def pid_of(llm: EmbeddedLLM) -> int:
    pid = llm._server.pid
    assert pid is not None
    return pid


# Answers


def test_whole_and_streamed_answers_are_the_same(shared_llm) -> None:
    streamed = list(shared_llm.stream_chat(QUESTION))

    assert say(shared_llm) == streamed[-1].message.content
    assert "".join(response.delta or "" for response in streamed) == say(shared_llm)
    assert len(streamed) > 10
    assert set(say(shared_llm).split()) <= set(WORDS)


def test_an_answer_ends_at_its_limit(shared_llm) -> None:
    for limit, options in ((20, {}), (5, {"max_tokens": 5})):
        response = shared_llm.chat(QUESTION, **options)

        assert usage_of(response).completion_tokens == limit
        assert finish_reason_of(response) == "length"


def test_a_request_without_a_limit_has_that_of_the_server(shared_llm) -> None:
    body = {"messages": [{"role": "user", "content": "Why?"}], "temperature": 0}

    status, _, reply = request(shared_llm, "/v1/chat/completions", body=body)

    assert status == 200
    assert reply["usage"]["completion_tokens"] == 20
    assert reply["model"] == "toy"


def test_a_second_question_starts_no_second_child(shared_llm) -> None:
    say(shared_llm)
    before = pid_of(shared_llm)

    say(shared_llm)

    assert pid_of(shared_llm) == before
    assert children() == {before}


def test_threads_that_ask_at_once_start_one_child(make) -> None:
    llm = make()
    before = children()
    answers: list[str] = []
    threads = [threading.Thread(target=lambda: answers.append(say(llm))) for _ in range(3)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(answers) == 3
    assert len(set(answers)) == 1
    assert children() - before == {pid_of(llm)}


# Who may ask


def test_it_answers_only_who_has_the_key(shared_llm) -> None:
    body = {"messages": [{"role": "user", "content": "Why?"}], "max_tokens": 3}

    for path, sent in (("/v1/chat/completions", body), ("/v1/models", None), ("/props", None)):
        assert request(shared_llm, path, body=sent)[0] == 200
        assert request(shared_llm, path, body=sent, key=False)[0] == 401
        assert request(shared_llm, path, body=sent, key=False, Authorization="Bearer no")[0] == 401


def test_it_listens_on_loopback_only(shared_llm) -> None:
    url = shared_llm._server.start().result(30)
    port = int(url.removesuffix("/v1").rpartition(":")[2])

    assert url.startswith("http://127.0.0.1:")
    socket.create_connection(("127.0.0.1", port), 1).close()
    for host in ("127.0.0.2", "::1"):  # one who listens on all addresses has these too
        with pytest.raises(OSError, match=r"refused|assign|unreachable|not supported|timed out"):
            socket.create_connection((host, port), 1)


def test_no_web_page_from_elsewhere_may_read_it(shared_llm) -> None:
    _, headers, _ = request(shared_llm, "/v1/models", Origin="https://evil.example")

    allowed = {name.lower(): value for name, value in headers.items()}
    assert "access-control-allow-origin" not in allowed


def test_nothing_else_is_served(shared_llm) -> None:
    assert request(shared_llm, "/slots")[0] == 501
    assert request(shared_llm, "/metrics")[0] == 501
    assert request(shared_llm, "/")[0] == 404


def test_the_environment_changes_nothing(make, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("CTX_SIZE", "512"), ("N_PREDICT", "1"), ("PORT", "1"), ("HOST", "::")):
        monkeypatch.setenv(f"LLAMA_ARG_{name}", value)
    monkeypatch.setenv("LLAMA_API_KEY", "stolen")
    llm = make()

    assert usage_of(llm.chat(QUESTION)).completion_tokens == 20
    props = request(llm, "/props")[2]
    assert props["default_generation_settings"]["n_ctx"] == CONTEXT
    assert props["total_slots"] == 1
    assert b"LLAMA" not in Path(f"/proc/{pid_of(llm)}/environ").read_bytes()
    assert llm._server.api_key.encode() not in Path(f"/proc/{pid_of(llm)}/cmdline").read_bytes()
    assert request(llm, "/v1/models", key=False, Authorization="Bearer stolen")[0] == 401


# Ends of the child


def test_a_child_killed_between_questions_is_started_again(make) -> None:
    llm = make()
    answer = say(llm)

    for _ in range(2):
        before = pid_of(llm)
        os.kill(before, signal.SIGKILL)

        assert say(llm) == answer  # at once, while it may still be dying
        assert pid_of(llm) != before


def test_a_child_killed_in_mid_answer_breaks_that_answer_only(make) -> None:
    llm = make()
    stream = llm.stream_chat(QUESTION, max_tokens=ENDLESS)
    next(stream)
    before = pid_of(llm)

    os.kill(before, signal.SIGKILL)
    with pytest.raises(ModelConnectionError, match="broke"):
        list(stream)

    assert say(llm)
    assert pid_of(llm) != before


def test_close_ends_the_child_and_a_later_question_starts_it(make) -> None:
    llm = make()
    say(llm)
    pid = pid_of(llm)

    llm.close()

    assert not is_alive(pid)
    assert llm._server.pid is None
    llm.close()
    assert say(llm)


def test_close_in_mid_answer_ends_it(make) -> None:
    llm = make()
    before = children()
    stream = llm.stream_chat(QUESTION, max_tokens=ENDLESS)
    next(stream)
    pid = pid_of(llm)

    llm.close()

    with pytest.raises(ModelConnectionError):
        list(stream)
    assert not is_alive(pid)
    assert children() == before  # … and it is not started again


def test_close_while_the_prompt_is_read_does_not_start_it_again(make) -> None:
    llm = make()
    say(llm)
    before = children() - {pid_of(llm)}
    errors: list[Exception] = []

    def ask() -> None:
        try:
            llm.complete("Why? " * 5000)
        except ModelError as error:
            errors.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    time.sleep(0.3)
    llm.close()
    thread.join(10)

    assert [type(error) for error in errors] == [ModelConnectionError]
    assert children() == before


@pytest.mark.parametrize("seconds", [0, 0.1, 0.4])
def test_stop_while_it_starts_leaves_nothing_behind(make, seconds: float) -> None:
    server = make()._server
    before = children()
    ready = server.start()
    time.sleep(seconds)

    began = time.monotonic()
    server.stop()

    assert time.monotonic() - began < 2
    with suppress(ModelError):  # on a fast machine it had started
        ready.result(5)
    assert children() == before
    assert server.start().result(30)


def start_parent(toy: Path, folder: Path) -> tuple["subprocess.Popen[str]", int]:
    """Start a program that is in the middle of an answer; return it, and the child's id."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(toy), str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert parent.stdout
    return parent, int(parent.stdout.readline())


def test_a_killed_parent_takes_its_child_along(toy, tmp_path) -> None:
    parent, child = start_parent(toy, tmp_path)
    with parent:
        parent.kill()

        assert wait_until(lambda: not is_alive(child), 2)


def test_ctrl_c_in_mid_answer_ends_both(toy, tmp_path) -> None:
    parent, child = start_parent(toy, tmp_path)
    with parent:
        os.killpg(parent.pid, signal.SIGINT)

        assert parent.wait(5) == -signal.SIGINT
        assert wait_until(lambda: not is_alive(child), 2)
        assert "KeyboardInterrupt" in (parent.stderr.read() if parent.stderr else "")


def test_a_parent_that_dies_while_the_model_loads_takes_its_child_along(tmp_path) -> None:
    """A pipe that nobody writes into takes the place of a disk that takes its time."""
    model = tmp_path / "slow.gguf"
    os.mkfifo(model)
    code = (
        "from xllamacpp import CommonParams, Server; "
        "from paper_qa.llm import llama_child; llama_child._leave_with_parent(); "
        f"print(1, flush=True); params = CommonParams(); params.model.path = {str(model)!r}; "
        "Server(params)"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with child:
        assert child.stdin
        assert child.stdout
        child.stdout.readline()
        time.sleep(0.3)
        assert child.poll() is None
        child.stdin.close()

        try:
            child.wait(2)
        finally:
            child.kill()


# Cancelling


def test_cancelling_ends_the_generation_at_once(make) -> None:
    llm = make()

    async def ask_and_cancel() -> float:
        stream = await llm.astream_chat(QUESTION, max_tokens=ENDLESS)

        async def read() -> None:
            async for _ in stream:
                begun.set()

        begun = asyncio.Event()
        task = asyncio.create_task(read())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        began = time.monotonic()
        await llm.achat(QUESTION, max_tokens=3)  # there is one slot: it has to be free
        return time.monotonic() - began

    assert asyncio.run(ask_and_cancel()) < 3


def test_cancelling_while_the_child_starts_returns_at_once(make) -> None:
    llm = make()

    async def ask_and_cancel() -> float:
        task = asyncio.create_task(llm.achat(QUESTION))
        await asyncio.sleep(0.05)
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - began

    assert asyncio.run(ask_and_cancel()) < 0.3
    assert say(llm)  # which spoils it for nobody


def test_a_program_may_end_while_the_child_starts(toy, tmp_path) -> None:
    code = PARENT.replace("for number", "server.start(); sys.exit(3)\nfor number")

    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(toy), str(tmp_path)],
        check=False,
        capture_output=True,
        timeout=30,
    )

    assert ended.returncode == 3


# What can't be started


def test_a_missing_file_is_said_to_be_missing(make, tmp_path) -> None:
    llm = make(tmp_path / "none.gguf")

    with pytest.raises(ModelFileError, match=r"none\.gguf' is gone: run paper-qa model pull"):
        say(llm)


def test_a_file_that_is_no_model_is_told_with_the_log(make, tmp_path) -> None:
    (tmp_path / "broken.gguf").write_bytes(b"GGUF" + b"\xff" * 1000)
    llm = make(tmp_path / "broken.gguf")
    log = tmp_path / "logs" / LOG_NAME
    before = children()

    for _ in range(2):
        with pytest.raises(ModelError, match=r"did not start \(exit code 1\): look into") as caught:
            say(llm)
        assert str(log) in str(caught.value)

    assert "broken.gguf" in log.read_text()
    assert children() == before


def test_a_file_that_comes_later_is_taken(make, toy, tmp_path) -> None:
    llm = make(tmp_path / "late.gguf")
    with pytest.raises(ModelFileError):
        say(llm)

    (tmp_path / "late.gguf").write_bytes(toy.read_bytes())

    assert say(llm)


def test_a_log_that_has_grown_is_put_aside(make, tmp_path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / LOG_NAME).write_bytes(b"x" * 1_000_001)
    llm = make()

    say(llm)

    assert (tmp_path / "logs" / LOG_NAME).stat().st_size < 1_000_000
    assert (tmp_path / "logs" / "llama.old.log").stat().st_size == 1_000_001
    assert llm._server.api_key not in (tmp_path / "logs" / LOG_NAME).read_text()


@pytest.mark.parametrize(
    ("cpuinfo", "works"),
    [
        ("processor\t: 0\nflags\t\t: fpu sse4_2 avx avx2 fma\n", True),
        ("processor\t: 0\nflags\t\t: fpu sse4_2 avx fma\n", False),
        ("processor\t: 0\n", True),
        ("", True),
        (None, True),
    ],
)
def test_a_processor_without_avx2_is_refused(tmp_path, monkeypatch, cpuinfo, works) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    if cpuinfo is not None:
        (tmp_path / "cpuinfo").write_text(cpuinfo)

    if works:
        _check_processor(tmp_path / "cpuinfo")
    else:
        with pytest.raises(ModelError, match=r"no AVX2.*PAPER_QA_LLM=extractive"):
            _check_processor(tmp_path / "cpuinfo")


# Memory


def test_an_idle_model_leaves_the_memory_and_comes_back(make, toy) -> None:
    llm = make(idle_s=1)
    answer = say(llm)
    pid = pid_of(llm)

    def is_loaded() -> bool:
        return str(toy) in Path(f"/proc/{pid}/maps").read_text()

    assert is_loaded()
    assert wait_until(lambda: not is_loaded(), 10)
    assert say(llm) == answer
    assert is_loaded()
    assert pid_of(llm) == pid


# Which model writes


def put_default_model(home: Path) -> Path:
    """Put an empty file of the right size where the default model belongs."""
    model = read_models()[0]
    path = home / "models" / model.file
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        stream.truncate(model.num_bytes)
    return path


def test_without_a_file_nobody_writes() -> None:
    assert Writer(load_settings()).llm() is None


def test_a_file_that_appears_is_taken_and_left_when_it_goes() -> None:
    settings = load_settings()
    writer = Writer(settings)
    assert writer.llm() is None

    path = put_default_model(settings.home)
    llm = writer.llm()

    assert isinstance(llm, EmbeddedLLM)
    assert llm.metadata.model_name == read_models()[0].name
    assert writer.llm() is llm
    path.unlink()
    assert writer.llm() is None
    writer.close()


def test_a_file_of_ones_own_is_taken_and_ended_with_the_writer(toy, monkeypatch) -> None:
    monkeypatch.setenv("PAPER_QA_LLM_GGUF", str(toy))
    writer = Writer(load_settings())
    llm = writer.llm()
    assert isinstance(llm, EmbeddedLLM)
    assert llm.metadata.model_name == "toy"
    assert say(llm, max_tokens=3)

    writer.close()

    assert llm._server.pid is None


def test_a_file_of_ones_own_that_is_not_there_is_said_to_be(tmp_path) -> None:
    writer = Writer(load_settings(llm_gguf=tmp_path / "none.gguf"))

    with pytest.raises(ConfigurationError, match=r"PAPER_QA_LLM_GGUF='.*none\.gguf' is no file"):
        writer.llm()


def test_the_embedded_model_by_name_needs_its_file() -> None:
    with pytest.raises(ConfigurationError, match="run paper-qa model pull"):
        Writer(load_settings(llm="embedded"))


def test_an_endpoint_comes_before_a_file(toy) -> None:
    settings = load_settings(llm_gguf=toy, llm_base_url="http://127.0.0.1:9/v1")

    assert not isinstance(Writer(settings).llm(), EmbeddedLLM)
    assert Writer(load_settings(llm_gguf=toy, llm="extractive")).llm() is None


def test_nonsense_is_withheld_and_the_key_passages_are_shown(toy) -> None:
    settings = load_settings(llm_gguf=toy, abstain_threshold=0.0)
    paper, before = make_paper(1), children()
    library = Library(settings.home)
    library.add([paper])
    library.close()
    qa = PaperQA(settings=settings)

    try:
        answer = qa.ask(paper.title)
        assert qa.model_name == "toy"
    finally:
        qa.close()

    assert answer.usage.completion_tokens > 0
    assert answer.withheld
    assert answer.notes == (NOTE_UNSUPPORTED,)
    assert answer.claims
    assert answer.model == "extractive"
    assert children() == before

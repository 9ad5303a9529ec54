"""A llama.cpp server of our own, in a child process: started, watched, and never left behind."""

import json
import os
import platform
import secrets
import subprocess
import sys
import threading
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue

from paper_qa.cores import available_cores
from paper_qa.errors import ModelError, ModelFileError
from paper_qa.llm.llama_child import ServerOptions

START_TIMEOUT_S = 180.0  # from a cold disk, a gigabyte takes its time
STOP_TIMEOUT_S = 5.0
LOG_NAME = "llama.log"
MAX_LOG_BYTES = 1_000_000
_NEEDED = "avx2"  # the instructions that the prebuilt library was compiled for
# Nothing else: LLAMA_ARG_* would change the server behind our back.
_KEPT_VARIABLES = ("PATH", "PYTHONPATH", "HOME", "TMPDIR", "TEMP", "SYSTEMROOT", "LANG")


@dataclass(frozen=True, slots=True)
class LlamaModel:
    """A model file and how much of it to use: tokens to read, and tokens to write at most."""

    path: Path
    name: str
    context_length: int = 4096
    max_tokens: int = 220


@dataclass
class LlamaServer:
    """One model, served on loopback for whoever has ``api_key``; safe for several threads.

    The child ends with this process, however that ends: it reads a pipe that only we hold.
    """

    model: LlamaModel
    log_folder: Path
    idle_s: int = -1
    api_key: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    _child: "subprocess.Popen[str] | None" = field(default=None, init=False, repr=False)
    _ready: "Future[str] | None" = field(default=None, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    @property
    def pid(self) -> int | None:
        """The process id of the child while it runs."""
        child = self._child
        return child.pid if child and child.poll() is None else None

    def start(self) -> "Future[str]":
        """Start the child unless it runs or is starting; the future has where it answers.

        The future raises:
            ModelFileError: there is no such file.
            ModelError: it does not start.
        """
        with self._lock:
            if self._ready is None or (self._ready.done() and self.pid is None):
                self._ready = Future()
                self._ready.set_running_or_notify_cancel()  # one who gives up spoils it for nobody
                # A daemon, so that a program which ends meanwhile need not wait for it.
                threading.Thread(target=self._run, args=(self._ready,), daemon=True).start()
            return self._ready

    def has_died(self, timeout: float) -> bool:
        """Whether the child has gone by itself, or goes within so many seconds."""
        child = self._child
        if child is None:
            return False  # it was ended
        with suppress(subprocess.TimeoutExpired):
            child.wait(timeout)
        return child.returncode is not None

    def stop(self) -> None:
        """End the child, whatever it is doing, be it starting."""
        with self._lock:
            child, self._child, self._ready = self._child, None, None
        if child:
            _end(child)

    def _run(self, ready: "Future[str]") -> None:
        try:
            ready.set_result(self._start(ready))
        except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to those who wait
            ready.set_exception(error)

    def _start(self, ready: "Future[str]") -> str:
        _check_processor()
        if not self.model.path.is_file():
            raise ModelFileError(
                f"the model file {str(self.model.path)!r} is gone: run paper-qa model pull"
            )
        log = self._open_log()
        with log.open("ab") as stderr, self._lock:
            if self._ready is not ready:
                raise ModelError("the embedded model was stopped while it started: ask again")
            if self._child:
                _end(self._child)  # it has died, but its pipes are open
            child = self._child = subprocess.Popen(
                [sys.executable, "-P", "-m", "paper_qa.llm.llama_child"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=_environment(),
                text=True,
                start_new_session=True,  # a Ctrl-C at the terminal is ours to handle
            )
        try:
            return f"http://127.0.0.1:{_port(child, self._options())}/v1"
        except ModelError as error:
            _end(child)
            raise ModelError(f"{error}: look into its log, {str(log)!r}") from error

    def _options(self) -> ServerOptions:
        return ServerOptions(
            model=str(self.model.path),
            alias=self.model.name,
            api_key=self.api_key,
            context_length=self.model.context_length,
            max_tokens=self.model.max_tokens,
            num_threads=available_cores(),
            idle_s=self.idle_s,
        )

    def _open_log(self) -> Path:
        self.log_folder.mkdir(parents=True, exist_ok=True)
        log = self.log_folder / LOG_NAME
        if log.exists() and log.stat().st_size > MAX_LOG_BYTES:
            log.replace(log.with_suffix(".old.log"))
        return log


def _port(child: "subprocess.Popen[str]", options: ServerOptions) -> int:
    """Tell the child what to do and return the port on which it listens."""
    answers: SimpleQueue[str] = SimpleQueue()

    def read() -> None:
        answers.put(child.stdout.readline() if child.stdout else "")

    threading.Thread(target=read, daemon=True).start()
    try:
        if child.stdin:
            child.stdin.write(f"{options.to_json()}\n")
            child.stdin.flush()
        line = answers.get(timeout=START_TIMEOUT_S)
        return int(json.loads(line)["port"])
    except Empty:
        raise ModelError(f"the embedded model did not start in {START_TIMEOUT_S:.0f} s") from None
    except (OSError, ValueError):
        _end(child)
        code = child.returncode
        raise ModelError(f"the embedded model did not start (exit code {code})") from None


def _end(child: "subprocess.Popen[str]") -> None:
    """Close the pipe, which ends the child at once; should it not, kill it."""
    if child.stdin:
        with suppress(OSError):  # what it never read can't be written any more
            child.stdin.close()
    try:
        child.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    if child.stdout:
        child.stdout.close()


def _environment() -> dict[str, str]:
    ours = os.environ  # noqa: TID251 - what the child keeps of it is no setting
    return {name: ours[name] for name in _KEPT_VARIABLES if name in ours}


def _check_processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> None:
    """Refuse a processor on which the library would abort, where the system tells.

    Raises:
        ModelError: it has no AVX2.
    """
    if platform.machine().lower() not in {"x86_64", "amd64"} or not cpuinfo.exists():
        return
    flags = next((row for row in cpuinfo.read_text().splitlines() if row.startswith("flags")), "")
    if flags and _NEEDED not in flags.split():
        raise ModelError(
            "this processor has no AVX2, which the embedded model needs: "
            "set PAPER_QA_LLM=extractive, or PAPER_QA_LLM_BASE_URL to a server"
        )

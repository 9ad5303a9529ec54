"""The program of the child process that runs llama.cpp: one model behind HTTP on loopback.

    python -m paper_qa.llm.llama_child < options.json

It reads one line of JSON, the options; it prints one, the port; then it serves until its standard
input ends, which the system sees to whatever becomes of the parent. llama.cpp runs here and not in
the parent, since where it aborts (out of memory, an instruction that the processor lacks) the
whole process goes.
"""

import json
import os
import select
import sys
import threading
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

if sys.platform == "linux":
    import fcntl

BATCH = 512  # prompt tokens read at once
IDLE_SLOTS_MIB = 256  # of prompts read before, kept beside the one that is in use


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What the child is told: file, key, and limits in tokens, threads and seconds."""

    model: str
    alias: str
    api_key: str
    context_length: int
    max_tokens: int
    num_threads: int
    idle_s: int = -1  # after so much silence the model leaves the memory; below zero: never

    def to_json(self) -> str:
        """Return one line."""
        return json.dumps(asdict(self))


def main() -> None:
    """Serve until standard input ends."""
    options = ServerOptions(**json.loads(sys.stdin.readline()))
    _leave_with_parent()
    server = _start(options)
    port = server.listening_address.rsplit(":", 1)[-1].strip("/")
    sys.stdout.write(f"{json.dumps({'port': int(port)})}\n")
    sys.stdout.flush()
    threading.Event().wait()


def _start(options: ServerOptions) -> Any:
    # Only now, when the parent is watched: it takes a while. It comes without types.
    xllamacpp: Any = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = options.model
    params.model_alias = {options.alias}
    params.api_keys = [options.api_key]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.cors_origins = "localhost"
    params.ui = False
    params.endpoint_slots = False
    params.offline = True
    params.n_parallel = 1  # a second slot would halve the context, and two cores have no more speed
    params.n_ctx = options.context_length
    params.n_predict = options.max_tokens
    params.n_batch = params.n_ubatch = BATCH
    params.cache_ram_mib = IDLE_SLOTS_MIB
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.num_threads
    params.n_gpu_layers = 0
    params.sleep_idle_seconds = options.idle_s
    params.verbosity = 2  # warnings and errors
    return xllamacpp.Server(params)


def _leave_with_parent() -> None:
    """End at once when standard input does, in whatever native code the main thread is."""
    threading.Thread(target=_wait_for_the_end, daemon=True).start()
    if sys.platform == "linux":
        # While a model loads, xllamacpp lets no other thread of Python run, so the kernel
        # watches too: this signal, which comes when the pipe is closed, ends a process.
        fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
        if select.select([0], [], [], 0)[0]:
            os._exit(0)  # it was closed before


def _wait_for_the_end() -> None:
    while sys.stdin.read(4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()

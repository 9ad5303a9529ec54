"""A real Chroma server on loopback, as ``chroma run`` starts it."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paper_qa.vectors import ChromaServerError, VectorIndex


@contextmanager
def running_chroma(folder: Path) -> Iterator[str]:
    """Start a server that keeps its data in ``folder``, and give its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [Path(sys.executable).parent / "chroma", "run", "--path", folder]
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
    )
    try:
        yield _answering(f"http://127.0.0.1:{port}")
    finally:
        process.kill()
        process.wait()


def _answering(url: str) -> str:
    for _ in range(600):
        try:
            VectorIndex.connect(url, "probe").close()
        except ChromaServerError:
            time.sleep(0.1)
        else:
            break
    return url

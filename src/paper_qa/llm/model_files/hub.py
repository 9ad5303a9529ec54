"""A model file from the Hugging Face hub, or a mirror of it that ``HF_ENDPOINT`` names.

``hf_hub_download`` begins anew after a kill, so the hub's client is used a level below.
"""

import threading
from collections.abc import Callable, Generator
from typing import Any

from huggingface_hub import (
    get_hf_file_metadata,  # pyright: ignore[reportUnknownVariableType]
    get_session,
    hf_hub_url,
)
from huggingface_hub.errors import HfHubHTTPError

from paper_qa.llm.model_files.manifest import HubFile
from paper_qa.llm.model_files.source import BrokenOffError, SourceError, Tell

# Instead of the client's own, which describes this machine.
_HEADERS = {"user-agent": "paper-qa", "accept-encoding": "identity"}


class HubSource:
    """A file on the hub; no token is ever sent to it."""

    name = "the hub"
    whole_pieces = False

    def __init__(self, file: HubFile, num_bytes: int, patience_s: float) -> None:
        self._file = file
        self._num_bytes = num_bytes
        self._patience_s = patience_s

    def blocks(self, start: int, tell: Tell) -> Generator[bytes]:  # noqa: ARG002 - as all do
        """Yield the bytes of the file from ``start`` on.

        Raises:
            SourceError: the hub can't be reached, or has another file.
        """
        response = _within(self._patience_s, lambda: self._open(start))
        try:
            skipped = start if response.status_code == 200 else 0  # it does not know ranges
            for block in response.iter_raw():
                yield block[skipped:]
                skipped = max(0, skipped - len(block))
        except Exception as error:  # its client is httpx or httpx2, by its version
            raise BrokenOffError(f"broke off ({_reason(error)})") from error
        finally:
            response.close()

    def _open(self, start: int) -> Any:
        url = hf_hub_url(self._file.repo, self._file.file, revision=self._file.revision)
        found = get_hf_file_metadata(url, token=False, timeout=self._patience_s, headers=_HEADERS)
        if found.size not in (None, self._num_bytes):
            raise SourceError(f"has another file of this name, of {found.size:,} bytes")
        client = get_session()
        request = client.build_request(
            "GET",
            found.location,
            headers={**_HEADERS, "range": f"bytes={start}-"},
            timeout=self._patience_s,
        )
        response = client.send(request, stream=True)
        if response.status_code not in (200, 206):
            response.close()
            raise SourceError(f"answered {response.status_code}")
        return response


def _within(seconds: float, work: Callable[[], Any]) -> Any:
    """Return what ``work`` returns; looking up a name can take minutes, and knows no time-out."""
    results: list[Any] = []
    failures: list[Exception] = []

    def run() -> None:
        try:
            results.append(work())
        except Exception as error:  # noqa: BLE001 - told to the thread that waits
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if results:
        return results[0]
    if not failures:
        raise SourceError(f"did not answer in {seconds:g} s")
    if isinstance(failures[0], SourceError):
        raise failures[0]
    if isinstance(failures[0], HfHubHTTPError):
        raise SourceError(f"answered {failures[0].response.status_code}") from failures[0]
    raise SourceError(f"can't be reached ({_reason(failures[0])})") from failures[0]


def _reason(error: Exception) -> str:
    """Return the first line of what the client says, which goes on with addresses and advice."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0].rstrip(".:")[:120]

"""Nearest passages by Chroma: one collection, in a directory of ours or on a Chroma server.

All that this program knows of Chroma is here. Chroma never embeds: it is given vectors, and
every collection is opened with ``embedding_function=None``, or it would download a model.
"""

import functools
import json
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import chromadb
import httpx
import numpy as np
from chromadb.api.client import Client
from chromadb.api.collection_configuration import CreateHNSWConfiguration
from chromadb.api.models.Collection import Collection
from chromadb.config import Settings
from chromadb.errors import ChromaError
from numpy.typing import NDArray

from paper_qa.domain import Passage
from paper_qa.errors import LibraryError

COLLECTION = "passages"
BATCH = 2000  # Chroma refuses more than 5461 at once
PAGE = 5000
SPARE = 16  # more than asked for, to see whether there is a tie at the end
CONNECT_S = 5.0
# Chroma writes its files after so many additions, and leaves the rest in its log, for whoever opens
# the collection next to apply and write. Nobody but the maker shall write, so all is written at
# once. (That is bad for a collection that grows by single records: ours grow by thousands.)
SYNC = 1

Vector = NDArray[np.float32]


class DamagedIndexError(LibraryError):
    """The index is not what was built; it is to be made again from the library."""

    def __init__(self, where: Path | str, reason: str) -> None:
        super().__init__(
            f"the search index {str(where)!r} is damaged ({reason}): run `paper-qa index --rebuild`"
        )
        self.reason = reason


class ChromaServerError(LibraryError):
    """The Chroma server can't be reached, or does not answer as one."""


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A passage as the index holds it."""

    passage: Passage
    text: str
    vector: Vector


class VectorIndex:
    """An open collection. Not for several threads at once; close it when done.

    Raises:
        DamagedIndexError: from all methods, when it is in a directory and Chroma fails.
        ChromaServerError: from all methods, when it is on a server and that fails.
    """

    def __init__(self, open_client: Callable[[], Client], name: str, address: str) -> None:
        self._address = address
        self._name = name
        with self._explained():
            self._client = open_client()
        self._collection: Collection | None = None

    @classmethod
    def create(cls, directory: Path) -> "VectorIndex":
        """Make an empty index in a new directory."""
        directory.mkdir(parents=True)
        index = cls(lambda: _embedded_client(directory), COLLECTION, str(directory))
        index._create({**_HNSW, "sync_threshold": SYNC})
        return index

    @classmethod
    def open(cls, directory: Path) -> "VectorIndex":
        """Open the index in a directory."""
        if not directory.is_dir():  # Chroma would make an empty one
            raise DamagedIndexError(directory, "it is missing")
        index = cls(lambda: _embedded_client(directory), COLLECTION, str(directory))
        try:
            index._get()
        except BaseException:
            index.close()
            raise
        return index

    @classmethod
    def connect(cls, url: str, name: str) -> "VectorIndex":
        """Open a collection on a Chroma server, made if there is none."""
        index = cls(lambda: _server_client(url), name, url)
        index._create(_HNSW)
        return index

    def count(self) -> int:
        """Return how many passages the collection says it has."""
        with self._explained():
            return self._get().count()

    def ids(self) -> set[str]:
        """Return the ids of all passages in the collection."""
        found: set[str] = set()
        with self._explained():
            while True:
                page = self._get().get(include=[], limit=PAGE, offset=len(found))["ids"]
                found.update(page)
                if len(page) < PAGE:
                    return found

    def search(self, vector: Vector, k: int) -> list[tuple[str, float]]:
        """Return up to ``k`` passage ids and their cosines, best first, ties by id."""
        wanted = k + SPARE
        hits = self._nearest(vector, wanted)
        # Which of those with the last score come in must not depend on how the graph grew.
        while len(hits) == wanted and hits[-1][1] == hits[k - 1][1]:
            wanted *= 2
            hits = self._nearest(vector, wanted)
        return hits[:k]

    def _nearest(self, vector: Vector, k: int) -> list[tuple[str, float]]:
        with self._explained():
            result = self._get().query(
                query_embeddings=vector[np.newaxis], n_results=k, include=["distances"]
            )
        distances = (result["distances"] or [[]])[0]
        hits = [
            (passage_id, round(1.0 - distance, 6))
            for passage_id, distance in zip(result["ids"][0], distances, strict=True)
        ]
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))

    def finds(self, vector: Vector) -> bool:
        """Tell whether a vector that is in the collection is found in it."""
        if not vector.any():  # the text had no words that the model knows: it is near to nothing
            return True
        hits = self.search(vector, 1)
        return bool(hits) and hits[0][1] > 0.999

    def add(self, entries: Sequence[Entry]) -> None:
        """Add up to 2,000 passages."""
        if not entries:
            return
        with self._explained():
            self._get().add(
                ids=[entry.passage.id for entry in entries],
                embeddings=np.stack([entry.vector for entry in entries]),
                documents=[entry.text for entry in entries],
                metadatas=[_metadata(entry.passage) for entry in entries],
            )

    def delete(self, passage_ids: Sequence[str]) -> None:
        """Take passages out; on disk they are gone only when the index is made anew."""
        for start in range(0, len(passage_ids), BATCH):
            with self._explained():
                self._get().delete(ids=list(passage_ids[start : start + BATCH]))

    def clear(self) -> None:
        """Empty the collection, whatever the length of the vectors in it was."""
        with self._explained():
            self._client.delete_collection(self._name)
        self._create(_HNSW)

    def sample(self) -> Vector | None:
        """Return one of the vectors in the collection."""
        with self._explained():
            found = self._get().get(limit=1, include=["embeddings"])["embeddings"]
        if found is None or not len(found):
            return None
        return np.asarray(found[0], dtype=np.float32)

    def close(self) -> None:
        """Let go of the collection and its memory."""
        with suppress(LibraryError), self._explained():
            self._client.close()

    def _create(self, hnsw: CreateHNSWConfiguration) -> None:
        with self._explained():
            self._collection = self._client.get_or_create_collection(
                self._name, embedding_function=None, configuration={"hnsw": hnsw}
            )

    def _get(self) -> Collection:
        if self._collection is None:
            with self._explained():
                self._collection = self._client.get_collection(self._name, embedding_function=None)
        return self._collection

    @contextmanager
    def _explained(self) -> Generator[None]:
        """Turn what Chroma raises into one of our two errors."""
        try:
            yield
        except BaseException as error:
            if not _is_chromas(error):
                raise
            raise _translated(error, self._address) from error


_HNSW: CreateHNSWConfiguration = {
    "space": "cosine",
    "ef_construction": 200,
    # The graph differs from build to build, and what is found must not. Of 100 neighbours among
    # 65,000 passages, 16 and 400 (in 5 ms) miss 1.5, 16 and 3000 miss 0.3, these 0.05 (in 18 ms).
    "max_neighbors": 32,
    "ef_search": 3000,
    "num_threads": 1,  # the graph, and with it what is found, must not depend on the machine
}
_opening = threading.Lock()  # Chroma keeps its clients in a dictionary that it doesn't guard


def _settings() -> Settings:
    return _read_settings().model_copy()  # Chroma writes into what it is given


@functools.cache
def _read_settings() -> Settings:
    # By itself Chroma would read the .env of whatever folder we are in.
    return Settings(_env_file=None, anonymized_telemetry=False)  # pyright: ignore[reportCallIssue]


def _embedded_client(directory: Path) -> Client:
    with _opening:
        return cast("Client", chromadb.PersistentClient(directory, _settings()))


def _server_client(url: str) -> Client:
    # Chroma's own requests wait for ever.
    httpx.get(f"{url.rstrip('/')}/api/v2/heartbeat", timeout=CONNECT_S).raise_for_status()
    with _opening:
        client = chromadb.HttpClient(
            host=url.rstrip("/"), ssl=url.startswith("https:"), settings=_settings()
        )
    return cast("Client", client)


def _metadata(passage: Passage) -> dict[str, str | int]:
    """Return what a collection says of a passage; the last entry is how LlamaIndex reads it."""
    metadata: dict[str, str | int] = {
        "paper_id": passage.paper_id,
        "start": passage.start,
        "end": passage.end,
    }
    node = {"id_": passage.id, "metadata": metadata, "class_name": "TextNode"}
    return {**metadata, "_node_content": json.dumps(node)}


def _is_chromas(error: BaseException) -> bool:
    known = (ChromaError, httpx.HTTPError, httpx.InvalidURL, ValueError, RuntimeError, OSError)
    # A Rust panic is no Exception, and its class can't be imported.
    return isinstance(error, known) or type(error).__name__ == "PanicException"


def _translated(error: BaseException, address: str) -> LibraryError:
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    if not address.startswith(("http://", "https://")):
        return DamagedIndexError(address, reason)
    parts = urlsplit(address)
    shown = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    return ChromaServerError(
        f"the Chroma server {shown!r} can't be used ({reason}): "
        "start it, or correct or unset PAPER_QA_CHROMA_URL"
    )

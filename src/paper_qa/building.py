"""Makes the next state of the index out of the library, and publishes it there.

In a directory of its own, made from the present one, or anew; or in place, on a Chroma server.
Whoever calls holds the write lock.
"""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

from paper_qa.domain import Passage
from paper_qa.filling import Progress, batched, texts_of
from paper_qa.index_files import (
    FOLDER,
    check_directory,
    copy_directory,
    flush_directory,
    new_directory,
    remove_directories,
    remove_directory,
    unwritten,
)
from paper_qa.library import Library
from paper_qa.passages import IndexState
from paper_qa.vectors import BATCH, DamagedIndexError, Entry, VectorIndex

STAGE = "Building the index"

_logger = logging.getLogger(__name__)


class IndexBuilder:
    """Brings an index in line with what the library has vectors for."""

    def __init__(self, library: Library, model: str, chroma_url: str) -> None:
        self._library = library
        self._model = model
        self._url = chroma_url

    def build(self, progress: Progress, *, anew: bool) -> None:
        """Make and publish the next state; ``anew`` from nothing but the library.

        Raises:
            UnwrittenIndexError: the disk does not take it; all stays as it was.
            ChromaServerError: the server does not.
        """
        if self._url:
            self._build_on_server(progress, anew=anew)
            return
        state = self._library.passages.index_state()
        if state is not None and not anew and not self._is_worn(state):
            try:
                self._build_directory(state, progress)
            except DamagedIndexError as error:
                _logger.info("the search index is made anew: %s", error.reason)
            else:
                return
        try:
            self._build_directory(None, progress)
        except DamagedIndexError as error:  # just made: something keeps us from making it well
            raise unwritten(self._library.home, error.reason) from error

    def _is_worn(self, state: IndexState) -> bool:
        """Tell whether copying is no use: another model, a server, or mostly what was deleted."""
        reusable = state.model == self._model and not state.location and state.num_passages > 0
        return not reusable or state.num_deleted > state.num_passages

    def _build_directory(self, state: IndexState | None, progress: Progress) -> None:
        home = self._library.home
        directory = new_directory(home)
        try:
            if state is None:
                VectorIndex.create(directory).close()
            else:
                copy_directory(home / FOLDER / state.name, directory)
                check_directory(directory, state.files)
            num_deleted, held, dim = self._change(directory, progress)
            files = flush_directory(directory)
        except OSError as error:
            remove_directory(directory)
            raise unwritten(home, str(error.strerror)) from error
        except BaseException:
            remove_directory(directory)
            raise
        num_deleted += state.num_deleted if state else 0
        new = IndexState("", directory.name, self._model, dim, len(held), num_deleted, files)
        previous = self._library.passages.index_state()
        self._library.passages.publish(new, held)
        remove_directories(home, {new.name, previous.name if previous else ""})

    def _change(self, directory: Path, progress: Progress) -> tuple[int, set[str], int]:
        """Fill a directory that is still nobody else's, and check it."""
        index = VectorIndex.open(directory)
        try:
            num_deleted, held = self._update(index, progress)
        finally:
            index.close()
        index = VectorIndex.open(directory)
        try:
            return num_deleted, held, self._verify(index, held)
        finally:
            index.close()

    def _build_on_server(self, progress: Progress, *, anew: bool) -> None:
        state = self._library.passages.index_state()
        name = f"paper_qa-{self._library.uuid}"
        index = VectorIndex.connect(self._url, name)
        try:
            if anew or state is None or state.model != self._model:
                index.clear()
            _, held = self._update(index, progress)
            dim = self._verify(index, held)
        finally:
            index.close()
        new = IndexState(self._url, name, self._model, dim, len(held))
        self._library.passages.publish(new, held)

    def _update(self, index: VectorIndex, progress: Progress) -> tuple[int, set[str]]:
        """Delete and add what differs; return how many went and which are in now."""
        expected = self._library.passages.embedded_ids(self._model)
        present = index.ids()
        extra = sorted(present.difference(expected))
        missing = [passage_id for passage_id in expected if passage_id not in present]
        progress(STAGE, 0, len(missing))
        index.delete(extra)
        added: list[str] = []
        for batch in batched(missing, BATCH):
            entries = list(self._entries(batch))
            index.add(entries)
            added += [entry.passage.id for entry in entries]
            progress(STAGE, len(added), len(missing))
        return len(extra), present.difference(extra).union(added)

    def _entries(self, passage_ids: Sequence[str]) -> Iterator[Entry]:
        """Yield what the library still has of these passages."""
        passages = self._library.passages.passages(passage_ids)
        ordered: list[Passage] = [passages[key] for key in passage_ids if key in passages]
        texts = texts_of(self._library, ordered)
        vectors = self._library.vectors(self._model, list(texts.values()))
        for passage in ordered:
            text = texts.get(passage.id)
            if text is not None and text in vectors:
                yield Entry(passage, text, vectors[text])

    def _verify(self, index: VectorIndex, held: set[str]) -> int:
        """Compare the index with what it should hold; return the length of its vectors."""
        if index.ids() != held:
            raise DamagedIndexError(self._where(), "it lost passages while it was built")
        vector = index.sample()
        if vector is None:
            return 0
        if not index.finds(vector):
            raise DamagedIndexError(self._where(), "it does not find what is in it")
        return len(vector)

    def _where(self) -> str:
        return self._url or str(self._library.home / FOLDER)

"""The search index: kept in line with the library, and made again from it when it is damaged.

An index is never changed where somebody may be reading it (``building.py``). Which one is the
present one stands in the library, and is looked up before every search.
"""

import logging
import threading
from collections.abc import Callable, Sequence

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding

from paper_qa.building import IndexBuilder
from paper_qa.embedding import num_tokens as count_tokens
from paper_qa.errors import LibraryError, ModelError
from paper_qa.filling import (
    CHUNKING,
    Progress,
    check_length,
    cut_passages,
    embed_passages,
    embed_texts,
    silent,
)
from paper_qa.index_files import FOLDER, check_directory
from paper_qa.library import Library
from paper_qa.locks import HomeLock
from paper_qa.passages import IndexState
from paper_qa.vectors import ChromaServerError, DamagedIndexError, Vector, VectorIndex

SELF_FINISH = 2500  # papers that a search makes good on its own; more are left to `paper-qa index`
SMALL = 5000  # passages; a smaller index is copied in no time
MAX_DEAD = 200  # removed passages that a larger one may hold before it is copied without them
ATTEMPTS = 4

_FINISHABLE = range(1, SELF_FINISH + 1)

Hits = list[tuple[str, float]]
Moment = tuple[int, IndexState | None]
"""A generation of the library and the index that was the present one then."""

_logger = logging.getLogger(__name__)


class Index:
    """What a retriever holds: the nearest passages of a library, by one embedding model.

    Safe for several threads; other processes may change the library and the index meanwhile.
    """

    def __init__(
        self,
        library: Library,
        embed_model: BaseEmbedding,
        *,
        chroma_url: str = "",
        num_tokens: Callable[[str], int] = count_tokens,
    ) -> None:
        self._library = library
        self._embed_model = embed_model
        self._model = embed_model.model_name
        self._url = chroma_url
        self._num_tokens = num_tokens
        self._builder = IndexBuilder(library, self._model, chroma_url)
        self._writing = HomeLock(library.home, ".lock", "writing the search index")
        self._filling = HomeLock(library.home, ".embedding.lock", "embedding papers")
        self._lock = threading.RLock()
        self._open: VectorIndex | None = None
        self._state: IndexState | None = None  # of the one that is open
        self._num_dead = (-1, 0)  # passages of it that the library lacks, at a generation
        self._pending: tuple[Moment, int] | None = None
        self._given_up_at: Moment | None = None

    def refresh(
        self,
        progress: Progress = silent,
        *,
        paper_ids: Sequence[str] | None = None,
        rebuild: bool = False,
    ) -> None:
        """Embed and index what is missing; cheap when nothing is.

        Args:
            progress: told what is going on.
            paper_ids: embed no others; for those who have just added these, and shall not wait
                until another process has embedded thousands.
            rebuild: make the index anew, with the present model if it was another before.

        Raises:
            LibraryError: it was made with another model, or can't be written.
            ModelError: the embedding model failed; what it has done so far is kept.
        """
        if rebuild:
            dim = len(embed_texts(self._embed_model, ["length"])[0])
            self._library.forget_other_lengths(self._model, dim)
        else:
            dim = self._checked_dim()
        with self._filling.held(progress) if paper_ids is None else self._filling.tried():
            self._fill(progress, paper_ids, dim)
        self._bring_in_line(progress, anew=rebuild)
        if rebuild:
            self._library.forget_other_models(self._model)

    def prepare(self, progress: Progress = silent) -> None:
        """Make the index ready for a search; cheap when it is.

        What a killed process has left undone is finished here, if it is not much and nobody
        else is at it; a damaged index is made again.
        """
        if self._num_left() in _FINISHABLE:
            try:
                self._finish(progress)
            except (LibraryError, ModelError) as error:
                if self._library.passages.index_state() is None:
                    raise
                # A question can be answered from what is indexed; the caller sees num_pending().
                _logger.warning("some papers can't be searched yet: %s", error)
                self._given_up_at = self._moment()
        self._use(lambda _index, _num_dead: [], progress)

    def search(self, vector: Vector, k: int) -> Hits:
        """Return up to ``k`` ids of passages and their cosines, best first, ties by id.

        Raises:
            LibraryError: the index was made with another model, or can't be made again.
        """
        self.prepare()
        check_length(self._model, len(vector), self._checked_dim())
        hits = self._use(lambda index, num_dead: index.search(vector, k + num_dead), silent)
        return self._scored(vector, [passage_id for passage_id, _ in hits])[:k]

    def search_within(self, vector: Vector, paper_ids: Sequence[str], k: int) -> Hits:
        """Return up to ``k`` passages of these papers, as ``search`` does, all of them compared.

        Raises:
            LibraryError: the index was made with another model, or can't be made again.
        """
        self.prepare()
        check_length(self._model, len(vector), self._checked_dim())
        ids = self._library.passages.ids_of(paper_ids)
        parts = [ids[start : start + SMALL] for start in range(0, len(ids), SMALL)]
        hits = [hit for part in parts for hit in self._scored(vector, part)]
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:k]

    def check_model(self) -> None:
        """Compare the embedding model with the one that the library was indexed with.

        Raises:
            LibraryError: it is another one; the message says what to run.
        """
        self._check_model(self._library.passages.index_state())

    def num_pending(self) -> int:
        """Count the papers that are not in the index, whole or in part."""
        passages = self._library.passages
        if self._is_elsewhere(passages.index_state()):
            return passages.num_with_abstract()
        return passages.num_pending(CHUNKING)

    def close(self) -> None:
        """Let go of the index; the library stays open."""
        with self._lock:
            self._drop()

    def _scored(self, vector: Vector, passage_ids: Sequence[str]) -> Hits:
        """Return those that the library still has, with their cosines computed anew.

        Chroma's last digits depend on where it keeps a vector, and ours decide between passages.
        """
        vectors = self._library.passages.vectors(self._model, passage_ids)
        if not vectors:
            return []
        query = vector.astype(np.float64) / (np.linalg.norm(vector) or 1.0)
        # Not by matrix product, whose order of adding depends on the machine's cores.
        cosines = (np.stack(list(vectors.values())) * query).sum(axis=1).round(6)
        hits = zip(vectors, cosines.tolist(), strict=True)
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))

    def _num_left(self) -> int:
        """Return how many are pending, counted again only when that may have changed."""
        moment = self._moment()
        if self._pending is None or self._pending[0] != moment or self._pending[1] in _FINISHABLE:
            self._pending = (moment, self.num_pending())
        return self._pending[1]

    def _finish(self, progress: Progress) -> None:
        with self._filling.tried() as is_ours:
            if is_ours and self._num_left() and self._given_up_at != self._moment():
                self._fill(progress, None, self._checked_dim())
                self._bring_in_line(progress, anew=False)

    def _moment(self) -> Moment:
        return self._library.generation, self._library.passages.index_state()

    def _fill(self, progress: Progress, paper_ids: Sequence[str] | None, dim: int) -> None:
        cut_passages(self._library, self._num_tokens, paper_ids, progress)
        embed_passages(self._library, self._embed_model, paper_ids, dim, progress)

    def _bring_in_line(self, progress: Progress, *, anew: bool) -> None:
        if anew or self._is_behind():
            with self._writing.held(progress):
                if anew or self._is_behind():  # another process may have done it meanwhile
                    self._builder.build(progress, anew=anew)
        self._use(lambda _index, _num_dead: [], progress)

    def _is_behind(self) -> bool:
        """Tell whether the library has vectors that the index lacks, or the other way round."""
        state = self._library.passages.index_state()
        self._check_model(state)
        if state is None or self._is_elsewhere(state):
            return True
        if self._library.passages.can_add(self._model):
            return True
        num_dead = state.num_passages - self._library.passages.num_indexed()
        return num_dead > (0 if state.num_passages <= SMALL else MAX_DEAD)

    def _use(self, action: Callable[[VectorIndex, int], Hits], progress: Progress) -> Hits:
        """Do something with the present index, opened or made again as need be."""
        for attempt in range(1, ATTEMPTS + 1):
            with self._lock:
                try:
                    index = self._current()
                    return action(index, self._count_dead()) if index else []
                except (DamagedIndexError, ChromaServerError) as error:
                    failure, state = error, self._state
                    self._drop()
            # Not under the lock: other threads shall not wait for a repair to fail.
            if self._library.passages.index_state() == state:
                if attempt == ATTEMPTS or isinstance(failure, ChromaServerError):
                    raise failure
                self._repair(state, progress)
        return []

    def _repair(self, state: IndexState | None, progress: Progress) -> None:
        with self._writing.held(progress):
            if self._library.passages.index_state() == state:
                self._builder.build(progress, anew=not self._url)

    def _current(self) -> VectorIndex | None:
        """Return the present index, opened; none if nothing has been indexed."""
        state = self._library.passages.index_state()
        self._check_model(state)
        if self._open is None or state != self._state:
            self._drop()
            self._state = state
            if state is None or self._is_elsewhere(state) or not state.num_passages:
                return None
            self._open = self._opened(state)
        return self._open

    def _opened(self, state: IndexState) -> VectorIndex:
        if state.location:
            index = VectorIndex.connect(state.location, state.name)
        else:
            directory = self._library.home / FOLDER / state.name
            check_directory(directory, state.files)
            index = VectorIndex.open(directory)
        try:
            _check(index, state)
        except BaseException:
            index.close()
            raise
        return index

    def _count_dead(self) -> int:
        """Return how many passages of the open index the library has no more."""
        generation = self._library.generation
        if self._num_dead[0] != generation and self._state is not None:
            num_alive = self._library.passages.num_indexed()
            self._num_dead = (generation, max(0, self._state.num_passages - num_alive))
        return self._num_dead[1]

    def _drop(self) -> None:
        if self._open is not None:
            self._open.close()
        self._open = self._state = None
        self._num_dead = (-1, 0)

    def _is_elsewhere(self, state: IndexState | None) -> bool:
        return state is None or state.location != self._url or state.model != self._model

    def _checked_dim(self) -> int:
        """Return how long the vectors of the index are, 0 if there is none."""
        state = self._library.passages.index_state()
        self._check_model(state)
        return state.dim if state else 0

    def _check_model(self, state: IndexState | None) -> None:
        if state is not None and state.model != self._model:
            raise LibraryError(
                f"the library {str(self._library.home)!r} was indexed with the embedding model "
                f"{state.model!r}, not {self._model!r}: set that one again, "
                "or run `paper-qa index --rebuild` to embed all papers with the present one"
            )


def _check(index: VectorIndex, state: IndexState) -> None:
    if index.count() != state.num_passages:
        raise DamagedIndexError(state.name, "it lacks passages")
    vector = index.sample()
    if vector is None or not index.finds(vector):
        raise DamagedIndexError(state.name, "it does not find what is in it")

"""What an index is made of: the passages of the papers, and their vectors.

Both are kept in the library batch by batch, so that an interrupted run goes on where it was.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding

from paper_qa.chunking import MAX_TOKENS, chunk_paper, passage_text
from paper_qa.domain import Passage
from paper_qa.embedding import ArrayEmbedding, OnnxEmbedding
from paper_qa.errors import LibraryError, ModelError
from paper_qa.late_interaction import read_texts, word_model_name
from paper_qa.library import Library
from paper_qa.vector_cache import Vector

Progress = Callable[[str, int, int], None]
"""Told what is being done, how far it is, and how far it has to go (0 where nobody knows)."""

CHUNKING = f"1:{MAX_TOKENS}"  # raise the first number when chunk_paper cuts differently
PAPERS = 200
PASSAGES = 32


def silent(_stage: str, _done: int, _total: int) -> None:
    """Be told, and say nothing."""


def cut_passages(
    library: Library,
    num_tokens: Callable[[str], int],
    paper_ids: Sequence[str] | None,
    progress: Progress,
) -> None:
    """Cut those papers into passages that are not yet."""
    total = library.passages.num_not_chunked(CHUNKING, paper_ids)
    done = 0
    while ids := library.passages.not_chunked(CHUNKING, paper_ids, PAPERS):
        progress("Reading papers", done, total)
        items = {
            paper.id: [
                (passage, passage_text(paper, passage))
                for passage in chunk_paper(paper, num_tokens)
            ]
            for paper in library.papers(ids)
        }
        library.passages.store(CHUNKING, items)
        done += len(ids)


def embed_passages(
    library: Library,
    embed_model: BaseEmbedding,
    paper_ids: Sequence[str] | None,
    dim: int,
    progress: Progress,
) -> None:
    """Embed those passages that have no vector of this model yet.

    Vectors are to be ``dim`` numbers long, 0 for any length.

    Raises:
        ModelError: the model failed; what it has embedded before is kept.
        LibraryError: its vectors are not as long as those in the index.
    """
    model = embed_model.model_name
    total = library.passages.num_not_embedded(model, paper_ids)
    done, after = 0, 0
    while rows := library.passages.not_embedded(model, paper_ids, after, PASSAGES):
        progress("Embedding", done, max(total, done))
        texts = list(texts_of(library, [passage for _, passage in rows]).values())
        if texts:
            vectors = _read(library, embed_model, texts)
            check_length(model, len(vectors[0]), dim)
            library.store_vectors(model, dict(zip(texts, vectors, strict=True)))
        done += len(rows)
        after = rows[-1][0]


def _read(library: Library, embed_model: BaseEmbedding, texts: Sequence[str]) -> list[Vector]:
    """Embed texts; where it is the built-in model that does, their words come with the same run."""
    if not isinstance(embed_model, OnnxEmbedding):
        return embed_texts(embed_model, texts)
    read = read_texts(texts, embed_model.num_threads)
    words = {text: words.packed() for text, (_, words) in zip(texts, read, strict=True)}
    library.store_word_vectors(word_model_name(), words)
    return [vector for vector, _ in read]


def texts_of(library: Library, passages: Sequence[Passage]) -> dict[str, str]:
    """Return the texts to embed by passage id, without those whose papers have just gone."""
    papers = {paper.id: paper for paper in library.papers([p.paper_id for p in passages])}
    return {
        passage.id: passage_text(papers[passage.paper_id], passage)
        for passage in passages
        if passage.paper_id in papers
    }


def embed_texts(embed_model: BaseEmbedding, texts: Sequence[str]) -> list[Vector]:
    """Return a vector of length 1 for each text."""
    if isinstance(embed_model, ArrayEmbedding):
        found = embed_model.embed(texts)
    else:
        rows = embed_model.get_text_embedding_batch(list(texts))
        if len(rows) != len(texts) or len({len(row) for row in rows}) > 1:
            raise _unusable(embed_model, "not one vector of the same length for each text")
        found = np.asarray(rows, dtype=np.float32)
    if not np.isfinite(found).all():
        raise _unusable(embed_model, "a vector that is not finite")
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    return list((found / np.where(lengths == 0, 1, lengths)).astype(np.float32))


def check_length(model: str, dim: int, expected: int) -> None:
    """Compare the length of a vector with that of those in the index, 0 if there are none.

    Raises:
        LibraryError: the model has changed under its name.
    """
    if expected not in (0, dim):
        raise LibraryError(
            f"the library was indexed with vectors of {expected} numbers, and the embedding "
            f"model {model!r} returns {dim}: run `paper-qa index --rebuild`"
        )


def batched(ids: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    """Cut a list into batches."""
    for start in range(0, len(ids), size):
        yield ids[start : start + size]


def _unusable(embed_model: BaseEmbedding, what: str) -> ModelError:
    return ModelError(
        f"the embedding model {embed_model.model_name!r} returned {what}: choose another model"
    )

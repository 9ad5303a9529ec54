"""How fast papers are added, against the bare embedding model, and in how much memory.

    python benchmarks/adding.py papers.jsonl.gz --papers 1500
    python benchmarks/adding.py papers.jsonl.gz --papers 50000 --embedder random

Texts go through the bare model and through the library in turn, a few hundred papers at a time,
so that whatever else the machine does falls on both. ``--embedder random`` makes vectors up in no
time: for the memory and speed of everything else at full size.
"""

import argparse
import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from paper_qa.chunking import chunk_paper, passage_text
from paper_qa.corpus import read_papers
from paper_qa.domain import Paper
from paper_qa.embedding import ArrayEmbedding, OnnxEmbedding, num_tokens
from paper_qa.filling import cut_passages, embed_passages, silent
from paper_qa.indexing import Index
from paper_qa.library import Library

STEP = 250  # papers


class RandomEmbedding(ArrayEmbedding):
    """A vector that depends on nothing but the text, and means nothing."""

    model_name: str = "random"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text."""
        rows = np.empty((len(texts), 384), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            seed = int.from_bytes(sha256(text.encode()).digest()[:8], "big")
            row[:] = np.random.default_rng(seed).standard_normal(384)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@dataclass
class Clock:
    """Seconds on the wall and seconds of this process on all cores."""

    wall: float = 0.0
    cpu: float = 0.0
    laps: list[float] = field(default_factory=list[float])

    def time(self, work: Callable[[], object]) -> None:
        """Do the work, and add what it took."""
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        self.laps.append(time.perf_counter() - wall)
        self.wall += self.laps[-1]
        self.cpu += time.process_time() - cpu


def main() -> None:
    """Run, and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="JSON Lines of papers, plain or gzipped")
    parser.add_argument("--papers", type=int, default=1500)
    parser.add_argument("--embedder", choices=["builtin", "random"], default="builtin")
    options = parser.parse_args()
    model = OnnxEmbedding() if options.embedder == "builtin" else RandomEmbedding()
    papers = list(islice(read_papers(options.file), options.papers))
    model.embed(["load it"])
    print(f"read; {_peak():.0f} MB at most so far", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        figures = _run(Path(folder), papers, model)
    json.dump(figures, sys.stdout, indent=1)
    print()


def _run(home: Path, papers: list[Paper], model: ArrayEmbedding) -> dict[str, object]:
    library = Library(home)
    index = Index(library, model)
    bare, storing, embedding, building = Clock(), Clock(), Clock(), Clock()
    num_texts = 0
    for start in range(0, len(papers), STEP):
        batch = papers[start : start + STEP]
        texts = [passage_text(p, passage) for p in batch for passage in chunk_paper(p, num_tokens)]
        num_texts += len(texts)
        ids = [paper.id for paper in batch]
        bare.time(lambda texts=texts: model.embed(texts))
        storing.time(lambda batch=batch: library.add(batch))
        embedding.time(lambda ids=ids: _embed(library, model, ids))
    building.time(index.refresh)
    wall = storing.wall + embedding.wall + building.wall
    cpu = storing.cpu + embedding.cpu + building.cpu
    figures: dict[str, object] = {
        "papers": len(papers),
        "passages": num_texts,
        "bare_per_s": round(num_texts / bare.wall, 1),
        "added_per_s": round(num_texts / wall, 1),
        "rate_against_bare": round(bare.wall / wall, 3),
        "rate_against_bare_by_cpu": round(bare.cpu / cpu, 3),
        "storing_s": round(storing.wall, 1),
        "embedding_s": round(embedding.wall, 1),
        "building_s": round(building.wall, 1),
        "peak_mb": round(_peak()),
        **_search(library, index, model, papers),
        "library_mb": _size(home / "library.sqlite"),
        "index_mb": _size(home / "index"),
    }
    index.close()
    library.close()
    return figures


def _embed(library: Library, model: ArrayEmbedding, ids: Sequence[str]) -> None:
    cut_passages(library, num_tokens, ids, silent)
    embed_passages(library, model, ids, 0, silent)


def _search(
    library: Library, index: Index, model: ArrayEmbedding, papers: Sequence[Paper]
) -> dict[str, object]:
    """Time searches, the first one after reopening apart, and adding one paper more."""
    index.close()
    queries = [paper.title for paper in papers[:: max(1, len(papers) // 200)]]
    vectors = model.embed(queries)
    opening, dense, keyword, one_more = Clock(), Clock(), Clock(), Clock()
    opening.time(lambda: index.search(vectors[0], 100))
    for query, vector in zip(queries, vectors, strict=True):
        dense.time(lambda vector=vector: index.search(vector, 100))
        keyword.time(lambda query=query: library.keyword_search(query, 100))
    library.add([Paper("one more", "A paper", "That was added when all others were there.")])
    one_more.time(lambda: index.refresh(paper_ids=["one more"]))
    return {
        "opening_ms": round(opening.wall * 1e3),
        "dense_p50_ms": round(statistics.median(dense.laps) * 1e3, 2),
        "keyword_p50_ms": round(statistics.median(keyword.laps) * 1e3, 2),
        "keyword_p95_ms": round(sorted(keyword.laps)[int(0.95 * len(keyword.laps))] * 1e3, 2),
        "one_more_ms": round(one_more.wall * 1e3),
    }


def _size(path: Path) -> int:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return round(sum(file.stat().st_size for file in files) / 1e6)


def _peak() -> float:
    """Return the most memory that this process has had, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)


if __name__ == "__main__":
    main()

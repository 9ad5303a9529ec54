"""Kill ``add`` at random moments: is the library whole, is the next question answered?

    python benchmarks/kill.py papers.jsonl.gz
    python benchmarks/kill.py papers.jsonl.gz --papers 300 --embedder builtin

Each kill hits a process that adds papers to a fresh copy of the library of the seeds, somewhere
between its first paper and its end. Then a process asks a question about a seed, and the library
file and the index are checked. The hashed embedder takes no time, so that the kills fall on
storing and indexing as often as on embedding.
"""

import argparse
import json
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray

from paper_qa import PaperQA
from paper_qa.corpus import read_papers, write_papers
from paper_qa.embedding import ArrayEmbedding, OnnxEmbedding
from paper_qa.filling import CHUNKING
from paper_qa.library import Library
from paper_qa.vectors import VectorIndex

QUESTION, ANSWER = "How does Momentor get its training data?", "qian24a"


class HashedEmbedding(ArrayEmbedding):
    """A bag of hashed words."""

    model_name: str = "hashed"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text."""
        rows = np.zeros((len(texts), 384), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                digest = blake2b(word.encode(), digest_size=8).digest()
                row[int.from_bytes(digest[:4], "big") % 384] += 1 if digest[4] % 2 else -1
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def main() -> None:
    """Run, and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="JSON Lines of papers, plain or gzipped")
    parser.add_argument("--papers", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--embedder", choices=["builtin", "hashed"], default="hashed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--child", choices=["add", "ask"], help=argparse.SUPPRESS)
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        _work(options)
    else:
        json.dump(_run(options), sys.stdout, indent=1)
        print()


def _work(options: argparse.Namespace) -> None:
    """Be the process that adds, or the one that asks."""
    model = OnnxEmbedding() if options.embedder == "builtin" else HashedEmbedding()
    with closing(PaperQA(home=options.home, embed_model=model)) as qa:
        if options.child == "add":
            papers = list(islice(read_papers(options.file), options.papers))
            print("started", flush=True)
            qa.add(papers, progress=lambda stage, *_: print(stage, flush=True))
        else:
            answer = qa.ask(QUESTION)
            print(json.dumps([reference.paper_id for reference in answer.references]))


def _run(options: argparse.Namespace) -> dict[str, object]:
    own = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        cut = Path(folder) / "papers.jsonl"  # reading all 50,000 for 2,000 takes longer than adding
        expected = _cut(options.file, options.papers, cut)
        options.file = cut
        base = Path(folder) / "base"
        seeds = _ask(options, base)[1]
        whole = Path(folder) / "whole"
        shutil.copytree(base, whole)
        duration = _add(options, whole, None)[0]
        print(f"a whole run takes {duration:.1f} s", file=sys.stderr)
        rows: list[dict[str, object]] = []
        for kill in range(options.kills):
            home = Path(folder) / f"kill {kill}"
            shutil.copytree(base, home)
            moment = own.uniform(0, duration)
            _, stage = _add(options, home, moment)
            row: dict[str, object] = {"killed_at_s": round(moment, 2), "while": stage}
            row["before"] = _num_stored(home)
            asked = time.perf_counter()
            row["cited"], papers = _ask(options, home)
            row["question_s"] = round(time.perf_counter() - asked, 1)
            row["after"] = len(papers)
            row["whole"] = papers == [*seeds, *expected[: len(papers) - len(seeds)]]
            row["index_agrees"] = _agrees(home)
            print(row, file=sys.stderr)
            rows.append(row)
            shutil.rmtree(home)
    return {
        "papers": options.papers,
        "embedder": options.embedder,
        "kills": len(rows),
        "killed_while": dict(Counter(str(row["while"]) for row in rows)),
        "whole": sum(bool(row["whole"]) and row["before"] == row["after"] for row in rows),
        "index_agrees": sum(bool(row["index_agrees"]) for row in rows),
        "answered": sum(_is_answer(row["cited"], options.embedder) for row in rows),
    }


def _cut(file: Path, count: int, target: Path) -> list[str]:
    """Write the first papers to a file of their own, and return their ids."""
    papers = list(islice(read_papers(file), count))
    with target.open("w", encoding="utf-8") as stream:
        write_papers(papers, stream)
    return [paper.id for paper in papers]


def _add(options: argparse.Namespace, home: Path, moment: float | None) -> tuple[float, str]:
    """Add in another process, and kill it; return what it took and what it was doing."""
    process = subprocess.Popen(
        _command(options, "add", home), stdout=subprocess.PIPE, text=True, bufsize=1
    )
    output = cast("IO[str]", process.stdout)
    output.readline()
    began = time.perf_counter()
    if moment is not None:
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
    lines = output.read().splitlines()
    process.wait()
    last = "finished" if process.returncode == 0 else (lines[-1] if lines else "storing papers")
    return time.perf_counter() - began, last


def _ask(options: argparse.Namespace, home: Path) -> tuple[list[str], list[str]]:
    """Ask in another process; return the ids of the papers cited and of all that are there."""
    done = subprocess.run(
        _command(options, "ask", home), stdout=subprocess.PIPE, text=True, check=True
    )
    library = Library(home)
    ids = [paper.id for paper in library.papers()]
    library.close()
    return json.loads(done.stdout), ids


def _command(options: argparse.Namespace, child: str, home: Path) -> list[str]:
    return [
        *(sys.executable, __file__, str(options.file), "--papers", str(options.papers)),
        *("--embedder", options.embedder, "--child", child, "--home", str(home)),
    ]


def _is_answer(cited: object, embedder: str) -> bool:
    """Tell whether the right paper was cited; hashed words find some paper or other."""
    return ANSWER in str(cited) if embedder == "builtin" else bool(cited)


def _num_stored(home: Path) -> int:
    library = Library(home)
    count = library.num_papers()
    library.close()
    return count


def _agrees(home: Path) -> bool:
    """Check the file, and the index against it."""
    with closing(sqlite3.connect(home / "library.sqlite", isolation_level=None)) as connection:
        if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            return False
        connection.execute("INSERT INTO keywords (keywords, rank) VALUES ('integrity-check', 1)")
    library = Library(home)
    state = library.passages.index_state()
    if state is None:
        raise SystemExit("nothing was indexed")
    index = VectorIndex.open(home / "index" / state.name)
    agree = index.ids() == set(library.passages.embedded_ids(state.model))
    pending = library.passages.num_pending(CHUNKING)
    index.close()
    library.close()
    return agree and not pending


if __name__ == "__main__":
    main()

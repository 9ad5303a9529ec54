"""Three processes on one library: is every answer right, is no vector lost?

    python benchmarks/processes.py papers.jsonl.gz

One process stays open and asks, as the chat does. A second adds a paper and removes it again, a
third asks too. In the first half of the rounds they take turns, so that each must know at once
what the other did; in the second half all three go as fast as they can.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

from paper_qa.chunking import chunk_paper, passage_text
from paper_qa.corpus import read_papers, read_seeds, seeds_folder
from paper_qa.domain import Paper
from paper_qa.embedding import OnnxEmbedding, num_tokens
from paper_qa.indexing import Index
from paper_qa.library import Library
from paper_qa.vectors import VectorIndex

CONTEXT = get_context("spawn")


class Visitor:
    """What one process does to the library."""

    def __init__(self, home: Path) -> None:
        self.model = OnnxEmbedding()
        self.library = Library(home)
        self.index = Index(self.library, self.model)

    def add(self, paper: Paper) -> bool:
        """Add a paper as ``paper-qa add`` does."""
        report = self.library.add([paper])
        self.index.refresh(paper_ids=report.added)
        return report.added == (paper.id,)

    def remove(self, paper: Paper) -> bool:
        """Remove a paper as ``paper-qa remove`` does."""
        self.library.remove([paper.id])
        self.index.refresh(paper_ids=[])
        return True

    def finds(self, paper: Paper) -> bool:
        """Ask for a paper by its own words; tell whether it comes first, with cosine 1."""
        text = passage_text(paper, chunk_paper(paper, num_tokens)[0])
        hits = self.index.search(self.model.embed([text])[0], 1)
        is_first = bool(hits) and hits[0][0].startswith(f"{paper.id}:") and hits[0][1] > 0.99999
        return is_first and paper.id in dict(self.library.keyword_search(text, 10))

    def lacks(self, paper: Paper) -> bool:
        """Tell whether a paper is found by neither of the two searches."""
        text = passage_text(paper, chunk_paper(paper, num_tokens)[0])
        hits = [
            key.rpartition(":")[0] for key, _ in self.index.search(self.model.embed([text])[0], 10)
        ]
        return not any(hit.startswith(f"{paper.id}:") for hit in hits) and paper.id not in dict(
            self.library.keyword_search(text, 10)
        )

    def close(self) -> None:
        """Let go of the files."""
        self.index.close()
        self.library.close()


class Remote:
    """A visitor in a process of its own."""

    def __init__(self, home: Path) -> None:
        self._connection, theirs = CONTEXT.Pipe()
        self._process = CONTEXT.Process(target=_serve, args=(theirs, home), daemon=True)
        self._process.start()

    def begin(self, name: str, paper: Paper) -> None:
        """Have it do something."""
        self._connection.send((name, paper))

    def end(self) -> bool:
        """Wait for what it has done, and return whether that was right."""
        return bool(self._connection.recv())

    def do(self, name: str, paper: Paper) -> bool:
        """Have it do something, and wait."""
        self.begin(name, paper)
        return self.end()

    def close(self) -> None:
        """End the process."""
        self._connection.send(None)
        self._process.join()


def _serve(connection: Connection, home: Path) -> None:
    with closing(Visitor(home)) as visitor:
        while order := connection.recv():
            name, paper = order
            connection.send(getattr(visitor, name)(paper))


def main() -> None:
    """Run, and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="JSON Lines of papers, plain or gzipped")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    others = list(islice(read_papers(options.file), options.rounds))
    with tempfile.TemporaryDirectory() as folder:
        json.dump(_run(Path(folder), others, Random(options.seed)), sys.stdout, indent=1)
    print()


def _run(home: Path, others: Sequence[Paper], own: Random) -> dict[str, object]:
    began = time.perf_counter()
    with (
        closing(Visitor(home)) as chat,
        closing(Remote(home)) as shell,
        closing(Remote(home)) as notebook,
    ):
        chat.library.add(read_seeds(seeds_folder()))
        chat.index.refresh()
        seeds = chat.library.papers()
        answers: list[bool] = []
        half = len(others) // 2
        for paper in others[:half]:
            answers += _take_turns(chat, shell, notebook, paper, own.choice(seeds))
        for paper in others[half:]:
            answers += _all_at_once(chat, shell, notebook, paper, own.sample(seeds, 4))
        answers += [chat.finds(paper) and notebook.do("finds", paper) for paper in seeds]
        is_whole = chat.library.papers() == seeds
    return {
        "rounds": len(others),
        "answers": len(answers),
        "right": sum(answers),
        "papers_as_before": is_whole,
        "vectors_lost": _num_lost(home),
        "seconds": round(time.perf_counter() - began, 1),
    }


def _take_turns(
    chat: Visitor, shell: Remote, notebook: Remote, paper: Paper, seed: Paper
) -> list[bool]:
    added = shell.do("add", paper)
    after_adding = [chat.finds(paper), notebook.do("finds", paper), chat.finds(seed)]
    removed = shell.do("remove", paper)
    return [added, *after_adding, removed, chat.lacks(paper), notebook.do("lacks", paper)]


def _all_at_once(
    chat: Visitor, shell: Remote, notebook: Remote, paper: Paper, seeds: Sequence[Paper]
) -> list[bool]:
    answers: list[bool] = []
    for name in ("add", "remove"):
        shell.begin(name, paper)
        for seed in seeds:
            notebook.begin("finds", seed)
            answers += [chat.finds(seed), notebook.end()]
        answers.append(shell.end())
    return answers


def _num_lost(home: Path) -> int:
    library = Library(home)
    state = library.passages.index_state()
    if state is None:
        raise SystemExit("nothing was indexed")
    index = VectorIndex.open(home / "index" / state.name)
    lost = set(library.passages.embedded_ids(state.model)).symmetric_difference(index.ids())
    index.close()
    library.close()
    return len(lost)


if __name__ == "__main__":
    main()

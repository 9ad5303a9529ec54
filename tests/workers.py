"""What other processes do to a library in the tests: started fresh, as another shell would be."""

import multiprocessing
import random
import sqlite3
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np

import paper_qa.building
import paper_qa.filling
import paper_qa.library
from fakes import HashedEmbedding
from paper_qa.indexing import Index
from paper_qa.library import Library
from paper_qa.vectors import VectorIndex
from papers import make_paper, make_papers

CONTEXT = multiprocessing.get_context("forkserver")  # a fork would share Chroma's threads
CONTEXT.set_forkserver_preload(["workers"])
MODEL = HashedEmbedding()


def start(work: Callable[..., None], *arguments: object) -> BaseProcess:
    process = CONTEXT.Process(target=work, args=arguments, daemon=True)
    process.start()
    return process


def open_both(home: Path) -> tuple[Library, Index]:
    library = Library(home)
    return library, Index(library, MODEL, num_tokens=count_words)


def close_both(library: Library, index: Index) -> None:
    index.close()
    library.close()


def count_words(text: str) -> int:
    return len(text.split())


def text_of(number: int) -> str:
    return f"{make_paper(number).title}\n{make_paper(number).abstract}"


def found(index: Index, number: int) -> bool:
    """Ask for a paper by its own text, and tell whether it came first."""
    vector = np.asarray(MODEL.get_text_embedding(text_of(number)), dtype=np.float32)
    hits = index.search(vector, 1)
    return bool(hits) and hits[0] == (hits[0][0], 1.0) and hits[0][0].startswith(f"m{number}:")


def add(home: Path, first: int, count: int) -> None:
    """Add papers as ``paper-qa add`` does."""
    library, index = open_both(home)
    report = library.add(make_papers(count, start=first))
    index.refresh(paper_ids=report.added)
    close_both(library, index)


def add_in_small_steps(home: Path, first: int, count: int) -> None:
    """The same, with as many moments to be killed at as there can be."""
    paper_qa.library.BATCH = 25
    paper_qa.filling.PAPERS = paper_qa.filling.PASSAGES = 25
    paper_qa.building.BATCH = 25
    add(home, first, count)


def open_only(home: Path) -> None:
    library = Library(home)
    library.add([make_paper(1)])
    library.close()


def add_and_remove(home: Path, rounds: int, first: int) -> None:
    """Add a paper and remove it again, as two commands would, again and again."""
    for number in range(first, first + rounds):
        add(home, number, 1)
        library, index = open_both(home)
        assert found(index, number)
        library.remove([f"m{number}"])
        index.refresh(paper_ids=[])
        assert not found(index, number)
        close_both(library, index)


def ask(home: Path, rounds: int, num_papers: int, seed: int) -> None:
    """Ask for papers that are always there, from a process that stays open."""
    library, index = open_both(home)
    own = random.Random(seed)
    for _ in range(rounds):
        number = own.randrange(num_papers)
        assert found(index, number), number
    close_both(library, index)


def check_whole(home: Path) -> list[str]:
    """Check the file, and that the index holds just what the library has; return the paper ids."""
    library, index = open_both(home)
    index.refresh()
    paper_ids = [paper.id for paper in library.papers()]
    state = library.passages.index_state()
    if state is not None and state.num_passages:
        opened = VectorIndex.open(home / "index" / state.name)
        ids = opened.ids()
        opened.close()
        assert ids == set(library.passages.embedded_ids(MODEL.model_name))
        assert {passage_id.split(":")[0] for passage_id in ids} == set(paper_ids)
    close_both(library, index)
    with sqlite3.connect(home / "library.sqlite") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        connection.execute("INSERT INTO keywords (keywords, rank) VALUES ('integrity-check', 1)")
    connection.close()
    return paper_ids

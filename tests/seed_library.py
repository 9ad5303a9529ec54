"""The seeds as a library, indexed once for the whole session, and what is asked of it.

Test modules take it in with ``pytest_plugins = ["seed_library"]``: a fixture that each of them
imported would be made anew for each of them.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from paper_qa.domain import Answer
from paper_qa.qa import PaperQA
from seeds import Parts, all_questions, seed_papers, settings_for


@pytest.fixture(scope="session")
def seed_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a library with the seeds, all read; not to be written to."""
    home = tmp_path_factory.mktemp("seeds") / "home"
    parts = Parts.open(home)
    parts.library.add(seed_papers().values())
    parts.index.refresh()
    parts.words.of(parts.library.papers())
    parts.close()
    return home


@pytest.fixture
def copied_home(seed_home: Path, tmp_path: Path) -> Path:
    """Return a library with the seeds that a test may write to."""
    return Path(shutil.copytree(seed_home, tmp_path / "copied"))


@pytest.fixture(scope="session")
def seed_parts(seed_home: Path) -> Iterator[Parts]:
    """Yield the parts of an engine over the seeds, not to be written to."""
    parts = Parts.open(seed_home)
    yield parts
    parts.close()


@pytest.fixture(scope="session")
def seed_qa(seed_home: Path) -> Iterator[PaperQA]:
    """Yield extraction over the seeds, not to be written to."""
    qa = PaperQA(settings=settings_for(seed_home, llm="extractive"))
    yield qa
    qa.close()


@pytest.fixture
def open_qa(seed_home: Path) -> Iterator[Callable[..., PaperQA]]:
    """Yield what opens a PaperQA, over the seeds unless told otherwise; all are closed."""
    opened: list[PaperQA] = []

    def open_one(*, home: Path = seed_home, llm=None, embed_model=None, **settings) -> PaperQA:
        configured = settings_for(home, **settings)
        opened.append(PaperQA(llm=llm, embed_model=embed_model, settings=configured))
        return opened[-1]

    yield open_one
    for qa in opened:
        qa.close()


@pytest.fixture(scope="session")
def seed_answers(seed_qa: PaperQA) -> Mapping[str, Answer]:
    """Return the extracted answers to all questions of the repository, by their ids."""

    def ask(key: str) -> Answer:
        item = all_questions()[key]
        return seed_qa.ask(item.question, history=item.history)

    return _MadeWhenAsked(ask)


@pytest.fixture(scope="session")
def seed_summaries(seed_qa: PaperQA) -> Mapping[str, Answer]:
    """Return the summaries of all seeds, by the papers' ids."""
    return _MadeWhenAsked(seed_qa.summarize)


class _MadeWhenAsked(dict[str, Answer]):
    """Answers, each made when it is asked for first: a test waits for no more than it looks at."""

    def __init__(self, make: Callable[[str], Answer]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: str) -> Answer:
        self[key] = self._make(key)
        return self[key]

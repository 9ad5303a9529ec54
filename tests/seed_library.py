"""The seeds as a library, indexed once for the whole session, and what is asked of it.

Test modules take it in with ``pytest_plugins = ["seed_library"]``: a fixture that each of them
imported would be made anew for each of them.
"""

import functools
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from paper_qa.corpus import read_seeds, seeds_folder
from paper_qa.domain import Answer, Claim, Paper, Withheld
from paper_qa.embedding import OnnxEmbedding
from paper_qa.evaluation.measures import quote_is_valid
from paper_qa.evaluation.questions import Question, read_questions
from paper_qa.evidence import EvidenceSelector
from paper_qa.indexing import Index
from paper_qa.library import Library
from paper_qa.qa import PaperQA
from paper_qa.retrieval import HybridRetriever
from paper_qa.settings import Settings, load_settings
from paper_qa.word_index import WordIndex

EVALUATION = Path(__file__).parents[1] / "evaluation"
MOMENTOR = "How does Momentor get its training data?"  # answered by qian24a


@dataclass(frozen=True)
class Parts:
    """The parts of an engine over one library."""

    library: Library
    index: Index
    words: WordIndex
    retriever: HybridRetriever
    selector: EvidenceSelector

    @classmethod
    def open(cls, home: Path, embedding: OnnxEmbedding | None = None) -> "Parts":
        library = Library(home)
        model = embedding or OnnxEmbedding()
        index = Index(library, model)
        words = WordIndex(library)
        return cls(
            library,
            index,
            words,
            HybridRetriever(library, index, model, words),
            EvidenceSelector(words),
        )

    def close(self) -> None:
        self.index.close()
        self.library.close()


@functools.cache
def seed_papers() -> dict[str, Paper]:
    """Return the seeds by id."""
    return {paper.id: paper for paper in read_seeds(seeds_folder())}


@functools.cache
def questions(name: str = "questions") -> tuple[Question, ...]:
    """Return a set of questions, of the repository's."""
    return tuple(read_questions(EVALUATION / f"{name}.jsonl"))


@functools.cache
def all_questions() -> dict[str, Question]:
    """Return all questions of the repository by id."""
    return {item.id: item for name in ("questions", "questions_more") for item in questions(name)}


def settings_for(home: Path, **settings: object) -> Settings:
    """Return settings that owe nothing to the environment of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name in Settings.model_fields:
            patch.delenv(f"PAPER_QA_{name.upper()}", raising=False)
        return load_settings(**({"home": home, "_env_file": None} | settings))


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
    """Yield what opens a PaperQA, over the seeds unless told otherwise, and closes it at the end."""
    opened: list[PaperQA] = []

    def open_one(*, home: Path = seed_home, settings: Mapping[str, object] = {}, **parts) -> PaperQA:
        opened.append(PaperQA(settings=settings_for(home, **settings), **parts))
        return opened[-1]

    yield open_one
    for qa in opened:
        qa.close()


@pytest.fixture(scope="session")
def seed_answers(seed_qa: PaperQA) -> dict[str, Answer]:
    """Return the extracted answers to all questions of the repository, by their ids."""
    return {
        key: seed_qa.ask(item.question, history=item.history)
        for key, item in all_questions().items()
    }


@pytest.fixture(scope="session")
def seed_summaries(seed_qa: PaperQA) -> dict[str, Answer]:
    """Return the summaries of all seeds, by the papers' ids."""
    return {paper_id: seed_qa.summarize(paper_id) for paper_id in seed_papers()}


def cited(part: Answer | Claim | Withheld) -> list[str]:
    """Return the ids of the papers that are cited, in order, each once."""
    claims = part.claims if isinstance(part, Answer) else [part]
    found = (c.paper_id for claim in claims for c in getattr(claim, "citations", ()))
    return list(dict.fromkeys(found))


def assert_quotes_are_the_abstracts_words(answer: Answer, papers: Mapping[str, Paper]) -> None:
    for claim in answer.claims:
        for citation in claim.citations:
            assert quote_is_valid(citation, papers[citation.paper_id].abstract), citation

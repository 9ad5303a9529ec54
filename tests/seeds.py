"""The seeds, the questions about them, and what is often asked of answers."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from paper_qa.corpus import read_seeds, seeds_folder
from paper_qa.domain import Answer, Claim, Paper
from paper_qa.embedding import OnnxEmbedding
from paper_qa.evaluation.measures import quote_is_valid
from paper_qa.evaluation.questions import Question, read_questions
from paper_qa.evidence import EvidenceSelector
from paper_qa.indexing import Index
from paper_qa.library import Library
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


def cited(*claims: Claim) -> list[str]:
    """Return the ids of the papers that are cited, in order, each once."""
    return list(dict.fromkeys(c.paper_id for claim in claims for c in claim.citations))


def assert_quotes_are_the_abstracts_words(answer: Answer, papers: Mapping[str, Paper]) -> None:
    for claim in answer.claims:
        for citation in claim.citations:
            assert quote_is_valid(citation, papers[citation.paper_id].abstract), citation

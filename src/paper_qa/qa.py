"""PaperQA: what people import. It wires the parts together and knows the insides of none."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from llama_index.core.base.base_query_engine import BaseQueryEngine

from paper_qa.corpus import read_papers, read_seeds, seeds_folder, write_papers
from paper_qa.domain import (
    AS_CONFIGURED,
    Answer,
    AskOptions,
    Claim,
    Event,
    Paper,
    ScoredPaper,
    Turn,
)
from paper_qa.embedding import load_embedding
from paper_qa.errors import ConfigurationError
from paper_qa.evidence import EvidenceSelector
from paper_qa.indexing import Index
from paper_qa.library import AddReport, Library
from paper_qa.llm import Writer
from paper_qa.llm.blocking import iterate
from paper_qa.prompts import brief_beginning
from paper_qa.query_engine import PaperQueryEngine
from paper_qa.questions import understand
from paper_qa.retrieval import HybridRetriever
from paper_qa.settings import Settings, load_settings
from paper_qa.synthesizer import GroundedSynthesizer, last_answer, once
from paper_qa.word_index import WordIndex

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM

NUM_CHECKED = 5  # papers that a claim is held against where none is named
Progress = Callable[[str, int, int], None]
History = Sequence[Turn | Mapping[str, str]]


def _silent(_text: str, _done: int, _total: int) -> None:
    """Tell nobody."""


def _unheard(_text: str) -> None:
    """Tell nobody."""


class PaperQA:
    """Questions, summaries and searches over one library of papers.

    A new library starts with the seeds. Safe for several threads; other processes may have the
    same library open.

    Args:
        home: where the library lives; by default as configured.
        llm: any LlamaIndex LLM; by default as configured, which may be none (extraction).
        embed_model: any LlamaIndex embedding; by default as configured.
        settings: by default read from the environment and ``.env``.

    Raises:
        ConfigurationError: a setting is misspelt or impossible.
        LibraryError: the library can't be opened.
    """

    def __init__(
        self,
        *,
        home: Path | str | None = None,
        llm: "LLM | None" = None,
        embed_model: "BaseEmbedding | None" = None,
        settings: Settings | None = None,
    ) -> None:
        self._settings = settings or load_settings()
        embedding = embed_model or load_embedding(self._settings)
        self._library = Library(Path(home) if home else self._settings.home)
        self._index = Index(self._library, embedding, chroma_url=self._settings.chroma_url)
        words = WordIndex(self._library)
        self._retriever = HybridRetriever(self._library, self._index, embedding, words)
        self._writer = Writer(self._settings, llm)
        self._synthesizer = GroundedSynthesizer(
            self._writer.llm,
            words,
            self._library.papers,
            abstain_threshold=self._settings.abstain_threshold,
            flag_unsupported=self._settings.grounding == "flag",
        )
        selector = EvidenceSelector(words)
        self._engine = PaperQueryEngine(self._retriever, selector, self._synthesizer, self._library)
        self._preparing = threading.Lock()

    @property
    def model_name(self) -> str:
        """Who writes the answers: a model's name, or ``extractive``."""
        return self._synthesizer.model_name

    def ask(
        self, question: str, *, history: History = (), options: AskOptions = AS_CONFIGURED
    ) -> Answer:
        """Answer a question, in the light of the conversation before it.

        Raises:
            QuestionError: it is blank or too long.
            UnknownPaperError: the options name a paper that is not in the library.
        """
        return next(iterate(once(self.aask(question, history=history, options=options))))

    async def aask(
        self, question: str, *, history: History = (), options: AskOptions = AS_CONFIGURED
    ) -> Answer:
        """Answer a question from asynchronous code."""
        return await last_answer(self.astream(question, history=history, options=options))

    def stream(
        self, question: str, *, history: History = (), options: AskOptions = AS_CONFIGURED
    ) -> Iterator[Event]:
        """Yield what is going on, the sources, each checked claim, and the answer last."""
        return iterate(self.astream(question, history=history, options=options))

    async def astream(
        self, question: str, *, history: History = (), options: AskOptions = AS_CONFIGURED
    ) -> AsyncGenerator[Event]:
        """Yield the events of an answer; closing the stream ends the model's request."""
        await asyncio.to_thread(self.prepare)
        async with aclosing(self._engine.aevents(question, _turns(history), options)) as events:
            async for event in events:
                yield event

    def summarize(self, topic: str, *, options: AskOptions = AS_CONFIGURED) -> Answer:
        """Summarise a paper, named by its id or title, or the papers on a topic."""
        understand(topic)  # a blank topic is no question
        return self.ask(f"Summarize {topic}", options=options)

    def search(
        self, query: str, *, k: int = 10, options: AskOptions = AS_CONFIGURED
    ) -> list[ScoredPaper]:
        """Return the ``k`` best papers for a query, best first; of the options only the scope."""
        if k < 1:
            raise ConfigurationError(f"k={k!r} papers can't be searched for: give 1 or more")
        self.prepare()
        return self._retriever.rank(understand(query, options=options), k=k)

    def check(self, claim: str, *, paper_id: str | None = None) -> Claim:
        """Say what the abstracts make of a sentence: of one paper, or of those nearest to it.

        ``support`` of the claim is ``supported``, ``contradicted`` or ``not_mentioned``, ``score``
        the probability that it is supported; the citations have the words that tell.

        Raises:
            UnknownPaperError: there is no such paper.
            QuestionError: the claim is blank or too long.
        """
        self.prepare()
        sentence = understand(claim).text
        if paper_id is not None:
            return self._synthesizer.check(sentence, [self._library.paper(paper_id)])
        nearest = self._retriever.rank(understand(claim), k=NUM_CHECKED)
        return self._synthesizer.check(sentence, [hit.paper for hit in nearest])

    def add(
        self, source: Path | str | Iterable[Paper], *, progress: Progress = _silent
    ) -> AddReport:
        """Add the papers of a file, or papers; what the library has already is kept once.

        Raises:
            FormatError: the file can't be read; nothing is added then.
        """
        self._plant_seeds()
        papers = read_papers(Path(source)) if isinstance(source, Path | str) else source
        report = self._library.add(papers)
        self._index.refresh(progress, paper_ids=report.added + report.merged)
        return report

    def remove(self, *paper_ids: str) -> None:
        """Remove papers.

        Raises:
            UnknownPaperError: there is no such paper; nothing is removed then.
        """
        self._plant_seeds()
        self._library.remove(paper_ids)
        self._index.refresh(paper_ids=[])

    def papers(self) -> list[Paper]:
        """Return all papers, in the order in which they were added."""
        self._plant_seeds()
        return self._library.papers()

    def paper(self, paper_id: str) -> Paper:
        """Return one paper.

        Raises:
            UnknownPaperError: there is none.
        """
        self._plant_seeds()
        return self._library.paper(paper_id)

    def export(self, stream: TextIO) -> None:
        """Write all papers as JSON Lines, which ``add`` reads."""
        write_papers(self.papers(), stream)

    def prepare(self, progress: Progress = _silent) -> None:
        """Plant the seeds in a new library, and index what is not indexed yet."""
        self._plant_seeds()
        self._index.prepare(progress)

    def prepare_model(
        self,
        progress: Progress = _silent,
        note: Callable[[str], None] = _unheard,
        *,
        pull: bool = False,
    ) -> None:
        """Start the embedded model ahead of the first question, if it is the one that answers.

        With ``pull`` it is fetched first where it is missing, unless ``PAPER_QA_MODEL_PULL`` is
        ``never``; nothing else ever downloads.

        Raises:
            ModelFileError: it can't be fetched.
            ModelError: it does not start.
        """
        self._writer.prepare(brief_beginning(), progress, note, pull=pull)

    def num_pending(self) -> int:
        """Count the papers that a search does not find yet: ``refresh_index`` makes up for it."""
        return self._index.num_pending()

    def refresh_index(self, progress: Progress = _silent) -> None:
        """Embed and index whatever is missing, however much that is."""
        self._plant_seeds()
        self._index.refresh(progress)

    def rebuild_index(self, progress: Progress = _silent) -> None:
        """Make the search index anew from the library, with the present embedding model."""
        self._plant_seeds()
        self._index.refresh(progress, rebuild=True)

    def as_query_engine(self) -> BaseQueryEngine:
        """Return the engine that all questions go through, for other LlamaIndex programs."""
        self.prepare()
        return self._engine

    def close(self) -> None:
        """Let go of the files, and end the embedded model."""
        self._writer.close()
        self._index.close()
        self._library.close()

    def _plant_seeds(self) -> None:
        with self._preparing:
            if self._library.generation == 0:
                self._library.add(read_seeds(seeds_folder()))


def _turns(history: History) -> list[Turn]:
    """Take turns as they are, and as the dictionaries that chat programs keep."""
    return [turn if isinstance(turn, Turn) else _turn(turn) for turn in history]


def _turn(message: object) -> Turn:
    match message:
        case {"role": "user", "content": str(content)}:
            return Turn("user", content)
        case {"role": "assistant", "content": str(content)}:
            return Turn("assistant", content)
        case _:
            raise ConfigurationError(
                "a turn of the history is {'role': 'user' or 'assistant', 'content': text}, "
                f"not {message!r}"
            )

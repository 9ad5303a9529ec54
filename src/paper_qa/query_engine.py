"""The LlamaIndex query engine: every question, by whichever door it comes, takes this way."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from llama_index.core.base.response.schema import Response
from llama_index.core.callbacks import CallbackManager
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle
from typing_extensions import override

from paper_qa.answering import Task
from paper_qa.computed import compute
from paper_qa.domain import AS_CONFIGURED, AskOptions, Event, Sources, Stage, Turn
from paper_qa.evidence import EvidenceSelector, papers_to_read
from paper_qa.library import Library
from paper_qa.llm.blocking import iterate
from paper_qa.nodes import (
    QuestionBundle,
    evidence_node,
    evidence_of,
    paper_node,
    question_of,
    scored_paper,
)
from paper_qa.questions import Question, understand
from paper_qa.retrieval import HybridRetriever
from paper_qa.synthesizer import (
    GroundedSynthesizer,
    Rewritten,
    as_response,
    last_answer,
    once,
)


class PaperQueryEngine(RetrieverQueryEngine):
    """Retriever, evidence, writer, in LlamaIndex's own seats; streams events as well.

    What can be counted or listed is computed from the library before all of them.
    """

    def __init__(
        self,
        retriever: HybridRetriever,
        selector: EvidenceSelector,
        synthesizer: GroundedSynthesizer,
        library: Library,
    ) -> None:
        super().__init__(retriever, synthesizer, [selector], CallbackManager([]))
        self._ranker = retriever
        self._writer = synthesizer
        self._library = library

    async def aevents(
        self,
        question: str,
        history: Sequence[Turn] = (),
        options: AskOptions = AS_CONFIGURED,
    ) -> AsyncGenerator[Event]:
        """Yield what is going on, the sources, checked claims, and the answer last.

        Raises:
            QuestionError: the question is blank or too long.
            UnknownPaperError: the options name a paper that is not in the library.
            LibraryError: the library or its index can't be read.
        """
        started = time.monotonic()
        asked = understand(question, history, options)
        if computed := await asyncio.to_thread(compute, asked, self._library, started):
            for event in computed.events():
                yield event
            return
        understood = Rewritten(self._ranker.resolve(asked))
        if self._writer.can_rewrite(understood.question):
            yield Stage("Understanding the question")
            understood = await self._writer.rewrite(understood.question, history)
        yield Stage("Searching")
        found = await asyncio.to_thread(self._find, understood.question)
        task = found.task(understood, history, started)
        yield Sources(tuple(task.hits), tuple(task.evidence))
        num_read = len(papers_to_read(task.question, task.hits))
        yield Stage(f"Reading {num_read} paper{'s' if num_read != 1 else ''}")
        async with aclosing(self._writer.aevents(task)) as events:
            async for event in events:
                yield event

    def _find(self, question: Question) -> "_Found":
        bundle = QuestionBundle(self._ranker.resolve(question))
        papers = self.retriever.retrieve(bundle)
        evidence = self._apply_node_postprocessors(papers, bundle)
        scope = question.options.scope
        num_admitted = None if scope.is_open else len(self._library.admitted(scope))
        return _Found(bundle.question, papers, evidence, num_admitted)

    @override
    async def _aquery(self, query_bundle: QueryBundle) -> Response:
        started = time.monotonic()
        asked = question_of(query_bundle)
        if computed := await asyncio.to_thread(compute, asked, self._library, started):
            sources = computed.sources
            nodes = [*map(evidence_node, sources.evidence), *map(paper_node, sources.papers)]
            return as_response(computed.answer, nodes)
        understood = Rewritten(self._ranker.resolve(asked))
        if self._writer.can_rewrite(understood.question):
            understood = await self._writer.rewrite(understood.question, ())
        found = await asyncio.to_thread(self._find, understood.question)
        answer = await last_answer(self._writer.aevents(found.task(understood, (), started)))
        return as_response(answer, [*found.evidence, *found.papers])

    @override
    def _query(self, query_bundle: QueryBundle) -> Response:
        return next(iterate(once(self._aquery(query_bundle))))


@dataclass(frozen=True, slots=True)
class _Found:
    """The nodes of papers, best first, and those of their sentences."""

    question: Question
    papers: list[NodeWithScore]
    evidence: list[NodeWithScore]
    num_admitted: int | None

    def task(self, understood: Rewritten, history: Sequence[Turn], started: float) -> Task:
        return Task(
            self.question,
            [scored_paper(node) for node in self.papers],
            [evidence_of(node) for node in self.evidence],
            history,
            started,
            time.monotonic() - started,
            understood.usage,
            understood.notes,
            self.num_admitted,
        )

"""Writes an answer from evidence, and lets no sentence pass that the evidence does not support."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from llama_index.core import PromptHelper
from llama_index.core.base.response.schema import Response
from llama_index.core.callbacks import CallbackManager
from llama_index.core.llms import LLM, MockLLM
from llama_index.core.response_synthesizers import BaseSynthesizer
from llama_index.core.schema import NodeWithScore, QueryBundle
from typing_extensions import override

from paper_qa.citing import Numbering, compose, refer, without_stop
from paper_qa.confidence import confidence
from paper_qa.domain import (
    AbstainReason,
    Answer,
    Claim,
    Event,
    Evidence,
    Paper,
    ScoredPaper,
    Stage,
    Timings,
    Turn,
    Usage,
    Withheld,
)
from paper_qa.drafting import Draft, clean_sentence
from paper_qa.errors import ConfigurationError, ContextLengthError, ModelError
from paper_qa.evidence import papers_to_read
from paper_qa.extraction import choose, extract
from paper_qa.grounding import THRESHOLD, Grounder
from paper_qa.llm.blocking import iterate
from paper_qa.nodes import evidence_of, question_of, scored_paper
from paper_qa.prompts import NOT_ANSWERED, messages
from paper_qa.questions import Question, understand
from paper_qa.sentences import split_sentences
from paper_qa.word_index import WordIndex

_T = TypeVar("_T")

NUM_SEE = 3
NUM_RETRIEVED = 10
NUM_SENTENCES_SHRUNK = 3
EXTRACTIVE = "extractive"

NOTE_NO_MODEL = "answered by extraction: no model is configured"
NOTE_UNSUPPORTED = (
    "nothing that the model wrote is supported by the abstracts: these are the key passages"
)
ABSTENTIONS: dict[AbstainReason, str] = {
    "no_evidence": "The abstracts in this library do not treat this.",
    "not_in_abstract": "The closest abstracts do not say this.",
    "language": (
        "This question is in a language that the search cannot read, and no language model is "
        "configured to translate it: ask in English."
    ),
}


@dataclass(slots=True)
class Task:
    """A question with what was found for it, and when it arrived (``time.monotonic``)."""

    question: Question
    hits: Sequence[ScoredPaper]
    evidence: Sequence[Evidence]
    history: Sequence[Turn] = ()
    started: float = field(default_factory=time.monotonic)
    retrieve_s: float = 0.0

    @property
    def papers(self) -> dict[str, Paper]:
        """The retrieved papers by id."""
        return {hit.paper.id: hit.paper for hit in self.hits}


class _Progress:
    """The answer so far."""

    def __init__(self, task: Task, model: str) -> None:
        self.task = task
        self.model = model
        self.numbering = Numbering()
        self.claims: list[Claim] = []
        self.withheld: list[Withheld] = []
        self.notes: list[str] = []
        self.usage = Usage()
        self.confidence = 0.0
        self._first_claim_s = 0.0

    def add(self, claim: Claim) -> Claim:
        self._first_claim_s = self._first_claim_s or self._elapsed()
        self.claims.append(claim)
        return claim

    def extracted(self) -> list[Claim]:
        """Return the key passages, less those that are cited already."""
        cited = {(c.paper_id, c.start) for claim in self.claims for c in claim.citations}
        task = self.task
        claims = extract(task.question, task.evidence, task.papers, self.numbering)
        return [c for c in claims if (c.citations[0].paper_id, c.citations[0].start) not in cited]

    def answer(self) -> Answer:
        as_list = self.task.question.kind == "list"
        return self._answer(
            text=compose(self.claims, as_list=as_list),
            claims=tuple(self.claims),
            references=self.numbering.references(self.task.papers),
        )

    def abstention(self, reason: AbstainReason) -> Answer:
        nearest = [hit.paper for hit in self.task.hits[:NUM_SEE]] if reason != "language" else []
        return self._answer(
            text=ABSTENTIONS[reason],
            abstained=True,
            abstain_reason=reason,
            see=tuple(refer(paper, 0) for paper in nearest),
        )

    def _answer(self, **fields: Any) -> Answer:
        return Answer(
            question=self.task.question.text,
            withheld=tuple(self.withheld),
            retrieved=tuple(self.task.hits[:NUM_RETRIEVED]),
            confidence=round(self.confidence, 3),
            notes=tuple(self.notes),
            usage=self.usage,
            model=self.model,
            timings=Timings(
                round(self.task.retrieve_s, 4),
                round(self._first_claim_s, 4),
                round(self._elapsed(), 4),
            ),
            **fields,
        )

    def _elapsed(self) -> float:
        return time.monotonic() - self.task.started


class GroundedSynthesizer(BaseSynthesizer):
    """LlamaIndex's seat for the writer: an LLM whose sentences are checked, or extraction."""

    def __init__(
        self,
        llm: LLM | None,
        word_index: WordIndex,
        *,
        abstain_threshold: float,
        flag_unsupported: bool = False,
    ) -> None:
        # All given, or LlamaIndex falls back on its process-wide settings, and on OpenAI there.
        super().__init__(llm or MockLLM(), CallbackManager([]), PromptHelper())
        self._writer = llm
        self._words = word_index
        self._grounder = Grounder(word_index)
        self._abstain_threshold = abstain_threshold
        self._flag_unsupported = flag_unsupported

    def _get_prompts(self) -> dict[str, Any]:
        """Return no template: prompts are plain strings here (``prompts.py``)."""
        return {}

    def _update_prompts(self, prompts: dict[str, Any]) -> None:
        if prompts:
            raise ConfigurationError("the prompts of paper_qa can't be exchanged: see prompts.py")

    @property
    def model_name(self) -> str:
        """Who writes: ``extractive``, or the model's name."""
        return self._writer.metadata.model_name if self._writer else EXTRACTIVE

    async def aevents(self, task: Task) -> AsyncGenerator[Event]:
        """Yield checked claims as they are written, and the whole answer last."""
        progress = _Progress(task, self.model_name)
        reason = await asyncio.to_thread(self._reason_to_abstain, progress)
        if reason:
            yield progress.abstention(reason)
            return
        if self._writer is None:
            progress.notes.append(NOTE_NO_MODEL)
            for claim in progress.extracted():
                yield progress.add(claim)
            yield progress.answer()
            return
        async for event in self._write(self._writer, progress):
            yield event

    def _reason_to_abstain(self, progress: _Progress) -> AbstainReason | None:
        question = progress.task.question
        if not question.readable and self._writer is None:
            return "language"
        if not progress.task.evidence:
            return "no_evidence"
        progress.confidence = confidence(question, progress.task.hits, self._words)
        return "no_evidence" if progress.confidence < self._abstain_threshold else None

    async def _write(self, llm: LLM, progress: _Progress) -> AsyncIterator[Event]:
        """Yield what the model writes and the evidence supports, or the key passages instead."""
        yield Stage("Writing")
        try:
            async for event in self._drafted(llm, progress, shrunk=False):
                yield event
        except ContextLengthError:
            try:
                async for event in self._drafted(llm, progress, shrunk=True):
                    yield event
            except ModelError as error:
                progress.notes.append(_failed(error))
        except ModelError as error:
            progress.notes.append(_failed(error))
        if not (progress.claims or progress.notes):
            if not progress.withheld:
                yield progress.abstention("not_in_abstract")
                return
            progress.notes.append(NOTE_UNSUPPORTED)
        if progress.notes:
            for claim in progress.extracted():
                yield progress.add(claim)
        yield progress.answer()

    async def _drafted(
        self, llm: LLM, progress: _Progress, *, shrunk: bool
    ) -> AsyncIterator[Event]:
        task = progress.task
        shown = _shown(task, shrunk=shrunk)
        draft = Draft()
        try:
            async for sentence in draft.sentences(
                llm, messages(task.question, shown, task.history)
            ):
                text = clean_sentence(sentence)
                if NOT_ANSWERED.lower() in text.lower():
                    return
                if any(character.isalnum() for character in text):
                    yield await asyncio.to_thread(self._checked, text, shown, progress)
        finally:
            progress.usage = _added(progress.usage, draft.usage)
            progress.model = self.model_name

    def _checked(
        self, text: str, shown: Sequence[tuple[Paper, str]], progress: _Progress
    ) -> Claim | Withheld:
        support = self._grounder.ground(text, [paper for paper, _ in shown])
        score = round(support.score, 4)
        if support.score >= THRESHOLD:
            citations = [progress.numbering.cite(paper, span) for paper, span in support.spans]
            return progress.add(Claim(without_stop(text), "supported", score, tuple(citations)))
        if self._flag_unsupported:
            return progress.add(Claim(without_stop(text), "not_mentioned", score))
        withheld = Withheld(text, score)
        progress.withheld.append(withheld)
        return withheld

    @override
    async def asynthesize(
        self,
        query: str | QueryBundle,
        nodes: list[NodeWithScore],
        additional_source_nodes: Sequence[NodeWithScore] | None = None,
        **response_kwargs: Any,
    ) -> Response:
        """Answer from nodes of evidence; the papers they are of are the additional ones."""
        bundle = QueryBundle(query) if isinstance(query, str) else query
        papers = list(additional_source_nodes or ())
        task = Task(
            question_of(bundle),
            [scored_paper(node) for node in papers],
            [evidence_of(node) for node in nodes],
        )
        return as_response(await last_answer(self.aevents(task)), [*nodes, *papers])

    @override
    def synthesize(
        self,
        query: str | QueryBundle,
        nodes: list[NodeWithScore],
        additional_source_nodes: Sequence[NodeWithScore] | None = None,
        **response_kwargs: Any,
    ) -> Response:
        """Answer from nodes of evidence; the papers they are of are the additional ones."""
        work = self.asynthesize(query, nodes, additional_source_nodes)
        return next(iterate(once(work)))

    async def aget_response(
        self, query_str: str, text_chunks: Sequence[str], **_response_kwargs: Any
    ) -> str:
        """Answer from bare texts, each taken for the abstract of a paper without a title."""
        texts = [Paper(f"text-{number}", "", text) for number, text in enumerate(text_chunks, 1)]
        hits = [ScoredPaper(paper, 1.0) for paper in texts]
        evidence = [
            Evidence(paper.id, span.start, span.end, paper.abstract[span.start : span.end], 1.0)
            for paper in texts
            for span in split_sentences(paper.abstract)
        ]
        return (await last_answer(self.aevents(Task(understand(query_str), hits, evidence)))).text

    def get_response(
        self, query_str: str, text_chunks: Sequence[str], **_response_kwargs: Any
    ) -> str:
        """Answer from bare texts, each taken for the abstract of a paper without a title."""
        return next(iterate(once(self.aget_response(query_str, text_chunks))))


def as_response(answer: Answer, nodes: list[NodeWithScore]) -> Response:
    """Return an answer as LlamaIndex has it; the whole of it is in ``metadata["answer"]``."""
    return Response(answer.text, source_nodes=nodes, metadata={"answer": answer.to_dict()})


async def last_answer(events: AsyncGenerator[Event]) -> Answer:
    """Run a stream to its end and return the answer that ends it."""
    async for event in events:
        if isinstance(event, Answer):
            return event
    raise AssertionError("a stream of events ends with the answer")


async def once(work: Awaitable[_T]) -> AsyncGenerator[_T]:
    """Make a stream of one item, for `iterate`."""
    yield await work


def _shown(task: Task, *, shrunk: bool) -> list[tuple[Paper, str]]:
    """Return the papers to write from, each with its abstract, or with its best sentences."""
    chosen = [hit.paper for hit in papers_to_read(task.question, task.hits)]
    if not shrunk:
        return [(paper, paper.abstract) for paper in chosen]
    by_paper = {
        paper.id: [item for item in task.evidence if item.paper_id == paper.id] for paper in chosen
    }
    return [
        (paper, " ".join(item.text for item in choose(by_paper[paper.id], NUM_SENTENCES_SHRUNK)))
        for paper in chosen[:2]
    ]


def _failed(error: ModelError) -> str:
    return f"the language model failed, these are the key passages: {error}"


def _added(one: Usage, other: Usage) -> Usage:
    return Usage(
        one.llm_calls + other.llm_calls,
        one.prompt_tokens + other.prompt_tokens,
        one.completion_tokens + other.completion_tokens,
    )

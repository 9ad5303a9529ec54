"""Writes an answer from evidence, and lets no sentence pass that the evidence does not support."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from llama_index.core import PromptHelper
from llama_index.core.base.response.schema import Response
from llama_index.core.callbacks import CallbackManager
from llama_index.core.llms import LLM, MockLLM
from llama_index.core.response_synthesizers import BaseSynthesizer
from llama_index.core.schema import NodeWithScore, QueryBundle
from typing_extensions import override

from paper_qa.answerability import answerability
from paper_qa.answering import THE_AUTHORS, AnswerInProgress, Task
from paper_qa.citing import Numbering, without_stop
from paper_qa.domain import (
    EXTRACTIVE,
    AbstainReason,
    Answer,
    Claim,
    Event,
    Evidence,
    KeyPassages,
    Paper,
    ScoredPaper,
    Span,
    Stage,
    Turn,
    Usage,
    Withheld,
)
from paper_qa.drafting import Draft, clean_sentence, in_third_person
from paper_qa.errors import ConfigurationError, ContextLengthError, ModelError, QuestionError
from paper_qa.evidence import papers_to_read
from paper_qa.extraction import choose, opposed
from paper_qa.grounding import Grounder
from paper_qa.injection import stated
from paper_qa.llm.blocking import iterate
from paper_qa.nodes import evidence_of, question_of
from paper_qa.prompts import NOT_ANSWERED, brief_messages, messages, rewriting_messages
from paper_qa.questions import Question, understand
from paper_qa.sentences import split_sentences
from paper_qa.word_index import WordIndex

_T = TypeVar("_T")

NUM_SENTENCES_SHRUNK = 3
SMALL_CONTEXT = 4096  # tokens; a model that reads no more is shown key passages, not abstracts
HERE = 0.5  # the probability from which on the paper is said to be here, without the answer
NEAR_SHARE = 0.6  # of the best paper's score, for another paper to be heard beside it
MAX_QUERY_CHARACTERS = 500  # of a question that a model has rewritten
MAX_REWRITE_S = 20.0
OTHERWISE = "The paper says otherwise."  # than the question takes for granted
BY_CONTRAST = "By contrast,"

NOTE_NO_MODEL = "answered by extraction: no model is configured"
NOTE_LISTED = "listed by extraction: the model that runs here reads too little at once"
NOTE_FOREIGN = (
    "the search reads English: these passages were found by the terms that the question shares"
)
NOTE_TRANSLATED = "answered in English: sentences are checked against abstracts in English"
NOTE_UNSUPPORTED = (
    "nothing that the model wrote is supported by the abstracts: these are the key passages"
)


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A question that stands alone, what that has cost, and why it may not have worked."""

    question: Question
    usage: Usage = field(default_factory=Usage)
    notes: tuple[str, ...] = ()


class GroundedSynthesizer(BaseSynthesizer):
    """LlamaIndex's seat for the writer: an LLM whose sentences are checked, or extraction."""

    def __init__(
        self,
        writer: Callable[[], LLM | None],
        word_index: WordIndex,
        papers: Callable[[Sequence[str]], list[Paper]],
        *,
        abstain_threshold: float,
        flag_unsupported: bool = False,
    ) -> None:
        # All given, or LlamaIndex falls back on its process-wide settings, and on OpenAI there.
        super().__init__(MockLLM(), CallbackManager([]), PromptHelper())
        self._writer = writer  # asked each time: a model may come while the chat is open
        self._words = word_index
        self._papers = papers
        self._grounder = Grounder(word_index)
        self._abstain_threshold = abstain_threshold
        self._flag_unsupported = flag_unsupported

    def _get_prompts(self) -> dict[str, Any]:
        """Return no template: what a model is told is put together in ``prompts.py``."""
        return {}

    def _update_prompts(self, prompts_dict: dict[str, Any]) -> None:
        if prompts_dict:
            raise ConfigurationError("the prompts of paper_qa can't be exchanged: see prompts.py")

    @property
    def model_name(self) -> str:
        """Who writes: ``extractive``, or the model's name."""
        return _name_of(self._writer())

    def can_rewrite(self, question: Question) -> bool:
        """Tell whether a question needs to be put in other words, and a model can do it."""
        return not question.stands_alone and self._writer_for(question) is not None

    def _writer_for(self, question: Question) -> LLM | None:
        return self._writer() if question.options.write else None

    async def rewrite(self, question: Question, history: Sequence[Turn]) -> "Rewritten":
        """Let the model put a question so that it stands alone, in English.

        A model that fails or takes too long leaves the question as it is, with a note.
        """
        llm = self._writer_for(question)
        if llm is None:
            return Rewritten(question)
        draft = Draft()
        asked = rewriting_messages(question, history)
        query = ""
        try:
            async with (
                asyncio.timeout(MAX_REWRITE_S),
                aclosing(draft.sentences(llm, asked)) as sentences,
            ):
                async for sentence in sentences:
                    query = f"{query} {sentence}".strip()
                    if len(query) > MAX_QUERY_CHARACTERS:
                        break
            alone = understand(query[:MAX_QUERY_CHARACTERS], options=question.options)
        except (ModelError, QuestionError, TimeoutError) as error:
            note = f"the question could not be rewritten: {str(error) or 'the model took too long'}"
            return Rewritten(question, draft.usage, (note,))
        notes = (NOTE_TRANSLATED,) if question.is_foreign else ()
        return Rewritten(replace(alone, text=question.text), draft.usage, notes)

    async def aevents(self, task: Task) -> AsyncGenerator[Event]:
        """Yield checked claims as they are written, and the whole answer last."""
        llm = self._writer_for(task.question)
        progress = AnswerInProgress(task, _name_of(llm))
        async with aclosing(self._events(llm, progress)) as events:
            async for event in events:
                if not isinstance(event, Answer):
                    yield event
                elif conflict := await asyncio.to_thread(self._conflict, progress):
                    yield progress.add(conflict)
                    yield progress.answer()
                else:
                    yield event

    async def _events(self, llm: LLM | None, progress: AnswerInProgress) -> AsyncGenerator[Event]:
        reason = await asyncio.to_thread(self._reason_to_abstain, progress)
        if reason == "not_in_abstract":
            correction = await asyncio.to_thread(self._correction, progress)
            if correction:
                yield progress.add(correction)
                yield progress.answer()
                return
        if reason:
            yield progress.abstention(reason)
            return
        if llm is None or (_is_small(llm) and _is_listing(progress.task)):
            progress.model = EXTRACTIVE
            if progress.task.question.options.write:
                progress.notes.append(NOTE_LISTED if llm else NOTE_NO_MODEL)
            for claim in progress.extracted():
                yield progress.add(claim)
            yield progress.answer()
            return
        yield KeyPassages(progress.key_passages)
        async with aclosing(self._write(llm, progress)) as events:
            async for event in events:
                yield event

    def _correction(self, progress: AnswerInProgress) -> Claim | None:
        """Return the words of the best paper against what the question takes for granted."""
        task = progress.task
        if task.question.kind != "answer":
            return None
        found = self._grounder.contradiction(task.question.query, [task.hits[0].paper])
        if found is None:
            return None
        progress.premise_corrected = True
        progress.model = EXTRACTIVE
        paper, span = found.spans[0]
        return opposed(OTHERWISE, paper, span, progress.numbering)

    def _conflict(self, progress: AnswerInProgress) -> Claim | None:
        """Return the words of a paper read, but not cited, that contradict what is cited."""
        cited = [citation for claim in progress.claims for citation in claim.citations]
        known = {citation.paper_id for citation in cited}
        others = [paper for paper in _papers_near(progress.task) if paper.id not in known]
        if not others:
            return None
        read = {hit.paper.id: hit.paper for hit in progress.task.hits}
        for source, quoted in dict.fromkeys((c.paper_id, Span(c.start, c.end)) for c in cited):
            if found := self._grounder.conflict(read[source], quoted, others):
                paper, span = found.spans[0]
                return opposed(BY_CONTRAST, paper, span, progress.numbering)
        return None

    def _reason_to_abstain(self, progress: AnswerInProgress) -> AbstainReason | None:
        question = progress.task.question
        is_about_one = bool(question.options.scope.only_paper_id)
        if progress.task.num_admitted == 0:
            return "no_evidence"
        if not question.readable:
            return "language"
        if not progress.task.evidence:
            return "not_in_abstract" if is_about_one else "no_evidence"
        judged = answerability(question, progress.task.hits, self._words, self._grounder)
        # Where a paper outside the filters is far better, those within do not treat the question.
        score = progress.task.hits[0].score
        is_far = progress.task.num_admitted is not None and score < NEAR_SHARE
        progress.confidence = judged.confidence * (score if is_far else 1.0)
        if progress.confidence < self._threshold_for(question):
            if question.is_foreign:
                return "language"
            is_here = is_about_one or (judged.is_here >= HERE and not is_far)
            return "not_in_abstract" if is_here else "no_evidence"
        if question.is_foreign:
            progress.notes.append(NOTE_FOREIGN)
        return None

    def _threshold_for(self, question: Question) -> float:
        asked = question.options.abstain_threshold
        return self._abstain_threshold if asked is None else asked

    def _flags(self, question: Question) -> bool:
        asked = question.options.flag_unsupported
        return self._flag_unsupported if asked is None else asked

    async def _write(self, llm: LLM, progress: AnswerInProgress) -> AsyncGenerator[Event]:
        """Yield what the model writes and the evidence supports, or the key passages instead."""
        yield Stage("Writing")
        failure: ModelError | None = None
        for shrunk in (False, True):
            try:
                async with aclosing(self._drafted(llm, progress, shrunk=shrunk)) as events:
                    async for event in events:
                        yield event
                failure = None
                break
            except ModelError as error:
                failure = error
                if not isinstance(error, ContextLengthError):
                    break
        may_complete = not failure and _is_small(llm) and progress.is_supported()
        if may_complete and (claim := progress.completion()):
            yield progress.add(claim)
        for event in _concluded(progress, failure):
            yield event

    async def _drafted(
        self, llm: LLM, progress: AnswerInProgress, *, shrunk: bool
    ) -> AsyncGenerator[Event]:
        task = progress.task
        draft = Draft()
        if _is_small(llm):
            passages = _by_paper(progress, NUM_SENTENCES_SHRUNK if shrunk else None)
            papers = [paper for paper, _ in passages]
            asked = brief_messages(task.question, passages)
        else:
            shown = _shown(task, shrunk=shrunk)
            papers = [paper for paper, _ in shown]
            asked = messages(task.question, shown, task.history)
        known = "\n".join(f"{paper.title}\n{paper.abstract}" for paper in papers)
        try:
            async with aclosing(draft.sentences(llm, asked)) as sentences:
                async for sentence in sentences:
                    text = clean_sentence(sentence, known)
                    if NOT_ANSWERED.lower() in text.lower():
                        progress.declined = True
                        return
                    if any(map(str.isalnum, text)) and progress.is_new(text, papers):
                        yield await asyncio.to_thread(self._checked, text, papers, progress)
        finally:
            progress.usage = _added(progress.usage, draft.usage)
            progress.model = _name_of(llm)

    def _checked(
        self, sentence: str, papers: Sequence[Paper], progress: AnswerInProgress
    ) -> Claim | Withheld:
        text = progress.thread.mended(sentence)
        if text is None:
            return progress.withhold(Withheld(sentence, 0.0, "refers_back"))
        support = self._grounder.ground(text, papers)
        score = round(support.score, 4)
        if support.verdict == "supported":
            citations = [progress.numbering.cite(paper, span) for paper, span in support.spans]
            told = without_stop(progress.attributed(text, [paper for paper, _ in support.spans]))
            return progress.add(Claim(told, "supported", score, tuple(citations)))
        told = in_third_person(text, THE_AUTHORS)
        if self._flags(progress.task.question):
            return progress.add(Claim(without_stop(told), support.verdict, score))
        quote = support.quote if support.verdict == "contradicted" else ""
        return progress.withhold(Withheld(told, score, support.verdict, quote))

    def check(self, sentence: str, papers: Sequence[Paper]) -> Claim:
        """Return a sentence as a claim: what papers make of it, and the words that tell so."""
        support = self._grounder.ground(sentence, papers)
        numbering = Numbering()
        citations = [numbering.cite(paper, span) for paper, span in support.spans]
        if support.verdict == "not_mentioned":
            citations = []
        text = without_stop(sentence)
        return Claim(text, support.verdict, round(support.score, 4), tuple(citations))

    @override
    async def asynthesize(
        self,
        query: str | QueryBundle,
        nodes: list[NodeWithScore],
        additional_source_nodes: Sequence[NodeWithScore] | None = None,
        **response_kwargs: Any,
    ) -> Response:
        """Answer from nodes of evidence, as `EvidenceSelector` makes them."""
        bundle = QueryBundle(query) if isinstance(query, str) else query
        evidence = [evidence_of(node) for node in nodes]
        papers = self._papers(list(dict.fromkeys(item.paper_id for item in evidence)))
        task = Task(question_of(bundle), [ScoredPaper(paper, 1.0) for paper in papers], evidence)
        answer = await last_answer(self.aevents(task))
        return as_response(answer, [*nodes, *(additional_source_nodes or ())])

    @override
    def synthesize(
        self,
        query: str | QueryBundle,
        nodes: list[NodeWithScore],
        additional_source_nodes: Sequence[NodeWithScore] | None = None,
        **response_kwargs: Any,
    ) -> Response:
        """Answer from nodes of evidence, as `EvidenceSelector` makes them."""
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


def _name_of(llm: LLM | None) -> str:
    return llm.metadata.model_name if llm else EXTRACTIVE


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
        return [(paper, stated(paper.abstract)) for paper in chosen]
    by_paper = {
        paper.id: [item for item in task.evidence if item.paper_id == paper.id] for paper in chosen
    }
    return [
        (paper, " ".join(item.text for item in choose(by_paper[paper.id], NUM_SENTENCES_SHRUNK)))
        for paper in chosen[:2]
    ]


def _by_paper(progress: AnswerInProgress, k: int | None) -> list[tuple[Paper, list[str]]]:
    """Return the first ``k`` key passages, or all, as the abstracts have them, paper by paper."""
    quotes: dict[str, list[str]] = {}
    for claim in progress.key_passages[:k]:
        quotes.setdefault(claim.citations[0].paper_id, []).append(claim.citations[0].quote)
    return [(progress.task.papers[key], texts) for key, texts in quotes.items()]


def _papers_near(task: Task) -> list[Paper]:
    """Return the papers that treat the question nearly as well as the best: they may disagree."""
    if task.question.kind != "answer":
        return []
    read = papers_to_read(task.question, task.hits)
    return [hit.paper for hit in read if hit.score >= NEAR_SHARE * read[0].score]


def _is_listing(task: Task) -> bool:
    """Tell whether many papers are asked for, of which a small model would leave most out."""
    return len(papers_to_read(task.question, task.hits)) > 1 and task.question.asks_for_papers


def _is_small(llm: LLM) -> bool:
    """Tell whether a model reads so little that it only puts key passages in plain words."""
    return llm.metadata.context_window <= SMALL_CONTEXT


def _concluded(progress: AnswerInProgress, failure: ModelError | None) -> Iterator[Event]:
    """Yield what there is to say when the model has ended, and the answer."""
    if failure:
        progress.notes.append(f"the language model failed, these are key passages: {failure}")
    elif progress.is_supported():
        yield progress.answer()
        return
    elif progress.declined or not progress.has_text():
        yield progress.abstention("not_in_abstract")
        return
    else:
        progress.notes.append(NOTE_UNSUPPORTED)
    if not progress.is_supported():
        progress.model = EXTRACTIVE
    for claim in progress.extracted():
        yield progress.add(claim)
    yield progress.answer()


def _added(one: Usage, other: Usage) -> Usage:
    return Usage(
        one.llm_calls + other.llm_calls,
        one.prompt_tokens + other.prompt_tokens,
        one.completion_tokens + other.completion_tokens,
    )

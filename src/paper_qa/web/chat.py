"""What each action of the person does: what the components of `layout` show next."""

import asyncio
import functools
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Any, ParamSpec, cast

import gradio as gr

from paper_qa.domain import EXTRACTIVE, AskOptions
from paper_qa.errors import PaperQAError
from paper_qa.user_data import new_id
from paper_qa.web.conversation import Asker, run_turn
from paper_qa.web.examples import example_questions
from paper_qa.web.kept import Kept
from paper_qa.web.line import Line
from paper_qa.web.maths import chat_text
from paper_qa.web.panel import EMPTY, panels_html
from paper_qa.web.preparation import Preparation
from paper_qa.web.present import (
    about_html,
    focus_html,
    message,
    preparation_html,
    status,
    status_html,
    trouble_html,
)
from paper_qa.web.settings_tab import options_of
from paper_qa.web.talks import exports_html, parsed, talks_html
from paper_qa.web.thumbs import thumbs_of
from paper_qa.web.turn import TurnView, history_of
from paper_qa.web.visitor import owner_of, page_of

Messages = list[dict[str, Any]]
Update = tuple[Any, ...]
Arguments = ParamSpec("Arguments")

_SKIP: Any = gr.skip()  # pyright: ignore[reportUnknownVariableType]
NUM_OUTPUTS = 7  # as `Components.outputs` has them
_NOTHING: Update = (_SKIP,) * NUM_OUTPUTS
_READY: dict[str, Any] = {"submit_btn": True, "stop_btn": False}
_BOX_READY: Any = gr.update(**_READY)
_SETTLE_S = 5
NOT_FETCHED = "Nothing was fetched: the settings leave answering to extraction."
TOO_MANY = (
    "You have two answers under way: wait for one of them, or stop it. Your question is still here."
)


def _passed_on(
    action: Callable[Arguments, AsyncGenerator[Update]],
) -> Callable[Arguments, AsyncGenerator[Update]]:
    """Make an action that returns the updates of another into one that yields them itself.

    Gradio streams what is a generator function by itself, and closes that one only.
    """

    @functools.wraps(action)
    async def passing(*args: Arguments.args, **kwargs: Arguments.kwargs) -> AsyncGenerator[Update]:
        async with aclosing(action(*args, **kwargs)) as updates:
            async for update in updates:
                yield update

    return passing


class Chat:
    """What happens on the page; a conversation lives in the page and in the person's data.

    Generators are closed explicitly all the way down, so that Stop ends a request at once.
    ``*given`` of the actions that ask is what the person has set, for `options_of`.
    """

    def __init__(
        self,
        qa: Asker,
        library: Preparation,
        model: Preparation,
        fetched: Preparation,
        kept: Kept,
    ) -> None:
        self._qa = qa
        self._library = library
        self._model = model
        self._fetched = fetched
        self._kept = kept
        self._line = Line()
        self._running: dict[str, asyncio.Event] = {}  # by the page; set when the answer is over

    async def load(self) -> AsyncGenerator[Update]:
        """Fill in what depends on the library and on the model, with progress meanwhile."""
        try:
            async for progress in self._library.wait():
                yield preparation_html("Preparing the library", progress), _SKIP, _SKIP
            papers = await asyncio.to_thread(self._qa.papers)
        except PaperQAError as error:
            yield trouble_html(str(error)), _SKIP, _SKIP
            return
        examples = [{"text": question} for question in example_questions(papers)]
        yield "", about_html(len(papers), self._qa.model_name), gr.update(examples=examples)
        try:
            async for progress in self._model.wait():
                yield preparation_html("Until then, key passages", progress), _SKIP, _SKIP
        except PaperQAError as error:
            yield trouble_html(f"{error} (until then, answers are key passages)"), _SKIP, _SKIP
            return
        yield "", about_html(len(papers), self._qa.model_name), _SKIP

    async def arrive(self, request: gr.Request) -> Update:
        """Open what the address names: a conversation (``?c=``), or a question to send (``?q=``).

        What is not named stays as it is: the person may have begun to type.
        """
        asked = cast("Mapping[str, str]", request.query_params)
        if conversation_id := asked.get("c", ""):
            return await self._opened(owner_of(request), conversation_id)
        question = asked.get("q", "")
        box: Any = gr.update(value=question) if question else _SKIP
        return (box, *_NOTHING[1:])

    @_passed_on
    def ask(
        self,
        question: str,
        messages: Messages,
        conversation_id: str,
        turns: list[TurnView],
        request: gr.Request,
        *given: Any,
    ) -> AsyncGenerator[Update]:
        """Answer what was typed; an empty question does nothing."""
        options = options_of(*given)
        return self._asked(question, None, messages, conversation_id, turns, request, options)

    @_passed_on
    def ask_example(
        self,
        messages: Messages,
        conversation_id: str,
        turns: list[TurnView],
        request: gr.Request,
        chosen: gr.SelectData,
        *given: Any,
    ) -> AsyncGenerator[Update]:
        """Answer an example question."""
        question, options = str(chosen.value["text"]), options_of(*given)
        return self._asked(question, None, messages, conversation_id, turns, request, options)

    async def summarise(
        self,
        command: str,
        messages: Messages,
        conversation_id: str,
        turns: list[TurnView],
        request: gr.Request,
        *given: Any,
    ) -> AsyncGenerator[Update]:
        """Summarise the paper that a link of the page names, if the library has it."""
        paper_id = parsed(command)[1]
        title = await self._title_of(paper_id)
        question = f"Summarise “{title}”" if title else ""
        options = _about(options_of(*given), paper_id)
        run = self._asked(question, None, messages, conversation_id, turns, request, options)
        async with aclosing(run) as updates:
            async for update in updates:
                yield update

    @_passed_on
    def retry(
        self,
        messages: Messages,
        conversation_id: str,
        turns: list[TurnView],
        request: gr.Request,
        chosen: gr.RetryData,
        *given: Any,
    ) -> AsyncGenerator[Update]:
        """Answer a question again; what came after it is dropped."""
        options, place = options_of(*given), chosen.index
        return self._asked("", place, messages, conversation_id, turns, request, options)

    @_passed_on
    def edit(
        self,
        messages: Messages,
        conversation_id: str,
        turns: list[TurnView],
        request: gr.Request,
        chosen: gr.EditData,
        *given: Any,
    ) -> AsyncGenerator[Update]:
        """Answer a question in its new words; what came after it is dropped."""
        words, options, place = str(chosen.value), options_of(*given), chosen.index
        return self._asked(words, place, messages, conversation_id, turns, request, options)

    async def _asked(
        self,
        words: str,
        index: int | tuple[int, int] | None,
        messages: Messages,
        conversation_id: str,
        turns: list[TurnView],
        request: gr.Request,
        options: AskOptions,
    ) -> AsyncGenerator[Update]:
        """Answer at the end, or at the message of this index: there, without words, as before."""
        owner = owner_of(request)
        question = words.strip()
        if index is None:
            turns = await self._kept.grown(owner, conversation_id, turns)
            place = len(turns)
        else:
            num_asked = _num_questions(messages)
            turns = await self._kept.latest(owner, conversation_id, turns, num_asked)
            place = _num_questions(messages[: index if isinstance(index, int) else index[0]])
            question = (question or turns[place].question) if place < len(turns) else ""
        if not question:
            yield _NOTHING
            return
        run = self._run(question, conversation_id, turns[:place], request, options)
        async with aclosing(run) as updates:
            async for update in updates:
                yield update

    async def _run(
        self,
        question: str,
        conversation_id: str,
        turns: list[TurnView],
        request: gr.Request,
        options: AskOptions,
    ) -> AsyncGenerator[Update]:
        owner, page = owner_of(request), page_of(request)
        if page in self._running:
            yield _NOTHING
            return
        if not self._line.admit(owner):
            yield _said(TOO_MANY)
            return
        over = self._running[page] = asyncio.Event()
        try:
            run = self._answered(question, owner, conversation_id or new_id(), turns, options)
            async with aclosing(run) as updates:
                async for update in updates:
                    yield update
        finally:
            self._line.dismiss(owner)
            del self._running[page]
            over.set()

    async def _answered(
        self,
        question: str,
        owner: str,
        conversation_id: str,
        turns: list[TurnView],
        options: AskOptions,
    ) -> AsyncGenerator[Update]:
        turn = TurnView(question, model=self._qa.model_name)
        # Kept before there is an answer: a page that is loaded anew finds its question again.
        trouble = await self._kept.keep(
            owner, conversation_id, len(turns), replace(turn, stopped=True)
        )
        thumbs = thumbs_of(turns, await self._kept.verdicts(owner)) if turns else []
        starred = await self._kept.starred(owner)
        box: Any = gr.update(value="", submit_btn=False, stop_btn="Stop")
        try:
            run = run_turn(self._qa, self._library, self._line, turn, history_of(turns), options)
            async with aclosing(run) as states:
                async for state in states:
                    turn = state
                    if not turn.stage:  # it is over: shown once it is kept
                        continue
                    messages, *shown = _shown([*turns, turn], starred)
                    if box is not _SKIP:  # the first time, with the thumbs of who stays
                        messages = gr.update(value=messages, feedback_value=[*thumbs, None])
                    yield (box, messages, *shown, conversation_id)
                    box = _SKIP
                    starred = await self._kept.starred(owner)
        finally:
            if turn.stage:
                turn = replace(turn, stage="", stopped=True)
            keeping = self._kept.keep(owner, conversation_id, len(turns), turn)
            trouble = await asyncio.shield(keeping) or trouble
        shown = _shown([*turns, turn], starred)
        if trouble:
            told = status_html(f"{status(turn)} It could not be kept: {trouble}")
            shown = (*shown[:3], told, *shown[4:])
        yield (_BOX_READY, *shown, conversation_id)

    async def stop(
        self, conversation_id: str, turns: list[TurnView], request: gr.Request
    ) -> Update:
        """Say that the answer was stopped; what had come of it stays."""
        await self._settled(request)
        if not _is_running(turns):
            return (_BOX_READY, *_NOTHING[1:])
        owner = owner_of(request)
        stopped = [*turns[:-1], replace(turns[-1], stage="", stopped=True)]
        shown = _shown(stopped, await self._kept.starred(owner))
        return (_BOX_READY, *shown, conversation_id)

    async def clear(self, request: gr.Request) -> Update:
        """Begin a new conversation."""
        await self._settled(request)
        return _emptied()

    async def open(self, command: str, request: gr.Request) -> Update:
        """Open the conversation that a link of the page names."""
        await self._settled(request)
        return await self._opened(owner_of(request), parsed(command)[1])

    async def delete(self, conversation_id: str, request: gr.Request) -> Update:
        """Delete the conversation that is open, and begin a new one."""
        await self._settled(request)
        try:
            await self._kept.delete(owner_of(request), conversation_id)
        except PaperQAError as error:
            return _said(f"It was not deleted: {error}")
        return _emptied()

    async def _settled(self, request: gr.Request) -> None:
        """Wait until the answer that was cancelled in this moment is over, and kept."""
        if over := self._running.get(page_of(request)):
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), _SETTLE_S)

    async def _opened(self, owner: str, conversation_id: str) -> Update:
        turns = await self._kept.turns(owner, conversation_id)
        if turns is None:
            return _NOTHING
        messages, *shown = _shown(turns, await self._kept.starred(owner))
        thumbs = thumbs_of(turns, await self._kept.verdicts(owner))
        chat: Any = gr.update(value=messages, feedback_value=thumbs)
        return (_BOX_READY, chat, *shown, conversation_id)

    async def listed(
        self, words: str, conversation_id: str, request: gr.Request
    ) -> tuple[str, str]:
        """List the conversations that have these words, and what can be done with the open one."""
        owner = owner_of(request)
        try:
            heads = await self._kept.conversations(owner)
            found = await self._kept.conversations(owner, words) if words.strip() else heads
        except PaperQAError as error:
            return trouble_html(str(error)), ""
        is_kept = any(head.id == conversation_id for head in heads)
        talks = talks_html(found, conversation_id, is_search=bool(words.strip()))
        return talks, exports_html(conversation_id if is_kept else "")

    async def rename(self, title: str, conversation_id: str, request: gr.Request) -> str:
        """Give the conversation that is open another title; a blank one changes nothing."""
        with suppress(PaperQAError):
            await self._kept.rename(owner_of(request), conversation_id, title)
        return ""

    async def star(
        self,
        command: str,
        messages: Messages,
        conversation_id: str,
        turns: list[TurnView],
        request: gr.Request,
    ) -> tuple[Any, Any]:
        """Put the paper that a link names on the reading list, or take it off; show its star."""
        verb, paper_id = parsed(command)
        if verb not in {"star", "unstar"}:
            return _SKIP, _SKIP
        owner = owner_of(request)
        with suppress(PaperQAError):  # it was removed in this moment
            if verb == "star":
                await self._kept.star(owner, await asyncio.to_thread(self._qa.paper, paper_id))
            else:
                await self._kept.unstar(owner, paper_id)
        turns = await self._kept.latest(owner, conversation_id, turns, _num_questions(messages))
        return panels_html(turns, await self._kept.starred(owner))

    async def unfocus(self) -> tuple[Any, Any, Any]:
        """Let the next questions be about all papers."""
        return await self.focus("everything")

    async def focus(self, command: str) -> tuple[Any, Any, Any]:
        """Narrow the next questions to one paper, or not any longer; show which one it is."""
        verb, paper_id = parsed(command)
        if verb not in {"about", "everything"}:
            return _SKIP, _SKIP, _SKIP
        title = await self._title_of(paper_id) if verb == "about" else ""
        hint = "Ask about this paper" if title else "Ask about the papers"
        return paper_id if title else "", focus_html(title), gr.update(placeholder=hint)

    async def fetch(self) -> AsyncGenerator[str]:
        """Fetch the embedded model, with progress; where another one is configured, say so."""
        try:
            async for progress in self._fetched.wait():
                yield preparation_html("Fetching", progress)
        except PaperQAError as error:
            yield trouble_html(str(error))
            return
        name = self._qa.model_name
        yield NOT_FETCHED if name == EXTRACTIVE else f"{chat_text(name)} answers."

    async def _title_of(self, paper_id: str) -> str:
        try:
            return (await asyncio.to_thread(self._qa.paper, paper_id)).name
        except PaperQAError:
            return ""


def _about(options: AskOptions, paper_id: str) -> AskOptions:
    return replace(options, scope=replace(options.scope, paper_ids=(paper_id,)))


def _said(words: str) -> Update:
    """Return an update that says something in the status line, and leaves all else."""
    return (*_NOTHING[:4], status_html(words), *_NOTHING[5:])


def _shown(turns: list[TurnView], starred: frozenset[str]) -> Update:
    """Return the chat, both parts of the panel, the status line and the state for ``turns``."""
    if not turns:
        return [], EMPTY, "", status_html(""), turns
    messages: Messages = []
    for turn in turns:
        messages += [
            {"role": "user", "content": chat_text(turn.question)},
            {"role": "assistant", "content": message(turn)},
        ]
    last = turns[-1]
    said = status_html(status(last), last.progress)
    return messages, *panels_html(turns, starred), said, turns


def _emptied() -> Update:
    """Return an empty page; made anew each time, since Gradio takes updates apart."""
    chat: Any = gr.update(value=[], feedback_value=[])
    return (gr.update(**_READY, value=""), chat, *_shown([], frozenset())[1:], "")


def _is_running(turns: Sequence[TurnView]) -> bool:
    return bool(turns and turns[-1].stage)


def _num_questions(messages: Messages) -> int:
    return sum(message["role"] == "user" for message in messages)

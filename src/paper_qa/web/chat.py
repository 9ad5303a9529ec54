"""What each action of the person does: what the components of `layout` show next."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import gradio as gr

from paper_qa.errors import PaperQAError
from paper_qa.web.conversation import Asker, run_turn
from paper_qa.web.examples import example_questions
from paper_qa.web.maths import chat_text, plain_text
from paper_qa.web.panel import EMPTY, panel_html
from paper_qa.web.preparation import Preparation
from paper_qa.web.present import (
    about_html,
    message,
    preparation_html,
    status,
    status_html,
    trouble_html,
)
from paper_qa.web.turn import TurnView, history_of

Messages = list[dict[str, Any]]
Update = tuple[Any, ...]

_SKIP: Any = gr.skip()  # pyright: ignore[reportUnknownVariableType]
_NOTHING: Update = (_SKIP,) * 5
_READY: dict[str, Any] = {"submit_btn": True, "stop_btn": False}
_BOX_READY: Any = gr.update(**_READY)
_OVER: Update = (_BOX_READY, *_NOTHING[1:])


class Chat:
    """What happens on the page; a conversation lives in the page and in its session's state.

    Generators are closed explicitly all the way down, so that Stop ends a request at once.
    """

    def __init__(self, qa: Asker, library: Preparation, model: Preparation) -> None:
        self._qa = qa
        self._library = library
        self._model = model

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

    async def ask(
        self, question: str, messages: Messages, turns: list[TurnView]
    ) -> AsyncGenerator[Update]:
        """Answer what was typed; an empty question does nothing."""
        turns = _kept_turns(messages, turns)
        if not question.strip() or _is_running(turns):
            yield _NOTHING
            return
        async with aclosing(self._run(question.strip(), messages, turns)) as updates:
            async for update in updates:
                yield update

    async def ask_example(
        self, messages: Messages, turns: list[TurnView], chosen: gr.SelectData
    ) -> AsyncGenerator[Update]:
        """Answer an example question."""
        async with aclosing(self.ask(chosen.value["text"], messages, turns)) as updates:
            async for update in updates:
                yield update

    async def retry(
        self, messages: Messages, turns: list[TurnView], chosen: gr.RetryData
    ) -> AsyncGenerator[Update]:
        """Answer a question again; what came after it is dropped."""
        turns = _kept_turns(messages, turns)
        if _is_running(turns):
            yield _NOTHING
            return
        index = chosen.index if isinstance(chosen.index, int) else chosen.index[0]
        earlier = messages[:index]
        kept = _num_questions(earlier)
        question = turns[kept].question
        async with aclosing(self._run(question, earlier, turns[:kept])) as updates:
            async for update in updates:
                yield update

    async def _run(
        self, question: str, messages: Messages, turns: list[TurnView]
    ) -> AsyncGenerator[Update]:
        messages = [*messages, {"role": "user", "content": chat_text(question)}]
        box: Any = gr.update(value="", submit_btn=False, stop_btn="Stop")
        run = run_turn(self._qa, self._library, question, history_of(turns))
        async with aclosing(run) as states:
            async for turn in states:
                yield box, *_shown(messages, [*turns, turn])
                box = _SKIP
        yield _OVER

    def stop(self, messages: Messages, turns: list[TurnView]) -> Update:
        """Say that the answer was stopped; what had come of it stays."""
        if not _is_running(turns):
            return _OVER
        stopped = replace(turns[-1], stage="", stopped=True)
        return _BOX_READY, *_shown(_without_last_answer(messages), [*turns[:-1], stopped])

    def clear(self) -> Update:
        """Begin a new conversation."""
        return gr.update(**_READY, value=""), [], EMPTY, status_html(""), []


def _shown(messages: Messages, turns: list[TurnView]) -> Update:
    """Return the chat, the panel, the status line and the state for ``turns``."""
    turn = turns[-1]
    answered = [*messages, {"role": "assistant", "content": message(turn)}]
    return answered, panel_html(turns), status_html(status(turn), turn.progress), turns


def _is_running(turns: Sequence[TurnView]) -> bool:
    return bool(turns and turns[-1].stage)


def _kept_turns(messages: Messages, turns: list[TurnView]) -> list[TurnView]:
    """Return the turns; after a restart of the server, what the page still shows of them."""
    if len(turns) >= _num_questions(messages):
        return turns
    return [
        TurnView(_text_of(question), earlier_text=_text_of(answer))
        for question, answer in zip(messages[::2], messages[1::2], strict=False)
    ]


def _num_questions(messages: Messages) -> int:
    return sum(message["role"] == "user" for message in messages)


def _without_last_answer(messages: Messages) -> Messages:
    return messages[:-1] if messages and messages[-1]["role"] == "assistant" else messages


def _text_of(message: dict[str, Any]) -> str:
    """Return a message's text; Gradio hands it back in parts."""
    content = message["content"]
    if isinstance(content, str):
        return plain_text(content)
    return plain_text("".join(part.get("text", "") for part in content))

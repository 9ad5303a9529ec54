import asyncio
import time
from typing import Any

import gradio as gr
import pytest

from paper_qa.domain import Turn
from paper_qa.errors import LibraryError, ModelFileError
from paper_qa.web.chat import Chat
from paper_qa.web.preparation import Preparation
from paper_qa.web.turn import TurnView
from scripted_qa import ScriptedQA, play
from web_papers import PAPERS, claims

Conversation = tuple[list[dict[str, Any]], list[TurnView]]
NOTHING: Conversation = ([], [])


def chat_about(**fields: Any) -> tuple[Chat, ScriptedQA]:
    qa = ScriptedQA(PAPERS, lambda question: play(question, PAPERS, claims()), **fields)
    return Chat(qa, Preparation(qa.prepare), Preparation(lambda _report: None)), qa


def updates(steps: Any) -> list[tuple[Any, ...]]:
    async def run() -> list[tuple[Any, ...]]:
        return [step async for step in steps]

    return asyncio.run(run())


def after(steps: Any) -> Conversation:
    """Return the conversation that the page and its state hold after these steps."""
    _, messages, _, _, turns = [step for step in updates(steps) if isinstance(step[4], list)][-1]
    return as_gradio_returns(messages), turns


def as_gradio_returns(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {**message, "content": [{"type": "text", "text": message["content"]}]}
        if isinstance(message["content"], str)
        else message
        for message in messages
    ]


def is_skip(value: Any) -> bool:
    return value == gr.skip()


def test_a_question_clears_the_box_and_ends_with_the_box_ready() -> None:
    chat, _ = chat_about()

    first, *_, last = updates(chat.ask(" How? ", *NOTHING))

    assert first[0] == gr.update(value="", submit_btn=False, stop_btn="Stop")
    assert first[1][0] == {"role": "user", "content": "How?"}
    assert last[0] == gr.update(submit_btn=True, stop_btn=False)
    assert all(is_skip(value) for value in last[1:])


@pytest.mark.parametrize(
    ("question", "turns"), [(" \n", []), ("How?", [TurnView("before", stage="Writing")])]
)
def test_a_blank_question_or_a_second_one_at_a_time_does_nothing(question, turns) -> None:
    chat, qa = chat_about()

    (update,) = updates(chat.ask(question, [], turns))

    assert all(is_skip(value) for value in update)
    assert qa.asked == []


def test_an_example_is_asked_like_any_question() -> None:
    chat, qa = chat_about()
    chosen = gr.SelectData(None, {"index": 0, "value": {"text": "How?"}})

    updates(chat.ask_example(*NOTHING, chosen))

    assert qa.asked == [("How?", ())]


def test_retry_drops_what_came_after_and_keeps_what_came_before() -> None:
    chat, qa = chat_about()
    conversation = after(chat.ask("First?", *NOTHING))
    conversation = after(chat.ask("Second $x_1$?", *conversation))
    conversation = after(chat.ask("Third?", *conversation))

    messages, turns = after(
        chat.retry(*conversation, gr.RetryData(None, {"index": 2, "value": ""}))
    )

    assert [turn.question for turn in turns] == ["First?", "Second $x_1$?"]
    assert len(messages) == 4
    question, history = qa.asked[-1]
    assert question == "Second $x_1$?"
    assert [turn.content for turn in history if turn.role == "user"] == ["First?"]


def test_retry_while_an_answer_is_on_its_way_does_nothing() -> None:
    chat, qa = chat_about()
    running = [TurnView("How?", stage="Writing")]

    (update,) = updates(chat.retry([], running, gr.RetryData(None, {"index": (0, 0), "value": ""})))

    assert all(is_skip(value) for value in update)
    assert qa.asked == []


def test_after_a_restart_of_the_server_the_page_is_believed() -> None:
    chat, qa = chat_about()
    messages, _ = after(chat.ask("What is $k$-WL?", *NOTHING))

    _, turns = after(chat.ask("And then?", messages, []))

    history = qa.asked[-1][1]
    assert history[0] == Turn("user", "What is $k$-WL?")
    assert "aligned with $k$-WL [2]." in history[1].content
    assert [turn.question for turn in turns] == ["What is $k$-WL?", "And then?"]


def test_stop_keeps_what_had_come() -> None:
    chat, _ = chat_about()
    messages, turns = after(chat.ask("How?", *NOTHING))
    running = TurnView("How?", stage="Writing", claims=turns[0].claims)

    box, shown, _, status, stopped = chat.stop(messages, [running])

    assert box == gr.update(submit_btn=True, stop_btn=False)
    assert len(shown) == 2
    assert shown[-1]["content"].endswith("*Stopped.*")
    assert "Stopped." in status
    assert stopped[0].stage == ""


def test_stop_after_the_end_changes_nothing() -> None:
    chat, _ = chat_about()

    assert is_skip(chat.stop(*after(chat.ask("How?", *NOTHING)))[1])
    assert is_skip(chat.stop([], [])[1])


def test_a_new_chat_is_empty() -> None:
    chat, _ = chat_about()

    box, messages, panel, _, turns = chat.clear()

    assert box["value"] == ""
    assert messages == turns == []
    assert "No sources yet" in panel


def test_the_page_fills_when_the_library_is_ready() -> None:
    chat, _ = chat_about(prepare_steps=2, prepare_step_s=0.2)

    states = updates(chat.load())
    first = next(number for number, state in enumerate(states) if state[0] == "")
    waiting, ready = states[:first], states[first]

    assert "Preparing the library" in waiting[-1][0]
    assert "3 papers" in ready[1]
    assert ready[2]["examples"][0] == {"text": "How does Momentor get its training data?"}


def test_the_page_shows_how_the_model_comes_and_who_answers_then() -> None:
    chat, qa = chat_about()

    def fetch(report) -> None:
        for done in (100, 200):
            report("Fetching a model", done, 300)
            time.sleep(0.25)
        qa.model_name = "a-model"

    chat = Chat(qa, Preparation(qa.prepare), Preparation(fetch))
    states = updates(chat.load())

    assert any("fetching a model, 200 of 300" in state[0] for state in states)
    assert "key passages" in states[-2][0]
    assert states[-1][0] == ""
    assert "a-model" in states[-1][1]


def test_a_model_that_does_not_come_is_told_and_key_passages_stay() -> None:
    chat, qa = chat_about()

    def fetch(_report) -> None:
        raise ModelFileError("nobody has it: bring it by hand")

    chat = Chat(qa, Preparation(qa.prepare), Preparation(fetch))

    assert "Nobody has it: bring it by hand (until then" in updates(chat.load())[-1][0]


def test_trouble_with_the_library_is_told() -> None:
    chat, _ = chat_about(prepare_errors=[LibraryError("the disk is full")])

    last = updates(chat.load())[-1]

    assert "The disk is full" in last[0]

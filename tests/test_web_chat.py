import asyncio
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from paper_qa.domain import AS_CONFIGURED, AskOptions, Scope, Turn
from paper_qa.errors import LibraryError, ModelFileError
from paper_qa.user_data import FILE_NAME, UserData, UserDataError
from paper_qa.web.chat import NUM_OUTPUTS, TOO_MANY, Chat
from paper_qa.web.kept import Kept
from paper_qa.web.line import MOST_OF_ONE
from paper_qa.web.preparation import Preparation
from paper_qa.web.security import OWNER
from paper_qa.web.turn import TurnView
from scripted_qa import ScriptedQA, play
from web_papers import GRAPHS, PAPERS, VIDEO, claims

ME, OTHER = "m" * 32, "o" * 32
Talk = tuple[list[dict[str, Any]], str, list[TurnView]]
NEW: Talk = ([], "", [])
UNSET = ("", "", "", "", "", 0, "model", "configured", False, 0.5)


@dataclass
class Visit:
    """What Gradio tells of the page that asks."""

    owner: str = ME
    session_hash: str = "page"
    query_params: dict[str, str] = field(default_factory=dict)

    @property
    def headers(self) -> dict[str, str]:
        return {"cookie": f"{OWNER}={self.owner}"} if self.owner else {}


@pytest.fixture
def data(tmp_path: Path) -> Iterator[UserData]:
    with closing(UserData(tmp_path / FILE_NAME)) as data:
        yield data


def chat_about(data: UserData, **fields: Any) -> tuple[Chat, ScriptedQA]:
    qa = ScriptedQA(PAPERS, lambda question: play(question, PAPERS, claims()), **fields)
    return chat_of(qa, data), qa


def chat_of(qa: ScriptedQA, data: UserData, model: Any = lambda _report: None) -> Chat:
    fetched = Preparation(lambda _report: None)
    return Chat(qa, Preparation(qa.prepare), Preparation(model), fetched, Kept(data))


def updates(steps: Any) -> list[tuple[Any, ...]]:
    async def run() -> list[tuple[Any, ...]]:
        return [step async for step in steps]

    return asyncio.run(run())


def after(steps: Any) -> Talk:
    """Return the conversation that the page and its state hold after these steps."""
    _, chat, _, _, _, turns, conversation_id = [
        step for step in updates(steps) if isinstance(step[5], list)
    ][-1]
    return as_gradio_returns(messages_of(chat)), conversation_id, turns


def messages_of(chat: Any) -> list[dict[str, Any]]:
    return chat["value"] if isinstance(chat, dict) else chat


def as_gradio_returns(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {**message, "content": [{"type": "text", "text": message["content"]}]}
        if isinstance(message["content"], str)
        else message
        for message in messages
    ]


def is_skip(value: Any) -> bool:
    return value == gr.skip()


def retried(index: Any) -> gr.RetryData:
    return gr.RetryData(None, {"index": index, "value": ""})


def test_a_question_clears_the_box_and_ends_with_the_box_ready(data: UserData) -> None:
    chat, _ = chat_about(data)

    first, *_, last = updates(chat.ask(" How? ", *NEW, Visit(), *UNSET))

    assert first[0] == gr.update(value="", submit_btn=False, stop_btn="Stop")
    assert messages_of(first[1])[0] == {"role": "user", "content": "How?"}
    assert first[6] == last[6]
    assert last[0] == gr.update(submit_btn=True, stop_btn=False)
    assert "[1]" in messages_of(last[1])[1]["content"]


def test_a_blank_question_does_nothing(data: UserData) -> None:
    chat, qa = chat_about(data)

    (update,) = updates(chat.ask(" \n", *NEW, Visit(), *UNSET))

    assert len(update) == NUM_OUTPUTS
    assert all(is_skip(value) for value in update)
    assert qa.asked == []


def test_a_page_has_one_answer_under_way_at_a_time(data: UserData) -> None:
    chat, qa = chat_about(data, pause_s=0.05)

    async def both() -> list[list[Any]]:
        async def run(question: str) -> list[Any]:
            return [step async for step in chat.ask(question, *NEW, Visit(), *UNSET)]

        return await asyncio.gather(run("First?"), run("Second?"))

    first, second = asyncio.run(both())

    assert len(first) > 3
    assert [all(is_skip(value) for value in update) for update in second] == [True]
    assert [question for question, _ in qa.asked] == ["First?"]


def test_a_person_has_a_few_answers_under_way_and_keeps_the_question_that_is_one_too_many(
    data: UserData,
) -> None:
    chat, _ = chat_about(data, pause_s=0.05)

    async def run(page: str, owner: str = ME) -> list[Any]:
        visit = Visit(owner, page)
        return [step async for step in chat.ask(page, *NEW, visit, *UNSET)]

    async def many() -> list[list[Any]]:
        pages = [run(f"page-{n}") for n in range(MOST_OF_ONE + 1)]
        done = await asyncio.gather(*pages, run("elsewhere", OTHER))
        return [*done, await run("later")]

    *answered, refused, other, later = asyncio.run(many())

    (update,) = refused
    assert TOO_MANY in update[4]
    assert all(is_skip(value) for place, value in enumerate(update) if place != 4)
    assert all(len(steps) > 3 for steps in (*answered, other, later))
    assert len(data.conversations(ME)) == MOST_OF_ONE + 1


def test_an_example_is_asked_like_any_question(data: UserData) -> None:
    chat, qa = chat_about(data)
    chosen = gr.SelectData(None, {"index": 0, "value": {"text": "How?"}})

    updates(chat.ask_example(*NEW, Visit(), chosen, *UNSET))

    assert qa.asked == [("How?", ())]
    assert qa.options == [AS_CONFIGURED]


def test_what_is_set_comes_with_every_question(data: UserData) -> None:
    chat, qa = chat_about(data)
    given = (VIDEO.id, "2020", "2024", " Qian ", "ICML", 5, "passages", "flag", True, 0.3)

    talk = after(chat.ask("How?", *NEW, Visit(), *given))
    updates(chat.retry(*talk, Visit(), retried(0), *given))

    scope = Scope(2020, 2024, "ICML", "Qian", (VIDEO.id,))
    expected = AskOptions(scope, 5, write=False, flag_unsupported=True, abstain_threshold=0.3)
    assert qa.options == [expected, expected]


def test_a_summary_is_asked_of_the_one_paper(data: UserData) -> None:
    chat, qa = chat_about(data)

    updates(chat.summarise(f"summarise/{VIDEO.id}/1", *NEW, Visit(), *UNSET))
    updates(chat.summarise("summarise/unknown/2", *NEW, Visit(), *UNSET))

    assert [question for question, _ in qa.asked] == [f"Summarise “{VIDEO.title}”"]
    assert qa.options[0].scope.paper_ids == (VIDEO.id,)


def test_retry_drops_what_came_after_and_keeps_what_came_before(data: UserData) -> None:
    chat, qa = chat_about(data)
    talk = after(chat.ask("First?", *NEW, Visit(), *UNSET))
    talk = after(chat.ask("Second $x_1$?", *talk, Visit(), *UNSET))
    talk = after(chat.ask("Third?", *talk, Visit(), *UNSET))

    messages, conversation_id, turns = after(chat.retry(*talk, Visit(), retried(2), *UNSET))

    assert conversation_id == talk[1]
    assert [turn.question for turn in turns] == ["First?", "Second $x_1$?"]
    assert len(messages) == 4
    question, history = qa.asked[-1]
    assert question == "Second $x_1$?"
    assert [turn.content for turn in history if turn.role == "user"] == ["First?"]
    kept = data.conversation(ME, conversation_id).exchanges
    assert [exchange.question for exchange in kept] == ["First?", "Second $x_1$?"]


def test_an_edited_question_is_asked_in_its_new_words(data: UserData) -> None:
    chat, _ = chat_about(data)
    talk = after(chat.ask("First?", *NEW, Visit(), *UNSET))
    edited = gr.EditData(None, {"index": (0, 0), "value": " Other? ", "previous_value": "First?"})

    _, _, turns = after(chat.edit(*talk, Visit(), edited, *UNSET))

    assert [turn.question for turn in turns] == ["Other?"]


def test_what_is_no_question_of_the_conversation_can_not_be_retried(data: UserData) -> None:
    chat, qa = chat_about(data)

    (update,) = updates(chat.retry(*NEW, Visit(), retried((0, 0)), *UNSET))

    assert all(is_skip(value) for value in update)
    assert qa.asked == []


def test_after_a_restart_of_the_server_the_turns_come_back_by_the_conversation(
    data: UserData,
) -> None:
    messages, conversation_id, before = after(
        chat_about(data)[0].ask("What is $k$-WL?", *NEW, Visit(), *UNSET)
    )
    chat, qa = chat_about(data)

    _, _, turns = after(chat.ask("And?", messages, conversation_id, [], Visit(), *UNSET))

    assert qa.asked[-1][1][0] == Turn("user", "What is $k$-WL?")
    assert turns[0] == before[0]
    assert [turn.question for turn in turns] == ["What is $k$-WL?", "And?"]


def test_what_another_tab_has_added_to_a_conversation_stays_in_it(data: UserData) -> None:
    chat, qa = chat_about(data)
    messages, conversation_id, turns = after(chat.ask("First?", *NEW, Visit(), *UNSET))
    talk = (messages, conversation_id, turns)
    after(chat.ask("There?", *talk, Visit(ME, "another"), *UNSET))

    _, _, shown = after(chat.ask("Here?", *talk, Visit(), *UNSET))

    asked = ["First?", "There?", "Here?"]
    assert [turn.question for turn in shown] == asked
    kept = data.conversation(ME, conversation_id).exchanges
    assert [exchange.question for exchange in kept] == asked
    assert [turn.content for turn in qa.asked[-1][1][::2]] == asked[:2]


def test_a_new_chat_is_about_all_papers_again(data: UserData) -> None:
    chat, _ = chat_about(data)

    about = asyncio.run(chat.focus(f"about/{GRAPHS.id}/1"))
    paper_id, shown, box = asyncio.run(chat.unfocus())

    assert about[0] == GRAPHS.id
    assert (paper_id, shown) == ("", "")
    assert box["placeholder"] == "Ask about the papers"


def test_another_person_gets_nothing_by_the_id_of_a_conversation(data: UserData) -> None:
    chat, qa = chat_about(data)
    messages, conversation_id, _ = after(chat.ask("How?", *NEW, Visit(), *UNSET))

    for owner in (OTHER, ""):
        visit = Visit(owner, query_params={"c": conversation_id})
        assert all(is_skip(value) for value in asyncio.run(chat.arrive(visit)))
        opened = asyncio.run(chat.open(f"open/{conversation_id}/1", visit))
        assert all(is_skip(value) for value in opened)
        assert "What you ask" in asyncio.run(chat.listed("", conversation_id, visit))[0]
        asyncio.run(chat.rename("Theirs", conversation_id, visit))
        asyncio.run(chat.delete(conversation_id, visit))
        after(chat.ask("And?", messages, conversation_id, [], visit, *UNSET))

    assert qa.asked[-1] == ("And?", ())
    assert [head.title for head in data.conversations(ME)] == ["How?"]
    assert len(data.conversation(ME, conversation_id).exchanges) == 1


def test_the_address_opens_a_conversation_or_fills_the_box(data: UserData) -> None:
    chat, _ = chat_about(data)
    messages, conversation_id, turns = after(chat.ask("How?", *NEW, Visit(), *UNSET))

    opened = asyncio.run(chat.arrive(Visit(query_params={"c": conversation_id})))
    filled = asyncio.run(chat.arrive(Visit(query_params={"q": "Why?"})))
    plain = asyncio.run(chat.arrive(Visit()))

    assert as_gradio_returns(messages_of(opened[1])) == messages
    assert opened[5:] == (turns, conversation_id)
    assert filled[0] == gr.update(value="Why?")
    assert all(is_skip(value) for value in (*filled[1:], *plain))


def test_a_question_is_kept_before_its_answer_is_there(data: UserData) -> None:
    chat, _ = chat_about(data)

    async def first_step() -> None:
        run = chat.ask("How?", *NEW, Visit(), *UNSET)
        await anext(run)
        (head,) = data.conversations(ME)
        (exchange,) = data.conversation(ME, head.id).exchanges
        assert (exchange.question, exchange.answer, exchange.stopped) == ("How?", None, True)
        await run.aclose()

    asyncio.run(first_step())

    assert len(data.conversations(ME)) == 1


def test_stop_keeps_what_had_come(data: UserData) -> None:
    chat, _ = chat_about(data, pause_s=0.08)

    async def run() -> tuple[Any, ...]:
        steps = chat.ask("How?", *NEW, Visit(), *UNSET)
        async for step in steps:
            if step[5] != gr.skip() and step[5][-1].claims:
                break
        stopping = asyncio.ensure_future(chat.stop(step[6], step[5], Visit()))
        await asyncio.sleep(0.02)
        assert not stopping.done()  # it waits for what it stops
        await steps.aclose()
        return await stopping

    box, shown, _, _, status, stopped, conversation_id = asyncio.run(run())

    assert box == gr.update(submit_btn=True, stop_btn=False)
    assert len(shown) == 2
    assert shown[-1]["content"].endswith("*Stopped.*")
    assert "Stopped." in status
    assert stopped[0].stage == ""
    (exchange,) = data.conversation(ME, conversation_id).exchanges
    assert exchange.stopped
    assert exchange.answer.claims == stopped[0].claims
    assert [item.paper_id for item in exchange.answer.references] == [VIDEO.id]


def test_stop_after_the_end_changes_nothing(data: UserData) -> None:
    chat, _ = chat_about(data)
    _, conversation_id, turns = after(chat.ask("How?", *NEW, Visit(), *UNSET))

    assert is_skip(asyncio.run(chat.stop(conversation_id, turns, Visit()))[1])
    assert is_skip(asyncio.run(chat.stop("", [], Visit()))[1])


def test_a_new_chat_is_empty(data: UserData) -> None:
    chat, _ = chat_about(data)

    box, messages, panel, earlier, _, turns, conversation_id = asyncio.run(chat.clear(Visit()))

    assert box["value"] == conversation_id == ""
    assert messages_of(messages) == turns == []
    assert "No sources yet" in panel
    assert earlier == ""


def test_conversations_are_listed_searched_renamed_and_deleted(data: UserData) -> None:
    chat, _ = chat_about(data)
    _, first, _ = after(chat.ask("About graphs?", *NEW, Visit(), *UNSET))
    _, second, _ = after(chat.ask("About films?", *NEW, Visit(), *UNSET))

    everything, exports = asyncio.run(chat.listed("", first, Visit()))
    found, _ = asyncio.run(chat.listed("films", first, Visit()))
    nothing, _ = asyncio.run(chat.listed("zebra", first, Visit()))

    assert everything.index("films") < everything.index("graphs")
    assert f"/export/conversation/{first}.md" in exports
    assert second in found
    assert first not in found
    assert "No conversation has these words" in nothing
    assert asyncio.run(chat.rename(" ", first, Visit())) == ""
    assert asyncio.run(chat.rename("Graphs <b>", first, Visit())) == ""
    assert "Graphs &lt;b&gt;" in asyncio.run(chat.listed("", "", Visit()))[0]
    emptied = asyncio.run(chat.delete(first, Visit()))
    assert messages_of(emptied[1]) == []
    assert [head.id for head in data.conversations(ME)] == [second]


def test_stars_show_on_the_cards_and_stay_private(data: UserData) -> None:
    chat, _ = chat_about(data)
    talk = after(chat.ask("How?", *NEW, Visit(), *UNSET))

    starred, _ = asyncio.run(chat.star(f"star/{VIDEO.id}/1", *talk, Visit()))
    restarted, _ = asyncio.run(chat.star(f"star/{GRAPHS.id}/2", talk[0], talk[1], [], Visit()))
    asyncio.run(chat.star(f"star/{GRAPHS.id}/3", *talk, Visit("")))
    asyncio.run(chat.star("star/unknown/3", *talk, Visit()))

    assert starred.count("On your reading list") == 1
    assert restarted.count("On your reading list") == 2
    assert [item.paper.id for item in data.reading_list(ME)] == [GRAPHS.id, VIDEO.id]
    assert data.reading_list("") == data.reading_list(OTHER) == []
    unstarred, _ = asyncio.run(chat.star(f"unstar/{VIDEO.id}/4", *talk, Visit()))
    assert unstarred.count("On your reading list") == 1
    assert all(is_skip(v) for v in asyncio.run(chat.star("similar/x/5", *talk, Visit())))


def test_the_next_questions_can_be_about_one_paper(data: UserData) -> None:
    chat, _ = chat_about(data)

    about = asyncio.run(chat.focus(f"about/{GRAPHS.id}/1"))
    everything = asyncio.run(chat.focus("everything//2"))
    unknown = asyncio.run(chat.focus("about/unknown/3"))

    assert about[0] == GRAPHS.id
    assert r"\(k\)-WL" in about[1]
    assert everything[:2] == unknown[:2] == ("", "")
    assert all(is_skip(value) for value in asyncio.run(chat.focus("star/x/4")))


class BrokenData(UserData):
    """A file that can't be read or written any more."""

    def __init__(self) -> None:
        pass

    def __getattribute__(self, name: str) -> Any:
        def broken(*_: Any) -> None:
            raise UserDataError("the disk is full")

        return super().__getattribute__(name) if name.startswith("__") else broken


def test_where_nothing_can_be_kept_questions_are_answered_and_it_is_said() -> None:
    chat, _ = chat_about(BrokenData())

    *_, last = updates(chat.ask("How?", *NEW, Visit(), *UNSET))

    assert "[1]" in last[1][-1]["content"]
    assert "It could not be kept: the disk is full" in last[4]
    assert "The disk is full" in asyncio.run(chat.listed("", "", Visit()))[0]
    assert "not deleted: the disk is full" in asyncio.run(chat.delete("x", Visit()))[4]
    assert all(is_skip(v) for v in asyncio.run(chat.arrive(Visit(query_params={"c": "x"}))))


def test_the_page_fills_when_the_library_is_ready(data: UserData) -> None:
    chat, _ = chat_about(data, prepare_steps=2, prepare_step_s=0.2)

    states = updates(chat.load())
    first = next(number for number, state in enumerate(states) if state[0] == "")
    waiting, ready = states[:first], states[first]

    assert "Preparing the library" in waiting[-1][0]
    assert "3 papers" in ready[1]
    assert ready[2]["examples"][0] == {"text": "How does Momentor get its training data?"}


def test_the_page_shows_how_the_model_comes_and_who_answers_then(data: UserData) -> None:
    qa = chat_about(data)[1]

    def fetch(report) -> None:
        for done in (100, 200):
            report("Fetching a model", done, 300)
            time.sleep(0.25)
        qa.model_name = "a-model"

    chat = chat_of(qa, data, fetch)
    states = updates(chat.load())

    assert any("fetching a model, 200 of 300" in state[0] for state in states)
    assert "key passages" in states[-2][0]
    assert states[-1][0] == ""
    assert "a-model" in states[-1][1]


def test_a_model_that_does_not_come_is_told_and_key_passages_stay(data: UserData) -> None:
    qa = chat_about(data)[1]

    def fetch(_report) -> None:
        raise ModelFileError("nobody has it: bring it by hand")

    chat = chat_of(qa, data, fetch)

    assert "Nobody has it: bring it by hand (until then" in updates(chat.load())[-1][0]


def test_trouble_with_the_library_is_told(data: UserData) -> None:
    chat, _ = chat_about(data, prepare_errors=[LibraryError("the disk is full")])

    last = updates(chat.load())[-1]

    assert "The disk is full" in last[0]

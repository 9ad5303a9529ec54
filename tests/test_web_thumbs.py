import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from paper_qa.user_data import FILE_NAME, UserData, UserDataError
from paper_qa.web.kept import Kept
from paper_qa.web.thumbs import Thumbs, thumbs_of
from paper_qa.web.turn import TurnView, exchange_of, turn_of
from scripted_qa import ScriptedQA
from test_web_chat import ME, OTHER, BrokenData, Visit, is_skip
from test_web_turn import turn_after
from web_papers import PAPERS

MESSAGES = [{"role": role, "content": "x"} for role in ("user", "assistant")] * 2


@pytest.fixture
def data(tmp_path: Path) -> Iterator[UserData]:
    with closing(UserData(tmp_path / FILE_NAME)) as data:
        yield data


@pytest.fixture
def turns() -> list[TurnView]:
    return [turn_after(), turn_after()]


def judged(place: int, liked: Any) -> gr.LikeData:
    return gr.LikeData(None, {"index": 2 * place + 1, "value": "", "liked": liked})


def thumbs(data: UserData) -> Thumbs:
    return Thumbs(ScriptedQA(PAPERS), Kept(data))


def test_a_thumb_is_kept_with_its_comment_and_all_that_explains_it(
    data: UserData, turns: list[TurnView]
) -> None:
    chat, row, words, about = asyncio.run(
        thumbs(data).judge(MESSAGES, "c", turns, Visit(), judged(1, False))
    )
    given = (about, MESSAGES, "c", turns, Visit())
    _, hidden, *_ = asyncio.run(thumbs(data).comment(" Not said. ", *given))

    assert chat["feedback_value"] == [None, "Dislike"]
    assert (row["visible"], words, hidden["visible"]) == (True, "", False)
    (item,) = data.feedback(ME)
    assert item.exchange_id == turns[1].id
    assert (item.feedback.verdict, item.feedback.comment) == ("down", "Not said.")
    assert item.feedback.answer == turns[1].answer
    assert item.feedback.history[0].content == "How?"
    assert item.feedback.library == "3 papers"


def test_a_mind_can_be_changed_and_a_thumb_be_taken_back(
    data: UserData, turns: list[TurnView]
) -> None:
    for liked in (True, False):
        asyncio.run(thumbs(data).judge(MESSAGES, "c", turns, Visit(), judged(0, liked)))
    assert [item.feedback.verdict for item in data.feedback(ME)] == ["down"]

    chat, row, *_ = asyncio.run(thumbs(data).judge(MESSAGES, "c", turns, Visit(), judged(0, "")))

    assert data.feedback(ME) == []
    assert chat["feedback_value"] == [None, None]
    assert row["visible"] is False


def test_after_a_restart_of_the_server_thumbs_still_find_their_answer(
    data: UserData, turns: list[TurnView]
) -> None:
    for place, turn in enumerate(turns):
        data.save_exchange(ME, "c", place, exchange_of(turn))

    asyncio.run(thumbs(data).judge(MESSAGES, "c", [], Visit(), judged(1, True)))

    assert [item.exchange_id for item in data.feedback(ME)] == [turns[1].id]


@pytest.mark.parametrize("place", [2, -1])
def test_what_is_no_answer_can_not_be_judged(
    data: UserData, turns: list[TurnView], place: int
) -> None:
    failed = [TurnView("q", error="no"), *turns]
    asyncio.run(thumbs(data).judge(MESSAGES, "c", turns, Visit(), judged(place, True)))
    asyncio.run(thumbs(data).judge(MESSAGES, "c", failed, Visit(), judged(0, True)))

    assert data.all_feedback() == []


def test_nothing_is_kept_of_who_has_no_cookie(data: UserData, turns: list[TurnView]) -> None:
    asyncio.run(thumbs(data).judge(MESSAGES, "c", turns, Visit(""), judged(0, True)))

    assert data.all_feedback() == []


@pytest.mark.parametrize("about", ["", "x", "unknown/up", "{id}/", "{id}/sideways"])
def test_a_comment_on_nothing_is_dropped(data: UserData, turns: list[TurnView], about: str) -> None:
    about = about.format(id=turns[0].id)

    chat, row, *_ = asyncio.run(
        thumbs(data).comment("words", about, MESSAGES, "c", turns, Visit(OTHER))
    )

    assert is_skip(chat)
    assert row["visible"] is False
    assert data.all_feedback() == []


def test_a_thumb_that_can_not_be_kept_is_told(turns: list[TurnView]) -> None:
    with pytest.raises(gr.Error, match="the disk is full") as caught:
        asyncio.run(thumbs(BrokenData()).judge(MESSAGES, "c", turns, Visit(), judged(0, True)))

    assert isinstance(caught.value.__cause__, UserDataError)


def test_thumbs_are_shown_as_they_were_given(turns: list[TurnView]) -> None:
    back = [turn_of(exchange_of(turn)) for turn in turns]

    assert thumbs_of(back, {turns[1].id: "up", "other": "down"}) == [None, "Like"]
    assert thumbs_of(back, {turns[0].id: "down"}) == ["Dislike", None]

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper_qa.domain import Usage
from paper_qa.llm.reply import Reply, WithoutReasoning, finish_reason_of, usage_of


def visible(*pieces: str) -> str:
    reading = WithoutReasoning()
    return "".join([*map(reading.feed, pieces), reading.flush()])


def chunk(content: Any = None, **delta: Any) -> SimpleNamespace:
    return SimpleNamespace(
        choices=[SimpleNamespace(delta=SimpleNamespace(content=content, **delta))]
    )


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("No thoughts.", "No thoughts."),
        ("<think>hmm</think>\n\nYes.", "Yes."),
        ("  <think></think> Yes. ", "Yes. "),
        ("First. <think>hmm</think>Second.", "First. Second."),
        ("<think>a <think>b</think>Yes.", "Yes."),
        ("<think>never ends", ""),
        ("a < b, and <thin> is no tag", "a < b, and <thin> is no tag"),
        ("ends with <thi", "ends with <thi"),
        ("", ""),
    ],
)
def test_reasoning_is_left_out(text: str, answer: str) -> None:
    assert visible(text) == answer


PIECES = st.lists(st.sampled_from(["<think>", "</think>", "<", "/", "thi", "nk>", "word ", "\n"]))


@given(PIECES, st.data())
def test_it_does_not_matter_how_the_text_is_cut_into_pieces(pieces: list[str], data: Any) -> None:
    text = "".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    whole, parts = WithoutReasoning(), WithoutReasoning()

    whole.feed(text)
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        parts.feed(text[start:end])

    assert whole.text + whole.flush() == parts.text + parts.flush()
    assert "<think>" not in whole.text


def test_reasoning_that_the_chat_template_opened_is_out_of_the_whole_text() -> None:
    reading = WithoutReasoning()

    deltas = [reading.feed(piece) for piece in ("Let me see.", "</think>", "Yes.")]

    assert deltas == ["Let me see.", "", "Yes."]
    assert reading.text == "Yes."


def test_a_list_of_parts_is_read_without_its_thoughts() -> None:
    parts = [{"type": "thinking", "text": "hmm"}, {"type": "text", "text": "Yes."}, None]

    assert Reply().read(chunk(parts)) == "Yes."


@pytest.mark.parametrize(
    "odd",
    [
        None,
        "text",
        [],
        SimpleNamespace(choices=None),
        SimpleNamespace(choices="no list"),
        SimpleNamespace(choices=[None]),
        SimpleNamespace(choices=[SimpleNamespace(delta=None)]),
        SimpleNamespace(choices=[], usage={"prompt_tokens": "many", "completion_tokens": -1}),
        chunk(7),
    ],
    ids=str,
)
def test_an_odd_chunk_adds_nothing(odd: Any) -> None:
    reply = Reply()

    assert reply.read(odd) == ""
    assert reply.raw == {"model": "", "usage": {}, "finish_reason": None}


@pytest.mark.parametrize(
    "response",
    [
        SimpleNamespace(raw={"usage": {"prompt_tokens": 3, "completion_tokens": 2}}),
        SimpleNamespace(raw=SimpleNamespace(usage={"input_tokens": 3, "output_tokens": 2})),
        SimpleNamespace(raw=None, additional_kwargs={"prompt_tokens": 3, "completion_tokens": 2}),
    ],
    ids=["ours", "an object", "additional_kwargs"],
)
def test_the_usage_is_found_where_llamaindex_models_put_it(response: Any) -> None:
    assert usage_of(response) == Usage(1, prompt_tokens=3, completion_tokens=2)


def test_a_response_without_usage_is_one_call() -> None:
    assert usage_of(SimpleNamespace(raw=None)) == Usage(llm_calls=1)
    assert finish_reason_of(SimpleNamespace(raw=None)) is None

import asyncio
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.llms import LLM, ChatMessage, ChatResponse, MockLLM

from fakes import ScriptedLLM
from paper_qa.domain import Usage
from paper_qa.drafting import Draft, clean_sentence, in_third_person
from paper_qa.errors import ModelError

ANSWER = (
    "It learns from video, e.g. films. [1] Is it fast? Yes, by 3.5 times!\n"
    "- First point [2].\n\n- Second point, on two\nlines. 它很好。他们同意。 The end"
)
SENTENCES = [
    "It learns from video, e.g. films.",
    "Is it fast?",
    "By 3.5 times!",
    "First point.",
    "Second point, on two",
    "lines.",
    "它很好。",
    "他们同意。",
    "The end",
]
UNMATHS = st.text(alphabet=st.sampled_from(list("aB1 .!?…。”)]*_[,;\n\t好-")), max_size=80)


def shown(*pieces: str) -> list[str]:
    """Return the sentences of an answer that comes in these pieces, as a reader gets them."""
    return [text for piece in drafted(ScriptedLLM(*pieces)) if (text := clean_sentence(piece))]


def drafted(llm: LLM, draft: Draft | None = None) -> list[str]:
    async def read() -> list[str]:
        messages = [("system", "Be brief."), ("user", "Hello?")]
        return [piece async for piece in (draft or Draft()).sentences(llm, messages)]

    return asyncio.run(read())


def pieces_of(text: str, cuts: Sequence[int]) -> list[str]:
    ends = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    return [text[start:end] for start, end in pairwise(ends)]


class StreamedByHand(MockLLM):
    """An LLM whose stream stops where the test wants to look."""

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: object):
        async def stream():
            for text in ("One. ", "Two. Th", "ree.", ""):
                self.__dict__.setdefault("sent", []).append(text)
                message = ChatMessage(role="assistant", content=text)
                usage = {"prompt_tokens": 7, "completion_tokens": 3} if not text else {}
                yield ChatResponse(message=message, delta=text or None, raw={"usage": usage})

        return stream()


def test_an_answer_is_given_sentence_by_sentence_and_line_by_line():
    assert shown(ANSWER) == SENTENCES


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, len(ANSWER))))
def test_it_does_not_matter_in_which_pieces_the_answer_comes(cuts: list[int]):
    assert shown(*pieces_of(ANSWER, cuts)) == SENTENCES


@settings(deadline=None, max_examples=50)
@given(UNMATHS, st.lists(st.integers(0, 80)))
def test_a_sentence_once_given_never_changes(text: str, cuts: list[int]):
    assert drafted(ScriptedLLM(*pieces_of(text, cuts))) == drafted(ScriptedLLM(text))


@pytest.mark.parametrize(
    "text",
    [
        "We use $a. B$ here. Next.",
        r"So \(a. B\) is. Next. With \[a. B\] too. End.",
        "Here $$a. B$$ is. Next.",
        "It costs $5. We paid. More.\nNext line. End.",
        "One. Two $x. Three. Four.\nFive. Six.",
    ],
)
def test_a_sentence_with_maths_is_held_back_until_the_maths_has_ended(text: str):
    assert shown(*text) == shown(text)


def test_maths_that_never_ends_takes_no_sentence_away():
    assert shown(*"One. Two costs $5 here. Three.") == ["One.", "Two costs $5 here.", "Three."]


def test_the_number_of_a_list_is_no_sentence():
    assert shown(*"1. First.\n2. Second.\n10) Third.\n") == ["First.", "Second.", "Third."]


@pytest.mark.parametrize("pieces", [(), ("",), (" \n", "\n ")])
def test_an_empty_answer_has_no_sentences(pieces: tuple[str, ...]):
    assert shown(*pieces, "") == []


def test_a_sentence_is_given_as_soon_as_the_next_has_begun():
    llm = StreamedByHand()

    async def read() -> list[tuple[str, int]]:
        stream = Draft().sentences(llm, [("user", "Hello?")])
        return [(piece, len(llm.__dict__["sent"])) async for piece in stream]

    assert asyncio.run(read()) == [("One.", 2), ("Two.", 2), ("Three.", 4)]


def test_the_cost_is_what_the_last_response_says():
    draft = Draft()
    drafted(StreamedByHand(), draft)

    assert draft.usage == Usage(llm_calls=1, prompt_tokens=7, completion_tokens=3)


def test_a_model_that_does_not_count_has_still_been_called():
    draft = Draft()
    drafted(ScriptedLLM("Words."), draft)

    assert draft.usage == Usage(llm_calls=1)


def test_the_error_of_a_model_comes_after_the_sentences_before_it():
    given: list[str] = []

    async def read() -> None:
        llm = ScriptedLLM("One. Two. Thr", error=RuntimeError("no more"))
        async for piece in Draft().sentences(llm, []):
            given.append(piece)  # noqa: PERF401 - to have them in spite of the error

    with pytest.raises(ModelError, match="no more"):
        asyncio.run(read())
    assert given == ["One.", "Two."]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("It works [7].", "It works."),
        ("It works [1, 2], and [1][2] well [1-3].", "It works, and well."),
        ("It works [ 1 ; 2 ].", "It works."),
        ("[1] It works", "It works"),
        ("It works.[2]", "It works."),
        ("- It works.", "It works."),
        ("  * It works.", "It works."),
        ("• It works.", "It works."),
        ("2) It works.", "It works."),
        ("**It works.**", "It works."),
        ("__It works.__", "It works."),
        ("Alone: [1]", "Alone:"),
        ("It works [0].", "It works."),
        ("It works [^2].", "It works."),
        ("It works【4†source】.", "It works."),
        ("It works [Summary of the paper].", "It works."),
        ("It works [Abstract 2], as they say.", "It works, as they say."),
        ("It works (Smith 2024) well.", "It works well."),
        ("It works (see Smith & Jones, 2024b; Lee et al., 2019).", "It works."),
        ("It works (Smith et al., 2024).", "It works."),
        ("Answer: It works.", "It works."),
        ("### Response: It works.", "It works."),
        ("It works.<|im_end|>", "It works."),
        ("<s>[INST] It works.", "It works."),
        ("It works [100].", "It works."),
        # What is no marker stays.
        ("**Momentor** works.", "**Momentor** works."),
        ("We use [3H] and $[a, b]$ here.", "We use [3H] and $[a, b]$ here."),
        ("See [1](https://example.org).", "See [1](https://example.org)."),
        ("It has 10 tasks.", "It has 10 tasks."),
        ("3.5 is enough.", "3.5 is enough."),
        ("All values are in [0, 1] here.", "All values are in [0, 1] here."),
        ("Take x[0] and [3H]thymidine.", "Take x[0] and [3H]thymidine."),
        ("It helps (n = 1500; p < 0.001).", "It helps (n = 1500; p < 0.001)."),
        ("It helps (in 2024) and (BERT, RoBERTa).", "It helps (in 2024) and (BERT, RoBERTa)."),
        ("A [12]C atom is left.", "A [12]C atom is left."),
        ("The paper [sic] says so.", "The paper [sic] says so."),
        ("With $x \\in [1,2]$ it holds [1].", "With $x \\in [1,2]$ it holds."),
    ],
)
def test_markers_bullets_and_emphasis_of_the_model_are_taken_out(sentence: str, expected: str):
    assert shown(sentence) == [expected]


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("We win.", "Hu et al. win."),
        (
            "In our tests we win, which helps us.",
            "In Hu et al.'s tests they win, which helps them.",
        ),
        ("Our model is ours.", "Hu et al.'s model is theirs."),
        ("They write “we win”.", "They write “we win”."),
        ("We ask “do we” win.", "Hu et al. ask “do we” win."),
        ("Hours of use in the US are west of here.", "Hours of use in the US are west of here."),
    ],
)
def test_we_are_the_authors(sentence: str, told: str):
    assert in_third_person(sentence, "Hu et al.") == told


def test_authors_without_a_name_begin_a_sentence_with_a_capital():
    assert in_third_person("Our tests show it; we win.", "the authors") == (
        "The authors' tests show it; they win."
    )


@pytest.mark.parametrize(
    "text", ["in [1, 2] and [7]", "after Golubeva (Gur-Ari, 2021)", "[Source A]"]
)
def test_what_the_abstract_itself_has_is_no_marker(text: str):
    assert clean_sentence(f"It holds {text}.", f"We say that it holds {text} here.") == (
        f"It holds {text}."
    )


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Yes, prediction sets help.", "Prediction sets help."),
        ("No. They are limited.", "They are limited."),
        ("No — they are limited.", "They are limited."),
        ("Yes.", ""),
        ("No-regret learners converge.", "No-regret learners converge."),
        ("No method converges.", "No method converges."),
        ("No. 3 converges.", "No. 3 converges."),
    ],
)
def test_a_yes_or_no_that_no_abstract_says_is_left_out(said: str, kept: str):
    assert clean_sentence(said) == kept

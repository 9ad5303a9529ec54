from dataclasses import replace

import pytest

from paper_qa.domain import Answer, Claim, Reference, Timings, Turn, Withheld
from paper_qa.web.maths import INERT
from paper_qa.web.preparation import Progress
from paper_qa.web.present import (
    about_html,
    error_notice,
    focus_html,
    marked_claim,
    message,
    preparation_html,
    status,
    status_html,
    trouble_html,
)
from paper_qa.web.turn import TurnView, advance, history_of, missing_papers
from scripted_qa import play, quote_of, reference_to, scripted_answer
from web_papers import ENGINE, EVIL, GRAPHS, PAPERS, VIDEO, claims


def answered(question: str = "q", **fields: object) -> TurnView:
    turn = TurnView(question)
    for event in play(question, PAPERS, claims(), **fields):
        turn = advance(turn, event)
    return turn


def abstained(**fields: object) -> TurnView:
    answer = Answer("q", "The abstracts do not say.", abstained=True, **fields)
    return advance(TurnView("q"), answer)


def cited(text: str, *numbers: int, **fields: object) -> Claim:
    citations = tuple(quote_of(VIDEO, ENGINE, number) for number in numbers)
    return replace(Claim(text, "supported", 0.9, citations), **fields)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is long.", "It is long [1]."),
        ("Is it?!", "Is it [1]?!"),
        ("Qian: “It is”", "Qian: “It is” [1]."),
        ("no full stop", "no full stop [1]."),
        ("two\n lines.", "two lines [1]."),
    ],
)
def test_markers_stand_before_the_full_stop(text: str, expected: str) -> None:
    assert marked_claim(cited(text, 1)) == expected


def test_each_source_is_marked_once_per_sentence() -> None:
    assert marked_claim(cited("Both say so.", 2, 1, 2)) == "Both say so [1][2]."


def test_what_the_library_counted_needs_no_marker() -> None:
    assert marked_claim(Claim("There are 84 papers.", "computed", 1.0)) == "There are 84 papers."


def test_what_the_library_counted_is_a_sentence_and_a_list() -> None:
    counted = [
        Claim("2 papers mention it", "computed", 1.0),
        cited("“A title” (Qian, 2024)", 1, support="computed"),
        Claim("“Another”", "computed", 1.0),
    ]
    turn = TurnView("q")
    shown: list[str] = []
    for event in play("q", PAPERS, counted, model="computed"):
        turn = advance(turn, event)
        shown.append(message(turn))

    assert shown[-1] == "2 papers mention it.\n\n- “A title” (Qian, 2024) [1].\n- “Another”."
    assert shown[3].startswith("2 papers mention it.")
    assert status(turn) == "Counted in the library in 0.1 s"


@pytest.mark.parametrize(("support", "sign"), [("contradicted", "✗"), ("not_mentioned", "◐")])
def test_an_unsupported_sentence_that_is_shown_carries_a_sign(support, sign: str) -> None:
    shown = marked_claim(cited("It flies.", support=support))

    assert shown == f"It flies.\u00a0\u2060{sign}\u2060"


def test_a_number_in_brackets_in_an_abstract_is_no_marker() -> None:
    shown = marked_claim(cited("The interval [0], see [12] and [A].", 1))

    assert shown.replace(INERT, "") == "The interval [0], see [12] and [A] [1]."
    assert "[1]" in shown
    assert "[12]" not in shown


def test_quoted_passages_are_headed_and_have_a_line_each() -> None:
    turn = TurnView("q", claims=(claims()[0], cited(f"“{ENGINE[:-1]}”", 1)))

    assert message(turn).split("\n\n") == [
        "**Key passages**",
        f"Qian et al.: “{ENGINE[:-1]}” [1].",
        f"“{ENGINE[:-1]}” [1].",
    ]


def test_a_model_writes_running_text() -> None:
    turn = TurnView("q", claims=(claims()[1], claims()[1]))

    sentence = r"Transformers can be aligned with \(k\)-WL [2]."
    assert message(turn) == f"{sentence} {sentence}"


def test_passages_that_step_in_for_a_model_follow_what_it_wrote() -> None:
    lines = message(replace(answered(), claims=(claims()[1], claims()[0]))).split("\n\n")

    assert [line[:12] for line in lines] == ["Transformers", "**Key passag", "Qian et al.:"]


def test_a_list_has_a_line_for_each_paper() -> None:
    answer = scripted_answer("q", PAPERS, [claims()[1]], text="- One\n- Two")
    turn = advance(TurnView("q"), answer)

    assert message(turn) == r"- Transformers can be aligned with \(k\)-WL [2]."


def test_while_it_is_written_the_message_says_what_is_going_on() -> None:
    assert message(TurnView("q", stage="Reading 4 papers")) == "*Reading 4 papers…*"
    assert message(replace(answered(), stage="Checking")).endswith("\n\n*Checking…*")


def test_notes_and_withheld_sentences_stand_under_the_answer() -> None:
    withheld = (Withheld("It won a <b>prize</b> [1].", 0.1), Withheld("Twice.", 0.1))

    lines = message(answered(withheld=withheld, notes=("the model was slow",))).splitlines()

    assert "> **2 sentences withheld**" in lines
    assert f"> - It won a <{INERT}b>prize<{INERT}/b> [{INERT}1]." in lines
    assert lines[-1] == "*The model was slow*"


@pytest.mark.parametrize(
    ("withheld", "why"),
    [
        (
            Withheld("Twice.", 0.1, "contradicted", "Once [3] <i>."),
            f"The abstract says: “Once [{INERT}3] <{INERT}i>.”",
        ),
        (
            Withheld("It won.", 0.0, "refers_back"),
            "It speaks of the sentence before, which was withheld.",
        ),
    ],
)
def test_a_withheld_sentence_says_why(withheld: Withheld, why: str) -> None:
    text = message(answered(withheld=(withheld,)))

    assert f"> - {withheld.text} ({why})" in text.splitlines()


def test_one_withheld_sentence_is_singular() -> None:
    text = message(answered(withheld=(Withheld("Twice.", 0.1),)))

    assert "**1 sentence withheld**" in text
    assert "supports it:" in text


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("no_evidence", "Not in this library"),
        ("not_in_abstract", "Not in the abstract"),
        ("language", "Language not understood"),
        (None, "No answer"),
    ],
)
def test_an_abstention_says_which_kind_it_is(reason, words: str) -> None:
    text = message(abstained(abstain_reason=reason))

    assert text.startswith(f"> **{words}**")
    assert "> The abstracts do not say." in text


def test_an_abstention_offers_what_is_worth_opening() -> None:
    bare = Reference(0, "p-9", "", (), None, "", "", retracted=False)
    one = replace(bare, title="On *Cats*", authors=("Ann Lee",), year=2020)
    see = (reference_to(GRAPHS, 0), one, bare)

    text = message(abstained(see=see))

    assert (
        r"> - [A] Aligning Transformers with the \(k\)-WL Hierarchy (Müller et al., 2024)" in text
    )
    assert "> - [B] On *Cats* (Lee, 2020)" in text
    assert text.endswith("> - [C] p-9")


def test_an_error_is_told_in_words_with_what_came_before_it() -> None:
    turn = replace(answered(), answer=None, error="the endpoint refused the key: set PAPER_QA_X")

    text = message(turn)

    assert "[1]" in text
    assert "**No answer.** The endpoint refused the key: set PAPER\\_QA\\_X." in text
    assert status(turn) == "No answer: see the message above."


def test_only_what_may_go_better_is_offered_to_be_retried() -> None:
    turn = TurnView("q", error="the question is empty")

    assert "Retry" in message(turn)
    assert "Retry" not in message(replace(turn, can_retry=False))


def test_error_text_is_only_text() -> None:
    assert "<img" not in error_notice(EVIL)
    assert "](" not in error_notice(EVIL)


def test_a_stopped_answer_keeps_what_had_come() -> None:
    turn = replace(answered(), answer=None, stopped=True)

    assert message(turn).endswith("*Stopped.*")
    assert "[1]" in message(turn)
    assert status(turn) == "Stopped."


@pytest.mark.parametrize(
    ("turn", "line"),
    [
        (TurnView("q"), ""),
        (TurnView("q", stage="Searching"), "Searching…"),
        (answered(), "Answered by extraction (key passages) in 0.1 s"),
        (answered(model="gpt-x", timings=Timings(total_s=12.34)), "Answered by gpt-x in 12.3 s"),
        (abstained(), "No answer in the abstracts, by extraction (key passages), in 0.1 s"),
    ],
)
def test_the_status_line_says_who_answered_and_how_fast(turn: TurnView, line: str) -> None:
    assert status(turn) == line


def test_passages_that_step_in_for_a_model_are_not_called_its_answer() -> None:
    answer = scripted_answer("q", PAPERS, [claims()[0]], model="gpt-x")

    assert "by extraction" in status(advance(TurnView("q"), answer))


def test_the_status_line_is_spoken_and_inert() -> None:
    html = status_html(f"Answered by {EVIL}")

    assert 'role="status"' in html
    assert "<img" not in html


def test_progress_is_counted_where_it_can_be() -> None:
    counted = preparation_html("Preparing the library", Progress("Indexing", 21, 84))

    assert "Preparing the library: indexing, 21 of 84" in counted
    assert 'value="0.25"' in counted
    assert 'value="0.00"' in preparation_html("Preparing the library", Progress("Indexing", 0, 84))
    assert "value=" not in preparation_html("Preparing the library", Progress("Opening"))
    assert "<progress" in status_html("Indexing…", 0.5)
    assert "<progress" not in status_html("Searching…")


def test_trouble_with_the_library_is_told_and_inert() -> None:
    html = trouble_html(f"the library is newer: {EVIL}")

    assert "The library is newer" in html
    assert "<img" not in html


def test_the_header_says_what_is_asked_and_who_answers() -> None:
    assert "1,234 papers" in about_html(1234, "gpt-x")
    assert "1 paper<" in about_html(1, "extractive")
    assert "extraction (key passages)" in about_html(1, "extractive")


def test_what_the_next_questions_are_about_is_said_and_inert() -> None:
    html = focus_html(f"A title {EVIL}")

    assert "Asking about" in html
    assert 'href="#act/everything/"' in html
    assert "<img" not in html
    assert focus_html("") == ""


def test_history_is_what_was_asked_and_answered() -> None:
    failed = TurnView("failed", error="no")
    stopped = replace(answered("stopped"), answer=None)

    history = history_of([failed, answered("first"), stopped])

    assert [turn.content for turn in history if turn.role == "user"] == ["first", "stopped"]
    assert history[1] == Turn("assistant", scripted_answer("first", PAPERS, claims()).text)
    assert history[3].content.startswith("Qian et al.")


def test_papers_that_only_the_answer_names_are_missing_until_they_are_looked_up() -> None:
    answer = replace(scripted_answer("q", PAPERS, claims()), retrieved=())

    assert missing_papers(TurnView("q")) == []
    assert missing_papers(advance(TurnView("q"), answer)) == [VIDEO.id, GRAPHS.id]
    assert missing_papers(answered()) == []

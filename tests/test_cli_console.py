"""What the shell writes, and where; nothing here needs a library."""

import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper_qa.cli import render
from paper_qa.cli.console import Console, clean, one_line, to_json
from paper_qa.cli.conversation import Printer, converse
from paper_qa.domain import (
    Answer,
    AskOptions,
    Citation,
    Claim,
    Event,
    Paper,
    Reference,
    ScoredPaper,
    Sources,
    Stage,
    Turn,
    Withheld,
)
from paper_qa.errors import ModelConnectionError

HOSTILE = "\x1b[31mred\x1b[0m \x1b]0;title\x07\x1b]8;;http://x\x1b\\link\x9b2J\x00\x08\x7f\u202eevil\u2066"
PAPER = Paper(
    "ada43",
    "Notes on the Engine",
    "The engine weaves patterns. It computes numbers.",
    ("Ada Lovelace", "Charles Babbage"),
    1843,
    "Memoirs",
    "https://example.org/ada43",
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def reference(number: int = 1, **changes: object) -> Reference:
    fields = {
        "number": number,
        "paper_id": PAPER.id,
        "title": PAPER.title,
        "authors": PAPER.authors,
        "year": PAPER.year,
        "venue": PAPER.venue,
        "url": PAPER.url,
        "retracted": False,
    }
    return Reference(**{**fields, **changes})  # pyright: ignore[reportArgumentType]


def claim(text: str, start: int, end: int) -> Claim:
    citation = Citation(1, PAPER.id, start, end, PAPER.abstract[start:end])
    return Claim(text, "supported", 0.9, (citation,))


CLAIMS = (claim("It weaves patterns.", 0, 27), claim("It computes numbers.", 28, 48))
ANSWER = Answer(
    "What does it do?",
    "It weaves patterns [1]. It computes numbers [1].",
    CLAIMS,
    references=(reference(),),
)
COUNTED = Answer(
    "How many papers are by Lovelace?",
    "1 paper is by Lovelace.\n- “Notes on the Engine”.",
    (
        Claim("1 paper is by Lovelace", "computed", 1.0),
        Claim("“Notes on the Engine”", "computed", 1.0),
    ),
    model="computed",
)
EVENTS: list[Event] = [Stage("Searching"), Sources((ScoredPaper(PAPER, 0.9),), ()), *CLAIMS, ANSWER]


@contextmanager
def terminal() -> Iterator[tuple[Terminal, Terminal]]:
    """Put the two halves of a terminal of 60 columns in the place of stdout and stderr."""
    out, err = Terminal(), Terminal()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        patch.setenv("COLUMNS", "60")
        yield out, err


def test_what_a_terminal_would_obey_is_left_out() -> None:
    assert clean(HOSTILE) == "red link2Jevil"
    assert clean("two\nlines\tand a tab") == "two\nlines\tand a tab"
    assert one_line("two\nlines") == "two lines"


@given(st.text())
def test_no_control_character_survives(text: str) -> None:
    kept = clean(text)

    assert not any((ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0 for c in kept)
    assert clean(kept) == kept


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126)))
def test_plain_text_is_left_alone(text: str) -> None:
    assert clean(text) == text


@given(st.text(alphabet=st.characters()))
def test_json_says_the_same_without_control_characters(text: str) -> None:
    written = to_json({"text": text})

    assert json.loads(written) == {"text": text}
    assert clean(written) == written
    written.encode()


def test_a_pipe_gets_the_result_alone(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console()

    console.status("searching")
    console.progress("indexing", 1, 2)
    console.note("by the way")
    console.result("the result")

    out, err = capsys.readouterr()
    assert out == "the result\n"
    assert err == "searching\nindexing: 1 of 2\nby the way\n"


def test_quiet_leaves_the_result_and_the_errors(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(quiet=True)

    console.status("searching")
    console.progress("indexing", 1, 2)
    console.note("by the way")
    console.error("it broke\nbadly")
    console.result("the result")

    assert capsys.readouterr() == ("the result\n", "error: it broke badly\n")


def test_long_work_is_a_line_at_every_tenth_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console()

    console.progress("indexing", 0, 0)
    for done in range(0, 1001, 8):
        console.progress("indexing", done, 1000)

    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 12
    assert lines[0] == "indexing"
    assert lines[-1] == "indexing: 1,000 of 1,000"


def test_at_a_terminal_the_status_makes_way_for_the_result() -> None:
    with terminal() as (out, err):
        console = Console()

        console.progress("indexing", 1, 2)
        console.result("the result")

        assert "█" in err.getvalue()
        assert err.getvalue().endswith("\r\x1b[2K")
        assert out.getvalue() == "the result\n"


def test_lines_at_a_terminal_are_broken_between_words() -> None:
    with terminal() as (out, _):
        console = Console()

        console.result("word " * 40)
        console.result("    " + "quoted " * 20)
        console.result("[10] " + "cited " * 20)

        lines = out.getvalue().splitlines()
        assert max(len(line.rstrip()) for line in lines) <= 60
        assert sum(line.count("word") for line in lines) == 40
        assert all(line.startswith("    quoted") for line in lines if "quoted" in line)
        assert [line[:6] for line in lines if "cited" in line] == ["[10] c", "     c", "     c"]


def test_an_answer_has_its_references_under_it(capsys: pytest.CaptureFixture[str]) -> None:
    Printer(Console()).show(iter(EVENTS))

    out, err = capsys.readouterr()
    assert out == (
        "It weaves patterns [1]. It computes numbers [1].\n"
        "\n"
        "References\n"
        "[1] Ada Lovelace, Charles Babbage. Notes on the Engine. Memoirs 1843."
        " https://example.org/ada43\n"
    )
    assert err == "Searching\nanswered by extractive\n"


def test_what_the_library_counted_is_said_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    Printer(Console()).show(iter([*COUNTED.claims, COUNTED]))

    out, err = capsys.readouterr()
    assert out == f"{COUNTED.text}\n"
    assert err == "counted in the library\n"


def test_a_terminal_shows_once_what_was_counted() -> None:
    with terminal() as (out, _):
        Printer(Console()).show(iter([*COUNTED.claims, COUNTED]))

    assert out.getvalue() == f"{COUNTED.text}\n"


def test_quotes_stand_under_their_reference(capsys: pytest.CaptureFixture[str]) -> None:
    Printer(Console(), quotes=True).show(iter(EVENTS))

    assert capsys.readouterr().out.endswith(
        "ada43\n    “The engine weaves patterns.”\n    “It computes numbers.”\n"
    )


def test_json_is_the_answer_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    Printer(Console(), json=True).show(iter(EVENTS))

    assert json.loads(capsys.readouterr().out) == ANSWER.to_dict()


def test_at_a_terminal_each_sentence_is_shown_as_soon_as_it_is_checked() -> None:
    with terminal() as (out, _):
        seen: list[str] = []

        def events() -> Iterator[Event]:
            for event in EVENTS:
                yield event
                seen.append(out.getvalue())

        Printer(Console()).show(events())

        assert seen[1] == ""
        assert seen[2] == "- It weaves patterns [1].\n"
        assert out.getvalue().startswith(f"{seen[2]}- It computes numbers [1].\n\nReferences\n")
        assert out.getvalue().count("weaves") == 1


def test_an_answer_that_turned_out_otherwise_is_shown_in_full() -> None:
    with terminal() as (out, _):
        other = Answer("Q", "Something else [1].", CLAIMS[:1], references=(reference(),))

        Printer(Console()).show(iter([*CLAIMS, other]))

        assert "\nSomething else [1].\n" in out.getvalue()


def test_an_abstaining_answer_names_the_papers_worth_opening(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer = Answer("Q", "The abstracts do not say.", see=(reference(),), abstained=True)

    Printer(Console()).finish(answer)

    assert capsys.readouterr().out == (
        "The abstracts do not say.\n\nWorth opening\n- Ada Lovelace, Charles Babbage."
        " Notes on the Engine. Memoirs 1843. https://example.org/ada43\n"
    )


def test_what_was_left_out_is_said_beside_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    one = Answer("Q", "A.", withheld=(Withheld("B.", 0.1),), model="tiny-llm")
    two = Answer(
        "Q", "A.", withheld=(Withheld("B.", 0.1), Withheld("C.", 0.2)), notes=("so be it",)
    )

    three = Answer("Q", "A.", notes=("may be none",), model="tiny-llm")

    for answer in (one, two, three):
        Printer(Console()).finish(answer)

    assert capsys.readouterr().err.splitlines() == [
        "answered by tiny-llm",
        "1 sentence withheld: nothing in the abstracts supports them",
        "so be it",
        "2 sentences withheld: nothing in the abstracts supports them",
        "answered by tiny-llm",
        "may be none",
    ]


def test_hostile_titles_and_answers_do_not_reach_the_terminal() -> None:
    with terminal() as (out, err):
        answer = Answer(HOSTILE, HOSTILE, references=(reference(title=HOSTILE),), notes=(HOSTILE,))
        printer = Printer(Console())

        printer.show(iter([Stage(HOSTILE), Claim(HOSTILE, "supported", 1.0), answer]))
        printer.console.result(render.paper_table([Paper(HOSTILE, HOSTILE, HOSTILE)]))

        written = out.getvalue() + err.getvalue().replace("\r\x1b[2K", "")
        assert "evil" in written
        assert clean(written) == written


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "Ada Lovelace, Charles Babbage. Notes on the Engine. Memoirs 1843. https://"),
        ({"authors": ("A", "B", "C", "D")}, "A et al. Notes on the Engine."),
        ({"authors": (), "venue": "", "year": None, "url": ""}, "Notes on the Engine."),
        ({"title": "Why?", "venue": "ICML 2024", "year": 2024}, "Babbage. Why? ICML 2024. http"),
        ({"venue": ""}, "Engine. 1843. https"),
        ({"retracted": True}, "RETRACTED. Ada Lovelace"),
    ],
)
def test_a_reference_reads_like_one(changes: dict[str, object], expected: str) -> None:
    assert expected in render.described(reference(**changes))


def test_tables_are_aligned_on_one_line_a_paper() -> None:
    papers = [PAPER, Paper("b", "", "An abstract\nwithout a title.")]

    assert render.paper_table(papers).splitlines() == [
        "ada43  1843  Notes on the Engine",
        "b            An abstract without a title.",
    ]
    assert render.hit_table([ScoredPaper(PAPER, 0.876)]) == "0.88  ada43  Notes on the Engine"
    assert render.paper_table([]) == ""


class ScriptedStream:
    """A ``PaperQA`` that plays what it is given for each question."""

    def __init__(self, *plays: list[Event] | BaseException) -> None:
        self.plays = list(plays)
        self.asked: list[tuple[str, tuple[Turn, ...]]] = []

    def stream(
        self, question: str, *, history: tuple[Turn, ...], options: AskOptions
    ) -> Iterator[Event]:
        assert options == AskOptions()
        self.asked.append((question, history))
        play = self.plays.pop(0)
        if isinstance(play, BaseException):
            raise play
        yield from play


def typed(*lines: str) -> Callable[[], str]:
    remaining = list(lines)

    def read() -> str:
        if not remaining:
            raise EOFError
        return remaining.pop(0)

    return read


def test_a_question_in_a_conversation_comes_with_those_before_it() -> None:
    qa = ScriptedStream(EVENTS, EVENTS, EVENTS)

    converse(
        qa, Printer(Console()), typed("What?", "", "And then?", "/new", "What?", "/quit", "no")
    )

    turns = (Turn("user", "What?"), Turn("assistant", ANSWER.text))
    assert qa.asked == [("What?", ()), ("And then?", turns), ("What?", ())]


def test_a_conversation_goes_on_after_an_error_and_after_ctrl_c(
    capsys: pytest.CaptureFixture[str],
) -> None:
    qa = ScriptedStream(ModelConnectionError("no answer"), KeyboardInterrupt(), EVENTS)

    converse(qa, Printer(Console()), typed("a", "/help", "b", "c"))

    assert [history for _, history in qa.asked] == [(), (), ()]
    err = capsys.readouterr().err
    assert "error: no answer\n" in err
    assert "stopped\n" in err


def test_ctrl_c_at_the_prompt_ends_the_conversation() -> None:
    def read() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        converse(ScriptedStream(), Printer(Console()), read)

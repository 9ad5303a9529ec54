import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace

import pytest

from paper_qa.domain import AS_CONFIGURED, AskOptions, Claim, Event, KeyPassages, Stage, Turn
from paper_qa.errors import LibraryError, ModelConnectionError, PaperQAError
from paper_qa.web.conversation import FAULT, run_turn
from paper_qa.web.examples import NUM_EXAMPLES, example_questions
from paper_qa.web.line import Line
from paper_qa.web.preparation import Preparation, Progress
from paper_qa.web.turn import TurnView
from scripted_qa import ScriptedQA, play, scripted_answer
from web_papers import BARE, GRAPHS, PAPERS, VIDEO, claims


def asked(
    qa: ScriptedQA, history: tuple[Turn, ...] = (), line: Line | None = None
) -> AsyncGenerator[TurnView]:
    turn = TurnView("How?")
    return run_turn(qa, Preparation(qa.prepare), line or Line(), turn, history, AS_CONFIGURED)


def collect(qa: ScriptedQA, history: tuple[Turn, ...] = ()) -> list[TurnView]:
    async def run() -> list[TurnView]:
        return [state async for state in asked(qa, history)]

    return asyncio.run(run())


def test_a_turn_grows_from_searching_to_its_answer() -> None:
    qa = ScriptedQA(PAPERS, play("How?", PAPERS, claims()), pause_s=0.07)

    states = collect(qa)

    assert [state.stage for state in states[:2]] == ["Searching", "Searching"]
    assert [len(state.papers) for state in states] == [0, 3, 3, 3, 3, 3]
    assert [len(state.claims) for state in states] == [0, 0, 0, 1, 2, 2]
    assert states[-1].stage == ""
    assert states[-1].answer


def test_steps_too_quick_to_see_are_left_out_but_never_the_answer() -> None:
    states = collect(ScriptedQA(PAPERS, play("How?", PAPERS, claims())))

    assert len(states) < 6
    assert states[-1].answer


def test_history_is_handed_on() -> None:
    qa = ScriptedQA(PAPERS, play("How?", PAPERS, claims()))
    history = (Turn("user", "a"), Turn("assistant", "b"))

    collect(qa, history)

    assert qa.asked == [("How?", history)]


def test_options_are_handed_on() -> None:
    qa = ScriptedQA(PAPERS, play("How?", PAPERS, claims()))
    options = AskOptions(num_sources=3)

    async def run() -> None:
        preparation = Preparation(qa.prepare)
        async for _ in run_turn(qa, preparation, Line(), TurnView("How?"), (), options):
            pass

    asyncio.run(run())

    assert qa.options == [options]


def written() -> list[Event]:
    """Return the events of an answer that a model writes."""
    *found, one, two, answer = play("How?", PAPERS, claims())
    return [*found, KeyPassages((one, two)), Stage("Writing"), one, two, answer]


def test_who_has_no_place_yet_reads_who_is_before_and_has_one_in_the_end() -> None:
    line = Line(places=1)
    qa = ScriptedQA(PAPERS, written(), pause_s=0.05)

    async def run() -> list[list[TurnView]]:
        async def one() -> list[TurnView]:
            return [state async for state in asked(qa, line=line)]

        return await asyncio.gather(one(), one(), one())

    runs = asyncio.run(run())

    waits = [[s.stage for s in states if "before you" in s.stage] for states in runs]
    assert waits == [
        [],
        ["Waiting for the model: 1 before you"],
        ["Waiting for the model: 2 before you", "Waiting for the model: 1 before you"],
    ]
    assert all(states[-1].answer for states in runs)


def test_who_gives_up_waiting_leaves_the_line() -> None:
    line = Line(places=1)
    first = line.join()

    async def run() -> None:
        states = asked(ScriptedQA(PAPERS, written()), line=line)
        async for state in states:
            if "before you" in state.stage:
                break
        await states.aclose()
        assert line.before(line.join()) == 1
        first.leave()

    asyncio.run(run())


def test_without_a_model_nobody_waits() -> None:
    line = Line(places=0)

    async def run() -> list[TurnView]:
        qa = ScriptedQA(PAPERS, play("How?", PAPERS, claims()))
        return [state async for state in asked(qa, line=line)]

    assert asyncio.run(run())[-1].answer


def test_an_error_ends_the_turn_and_keeps_what_had_come() -> None:
    events = play("How?", PAPERS, claims())[:-1]
    qa = ScriptedQA(PAPERS, events, error=ModelConnectionError("the endpoint broke off"))

    last = collect(qa)[-1]

    assert last.error == "the endpoint broke off"
    assert last.stage == ""
    assert len(last.claims) == 2


def test_a_fault_of_the_program_is_told_on_the_page_and_explained_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    qa = ScriptedQA(PAPERS, play("How?", PAPERS, claims())[:-1], error=ZeroDivisionError("detail"))

    last = collect(qa)[-1]

    assert last.error == FAULT
    assert len(last.claims) == 2
    assert "detail" not in FAULT
    assert "ZeroDivisionError: detail" in caplog.text


def test_papers_that_only_the_answer_names_are_looked_up_and_removed_ones_left_out() -> None:
    answer = replace(scripted_answer("How?", PAPERS, claims()), retrieved=())

    last = collect(ScriptedQA([VIDEO], [answer]))[-1]

    assert last.papers == (VIDEO,)


def test_what_comes_before_a_long_wait_is_shown_however_quickly_it_came() -> None:
    *before, answer = play("How?", PAPERS, claims())
    found = [event for event in before if not isinstance(event, Claim)]
    writing = [KeyPassages(tuple(claims())), Stage("Writing")]

    states = collect(ScriptedQA(PAPERS, [*found, *writing, *claims(), answer]))

    waiting = next(state for state in states if state.stage == "Writing")
    assert waiting.papers == tuple(PAPERS)
    assert waiting.passages == tuple(claims())
    assert waiting.claims == ()


def test_a_turn_waits_for_the_library_and_says_so() -> None:
    qa = ScriptedQA(PAPERS, play("How?", PAPERS, claims()), prepare_steps=3, prepare_step_s=0.25)

    states = collect(qa)

    assert "Indexing the papers" in [state.stage for state in states]
    assert any(state.progress for state in states)
    assert states[-1].progress is None
    assert states[-1].answer


def test_closing_a_turn_closes_the_answer_below_it() -> None:
    qa = ScriptedQA(PAPERS, play("How?", PAPERS, claims()), pause_s=5.0)

    async def run() -> float:
        states = asked(qa)
        await anext(states)
        waiting = asyncio.ensure_future(anext(states))
        await asyncio.sleep(0.3)
        stopped_at = time.monotonic()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return stopped_at

    stopped_at = asyncio.run(run())

    assert qa.cancelled_at is not None
    assert qa.cancelled_at - stopped_at < 0.2


async def drain(steps: AsyncIterator[Progress]) -> list[Progress]:
    return [step async for step in steps]


def test_the_library_is_prepared_once_however_many_wait() -> None:
    runs = []

    def prepare(report) -> None:
        runs.append(1)
        report("Indexing", 1, 2)
        time.sleep(0.25)

    preparation = Preparation(prepare)

    async def both() -> list[list[Progress]]:
        return await asyncio.gather(drain(preparation.wait()), drain(preparation.wait()))

    first, second = asyncio.run(both())
    later = asyncio.run(drain(preparation.wait()))

    assert runs == [1]
    assert first[-1] == second[-1] == Progress("Indexing", 1, 2)
    assert later == []


def test_a_failed_preparation_is_told_and_tried_again_by_the_next_who_asks() -> None:
    qa = ScriptedQA(PAPERS, prepare_errors=[LibraryError("the disk is full")])
    preparation = Preparation(qa.prepare)

    with pytest.raises(LibraryError, match="disk is full"):
        asyncio.run(drain(preparation.wait()))

    asyncio.run(drain(preparation.wait()))  # does not raise again


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_preparation_that_breaks_does_not_leave_anyone_waiting() -> None:
    def broken(_) -> None:
        raise ZeroDivisionError

    with pytest.raises(PaperQAError, match="the terminal says why"):
        asyncio.run(drain(Preparation(broken).wait()))


def test_the_seeds_have_their_own_example_questions() -> None:
    papers = [replace(VIDEO, id=name) for name in ("qian24a", "jelassi24a", "zhao24r", "liu24bu")]

    questions = example_questions([*papers, replace(VIDEO, id="cresswell24a")])

    assert len(questions) == NUM_EXAMPLES
    assert questions[0] == "How does Momentor get its training data?"


def test_another_library_gets_questions_from_its_titles() -> None:
    titles = ["BERT: Deep Language Models", "Large Language Models Lie", "Momentor: Fine Video"]
    papers = [replace(GRAPHS, id=f"p{n}", title=title) for n, title in enumerate(titles)]

    questions = example_questions(papers)

    assert questions == [
        "Which papers are about language models?",
        "What is BERT, and what is it good for?",
        "What is Momentor, and what is it good for?",
        "What is shown in “BERT: Deep Language Models”?",
    ]


def test_a_library_without_titles_has_no_examples() -> None:
    assert example_questions([]) == []
    assert example_questions([BARE]) == []

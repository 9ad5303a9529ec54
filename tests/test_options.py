"""Options of one question: which papers may be used, how many, and who writes."""

import io
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from contract import assert_keeps_the_contract
from fakes import ScriptedLLM
from openai_server import OpenAIServer
from paper_qa.answering import NOTE_UNSURE, UNSURE
from paper_qa.cli import main
from paper_qa.domain import Answer, AskOptions, Paper, Scope, Turn
from paper_qa.errors import ConfigurationError, UnknownPaperError
from paper_qa.followup import with_name
from paper_qa.library import Library
from paper_qa.llm.openai_compatible import OpenAICompatibleLLM
from paper_qa.nodes import QuestionBundle
from paper_qa.prompts import NOT_ANSWERED
from paper_qa.qa import PaperQA
from paper_qa.questions import understand
from papers import make_papers
from seeds import MOMENTOR, Parts, cited, seed_papers

pytest_plugins = ["seed_library"]

FALSE = "The Eiffel Tower was painted blue in 1931."
GOOD = "Momentor is a Video-LLM for fine-grained temporal understanding tasks."
FOLLOW_UP = "And how fast is it?"
ADA = Paper("ada", "Notes", "", ("Ada Lovelace", "Luis Müller"), 1843, "Taylor's Memoirs")
OTHERS = ("higuchi24a", "dai24a", "muller24c")
Opener = Callable[..., PaperQA]


def within(**bounds: object) -> AskOptions:
    return AskOptions(Scope(**bounds))


def about(*paper_ids: str) -> AskOptions:
    return within(paper_ids=paper_ids)


def ids(answer: Answer) -> list[str]:
    return [hit.paper.id for hit in answer.retrieved]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    """Yield three hundred made papers of 2000 to 2024 among which the seeds are hard to find."""
    parts = Parts.open(tmp_path_factory.mktemp("mixed"))
    parts.library.add(make_papers(300))
    parts.library.add(paper for paper in seed_papers().values() if paper.id < "d" or paper.id > "p")
    parts.index.refresh()
    yield parts
    parts.close()


def ranked(
    parts: Parts, question: str, scope: Scope | None = None, k: int | None = None
) -> list[str]:
    understood = understand(question, options=AskOptions(scope or Scope()))
    return [hit.paper.id for hit in parts.retriever.rank(understood, k=k)]


# Values


@pytest.mark.parametrize(
    ("scope", "is_in"),
    [
        (Scope(), True),
        (Scope(year_from=1843), True),
        (Scope(year_to=1843), True),
        (Scope(year_from=1844), False),
        (Scope(year_to=1842), False),
        (Scope(venue="memoirs"), True),
        (Scope(venue="  MEMOIRS "), True),
        (Scope(venue="ICML"), False),
        (Scope(author="lovelace"), True),
        (Scope(author="muller"), True),
        (Scope(author="Ada Müller"), False),
        (Scope(paper_ids=("ada", "bob")), True),
        (Scope(paper_ids=("bob",)), False),
        (Scope(year_from=1800, author="Ada", venue="ICML"), False),
    ],
)
def test_a_paper_is_admitted_that_is_within_all_bounds(scope: Scope, *, is_in: bool):
    assert scope.admits(ADA) is is_in
    assert scope.is_open is (scope == Scope())


def test_a_paper_of_unknown_year_is_in_no_years():
    unknown = replace(ADA, year=None)

    assert Scope(author="ada").admits(unknown)
    assert not Scope(year_from=1).admits(unknown)
    assert not Scope(year_to=3000).admits(unknown)


@pytest.mark.parametrize(
    ("kind", "fields", "told"),
    [
        (Scope, {"year_from": 2025, "year_to": 2024}, "the earlier year first"),
        (AskOptions, {"num_sources": 0}, "1 to 20"),
        (AskOptions, {"num_sources": 21}, "1 to 20"),
        (AskOptions, {"abstain_threshold": 1.1}, "0 to 1"),
        (AskOptions, {"abstain_threshold": -0.1}, "0 to 1"),
        (AskOptions, {"abstain_threshold": float("nan")}, "0 to 1"),
    ],
)
def test_impossible_values_are_one_clear_line(
    kind: Callable[..., object], fields: dict[str, float], told: str
):
    with pytest.raises(ConfigurationError, match=rf"^[^\n]*: give {told}$"):
        kind(**fields)


# Which papers


@pytest.mark.parametrize("bounds", [{"year_from": 2024}, {"venue": "icml"}, {"year_to": 2024}])
def test_bounds_that_admit_all_change_nothing(seed_qa: PaperQA, bounds: dict[str, object]):
    assert ids(seed_qa.ask(MOMENTOR, options=within(**bounds))) == ids(seed_qa.ask(MOMENTOR))


def test_papers_are_those_of_an_author(seed_qa: PaperQA):
    hits = seed_qa.search("policies", options=within(author="YANG YU"))

    assert len(hits) == 2
    assert all("Yang Yu" in hit.paper.authors for hit in hits)


def test_an_answer_rests_on_the_papers_that_are_named(seed_qa: PaperQA):
    answer = seed_qa.ask("How do spiking neurons converge?", options=about(*OTHERS))

    assert_keeps_the_contract(answer, seed_papers())
    assert set(ids(answer)) == set(OTHERS)
    assert cited(*answer.claims) == ["higuchi24a"]


@pytest.mark.parametrize(
    "question", [MOMENTOR, "Which papers are about graphs?", "diffusion models", "W4A8"]
)
def test_the_order_within_a_scope_is_that_of_all_papers(seed_qa: PaperQA, question: str):
    everything = [hit.paper.id for hit in seed_qa.search(question, k=84)]
    chosen = tuple(sorted(everything)[::3])
    expected = [paper_id for paper_id in everything if paper_id in chosen]

    hits = seed_qa.search(question, k=84, options=about(*chosen))

    found = [hit.paper.id for hit in hits]
    assert sorted(found) == sorted(chosen)
    assert [paper_id for paper_id in found if paper_id in expected] == expected
    shorter = seed_qa.search(question, k=5, options=about(*chosen))
    assert [hit.paper.id for hit in shorter] == found[:5]
    assert all(0 <= hit.score <= 1 for hit in hits)


def test_in_a_large_library_the_best_of_a_narrow_scope_are_found(mixed: Parts):
    """Each made paper has the words of the question as much as another."""
    question = "What is studied with model, data, method, training and graph?"
    scope = Scope(venue="ICML")

    found = ranked(mixed, question, scope)
    everything = ranked(mixed, question, k=1000)

    assert len(found) == 10
    assert set(found).isdisjoint(everything[:20])
    assert all(scope.admits(mixed.library.paper(paper_id)) for paper_id in found)
    assert ranked(mixed, MOMENTOR, scope)[0] == ranked(mixed, MOMENTOR)[0]


def test_in_a_large_scope_a_paper_is_found_that_is_far_down_in_the_library(mixed: Parts):
    """A hundred others are as near to the topic, and 156 papers are within these years."""
    question = "planning with marker100"
    scope = Scope(year_from=2012, author="Ada Lovelace")
    admitted = mixed.library.admitted(scope)
    target = next(key for key in admitted if mixed.library.paper(key).title.endswith("planning"))

    found = ranked(mixed, f"planning with marker{target[1:]}", scope)

    assert len(admitted) > 100
    assert found[0] == target
    assert set(ranked(mixed, question, scope)) <= set(admitted)


def test_all_papers_that_are_named_are_ranked(mixed: Parts):
    chosen = ("m3", "m150", "m299", "m7")

    found = ranked(mixed, MOMENTOR, Scope(paper_ids=chosen))

    assert sorted(found) == sorted(chosen)


def test_the_scope_is_read_again_when_the_library_has_changed(tmp_path: Path):
    library = Library(tmp_path)
    scope = Scope(author="ada")
    library.add(make_papers(2))
    before = list(library.admitted(scope))
    library.add([ADA])

    assert (before, list(library.admitted(scope))) == (["m0", "m1"], ["m0", "m1", "ada"])
    library.close()


def test_a_paper_that_is_not_there_is_an_error(seed_qa: PaperQA):
    for question in (MOMENTOR, "How many papers are there?", "Summarize this paper"):
        with pytest.raises(UnknownPaperError, match="qian24a"):
            seed_qa.ask(question, options=about("qian24b"))
    with pytest.raises(UnknownPaperError):
        seed_qa.search("momentor", options=about("qian24a", "nobody24"))


def test_a_summary_is_of_papers_in_scope(seed_qa: PaperQA):
    answer = seed_qa.summarize("reinforcement learning", options=within(author="Yang Yu"))

    assert set(cited(*answer.claims)) <= {
        hit.paper.id for hit in seed_qa.search("x", options=within(author="Yang Yu"))
    }
    outside = seed_qa.summarize("qian24a", options=about(*OTHERS))
    assert "qian24a" not in ids(outside)


# Nothing there


@pytest.mark.parametrize("question", [MOMENTOR, "Summarize momentor", "它是什么"])
def test_where_the_filters_leave_no_paper_that_is_said(seed_qa: PaperQA, question: str):
    answer = seed_qa.ask(question, options=within(year_to=1999))

    assert_keeps_the_contract(answer, seed_papers())
    assert (answer.abstained, answer.abstain_reason) == (True, "no_evidence")
    assert "filters leave no paper" in answer.text
    assert answer.retrieved == answer.see == ()
    assert seed_qa.search("momentor", options=within(year_to=1999)) == []


def test_where_the_papers_left_do_not_treat_it_that_is_said(seed_qa: PaperQA):
    answer = seed_qa.ask("What is the capital of France?", options=about(*OTHERS))

    assert answer.abstain_reason == "no_evidence"
    assert answer.text == "The abstracts within the filters do not treat this."
    assert answer.notes == ("the filters leave 3 papers",)


# One paper


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How does it get its training data?", "How does X get its training data?"),
        ("What are its limits?", "What are X's limits?"),
        ("What does this paper propose?", "What does X propose?"),
        ("Which datasets are used?", "Which datasets are used in X?"),
    ],
)
def test_a_name_takes_the_place_of_what_points_to_it(question: str, expected: str):
    assert with_name(question, "X") == expected


@pytest.mark.parametrize(
    "question",
    ["How does it get its training data?", "What does this paper propose?", "Summarize it"],
)
def test_what_it_is_needs_no_history(seed_qa: PaperQA, question: str):
    answer = seed_qa.ask(question, options=about("qian24a"))

    assert_keeps_the_contract(answer, seed_papers())
    assert cited(*answer.claims) == ["qian24a"]
    assert answer.question == question


@pytest.mark.parametrize("question", ["How many GPUs did it need?", "What is the capital of Peru?"])
def test_what_its_abstract_does_not_say_is_said(seed_qa: PaperQA, question: str):
    answer = seed_qa.ask(question, options=about("qian24a"))

    assert answer.abstain_reason == "not_in_abstract"
    assert [reference.paper_id for reference in answer.see] == ["qian24a"]


def test_a_paper_without_an_abstract_says_nothing(open_qa: Opener, tmp_path: Path):
    qa = open_qa(home=tmp_path / "home")
    qa.add([ADA])

    answer = qa.ask("What does it compute?", options=about("ada"))

    assert answer.abstain_reason == "not_in_abstract"
    assert answer.see[0].paper_id == "ada"


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("Who wrote it?", "is by Long Qian"),
        ("Who are the authors of this paper?", "is by Long Qian"),
        ("When was the paper published?", "appeared in ICML 2024"),
    ],
)
def test_who_wrote_it_and_when_is_looked_up(seed_qa: PaperQA, question: str, told: str):
    answer = seed_qa.ask(question, options=about("qian24a"))

    assert answer.model == "computed"
    assert told in answer.text
    assert seed_qa.ask(question).model != "computed"


def test_no_model_is_asked_what_it_means(open_qa: Opener):
    llm = ScriptedLLM(GOOD)

    open_qa(llm=llm).ask(
        "How does it get its training data?",
        history=[Turn("user", "What is PlanDQ?"), Turn("assistant", "A planner.")],
        options=about("qian24a"),
    )

    assert len(llm.prompts) == 1


# Counted


def test_papers_are_counted_within_the_scope(seed_qa: PaperQA):
    options = within(author="Yang Yu")

    assert seed_qa.ask("How many papers are there?", options=options).text == (
        "The library has 2 papers within the filters."
    )
    listed = seed_qa.ask("List all papers", options=options)
    assert len(listed.claims) == 3
    counted = seed_qa.ask("How many papers mention diffusion?", options=about(*OTHERS)).text
    assert counted.startswith("None of the 3 papers within the filters mentions")
    by = seed_qa.ask("How many papers are by Yang Yu?", options=options).text
    assert by.startswith("All 2 papers within the filters have an author named")
    none = seed_qa.ask("How many papers are there?", options=within(year_to=1999)).text
    assert none == "The library has no papers within the filters."


# How


@pytest.fixture
def openai_server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest.fixture
def llm(openai_server: OpenAIServer) -> OpenAICompatibleLLM:
    url = openai_server.base_url
    return OpenAICompatibleLLM(base_url=url, model="m", api_key="sk-1", timeout=5)


@pytest.fixture
def served(open_qa: Opener, llm: OpenAICompatibleLLM) -> PaperQA:
    """Return a PaperQA with a model behind it."""
    return open_qa(llm=llm)


@pytest.mark.parametrize("question", [MOMENTOR, FOLLOW_UP, "Wie lernt Momentor?"])
def test_without_writing_no_request_reaches_a_model(
    served: PaperQA, openai_server: OpenAIServer, question: str
):
    history = [Turn("user", "What is Momentor?"), Turn("assistant", GOOD)]

    answer = served.ask(question, history=history, options=AskOptions(write=False))

    assert openai_server.requests == []
    assert answer.model == "extractive"
    assert not any("no model" in note for note in answer.notes)


def test_key_passages_are_the_same_with_and_without_a_model(served: PaperQA, seed_qa: PaperQA):
    answer = served.ask(MOMENTOR, options=AskOptions(write=False))

    assert answer.claims == seed_qa.ask(MOMENTOR).claims
    assert answer.notes == ()


def test_sentences_are_flagged_or_withheld_as_asked(
    open_qa: Opener, served: PaperQA, llm: OpenAICompatibleLLM, openai_server: OpenAIServer
):
    openai_server.default = f"{GOOD} {FALSE}"
    flagging = open_qa(llm=llm, grounding="flag")

    flagged = served.ask(MOMENTOR, options=AskOptions(flag_unsupported=True))
    withheld = flagging.ask(MOMENTOR, options=AskOptions(flag_unsupported=False))

    assert [claim.support for claim in flagged.claims] == ["supported", "not_mentioned"]
    assert [claim.support for claim in withheld.claims] == ["supported"]
    assert len(served.ask(MOMENTOR).withheld) == len(withheld.withheld) == 1


def test_the_threshold_of_one_question_wins(seed_qa: PaperQA):
    question = "Which papers are about spiking neurons?"

    strict = seed_qa.ask(question, options=AskOptions(abstain_threshold=1.0))
    lenient = seed_qa.ask("Where do whales sing?", options=AskOptions(abstain_threshold=0.0))

    assert strict.abstained
    assert not lenient.abstained
    assert strict.confidence == seed_qa.ask(question).confidence


def test_an_answer_of_low_confidence_says_that_it_may_be_none(seed_qa: PaperQA):
    never_declining = AskOptions(abstain_threshold=0.0)
    unsure = seed_qa.ask("Where do whales sing?", options=never_declining)
    sure = seed_qa.ask(MOMENTOR, options=never_declining)
    listed = seed_qa.ask("Which papers are about singing whales?", options=never_declining)

    assert unsure.confidence < UNSURE <= sure.confidence
    assert unsure.notes[0] == NOTE_UNSURE
    assert NOTE_UNSURE not in (*sure.notes, *listed.notes)


def test_where_the_model_declines_nothing_is_said_of_what_is_cited(
    served: PaperQA, openai_server: OpenAIServer
):
    openai_server.default = NOT_ANSWERED

    declined = served.ask("Where do whales sing?", options=AskOptions(abstain_threshold=0.0))

    assert declined.abstained
    assert declined.confidence < UNSURE
    assert NOTE_UNSURE not in declined.notes


def test_an_answer_rests_on_as_many_papers_as_are_allowed(
    served: PaperQA, openai_server: OpenAIServer
):
    for num_sources in (1, 5):
        served.ask(MOMENTOR, options=AskOptions(num_sources=num_sources))
        shown = openai_server.chats[-1].body["messages"][-1]["content"]
        assert f"[{num_sources}]" in shown
        assert f"[{num_sources + 1}]" not in shown


def test_a_list_has_no_more_papers_than_allowed(seed_qa: PaperQA):
    question = "Which papers are about reinforcement learning?"

    answer = seed_qa.ask(question, options=AskOptions(num_sources=2))

    assert len(answer.references) == 2 < len(seed_qa.ask(question).references)


def test_as_many_papers_are_found_as_may_be_read(seed_parts: Parts):
    question = understand(MOMENTOR, options=AskOptions(num_sources=15))

    assert len(seed_parts.retriever.rank(question)) == 15


def test_a_query_of_llama_index_carries_options(seed_qa: PaperQA):
    bundle = QuestionBundle(understand(MOMENTOR, options=about(*OTHERS)))

    response = seed_qa.as_query_engine().query(bundle)

    assert response.metadata["answer"]["abstained"]
    assert {node.node_id for node in response.source_nodes} & {*OTHERS, "qian24a"} == {*OTHERS}


# The shell


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str], seed_home: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    """Return what runs a command over the seeds."""
    monkeypatch.setenv("PAPER_QA_HOME", str(seed_home))

    def run_one(*arguments: str, typed: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", Keyboard(typed))
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run_one


class Keyboard(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_flags_say_which_papers(run: Callable[..., tuple[int, str, str]]):
    code, out, _ = run("search", "-q", "--json", "policies", "--author", "yang yu")
    assert code == 0
    assert len(json.loads(out)) == 2

    flags = ("--from-year", "2024", "--to-year", "2024", "--venue", "icml", "--sources", "2")
    code, out, _ = run("ask", "-q", "--json", MOMENTOR, "--no-llm", *flags)
    assert code == 0
    assert json.loads(out)["references"][0]["paper_id"] == "qian24a"

    chosen = ("--paper", "dai24a", "--paper", "muller24c")
    code, out, _ = run("ask", "-q", "--json", "How many papers are there?", *chosen)
    assert "2 papers within the filters" in json.loads(out)["text"]


def test_a_conversation_keeps_its_flags(run: Callable[..., tuple[int, str, str]]):
    typed = "What does this paper propose?\nHow many papers are there?\n"

    code, out, _ = run("ask", "--no-llm", "--paper", "qian24a", typed=typed)

    assert code == 0
    assert "Momentor" in out
    assert "The library has 1 paper within the filters." in out


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("--from-year", "2025", "--to-year", "2024"), 1),
        (("--paper", "nobody24"), 1),
        (("--sources", "0"), 2),
        (("--sources", "21"), 2),
        (("--from-year", "soon"), 2),
    ],
)
def test_impossible_flags_are_one_line(
    run: Callable[..., tuple[int, str, str]], flags: tuple[str, ...], expected: int
):
    code, out, err = run("ask", "-q", MOMENTOR, *flags)

    assert (code, out) == (expected, "")
    assert "Traceback" not in err
    assert "error: " in err.lower()

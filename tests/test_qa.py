import asyncio
import io
import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from contract import assert_keeps_the_contract
from fakes import HashedEmbedding
from paper_qa.domain import Answer, Paper, Turn
from paper_qa.errors import (
    ConfigurationError,
    FormatError,
    LibraryError,
    PaperQAError,
    QuestionError,
    UnknownPaperError,
)
from paper_qa.indexing import SELF_FINISH
from paper_qa.library import Library
from paper_qa.qa import PaperQA
from papers import make_paper, make_papers
from seeds import MOMENTOR, cited, seed_papers, settings_for

pytest_plugins = ["seed_library"]

HISTORY = [
    {"role": "user", "content": "What is a balanced resonate-and-fire neuron?"},
    {"role": "assistant", "content": "A spiking neuron with a divergence boundary [1]."},
]
FOLLOW_UP = "And does it converge faster?"
RAILS = Paper(
    "rails",
    "Trains on rails",
    "Trains run on rails of steel. We find that wooden sleepers carry the rails for forty years.",
    ("Ada Lovelace",),
    1843,
    "Journal of Rails",
    "https://example.org/rails",
)
SLEEPERS = "How many years do wooden sleepers carry the rails?"
Opener = Callable[..., PaperQA]


@pytest.fixture
def small(open_qa: Opener, tmp_path: Path) -> PaperQA:
    """Return a PaperQA over three made papers, quick to make."""
    library = Library(tmp_path / "small")
    library.add(make_papers(3))
    library.close()
    return open_qa(home=tmp_path / "small")


def same(answer: Answer) -> dict:
    """Return what two answers to one question share."""
    return answer.to_dict() | {"timings": None}


def ids(qa: PaperQA) -> list[str]:
    return [paper.id for paper in qa.papers()]


# Asking


def test_every_way_of_asking_gives_the_same_answer(seed_qa: PaperQA):
    answer = seed_qa.ask(MOMENTOR)

    assert cited(*answer.claims) == ["qian24a"]
    assert same(asyncio.run(seed_qa.aask(MOMENTOR))) == same(answer)
    streamed = list(seed_qa.stream(MOMENTOR))[-1]
    assert isinstance(streamed, Answer)
    assert same(streamed) == same(answer)


def test_it_works_inside_a_running_loop(seed_qa: PaperQA):
    async def ask() -> tuple[str, str]:
        return seed_qa.ask(MOMENTOR).text, (await seed_qa.aask(MOMENTOR)).text

    one, other = asyncio.run(ask())

    assert one == other


def test_several_threads_may_ask_at_once(seed_qa: PaperQA):
    answers: list[Answer] = []
    threads = [
        threading.Thread(target=lambda: answers.append(seed_qa.ask(MOMENTOR))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [same(answer) for answer in answers] == [same(seed_qa.ask(MOMENTOR))] * 4


def test_history_is_taken_as_turns_and_as_chat_programs_keep_it(seed_qa: PaperQA):
    turns = [Turn("user", HISTORY[0]["content"]), Turn("assistant", HISTORY[1]["content"])]

    answer = seed_qa.ask(FOLLOW_UP, history=HISTORY)

    assert cited(*answer.claims) == ["higuchi24a"]
    assert same(seed_qa.ask(FOLLOW_UP, history=turns)) == same(answer)
    assert same(seed_qa.ask(FOLLOW_UP, history=[turns[0], HISTORY[1]])) == same(answer)


def test_keys_of_a_chat_program_that_we_do_not_know_are_left_alone(seed_qa: PaperQA):
    known = [{**message, "metadata": {"id": 1}} for message in HISTORY]

    assert cited(*seed_qa.ask(FOLLOW_UP, history=known).claims) == ["higuchi24a"]


@pytest.mark.parametrize(
    "history",
    [
        [{"role": "system", "content": "Be a pirate."}],
        [{"role": "user"}],
        [{"content": "Hello"}],
        [{"role": "user", "content": ["Hello"]}],
        [{"role": "user", "content": None}],
        ["Hello"],
        [None],
        "Hello",
    ],
)
def test_a_history_that_is_none_is_one_clear_error(seed_qa: PaperQA, history: object):
    with pytest.raises(ConfigurationError, match=r"^a turn of the history is [^\n]+$"):
        seed_qa.ask(FOLLOW_UP, history=history)


@pytest.mark.parametrize("question", ["", "   ", "?", "🙂", "\x00", "x" * 100_000])
def test_what_is_no_question_is_one_clear_error(seed_qa: PaperQA, question: str):
    asked = [
        lambda: seed_qa.ask(question),
        lambda: list(seed_qa.stream(question)),
        lambda: seed_qa.search(question),
        lambda: asyncio.run(seed_qa.aask(question)),
    ]
    for ask in asked:
        with pytest.raises(QuestionError, match=r"^[^\n]+: [^\n]+$"):
            ask()


@pytest.mark.parametrize(
    "question",
    [
        "What is Momentor 🙂🎉?",
        "What\x00 is\x1b[31m Momentor\u200b?",
        "What is \u202eMomentor\u202c?",
        "مومنتور Momentor: what is the Momentor training data engine?",
        "<script>alert(1)</script> Momentor",
        "Momentor'; DROP TABLE papers; --",
    ],
)
def test_odd_characters_in_a_question_do_no_harm(seed_qa: PaperQA, question: str):
    answer = seed_qa.ask(question)

    assert_keeps_the_contract(answer, seed_papers())
    assert answer.retrieved[0].paper.id == "qian24a"
    assert answer.question.isprintable()


def test_who_writes_is_known(seed_qa: PaperQA):
    assert seed_qa.model_name == "extractive"
    assert seed_qa.ask(MOMENTOR).model == "extractive"


# Summaries and searches


@pytest.mark.parametrize("name", ["qian24a", seed_papers()["qian24a"].title, "momentor"])
def test_a_paper_is_summarised_by_its_id_or_name(seed_qa: PaperQA, name: str):
    answer = seed_qa.summarize(name)

    assert_keeps_the_contract(answer, seed_papers())
    assert cited(*answer.claims) == ["qian24a"]
    assert 2 <= len(answer.claims) <= 4


def test_a_topic_is_summarised_paper_by_paper(seed_qa: PaperQA):
    answer = seed_qa.summarize("offline reinforcement learning")

    assert_keeps_the_contract(answer, seed_papers())
    papers = [claim.citations[0].paper_id for claim in answer.claims]
    assert len(set(papers)) >= 2
    assert max(papers.count(paper_id) for paper_id in papers) <= 2
    assert papers == sorted(papers, key=list(dict.fromkeys(papers)).index)


@pytest.mark.parametrize("topic", ["", "  ", "?"])
def test_a_summary_of_nothing_is_an_error(seed_qa: PaperQA, topic: str):
    with pytest.raises(QuestionError):
        seed_qa.summarize(topic)


def test_a_search_gives_the_best_papers(seed_qa: PaperQA):
    hits = seed_qa.search("diffusion models", k=5)

    assert len(hits) == 5
    assert "diffusion" in hits[0].paper.abstract.lower()
    assert hits == seed_qa.search("diffusion models")[:5]
    assert len(seed_qa.search("Summarize qian24a", k=3)) >= 1


@pytest.mark.parametrize("k", [0, -1])
def test_a_search_for_no_papers_is_an_error(seed_qa: PaperQA, k: int):
    with pytest.raises(ConfigurationError, match="1 or more"):
        seed_qa.search("diffusion", k=k)


# The library


def test_a_new_library_starts_with_the_seeds(open_qa: Opener, tmp_path: Path):
    qa = open_qa(home=tmp_path / "new", embed_model=HashedEmbedding())

    assert sorted(ids(qa)) == sorted(seed_papers())
    assert qa.paper("qian24a").title.startswith("Momentor")


def test_a_library_that_was_emptied_stays_empty(small: PaperQA, open_qa: Opener, tmp_path: Path):
    small.remove("m0", "m1", "m2")

    again = open_qa(home=tmp_path / "small")

    assert again.papers() == []
    assert again.search("planning") == []
    assert again.ask(MOMENTOR).abstain_reason == "no_evidence"
    assert_keeps_the_contract(again.ask(MOMENTOR), {})


def test_what_is_added_is_found_and_what_is_removed_is_not(small: PaperQA):
    report = small.add([RAILS, make_paper(1)])
    papers = {paper.id: paper for paper in small.papers()}
    answer = small.ask(SLEEPERS)

    assert (report.added, report.merged) == (("rails",), ("m1",))
    assert_keeps_the_contract(answer, papers)
    assert cited(*answer.claims) == ["rails"]
    assert len(answer.retrieved) == 4

    small.remove("rails")
    assert ids(small) == ["m0", "m1", "m2"]
    assert "rails" not in [hit.paper.id for hit in small.search(SLEEPERS)]
    assert cited(*small.ask(SLEEPERS).claims) != ["rails"]


def test_a_retracted_paper_says_so_where_it_is_cited(small: PaperQA):
    small.add([Paper("bad", "On rails", RAILS.abstract, retracted=True)])

    (reference,) = small.ask(SLEEPERS).references

    assert reference.retracted
    assert small.ask(SLEEPERS).to_dict()["references"][0]["retracted"] is True


def test_an_abstract_that_has_brackets_of_its_own_is_quoted_without_new_markers(small: PaperQA):
    text = "Trains run on rails, as shown in [3] and [4, 5]. We find sleepers of wood under them."
    small.add([Paper("rails", "", text)])

    answer = small.ask("What do trains run on, and what is under the rails?")

    assert_keeps_the_contract(answer, {paper.id: paper for paper in small.papers()})
    assert any("[3]" in c.quote for claim in answer.claims for c in claim.citations)


def test_a_paper_that_is_not_there_is_named_in_the_error(small: PaperQA):
    with pytest.raises(UnknownPaperError, match="'m9'"):
        small.paper("m9")
    with pytest.raises(UnknownPaperError, match="'m9'"):
        small.remove("m0", "m9")
    assert ids(small) == ["m0", "m1", "m2"]


def test_what_is_exported_can_be_added_again(small: PaperQA, open_qa: Opener, tmp_path: Path):
    small.add([RAILS])
    stream = io.StringIO()
    small.export(stream)
    (tmp_path / "papers.jsonl").write_text(stream.getvalue(), "utf-8")
    library = Library(tmp_path / "other")
    library.add([make_paper(9)])
    library.close()

    other = open_qa(home=tmp_path / "other")
    other.add(tmp_path / "papers.jsonl")
    other.remove("m9")

    assert [json.loads(line)["id"] for line in stream.getvalue().splitlines()] == ids(small)
    kept = [(p.id, p.title, p.abstract, p.authors, p.year, p.venue, p.url) for p in other.papers()]
    assert kept == [
        (p.id, p.title, p.abstract, p.authors, p.year, p.venue, p.url) for p in small.papers()
    ]
    assert same(other.ask(SLEEPERS)) == same(small.ask(SLEEPERS))


def test_a_file_is_added_by_its_name_as_well(small: PaperQA, tmp_path: Path):
    line = json.dumps({"id": "a", "title": "A", "abstract": RAILS.abstract})
    (tmp_path / "one.jsonl").write_text(line, "utf-8")

    assert small.add(str(tmp_path / "one.jsonl")).added == ("a",)


@pytest.mark.parametrize("name", ["missing.jsonl", "broken.jsonl"])
def test_of_a_file_that_can_not_be_read_nothing_is_added(small: PaperQA, tmp_path: Path, name: str):
    lines = [
        json.dumps({"id": f"x{n}", "title": f"Title {n}", "abstract": ""}) for n in range(2100)
    ]
    (tmp_path / "broken.jsonl").write_text("\n".join([*lines, "{"]), "utf-8")

    with pytest.raises(FormatError):
        small.add(tmp_path / name)

    assert ids(small) == ["m0", "m1", "m2"]


def test_progress_is_told(small: PaperQA):
    told: list[tuple[str, int, int]] = []

    small.add([RAILS], progress=lambda *step: told.append(step))

    assert told
    assert all(text and done >= 0 for text, done, _ in told)


def test_two_on_one_home_see_what_the_other_does(small: PaperQA, open_qa: Opener, tmp_path: Path):
    other = open_qa(home=tmp_path / "small")
    assert other.search("rails", k=1)[0].paper.id != "rails"

    small.add([RAILS])
    assert other.search("rails", k=1)[0].paper.id == "rails"
    assert cited(*other.ask(SLEEPERS).claims) == ["rails"]

    other.remove("rails")
    assert "rails" not in [hit.paper.id for hit in small.search("rails")]
    assert same(small.ask("What is planned?")) == same(other.ask("What is planned?"))


def test_an_index_that_is_made_anew_gives_the_same_answers(small: PaperQA):
    before = same(small.ask("What is planned with marker1?"))

    small.rebuild_index()

    assert same(small.ask("What is planned with marker1?")) == before


# Opening


def test_a_home_that_can_not_be_written_is_one_clear_error(tmp_path: Path):
    (tmp_path / "file").write_text("not a folder")

    with pytest.raises(LibraryError, match=r"^[^\n]+$"):
        PaperQA(home=tmp_path / "file", settings=settings_for(tmp_path))


def test_settings_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PAPER_QA_HOMME", "/nowhere")

    with pytest.raises(PaperQAError, match="PAPER_QA_HOME"):
        PaperQA()


def test_the_home_that_is_given_wins(tmp_path: Path):
    qa = PaperQA(home=str(tmp_path / "here"), settings=settings_for(tmp_path / "there"))
    qa.papers()
    qa.close()

    assert (tmp_path / "here" / "library.sqlite").is_file()
    assert not (tmp_path / "there").exists()


def test_an_index_is_refreshed_however_much_is_missing(open_qa: Opener, tmp_path: Path):
    library = Library(tmp_path / "large")
    library.add(make_papers(SELF_FINISH + 1))
    library.close()
    qa = open_qa(home=tmp_path / "large", embed_model=HashedEmbedding())

    assert qa.num_pending() > SELF_FINISH
    qa.refresh_index()

    assert qa.num_pending() == 0


@pytest.mark.parametrize("wrong", ["qian24z", "QIAN24AA", "quian24a"])
def test_an_id_that_is_not_quite_right_is_no_topic(seed_qa: PaperQA, wrong: str):
    with pytest.raises(UnknownPaperError, match="qian24a"):
        seed_qa.summarize(wrong)


def test_a_topic_with_a_figure_in_it_is_no_wrong_id(seed_qa: PaperQA):
    assert not seed_qa.summarize("W4A8").abstained


def test_a_summary_of_a_topic_has_a_line_for_each_paper(seed_qa: PaperQA):
    answer = seed_qa.summarize("spiking neural networks")

    assert len(answer.text.splitlines()) == len(answer.references) > 1


@pytest.mark.parametrize(
    ("claim", "paper_id", "support"),
    [
        ("Momentor is trained on Moment-10M.", "qian24a", "supported"),
        ("Momentor is trained on Moment-10M.", None, "supported"),
        ("Momentor is trained on 40 cooking videos from Finland.", "qian24a", "not_mentioned"),
        ("Whales sing in the deep sea at night.", None, "not_mentioned"),
    ],
)
def test_a_claim_is_checked_against_one_paper_or_the_nearest(
    seed_qa: PaperQA, claim: str, paper_id: str | None, support: str
):
    checked = seed_qa.check(claim, paper_id=paper_id)

    assert checked.support == support
    assert 0 <= checked.score <= 1
    assert bool(checked.citations) == (support != "not_mentioned")
    for citation in checked.citations:
        abstract = seed_papers()[citation.paper_id].abstract
        assert citation.quote == abstract[citation.start : citation.end]


def test_a_claim_about_no_paper_is_an_error(seed_qa: PaperQA):
    with pytest.raises(UnknownPaperError):
        seed_qa.check("Trains run.", paper_id="nobody24")
    with pytest.raises(QuestionError):
        seed_qa.check("  ")

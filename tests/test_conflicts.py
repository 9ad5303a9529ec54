"""What another paper says against an answer, and what a paper says against a question."""

from collections.abc import Callable
from pathlib import Path

import pytest

from contract import assert_keeps_the_contract
from paper_qa.answering import NOTE_UNSURE
from paper_qa.domain import Paper
from paper_qa.qa import PaperQA
from seeds import Parts

pytest_plugins = ["seed_library"]

HARMS = Paper(
    "harms24",
    "Coffee and the sleep of adults",
    "Many adults drink coffee late in the day. Evening coffee reduces the sleep quality of healthy "
    "adults. We measured 120 people for three weeks.",
    ("Ada Bean", "Bo Cup"),
)
HELPS = Paper(
    "helps25",
    "Evening coffee and sleep quality",
    "The effect of coffee on sleep is disputed. Evening coffee does not reduce the sleep quality "
    "of healthy adults. We followed 300 people for a year.",
    ("Cy Dark", "Di Espresso", "Ed Filter"),
)
OTHER = Paper(
    "other23",
    "Tea and the sleep of children",
    "Children rarely drink tea. Herbal tea improves how long children sleep. Parents kept diaries.",
    ("Flo Green",),
)
QUESTION = "Does evening coffee reduce the sleep quality of healthy adults?"
Opener = Callable[..., PaperQA]


@pytest.fixture
def ask_of(tmp_path: Path, open_qa: Opener):
    def ask(question: str, *papers: Paper, **settings: object):
        home = tmp_path / "-".join(paper.id for paper in papers)
        parts = Parts.open(home)
        parts.library.add(papers)
        parts.index.refresh()
        parts.close()
        answer = open_qa(home=home, llm=None, **settings).ask(question)
        assert_keeps_the_contract(answer, {paper.id: paper for paper in papers})
        return answer

    return ask


def test_what_another_paper_says_against_it_stands_apart(ask_of):
    answer = ask_of(QUESTION, HARMS, HELPS, OTHER, abstain_threshold=0)

    *cited, against = answer.claims
    first = cited[0].citations[0].paper_id
    (citation,) = against.citations
    assert {first, citation.paper_id} == {"harms24", "helps25"}
    assert {c.paper_id for claim in cited for c in claim.citations} == {first}
    assert against.text.startswith("By contrast, ")
    assert "sleep quality of healthy adults" in citation.quote
    assert citation.number == 2


def test_what_is_said_against_it_leaves_a_note_that_stands_once(ask_of):
    question = "Does evening coffee reduce the sleep quality of shift workers in Oslo hospitals?"

    answer = ask_of(question, HARMS, HELPS, OTHER, abstain_threshold=0)

    assert answer.claims[-1].text.startswith("By contrast, ")
    assert answer.notes.count(NOTE_UNSURE) == 1


def test_papers_that_agree_or_treat_something_else_are_not_set_against_it(ask_of):
    again = Paper("again24", "Coffee and sleep, again", HARMS.abstract, ("Gus Mug", "Hal Pot"))

    for others in ([OTHER], [again], [again, OTHER]):
        answer = ask_of(QUESTION, HARMS, *others, abstain_threshold=0)
        assert not any("By contrast" in claim.text for claim in answer.claims)


def test_a_false_premise_is_set_right_from_the_abstract(ask_of):
    answer = ask_of(
        "Why does evening coffee not reduce the sleep quality of healthy adults?",
        HARMS,
        OTHER,
        abstain_threshold=1,
    )

    assert answer.premise_corrected
    assert not answer.abstained
    (claim,) = answer.claims
    assert claim.text.startswith("The paper says otherwise. Bean and Cup: “")
    assert claim.citations[0].quote.startswith("Evening coffee reduces")

import pytest

from paper_qa.answerability import (
    FEATURES,
    Answerability,
    answerability,
    load_judge,
    measure,
)
from paper_qa.domain import Paper, ScoredPaper
from paper_qa.grounding import Grounder
from paper_qa.questions import understand
from papers import make_papers
from seeds import MOMENTOR, Parts

pytest_plugins = ["seed_library"]


def confidence_in(parts: Parts, question: str) -> float:
    return judged_in(parts, question).confidence


def judged_in(parts: Parts, question: str) -> Answerability:
    understood = parts.retriever.resolve(understand(question))
    hits = parts.retriever.rank(understood)
    return answerability(understood, hits, parts.words, Grounder(parts.words))


@pytest.mark.parametrize(
    "question",
    [
        MOMENTOR,
        "what is PlanDQ?",
        "Which papers give formal differential privacy guarantees?",
        "contextual mdp regret offline oracle",
        "Summarize offline reinforcement learning",
        "Summarize qian24a",
        "Compare Momentor and PlanDQ",
    ],
)
def test_what_the_abstracts_treat_is_above_the_threshold(seed_parts: Parts, question: str):
    assert 0.5 < confidence_in(seed_parts, question) <= 1


@pytest.mark.parametrize("question", ["what is it?", "Who are you?", "why so?"])
def test_a_question_that_says_nothing_has_no_answer(seed_parts: Parts, question: str):
    assert confidence_in(seed_parts, question) == 0


def test_without_papers_there_is_no_answer(seed_parts: Parts):
    grounder = Grounder(seed_parts.words)
    bare = [ScoredPaper(Paper("x", MOMENTOR, ""), 1.0)]
    for hits in ([], bare):
        judged = answerability(understand(MOMENTOR), hits, seed_parts.words, grounder)
        assert (judged.confidence, judged.is_here) == (0, 0)


@pytest.mark.parametrize(
    "question",
    [
        "whats the weather in vienna tomorrow",
        "how do I bake bread?",
        "who won the football world cup in 2022?",
    ],
)
def test_what_is_off_topic_has_less_than_what_is_not(seed_parts: Parts, question: str):
    assert 0 <= confidence_in(seed_parts, question) < confidence_in(seed_parts, MOMENTOR)


def test_it_is_about_the_papers_at_hand_and_not_the_question_alone(seed_parts: Parts):
    strangers = [ScoredPaper(paper, 1.0) for paper in make_papers(3)]

    judged = answerability(
        understand(MOMENTOR), strangers, seed_parts.words, Grounder(seed_parts.words)
    )
    assert judged.confidence < confidence_in(seed_parts, MOMENTOR)


@pytest.mark.parametrize(
    ("question", "is_here"),
    [
        ("How many GPU hours did the training of Momentor take?", True),
        ("Which university funded the annotators of Moment-10M?", True),
        ("How do mRNA vaccines get past the cell membrane?", False),
        ("How are volcanic eruptions forecast from seismic tremor?", False),
    ],
)
def test_a_missing_answer_is_told_from_a_missing_paper(
    seed_parts: Parts, question: str, is_here: bool
):
    judged = judged_in(seed_parts, question)

    assert judged.confidence < 0.5
    assert (judged.is_here >= 0.5) == is_here


def test_every_measure_has_a_weight(seed_parts: Parts):
    understood = understand(MOMENTOR)
    hits = seed_parts.retriever.rank(understood)
    measured = measure(understood, hits, seed_parts.words, Grounder(seed_parts.words))

    assert measured is not None
    assert len(measured) == len(FEATURES) == len(load_judge().means)

import pytest

from paper_qa.confidence import confidence
from paper_qa.domain import Paper, ScoredPaper
from paper_qa.questions import understand
from papers import make_papers
from seeds import MOMENTOR, Parts

pytest_plugins = ["seed_library"]


def confidence_in(parts: Parts, question: str) -> float:
    understood = understand(question)
    return confidence(understood, parts.retriever.rank(understood), parts.words)


@pytest.mark.parametrize(
    "question",
    [
        MOMENTOR,
        "what is PlanDQ?",
        "Which papers give formal differential privacy guarantees?",
        "contextual mdp regret offline oracle",
        "Summarize offline reinforcement learning",
        "Summarize qian24a",
    ],
)
def test_what_the_abstracts_treat_is_above_the_threshold(seed_parts: Parts, question: str):
    assert 0.5 < confidence_in(seed_parts, question) <= 1


@pytest.mark.parametrize("question", ["what is it?", "Who are you?", "why so?"])
def test_a_question_that_says_nothing_has_no_answer(seed_parts: Parts, question: str):
    assert confidence_in(seed_parts, question) == 0


def test_without_papers_there_is_no_answer(seed_parts: Parts):
    assert confidence(understand(MOMENTOR), [], seed_parts.words) == 0
    bare = [ScoredPaper(Paper("x", MOMENTOR, ""), 1.0)]
    assert confidence(understand(MOMENTOR), bare, seed_parts.words) == 0


@pytest.mark.parametrize(
    "question",
    ["whats the weather in vienna tomorrow", "who won the football world cup in 2022?"],
)
def test_what_is_off_topic_has_less_than_what_is_not(seed_parts: Parts, question: str):
    assert 0 <= confidence_in(seed_parts, question) < confidence_in(seed_parts, MOMENTOR)


def test_it_is_about_the_papers_at_hand_and_not_the_question_alone(seed_parts: Parts):
    strangers = [ScoredPaper(paper, 1.0) for paper in make_papers(3)]

    assert confidence(understand(MOMENTOR), strangers, seed_parts.words) < confidence_in(
        seed_parts, MOMENTOR
    )

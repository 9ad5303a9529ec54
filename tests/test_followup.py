"""Which questions need the conversation before them: real ones, alone and after others."""

from random import Random
from statistics import mean

import pytest

from paper_qa.domain import Turn
from paper_qa.evaluation.measures import ndcg_at_k
from paper_qa.evaluation.questions import Question
from paper_qa.followup import depends_on_history
from paper_qa.questions import understand
from seeds import Parts, questions

pytest_plugins = ["seed_library"]

ALONE = [
    question
    for question in [*questions(), *questions("questions_more")]
    if not question.history and question.lang == "en"
]
FOLLOWING = [
    question
    for question in [*questions(), *questions("followups")]
    if question.history and question.lang == "en"
]


def test_hardly_a_question_that_stands_alone_is_taken_for_a_follow_up():
    taken = [question.question for question in ALONE if depends_on_history(question.question)]

    assert len(taken) <= 0.02 * len(ALONE), taken


def test_nearly_all_follow_ups_are_known_as_such():
    missed = [item.question for item in FOLLOWING if not depends_on_history(item.question)]

    assert len(missed) <= 0.1 * len(FOLLOWING), missed


@pytest.mark.parametrize(
    "question",
    [
        "How are spiking neurons made to resonate?",
        "Which quantization keeps trustworthiness?",
        "What do causal graphs tell about networks?",
        "How does Momentor get its training data?",
        "Is there a method that quantizes attention?",
        "federated learning",
        "capital of France",
    ],
)
def test_a_question_with_a_subject_of_its_own_stands_alone(question: str):
    assert not depends_on_history(question)


@pytest.mark.parametrize(
    "question",
    ["Why?", "Which dataset?", "how large is the speedup?", "And in numbers?", "Is it any faster?"],
)
def test_a_question_about_what_was_said_does_not(question: str):
    assert depends_on_history(question)


def found(parts: Parts, question: Question, *history: Turn) -> float:
    hits = parts.retriever.rank(understand(question.question, history), k=10)
    relevance = dict.fromkeys(question.gold, 1.0)
    return ndcg_at_k([hit.paper.id for hit in hits], relevance, k=10)


def test_what_was_talked_about_before_does_not_lead_another_question_astray(seed_parts: Parts):
    random = Random(0)
    asked = [item for item in ALONE if item.gold][::4]

    alone = mean(found(seed_parts, item) for item in asked)
    after_others = mean(
        found(seed_parts, item, Turn("user", other.question), Turn("assistant", other.quote[0]))
        for item in asked
        if (other := random.choice([one for one in ALONE if one.quote]))
    )

    assert after_others > alone - 0.02


def test_follow_ups_find_what_they_are_about(seed_parts: Parts):
    ranked = [
        found(seed_parts, item, *(Turn(turn.role, turn.content) for turn in item.history))
        for item in FOLLOWING
    ]

    assert mean(ranked) > 0.78

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper_qa.evaluation import read_questions
from paper_qa.evaluation.facts import num_facts_stated, num_words, states_fact

EVALUATION = Path(__file__).parents[1] / "evaluation"


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("The outcome of political processes.", "result of politics || political process"),
        ("All subgroups of it", "subgroup"),
        ("by two processes", "process"),
        ("two SSMs", "SSM"),
        ("*Mechanistic* and _volitional_ views", "volitional"),
        ("The Hodgkin--Huxley model", "Hodgkin"),
        ("the $k$-WL hierarchy", "k-WL || $k$-WL"),
        ("regret $\\mathcal{O}(T^{1/3})$", "T^{1/3}"),
        ("grows as $k^2\\log T$", "\\log T"),
        ("an optimal CR of $1/2$", "1/2"),
        ("on 21 datasets", "21 || twenty-one"),
        ("on 21, or 22, of them.", "21"),
        ("we use 21.", "21"),
        ("83.6\\% with 16.2ms latency", "16.2"),
        ("over 95% accuracy", "95% || 95 percent"),
        ("over $95\\%$ accuracy", "95% || 95\\%"),
        ("less than $10\\%$ overhead", "less than 10\\% || less than $10\\%$"),
        ("E(3) equivariant", "E(3)"),
        ("(E(3))", "E(3)"),
        ("the Bradley\u2013Terry model", "Bradley-Terry"),
        ("the Bradley-Terry model", "Bradley\u2013Terry"),
        ("the k\u2011WL test", "k-WL"),
        ("Friston\u2019s principle", "Friston's principle"),
        ("the \u201cfront door\u201d text", '"front door"'),
        ("random\nwalks over\u00a0grammars", "random walk || grammar"),
        ("random walks over\u00a0grammars", "walks over grammars"),
        ("no loss of clean accuracy [1][2].", "clean accuracy."),
        ("实验一共用了21个数据集", "21 || 二十一"),
        ("我们提出PlanDQ方法", "PlanDQ"),
        ("可以降低方差的方法", "降低方差"),
        ("関数空間における勾配降下です", "勾配降下"),
        ("café", "cafe\u0301"),
    ],
)
def test_a_fact_is_stated(text, fact):
    assert states_fact(text, fact)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("RLHF", "RL"),
        ("the same thing", "SAM"),
        ("Sam said so", "SAM"),
        ("we get it", "GET"),
        ("a boundary", "bound"),
        ("unbounded", "bounded"),
        ("pruned", "prune"),
        ("in 2121 runs", "21"),
        ("about 3.21 points", "21"),
        ("21,000 pairs", "21"),
        ("21.5 points", "21"),
        ("in 1.95% of them", "95%"),
        ("5 95 percent", "95%"),
        ("11/2", "1/2"),
        ("1/20", "1/2"),
        ("as cited [21].", "21"),
        ("正", "正则化"),
        ("", "anything"),
    ],
)
def test_a_fact_is_not_stated(text, fact):
    assert not states_fact(text, fact)


def test_a_later_occurrence_that_is_a_word_counts():
    assert states_fact("unbounded, yet bounded", "bounded")


def test_facts_are_counted_once_each_however_often_they_are_said():
    assert num_facts_stated("DARL, DARL and DARL", ["DARL", "MSE", "darl || Darl"]) == 2


@given(text=st.text(max_size=40), fact=st.text(max_size=10))
def test_any_text_can_be_searched_for_any_fact(text, fact):
    assert states_fact(text, fact) in {True, False}


@given(before=st.text(max_size=20), after=st.text(max_size=20))
def test_a_fact_between_blanks_is_stated_whatever_is_around_it(before, after):
    assert states_fact(f"{before} Weisfeiler {after}", "Weisfeiler || something else")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("Two words [1][2].", 2), ("one\n two", 2), ("使用PlanDQ方法", 5)],
)
def test_words_are_counted_without_markers(text, expected):
    assert num_words(text) == expected


def test_the_reference_answers_state_every_fact():
    questions = {q.id: q for q in read_questions(EVALUATION / "questions.jsonl")}
    lines = (EVALUATION / "answers.jsonl").read_text(encoding="utf-8").splitlines()

    unstated = [
        (answer["id"], fact)
        for answer in map(json.loads, lines)
        for fact in questions[answer["id"]].facts
        if not states_fact(answer["answer"], fact)
    ]

    assert unstated == []

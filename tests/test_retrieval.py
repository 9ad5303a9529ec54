from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.schema import QueryBundle

from paper_qa.domain import Answer, Paper, Turn
from paper_qa.embedding import OnnxEmbedding
from paper_qa.evaluation.measures import ndcg_at_k
from paper_qa.evaluation.questions import Question
from paper_qa.nodes import scored_paper
from paper_qa.questions import understand
from paper_qa.retrieval import convex_fusion
from papers import make_papers
from seeds import MOMENTOR, Parts, questions, seed_papers

pytest_plugins = ["seed_library"]

SCORES = st.dictionaries(st.sampled_from("abcdef"), st.floats(-2, 30), max_size=6)
ASKED = [
    MOMENTOR,
    "Which papers are about fairness when resources are handed out?",
    "Compare the two papers on deep equilibrium models.",
    "contextual mdp regret offline oracle",
]


def ranked(parts: Parts, question: str, *history: Turn, k: int | None = None) -> list[str]:
    return [hit.paper.id for hit in parts.retriever.rank(understand(question, history), k=k)]


def with_scores(parts: Parts, question: str) -> list[tuple[str, float]]:
    return [(hit.paper.id, hit.score) for hit in parts.retriever.rank(understand(question))]


# Fusion


def test_scores_are_levelled_and_added_by_weight():
    """The candidates are a, b, c. Dense .9, .5, .1 become 1, .5, 0.

    Of the words' scores 8 and 2, over nothing for b, 8 becomes 1 and 2 becomes .25.
    """
    fused = convex_fusion([(0.75, {"a": 0.9, "b": 0.5, "c": 0.1}), (0.25, {"c": 8.0, "a": 2.0})])

    assert fused == pytest.approx({"a": 0.75 + 0.0625, "b": 0.375, "c": 0.25})


def test_of_one_candidate_or_of_equal_ones_all_are_the_best():
    assert convex_fusion([(0.7, {"a": 0.1}), (0.3, {"a": 5.0})]) == pytest.approx({"a": 1.0})
    assert convex_fusion([(1.0, {"a": 2.0, "b": 2.0})]) == {"a": 1.0, "b": 1.0}


def test_a_part_that_found_nothing_decides_nothing():
    assert convex_fusion([]) == {}
    assert convex_fusion([(0.5, {}), (0.5, {})]) == {}
    assert convex_fusion([(0.5, {}), (0.5, {"a": 2.0, "b": 1.0})]) == {"a": 0.5, "b": 0.0}


@settings(deadline=None, max_examples=50)
@given(SCORES, SCORES, st.floats(0, 1))
def test_fused_scores_are_between_0_and_1_for_all_candidates(
    one: Mapping[str, float], other: Mapping[str, float], weight: float
):
    fused = convex_fusion([(weight, one), (1 - weight, other)])

    assert set(fused) == set(one) | set(other)
    assert all(-1e-9 <= score <= 1 + 1e-9 for score in fused.values())


@settings(deadline=None, max_examples=50)
@given(SCORES, SCORES, st.randoms())
def test_the_order_in_which_candidates_come_does_not_matter(
    one: dict[str, float], other: dict[str, float], random
):
    shuffled = [dict(random.sample(list(scores.items()), len(scores))) for scores in (one, other)]

    fused = convex_fusion([(0.7, one), (0.3, other)])

    assert convex_fusion([(0.7, shuffled[0]), (0.3, shuffled[1])]) == fused
    assert convex_fusion([(0.3, other), (0.7, one)]) == pytest.approx(fused)


@settings(deadline=None, max_examples=50)
@given(SCORES, st.floats(0.125, 8), st.floats(-4, 4))
def test_the_scale_of_a_part_does_not_matter_when_it_knows_all_candidates(
    scores: dict[str, float], factor: float, shift: float
):
    if len({round(score, 3) for score in scores.values()}) != len(scores):
        return
    rescaled = {key: factor * score + shift for key, score in scores.items()}

    assert convex_fusion([(1.0, rescaled)]) == pytest.approx(
        convex_fusion([(1.0, scores)]), abs=1e-3
    )


# One library, one ranking


@pytest.mark.parametrize("question", ASKED)
def test_papers_come_best_first_with_scores_between_0_and_1(seed_parts: Parts, question: str):
    scores = [score for _, score in with_scores(seed_parts, question)]

    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert with_scores(seed_parts, question) == with_scores(seed_parts, question)


def test_the_ranking_is_the_same_after_reopening_and_after_rebuilding(
    seed_parts: Parts, copied_home: Path
):
    expected = [with_scores(seed_parts, question) for question in ASKED]

    reopened = Parts.open(copied_home)
    found = [with_scores(reopened, question) for question in ASKED]
    reopened.index.refresh(rebuild=True)
    rebuilt = [with_scores(reopened, question) for question in ASKED]
    reopened.close()

    assert found == expected
    assert rebuilt == expected


def test_neither_threads_nor_the_order_of_adding_nor_what_came_and_went_matters(tmp_path: Path):
    papers = list(seed_papers().values())[:6]
    built = []
    for name, order, num_threads in (("one", papers, 1), ("other", papers[::-1], 3)):
        parts = Parts.open(tmp_path / name, OnnxEmbedding(num_threads=num_threads))
        if name == "other":
            parts.library.add(make_papers(3))
            parts.index.refresh()
            parts.library.remove(["m0", "m1", "m2"])
        parts.library.add(order)
        parts.index.refresh()
        built.append([with_scores(parts, question) for question in ASKED])
        parts.close()

    assert built[0] == built[1]


def test_papers_that_fit_equally_well_come_by_id(tmp_path: Path):
    parts = Parts.open(tmp_path)
    parts.library.add(Paper(key, "Trains on rails", "") for key in "cab")
    parts.index.refresh()

    found = ranked(parts, "trains")
    parts.close()

    assert found == ["a", "b", "c"]


# How many


def test_as_many_papers_come_as_are_asked_for(seed_parts: Parts):
    assert len(ranked(seed_parts, MOMENTOR)) == 10
    assert len(ranked(seed_parts, "Which papers are about graphs?")) > 10
    assert ranked(seed_parts, MOMENTOR, k=3) == ranked(seed_parts, MOMENTOR)[:3]
    everything = ranked(seed_parts, MOMENTOR, k=1000)
    assert len(everything) == len(set(everything)) > 60


def test_an_empty_library_has_nothing_and_a_small_one_all_it_has(tmp_path: Path):
    parts = Parts.open(tmp_path)
    assert ranked(parts, MOMENTOR) == []

    parts.library.add(make_papers(2))
    parts.index.refresh()
    assert sorted(ranked(parts, "What is planned?")) == ["m0", "m1"]

    parts.library.remove(["m0"])
    parts.index.refresh()
    assert ranked(parts, "What is planned?") == ["m1"]
    assert ranked(parts, "and what of it?") == ["m1"]
    parts.close()


# What is found


@pytest.mark.parametrize(
    ("query", "paper_id"),
    [
        ("what is plandq?", "chen24a"),
        ("PLANDQ", "chen24a"),
        ("Plan-DQ", "chen24a"),
        ("momentr training data", "qian24a"),
        ("moment10m", "qian24a"),
        ("Moment 10 M", "qian24a"),
        ("MLLM as judge", "chen24h"),
        ("mllmasajudge", "chen24h"),
        ("DiracDifusion", "fabian24b"),
        ("dirac diffusion", "fabian24b"),
        ("fessnc controler", "zhang24bs"),
        ("slot abstracters", "mondal24a"),
        ("kepsvgp", "chen24am"),
        ("Decision NCE", "li24cr"),
        ("decisonnce", "li24cr"),
        ("tdpo", "zeng24c"),
        ("weisfeiler leman", "muller24c"),
        ("just cluster it", "wagner24a"),
    ],
)
def test_a_name_is_found_in_other_case_with_other_hyphens_and_misspelt(
    seed_parts: Parts, query: str, paper_id: str
):
    assert ranked(seed_parts, query)[0] == paper_id


@pytest.mark.parametrize(
    ("query", "paper_id"),
    [
        ("desicion nce", "li24cr"),
        ("hierarchical oponent modeling", "huang24p"),
    ],
)
@pytest.mark.xfail(strict=True, reason="two slips at once, or in an ordinary word, are not mended")
def test_a_name_is_found_however_it_is_written(seed_parts: Parts, query: str, paper_id: str):
    assert ranked(seed_parts, query)[0] == paper_id


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("Which papers report results on D4RL?", "D4RL"),
        ("results on d4rl", "D4RL"),
        ("who evaluates with W4A8?", "W4A8"),
        ("anything on SlimPajama", "SlimPajama"),
    ],
)
def test_papers_that_have_a_name_in_their_text_come_before_all_others(
    seed_parts: Parts, query: str, named: str
):
    holders = {
        paper.id for paper in seed_papers().values() if named in f"{paper.title} {paper.abstract}"
    }

    assert holders
    assert set(ranked(seed_parts, query)[: len(holders)]) == holders


@pytest.mark.parametrize(
    "topic",
    [
        "qian24a",
        "QIAN24A",
        "Momentor: Advancing Video Large Language Model with Fine-Grained Temporal Reasoning",
        "momentor",
        "“Momentor”",
    ],
)
def test_a_paper_that_is_named_is_known_and_comes_first(seed_parts: Parts, topic: str):
    question = seed_parts.retriever.resolve(understand(f"Summarize {topic}."))

    hits = seed_parts.retriever.rank(question)
    assert question.paper_id == "qian24a"
    assert (hits[0].paper.id, hits[0].score) == ("qian24a", 1.0)
    assert len({hit.paper.id for hit in hits}) == len(hits) >= 10


@pytest.mark.parametrize("question", ["Summarize fairness", "momentor", "What is Momentor?"])
def test_no_paper_is_named_by_a_topic_or_by_another_question(seed_parts: Parts, question: str):
    understood = understand(question)

    assert seed_parts.retriever.resolve(understood) == understood


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Compare Momentor and defenses against backdoor attacks on language models", "Momentor"),
        ("momentor versus decision making with diffusion models", "Momentor"),
        ("What is the difference between backdoor attacks and PlanDQ?", "PlanDQ"),
    ],
)
def test_a_paper_that_a_comparison_names_is_among_those_compared(
    seed_parts: Parts, question: str, first: str
):
    """The question as a whole is nearer to papers on its other side."""
    hits = seed_parts.retriever.rank(understand(question))

    assert hits[0].paper.title.startswith(first)
    assert not hits[1].paper.title.startswith(first)
    assert hits[0].score == 1.0


def test_a_summary_of_a_topic_is_of_several_papers(seed_parts: Parts):
    assert len(ranked(seed_parts, "Summarize offline reinforcement learning")) > 3


def test_a_follow_up_finds_what_the_conversation_was_about(seed_parts: Parts):
    history = [
        Turn("user", "What is a balanced resonate-and-fire neuron?"),
        Turn("assistant", "A spiking neuron whose divergence boundary is smooth [1]."),
    ]

    assert ranked(seed_parts, "And does it converge faster?", *history)[0] == "higuchi24a"


def test_a_retracted_paper_is_found_and_stays_marked(tmp_path: Path):
    parts = Parts.open(tmp_path)
    parts.library.add([replace(paper, retracted=True) for paper in make_papers(1)])
    parts.index.refresh()

    (hit,) = parts.retriever.rank(understand("What is studied?"))
    parts.close()

    assert hit.paper.retracted


def test_the_retriever_sits_in_the_seat_of_llama_index(seed_parts: Parts):
    nodes = seed_parts.retriever.retrieve(QueryBundle(MOMENTOR))

    hits = seed_parts.retriever.rank(understand(MOMENTOR))
    assert [scored_paper(node).paper.id for node in nodes] == [hit.paper.id for hit in hits]
    assert [node.score for node in nodes] == [hit.score for hit in hits]
    assert [node.node_id for node in seed_parts.retriever.retrieve(MOMENTOR)] == [
        hit.paper.id for hit in hits
    ]


@pytest.mark.parametrize(
    "query", ['"', "*", "NEAR(a b)", "a AND OR", "col:x", "(((", "-", "' OR 1=1 --", "\\", "% _ ^"]
)
def test_signs_of_a_query_language_are_none_of_it(seed_parts: Parts, query: str):
    assert ranked(seed_parts, f"{query} momentor")[0] == "qian24a"


# A gate: what was measured is .02 to .04 above


@pytest.mark.parametrize(("name", "floor"), [("questions", 0.88), ("questions_more", 0.78)])
def test_retrieval_does_not_fall_below_what_is_published(
    seed_answers: Mapping[str, Answer], name: str, floor: float
):
    judged = [item for item in questions(name) if item.gold and not item.history]

    assert mean(_ndcg(seed_answers[item.id], item) for item in judged) >= floor


def _ndcg(answer: Answer, item: Question) -> float:
    found = [hit.paper.id for hit in answer.retrieved]
    return ndcg_at_k(found, dict.fromkeys(item.gold, 1.0), k=10)

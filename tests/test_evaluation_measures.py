import math
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper_qa.domain import Answer, Citation, Claim
from paper_qa.evaluation import measures

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # ir-measures' own imports
    import ir_measures
    from ir_measures import RR, R, nDCG

PAPER_IDS = [f"p{number}" for number in range(20)]
RANKINGS = st.permutations(PAPER_IDS).flatmap(
    lambda ids: st.integers(min_value=0, max_value=len(ids)).map(lambda cut: list(ids[:cut]))
)


def by_ir_measures(measure, ranked: list[str], relevance: dict[str, int]) -> float:
    """Ask the reference; what it is not given a run for counts 0."""
    qrels = [ir_measures.Qrel("q", paper_id, grade) for paper_id, grade in relevance.items()]
    run = [
        ir_measures.ScoredDoc("q", paper_id, float(len(ranked) - rank))
        for rank, paper_id in enumerate(ranked)
    ]
    return ir_measures.calc_aggregate([measure], qrels, run)[measure] if run else 0.0


def answer_citing(*paper_ids: str, **fields) -> Answer:
    citations = tuple(
        Citation(number, paper_id, 0, 3, "abc") for number, paper_id in enumerate(paper_ids, 1)
    )
    return Answer("q", "Text.", claims=(Claim("Text", "supported", 1.0, citations),), **fields)


@given(
    ranked=RANKINGS,
    relevance=st.dictionaries(
        st.sampled_from(PAPER_IDS), st.integers(min_value=1, max_value=3), min_size=1
    ),
    k=st.sampled_from([1, 5, 10]),
)
def test_the_ranking_measures_agree_with_ir_measures(ranked, relevance, k):
    gains = {paper_id: float(grade) for paper_id, grade in relevance.items()}

    assert measures.ndcg_at_k(ranked, gains, k=k) == pytest.approx(
        by_ir_measures(nDCG @ k, ranked, relevance)
    )
    assert measures.recall_at_k(ranked, gains, k=k) == pytest.approx(
        by_ir_measures(R @ k, ranked, relevance)
    )
    assert measures.reciprocal_rank(ranked[:k], gains) == pytest.approx(
        by_ir_measures(RR @ k, ranked, relevance)
    )


def test_ndcg_discounts_a_linear_gain_by_the_logarithm_of_the_rank():
    """Relevance 3 at rank 1 and 2 at rank 3, best possible 3 and 2 at ranks 1 and 2.

    DCG = 3/log2(2) + 2/log2(4) = 3 + 1 = 4; ideal = 3 + 2/log2(3) = 4.26186.
    An exponential gain would give (7 + 3/2) / (7 + 3/log2(3)) = .9558 instead of .9386.
    """
    value = measures.ndcg_at_k(["a", "x", "b"], {"a": 3.0, "b": 2.0}, k=10)

    assert value == pytest.approx(4 / (3 + 2 / math.log2(3)))
    assert round(value, 4) == 0.9386


def test_the_ideal_of_ndcg_is_cut_at_k_as_well():
    """One relevant paper on rank 1 is all that k = 1 can hold, however many are relevant."""
    assert measures.ndcg_at_k(["a", "x"], {"a": 1.0, "b": 1.0}, k=1) == 1.0


def test_recall_counts_the_relevant_papers_among_the_first_k():
    """Two of three relevant papers are in the first five: 2/3."""
    ranked = ["a", "x", "y", "b", "z", "c"]

    assert measures.recall_at_k(ranked, ["a", "b", "c"], k=5) == pytest.approx(2 / 3)


def test_the_reciprocal_rank_is_that_of_the_first_relevant_paper():
    """The first relevant paper is third: 1/3."""
    assert measures.reciprocal_rank(["x", "y", "a", "b"], ["b", "a"]) == pytest.approx(1 / 3)
    assert measures.reciprocal_rank(["x", "y"], ["a"]) == 0.0


def test_citation_precision_and_recall_count_papers_and_not_citations():
    """Cited a, b, c; gold a, b, d, e: 2 of 3 cited are gold, 2 of 4 gold are cited."""
    cited, gold = ["a", "b", "c", "a"], ["a", "b", "d", "e"]

    assert measures.citation_precision(cited, gold) == pytest.approx(2 / 3)
    assert measures.citation_recall(cited, gold) == pytest.approx(2 / 4)


def test_an_answer_that_cites_nothing_has_no_precision_and_no_recall():
    assert measures.citation_precision([], ["a"]) == 0.0
    assert measures.citation_recall([], ["a"]) == 0.0


@pytest.mark.parametrize("measure", ["ndcg", "recall", "citation_recall", "auroc"])
def test_an_undefined_measure_is_an_error_and_not_a_score(measure):
    undefined = {
        "ndcg": lambda: measures.ndcg_at_k(["a"], {}, k=10),
        "recall": lambda: measures.recall_at_k(["a"], [], k=10),
        "citation_recall": lambda: measures.citation_recall(["a"], []),
        "auroc": lambda: measures.auroc([0.5], []),
    }[measure]

    with pytest.raises(ZeroDivisionError):
        undefined()


@pytest.mark.parametrize(
    ("start", "end", "quote", "is_valid"),
    [
        (4, 7, "two", True),
        (4, 7, "Two", False),
        (3, 7, "two", False),
        (4, 99, "two three", False),
        (-5, 13, "three", False),
        (4, 4, "", False),
    ],
)
def test_a_quote_is_valid_only_when_it_is_the_text_at_its_offsets(start, end, quote, is_valid):
    citation = Citation(1, "a", start, end, quote)

    assert measures.quote_is_valid(citation, "one two three") is is_valid


def test_the_cited_papers_are_those_of_all_claims():
    first, second = answer_citing("a", "b"), answer_citing("b", "c")

    merged = Answer("q", "Text.", claims=(*first.claims, *second.claims))

    assert measures.cited_papers(merged) == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("answer", "kind", "is_false"),
    [
        (Answer("q", "No.", abstained=True), "off_topic", False),
        (answer_citing("near"), "not_in_abstract", True),
        (answer_citing("near"), "false_premise", True),
        (answer_citing("near", premise_corrected=True), "false_premise", False),
        (answer_citing("other", "near", premise_corrected=True), "false_premise", False),
        (answer_citing("other", premise_corrected=True), "false_premise", True),
        (answer_citing("near", premise_corrected=True), "not_in_abstract", True),
    ],
)
def test_only_declining_or_setting_a_false_premise_right_is_no_false_answer(answer, kind, is_false):
    assert measures.is_false_answer(answer, kind=kind, near=["near"]) is is_false


def test_auroc_is_the_share_of_pairs_in_the_right_order():
    """Of six pairs .9 > .4, .9 > .1 and twice .4 > .1 are right, twice .4 = .4 is half right."""
    assert measures.auroc([0.9, 0.4, 0.4], [0.4, 0.1]) == pytest.approx(5 / 6)


def test_a_constant_score_has_an_auroc_of_one_half():
    assert measures.auroc([0.5] * 3, [0.5] * 4) == 0.5


@given(
    positives=st.lists(st.floats(0, 1), min_size=1, max_size=20),
    negatives=st.lists(st.floats(0, 1), min_size=1, max_size=20),
)
def test_auroc_of_the_other_class_is_the_complement(positives, negatives):
    assert measures.auroc(positives, negatives) == pytest.approx(
        1 - measures.auroc(negatives, positives)
    )


def test_the_risk_is_the_share_of_wrong_ones_among_the_most_confident():
    """By confidence: right, wrong, right, wrong; 0/1, 1/2, 1/3 and 2/4 of them are wrong."""
    points = measures.risk_coverage([0.9, 0.7], [0.8, 0.1])

    assert points == [(0.25, 0.0), (0.5, 0.5), (0.75, pytest.approx(1 / 3)), (1.0, 0.5)]
    assert measures.aurc([0.9, 0.7], [0.8, 0.1]) == pytest.approx((0 + 1 / 2 + 1 / 3 + 2 / 4) / 4)


def test_what_is_of_one_confidence_counts_as_the_mean_of_its_orders():
    """After .9, right before wrong gives 0, 0, 1/3, wrong before right 0, 1/2, 1/3."""
    one, other = (0 + 0 + 1 / 3) / 3, (0 + 1 / 2 + 1 / 3) / 3

    assert measures.aurc([0.9, 0.5], [0.5]) == pytest.approx((one + other) / 2)
    assert measures.aurc([0.5], [0.5, 0.5]) == pytest.approx(2 / 3)


def test_the_bins_of_the_calibration_are_those_that_something_is_in():
    """.12 and .18 in the second bin, one of them true; 1 in the last."""
    bins = measures.calibration_bins([0.12, 1.0, 0.18], [True, True, False])

    assert [(x.num_items, x.share_true) for x in bins] == [(2, 0.5), (1, 1.0)]
    assert [x.score for x in bins] == [pytest.approx(0.15), 1.0]


@given(
    pairs=st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=20),
)
def test_the_bins_make_up_the_calibration_error(pairs):
    scores, outcomes = zip(*pairs, strict=True)
    bins = measures.calibration_bins(scores, outcomes)

    gaps = sum(x.num_items * abs(x.share_true - x.score) for x in bins)

    assert gaps / len(pairs) == pytest.approx(measures.calibration_error(scores, outcomes))

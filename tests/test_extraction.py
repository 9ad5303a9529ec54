from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paper_qa.citing import Numbering
from paper_qa.domain import Claim, Evidence, Paper
from paper_qa.extraction import choose, extract
from paper_qa.questions import understand
from paper_qa.sentences import split_sentences
from papers import make_papers

PAPERS = {paper.id: paper for paper in make_papers(8)}
LIST, COMPARE, SUMMARY, ANSWER = (
    "Which papers study planning?",
    "Compare the two papers.",
    "Summarize planning",
    "What is studied here?",
)


def evidence_of(*papers: Paper) -> list[Evidence]:
    """Return all sentences of the papers, each with a score of its own."""
    random = Random(0)
    return [
        Evidence(paper.id, span.start, span.end, paper.abstract[span.start : span.end], score)
        for paper in papers
        for span in split_sentences(paper.abstract)
        if (score := random.random())
    ]


def claims_for(question: str, *paper_ids: str) -> list[Claim]:
    evidence = evidence_of(*(PAPERS[paper_id] for paper_id in paper_ids))
    return extract(understand(question), evidence, PAPERS, Numbering())


def papers_of(claims: list[Claim]) -> list[str]:
    return [claim.citations[0].paper_id for claim in claims]


ITEMS = st.lists(
    st.builds(
        Evidence,
        st.just("a"),
        st.integers(0, 1000),
        st.just(0),
        st.integers(1, 60).map(lambda count: "word " * count),
        st.floats(0, 1),
    ),
    unique_by=lambda item: item.start,
)


@settings(deadline=None)
@given(ITEMS, st.integers(1, 6), st.integers(1, 120))
def test_the_best_sentences_are_chosen_in_reading_order_and_few_enough_to_read(
    items: list[Evidence], k: int, max_words: int
):
    chosen = choose(items, k, max_words)

    assert len(chosen) <= k
    assert bool(chosen) == bool(items)
    assert [item.start for item in chosen] == sorted(item.start for item in chosen)
    assert len(chosen) == 1 or sum(len(item.text.split()) for item in chosen) <= max_words
    if chosen:
        assert max(item.score for item in chosen) == max(item.score for item in items)


@settings(deadline=None)
@given(ITEMS, st.randoms())
def test_the_order_in_which_sentences_come_does_not_matter(items: list[Evidence], random: Random):
    shuffled = random.sample(items, len(items))

    assert choose(shuffled, 3) == choose(items, 3)


@pytest.mark.parametrize("question", [LIST, COMPARE, SUMMARY, ANSWER])
def test_every_claim_quotes_its_sentence_word_for_word(question: str):
    for claim in claims_for(question, "m1", "m2", "m3"):
        (citation,) = claim.citations
        paper = PAPERS[citation.paper_id]
        assert citation.quote == paper.abstract[citation.start : citation.end]
        assert f"“{citation.quote.removesuffix('.')}”" in claim.text
        assert (claim.support, claim.score) == ("supported", 1.0)


def test_an_answer_is_from_the_best_paper_which_is_named_once():
    claims = claims_for(ANSWER, "m2", "m1")

    assert set(papers_of(claims)) == {"m2"}
    assert claims[0].text.startswith("Lovelace and 2: “We study")
    assert all(claim.text.startswith("“") for claim in claims[1:])


def test_a_list_has_a_line_for_each_paper_with_its_title_and_best_sentence():
    evidence = evidence_of(*PAPERS.values())

    claims = extract(understand(LIST), evidence, PAPERS, Numbering())

    assert papers_of(claims) == list(PAPERS)
    assert [claim.citations[0].number for claim in claims] == list(range(1, 9))
    for claim, paper in zip(claims, PAPERS.values(), strict=True):
        best = max(item.score for item in evidence if item.paper_id == paper.id)
        (item,) = (item for item in evidence if item.score == best)
        assert claim.text.startswith(f"{paper.title} (Lovelace and ")
        assert claim.citations[0].start == item.start


def test_a_comparison_has_both_sides_one_after_the_other():
    claims = claims_for(COMPARE, "m3", "m1", "m2")

    assert list(dict.fromkeys(papers_of(claims))) == ["m3", "m1"]
    assert papers_of(claims) == sorted(papers_of(claims), key=["m3", "m1"].index)


def test_a_summary_of_a_topic_has_each_paper_with_a_sentence_or_two():
    found = papers_of(claims_for(SUMMARY, "m1", "m2", "m3"))

    assert list(dict.fromkeys(found)) == ["m1", "m2", "m3"]
    assert all(1 <= found.count(paper_id) <= 2 for paper_id in ("m1", "m2", "m3"))


def test_a_summary_of_one_paper_has_more_than_a_summary_of_several():
    paper = Paper("a", "Title", " ".join(f"We tell thing {number}." for number in range(9)))

    claims = extract(understand("Summarize a"), evidence_of(paper), {"a": paper}, Numbering())

    assert 2 <= len(claims) <= 4


@pytest.mark.parametrize("question", [LIST, COMPARE, SUMMARY, ANSWER])
def test_out_of_nothing_comes_nothing(question: str):
    assert claims_for(question) == []


def test_a_paper_without_authors_is_named_by_its_title_or_its_first_words():
    titled = Paper("a", "On rails", "Trains run on rails.")
    bare = Paper("b", "", "Ships carry boxes.")
    papers = {"a": titled, "b": bare}

    listed = extract(understand(LIST), evidence_of(titled, bare), papers, Numbering())
    (answered,) = extract(understand(ANSWER), evidence_of(titled), papers, Numbering())

    assert [claim.text for claim in listed] == [
        "On rails: “Trains run on rails”",
        "Ships carry boxes.: “Ships carry boxes”",
    ]
    assert answered.text == "On rails: “Trains run on rails”"


OFFERED = Paper(
    "offered",
    "Trains",
    "Trains run on rails of steel. The code is available at https://example.org/rails. "
    "Our code is public. They rarely leave them.",
)


@pytest.mark.parametrize(
    ("question", "is_quoted"),
    [("How do trains run?", False), ("Is there code for the trains?", True)],
)
def test_where_the_code_is_to_be_had_is_quoted_only_if_asked(question: str, is_quoted: bool):
    evidence = evidence_of(OFFERED)
    claims = extract(understand(question), evidence, {"offered": OFFERED}, Numbering())

    assert ("code" in " ".join(claim.text for claim in claims)) == is_quoted

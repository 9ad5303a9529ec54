import re

import pytest

from paper_qa.checker import THRESHOLD
from paper_qa.domain import Paper, Span
from paper_qa.grounding import Grounder, Support
from paper_qa.sentences import split_sentences
from seeds import Parts, seed_papers

pytest_plugins = ["seed_library"]

MOMENTOR = "qian24a"


@pytest.fixture(scope="module")
def grounder(seed_parts: Parts) -> Grounder:
    return Grounder(seed_parts.words)


def papers_with(*paper_ids: str) -> list[Paper]:
    return [seed_papers()[paper_id] for paper_id in paper_ids]


def longest_sentence(paper: Paper) -> Span:
    return max(split_sentences(paper.abstract), key=lambda span: span.end - span.start)


def words_of(paper: Paper, span: Span) -> str:
    return paper.abstract[span.start : span.end]


def test_what_an_abstract_says_word_for_word_is_supported_where_it_says_so(grounder: Grounder):
    papers = list(seed_papers().values())[::4]
    found = {
        paper.id: grounder.ground(words_of(paper, longest_sentence(paper)), [paper])
        for paper in papers
    }

    assert {key for key, support in found.items() if support.score < THRESHOLD} == set()
    for paper in papers:
        place, span = found[paper.id].spans[0]
        sentence = longest_sentence(paper)
        assert place is paper
        assert span.start <= sentence.start
        assert sentence.end <= span.end


def test_what_another_abstract_says_is_not_supported(grounder: Grounder):
    papers = list(seed_papers().values())[::6]
    sentences = [words_of(paper, longest_sentence(paper)) for paper in papers]

    scores = [
        grounder.ground(sentence, [paper]).score
        for sentence, paper in zip(sentences, papers[1:] + papers[:1], strict=True)
    ]

    assert sum(score < THRESHOLD for score in scores) >= 0.9 * len(scores)


def test_a_paraphrase_is_supported_by_the_sentence_it_renders(grounder: Grounder):
    claim = "Moment-10M is built by an automatic engine that generates the training data."

    support = grounder.ground(claim, papers_with("long24a", MOMENTOR, "chen24h"))

    paper, span = support.spans[0]
    assert support.score >= THRESHOLD
    assert paper.id == MOMENTOR
    assert "automatic data generation engine" in words_of(paper, span)


@pytest.mark.parametrize(
    "claim",
    [
        "The Eiffel Tower was painted blue in 1931.",
        "Bananas are yellow.",
        "The authors come from the University of Vienna.",
        "It was trained on 512 TPUs for nine weeks.",
    ],
)
def test_what_nobody_said_is_not_supported(grounder: Grounder, claim: str):
    assert grounder.ground(claim, papers_with(MOMENTOR, "long24a")).score < THRESHOLD


@pytest.mark.parametrize(
    ("paper_id", "claim"),
    [
        ("hu24n", "RFFT generalizes to 12-digit addition with over 95% accuracy."),
        ("martinelli24a", "150 synthetic problems of variable difficulty are analysed."),
        ("wan24d", "VinT-6D has 2 million simulated samples and 0.1 million real ones."),
    ],
)
def test_a_figure_that_the_abstract_does_not_have_is_not_supported(
    grounder: Grounder, paper_id: str, claim: str
):
    wrong = re.sub(r"95|150|0\.1", "73", claim)

    right, foreign = (grounder.ground(text, papers_with(paper_id)) for text in (claim, wrong))

    assert right.score >= THRESHOLD > foreign.score


def test_a_sentence_out_of_two_papers_rests_on_both(grounder: Grounder):
    papers = papers_with(MOMENTOR, "zeng24c")
    first, second = (words_of(paper, longest_sentence(paper)) for paper in papers)

    support = grounder.ground(f"{first.removesuffix('.')}, while {second}", papers)

    assert support.score >= THRESHOLD
    assert {paper.id for paper, _ in support.spans} == {MOMENTOR, "zeng24c"}


def test_spans_are_of_whole_clauses(grounder: Grounder):
    papers = papers_with(MOMENTOR, "zeng24c", "chen24a")

    support = grounder.ground("A diffusion model plans while a token-level loss aligns.", papers)

    assert support.spans
    for paper, span in support.spans:
        before, after = paper.abstract[: span.start].rstrip(), paper.abstract[span.end :]
        assert not before or before[-1] in ".,;:—"
        assert not after or after[0] in " ,;:—"


@pytest.mark.parametrize(
    ("claim", "papers"),
    [
        ("", papers_with(MOMENTOR)),
        ("It is so.", papers_with(MOMENTOR)),
        ("Momentor works.", []),
        ("Momentor works.", [Paper("x", "Momentor works", "")]),
        ("Momentor works.", [Paper("x", "", "…")]),
    ],
)
def test_nothing_is_supported_by_nothing(grounder: Grounder, claim: str, papers: list[Paper]):
    assert grounder.ground(claim, papers) == Support(0.0, ())


def test_a_single_sentence_may_be_all_there_is(grounder: Grounder):
    paper = Paper("x", "", "Trains run on rails of steel.")

    support = grounder.ground("Trains run on steel rails.", [paper])

    assert support.score >= THRESHOLD
    assert support.spans == ((paper, Span(0, 29)),)

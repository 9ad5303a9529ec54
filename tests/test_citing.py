import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paper_qa.citing import Numbering, compose, refer, short_authors, with_markers, without_stop
from paper_qa.domain import Citation, Claim, Paper, Span
from papers import make_paper, make_papers


def claim(text: str, *numbers: int) -> Claim:
    citations = tuple(Citation(number, f"m{number}", 0, 1, "W") for number in numbers)
    return Claim(text, "supported", 1.0, citations)


@settings(deadline=None)
@given(st.lists(st.integers(min_value=0, max_value=5)))
def test_papers_are_numbered_by_their_first_appearance(order: list[int]):
    papers = {paper.id: paper for paper in make_papers(6)}
    numbering = Numbering()

    citations = [numbering.cite(papers[f"m{number}"], Span(0, 8)) for number in order]

    first_seen = list(dict.fromkeys(citation.paper_id for citation in citations))
    assert [(r.number, r.paper_id) for r in numbering.references(papers)] == list(
        enumerate(first_seen, start=1)
    )
    assert all(first_seen[c.number - 1] == c.paper_id for c in citations)


def test_a_citation_quotes_the_words_it_points_to():
    paper = make_paper(1)

    citation = Numbering().cite(paper, Span(3, 20))

    assert citation == Citation(1, "m1", 3, 20, paper.abstract[3:20])


def test_a_reference_says_what_is_known_of_the_paper():
    reference = refer(replace(make_paper(1), retracted=True), 3)

    assert (reference.number, reference.paper_id, reference.title) == (
        3,
        "m1",
        "Paper 1 on translation",
    )
    assert reference.authors == ("Ada Lovelace", "Author 1")
    assert (reference.year, reference.venue, reference.url) == (
        2001,
        "Made Up",
        "https://example.org/1",
    )
    assert reference.retracted


def test_a_paper_without_a_title_is_referred_to_by_its_first_words():
    paper = Paper("a", "", "One two three four five six seven eight nine ten eleven.")

    assert refer(paper, 1).title == "One two three four five six seven eight nine ten…"


@pytest.mark.parametrize(
    ("text", "numbers", "expected"),
    [
        ("It works", (1,), "It works [1]."),
        ("It works.", (1, 2), "It works [1][2]."),
        ("It works", (3, 1, 3), "It works [1][3]."),
        ("Does it work?", (1,), "Does it work [1]?"),
        ("It works!", (2,), "It works [2]!"),
        ("It goes on...", (1,), "It goes on [1]..."),
        ("Hu: “It works”", (1,), "Hu: “It works” [1]."),
        ("Hu: “Does it work?”", (1,), "Hu: “Does it work?” [1]."),
        ("The library has 84 papers", (), "The library has 84 papers."),
        ("Is that so?", (), "Is that so?"),
    ],
)
def test_markers_stand_before_the_full_stop(text: str, numbers: tuple[int, ...], expected: str):
    assert with_markers(claim(text, *numbers)) == expected


@settings(deadline=None)
@given(
    st.text(alphabet=st.sampled_from("aB .!?…”)"), min_size=1).filter(str.strip),
    st.sets(st.integers(1, 20), min_size=1),
)
def test_a_sentence_has_its_markers_once_each_in_order_and_a_stop(text: str, numbers: set[int]):
    written = with_markers(claim(text, *numbers))

    assert [int(number) for number in re.findall(r"\[(\d+)\]", written)] == sorted(numbers)
    assert re.search(r"\][.!?…]+$", written)


def test_sentences_are_composed_to_a_paragraph_or_to_a_list():
    claims = [claim("One", 1), claim("Two", 2)]

    assert compose(claims, as_list=False) == "One [1]. Two [2]."
    assert compose(claims, as_list=False, by_paper=True) == "One [1].\nTwo [2]."
    assert compose(claims, as_list=True) == "- One [1].\n- Two [2]."
    assert compose([], as_list=True) == ""


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [("It ends.", "It ends"), ("And so on..", "And so on.."), ("Really?", "Really?"), ("", "")],
)
def test_only_a_single_full_stop_is_dropped(sentence: str, expected: str):
    assert without_stop(sentence) == expected


@pytest.mark.parametrize(
    ("authors", "expected"),
    [
        (("Damai Dai",), "Dai"),
        (("Luis Müller", "Christopher Morris"), "Müller and Morris"),
        (("Yi Hu", "Xiaojuan Tang", "Haotong Yang"), "Hu et al."),
        (("Plato", " "), "Plato"),
        ((), "A title"),
    ],
)
def test_authors_are_named_briefly_and_the_title_in_their_place(
    authors: tuple[str, ...], expected: str
):
    assert short_authors(Paper("a", "A title", "Words.", authors)) == expected

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paper_qa.chunking import MAX_TOKENS, chunk_paper, paper_id_of, passage_text
from paper_qa.domain import Paper, Passage
from paper_qa.embedding import num_tokens
from paper_qa.sentences import split_sentences
from seeds import seed_papers

SENTENCES = st.lists(
    st.lists(st.sampled_from(["model", "$x. Y$", "graph", "3.5", "好", "e.g."]), min_size=1).map(
        lambda words: f"We {' '.join(words)} it."
    ),
    max_size=12,
)
BLANKS = st.sampled_from([" ", "  ", "\n", "\n\n", " \n\t"])


@st.composite
def papers(draw: st.DrawFn) -> Paper:
    text = draw(BLANKS).join(["", *draw(SENTENCES), ""])
    title = draw(st.sampled_from(["", "A title", "A title that is longer than many another"]))
    return Paper("10.1/a:b", title, text)


def count_words(text: str) -> int:
    """Count as the model does, with the marks that it sets around every text."""
    return len(text.split()) + 2


@settings(deadline=None, max_examples=50)
@given(papers(), st.integers(min_value=3, max_value=40))
def test_passages_are_runs_of_whole_sentences_that_cover_the_abstract(paper: Paper, limit: int):
    passages = chunk_paper(paper, count_words, limit)

    sentences = split_sentences(paper.abstract)
    starts, ends = {span.start for span in sentences}, {span.end for span in sentences}
    assert all(passage.start in starts and passage.end in ends for passage in passages)
    covered = [
        span
        for passage in passages
        for span in sentences
        if passage.start <= span.start and span.end <= passage.end
    ]
    assert covered == sentences


@settings(deadline=None, max_examples=50)
@given(papers(), st.integers(min_value=3, max_value=40))
def test_a_passage_fits_the_embedder_with_its_title_unless_it_is_a_single_sentence(
    paper: Paper, limit: int
):
    for passage in chunk_paper(paper, count_words, limit):
        words = paper.abstract[passage.start : passage.end]
        fits = count_words(passage_text(paper, passage)) <= limit
        assert fits or len(split_sentences(words)) == 1


@settings(deadline=None, max_examples=50)
@given(papers())
def test_a_passage_knows_its_paper_and_ids_are_given_once(paper: Paper):
    passages = chunk_paper(paper, count_words, 10)

    assert {passage.paper_id for passage in passages} <= {paper.id}
    assert {paper_id_of(passage.id) for passage in passages} <= {paper.id}
    assert len({passage.id for passage in passages}) == len(passages)
    assert chunk_paper(paper, count_words, 10) == passages


def test_the_seeds_fit_the_embedder():
    passages = [
        (paper, passage)
        for paper in seed_papers().values()
        for passage in chunk_paper(paper, num_tokens)
    ]

    assert all(num_tokens(passage_text(*item)) <= MAX_TOKENS for item in passages)
    assert {paper.id for paper, _ in passages} == set(seed_papers())


def test_a_short_abstract_is_one_passage_without_the_blanks_around_it():
    paper = Paper("a", "Title", "  One sentence. Another.\n")

    (passage,) = chunk_paper(paper, count_words)

    assert passage_text(paper, passage) == "Title\nOne sentence. Another."


def test_a_paper_without_a_title_is_embedded_by_its_words_alone():
    paper = Paper("a", "", "One sentence.")

    assert passage_text(paper, Passage("", "a", 0, 13)) == "One sentence."


@pytest.mark.parametrize("abstract", ["", "  \n"])
def test_a_paper_without_an_abstract_has_no_passages(abstract: str):
    assert chunk_paper(Paper("a", "Title", abstract), count_words) == []


@pytest.mark.parametrize(
    "change", [{"title": "Another"}, {"abstract": "We change it. Then we stop."}, {"id": "b"}]
)
def test_a_changed_text_has_new_ids(change: dict[str, str]):
    paper = Paper("a", "Title", "We leave it. Then we stop.")

    before = {passage.id for passage in chunk_paper(paper, count_words, 6)}
    after = {passage.id for passage in chunk_paper(replace(paper, **change), count_words, 6)}

    assert before != after


def test_only_the_passages_whose_words_changed_have_new_ids():
    paper = Paper("a", "", "We leave it alone. Then we stop it.")
    changed = replace(paper, abstract="We leave it alone. Then we drop it.")

    (first, second), (same, other) = (chunk_paper(p, count_words, 6) for p in (paper, changed))

    assert first.id == same.id
    assert second.id != other.id


def test_half_a_surrogate_pair_from_a_damaged_file_does_no_harm():
    assert len(chunk_paper(Paper("a", "", "Odd \ud800 text."), count_words)) == 1

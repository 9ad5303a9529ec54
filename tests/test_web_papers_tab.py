import threading
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper_qa.domain import AskOptions, Paper, ScoredPaper
from paper_qa.errors import UnknownPaperError
from paper_qa.web.catalogue import (
    NEAR_PAPER,
    NEAR_TEXT,
    Catalogue,
    Found,
    Wish,
    are_reversed,
    fold,
    settled,
    years,
)
from paper_qa.web.papers_tab import (
    asked_for,
    count_html,
    count_text,
    row_html,
    rows_html,
    trouble_html,
)
from test_web_panel import Page
from web_papers import BARE, GRAPHS, HOSTILE, PAPERS, VIDEO

PARAGRAPH = "one two three four five six seven eight nine ten eleven twelve"
OLD = Paper("old", "Zeta", "An old abstract.", ("Émile Zola", "Ann Bell"), 1900, "Nature")
LIBRARY = [*PAPERS, OLD]


class Shelf:
    """A library that notes what it is asked; what it has is nearest in the order of its papers."""

    def __init__(self, papers: list[Paper] | None = None) -> None:
        self.shelf = LIBRARY if papers is None else papers
        self.num_readings = 0
        self.searches: list[tuple[str, int, AskOptions | None]] = []

    def papers(self) -> list[Paper]:
        self.num_readings += 1
        return self.shelf

    def paper(self, paper_id: str) -> Paper:
        for paper in self.shelf:
            if paper.id == paper_id:
                return paper
        raise UnknownPaperError(f"no paper {paper_id!r}")

    def search(
        self, query: str, *, k: int = 10, options: AskOptions | None = None
    ) -> list[ScoredPaper]:
        self.searches.append((query, k, options))
        return [ScoredPaper(paper, 0.5) for paper in self.shelf[:k]]


def ids(wish: Wish, shelf: Shelf | None = None) -> list[str]:
    return [paper.id for paper in Catalogue(shelf or Shelf()).find(wish).papers]


# ---- what is found -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("MOMENTOR", [VIDEO.id]),  # title
        ("muller", [GRAPHS.id]),  # author, without the umlaut
        ("icml videos", [VIDEO.id]),  # venue and abstract
        ("icml zola", []),  # all words, and not any of them
        ("emile", ["old"]),
        ("  ", [GRAPHS.id, BARE.id, VIDEO.id, "old"]),
    ],
)
def test_all_words_occur_in_what_is_found(text: str, found: list[str]) -> None:
    assert ids(Wish(text)) == found


def test_orders() -> None:
    assert ids(Wish(order="title")) == [GRAPHS.id, BARE.id, VIDEO.id, "old"]
    assert ids(Wish(order="year")) == [GRAPHS.id, VIDEO.id, "old", BARE.id]
    assert ids(Wish(order="author")) == [VIDEO.id, GRAPHS.id, "old", BARE.id]
    assert ids(Wish(order="added")) == ["old", BARE.id, VIDEO.id, GRAPHS.id]


def test_a_title_is_sorted_by_its_first_letter() -> None:
    shelf = Shelf([replace(BARE, id=title, title=title) for title in ("b", "“C”", "$A$", "É")])

    assert ids(Wish(), shelf) == ["$A$", "b", "“C”", "É"]


def test_years_narrow_and_a_paper_of_no_year_is_in_none() -> None:
    assert ids(Wish(year_to=1999)) == ["old"]
    assert ids(Wish(year_from=1900, year_to=2024)) == [GRAPHS.id, VIDEO.id, "old"]
    assert ids(Wish(year_from=2025)) == []


def test_a_text_is_searched_for_within_the_years() -> None:
    shelf = Shelf()
    found = Catalogue(shelf).find(Wish(PARAGRAPH, "nearest", year_from=2000, near=NEAR_TEXT))

    query, k, options = shelf.searches[0]
    assert (query, k) == (PARAGRAPH, 20)
    assert options is not None
    assert options.scope.year_from == 2000
    assert [paper.id for paper in found.papers] == [paper.id for paper in LIBRARY]
    assert shelf.num_readings == 0


def test_a_text_longer_than_a_question_may_be_is_cut_between_words() -> None:
    shelf = Shelf()
    Catalogue(shelf).find(Wish("word " * 2000, "nearest", near=NEAR_TEXT))

    assert len(shelf.searches[0][0]) <= 4000
    assert shelf.searches[0][0].endswith("word")


def test_a_paper_is_not_similar_to_itself() -> None:
    shelf = Shelf()
    found = Catalogue(shelf).find(Wish(order="nearest", near=NEAR_PAPER + VIDEO.id))

    assert found.near == VIDEO
    assert shelf.searches[0][:2] == (f"{VIDEO.title}\n{VIDEO.abstract}", 21)
    assert [paper.id for paper in found.papers] == [GRAPHS.id, BARE.id, "old"]


def test_a_paper_that_is_gone_has_no_similar_ones() -> None:
    with pytest.raises(UnknownPaperError):
        Catalogue(Shelf()).find(Wish(near=f"{NEAR_PAPER}gone"))


def test_the_library_is_read_again_only_after_a_while() -> None:
    now = [100.0]
    shelf = Shelf()
    catalogue = Catalogue(shelf, clock=lambda: now[0])
    threads = [threading.Thread(target=catalogue.find, args=(Wish(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shelf.num_readings == 1

    shelf.shelf = []
    now[0] += 14
    assert catalogue.find(Wish()).num_papers == 4
    now[0] += 2
    assert catalogue.find(Wish()).num_papers == 0


@given(st.text())
def test_folding_is_the_same_twice(text: str) -> None:
    assert fold(fold(text)) == fold(text)


# ---- what is wished for ------------------------------------------------------------------------


def test_a_long_text_asks_for_what_is_near_it_until_it_is_gone() -> None:
    pasted = settled(Wish(PARAGRAPH, "year"))
    assert (pasted.near, pasted.order) == (NEAR_TEXT, "nearest")

    by_year = settled(replace(pasted, order="year"))
    assert (by_year.near, by_year.order) == (NEAR_TEXT, "year")

    assert settled(replace(pasted, text="short")) == Wish("short", "title")
    assert settled(replace(by_year, text="")) == Wish("", "year")


def test_nearest_may_be_chosen_for_a_few_words() -> None:
    chosen = settled(Wish("video models", "nearest"))

    assert chosen == Wish("video models", "nearest")
    assert chosen.is_ranked
    assert not settled(Wish("", "nearest")).is_ranked


def test_similar_papers_stay_until_something_is_typed() -> None:
    similar = Wish("", "nearest", near=f"{NEAR_PAPER}x")

    assert settled(similar) == similar
    assert settled(replace(similar, order="year")) == replace(similar, order="year")
    assert settled(replace(similar, text="graph")) == Wish("graph", "title")


def test_years_that_are_half_typed_or_the_wrong_way_are_left_out() -> None:
    assert years("", "") == (None, None)
    assert years("20", " 2024 ") == (None, 2024)
    assert years("2020", "2o24") == (2020, None)
    assert years("2024", "2020") == (None, None)
    assert are_reversed("2024", "2020")
    assert not are_reversed("2024", "202")


def test_anything_may_be_sent() -> None:
    asked = asked_for(None, "random", None, "x" * 5000, None)

    assert asked.wish == Wish()
    assert asked.key != asked_for("x", "year", "2024", "2020", "text").key


def test_what_the_page_is_told_in_answer_is_nothing_new_to_it() -> None:
    first = asked_for(f" {PARAGRAPH} ", "title", "2020", "2024", "")
    again = asked_for(f" {PARAGRAPH} ", first.wish.order, "2020", "2024", first.wish.near)

    assert first.key == again.key


# ---- what is shown -----------------------------------------------------------------------------


def test_the_count_says_of_what() -> None:
    assert count_text(Found([], 0), Wish()) == "0 papers"
    assert count_text(Found([VIDEO], 1), Wish()) == "1 paper"
    assert count_text(Found([VIDEO], 50_000), Wish("x")) == "1 of 50,000 papers"
    assert count_text(Found([VIDEO], 1), Wish(near="text")) == "1 paper nearest to your text"
    near = count_text(Found([BARE, OLD], 2, VIDEO), Wish(near="paper/x"))
    assert near == f"2 papers nearest to “{VIDEO.title}”"


def test_the_way_back_is_there_when_not_all_is_shown() -> None:
    assert "Show all papers" not in count_html("4 papers", Wish(order="year"))
    for wish in (Wish("x"), Wish(year_to=2000), Wish(near="paper/x")):
        assert 'href="#act/library/"' in count_html("", wish)


def test_no_more_rows_are_sent_than_are_shown() -> None:
    papers = [replace(VIDEO, id=f"p-{n}") for n in range(50)]
    page = Page(rows_html(Found(papers, 50), Wish(), 40, {"p-0", "p-49"}))

    assert page.tags.count("details") == 40
    assert page.text.count("★ On your reading list") == 1
    assert page.text.count("☆ Add to reading list") == 39


def test_an_empty_list_says_why() -> None:
    assert "paper-qa add" in rows_html(Found([], 0), Wish(), 40, ())
    assert "Fewer words" in rows_html(Found([], 4), Wish("x"), 40, ())
    assert "from these years" in rows_html(Found([], 4), Wish(year_to=1900), 40, ())
    assert "from these years" in rows_html(Found([], 0), Wish("x", near="text"), 40, ())


def test_a_row_has_the_abstract_the_link_and_the_actions() -> None:
    page = Page(row_html(GRAPHS, is_starred=False))

    assert page.tags[:3] == ["details", "summary", "h3"]
    assert ("id", f"paper-{GRAPHS.id}") in page.attributes
    assert "We align transformers" in page.text
    hrefs = [value for name, value in page.attributes if name == "href"]
    assert hrefs[0] == GRAPHS.url
    assert f"#act/similar/{GRAPHS.id}" in hrefs


def test_nothing_that_can_be_clicked_is_inside_what_opens_the_row() -> None:
    summary = row_html(GRAPHS, is_starred=True).partition("</summary>")[0]

    assert "<a" not in summary


@pytest.mark.parametrize("paper", [HOSTILE, replace(HOSTILE, id='"><img src=x>/../?#&')])
def test_hostile_papers_are_only_text(paper: Paper) -> None:
    page = Page(row_html(paper, is_starred=True))

    assert not {"img", "script", "form", "svg", "style"} & set(page.tags)
    assert page.open == []
    for name, value in page.attributes:
        assert name in {"class", "href", "id"}
        assert not (value or "").startswith("javascript:")
    assert "\n" not in row_html(paper, is_starred=True)


def test_an_error_is_text() -> None:
    page = Page(trouble_html("the disk <b>is</b> full"))

    assert page.tags == ["div"]
    assert page.text == "⚠️ The disk <b>is</b> full"

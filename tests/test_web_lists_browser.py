"""The tabs of papers and of the reading list, in a real browser."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from paper_qa.domain import AskOptions, Paper, ScoredPaper
from paper_qa.errors import LibraryError
from paper_qa.qa import PaperQA
from scripted_qa import ScriptedQA, play
from test_web_browser import CONTRASTS
from web_browser import BROWSER_TEST, ChatPage, chat_page, chromium, served, violations, window
from web_papers import GRAPHS, HOSTILE, PAPERS, claims

pytest_plugins = ["seed_library"]
pytestmark = BROWSER_TEST

MOMENTOR = "Momentor: Advancing Video Large Language Model with Fine-Grained Temporal Reasoning"
ABSTRACT = (
    "Large language models over videos cannot yet reason about when something happens; with a data "
    "generation engine we build a set of instructions with segment-level tasks in time."
)


class SearchedQA(ScriptedQA):
    """Finds the papers that share most words with a text."""

    def search(
        self, query: str, *, k: int = 10, options: AskOptions | None = None
    ) -> list[ScoredPaper]:
        if self.error:
            raise self.error
        words = set(query.lower().split())
        papers = [paper for paper in self.library if not options or options.scope.admits(paper)]
        papers.sort(key=lambda paper: -len(words & set(paper.abstract.lower().split())))
        return [ScoredPaper(paper, 0.5) for paper in papers[:k]]

    def papers(self) -> list[Paper]:
        if self.error:
            raise self.error
        return super().papers()


def many_papers(count: int) -> list[Paper]:
    return [
        Paper(
            f"p-{n}", f"Study {n:03}", f"Abstract number {n}.", (f"Author {n:03}",), 1950 + n % 70
        )
        for n in range(count)
    ]


@dataclass
class Lists:
    """The two tabs, in the words of the person who uses them."""

    chat: ChatPage

    @property
    def page(self) -> Page:
        return self.chat.page

    @property
    def search(self) -> Locator:
        return self.page.get_by_role("textbox", name="Search the papers")

    @property
    def count(self) -> Locator:
        return self.page.locator("#papers-count")

    @property
    def rows(self) -> Locator:
        return self.page.locator("#papers-list details.paper")

    @property
    def saved(self) -> Locator:
        return self.page.locator("#reading .saved:visible")

    def open(self, tab: str) -> "Lists":
        name = self.page.get_by_role("tab", name=tab, exact=True)
        if not name.count():  # what does not fit is in a menu
            self.page.locator("#tabs .overflow-menu > button").click()
            name = self.page.locator("#tabs .overflow-dropdown button", has_text=tab)
        name.click()
        return self

    def row(self, title: str) -> Locator:
        return self.rows.filter(has=self.page.get_by_role("heading", name=title))

    def titles(self) -> list[str]:
        return self.rows.locator(".title").all_inner_texts()

    def sort_by(self, order: str) -> None:
        self.page.get_by_role("radio", name=order).check()

    def star(self, title: str) -> None:
        row = self.row(title)
        row.locator("summary").click()
        row.get_by_role("link", name="Add to reading list").click()

    def note(self, title: str) -> Locator:
        return self.page.get_by_role("textbox", name=f"Note on {title}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def seeds_url(seed_qa: PaperQA) -> Iterator[str]:
    with served(seed_qa) as url:
        yield url


@pytest.fixture(scope="module")
def large_url() -> Iterator[str]:
    qa = SearchedQA(many_papers(130))
    with served(qa) as url:
        yield url


@pytest.fixture
def lists(browser: Browser) -> Iterator[Lists]:
    """Yield a page of a person who has not been here before."""
    size = {"width": 1400, "height": 900}
    with window(browser, viewport=size) as context, chat_page(context) as page:
        yield Lists(page)


def opened(lists: Lists, url: str, tab: str = "Papers") -> Lists:
    lists.chat.open(url)
    return lists.open(tab)


# ---- papers ------------------------------------------------------------------------------------


def test_all_papers_are_listed_by_title_and_open_to_their_abstracts(
    lists: Lists, seeds_url: str
) -> None:
    opened(lists, seeds_url)

    expect(lists.count).to_contain_text(re.compile(r"^\s*\d+ papers\s*$"))
    expect(lists.rows).to_have_count(40)
    titles = [title.lower() for title in lists.titles()]
    assert titles[0] < titles[10] < titles[39]
    row = lists.rows.first
    expect(row.locator(".abs")).to_be_hidden()
    lists.chat.picture("papers")
    row.locator("summary").press("Enter")
    expect(row.locator(".abs")).to_be_visible()
    expect(row.get_by_role("link", name="Open paper")).to_be_visible()
    expect(row.get_by_role("link", name="Similar papers")).to_be_visible()
    lists.chat.picture("papers-open")


def test_words_and_years_narrow_the_list_and_there_is_a_way_back(
    lists: Lists, seeds_url: str
) -> None:
    opened(lists, seeds_url)

    lists.search.press_sequentially("GRAPH transformer")
    expect(lists.count).to_contain_text(re.compile(r"\b\d of \d+ papers"))
    for text in lists.rows.all_text_contents():
        assert "graph" in text.lower()
        assert "transformer" in text.lower()
    lists.page.get_by_label("From year").fill("2030")
    expect(lists.page.locator("#papers-list")).to_contain_text("No paper found")
    lists.chat.picture("papers-none")
    lists.page.get_by_role("link", name="Show all papers").click()

    expect(lists.rows).to_have_count(40)
    expect(lists.search).to_have_value("")
    expect(lists.page.get_by_label("From year")).to_have_value("")


def test_the_order_is_chosen_and_more_is_shown_where_what_is_open_stays_open(
    lists: Lists, large_url: str
) -> None:
    opened(lists, large_url)
    expect(lists.rows).to_have_count(40)

    lists.sort_by("Added last")
    expect(lists.rows.first).to_contain_text("Study 129")
    lists.sort_by("Year, newest first")
    expect(lists.rows.first).to_contain_text("Study 069")
    lists.rows.first.locator("summary").click()
    lists.page.get_by_role("button", name="Show more (90 left)").click()
    expect(lists.rows).to_have_count(80)
    expect(lists.rows.first.locator(".abs")).to_be_visible()
    lists.page.get_by_role("button", name="Show more (50 left)").click()
    lists.page.get_by_role("button", name="Show more (10 left)").click()
    expect(lists.rows).to_have_count(130)
    expect(lists.page.locator("#papers-more")).to_be_hidden()
    lists.page.get_by_label("From year").fill("2019")
    expect(lists.count).to_contain_text("1 of 130 papers")
    lists.page.get_by_label("To year").fill("2001")
    expect(lists.count).to_contain_text("The first year is after the last")


def test_a_pasted_paragraph_finds_the_papers_nearest_to_it(lists: Lists, seeds_url: str) -> None:
    opened(lists, seeds_url)
    expect(lists.rows).to_have_count(40)

    lists.search.fill(ABSTRACT)

    expect(lists.count).to_contain_text("20 papers nearest to your text")
    expect(lists.page.get_by_role("radio", name="Nearest")).to_be_checked()
    expect(lists.rows).to_have_count(20)
    expect(lists.rows.first).to_contain_text("Momentor")
    lists.chat.picture("papers-nearest")
    lists.sort_by("Title")
    expect(lists.rows.first).not_to_contain_text("Momentor")
    expect(lists.rows).to_have_count(20)
    lists.search.fill("momentor")
    expect(lists.count).to_contain_text("1 of")


def test_papers_similar_to_a_source_are_shown_in_the_tab(lists: Lists) -> None:
    qa = SearchedQA(PAPERS, lambda question: play(question, PAPERS, claims()))
    with served(qa) as url:
        opened(lists, url)
        row = lists.row("Momentor")
        row.locator("summary").click()
        lists.open("Ask").open("Papers")
        row.get_by_role("link", name="Similar papers").click()

        expect(lists.count).to_contain_text("2 papers nearest to “Momentor: Fine-Grained")
        expect(lists.rows).to_have_count(2)
        expect(lists.row("Momentor")).to_have_count(0)
        expect(lists.page.locator("#papers-count .number")).to_be_focused()
        lists.search.fill("momentor")
        expect(lists.count).to_contain_text("1 of 3 papers")
        lists.page.close()  # before the server ends


def test_an_error_is_told_in_place(lists: Lists) -> None:
    qa = SearchedQA(PAPERS)
    with served(qa) as url:
        lists.chat.open(url)
        qa.error = LibraryError("the disk is full <b>now</b>")
        lists.open("Papers")

        told = lists.page.locator("#papers-list").get_by_role("alert")
        expect(told).to_contain_text("The disk is full <b>now</b>")
        lists.page.close()  # before the server ends


def test_an_empty_library_says_how_to_fill_it(lists: Lists) -> None:
    with served(SearchedQA([])) as url:
        opened(lists, url)

        expect(lists.page.locator("#papers-list")).to_contain_text("paper-qa add")
        lists.page.close()  # before the server ends


# ---- the reading list --------------------------------------------------------------------------


def test_a_starred_paper_is_on_the_reading_list_and_its_note_is_kept(
    lists: Lists, seeds_url: str
) -> None:
    opened(lists, seeds_url, "Reading list")
    expect(lists.page.locator("#reading-head")).to_contain_text("Add to reading list")
    lists.chat.picture("reading-empty")
    lists.open("Papers")
    lists.search.fill("momentor")
    expect(lists.rows).to_have_count(1)
    lists.star("Momentor")
    star = lists.row("Momentor").get_by_role("link", name="On your reading list")
    expect(star).to_be_focused()

    lists.open("Reading list")
    expect(lists.saved).to_have_count(1)
    note = lists.note(MOMENTOR)
    note.press_sequentially("read $k$ & <b>compare</b>")
    expect(lists.saved.get_by_role("status")).to_have_text("Saved")
    expect(note).to_be_focused()
    lists.chat.open(seeds_url)
    lists.open("Reading list")

    expect(lists.note(MOMENTOR)).to_have_value("read $k$ & <b>compare</b>")
    expect(lists.page.locator("#reading-head")).to_contain_text("1 paper")
    for name, words in [("Markdown", "compare"), ("BibTeX", "@")]:
        with lists.page.expect_download() as download:
            lists.page.locator("#reading-head").get_by_role("link", name=name).click()
        assert words in Path(download.value.path()).read_text()
    lists.open("Papers").search.fill("momentor")
    expect(lists.rows).to_have_count(1)
    lists.rows.locator("summary").click()
    expect(star).to_be_visible()


def test_removing_a_paper_keeps_the_keyboard_in_the_list_and_its_note(
    lists: Lists, large_url: str
) -> None:
    opened(lists, large_url)
    for title in ("Study 000", "Study 001", "Study 002"):
        lists.star(title)
        expect(lists.row(title).get_by_role("link", name="On your reading list")).to_be_visible()
    lists.open("Reading list")
    expect(lists.saved).to_have_count(3)
    expect(lists.saved.first).to_contain_text("Study 002")
    lists.note("Study 001").fill("mine")
    expect(lists.saved.nth(1).get_by_role("status")).to_have_text("Saved")
    lists.chat.picture("reading")

    lists.saved.nth(0).locator("summary").click()
    lists.saved.nth(0).get_by_role("link", name="Remove").press("Enter")
    expect(lists.saved).to_have_count(2)
    expect(lists.saved.nth(0).locator("summary")).to_be_focused()
    expect(lists.note("Study 001")).to_have_value("mine")
    lists.saved.nth(0).locator("summary").click()
    lists.saved.nth(0).get_by_role("link", name="Remove").click()
    expect(lists.saved).to_have_count(1)

    lists.open("Papers")
    lists.row("Study 001").get_by_role("link", name="Add to reading").click()
    lists.open("Reading list")
    expect(lists.note("Study 001")).to_have_value("mine")
    lists.open("Papers")
    expect(lists.row("Study 000").get_by_role("link", name="On your")).to_be_visible()


def test_a_note_that_is_being_typed_is_left_alone(lists: Lists, large_url: str) -> None:
    opened(lists, large_url)
    lists.star("Study 000")
    lists.open("Reading list")
    note = lists.note("Study 000")
    note.fill("first")
    expect(lists.saved.get_by_role("status")).to_have_text("Saved")

    # What an answer does that ends while the person is here.
    lists.page.evaluate("document.querySelector('#reading textarea').value = 'unsent'")
    lists.page.evaluate("perform('everything/')")
    lists.page.wait_for_timeout(1500)

    assert lists.page.locator("#reading textarea").first.input_value() == "unsent"


# ---- hostile text, small screens, everybody ------------------------------------------------------


def test_hostile_papers_and_notes_are_only_text(lists: Lists) -> None:
    papers = [HOSTILE, replace(HOSTILE, id='"><img src=x onerror=alert(1)>/..&', title="Second")]
    with served(SearchedQA(papers)) as url:
        opened(lists, url)
        expect(lists.rows).to_have_count(2)
        for row in lists.rows.all():
            row.locator("summary").click()
            row.get_by_role("link", name="Add to reading list").click()
            expect(row.get_by_role("link", name="On your reading list")).to_be_visible()
        lists.search.fill(f"{HOSTILE.title} {HOSTILE.abstract}")
        expect(lists.count).to_contain_text("nearest to your text")
        lists.open("Reading list")
        expect(lists.saved).to_have_count(2)
        lists.page.locator("#reading textarea").first.fill(HOSTILE.abstract)
        expect(lists.saved.first.get_by_role("status")).to_have_text("Saved")

        for selector in ("script", "img", "form", "iframe", "svg[onload]", "[onerror]", "style"):
            inside = f"#papers-list {selector}, #reading .prose {selector}"
            expect(lists.page.locator(inside)).to_have_count(0)
        assert lists.page.locator("a[href^='javascript'], a[href*='evil.example']").count() == 0
        lists.saved.first.locator("summary").click()
        lists.page.evaluate("window.confirm = () => true")
        lists.saved.first.get_by_role("link", name="Remove").click()
        expect(lists.saved).to_have_count(1)
        lists.page.close()  # before the server ends


@pytest.mark.parametrize("width", [390, 320])
def test_on_a_phone_nothing_is_wider_than_the_screen(browser: Browser, width: int) -> None:
    wide = replace(GRAPHS, title="x" * 300, abstract=f"{'y' * 300} $x^{{{'y' * 200}}}$", venue="")
    size = {"width": width, "height": 800}
    phone = window(browser, viewport=size, is_mobile=True, has_touch=True)
    with served(SearchedQA([wide, *PAPERS])) as url, phone as context, chat_page(context) as page:
        lists = opened(Lists(page), url)
        expect(lists.rows).to_have_count(4)
        for row in [lists.row("x" * 300), lists.row("Momentor")]:
            row.locator("summary").tap()
            row.get_by_role("link", name="Add to reading list").tap()
            expect(row.get_by_role("link", name="On your reading list")).to_be_visible()
        page.picture(f"papers-phone-{width}")
        assert page.page.evaluate("document.documentElement.scrollWidth") == width
        lists.open("Reading list")
        expect(lists.saved).to_have_count(2)
        lists.saved.first.locator("summary").tap()
        page.picture(f"reading-phone-{width}")
        assert page.page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_tabs_can_be_read_by_everybody(browser: Browser, large_url: str, scheme: str) -> None:
    look = window(browser, color_scheme=scheme, viewport={"width": 1400, "height": 900})
    with look as context, chat_page(context) as page:
        lists = opened(Lists(page), large_url)
        for tab, ready in [("Reading list", lists.page.locator("#reading-head")), ("Papers", None)]:
            lists.open(tab)
            expect(ready or lists.rows.first).to_be_visible()
            assert faults(page.page, tab) == []
        for title in ("Study 000", "Study 001"):
            lists.star(title)
        lists.search.fill("Study 00")
        expect(lists.count).to_contain_text("11 of 130 papers")
        page.picture(f"papers-{scheme}")
        assert faults(page.page, "Papers") == []
        lists.open("Reading list")
        expect(lists.saved).to_have_count(2)
        lists.note("Study 000").fill("a note")
        expect(lists.saved.last.get_by_role("status")).to_have_text("Saved")
        expect(
            lists.page.locator("#reading input:visible, #reading textarea:visible")
        ).to_have_count(2)
        lists.saved.first.locator("summary").click()
        page.picture(f"reading-{scheme}")
        assert faults(page.page, "Reading list") == []


def faults(page: Page, tab: str) -> Sequence[str]:
    """Return what can't be read, or not by everybody, in the tab that is open."""
    page.wait_for_timeout(600)  # Gradio fades things in
    found = [f"contrast: {text}" for text in page.evaluate(CONTRASTS)]
    found += violations(page)
    return [f"{tab}: {text}" for text in found]

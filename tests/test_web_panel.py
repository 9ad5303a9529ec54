import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper_qa.domain import Paper
from paper_qa.web.panel import (
    EMPTY,
    actions_html,
    authors_text,
    card_html,
    marked_html,
    panel_html,
    panels_html,
)
from paper_qa.web.turn import Mark, TurnView, advance
from scripted_qa import play, reference_to, scripted_answer
from web_papers import ALIGN, BARE, ENGINE, GRAPHS, HOSTILE, PAPERS, STRONG, VIDEO, claims


class Page(HTMLParser):
    """Collects the tags, attributes and text of a piece of HTML, as a browser would see them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in {"br", "progress"}:
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        self.text += data


def turn_after(question: str, num_events: int | None = None, **fields: object) -> TurnView:
    turn = TurnView(question, stage="Searching")
    for event in play(question, PAPERS, claims(), **fields)[:num_events]:
        turn = advance(turn, event)
    return turn


def marks(html: str) -> list[str]:
    return re.findall(r"<mark[^>]*>(.*?)</mark>", html)


def elsewhere(page: Page) -> list[str]:
    """Return the addresses of links that lead out of the page."""
    links = [value or "" for name, value in page.attributes if name == "href"]
    return [link for link in links if not link.startswith("#")]


def test_without_questions_the_panel_says_what_it_is_for() -> None:
    assert panel_html([]) == EMPTY


def test_a_span_is_marked_at_its_exact_words() -> None:
    start = VIDEO.abstract.index(ENGINE)

    html = marked_html(VIDEO.abstract, [Mark(start, start + len(ENGINE))])

    assert marks(html) == [ENGINE]
    assert html.replace("<mark>", "").replace("</mark>", "") == VIDEO.abstract


def test_words_that_several_markers_cite_carry_all_of_them() -> None:
    html = marked_html("abcdefghij", [Mark(4, 6, 1), Mark(1, 3, 0), Mark(2, 5, 2), Mark(8, 9)])

    assert html == (
        'a<mark class="c0">b</mark><mark class="c0 c2">c</mark><mark class="c2">d</mark>'
        '<mark class="c1 c2">e</mark><mark class="c1">f</mark>gh<mark>i</mark>j'
    )


def test_the_same_words_cited_twice_by_one_marker_are_marked_once() -> None:
    assert marked_html("abc", [Mark(1, 2, 0), Mark(1, 2, 0)]) == 'a<mark class="c0">b</mark>c'


def test_marks_know_which_marker_of_the_message_cites_them() -> None:
    html = panel_html([turn_after("q")])  # the written sentence is shown before the quoted one

    assert f'<mark class="c1">{ENGINE}</mark>' in html
    assert f'<mark class="c0">{STRONG}</mark>' in html


def test_a_border_inside_a_formula_moves_to_the_border_of_the_formula() -> None:
    text = r"Take $\mathcal{O}(\sqrt{T})$ now and \$5 later"
    inside = text.index("sqrt")

    assert marks(marked_html(text, [Mark(inside, len(text))]))[0].startswith(r"\(\mathcal{O}")
    assert marks(marked_html(text, [Mark(0, inside)])) == [r"Take \(\mathcal{O}(\sqrt{T})\)"]
    assert marks(marked_html(text, [Mark(inside, inside + 2)])) == [r"\(\mathcal{O}(\sqrt{T})\)"]


def test_impossible_spans_mark_nothing() -> None:
    assert marked_html("abc", [Mark(2, 2), Mark(3, 9), Mark(2, 1)]) == "abc"


@given(
    st.text(st.sampled_from([*"ab $\\(){}_*<&5"]), max_size=40),
    st.lists(st.tuples(st.integers(-2, 42), st.integers(-2, 42)), max_size=4),
)
def test_marks_nest_nothing_and_lose_nothing(text: str, borders: list[tuple[int, int]]) -> None:
    spans = [Mark(*sorted(pair), 0) for pair in borders]

    html = marked_html(text, spans)

    assert Page(html).open == []
    assert set(Page(html).tags) <= {"mark", "em"}
    without_stars = re.compile(r"[*\s]")
    unmarked = without_stars.sub("", Page(html).text)
    if not set("$\\") & set(text):
        assert unmarked == without_stars.sub("", text)


def test_a_card_shows_the_paper_and_where_the_words_are() -> None:
    start = GRAPHS.abstract.index(STRONG)

    page = Page(html := card_html(3, "1", GRAPHS, [Mark(start, start + len(STRONG))]))

    assert ("id", "src-3-1") in page.attributes
    assert ("href", "#cite-3-1") in page.attributes
    assert ("href", GRAPHS.url) in page.attributes
    assert "Luis Müller, Christopher Morris" in page.text
    assert page.text.count("2024") == 1  # the venue holds the year
    assert marks(html) == [STRONG]
    assert r"\(k\)-WL" in page.text
    assert "from $5 to $10" in page.text


def test_a_paper_without_title_goes_by_its_first_words() -> None:
    text = Page(card_html(0, "1", BARE, [])).text

    assert "An abstract that came without anything else" in text
    assert " · " not in text


def test_a_retracted_paper_says_so() -> None:
    assert "Retracted" in card_html(0, "1", replace(VIDEO, retracted=True), [])
    assert "Retracted" not in card_html(0, "1", VIDEO, [])


def test_a_year_that_the_venue_does_not_hold_is_shown() -> None:
    assert "Nature" in (text := Page(card_html(0, "1", replace(VIDEO, venue="Nature"), [])).text)
    assert "2024" in text


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "ftp://a.example",
        "https://a b",
        'https://a"x',
        "",
    ],
)
def test_only_web_addresses_become_links(url: str) -> None:
    page = Page(card_html(0, "1", replace(VIDEO, url=url), []))

    assert elsewhere(page) == []


def test_what_can_be_done_with_a_paper_is_told_by_its_links() -> None:
    paper = replace(VIDEO, id='a/b "c"')
    page = Page(actions_html(paper, is_starred=False))

    assert [value for name, value in page.attributes if name == "href"] == [
        f"#act/{verb}/a%2Fb%20%22c%22"
        for verb in ("summarise", "about", "similar", "bibtex", "star")
    ]
    assert "#act/unstar/" in actions_html(paper, is_starred=True)
    assert "#act/star/" not in actions_html(paper, is_starred=True)


def test_what_is_starred_has_a_full_star_wherever_it_stands() -> None:
    html = panel_html([turn_after("q")], {VIDEO.id, BARE.id})

    assert html.count("★") == 2
    assert html.count("☆") == 1


def test_many_authors_are_counted() -> None:
    assert authors_text(["A B", "C D"]) == "A B, C D"
    assert authors_text([f"A{n}" for n in range(8)]) == "A0, A1, A2, A3, A4 and 3 more"


def test_sources_appear_unnumbered_with_their_passages_before_anything_is_cited() -> None:
    page = Page(panel_html([turn_after("q", 3)]))

    assert "src-0-1" not in str(page.attributes)
    assert page.attributes.count(("class", "passage")) == 3
    assert page.attributes.count(("class", "card")) == 3
    assert "3 sources" in page.text


def test_a_card_gets_its_number_once_it_is_cited() -> None:
    html = panel_html([turn_after("q", 4)])

    assert 'id="src-0-1"' in html
    assert 'id="src-0-2"' not in html


def test_a_finished_answer_has_numbered_cards_first_and_the_others_folded() -> None:
    html = panel_html([turn_after("q")])

    assert html.index('id="src-0-1"') < html.index('id="src-0-2"') < html.index("Also read")
    assert marks(html[: html.index("Also read")]) == [
        ENGINE,
        r"We align transformers with the \(k\)-WL test for \(k&gt;1\).",
        STRONG,
    ]
    assert 'class="passage"' not in html


def test_the_newest_turn_is_on_top_and_open() -> None:
    html = panel_html([turn_after("the older question"), turn_after("the newer question")])

    assert html.index('id="turn-1" open') < html.index('id="turn-0"')
    assert 'id="turn-0" open' not in html
    assert Page(html).open == []


def test_the_turn_before_moves_to_the_rest_once_the_new_one_is_over() -> None:
    """What is drawn anew at every step must not grow with the conversation."""
    before = [turn_after("first"), turn_after("second")]

    for new, panel_turns in [(turn_after("third", 3), ["2", "1"]), (turn_after("third"), ["2"])]:
        panel, rest = panels_html([*before, new])
        assert re.findall(r'id="turn-(\d)"', panel) == panel_turns
        assert re.findall(r'id="turn-(\d)"', panel + rest) == ["2", "1", "0"]
        assert 'id="turn-2" open' in panel
        assert " open>" not in rest


def test_papers_worth_opening_have_letters() -> None:
    turn = TurnView("q")
    see = (reference_to(VIDEO, 0),)
    events = play("q", PAPERS, [], abstained=True, abstain_reason="no_evidence", see=see)
    for event in events:
        turn = advance(turn, event)

    html = panel_html([turn])

    assert 'id="src-0-A"' in html
    assert 'id="src-0-B"' not in html


def test_a_cited_paper_that_is_gone_shows_what_its_reference_says() -> None:
    answer = replace(scripted_answer("q", PAPERS, claims()), retrieved=())

    html = panel_html([advance(TurnView("q"), answer)])

    assert 'id="src-0-1"' in html
    assert "Momentor" in html
    assert marks(html) == []


def test_a_number_of_nothing_makes_no_card() -> None:
    turn = TurnView("q", claims=tuple(claims()))  # a claim came, its paper did not

    assert "<li" not in panel_html([turn])


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        (TurnView("q", stage="Searching"), "Looking…"),
        (TurnView("q", error="no model"), "No papers."),
    ],
)
def test_a_turn_without_papers_says_why(turn: TurnView, words: str) -> None:
    assert words in panel_html([turn])


def test_hostile_papers_are_only_text() -> None:
    turn = advance(TurnView("<script>alert(0)</script>"), play("q", [HOSTILE], [])[1])

    page = Page(panel_html([turn]))

    allowed = {"div", "details", "summary", "ol", "li", "h3", "span", "a", "em", "mark"}
    assert set(page.tags) <= allowed
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert elsewhere(page) == []
    assert "<img src=x onerror=alert(1)>" in page.text
    assert page.open == []


@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=40))
def test_no_paper_can_break_out_of_its_card(title: str, abstract: str, rest: str) -> None:
    paper = Paper("x", title, abstract, (rest,), None, rest, rest)

    page = Page(html := card_html(0, "1", paper, [Mark(1, 5)]))

    assert page.open == []
    assert set(page.tags) <= {"div", "li", "h3", "span", "a", "em", "mark"}
    assert "\n" not in html


def test_alignment_is_marked_in_both_places_when_cited_twice() -> None:
    start, end = GRAPHS.abstract.index(ALIGN), GRAPHS.abstract.index(STRONG) + len(STRONG)

    assert len(marks(marked_html(GRAPHS.abstract, [Mark(start, end)]))) == 1

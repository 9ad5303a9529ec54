"""What can be done on the page: links of the cards, filters, settings, keys, waiting in line."""

import re
from contextlib import ExitStack
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, expect

from paper_qa.domain import AS_CONFIGURED, Claim, KeyPassages, Paper, Stage
from scripted_qa import play, quote_of
from web_browser import BROWSER_TEST, ChatPage, Site, chat_page, window
from web_papers import ENGINE, GRAPHS, PAPERS, VIDEO, claims

pytest_plugins = ["chat_windows"]
pytestmark = BROWSER_TEST


def card_link(chat: ChatPage, label: str, name: str) -> Locator:
    """Return a link of a card of the first answer."""
    return chat.card(0, label).get_by_role("link", name=name)


def copied(chat: ChatPage) -> str:
    expect(chat.page.locator("#said")).to_contain_text("BibTeX copied")
    return chat.page.evaluate("navigator.clipboard.readText()")


# ---- the links of a card ----------------------------------------------------------------------


def test_the_next_questions_can_be_about_one_paper_until_they_are_about_all(
    chat: ChatPage, site: Site
) -> None:
    chat.open(site.url).ask("How?")
    card_link(chat, "2", "Ask about this paper").click()
    focus = chat.page.locator("#focus")
    expect(focus).to_contain_text("Asking about Aligning Transformers")
    expect(focus.locator(".katex")).to_be_visible()
    expect(chat.box).to_be_focused()
    expect(chat.box).to_have_attribute("placeholder", "Ask about this paper")
    chat.picture("about-one-paper")
    chat.ask("And why?")

    focus.get_by_role("link", name="Ask about all papers").click()
    expect(focus).not_to_contain_text("Asking")
    chat.ask("And elsewhere?")

    scopes = [options.scope.paper_ids for options in site.qa.options]
    assert scopes == [(), (GRAPHS.id,), ()]


def test_a_paper_is_summarised_from_its_card(chat: ChatPage, site: Site) -> None:
    chat.open(site.url).ask("How?")

    card_link(chat, "1", "Summarise").click()
    expect(chat.answers).to_have_count(2)
    chat.finished()

    expect(chat.page.locator("#chat .user-row").last).to_have_text(f"Summarise “{VIDEO.title}”")
    assert site.qa.options[1].scope.paper_ids == (VIDEO.id,)
    assert site.qa.options[1] != site.qa.options[0] == AS_CONFIGURED


def test_bibtex_is_copied_as_it_is(chat: ChatPage, site: Site) -> None:
    site.qa.library = [GRAPHS, replace(VIDEO, title="100% of a_b & c", venue="")]
    chat.open(site.url).ask("How?")

    card_link(chat, "1", "Copy BibTeX").click()

    export = chat.page.request.get(f"{site.url}/export/paper.bib?id={VIDEO.id}").text()
    assert copied(chat) == export
    assert r"100\% of a\_b \& c" in export


def test_stars_put_papers_on_the_list_and_take_them_off(
    chat: ChatPage, person: BrowserContext, site: Site
) -> None:
    chat.open(site.url).ask("How?")
    for label in ("1", "2"):  # in quick succession
        card_link(chat, label, "Add to reading list").click()
    stars = chat.panel.get_by_role("link", name="On your reading list")
    expect(stars).to_have_count(2)
    saved = site.data.reading_list(site.owner(person))
    assert {item.paper.id for item in saved} == {VIDEO.id, GRAPHS.id}

    chat.ask("And?")
    expect(stars.locator("visible=true")).to_have_count(2)
    chat.card(1, "1").get_by_role("link", name="On your reading list").click()
    expect(stars.locator("visible=true")).to_have_count(1)

    assert [item.paper.id for item in site.data.reading_list(site.owner(person))] == [GRAPHS.id]


def test_a_star_given_while_an_answer_is_written_stays(chat: ChatPage, site: Site) -> None:
    site.qa.pause_s = 0.7
    chat.open(site.url).send("How?")
    expect(chat.card(0, "1")).to_be_visible()

    card_link(chat, "1", "Add to reading list").click()
    chat.finished()

    expect(card_link(chat, "1", "On your reading list")).to_be_visible()


# ---- filters and settings ---------------------------------------------------------------------


def test_filters_narrow_the_next_question_and_stay_on_show(chat: ChatPage, site: Site) -> None:
    chat.open(site.url)
    fold = chat.page.locator("#narrowing > button")
    fold.click()
    field = chat.page.locator("#narrowing").get_by_role
    field("textbox", name="From year").fill("2024")
    field("textbox", name="To year").fill("2020")
    expect(chat.page.locator("#narrowing-said")).to_have_text(
        "The first year is after the last: both are left out."
    )
    field("textbox", name="To year").fill("2025")
    expect(chat.page.locator("#narrowing-said")).to_have_text("")
    field("textbox", name="Author").fill("Müller")
    field("textbox", name="Venue").fill("icml")
    field("spinbutton", name=re.compile("Sources")).fill("3")
    expect(fold).to_contain_text("from 2024, to 2025, by Müller, in icml, 3 at most")
    chat.picture("filters")
    fold.click()

    chat.ask("How?")

    (options,) = site.qa.options
    assert (options.scope.year_from, options.scope.year_to) == (2024, 2025)
    assert (options.scope.author, options.scope.venue) == ("Müller", "icml")
    assert options.num_sources == 3


def test_settings_hold_for_every_question(chat: ChatPage, site: Site) -> None:
    chat.open(site.url)
    chat.show_tab("Settings")
    chat.page.get_by_role("radio", name="Nobody: show me the key passages").check()
    chat.page.get_by_role("radio", name="Show them, marked").check()
    chat.page.get_by_role("checkbox", name="Decide for myself").check()
    chat.page.get_by_role("spinbutton", name=re.compile("Decline below")).fill("0.3")
    chat.page.keyboard.press("Tab")
    chat.picture("settings")
    chat.show_tab("Ask")
    chat.ask("How?")

    (options,) = site.qa.options
    assert not options.write
    assert options.flag_unsupported
    assert options.abstain_threshold == 0.3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dark_or_light_stays_as_it_was_chosen(
    chromium_browser: Browser, site: Site, scheme: str
) -> None:
    with window(chromium_browser, color_scheme=scheme) as context, chat_page(context) as chat:
        chat.open(site.url)
        was_dark = scheme == "dark"
        body = chat.page.locator("body")
        (expect(body).to_have_class if was_dark else expect(body).not_to_have_class)("dark")
        chat.show_tab("Settings")
        chat.page.get_by_role("button", name="Dark or light").click()
        chat.leave_for(site.url)
        expect(chat.box).to_be_focused()

        (expect(body).not_to_have_class if was_dark else expect(body).to_have_class)("dark")


# ---- the keyboard -----------------------------------------------------------------------------


def test_keys_lead_through_the_page(chat: ChatPage, site: Site) -> None:
    chat.open(site.url).ask("How?")
    press = chat.page.keyboard.press
    chat.page.locator("#src-title").click()

    press("j")
    press("j")
    press("k")
    first = chat.page.locator("a.cite").first
    expect(first).to_be_focused()
    press("y")
    assert "Aligning" in copied(chat)
    press("Enter")
    expect(chat.card(0, "2")).to_be_focused()
    press("/")
    expect(chat.box).to_be_focused()
    chat.show_tab("Settings")
    press("/")
    expect(chat.box).to_be_focused()


def test_the_list_of_keys_opens_and_gives_the_focus_back(chat: ChatPage, site: Site) -> None:
    chat.open(site.url).ask("How?")
    keys = chat.page.get_by_role("dialog", name="Keys")
    chat.marker("1").focus()

    chat.page.keyboard.press("?")
    expect(keys).to_be_visible()
    expect(keys).to_contain_text("next citation")
    chat.picture("keys")
    chat.page.keyboard.press("j")  # is for the page below
    chat.page.keyboard.press("Escape")

    expect(keys).to_be_hidden()
    expect(chat.marker("1")).to_be_focused()


def test_no_key_does_anything_while_something_is_typed(chat: ChatPage, site: Site) -> None:
    chat.open(site.url).ask("How?")

    chat.box.press_sequentially("/jky?")
    expect(chat.box).to_have_value("/jky?")
    chat.open_sidebar()
    search = chat.sidebar.get_by_role("textbox", name="Search conversations")
    search.press_sequentially("/jky?")

    expect(search).to_have_value("/jky?")
    expect(chat.page.get_by_role("dialog", name="Keys")).to_have_count(0)
    chat.page.locator("#src-title").click()
    chat.page.keyboard.press("Control+j")
    expect(chat.page.locator("a.cite:focus")).to_have_count(0)


# ---- many at once -------------------------------------------------------------------------------


def test_who_has_to_wait_for_the_model_sees_how_many_are_before_them(
    chromium_browser: Browser, site: Site
) -> None:
    one, two = claims()
    *found, _, _, answer = play("How?", PAPERS, [one, two])
    site.qa.events = [*found, KeyPassages((one,)), Stage("Writing"), one, two, answer]
    site.qa.pause_s = 2.0
    with ExitStack() as stack:
        pages = []
        for _ in range(3):
            context = stack.enter_context(window(chromium_browser))
            pages.append(stack.enter_context(chat_page(context)).open(site.url))
        for page in pages:
            page.send("How?")

        waiting = re.compile("Waiting for the model: 1 before you")
        expect(pages[2].status).to_have_text(waiting)
        expect(pages[2].answers.last).to_contain_text("Key passages")  # to read meanwhile
        pages[2].picture("waiting")
        for page in pages:
            page.finished()
            expect(page.status).to_contain_text("Answered by")


def test_a_third_answer_at_once_is_refused_and_its_question_kept(
    chat: ChatPage, person: BrowserContext, site: Site
) -> None:
    site.qa.pause_s = 2.0
    with ExitStack() as stack:
        chat.open(site.url)
        pages = [stack.enter_context(chat_page(person)).open(site.url) for _ in range(2)]
        for page in pages:
            page.send("How?")
            expect(page.answers).to_have_count(1)
        chat.send("Me too?")

        expect(chat.status).to_contain_text("You have two answers under way")
        expect(chat.box).to_have_value("Me too?")
        assert chat.answers.count() == 0
        chat.picture("refused")
        for page in pages:
            page.finished()
        site.qa.pause_s = 0.0
        chat.box.press("Enter")
        expect(chat.answers).to_have_count(1)
        chat.finished()


# ---- hostile words ------------------------------------------------------------------------------

HOSTILE_WORDS = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>",
    "![x](http://evil.example/a.png) [y](javascript:alert(3))",
    "<form action=http://evil.example><style>*{display:none}</style>",
    "{{alert(4)}} ${alert(5)} {{#each value}}${alert(6)}{{/each}}",
)


def test_hostile_words_of_people_and_papers_are_only_text(chat: ChatPage, site: Site) -> None:
    words = " ".join(HOSTILE_WORDS)
    paper = Paper("p/'\"<x>", words, f"{words} {ENGINE}", (words,), 2024, words, words)
    claim = Claim(words, "supported", 1.0, (quote_of(paper, ENGINE),))
    site.qa.library = [paper]
    site.qa.events = play("q", [paper], [claim], model=words)
    chat.open(site.url)
    chat.page.locator("#narrowing > button").click()
    for name in ("Author", "Venue"):
        chat.page.locator("#narrowing").get_by_role("textbox", name=name).fill(words[:100])
    expect(chat.page.locator("#narrowing > button")).to_contain_text("<script>alert(1)")
    chat.ask(words)
    for name in ("Ask about this paper", "Add to reading list"):
        card_link(chat, "1", name).click()
    expect(chat.page.locator("#focus")).to_contain_text("<script>alert(1)")
    chat.page.get_by_role("button", name="Like", exact=True).click()
    chat.page.get_by_role("textbox", name="What was good").fill(words)
    chat.page.get_by_role("button", name="Save comment").click()
    chat.manage()
    chat.sidebar.get_by_role("textbox", name="New title").fill(words[:200])
    chat.sidebar.get_by_role("button", name="Rename").click()
    expect(chat.talks).to_contain_text("onerror=alert(2)")
    chat.sidebar.get_by_role("textbox", name="Search conversations").fill("<script>alert(1)")
    expect(chat.talks).to_have_count(1)
    card_link(chat, "1", "Copy BibTeX").click()
    copied(chat)
    chat.reload()
    expect(chat.answers).to_have_count(1)
    chat.open_sidebar()
    expect(chat.talks).to_have_count(1)

    inside = ".gradio-container"
    inert = ":is(#chat, #sources, #talks, #focus)"
    for tag in ("script", "img[src='x']", "img[src*=evil]", "form", "iframe", "style:not(svg *)"):
        found = chat.page.locator(f"{inert} {tag}")
        assert found.evaluate_all("all => all.map((one) => one.outerHTML)") == []
    assert chat.page.locator(f"{inside} a[href^='javascript' i]").count() == 0
    assert chat.page.locator(f"{inside} a[href*='evil']:not([href^='#act/'])").count() == 0
    chat.picture("hostile-words")

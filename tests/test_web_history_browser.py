"""Conversations are kept: reloads, restarts, the list of them, downloads, thumbs."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from paper_qa.domain import Turn
from paper_qa.qa import PaperQA
from paper_qa.user_data import FILE_NAME, UserData
from scripted_qa import ScriptedQA, play
from web_browser import BROWSER_TEST, ChatPage, Site, chat_page, served
from web_papers import PAPERS, claims

pytest_plugins = ["chat_windows", "seed_library"]
pytestmark = BROWSER_TEST

QUESTION = "How does Momentor get its training data?"
IN_CONVERSATION = re.compile(r"/\?c=[0-9a-f]{32}$")


@pytest.fixture
def data(tmp_path: Path) -> Iterator[UserData]:
    with closing(UserData(tmp_path / FILE_NAME)) as data:
        yield data


def test_a_conversation_comes_back_after_a_reload_and_after_a_restart(
    person: BrowserContext, seed_qa: PaperQA, data: UserData
) -> None:
    with chat_page(person) as chat:
        chat.forgiven = "ERR_INCOMPLETE"  # it is still open when the server ends
        with served(seed_qa, data=data) as url:
            chat.open(url).ask(QUESTION)
            chat.ask("How many samples does it have?")
            expect(chat.page).to_have_url(IN_CONVERSATION)
            answers = chat.answers.all_inner_texts()
            cards = chat.panel.locator(".card h3").all_inner_texts()
            address = chat.page.url

            chat.reload()
            expect(chat.answers).to_have_count(2)
            expect(chat.answers.last.locator("a.cite").first).to_be_visible()
            assert chat.answers.all_inner_texts() == answers
            assert chat.panel.locator(".card h3").all_inner_texts() == cards
        chat.page.goto("about:blank")
    with served(seed_qa, data=data) as url, chat_page(person) as chat:
        chat.page.goto(url + "/" + address.rpartition("/")[2])
        expect(chat.answers).to_have_count(2)
        expect(chat.answers.last.locator("a.cite").first).to_be_visible()

        assert chat.answers.all_inner_texts() == answers
        assert chat.panel.locator(".card h3").all_inner_texts() == cards
        chat.marker("1").click()
        expect(chat.card(1, "1")).to_be_focused()


def test_an_open_page_goes_on_after_a_restart_of_the_server(
    chat: ChatPage, person: BrowserContext, data: UserData
) -> None:
    first, second = (
        ScriptedQA(PAPERS, lambda question: play(question, PAPERS, claims())) for _ in "12"
    )
    chat.forgiven = "ERR_|Failed to load|EventSource|fetch"
    with served(first, data=data) as url:
        chat.open(url).ask("First?")
        chat.page.get_by_role("button", name="Which papers").click()
        chat.page.get_by_role("textbox", name="Author").fill("Qian")
    with served(second, data=data, port=int(url.rpartition(":")[2])):
        chat.page.get_by_role("button", name="Like", exact=True).click()
        expect(chat.page.get_by_role("textbox", name="What was good or wrong")).to_be_visible()
        chat.panel.get_by_role("link", name="Add to reading list").first.click()
        expect(chat.panel.get_by_role("link", name="On your reading list")).to_have_count(1)

        chat.ask("Second?")

        assert second.asked[0][1][0] == Turn("user", "First?")
        assert second.options[0].scope.author == "Qian"
        (owner,) = {c["value"] for c in person.cookies(url)}
        (head,) = data.conversations(owner)
        assert head.num_exchanges == 2
        assert len(data.feedback(owner)) == 1
        chat.page.close()


def test_the_list_opens_searches_renames_and_deletes_conversations(
    chat: ChatPage, site: Site
) -> None:
    chat.open(site.url).ask("About graphs?")
    chat.page.get_by_role("button", name="New chat").click()
    expect(chat.answers).to_have_count(0)
    expect(chat.page).to_have_url(site.url + "/")
    chat.ask("About films?")
    chat.open_sidebar()
    expect(chat.talks).to_have_count(2)
    expect(chat.talks.first).to_have_class("current")

    search = chat.sidebar.get_by_role("textbox", name="Search conversations")
    search.press_sequentially("graphs")
    expect(chat.talks).to_have_count(1)
    chat.talks.get_by_role("link", name="About graphs?").click()
    expect(chat.page.locator("#chat .user-row")).to_have_text("About graphs?")
    search.fill("zebra")
    expect(chat.page.locator("#talks")).to_contain_text("No conversation has these words")
    expect(chat.page).to_have_url(IN_CONVERSATION)
    search.fill("")
    expect(chat.talks).to_have_count(2)
    chat.picture("sidebar")

    chat.manage()
    chat.sidebar.get_by_role("textbox", name="New title").fill("Graphs & co")
    chat.sidebar.get_by_role("button", name="Rename").click()
    expect(chat.talks.nth(1)).to_contain_text("Graphs & co")
    expect(chat.talks.nth(1)).to_have_class("current")
    chat.replies += [False, True]
    chat.sidebar.get_by_role("button", name="Delete").click()
    chat.talks.get_by_role("link", name="Graphs & co").click()  # is still there
    expect(chat.answers).to_have_count(1)
    chat.sidebar.get_by_role("button", name="Delete").click()
    expect(chat.talks).to_have_count(1)
    expect(chat.talks).to_contain_text("About films?")
    expect(chat.answers).to_have_count(0)
    assert chat.replies == []


def test_a_conversation_opens_while_the_library_is_still_being_built(
    chat: ChatPage, site: Site
) -> None:
    chat.open(site.url).ask("How?")
    expect(chat.page).to_have_url(IN_CONVERSATION)
    building = ScriptedQA(PAPERS, prepare_steps=60, prepare_step_s=0.5)
    with served(building, data=site.data) as url:
        chat.leave_for(url + "/" + chat.page.url.rpartition("/")[2])

        expect(chat.answers).to_have_count(1)
        expect(chat.page.get_by_text("Preparing the library")).to_be_visible()
        chat.page.close()


def test_another_person_sees_nothing_of_it(
    chat: ChatPage, other: ChatPage, person: BrowserContext, site: Site
) -> None:
    chat.open(site.url).ask("A secret question?")
    expect(chat.page).to_have_url(IN_CONVERSATION)
    conversation_id = chat.page.url.rpartition("=")[2]

    other.open(chat.page.url)

    expect(other.page.locator("#talks")).to_contain_text("What you ask is kept here")
    expect(other.page).to_have_url(site.url + "/")
    expect(other.answers).to_have_count(0)
    export = f"{site.url}/export/conversation/{conversation_id}.md"
    assert other.page.request.get(export).status == 404
    assert person.request.get(export).status == 200
    other.ask("Mine?")
    expect(other.talks).to_have_count(1)
    assert len(site.data.conversations(site.owner(person))) == 1


def test_a_link_from_another_site_leads_to_what_is_mine(chat: ChatPage, site: Site) -> None:
    chat.open(site.url).ask("Mine?")
    expect(chat.page).to_have_url(IN_CONVERSATION)
    address = chat.page.url

    chat.leave_for(f"data:text/html,<a href='{address}'>there</a>")
    chat.page.get_by_role("link").click()

    expect(chat.answers).to_have_count(1)


def test_a_conversation_can_be_taken_away(chat: ChatPage, site: Site) -> None:
    chat.open(site.url).ask("what is it?")
    chat.manage()
    contents = {}
    for name, suffix in (("Markdown", "md"), ("JSON", "json"), ("BibTeX", "bib")):
        with chat.page.expect_download() as downloading:
            chat.sidebar.get_by_role("link", name=name).click()
        assert downloading.value.suggested_filename == f"what-is-it.{suffix}"
        contents[suffix] = Path(downloading.value.path()).read_text()

    assert "## what is it?" in contents["md"]
    assert json.loads(contents["json"])["exchanges"][0]["question"] == "what is it?"
    assert contents["bib"].count("@") == 2


def test_a_link_with_a_question_fills_the_box_and_sends_nothing(chat: ChatPage, site: Site) -> None:
    chat.page.goto(f"{site.url}/?q=Why%20%24k%24-WL%3F")

    expect(chat.box).to_have_value("Why $k$-WL?")
    expect(chat.page.locator("#talks")).to_contain_text("kept here")
    assert site.qa.asked == []


def test_a_question_can_be_edited_and_asked_again(chat: ChatPage, site: Site) -> None:
    chat.open(site.url).ask("First?")
    chat.ask("Second?")
    chat.page.locator("#chat .user-row").first.hover()
    chat.page.get_by_role("button", name="Edit").first.click()
    chat.page.locator("#chat textarea").fill("Edited?")
    chat.page.get_by_role("button", name="Submit").click()
    expect(chat.answers).to_have_count(1)
    chat.finished()

    expect(chat.page.locator("#chat .user-row")).to_have_text("Edited?")
    assert [question for question, _ in site.qa.asked] == ["First?", "Second?", "Edited?"]
    chat.page.get_by_role("button", name="Retry").click()
    chat.finished()
    chat.reload()
    expect(chat.page.locator("#chat .user-row")).to_have_text("Edited?")


def test_thumbs_and_comments_are_kept_shown_again_and_taken_back(
    chat: ChatPage, person: BrowserContext, site: Site
) -> None:
    chat.open(site.url).ask("How?")
    owner = site.owner(person)
    chat.page.get_by_role("button", name="Dislike").click()
    comment = chat.page.get_by_role("textbox", name="What was good or wrong")
    comment.fill("It is not what I asked.")
    chat.page.get_by_role("button", name="Save comment").click()
    expect(comment).to_be_hidden()

    (given,) = site.data.feedback(owner)
    assert (given.feedback.verdict, given.feedback.comment) == ("down", "It is not what I asked.")
    line = person.request.get(f"{site.url}/export/feedback.jsonl").text()
    assert json.loads(line)["comment"] == "It is not what I asked."
    chat.reload()
    disliked = chat.page.get_by_role("button", name="Disliked")
    expect(disliked).to_be_visible()
    chat.page.get_by_role("button", name="New chat").click()
    expect(chat.answers).to_have_count(0)
    chat.ask("And this?")
    expect(disliked).to_have_count(0)
    chat.open_sidebar()
    chat.talks.get_by_role("link", name="How?").click()
    disliked.click()
    expect(chat.page.get_by_role("button", name="Dislike", exact=True)).to_be_visible()
    expect(disliked).to_have_count(0)
    assert site.data.feedback(owner) == []


def test_what_had_come_before_stop_is_there_after_a_reload(chat: ChatPage, site: Site) -> None:
    site.qa.pause_s = 0.5
    chat.open(site.url).send("How?")
    expect(chat.answers.last.locator("a.cite")).to_have_count(1)
    expect(chat.page).to_have_url(IN_CONVERSATION)  # from the first step on
    site.qa.pause_s = 30.0
    chat.page.get_by_role("button", name="Stop").click()
    text = chat.finished().inner_text()
    assert "Stopped." in text

    chat.reload()

    expect(chat.answers.last.locator("a.cite")).to_have_count(1)
    assert chat.answers.last.inner_text() == text
    expect(chat.card(0, "1")).to_be_visible()


def test_a_reload_in_the_middle_of_an_answer_keeps_the_question(chat: ChatPage, site: Site) -> None:
    site.qa.pause_s = 1.0
    chat.open(site.url).send("How?")
    expect(chat.page).to_have_url(IN_CONVERSATION)

    chat.reload()

    expect(chat.page.locator("#chat .user-row")).to_have_text("How?")
    expect(chat.answers.last).to_contain_text("Stopped.")
    site.qa.pause_s = 0.0
    chat.page.get_by_role("button", name="Retry").click()
    expect(chat.status).to_contain_text("Answered by")


def test_to_open_another_conversation_ends_the_answer_that_is_under_way(
    chat: ChatPage, person: BrowserContext, site: Site
) -> None:
    chat.open(site.url).ask("Before?")
    chat.page.get_by_role("button", name="New chat").click()
    expect(chat.answers).to_have_count(0)
    site.qa.pause_s = 3.0
    chat.send("Under way?")
    chat.open_sidebar()
    expect(chat.talks).to_have_count(2)

    chat.talks.get_by_role("link", name="Before?").click()

    expect(chat.page.locator("#chat .user-row")).to_have_text("Before?")
    expect(chat.page.get_by_role("button", name="Send question")).to_be_visible()
    chat.talks.get_by_role("link", name="Under way?").click()
    expect(chat.answers.last).to_contain_text("Stopped.")
    site.qa.pause_s = 1.0
    chat.page.get_by_role("button", name="Retry").click()
    expect(chat.page.get_by_role("button", name="Stop")).to_be_visible()
    chat.replies.append(True)
    chat.sidebar.get_by_role("button", name="This conversation").click()
    chat.sidebar.get_by_role("button", name="Delete").click()
    expect(chat.talks).to_have_count(1)
    assert [head.title for head in site.data.conversations(site.owner(person))] == ["Before?"]

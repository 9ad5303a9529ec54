from datetime import UTC, datetime
from urllib.parse import quote

from paper_qa.user_data import ConversationHead
from paper_qa.web.talks import action, exports_html, talks_html
from test_web_panel import Page
from web_papers import EVIL

AT = datetime(2024, 5, 3, 23, 59, tzinfo=UTC)
HOSTILE = (
    f"{EVIL} ![x](http://evil.example/a.png) {{{{alert(1)}}}} ${{alert(2)}} <style>*{{}}</style>"
)


def head(title: str, count: int = 2) -> ConversationHead:
    return ConversationHead(f"id-of-{title[:5]}", title, AT, count)


def hrefs(html: str) -> list[str | None]:
    return [value for name, value in Page(html).attributes if name == "href"]


def test_conversations_are_listed_as_they_come_with_their_age_and_size() -> None:
    page = Page(html := talks_html([head("Second"), head("First", 1)]))

    assert page.text == "Second03 May 2024, 2 questionsFirst03 May 2024, 1 question"
    assert hrefs(html) == ["#act/open/id-of-Secon", "#act/open/id-of-First"]


def test_the_open_one_is_marked_and_no_other() -> None:
    html = talks_html([head("Second"), head("First")], "id-of-First")

    assert html.count('class="current"') == 1
    assert html.index("Second") < html.index('class="current"') < html.index(">First<")
    assert 'class="current"' not in talks_html([head("Second")], "id-of-First")


def test_an_empty_list_says_what_it_is_for_and_an_empty_search_that_it_found_nothing() -> None:
    assert "kept here" in talks_html([])
    assert "No conversation has these words" in talks_html([], is_search=True)


def test_a_list_that_was_searched_is_told_from_the_whole_one() -> None:
    assert 'class="talks"' in talks_html([head("First")])
    assert 'class="talks found"' in talks_html([head("First")], is_search=True)
    assert "found" in talks_html([], is_search=True)


def test_hostile_titles_are_only_text() -> None:
    page = Page(html := talks_html([head(HOSTILE)], "x"))

    assert set(page.tags) == {"ul", "li", "a", "span"}
    assert {name for name, _ in page.attributes} == {"class", "href"}
    assert [href for href in hrefs(html) if not href.startswith("#act/open/")] == []
    assert "<img src=x onerror=alert(1)>" in page.text
    assert page.open == []


def test_formulas_of_titles_are_formulas() -> None:
    assert r"\(k\)-WL" in talks_html([head("What is $k$-WL?")])


def test_what_an_action_is_about_can_hold_anything() -> None:
    subject = 'a/b "c" <d>?#%'

    assert action("star", subject) == f"#act/star/{quote(subject, safe='')}"
    assert action("everything") == "#act/everything/"
    assert not set('"<>') & set(action('"<', '"<>'))


def test_a_conversation_is_downloaded_in_each_format_and_none_is_offered_without_one() -> None:
    assert hrefs(exports_html("abc")) == [
        f"/export/conversation/abc.{suffix}" for suffix in ("md", "json", "bib")
    ]
    assert hrefs(exports_html('"><script>')) == [
        f"/export/conversation/%22%3E%3Cscript%3E.{suffix}" for suffix in ("md", "json", "bib")
    ]
    assert exports_html("") == ""

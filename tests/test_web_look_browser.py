"""How the page looks, on screens of all sizes, and what axe has to say about it."""

import pytest
from playwright.sync_api import Browser, expect

from test_web_browser import CONTRASTS
from web_browser import BROWSER_TEST, Site, chat_page, violations, window

pytest_plugins = ["chat_windows"]
pytestmark = BROWSER_TEST

TABS = ("Ask", "Papers", "Reading list", "Settings")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_has_nothing_to_say(chromium_browser: Browser, site: Site, scheme: str) -> None:
    with window(chromium_browser, color_scheme=scheme) as context, chat_page(context) as chat:
        chat.open(site.url)
        assert violations(chat.page) == []
        chat.ask("How?")
        chat.card(0, "2").get_by_role("link", name="Ask about this paper").click()
        chat.page.get_by_role("button", name="Like", exact=True).click()
        expect(chat.page.get_by_role("textbox", name="What was good")).to_be_visible()
        chat.page.locator("#narrowing > button").click()
        assert violations(chat.page) == []
        chat.manage()
        chat.page.wait_for_timeout(500)  # what fades in has less contrast
        assert violations(chat.page) == []
        chat.show_tab("Settings")
        assert violations(chat.page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_around_the_chat_can_be_read(
    chromium_browser: Browser, site: Site, scheme: str
) -> None:
    with window(chromium_browser, color_scheme=scheme) as context, chat_page(context) as chat:
        chat.open(site.url).ask("How?")
        chat.card(0, "2").get_by_role("link", name="Ask about this paper").click()
        chat.page.get_by_role("button", name="Like", exact=True).click()
        expect(chat.page.get_by_role("textbox", name="What was good")).to_be_visible()
        chat.page.locator("#narrowing > button").click()
        chat.manage()
        chat.page.wait_for_timeout(500)
        assert chat.page.evaluate(CONTRASTS) == []
        chat.picture(f"around-{scheme}")
        chat.show_tab("Settings")
        chat.page.wait_for_timeout(500)
        assert chat.page.evaluate(CONTRASTS) == []
        chat.picture(f"settings-{scheme}")


@pytest.mark.parametrize(("width", "height"), [(390, 844), (700, 450), (320, 640)])
def test_nothing_is_wider_than_the_screen(
    chromium_browser: Browser, site: Site, width: int, height: int
) -> None:
    size = {"width": width, "height": height}
    with window(chromium_browser, viewport=size) as context, chat_page(context) as chat:
        chat.open(site.url).ask("x" * 300)
        chat.card(0, "1").get_by_role("link", name="Ask about this paper").click()
        chat.page.get_by_role("button", name="Like", exact=True).click()
        expect(chat.page.get_by_role("textbox", name="What was good")).to_be_visible()
        chat.page.locator("#narrowing > button").click()
        for is_open in (False, True):
            if is_open:
                chat.manage()
                chat.picture(f"narrow-{width}-sidebar")
                assert chat.scroll_width() == width
                chat.sidebar.get_by_role("button", name="Toggle Sidebar").click()
            for tab in TABS:
                chat.show_tab(tab)
                assert chat.scroll_width() == width, tab
                chat.picture(f"narrow-{width}-{tab.split()[0].lower()}")


def test_on_a_phone_a_chosen_conversation_is_seen(chromium_browser: Browser, site: Site) -> None:
    size = {"width": 390, "height": 844}
    phone = window(chromium_browser, viewport=size, is_mobile=True, has_touch=True)
    with phone as context, chat_page(context) as chat:
        chat.open(site.url).ask("First?")
        chat.page.get_by_role("button", name="New chat").click()
        expect(chat.answers).to_have_count(0)
        chat.show_tab("Settings")
        chat.open_sidebar()
        chat.talks.get_by_role("link", name="First?").tap()

        expect(chat.answers).to_have_count(1)
        expect(chat.answers.last).to_be_in_viewport()
        expect(chat.sidebar).not_to_have_class("open")

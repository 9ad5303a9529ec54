"""A browser and a scripted chat for a whole module, with a new person in it for every test.

Test modules take it in with ``pytest_plugins = ["chat_windows"]``.
"""

from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, BrowserContext

from paper_qa.user_data import FILE_NAME, UserData
from scripted_qa import ScriptedQA, play
from web_browser import ChatPage, Site, chat_page, chromium, served, window
from web_papers import PAPERS, claims


@pytest.fixture(scope="module")
def chromium_browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def module_window(chromium_browser: Browser) -> Iterator[BrowserContext]:
    """Yield a window whose cache serves all tests of a module."""
    with window(chromium_browser, permissions=["clipboard-read", "clipboard-write"]) as context:
        yield context


@pytest.fixture
def person(module_window: BrowserContext) -> BrowserContext:
    """Return the window of somebody who was not here before."""
    module_window.clear_cookies()
    return module_window


@pytest.fixture
def chat(person: BrowserContext) -> Iterator[ChatPage]:
    with chat_page(person) as page:
        yield page


@pytest.fixture
def other(chromium_browser: Browser) -> Iterator[ChatPage]:
    """Yield a page of another person."""
    with window(chromium_browser) as context, chat_page(context) as page:
        yield page


@pytest.fixture(scope="module")
def module_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    qa = ScriptedQA(PAPERS)
    path = tmp_path_factory.mktemp("site") / FILE_NAME
    with closing(UserData(path)) as data, served(qa, data=data) as url:
        yield Site(qa, data, url)


@pytest.fixture
def site(module_site: Site) -> Site:
    """Return the chat with an answerer that is as good as new."""
    module_site.qa.__init__(PAPERS, lambda question: play(question, PAPERS, claims()))
    return module_site

"""What is needed by tests that drive the chat in a real browser.

A page fails its test when it asks another host for anything, runs a script it should not, or
writes an error to its console. Set CHAT_SCREENSHOTS to a folder to get pictures of what was tested,
and CHAT_PATIENCE_MS to wait for less than a minute.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Locator,
    Page,
    expect,
    sync_playwright,
)

from paper_qa.user_data import FILE_NAME, UserData
from paper_qa.web import build_app
from paper_qa.web.security import OWNER
from paper_qa.web.server import _Server
from scripted_qa import ScriptedQA

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or "/usr/bin/chromium"
BLANK = "about:blank"
# Once more if it fails, which the summary tells: browser and server race on a busy machine, and
# Gradio's page loses now and then.
BROWSER_TEST = [pytest.mark.browser, pytest.mark.timeout(240), pytest.mark.flaky(reruns=1)]
SCREENSHOTS = os.environ.get("CHAT_SCREENSHOTS")
PATIENCE_MS = int(os.environ.get("CHAT_PATIENCE_MS", "60000"))
"""For machines that are busy with something else; nothing ever waits this long on an idle one."""

AXE = resources.files("axe_playwright_python") / "axe.min.js"
VIOLATIONS = """async () => {
  const found = await axe.run(document, {resultTypes: ["violations"]});
  return found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target).join(" | ")}`);
}"""


def violations(page: Page) -> list[str]:
    """Return what axe finds on a page that not everybody can use."""
    # Through the debugger: the page's own policy lets no other script in.
    page.evaluate(AXE.read_text("utf-8"))
    return page.evaluate(VIOLATIONS)


@contextmanager
def served(qa: Any, *, data: UserData | None = None, port: int = 0) -> Iterator[str]:
    """Serve the chat in a thread, and yield its address; without ``data``, with a file of its own.

    The port is for a server that takes the place of another one.
    """
    with ExitStack() as stack:
        if data is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="paper-qa-chat-"))
            data = stack.enter_context(closing(UserData(Path(folder) / FILE_NAME)))
        config = uvicorn.Config(build_app(qa, data=data), port=port, log_level="warning")
        server = _Server(config, ready=lambda: None)
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive()
                time.sleep(0.02)
            taken = server.servers[0].sockets[0].getsockname()[1]
            yield f"http://127.0.0.1:{taken}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def serving(*options: str, environment: Mapping[str, str]) -> Iterator[str]:
    """Run ``paper-qa serve`` as a program of its own, and yield its address."""
    command = [sys.executable, "-m", "paper_qa", "serve", "--port", "0", "--no-open", *options]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PAPER_QA_")}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**kept, **environment}
    )
    assert process.stdout
    try:
        told = re.search(r"http://\S+", process.stdout.readline())
        assert told, "the chat did not start"
        yield told[0]
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield a browser that knows no host but this machine; skip the test where there is none."""
    if not Path(CHROMIUM).exists():
        pytest.skip("needs Chromium: apt-get install chromium")
    expect.set_options(timeout=PATIENCE_MS)
    arguments = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@dataclass
class ChatPage:
    """A page of the chat, in the words of the person who uses it."""

    page: Page
    replies: list[bool] = field(default_factory=list)
    """What to say to the dialogs that are to come, in their order."""
    forgiven: str = ""
    """What the console may complain of, as a regular expression."""

    @property
    def box(self) -> Locator:
        return self.page.get_by_role("textbox", name="Question")

    @property
    def answers(self) -> Locator:
        return self.page.locator("#chat .bot-row")

    @property
    def status(self) -> Locator:
        return self.page.locator("#state-text")

    @property
    def panel(self) -> Locator:
        return self.page.locator("#sources")

    def open(self, url: str) -> "ChatPage":
        self.leave_for(url)
        expect(self.box).to_be_focused()
        return self

    def leave_for(self, url: str) -> None:
        """Go elsewhere; of what that cuts off, Gradio complains."""
        if self.page.url != BLANK:
            cut_off = "AbortError|Connection errored out|network error|ERR_INCOMPLETE_CHUNKED"
            self.forgiven = "|".join(filter(None, (self.forgiven, cut_off)))
        self.page.goto(url)

    def reload(self) -> None:
        self.leave_for(self.page.url)

    def ask(self, question: str) -> Locator:
        """Ask, and return the answer once it is over."""
        before = self.answers.count()
        self.send(question)
        expect(self.answers).to_have_count(before + 1)
        return self.finished()

    def send(self, question: str) -> None:
        self.box.fill(question)
        self.box.press("Enter")

    def finished(self) -> Locator:
        """Wait for the answer to be over, and return it."""
        expect(self.page.get_by_role("button", name="Send question")).to_be_visible()
        expect(self.page.locator("#chat [role=log]")).to_have_attribute("aria-busy", "false")
        expect(self.answers.last).not_to_contain_text("…")
        return self.answers.last

    def marker(self, label: str) -> Locator:
        """Return the first marker of this label in the last answer."""
        return self.answers.last.locator(f"a.cite[data-label='{label}']").first

    def card(self, turn: int, label: str) -> Locator:
        return self.page.locator(f"#src-{turn}-{label}")

    @property
    def sidebar(self) -> Locator:
        return self.page.locator("#history")

    @property
    def talks(self) -> Locator:
        """Return the conversations of the list."""
        return self.page.locator("#talks .talks li")

    def open_sidebar(self) -> Locator:
        if "open" not in (self.sidebar.get_attribute("class") or "").split():
            self.sidebar.get_by_role("button", name="Toggle Sidebar").click()
        expect(self.sidebar).to_have_class(re.compile(r"\bopen\b"))
        return self.sidebar

    def manage(self) -> None:
        """Open what can be done with the conversation that is open."""
        self.open_sidebar().get_by_role("button", name="This conversation").click()
        expect(self.sidebar.get_by_role("textbox", name="New title")).to_be_visible()

    def show_tab(self, name: str) -> None:
        tab = self.page.get_by_role("tab", name=name, exact=True)
        if not tab.count():  # what does not fit is in a menu
            self.page.locator("#tabs .overflow-menu > button").click()
            tab = self.page.locator("#tabs .overflow-dropdown button", has_text=name)
        tab.click()

    def scroll_width(self) -> int:
        return self.page.evaluate("document.documentElement.scrollWidth")

    def picture(self, name: str) -> None:
        if SCREENSHOTS:
            self.page.wait_for_timeout(600)  # Gradio fades things in
            self.page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png")


@dataclass
class Site:
    """A chat that is served: who answers, what is kept, and where it is."""

    qa: ScriptedQA
    data: UserData
    url: str

    def owner(self, window: BrowserContext) -> str:
        """Return the person that the window belongs to."""
        (name,) = [c["value"] for c in window.cookies(self.url) if c["name"] == OWNER]
        return name


@contextmanager
def window(browser: Browser, **options: Any) -> Iterator[BrowserContext]:
    """Yield a window, at desktop size unless told otherwise."""
    defaults = {"viewport": {"width": 1280, "height": 860}, "reduced_motion": "reduce"}
    context = browser.new_context(**defaults | options)
    context.set_default_timeout(PATIENCE_MS)
    yield context
    context.close()


@contextmanager
def chat_page(window: BrowserContext) -> Iterator[ChatPage]:
    """Yield an empty page, and complain of what it should not have done."""
    complaints: list[str] = []
    page = window.new_page()
    chat = ChatPage(page)

    def on_console(message: ConsoleMessage) -> None:
        is_forgiven = chat.forgiven and re.search(chat.forgiven, message.text)
        if message.type == "error" and not is_forgiven:
            complaints.append(f"console: {message.text}")

    def on_dialog(dialog: Dialog) -> None:
        if not chat.replies:
            complaints.append(dialog.message)
        if chat.replies and chat.replies.pop(0):
            dialog.accept()
        else:
            dialog.dismiss()

    page.on("console", on_console)
    page.on("pageerror", lambda error: complaints.append(f"script: {error}"))
    page.on("dialog", on_dialog)
    page.on("request", lambda request: complaints.extend(_outside(request.url)))
    page.on("popup", lambda popup: complaints.append(f"popup: {popup.url}"))
    yield chat
    page.close()
    assert not complaints, complaints


def _outside(url: str) -> list[str]:
    is_inside = url.startswith(("http://127.0.0.1:", "data:", "blob:"))
    return [] if is_inside else [f"outside: {url}"]

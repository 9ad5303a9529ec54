"""How long a person waits in the browser, and what the page weighs.

    python benchmarks/page.py

Starts ``paper-qa serve`` with extraction on a library of the seeds, opens the chat in Chromium and
asks one question after the other in one conversation. All times are the browser's: from navigation
to the first paint, and from Enter to the sources and to the first numbered card, on show once the
first sentence is checked. Run it on a machine that does nothing else.
"""

import argparse
import shutil
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Page, Response, sync_playwright

from crowd import fact_questions, serving

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or "/usr/bin/chromium"
PAUSE_MS = 1500
# Runs in the page from Enter on: the time when an element first matches, in milliseconds.
WATCH = """(selectors) => {
  const start = performance.now();
  window.seen = {};
  const look = () => {
    for (const selector of selectors)
      if (!(selector in window.seen) && document.querySelector(selector))
        window.seen[selector] = performance.now() - start;
    if (Object.keys(window.seen).length < selectors.length) requestAnimationFrame(look);
  };
  look();
}"""
FIRST_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"


@dataclass
class Visit:
    """What a visit to the page was like: times in seconds."""

    sources: list[float] = field(default_factory=list)
    claims: list[float] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)
    num_bytes: int = 0

    def receive(self, response: Response) -> None:
        """Count a response."""
        self.hosts.add(urlsplit(response.url).netloc)
        self.num_bytes += int(response.headers.get("content-length", 0))


def main() -> None:
    """Visit the page, ask, and print what it was like."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=12)
    parser.add_argument("--home", type=Path, help="a library of the seeds; a new one by default")
    given = parser.parse_args()
    with serving(given.home) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        visit = Visit()
        page.on("response", visit.receive)
        page.goto(url)
        page.wait_for_selector("#chat .example", timeout=120_000)  # the library is open
        paint = page.evaluate(FIRST_PAINT) / 1000
        weight = visit.num_bytes
        for number, question in enumerate(fact_questions()[: given.questions]):
            ask(page, number, question, visit)
        browser.close()
    print(f"first paint after {paint:.2f} s, {weight / 1e6:.2f} MB, from {sorted(visit.hosts)}")
    for name, seconds in (("sources", visit.sources), ("first sentence", visit.claims)):
        print(
            f"{name} after {statistics.median(seconds):.2f} s (median of {len(seconds)}; "
            f"the first question {seconds[0]:.2f} s, the slowest {max(seconds):.2f} s)"
        )
    if len(visit.hosts) > 1:
        sys.exit("the page has asked another host")


def ask(page: Page, number: int, question: str, visit: Visit) -> None:
    """Ask, and note when the sources and the first sentence were on show."""
    selectors = [f"#turn-{number} .card", f"#src-{number}-1"]
    page.fill("#box textarea", question)
    page.evaluate(WATCH, selectors)
    page.keyboard.press("Enter")
    page.wait_for_function(
        "(count) => Object.keys(window.seen).length === count", arg=len(selectors)
    )
    seen = page.evaluate("() => window.seen")
    visit.sources.append(seen[selectors[0]] / 1000)
    visit.claims.append(seen[selectors[1]] / 1000)
    page.wait_for_timeout(PAUSE_MS)


if __name__ == "__main__":
    main()

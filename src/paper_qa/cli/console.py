"""Where a command writes: its result to stdout, everything else to stderr.

Abstracts, titles and model output are untrusted: nothing in them may steer the terminal.
"""

import json
import re
import shutil
import sys
import textwrap
from typing import Any, TextIO

_ESCAPE_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)"  # titles, links, device strings
    r"|\x1b[ -/]*[0-~]",
    re.DOTALL,
)
# C0 and C1 but newline and tab, and the characters that reorder the text around them.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_JSON_CONTROLS = re.compile(r"[\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_LEAD = re.compile(r"\s*(?:\[\d+\] |- )?")
_WIDEST = 100
_BAR = 24


def clean(text: str) -> str:
    """Return ``text`` without what a terminal would obey rather than show."""
    return _CONTROLS.sub("", _ESCAPE_SEQUENCES.sub("", text))


def one_line(text: str) -> str:
    """Return ``text`` cleaned, on one line."""
    return " ".join(clean(text).split())


def to_json(value: object) -> str:
    """Return ``value`` as readable JSON, with what a terminal would obey escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return _JSON_CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class Console:
    """Writes results to stdout and, unless quiet, what goes on meanwhile to stderr."""

    def __init__(self, *, quiet: bool = False) -> None:
        _never_fail_to_encode(sys.stdout)
        _never_fail_to_encode(sys.stderr)
        self.live = sys.stdout.isatty()
        self._quiet = quiet
        self._status_in_place = sys.stderr.isatty()
        self._status = ""
        self._tenth = ("", -1)

    def result(self, text: str = "") -> None:
        """Write a part of the result; at a terminal, in lines of a readable length."""
        self._clear_status()
        text = clean(text)
        if self.live:
            text = "\n".join(_wrapped(line, _width()) for line in text.split("\n"))
        self._write(text + "\n")

    def table(self, text: str) -> None:
        """Write text whose lines must stay as they are."""
        self._clear_status()
        self._write(clean(text).rstrip("\n") + "\n")

    def json(self, value: Any) -> None:
        """Write the result as JSON."""
        self._clear_status()
        self._write(to_json(value) + "\n")

    def note(self, text: str) -> None:
        """Write a line that is worth knowing but is not the result."""
        if not self._quiet:
            self._clear_status()
            sys.stderr.write(one_line(text) + "\n")
            sys.stderr.flush()

    def error(self, text: str) -> None:
        """Write what went wrong, quiet or not."""
        self._clear_status()
        sys.stderr.write(f"error: {one_line(text)}\n")
        sys.stderr.flush()

    def status(self, text: str) -> None:
        """Show what is going on: in place at a terminal, else one line for each new thing."""
        text = one_line(text)
        if self._quiet or text == self._status:
            return
        self._status = text
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"\r\x1b[2K{text[:width]}" if self._status_in_place else text + "\n")
        sys.stderr.flush()

    def progress(self, text: str, done: int, total: int) -> None:
        """Show how far something is: a bar at a terminal, else a line at every tenth."""
        if not total:
            self.status(text)
        elif self._status_in_place:
            filled = _BAR * done // total
            bar = "█" * filled + "░" * (_BAR - filled)
            self.status(f"{text}  {bar}  {done:,}/{total:,}")
        elif self._tenth != (tenth := (text, 10 * done // total)):
            self._tenth = tenth
            self.status(f"{text}: {done:,} of {total:,}")

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    def _clear_status(self) -> None:
        if self._status_in_place and self._status:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
        self._status = ""


def _width() -> int:
    return min(shutil.get_terminal_size().columns, _WIDEST)


def _wrapped(line: str, width: int) -> str:
    """Break a line between words; what follows stands under its text, not under its number."""
    lead = _LEAD.match(line)
    return textwrap.fill(
        line,
        width,
        subsequent_indent=" " * len(lead[0]) if lead else "",
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )


def _never_fail_to_encode(stream: TextIO) -> None:
    """Show ``?`` for what the terminal's encoding, or UTF-8 itself, cannot hold."""
    reconfigure = getattr(stream, "reconfigure", None)  # a test's or a notebook's stream has none
    if reconfigure is not None:
        reconfigure(errors="replace")

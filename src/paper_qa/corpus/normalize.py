"""The stored form of texts, and the keys by which the same paper is known again.

Offsets and quotes refer to the stored abstract, so an abstract is changed as little as safety
allows; one-line fields (titles, names) are brought to one form. Knows nothing of files.
"""

import hashlib
import re
import unicodedata
from dataclasses import replace

from paper_qa.domain import Paper

MAX_URL = 2_000
SAME_ABSTRACT_LETTERS = 100

# Controls that are no blanks, soft hyphen, zero-width and bidi marks, invisible "tag" letters:
# none of them is seen, and all of them can make a text read otherwise than it is.
# The joiners U+200C and U+200D stay: Persian, Indic scripts and emoji are spelled with them.
# Half a surrogate pair, as JSON may have it, can't be stored at all.
_UNSTORED = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]{0,200}\x07?"  # colours and titles of terminals
    "|[\ud800-\udfff\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e007f]"
)
_ODD_BLANKS = re.compile(r"\s{2,}|[^\S ]")
_LINE_BREAK = re.compile("[\n\r\v\f\x1c-\x1f\x85\u2028\u2029]")
_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl"})
_UNMARKED = str.maketrans({"ł": "l", "ø": "o"})
_LABEL = re.compile(r"abstract\s*(?:[:.—–]|-\s)\s*", re.IGNORECASE)  # not "abstract-level"
_URL = re.compile(r"https?://[^\s<>\"/?#@\[\]\\]+([/?#][^\s<>\"]*)?", re.IGNORECASE)


def abstract_text(text: str) -> str:
    """Return ``text`` as it stands, without unseen characters, line breaks and outer blanks."""
    if text.isprintable():  # nearly always, and many times faster to find out
        return text.strip()
    seen = _UNSTORED.sub(_seen, text)
    return _ODD_BLANKS.sub(_on_one_line, seen).strip()


def field_text(text: str) -> str:
    """Return a one-line text: composed (NFC), ligatures spelled out, single blanks."""
    seen = text if text.isprintable() else _UNSTORED.sub(_seen, text)
    if not seen.isascii():
        # NFC, not NFKC: x² must not become x2, nor ℝ become R.
        seen = unicodedata.normalize("NFC", seen.translate(_LIGATURES))
    return " ".join(seen.split())


def prose_text(text: str) -> str:
    """Return a typed or pasted abstract in the form of a field, without a leading label."""
    stored = field_text(text)
    label = _LABEL.match(stored)
    return stored[label.end() :] if label else stored


def web_address(url: str) -> str:
    """Return ``url`` if it is one that may be shown as a link, else nothing."""
    url = url.strip()
    is_shown = len(url) <= MAX_URL and _URL.fullmatch(url) and not _UNSTORED.search(url)
    return url if is_shown else ""


def content_key(title: str, abstract: str) -> str:
    """Return the key that two copies of one paper share, however they are spelled.

    An abstract of some length is enough by itself: the copies often differ in having a title.
    """
    letters = _letters(abstract)
    if len(letters) >= SAME_ABSTRACT_LETTERS:
        return _digest(f"v1\n{letters}")[:20]
    return _digest(_title_and_abstract(title, abstract))[:20]


def make_paper_id(title: str, abstract: str) -> str:
    """Return the id of a paper that came without one."""
    return "p-" + _digest(_title_and_abstract(title, abstract))[:12]


def merge_papers(first: Paper, repeat: Paper) -> Paper:
    """Return ``first`` with its empty fields filled from ``repeat``, found in both places."""
    return replace(
        first,
        title=first.title or repeat.title,
        authors=first.authors or repeat.authors,
        year=repeat.year if first.year is None else first.year,
        venue=first.venue or repeat.venue,
        url=first.url or repeat.url,
        retracted=first.retracted or repeat.retracted,
        found_in=tuple(dict.fromkeys(first.found_in + repeat.found_in)),
    )


def _seen(unstored: re.Match[str]) -> str:
    return "\ufffd" if "\ud800" <= unstored[0] <= "\udfff" else ""


def _on_one_line(blanks: re.Match[str]) -> str:
    return " " if _LINE_BREAK.search(blanks[0]) else blanks[0].replace("\t", " ")


def _title_and_abstract(title: str, abstract: str) -> str:
    return f"v1\n{_letters(title)}\n{_letters(abstract)}"


def _letters(text: str) -> str:
    """Return the letters and digits of ``text`` without case, marks and forms.

    A text without any (an emoji, a formula of signs) stands for itself.
    """
    folded = unicodedata.normalize("NFKD", text.casefold()).casefold().translate(_UNMARKED)
    return "".join(filter(str.isalnum, folded)) or "".join(text.split())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()

"""HTML that is safe by construction: a text is escaped unless it was made here."""

import html
import re
from collections.abc import Iterable

# What a browser would not show, or would reorder the text around by: it is shown as a box instead.
_UNSHOWN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


class Markup(str):
    """A piece of a page, put into it as it stands."""

    __slots__ = ()


def escaped(text: str) -> Markup:
    """Return a text as the page shows it; what is markup already stays as it is."""
    return text if isinstance(text, Markup) else Markup(html.escape(_UNSHOWN.sub("\ufffd", text)))


def joined(parts: Iterable[str], separator: str = "") -> Markup:
    """Return the parts as one piece, each escaped unless it is markup."""
    return Markup(escaped(separator).join(map(escaped, parts)))


def element(name: str, *children: str, **attributes: str | float) -> Markup:
    """Return an element; ``aria_label`` and ``class_`` stand for ``aria-label`` and ``class``."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(str(value))}"'
        for key, value in attributes.items()
    )
    return Markup(f"<{name}{written}>{joined(children)}</{name}>")

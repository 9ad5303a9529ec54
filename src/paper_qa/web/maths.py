r"""Text of papers, people and models, made ready for the page: maths, emphasis, nothing else.

Everything that comes in is untrusted. Formulas reach the page only as ``\(..\)`` and ``\[..\]``;
a dollar sign is never a delimiter there, so prices stay prices.
"""

import html
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Kind = Literal["text", "inline", "display"]

DELIMITERS: list[dict[str, str | bool]] = [
    {"left": "\\[", "right": "\\]", "display": True},
    {"left": "\\(", "right": "\\)", "display": False},
]
INERT = "\u200b"
"""A zero-width space: put inside ``<tag`` or ``![`` it makes them plain text without being seen."""

MAX_MATHS_LENGTH = 20_000
"""Longer texts are shown without maths: looking for formulas in them could take seconds."""

_MATH = re.compile(
    r"""
    `[^`\n]{1,500}`                                             # code keeps its dollars
    | \\\$                                                      # an escaped dollar
    | \$\$(?P<d>[^$]{1,1000}?)\$\$
    | \\\[(?P<b>.{1,1000}?)\\\]
    | \\\((?P<p>.{1,500}?)\\\)
    # pandoc's rule: no space just inside the dollars, no digit after them
    | (?<![\\$\w])\$(?P<i>(?=[^\s$])(?:\\.|[^$\\\n]){0,200}?(?<=\S))\$(?!\d)
    | (?<=\w)\$(?P<j>[\^_](?:\\.|[^$\\\n]){1,60}?)\$(?!\d)      # UC$^3$RL
    """,
    re.VERBOSE | re.DOTALL,
)
_PRICE = re.compile(r"^\d[\d.,]*\s*(?:[kKmMbB]|million|billion)?\s+[A-Za-z]{2,}")
_DELIMITER = re.compile(r"\\(?=[()\[\]])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_EMPHASIS = re.compile(r"(?<![\w*\\])\*(?=[^\s*])([^*\n]{1,300}?)(?<=[^\s*])\*(?![\w*])")
_STRONG = re.compile(r"(?<![\w*\\])\*\*(?=[^\s*])([^*\n]{1,300}?)(?<=[^\s*])\*\*(?!\*)")
_TEX_COMMAND = re.compile(r"\\(?:emph|textit|textbf|textsc|texttt|text)\{([^{}]{0,500})\}")
_TEX_ESCAPE = re.compile(r"\\(?=[%&_#{}])")
_TEX_QUOTES = re.compile(r"``([^`\n]{1,500}?)(?:''|\")")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a text, ``[start, end)``: plain, or a formula without its delimiters."""

    start: int
    end: int
    text: str
    kind: Kind


def split_math(text: str) -> list[Piece]:
    """Cut ``text`` into plain text and formulas; the pieces lie end to end and cover all of it."""
    pieces: list[Piece] = []
    done = position = 0
    while len(text) <= MAX_MATHS_LENGTH and (match := _MATH.search(text, position)):
        piece = _piece(match)
        # What turned out to be no formula may still hold the beginning of one.
        position = match.end() if piece or match[0].startswith("`") else match.start() + 1
        if piece is None:
            continue
        if piece.start > done:
            pieces.append(Piece(done, piece.start, text[done : piece.start], "text"))
        pieces.append(piece)
        done = piece.end
    if done < len(text):
        pieces.append(Piece(done, len(text), text[done:], "text"))
    return pieces


def _piece(match: re.Match[str]) -> Piece | None:
    if match[0] == "\\$":
        return Piece(match.start(), match.end(), "$", "text")
    group = match.lastgroup
    if group is None:
        return None
    tex = match[group].strip()
    if not tex or _PRICE.search(tex) or not _balanced(tex) or _DELIMITER.search(tex):
        return None
    return Piece(match.start(), match.end(), tex, "display" if group in "db" else "inline")


def _balanced(tex: str) -> bool:
    """Say whether the braces pair up; one formula where they don't would spoil all later ones."""
    depth = 0
    for brace in re.findall(r"(?<!\\)(?:\\\\)*([{}])", tex):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0 and not re.search(r"(?<!\\)(?:\\\\)*\\$", tex)


@lru_cache(maxsize=512)  # every step of an answer shows the same titles and passages again
def inline_html(text: str) -> str:
    """Return ``text`` as HTML that holds emphasis and formulas, and nothing else of its own."""
    return "".join(piece_html(piece) for piece in split_math(text))


def piece_html(piece: Piece) -> str:
    """Return one piece as HTML on a single line."""
    if piece.kind != "text":
        return html.escape(_formula(piece))
    text = html.escape(_one_line(piece.text), quote=False)
    text = _TEX_QUOTES.sub("“\\1”", text)
    text = _TEX_COMMAND.sub(r"<em>\1</em>", text)
    text = _STRONG.sub(r"<strong>\1</strong>", text)
    text = _EMPHASIS.sub(r"<em>\1</em>", text)
    text = _TEX_ESCAPE.sub("", text)
    return _DELIMITER.sub(lambda _: "\\" + INERT, text)


def _formula(piece: Piece) -> str:
    tex = _one_line(piece.text)
    return f"\\[{tex}\\]" if piece.kind == "display" else f"\\({tex}\\)"


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", _CONTROL.sub(" ", text))


_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_IMAGE_OR_LINK = re.compile(r"!(?=\[)|\](?=[(:])")
_MARKER = re.compile(r"\[(?=(?:\d{1,3}|[A-Z])\])")  # "[1]" is ours to say, in a citation
# Readers of Markdown make links of bare addresses too, and would take a closing quote with them.
_ADDRESS = re.compile(r"https?:(?=//)|ftp:(?=//)|www(?=\.)|(?<=\w)@(?=\w)", re.IGNORECASE)
_ENTITY = re.compile(r"&(?=#|\w+;)")
_BLOCK = re.compile(r"^(\s*)(?=[#>+=|-]|\d{1,9}[.)])", re.MULTILINE)
_EMPHASIZED = re.compile(f"{_STRONG.pattern}|{_EMPHASIS.pattern}")
_STAR = re.compile(r"\*")


def chat_text(text: str) -> str:
    r"""Return ``text`` as Markdown for the chat that holds emphasis and formulas, and nothing else.

    What would be markup, or the marker of a citation, is broken by ``INERT`` or a backslash; the
    page takes both out of copies.
    """
    markdown = "".join(
        _chat_piece(piece) if piece.kind == "text" else _formula(piece)
        for piece in split_math(text)
    )
    return _BLOCK.sub(lambda match: match[1] + INERT, markdown)


def _chat_piece(piece: Piece) -> str:
    text = _CONTROL.sub(" ", piece.text)
    text = _TEX_QUOTES.sub("“\\1”", text)
    for pattern in (_TAG, _IMAGE_OR_LINK, _MARKER, _ADDRESS, _ENTITY, _DELIMITER):
        text = pattern.sub(lambda match: match[0] + INERT, text)
    return re.sub(r"(?<!\\)([_~`])", r"\\\1", _escape_stars(text))


def _escape_stars(text: str) -> str:
    """Put a backslash before every star that is not of ``*emphasis*`` or ``**strength**``."""
    parts: list[str] = []
    position = 0
    for match in _EMPHASIZED.finditer(text):
        parts += [_STAR.sub(r"\\*", text[position : match.start()]), match[0]]
        position = match.end()
    return "".join([*parts, _STAR.sub(r"\\*", text[position:])])


_ESCAPED = re.compile(r"\\([*_~`])")
_INLINE = re.compile(r"\\\((.+?)\\\)", re.DOTALL)
_DISPLAY = re.compile(r"\\\[(.+?)\\\]", re.DOTALL)


def plain_text(markdown: str) -> str:
    """Undo `chat_text`: the text as a person would copy it, formulas between dollars again."""
    text = _DISPLAY.sub(r"$$\1$$", _INLINE.sub(r"$\1$", markdown))
    return _ESCAPED.sub(r"\1", text).replace(INERT, "")

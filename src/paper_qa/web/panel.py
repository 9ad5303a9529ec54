"""The sources panel: each turn's papers as cards, the supporting words marked.

Everything here becomes one HTML block on few lines: Markdown leaves such a block alone, and Gradio
cleans it again. The text in it is escaped by `maths`, so a paper can put no markup of its own in.
"""

import html
import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise

from paper_qa.domain import Paper, Reference
from paper_qa.web.maths import Piece, inline_html, piece_html, split_math
from paper_qa.web.talks import action
from paper_qa.web.turn import Mark, TurnView, cited_marks, evidence_marks

_WEB_ADDRESS = re.compile(r"https?://[^\s<>\"'`\\]+", re.IGNORECASE)
_MAX_AUTHORS = 6
_MAX_PASSAGES = 2

EMPTY = (
    '<div class="nothing"><strong>No sources yet</strong><br>'
    "The papers behind an answer appear here, with the words it rests on marked.</div>"
)


def panels_html(turns: Sequence[TurnView], starred: Collection[str] = ()) -> tuple[str, str]:
    """Return the panel in two parts: what changes while an answer is written, and the rest.

    The page draws a part anew when it changes. The turn before moves to the rest once the new one
    is over, so that nobody waits for it.
    """
    is_over = not (turns and turns[-1].stage)
    since = max(len(turns) - (1 if is_over else 2), 0)
    rest = "".join(_turn_html(n, turns[n], starred) for n in range(since - 1, -1, -1))
    return panel_html(turns, starred, since=since), f'<div class="panel">{rest}</div>' * bool(rest)


def panel_html(turns: Sequence[TurnView], starred: Collection[str] = (), *, since: int = 0) -> str:
    """Return the turns of the panel, the newest first and open; what is starred has a full star."""
    if not turns:
        return EMPTY
    last = len(turns) - 1
    blocks = [
        _turn_html(index, turns[index], starred, is_open=index == last)
        for index in range(last, since - 1, -1)
    ]
    return f'<div class="panel">{"".join(blocks)}</div>'


def _turn_html(
    index: int, turn: TurnView, starred: Collection[str], *, is_open: bool = False
) -> str:
    cards, read = _cards(index, turn, starred)
    number = len(cards) or len(read)
    count = f"{number} {'source' if number == 1 else 'sources'}" if number else ""
    body = f'<ol class="cards">{"".join(cards)}</ol>' if cards else ""
    if cards and read:
        body += '<h3 class="also">Also read, not cited</h3>'
    if read:
        body += f'<ol class="cards read">{"".join(read)}</ol>'
    return (
        f'<details class="turn" id="turn-{index}"{" open" if is_open else ""}>'
        f'<summary><span class="asked">{inline_html(turn.question[:300])}</span>'
        f'<span class="count">{count}</span></summary>{body or _no_cards(turn)}</details>'
    )


def _no_cards(turn: TurnView) -> str:
    return f'<div class="nothing">{"Looking…" if turn.stage else "No papers."}</div>'


def _cards(index: int, turn: TurnView, starred: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the numbered cards (of an abstaining answer: the lettered ones), and the others."""
    labels = _labels(turn)
    labelled = [
        (label, turn.paper(paper_id) or _bare_paper(turn, paper_id))
        for paper_id, label in labels.items()
    ]
    cards = [
        card_html(index, label, paper, cited_marks(turn, paper.id), is_starred=paper.id in starred)
        for label, paper in labelled
        if paper
    ]
    read = [
        _read_card_html(
            turn,
            paper,
            is_waiting=turn.answer is None and not turn.error,
            is_starred=paper.id in starred,
        )
        for paper in turn.papers
        if paper.id not in labels
    ]
    return cards, read


def _labels(turn: TurnView) -> dict[str, str]:
    """Return the label of every paper that the answer names, in the order of the labels."""
    numbers = {citation.number: citation.paper_id for citation in turn.citations}
    if numbers or turn.answer is None:
        return {numbers[number]: str(number) for number in sorted(numbers)}
    return {item.paper_id: letter for letter, item in lettered(turn.answer.see)}


def lettered(references: Iterable[Reference]) -> list[tuple[str, Reference]]:
    """Give each paper that is worth opening a letter, since numbers are for citations."""
    return list(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", references, strict=False))


def _bare_paper(turn: TurnView, paper_id: str) -> Paper | None:
    """Return what a reference tells about a paper that the library no longer has."""
    if turn.answer is None:
        return None
    for item in (*turn.answer.references, *turn.answer.see):
        if item.paper_id == paper_id:
            return Paper(
                item.paper_id, item.title, "", item.authors, item.year, item.venue, item.url
            )
    return None


def card_html(
    turn: int, label: str, paper: Paper, marks: Sequence[Mark], *, is_starred: bool = False
) -> str:
    """Return a card that the answer points to: the whole abstract, the cited words marked."""
    card_id = f"src-{turn}-{label}"
    back = f"cite-{turn}-{label}"
    return (
        f'<li class="card" id="{card_id}" tabindex="-1">{head_html(paper, label)}'
        f'<div class="abs">{marked_html(paper.abstract, marks)}</div>'
        f"{actions_html(paper, is_starred=is_starred)}"
        f'<div class="back"><a class="backlink" href="#{back}">↩ Back to the answer</a></div></li>'
    )


def _read_card_html(turn: TurnView, paper: Paper, *, is_waiting: bool, is_starred: bool) -> str:
    """Return a card of a paper that was read; while waiting, with its passages on show."""
    marks = evidence_marks(turn, paper.id)
    passages = "".join(
        f'<div class="passage">{inline_html(paper.abstract[mark.start : mark.end])}</div>'
        for mark in marks[:_MAX_PASSAGES]
        if is_waiting
    )
    return (
        f'<li class="card">{head_html(paper, "")}{passages}<details class="fold">'
        f"<summary>Abstract</summary>"
        f'<div class="abs faint">{marked_html(paper.abstract, marks)}</div>'
        f"{actions_html(paper, is_starred=is_starred)}</details></li>"
    )


def actions_html(paper: Paper, *, is_starred: bool, unstar: str = "★ On your reading list") -> str:
    """Return what can be done with a paper, as links that the page's script acts on."""
    star = ("unstar", unstar) if is_starred else ("star", "☆ Add to reading list")
    verbs = (
        ("summarise", "Summarise"),
        ("about", "Ask about this paper"),
        ("similar", "Similar papers"),
        ("bibtex", "Copy BibTeX"),
        star,
    )
    links = "".join(
        f'<a class="act {verb}" href="{action(verb, paper.id)}">{text}</a>' for verb, text in verbs
    )
    return f'<div class="acts">{links}</div>'


@lru_cache(maxsize=512)
def head_html(paper: Paper, label: str = "", *, has_link: bool = True) -> str:
    """Return the title and what is known about a paper."""
    number = f'<span class="num">{label}</span> ' if label else ""
    facts = [f"<span>{inline_html(fact)}</span>" for fact in _facts(paper)]
    if has_link and (link := link_html(paper)):
        facts.append(link)
    if paper.retracted:
        facts.insert(0, '<strong class="retracted">Retracted</strong>')
    return (
        f'<h3>{number}<span class="title">{inline_html(paper.name)}</span></h3>'
        f'<div class="meta">{"&nbsp;· ".join(facts)}</div>'
    )


def link_html(paper: Paper) -> str:
    """Return the link to where the paper can be read; nothing if its address is none of the web."""
    if not _WEB_ADDRESS.fullmatch(paper.url):
        return ""
    return f'<a href="{html.escape(paper.url)}">Open paper</a>'


def _facts(paper: Paper) -> list[str]:
    """Return authors, venue and year, as far as they are known; a venue may hold the year."""
    facts = [authors_text(paper.authors), paper.venue]
    if paper.year is not None and str(paper.year) not in paper.venue:
        facts.append(str(paper.year))
    return [fact for fact in facts if fact]


def authors_text(authors: Sequence[str]) -> str:
    """Name the authors, the first few of them if there are many."""
    if len(authors) <= _MAX_AUTHORS:
        return ", ".join(authors)
    return f"{', '.join(authors[: _MAX_AUTHORS - 1])} and {len(authors) - _MAX_AUTHORS + 1} more"


def marked_html(text: str, marks: Sequence[Mark]) -> str:
    """Return ``text`` as HTML with the marks in it; a formula is marked whole or not at all.

    Where marks overlap, the words carry both: ``<mark class="c0 c2">`` is cited by the first
    marker of the message and by the third.
    """
    return _marked_html(text, tuple(marks))


@lru_cache(maxsize=512)  # every step of an answer shows the abstracts again
def _marked_html(text: str, marks: tuple[Mark, ...]) -> str:
    pieces = split_math(text)
    widened = [_widened(mark, pieces, len(text)) for mark in marks]
    borders = {0, len(text), *(border for mark in widened for border in (mark.start, mark.end))}
    parts: list[str] = []
    for start, end in pairwise(sorted(borders)):
        part = _slice_html(pieces, start, end)
        covering = [mark for mark in widened if mark.start <= start and end <= mark.end]
        parts.append(_mark_html(part, covering) if covering else part)
    return "".join(parts)


def _mark_html(part: str, marks: Sequence[Mark]) -> str:
    markers = sorted({mark.marker for mark in marks if mark.marker is not None})
    names = " ".join(f"c{marker}" for marker in markers)
    return f'<mark class="{names}">{part}</mark>' if names else f"<mark>{part}</mark>"


def _widened(mark: Mark, pieces: Sequence[Piece], length: int) -> Mark:
    """Move a border that falls inside a formula out to the formula's own border."""
    start, end = max(mark.start, 0), min(mark.end, length)
    if start >= end:
        return Mark(0, 0)
    for piece in pieces:
        if piece.end - piece.start == len(piece.text):  # plain text can be cut anywhere
            continue
        if piece.start < start < piece.end:
            start = piece.start
        if piece.start < end < piece.end:
            end = piece.end
    return Mark(start, end, mark.marker)


def _slice_html(pieces: Sequence[Piece], start: int, end: int) -> str:
    return "".join(
        piece_html(_clipped(piece, start, end))
        for piece in pieces
        if piece.start < end and piece.end > start
    )


def _clipped(piece: Piece, start: int, end: int) -> Piece:
    first, last = max(start, piece.start), min(end, piece.end)
    if (first, last) == (piece.start, piece.end):
        return piece
    return Piece(first, last, piece.text[first - piece.start : last - piece.start], piece.kind)

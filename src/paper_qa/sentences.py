"""Cutting a text into sentences, by character offsets, with maths and abbreviations kept whole."""

import re
from collections.abc import Callable

from paper_qa.domain import Span

MATHS = re.compile(
    r"\$\$.+?\$\$"
    r"|\$(?=[^\s$])[^$\n]{0,400}?(?<=\S)\$(?!\d)"  # as Pandoc has it: "$5 to $10" is no maths
    r"|\\\(.+?\\\)|\\\[.+?\\\]",
    re.DOTALL,
)
_END = re.compile(
    r"""(?P<stop>[.!?…]+)(?P<closing>["'”’)\]}*_]*(?:\[\d+\])*)(?=\s+(?P<next>\S))"""
    r"|[。！？]+[”’」』）]*",
)
_ABBREVIATIONS = frozenset(
    """
    al approx ca cf dept dr e.g eds eg eq eqs et etc fig figs i.e ie inc jr ltd mr mrs prof resp sr
    st supp viz vs w.r.t wrt i.i.d a.k.a a.s u.s
    """.split()  # noqa: SIM905 - a list of quoted words is no easier to read
)
_BEFORE_NUMBERS = frozenset(
    "ch chap def lem no nos op p pp prop ref refs sec secs tab thm vol".split()  # noqa: SIM905
)
_ENDING = frozenset({"etc", "al", "u.s", "a.s", "inc", "ltd", "jr", "sr"})
_WORD_BEFORE = re.compile(r"[\w.]+$")
_BREAK = re.compile(r"\n\s*\n")


def split_sentences(text: str) -> list[Span]:
    """Return the sentences of ``text`` in order; together they hold everything but blanks."""
    maths = [match.span() for match in MATHS.finditer(text)]
    cuts = [match.end() for match in _BREAK.finditer(text)]
    for match in _END.finditer(text):
        inside = any(start < match.start("stop") < end - 1 for start, end in maths)
        if not inside and _ends_sentence(text, match):
            cuts.append(match.end())
    return _spans(text, sorted(cuts))


def outside_maths(change: Callable[[str], str], text: str) -> str:
    """Apply a change to what is not maths: in maths, [1] is an interval or an index."""
    pieces: list[str] = []
    position = 0
    for match in MATHS.finditer(text):
        pieces += [change(text[position : match.start()]), match[0]]
        position = match.end()
    return "".join([*pieces, change(text[position:])])


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    stop, following = match["stop"], match["next"]
    if stop is None:
        return True
    if following.islower() or following in ",;:)]":
        return False
    return stop != "." or not _is_abbreviation(text, match, following)


def _is_abbreviation(text: str, match: re.Match[str], following: str) -> bool:
    word = _last_word(text, match.start())
    if len(word) == 1 and word.isupper() and not match["closing"]:
        return not _looks_like_variable(text, match.start())
    if word.lower() in _BEFORE_NUMBERS:
        return following.isdigit()
    if word.lower() in _ENDING:
        return not following.isupper()
    return word.lower() in _ABBREVIATIONS


def _looks_like_variable(text: str, stop: int) -> bool:
    """Tell "we measure X. The" from "by J. Smith": an initial follows a capital or a particle."""
    previous = _last_word(text, len(text[: stop - 1].rstrip()))
    return bool(previous) and previous[0].islower() and previous not in {"and", "by", "of", "with"}


def _last_word(text: str, end: int) -> str:
    match = _WORD_BEFORE.search(text[max(0, end - 40) : end])
    return match[0].strip(".") if match else ""


def _spans(text: str, cuts: list[int]) -> list[Span]:
    spans: list[Span] = []
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        piece = text[start:end]
        if stripped := piece.strip():
            first = start + len(piece) - len(piece.lstrip())
            spans.append(Span(first, first + len(stripped)))
    return spans

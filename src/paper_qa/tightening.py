"""The words of a window that matter to a claim: its sentences without the clauses beside them."""

import re
from collections.abc import Iterator, Sequence

from paper_qa.alignment import AlignedClaim, Source
from paper_qa.domain import Span
from paper_qa.tokens import Token

MIN_SPARED = 4  # words: less is not worth a sentence that begins in its middle
_BOUNDARY = re.compile(r"[,;:]\s+|\s+[—–-]{1,3}\s+|—")
_PAIRS = ("()", "[]", "{}", "“”")


def tightened(aligned: AlignedClaim) -> Iterator[tuple[Source, Span]]:
    """Yield the spans of a claim's window, from the first clause that it rests on to the last."""
    first = 0
    for source, span in aligned.window.spans:
        tokens = [token for token in source.tokens if span.start <= token.span.start < span.end]
        places = [place - first for place in aligned.aligned if 0 <= place - first < len(tokens)]
        first += len(tokens)
        yield source, _tight(source.paper.abstract, span, [tokens[place] for place in places])


def _tight(text: str, span: Span, used: Sequence[Token]) -> Span:
    if len(used) < 2:
        return span
    start, end = span.start, span.end
    for boundary in _BOUNDARY.finditer(text, span.start, min(token.span.start for token in used)):
        start = boundary.end()
    if boundary := _BOUNDARY.search(text, max(token.span.end for token in used), span.end):
        end = boundary.start()
    if len(text[span.start : start].split()) < MIN_SPARED:
        start = span.start
    if len(text[end : span.end].split()) < MIN_SPARED:
        end = span.end
    return Span(start, end) if _is_whole(text[start:end]) else span


def _is_whole(text: str) -> bool:
    """Tell whether nothing that was opened in a text is closed outside of it, or the reverse."""
    return text.count("$") % 2 == 0 and all(
        text.count(opened) == text.count(closed) for opened, closed in _PAIRS
    )

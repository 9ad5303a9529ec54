"""Markers, quotes and references: how an answer names what it rests on."""

import re
from collections.abc import Mapping, Sequence
from itertools import groupby

from paper_qa.domain import Answer, Citation, Claim, Paper, Reference, Span
from paper_qa.sentences import outside_maths

_FOREIGN_MARKER = re.compile(r"\[(\d+)\]")
_STOP = re.compile(r"[.!?…]+$")


class Numbering:
    """Gives papers their numbers, from 1, in the order in which they are first cited."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def cite(self, paper: Paper, span: Span) -> Citation:
        """Return a citation of these words of the abstract."""
        number = self._numbers.setdefault(paper.id, len(self._numbers) + 1)
        quote = paper.abstract[span.start : span.end]
        return Citation(number, paper.id, span.start, span.end, quote)

    def references(self, papers: Mapping[str, Paper]) -> tuple[Reference, ...]:
        """Return the cited papers in the order of their numbers."""
        return tuple(refer(papers[key], number) for key, number in self._numbers.items())


def refer(paper: Paper, number: int) -> Reference:
    """Return the entry of a list of references."""
    return Reference(
        number=number,
        paper_id=paper.id,
        title=paper.name,
        authors=paper.authors,
        year=paper.year,
        venue=paper.venue,
        url=paper.url,
        retracted=paper.retracted,
    )


def with_markers(claim: Claim) -> str:
    """Return a claim as it stands in the answer: the markers before the full stop."""
    numbers = sorted({citation.number for citation in claim.citations})
    markers = "".join(f"[{number}]" for number in numbers)
    # What looks like a marker in a quote is the paper's own, and points to nothing here.
    text, stop = outside_maths(_without_markers, claim.text.rstrip()), "."
    if match := _STOP.search(text):
        text, stop = text[: match.start()], match[0]
    return f"{text} {markers}{stop}" if markers else f"{text}{stop}"


def _without_markers(text: str) -> str:
    return _FOREIGN_MARKER.sub(r"(\1)", text)


def compose(claims: Sequence[Claim], *, as_list: bool, by_paper: bool = False) -> str:
    """Return the text of an answer.

    A list has a line for each claim; what goes paper by paper, a line for each paper.
    """
    if as_list:
        return "\n".join(f"- {with_markers(claim)}" for claim in claims)
    groups = [list(group) for _, group in groupby(claims, _first_cited)] if by_paper else [claims]
    return "\n".join(" ".join(map(with_markers, group)) for group in groups)


def _first_cited(claim: Claim) -> str:
    return claim.citations[0].paper_id if claim.citations else ""


def see_heading(answer: Answer) -> str:
    """Say what the papers are that an abstention names, which may be far from the question."""
    return "Closest" if answer.abstain_reason == "no_evidence" else "Worth opening"


def without_stop(sentence: str) -> str:
    """Drop the full stop that will stand behind the markers."""
    return sentence[:-1] if sentence.endswith(".") and not sentence.endswith("..") else sentence


def short_authors(paper: Paper) -> str:
    """Return "Hu et al.", "Müller and Morris" or "Dai", or the title when no author is known."""
    names = [name.split()[-1] for name in paper.authors if name.split()]
    if not names:
        return paper.name
    if len(names) > 2:
        return f"{names[0]} et al."
    return " and ".join(names)

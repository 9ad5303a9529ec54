"""Answers, papers and references as plain text."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from paper_qa.citing import see_heading
from paper_qa.domain import COMPUTED, EXTRACTIVE, Answer, Claim, Paper, Reference, ScoredPaper

if TYPE_CHECKING:
    from paper_qa.library import AddReport

_MOST_AUTHORS = 3


def references(answer: Answer, *, quotes: bool = False) -> str:
    """Return the list under an answer: its references, or the papers worth opening instead."""
    if answer.references:
        return "\n".join(["References", *_cited(answer, quotes=quotes)])
    if answer.see:
        return "\n".join([see_heading(answer), *(f"- {described(paper)}" for paper in answer.see)])
    return ""


def remarks(answer: Answer) -> list[str]:
    """Return what is worth knowing about an answer: who wrote it, what was left out."""
    by = "counted in the library" if answer.model == COMPUTED else f"answered by {answer.model}"
    is_said = answer.abstained or (answer.notes and answer.model == EXTRACTIVE)
    lines = [*([] if is_said else [by]), *answer.notes]
    if answer.withheld:
        count = len(answer.withheld)
        sentences = "1 sentence" if count == 1 else f"{count} sentences"
        lines.append(f"{sentences} withheld: nothing in the abstracts supports them")
    return lines


def verdict(claim: Claim) -> str:
    """Return what the abstracts make of a claim, and their words."""
    lines = [f"{claim.support.replace('_', ' ')} ({claim.score:.2f} that it is supported)"]
    lines += [f"{cited.paper_id}: “{cited.quote}”" for cited in claim.citations]
    return "\n".join(lines)


def described(paper: Paper | Reference) -> str:
    """Return a paper as it is cited: authors, title, venue and link."""
    authors = ", ".join(paper.authors)
    if len(paper.authors) > _MOST_AUTHORS:
        authors = f"{paper.authors[0]} et al."
    year = str(paper.year or "")
    venue = paper.venue if year in paper.venue else f"{paper.venue} {year}".strip()
    title = paper.name if isinstance(paper, Paper) else paper.title
    parts = [authors, title, venue or year]
    text = " ".join(
        part if part.endswith((".", "?", "!")) else f"{part}." for part in parts if part
    )
    warning = "RETRACTED. " if paper.retracted else ""
    return f"{warning}{text} {paper.url}".strip()


def paper_table(papers: Iterable[Paper]) -> str:
    """Return one line per paper: id, year, title."""
    rows = [(paper.id, str(paper.year or ""), paper.name) for paper in papers]
    return _table(rows)


def hit_table(hits: Sequence[ScoredPaper]) -> str:
    """Return one line per paper found: score, id, title."""
    return _table([(f"{hit.score:.2f}", hit.paper.id, hit.paper.name) for hit in hits])


def hit_fields(hit: ScoredPaper) -> dict[str, object]:
    """Return a paper found as JSON types."""
    return {"paper_id": hit.paper.id, "title": hit.paper.title, "score": round(hit.score, 6)}


def added(report: "AddReport") -> str:
    """Return what adding a file came to."""
    return f"{len(report.added):,} added, {len(report.merged):,} already there"


def added_fields(report: "AddReport") -> dict[str, object]:
    """Return what adding a file came to, as JSON types."""
    return {"added": list(report.added), "merged": list(report.merged)}


def paper_fields(paper: Paper) -> dict[str, object]:
    """Return what identifies a paper, as JSON types and without its abstract."""
    return {
        "id": paper.id,
        "title": paper.title,
        "authors": list(paper.authors),
        "year": paper.year,
        "venue": paper.venue,
        "url": paper.url,
    }


def _cited(answer: Answer, *, quotes: bool) -> Iterable[str]:
    for reference in answer.references:
        yield f"[{reference.number}] {described(reference)}"
        if quotes:
            cited = (
                citation.quote
                for claim in answer.claims
                for citation in claim.citations
                if citation.number == reference.number
            )
            yield from (f"    “{' '.join(quote.split())}”" for quote in dict.fromkeys(cited))


def _table(rows: Sequence[tuple[str, str, str]]) -> str:
    """Align all columns but the last, which may be long."""
    first, second = (max((len(row[column]) for row in rows), default=0) for column in (0, 1))
    return "\n".join(
        f"{left:<{first}}  {middle:<{second}}  {' '.join(right.split())}"
        for left, middle, right in rows
    )

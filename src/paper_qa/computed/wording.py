"""What the library says of its papers, in sentences that tell how it was counted."""

from collections.abc import Sequence

from paper_qa.citing import short_authors
from paper_qa.computed.request import DetailRequest, Form, PapersRequest
from paper_qa.domain import Paper
from paper_qa.words import content_words

WHERE = " in title or abstract"
WITHIN = " within the filters"


def of_all(total: int, *, is_filtered: bool = False) -> str:
    """Say how many papers there are."""
    within = WITHIN if is_filtered else ""
    return f"The library has {_papers(total) if total else 'no papers'}{within}"


def of_some(request: PapersRequest, count: int, total: int, *, is_filtered: bool = False) -> str:
    """Say how many of all papers are those that were asked for."""
    within = WITHIN if is_filtered else ""
    singular, plural = _predicate(request, WHERE if count == 0 else f"{_forms(request)}{WHERE}")
    whole = f"{'the ' if total > 1 else ''}{_papers(total)}{within}"
    if count == 0:
        return _opened(request.form, "No", f"none of {whole} {singular}")
    if count == total > 1:
        return _opened(request.form, "Yes", f"all {_papers(total)}{within} {plural}")
    return _opened(
        request.form, "Yes", f"{count:,} of {whole} {singular if count == 1 else plural}"
    )


def of_rest(count: int) -> str:
    """Say how many papers are left out of a list."""
    return f"{count:,} more {'is' if count == 1 else 'are'} not listed here"


def of_paper(paper: Paper) -> str:
    """Return the line of a list: title, authors, year."""
    by = short_authors(paper) if paper.authors else ""
    facts = [by, str(paper.year or ""), "retracted" if paper.retracted else ""]
    told = ", ".join(fact for fact in facts if fact)
    return f"{_title(paper)} ({told})" if told else _title(paper)


def of_detail(request: DetailRequest, paper: Paper) -> str:
    """Say who wrote a paper, or where and when it appeared."""
    if request.detail == "authors":
        names = [" ".join(name.split()) for name in paper.authors if name.strip()]
        if not names:
            return f"The library names no authors of {_title(paper)}"
        return f"{_title(paper)} is by {_joined(names, 'and')}"
    year = "" if str(paper.year or "") in paper.venue else str(paper.year)
    place = f"{paper.venue} {year}".strip()
    if not place:
        return f"The library has neither a year nor a venue for {_title(paper)}"
    return f"{_title(paper)} appeared in {place}"


def _forms(request: PapersRequest) -> str:
    """Say that "transform" counts for "transformers"; an acronym has one form only."""
    has_forms = any(letter.islower() for value in request.values for letter in value)
    return ", in any form," if has_forms else ""


def _predicate(request: PapersRequest, where: str) -> tuple[str, str]:
    """Return what one paper does, and what several do."""
    quoted = [f"“{value}”" for value in request.values]
    match request.criterion:
        case "author":
            named = "an author named" if len(quoted) == 1 else "authors named"
            return _has(f"{named} {_joined(quoted, 'and')}")
        case "year":
            return f"is from {request.values[0]}", f"are from {request.values[0]}"
        case "venue":
            return _has(f"the venue {quoted[0]}")
        case _ if all(len(content_words(value)) == 1 for value in request.values):
            terms = _joined(quoted, "or")
            return f"mentions {terms}{where}", f"mention {terms}{where}"
        case _:
            return _has(f"all words of {_joined(quoted, 'or of')}{where}")


def _has(what: str) -> tuple[str, str]:
    return f"has {what}", f"have {what}"


def _opened(form: Form, verdict: str, sentence: str) -> str:
    if form == "exists":
        return f"{verdict}: {sentence}"
    return f"{sentence[:1].upper()}{sentence[1:]}"


def _papers(count: int) -> str:
    return f"{count:,} paper{'' if count == 1 else 's'}"


def _title(paper: Paper) -> str:
    return f"“{' '.join(paper.name.split()) or paper.id}”"


def _joined(items: Sequence[str], conjunction: str) -> str:
    *others, last = items
    return f"{', '.join(others)} {conjunction} {last}" if others else last

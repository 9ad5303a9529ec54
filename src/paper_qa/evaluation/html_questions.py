"""The part of the page that lists the questions: what was answered and cited, and what is wrong."""

from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from paper_qa.domain import Answer, Reference
from paper_qa.evaluation.flaws import flaws, missing_facts
from paper_qa.evaluation.markup import Markup, element, joined
from paper_qa.evaluation.results import QuestionResult


def questions_section(results: Sequence[QuestionResult]) -> Markup:
    """Return the list, by type, with a switch that hides what is right."""
    found = {result.question.id: flaws(result) for result in results}
    num_flawed = sum(map(bool, found.values()))
    types = dict.fromkeys(result.question.type for result in results)
    groups = (_type(name, [r for r in results if r.question.type == name], found) for name in types)
    label = f"Only the {num_flawed} of {len(results)} with something wrong"
    return element(
        "section",
        element("h2", "Questions"),
        # The style sheet reads it: a page without scripts has no other switch.
        Markup('<input type="checkbox" id="only-flawed">'),
        element("label", label, for_="only-flawed"),
        *groups,
    )


def _type(name: str, results: Sequence[QuestionResult], found: dict[str, list[str]]) -> Markup:
    items = (_question(result, found[result.question.id]) for result in results)
    return element("section", element("h3", name), *items, class_="type")


def _question(result: QuestionResult, wrong: Sequence[str]) -> Markup:
    question, answer = result.question, result.answer
    said = f"{len(wrong)} wrong" if wrong else "right"
    mark = element("span", f"✗ {len(wrong)}" if wrong else "✓", role="img", aria_label=said)
    summary = element("summary", mark, " ", question.question, " ", element("code", question.id))
    before = [f"{turn.role}: {turn.content}" for turn in question.history]
    rows = [
        _row("Before", [_list(before)] if before else []),
        _row("Wrong", [_list(wrong)] if wrong else []),
        _row("Answer", [element("p", _answered(answer))]),
        _row("Cited", [_cited(answer, reference) for reference in answer.references]),
        _row("Withheld", [_list(item.text for item in answer.withheld)] if answer.withheld else []),
        _row("Judged", _judged(result)),
        _row("Confidence", [f"{answer.confidence:.2f}, after {result.seconds:.2f} s"]),
    ]
    kind = "flawed" if wrong else "right"
    return element("details", summary, element("dl", *rows), class_=kind)


def _row(name: str, children: Sequence[str]) -> Markup:
    return joined([element("dt", name), element("dd", *children)] if children else [])


def _list(items: Iterable[str]) -> Markup:
    return element("ul", *(element("li", item) for item in items))


def _answered(answer: Answer) -> str:
    reason = f" ({answer.abstain_reason})" if answer.abstain_reason else ""
    return f"Declined{reason}: {answer.text}" if answer.abstained else answer.text


def _cited(answer: Answer, reference: Reference) -> Markup:
    """Name a paper, and quote the words of it that were cited."""
    citations = (citation for claim in answer.claims for citation in claim.citations)
    quotes = dict.fromkeys(c.quote for c in citations if c.number == reference.number)
    named = element(
        "p", f"[{reference.number}] ", _title(reference), " ", element("code", reference.paper_id)
    )
    return joined([named, *(element("blockquote", quote) for quote in quotes)])


def _title(reference: Reference) -> str:
    """Return the title, as a link if there is a page to open."""
    title = reference.title or reference.paper_id
    if not _is_page(reference.url):
        return title
    return element("a", title, href=reference.url, rel="noopener noreferrer")


def _is_page(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:  # what is no address at all
        return False
    return parts.scheme in {"http", "https"} and bool(parts.netloc)


def _judged(result: QuestionResult) -> list[Markup]:
    question = result.question
    if not question.is_answerable:
        kind = f" ({question.kind})" if question.kind else ""
        return [element("p", f"no abstract answers it{kind}")]
    missing = missing_facts(result)
    stated = [f"{'✗' if fact in missing else '✓'} {fact}" for fact in question.facts]
    gold = element("p", f"answered by {', '.join(question.gold)}")
    return [gold, *([_list(stated)] if stated else [])]

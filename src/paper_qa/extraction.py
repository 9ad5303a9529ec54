"""Answers without a language model: the abstracts' own sentences, chosen, quoted and attributed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from paper_qa.citing import Numbering, short_authors, without_stop
from paper_qa.domain import Claim, Evidence, Paper, Span
from paper_qa.questions import Question

NUM_SENTENCES = 4
MAX_WORDS = 130
NUM_COMPARED = 2
NUM_SENTENCES_COMPARED = 3
NUM_SENTENCES_OF_MANY = 2
MAX_WORDS_OF_MANY = 60

_OFFERS_CODE = re.compile(
    r"https?://|\b(?:code|codes|implementation|project\s+page|website)\b.{0,60}\bavailable\b"
    r"|\bopen[- ]source\b.{0,40}\b(?:our|code)\b|\b(?:our|the)\s+code\b",
    re.IGNORECASE,
)
_ASKS_FOR_CODE = re.compile(
    r"\b(?:code|codes|github|open[- ]?sourced?|repo(?:sitory)?|implementation"
    r"|availab(?:le|ility)"
    r"|url|link|website|page|released?)\b",
    re.IGNORECASE,
)


def extract(
    question: Question,
    evidence: Sequence[Evidence],
    papers: Mapping[str, Paper],
    numbering: Numbering,
) -> list[Claim]:
    """Return the key passages that answer a question, in a sensible order.

    Of one paper the sentences keep their order; papers come in the order of the evidence.
    """
    by_paper = [
        telling(question, list(group)) for _, group in groupby(evidence, lambda item: item.paper_id)
    ]
    if question.kind == "list":
        best = [max(group, key=lambda item: item.score) for group in by_paper]
        return [_listed(item, papers[item.paper_id], numbering) for item in best]
    if question.kind == "summary" and len(by_paper) > 1:
        groups = [choose(group, NUM_SENTENCES_OF_MANY, MAX_WORDS_OF_MANY) for group in by_paper]
    elif question.kind == "compare":
        groups = [choose(group, NUM_SENTENCES_COMPARED) for group in by_paper[:NUM_COMPARED]]
    else:
        groups = [choose(group, NUM_SENTENCES) for group in by_paper[:1]]
    return [
        claim for group in groups for claim in _quoted(group, papers[group[0].paper_id], numbering)
    ]


def telling(question: Question, evidence: Sequence[Evidence]) -> list[Evidence]:
    """Leave out where the code can be had, unless that is asked."""
    if _ASKS_FOR_CODE.search(question.text):
        return list(evidence)
    return [item for item in evidence if not _OFFERS_CODE.search(item.text)] or list(evidence)


def choose(evidence: Sequence[Evidence], k: int, max_words: int = MAX_WORDS) -> list[Evidence]:
    """Return the ``k`` best sentences of one paper, fewer if they are long, in reading order."""
    chosen: list[Evidence] = []
    num_words = 0
    for item in sorted(evidence, key=lambda item: (-item.score, item.start))[:k]:
        num_words += len(item.text.split())
        if chosen and num_words > max_words:
            break
        chosen.append(item)
    return sorted(chosen, key=lambda item: item.start)


def _quoted(evidence: Sequence[Evidence], paper: Paper, numbering: Numbering) -> Iterator[Claim]:
    for position, item in enumerate(evidence):
        quote = f"“{without_stop(item.text)}”"
        text = quote if position else f"{short_authors(paper)}: {quote}"
        yield verbatim(text, item, paper, numbering)


def _listed(item: Evidence, paper: Paper, numbering: Numbering) -> Claim:
    authors = f" ({short_authors(paper)})" if paper.authors else ""
    text = f"{paper.name}{authors}: “{without_stop(item.text)}”"
    return verbatim(text, item, paper, numbering)


def opposed(lead: str, paper: Paper, span: Span, numbering: Numbering) -> Claim:
    """Return a claim that quotes a paper against what was said: the lead, who, and the words."""
    quote = without_stop(paper.abstract[span.start : span.end])
    text = f"{lead} {short_authors(paper)}: “{quote}”"
    return Claim(text, "supported", 1.0, (numbering.cite(paper, span),))


def verbatim(text: str, item: Evidence, paper: Paper, numbering: Numbering) -> Claim:
    """Return a claim that quotes its evidence word for word."""
    citation = numbering.cite(paper, Span(item.start, item.end))
    return Claim(text, "supported", 1.0, (citation,))

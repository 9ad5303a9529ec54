"""Answers computed from the library: the papers counted, listed, and cited where a term stands."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from paper_qa.answering import NUM_RETRIEVED
from paper_qa.citing import Numbering, compose
from paper_qa.computed import wording
from paper_qa.computed.asking import understand_request
from paper_qa.computed.request import DetailRequest, PapersRequest
from paper_qa.domain import (
    COMPUTED,
    Answer,
    Claim,
    Event,
    Evidence,
    Paper,
    Scope,
    ScoredPaper,
    Sources,
    Span,
    Stage,
    Timings,
    folded,
)
from paper_qa.injection import statements
from paper_qa.library import Library
from paper_qa.questions import Question
from paper_qa.words import WORD, content_words

MAX_LISTED = 20
# "Nothing has all words of …" tells little of a topic that can be put in many ways.
MAX_WORDS_OF_ABSENT = 2

_WORD = re.compile(r"\w+")
# ICML, NeurIPS 2023: what may be the name of a venue though no paper is from there.
_ACRONYM = re.compile(r"(?=[^A-Z]*[A-Z][^A-Z]*[A-Z])[\w&'-]+(?:\s+\d{4})?")


@dataclass(frozen=True, slots=True)
class Computed:
    """An answer that the library gave, and the papers that it is about."""

    answer: Answer
    sources: Sources

    def events(self) -> list[Event]:
        """Return the answer as it is streamed."""
        return [Stage("Counting"), self.sources, *self.answer.claims, self.answer]


@dataclass(frozen=True, slots=True)
class _Finding:
    """What there is to say: a sentence, then a line for each of the papers, and what they have.

    With ``is_of_paper`` the sentence itself is about the one paper.
    """

    sentence: str
    papers: Sequence[Paper] = ()
    num_more: int = 0
    terms: Sequence[str] = ()
    is_of_paper: bool = False


def compute(question: Question, library: Library, started: float) -> Computed | None:
    """Answer a question by counting and listing, or return None: then it is not of that kind.

    Raises:
        UnknownPaperError: the scope names a paper that is not in the library.
        LibraryError: the library can't be read.
    """
    scope = question.options.scope
    request = understand_request(
        question.text,
        follows=bool(question.background),
        about_one=bool(scope.only_paper_id),
    )
    match request:
        case PapersRequest():
            finding = _found(request, library, scope)
        case DetailRequest():
            finding = _looked_up(request, library, scope)
        case None:
            finding = None
    return _computed(question, finding, library, started) if finding else None


def _found(request: PapersRequest, library: Library, scope: Scope) -> _Finding | None:
    is_filtered = not scope.is_open
    total = len(library.admitted(scope)) if is_filtered else library.num_papers()
    of_all = wording.of_all(total, is_filtered=is_filtered)
    if not total or (request.criterion, request.form) == ("all", "count"):
        return _Finding(of_all)
    paper_ids = _matching(request, library, scope)
    if not paper_ids and not _may_say_none(request):
        return None
    if request.criterion == "all":
        sentence = of_all
    else:
        sentence = wording.of_some(request, len(paper_ids), total, is_filtered=is_filtered)
    return _Finding(
        sentence,
        library.papers(paper_ids[:MAX_LISTED]),
        max(0, len(paper_ids) - MAX_LISTED),
        request.values if request.criterion in {"mention", "topic"} else (),
    )


def _matching(request: PapersRequest, library: Library, scope: Scope) -> list[str]:
    """Return the papers that were asked for: by terms the best first, else as they were added."""
    if request.criterion in {"mention", "topic"}:
        found = [_ids_with(_words(term), library, scope) for term in request.values]
        return list(dict.fromkeys(paper_id for ids in found for paper_id in ids))
    papers = library.papers(None if scope.is_open else library.admitted(scope))
    return [paper.id for paper in papers if _is_meant(request, paper)]


def _ids_with(words: Sequence[str], library: Library, scope: Scope) -> list[str]:
    """Return the papers of a scope that have all of these words, best first."""
    found = library.ids_with(words)
    if scope.is_open:
        return found
    admitted = set(library.admitted(scope))
    return [paper_id for paper_id in found if paper_id in admitted]


def _is_meant(request: PapersRequest, paper: Paper) -> bool:
    match request.criterion:
        case "author":
            authors = [_parts(author) for author in paper.authors]
            named = [_parts(name) for name in request.values]
            return all(any(_is_named(author, name) for author in authors) for name in named)
        case "year":
            return str(paper.year) == request.values[0]
        case "venue":
            wanted = _parts(request.values[0])
            return bool(wanted) and wanted <= _parts(f"{paper.venue} {paper.year or ''}")
        case _:
            return True


def _is_named(author: frozenset[str], name: frozenset[str]) -> bool:
    """Tell whether an author has all parts of a name, of which all but one may be initials."""
    initials = {part[0] for part in author}
    return not name.isdisjoint(author) and all(
        part in author or (len(part) == 1 and part in initials) for part in name
    )


def _parts(name: str) -> frozenset[str]:
    """Return the words of a name, without what is written above or under its letters."""
    return frozenset(_WORD.findall(folded(name)))


def _may_say_none(request: PapersRequest) -> bool:
    """Tell whether it makes sense to say that there is no such paper.

    Where it does not, the question may have meant something else: "papers by topic", "from Vienna".
    """
    match request.criterion:
        case "author":
            return all(not word[0].islower() for name in request.values for word in name.split())
        case "venue":
            return _ACRONYM.fullmatch(request.values[0]) is not None
        case "topic" if request.form == "exists":
            return all(len(_words(term)) <= MAX_WORDS_OF_ABSENT for term in request.values)
        case _:
            return True


def _looked_up(request: DetailRequest, library: Library, scope: Scope) -> _Finding | None:
    """Say what is known of the one paper that a name stands for; None if there are several."""
    if not request.name:
        papers = library.papers(library.admitted(scope))
        return _told(request, papers) if papers else None
    name = library.stems(request.name)
    candidates = library.papers(_ids_with(WORD.findall(request.name), library, scope))
    titled = [paper for paper in candidates if _stands_in(name, library.stems(paper.title))]
    named = [
        paper
        for paper in titled
        if name in (library.stems(paper.title), library.stems(paper.title.partition(":")[0]))
    ]
    if not named and len(name) >= request.min_words:
        named = titled
    return _told(request, named) if len(named) == 1 else None


def _told(request: DetailRequest, papers: Sequence[Paper]) -> _Finding:
    sentence = wording.of_detail(request, papers[0])
    terms = (request.name,) if request.name else ()
    return _Finding(sentence, papers, terms=terms, is_of_paper=True)


def _computed(question: Question, finding: _Finding, library: Library, started: float) -> Computed:
    retrieve_s = time.monotonic() - started
    numbering = Numbering()
    claims = _claims(finding, library, numbering)
    hits = tuple(ScoredPaper(paper, 1.0) for paper in finding.papers)
    evidence = tuple(
        Evidence(cited.paper_id, cited.start, cited.end, cited.quote, 1.0)
        for claim in claims
        for cited in claim.citations
    )
    total_s = round(time.monotonic() - started, 4)
    answer = Answer(
        question=question.text,
        text="\n".join([compose(claims[:1], as_list=False), *_lines(claims[1:])]),
        claims=tuple(claims),
        references=numbering.references({paper.id: paper for paper in finding.papers}),
        retrieved=hits[:NUM_RETRIEVED],
        # That no paper has the words is a right answer, and none of the abstracts gives it.
        confidence=0.0 if finding.terms and not finding.papers else 1.0,
        model=COMPUTED,
        timings=Timings(round(retrieve_s, 4), total_s, total_s),
    )
    return Computed(answer, Sources(hits, evidence))


def _claims(finding: _Finding, library: Library, numbering: Numbering) -> list[Claim]:
    """Return the sentence, a line for each paper, and how many are left out."""
    about = [
        (paper, finding.sentence if finding.is_of_paper else wording.of_paper(paper))
        for paper in finding.papers
    ]
    claims = [] if finding.is_of_paper else [Claim(finding.sentence, "computed", 1.0)]
    for paper, said in about:
        span = _telling(paper, finding.terms, library)
        citations = (numbering.cite(paper, span),) if span else ()
        claims.append(Claim(said, "computed", 1.0, citations))
    if finding.num_more:
        claims.append(Claim(wording.of_rest(finding.num_more), "computed", 1.0))
    return claims


def _lines(claims: Sequence[Claim]) -> list[str]:
    return [compose(claims, as_list=True)] if claims else []


def _telling(paper: Paper, terms: Sequence[str], library: Library) -> Span | None:
    """Return the sentence of an abstract that has most words of one of the terms, if any has."""
    wanted = [[library.stems(word) for word in _words(term)] for term in terms]
    counted = [
        (_num_told(wanted, library.stems(paper.abstract[span.start : span.end])), span)
        for span in statements(paper.abstract)
    ]
    best, span = max(counted, key=lambda item: item[0], default=(0, None))
    return span if best else None


def _num_told(terms: Sequence[Sequence[list[str]]], sentence: Sequence[str]) -> int:
    told = [sum(_stands_in(word, sentence) for word in words) for words in terms]
    return max(told, default=0)


def _words(term: str) -> list[str]:
    return [word for word, _ in content_words(term)]


def _stands_in(part: Sequence[str], whole: Sequence[str]) -> bool:
    """Tell whether stems stand one after the other among others."""
    places = range(len(whole) - len(part) + 1)
    return bool(part) and any(list(whole[at : at + len(part)]) == list(part) for at in places)

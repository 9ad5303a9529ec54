"""Results of an evaluation, made by hand."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from paper_qa.domain import Answer, Citation, Claim, Paper, Reference, ScoredPaper, Turn
from paper_qa.errors import UnknownPaperError
from paper_qa.evaluation import Question, QuestionResult

PAPERS = {
    paper_id: Paper(paper_id, f"Title {paper_id}", f"The abstract of {paper_id} says it all.")
    for paper_id in ("a", "b", "c")
}


@dataclass
class ScriptedAnswerer:
    """Answers by heart, and remembers what it was asked."""

    answers: dict[str, Answer]
    asked: list[tuple[str, tuple[Turn, ...]]] = field(default_factory=list)

    def ask(self, question: str, *, history: Sequence[Turn] = ()) -> Answer:
        self.asked.append((question, tuple(history)))
        return self.answers[question]

    def paper(self, paper_id: str) -> Paper:
        if paper_id not in PAPERS:
            raise UnknownPaperError(f"no paper {paper_id!r}")
        return PAPERS[paper_id]


def cite(paper_id: str, quote: str = "abstract", number: int = 1) -> Citation:
    return Citation(number, paper_id, 4, 4 + len(quote), quote)


def said(
    text: str, *citations: Citation, retrieved: str = "", confidence: float = 0.9, **fields: object
) -> Answer:
    """Return an answer of one claim; ``retrieved`` has a letter for each paper."""
    ranked = tuple(
        ScoredPaper(PAPERS.get(paper_id, Paper(paper_id, "", "")), 0.5) for paper_id in retrieved
    )
    claims = (Claim(text, "supported", 1.0, citations),)
    references = tuple(
        Reference(c.number, c.paper_id, f"Title {c.paper_id}", (), 2024, "", "", retracted=False)
        for c in citations
    )
    given = {"claims": claims, "retrieved": ranked, "references": references} | fields
    return Answer("", text, confidence=confidence, **given)


def declined(
    reason: str | None = "no_evidence", *, retrieved: str = "", confidence: float = 0.1
) -> Answer:
    ranked = said("", retrieved=retrieved).retrieved
    return Answer(
        "",
        "The abstracts do not say.",
        retrieved=ranked,
        abstained=True,
        abstain_reason=reason,
        confidence=confidence,
    )


def result(
    key: str,
    answer: Answer,
    *,
    gold: Sequence[str] = (),
    kind: str = "",
    seconds: float = 0.25,
    **fields: object,
) -> QuestionResult:
    """Return a result whose quotes all hold; without gold papers it is unanswerable."""
    type_ = "fact" if gold else "unanswerable"
    question = Question(key, f"What is {key}?", type_, gold=tuple(gold), kind=kind, **fields)
    num_quotes = sum(len(claim.citations) for claim in answer.claims)
    return QuestionResult(question, answer, seconds, num_quotes, num_quotes)

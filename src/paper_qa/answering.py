"""An answer while it is being made: claims, numbers, notes, and the time that it took."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from paper_qa.anaphora import Thread
from paper_qa.citing import Numbering, compose, refer, short_authors, without_stop
from paper_qa.domain import (
    AbstainReason,
    Answer,
    Citation,
    Claim,
    Evidence,
    Paper,
    ScoredPaper,
    Span,
    Timings,
    Turn,
    Usage,
    Withheld,
)
from paper_qa.drafting import in_third_person
from paper_qa.extraction import extract
from paper_qa.questions import Question

_WORD = re.compile(r"\w+")
NUM_SEE = 3
NUM_RETRIEVED = 10

ABSTENTIONS: dict[AbstainReason, str] = {
    "no_evidence": "The abstracts in this library do not treat this.",
    "not_in_abstract": "The closest abstracts do not say this.",
    "language": (
        "This question is in a language that the search cannot read, and no language model has "
        "translated it: ask in English."
    ),
}

NO_PAPER_ADMITTED = "The filters leave no paper: widen them, or ask without them."
NOT_WITHIN = "The abstracts within the filters do not treat this."

UNSURE = 0.7  # the confidence under which an answer says that it may be none
NOTE_UNSURE = "the abstracts may not answer this: what is cited comes closest"

THE_AUTHORS = "the authors"  # where nobody is named
MAX_MISSING = 0.5  # of the key passages, that an answer may do without
MIN_TOLD = 0.4  # of the number of words of a passage, to be counted as told
MAX_WORDS = 120  # of an answer that key passages complete


@dataclass(slots=True)
class Task:
    """A question with what was found for it, and when it arrived (``time.monotonic``)."""

    question: Question
    hits: Sequence[ScoredPaper]
    evidence: Sequence[Evidence]
    history: Sequence[Turn] = ()
    started: float = field(default_factory=time.monotonic)
    retrieve_s: float = 0.0
    usage: Usage = field(default_factory=Usage)  # of what was asked of a model before
    notes: Sequence[str] = ()
    num_admitted: int | None = None  # papers in the scope, where there is one

    @property
    def papers(self) -> dict[str, Paper]:
        """The retrieved papers by id."""
        return {hit.paper.id: hit.paper for hit in self.hits}


class AnswerInProgress:
    """What is known of an answer so far, and the answer when nothing more comes."""

    def __init__(self, task: Task, model: str) -> None:
        self.task = task
        self.model = model
        self.numbering = Numbering()
        self.claims: list[Claim] = []
        self.withheld: list[Withheld] = []
        self.notes = list(task.notes)
        self.thread = Thread()
        self._introduced: set[str] = set()  # papers whose authors have been named
        self.declined = False  # the model said that the abstracts do not answer
        self.usage = task.usage
        self.confidence = 0.0
        self.premise_corrected = False
        self._first_claim_s = 0.0

    def add(self, claim: Claim) -> Claim:
        """Take a claim in, and give it back."""
        self._first_claim_s = self._first_claim_s or self._elapsed()
        self.claims.append(claim)
        self.thread.follow(claim.text, is_shown=True)
        return claim

    def withhold(self, withheld: Withheld) -> Withheld:
        """Keep a sentence out of the answer, and give it back."""
        self.withheld.append(withheld)
        self.thread.follow(withheld.text, is_shown=False)
        return withheld

    def is_supported(self) -> bool:
        """Tell whether anything that was written rests on the abstracts."""
        return any(claim.support == "supported" for claim in self.claims)

    def has_text(self) -> bool:
        """Tell whether anything was written, supported or not."""
        return bool(self.claims or self.withheld)

    def is_new(self, text: str, papers: Sequence[Paper] = ()) -> bool:
        """Tell whether this has not been said before, nor is (a part of) a paper's title.

        Small models repeat themselves, and what they read.
        """
        said = [claim.text for claim in self.claims] + [item.text for item in self.withheld]
        if without_stop(text) in map(without_stop, said):
            return False
        return not any(_is_of_title(text, paper.title) for paper in papers)

    def attributed(self, text: str, papers: Sequence[Paper]) -> str:
        """Return a sentence without "we": the first of a paper names who they are."""
        ids = {paper.id for paper in papers}
        told = in_third_person(text, THE_AUTHORS)
        if told == text or len(ids) != 1 or ids <= self._introduced:
            return told
        self._introduced |= ids
        several = len(papers[0].authors) > 1
        return in_third_person(text, short_authors(papers[0])) if several else told

    @cached_property
    def key_passages(self) -> tuple[Claim, ...]:
        """Return what extraction would quote, numbered by itself."""
        task = self.task
        return tuple(extract(task.question, task.evidence, task.papers, Numbering()))

    def extracted(self) -> list[Claim]:
        """Return the key passages, less those that are cited already."""
        return [self._renumbered(claim) for claim in self._not_cited(self.key_passages)]

    def completion(self) -> Claim | None:
        """Return the key passage to complete what a model wrote with: the best that it left out.

        None where it has covered half of what extraction would quote, or has written a lot.
        """
        chosen = self.key_passages
        missing = self._not_cited(chosen)
        if self.task.question.kind == "summary" or len(missing) <= MAX_MISSING * len(chosen):
            return None
        scores = {(item.paper_id, item.start): item.score for item in self.task.evidence}
        best = max(missing, key=lambda claim: scores[_place(claim)])
        num_words = sum(len(claim.text.split()) for claim in [*self.claims, best])
        return self._renumbered(best) if num_words <= MAX_WORDS else None

    def _not_cited(self, passages: Sequence[Claim]) -> list[Claim]:
        return [claim for claim in passages if not self._is_told(claim.citations[0])]

    def _is_told(self, passage: Citation) -> bool:
        """Tell whether the claims that cite words of this passage say a good part of it."""
        telling = [
            claim
            for claim in self.claims
            if any(_overlap(citation, passage) for citation in claim.citations)
        ]
        num_words = sum(len(claim.text.split()) for claim in telling)
        return num_words >= MIN_TOLD * len(passage.quote.split())

    def _renumbered(self, claim: Claim) -> Claim:
        cited = claim.citations[0]
        paper = self.task.papers[cited.paper_id]
        return replace(claim, citations=(self.numbering.cite(paper, Span(cited.start, cited.end)),))

    def answer(self) -> Answer:
        """Return the answer that the claims make."""
        kind = self.task.question.kind
        text = compose(self.claims, as_list=kind == "list", by_paper=kind in {"summary", "compare"})
        return self._answer(
            text=text,
            claims=tuple(self.claims),
            references=self.numbering.references(self.task.papers),
            notes=(*((NOTE_UNSURE,) if self._is_unsure() else ()), *self.notes),
        )

    def _is_unsure(self) -> bool:
        question = self.task.question
        is_judged = question.kind == "answer" and not question.is_foreign
        return is_judged and not self.premise_corrected and self.confidence < UNSURE

    def abstention(self, reason: AbstainReason) -> Answer:
        """Return the word that there is no answer, with the papers worth opening."""
        nearest = [hit.paper for hit in self.task.hits[:NUM_SEE]] if reason != "language" else []
        text = ABSTENTIONS[reason]
        if reason == "not_in_abstract" and nearest:
            text = f"“{_short_title(nearest[0])}” is here, but its abstract does not say this."
        if self.task.num_admitted is not None and reason != "language":
            if not self.task.question.options.scope.only_paper_id:
                self.notes.append(f"the filters leave {_papers(self.task.num_admitted)}")
            if reason == "no_evidence":
                text = NOT_WITHIN if self.task.num_admitted else NO_PAPER_ADMITTED
        return self._answer(
            text=text,
            abstained=True,
            abstain_reason=reason,
            see=tuple(refer(paper, 0) for paper in nearest),
            notes=tuple(self.notes),
        )

    def _answer(self, **fields: Any) -> Answer:
        return Answer(
            question=self.task.question.text,
            withheld=tuple(self.withheld),
            retrieved=tuple(self.task.hits[:NUM_RETRIEVED]),
            confidence=round(self.confidence, 3),
            premise_corrected=self.premise_corrected,
            usage=self.usage,
            model=self.model,
            timings=Timings(
                round(self.task.retrieve_s, 4),
                round(self._first_claim_s, 4),
                round(self._elapsed(), 4),
            ),
            **fields,
        )

    def _elapsed(self) -> float:
        return time.monotonic() - self.task.started


def _short_title(paper: Paper) -> str:
    """Return a title without what follows its colon."""
    return paper.name.partition(":")[0].strip()


def _papers(count: int) -> str:
    return f"{count:,} paper{'' if count == 1 else 's'}" if count else "no paper"


def _is_of_title(text: str, title: str) -> bool:
    """Tell whether a sentence is a title, or a good part of one."""
    words, titled = (" ".join(_WORD.findall(part.lower())) for part in (text, title))
    return words == titled or (words.count(" ") >= 3 and f" {words} " in f" {titled} ")


def _overlap(one: Citation, other: Citation) -> bool:
    same_paper = one.paper_id == other.paper_id
    return same_paper and one.start < other.end and other.start < one.end


def _place(passage: Claim) -> tuple[str, int]:
    return passage.citations[0].paper_id, passage.citations[0].start

"""An answer while it is being made: claims, numbers, notes, and the time that it took."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from paper_qa.citing import Numbering, compose, refer, without_stop
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
from paper_qa.extraction import extract
from paper_qa.questions import Question

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
        self.declined = False  # the model said that the abstracts do not answer
        self.usage = task.usage
        self.confidence = 0.0
        self._first_claim_s = 0.0

    def add(self, claim: Claim) -> Claim:
        """Take a claim in, and give it back."""
        self._first_claim_s = self._first_claim_s or self._elapsed()
        self.claims.append(claim)
        return claim

    def is_supported(self) -> bool:
        """Tell whether anything that was written rests on the abstracts."""
        return any(claim.support == "supported" for claim in self.claims)

    def has_text(self) -> bool:
        """Tell whether anything was written, supported or not."""
        return bool(self.claims or self.withheld)

    def is_new(self, text: str, papers: Sequence[Paper] = ()) -> bool:
        """Tell whether this has not been said before, nor is the title of one of the papers.

        Small models repeat themselves, and what they read.
        """
        said = [claim.text for claim in self.claims] + [item.text for item in self.withheld]
        said += [paper.title for paper in papers]
        return without_stop(text) not in map(without_stop, said)

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
        )

    def abstention(self, reason: AbstainReason) -> Answer:
        """Return the word that there is no answer, with the papers worth opening."""
        nearest = [hit.paper for hit in self.task.hits[:NUM_SEE]] if reason != "language" else []
        return self._answer(
            text=ABSTENTIONS[reason],
            abstained=True,
            abstain_reason=reason,
            see=tuple(refer(paper, 0) for paper in nearest),
        )

    def _answer(self, **fields: Any) -> Answer:
        return Answer(
            question=self.task.question.text,
            withheld=tuple(self.withheld),
            retrieved=tuple(self.task.hits[:NUM_RETRIEVED]),
            confidence=round(self.confidence, 3),
            notes=tuple(self.notes),
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


def _overlap(one: Citation, other: Citation) -> bool:
    same_paper = one.paper_id == other.paper_id
    return same_paper and one.start < other.end and other.start < one.end


def _place(passage: Claim) -> tuple[str, int]:
    return passage.citations[0].paper_id, passage.citations[0].start

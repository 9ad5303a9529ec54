"""Which words of the abstracts support a sentence, if any do, or contradict it.

A sentence is aligned with each of the papers that it may rest on, and with the best two passages
together; what differs is judged by the learnt checker.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from paper_qa.alignment import AlignedClaim, align, join, read_claim, read_source
from paper_qa.checker import Judgement, load_checker
from paper_qa.differences import differences
from paper_qa.domain import Paper, Span
from paper_qa.late_interaction import encode_words
from paper_qa.tightening import tightened
from paper_qa.word_index import WordIndex

THRESHOLD = load_checker().threshold
NUM_JUDGED = 3  # of the papers, those that cover the sentence best
LIKELY = 0.5
# What another paper must reach to be shown as saying the opposite: the probability, and how much of
# the sentence it has to cover. Most papers that differ speak of something else.
CLEARLY, SAME_THING = 0.55, 0.85

Verdict = Literal["supported", "contradicted", "not_mentioned"]


@dataclass(frozen=True, slots=True)
class Support:
    """Where a claim stands in the papers: the spans that it rests on, and what they make of it.

    ``score`` is the probability that they support it. The spans of a claim that they contradict
    are those that do.
    """

    score: float
    spans: tuple[tuple[Paper, Span], ...]
    verdict: Verdict = "not_mentioned"

    @property
    def quote(self) -> str:
        """The words of the spans."""
        return " … ".join(paper.abstract[span.start : span.end] for paper, span in self.spans)


class Grounder:
    """Finds the support of a sentence in papers."""

    def __init__(self, word_index: WordIndex) -> None:
        self._words = word_index

    def ground(self, sentence: str, papers: Sequence[Paper]) -> Support:
        """Return the spans that support a sentence best, and the probability that they do."""
        judged = self.read(sentence, papers)
        if not judged:
            return Support(0.0, ())
        best = max(judged, key=lambda pair: pair[0].support)
        if best[0].support < THRESHOLD:
            best = judged[0]  # nothing supports it: what it comes nearest to tells why
        return _support(*best)

    def contradiction(self, sentence: str, papers: Sequence[Paper]) -> Support | None:
        """Return where one of the papers says the opposite of a sentence, if one clearly does."""
        clear = [
            (judgement, aligned)
            for judgement, aligned in self.read(sentence, papers)
            if judgement.contradiction >= CLEARLY and aligned.window.coverage >= SAME_THING
        ]
        return _support(*max(clear, key=lambda pair: pair[0].contradiction)) if clear else None

    def read(self, sentence: str, papers: Sequence[Paper]) -> list[tuple[Judgement, AlignedClaim]]:
        """Judge a sentence in the papers that cover it best, and in the best two passages.

        The one that covers it best comes first.
        """
        claim = encode_words(sentence)
        if not claim.words or not papers:
            return []
        read = self._words.of(papers)
        tokens = read_claim(sentence)
        sources = [
            read_source(tokens, claim, paper, read[paper.id])
            for paper in papers
            if paper.id in read
        ]
        found = align(sentence, tokens, sources)[:NUM_JUDGED]
        # A sentence may join what two papers say.
        if found and len(sources) > 1 and (both := join(found[0], sources)):
            found.append(both)
        return [(judge(aligned), aligned) for aligned in found]


def judge(aligned: AlignedClaim) -> Judgement:
    """Judge a claim; what says a sentence again word for word needs no weighing."""
    words = [token.word for token in aligned.tokens]
    if words == [token.word for token in aligned.window.tokens]:
        return Judgement(1.0, 0.0)
    return load_checker().judge(differences(aligned))


def _support(judgement: Judgement, aligned: AlignedClaim) -> Support:
    spans = tuple((source.paper, span) for source, span in tightened(aligned))
    return Support(judgement.support, spans, _verdict(judgement))


def _verdict(judgement: Judgement) -> Verdict:
    if judgement.support >= THRESHOLD:
        return "supported"
    against = judgement.contradiction / max(1 - judgement.support, 1e-9)
    return "contradicted" if against >= LIKELY else "not_mentioned"

"""Which words of the abstracts support a sentence, if any do, or contradict it.

A sentence is aligned with each of the papers that it may rest on, and with the best two passages
together. What differs is judged by the learnt checker: by words alone at first, and then, where the
reader is installed, by words and by what the reader makes of the sentence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from paper_qa.alignment import AlignedClaim, align, join, read_claim, read_source
from paper_qa.checker import THRESHOLD, Judgement, load_checker, load_reading_checker
from paper_qa.differences import differences
from paper_qa.domain import Paper, Span
from paper_qa.models import reader
from paper_qa.tightening import tightened
from paper_qa.word_index import PlacedWords, WordIndex, place_words

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
        found = self.read(sentence, papers)
        if not found:
            return Support(0.0, ())
        for _, aligned in sorted(found, key=lambda pair: -pair[0].support):
            judgement = judge(aligned)
            if judgement.support >= THRESHOLD:
                return _support(judgement, aligned)
        _, nearest = found[0]  # nothing supports it: what it comes nearest to tells why
        return _support(judge(nearest), nearest)

    def contradiction(self, sentence: str, papers: Sequence[Paper]) -> Support | None:
        """Return where one of the papers says the opposite of a sentence, if one clearly does."""
        return _contradiction(self._aligned(sentence, place_words(sentence), papers))

    def conflict(self, paper: Paper, span: Span, others: Sequence[Paper]) -> Support | None:
        """Return where another paper says the opposite of what this one says in its span."""
        quote = paper.abstract[span.start : span.end]
        words = self._words.of([paper])[paper.id].part(span)
        return _contradiction(self._aligned(quote, words, others))

    def read(self, sentence: str, papers: Sequence[Paper]) -> list[tuple[Judgement, AlignedClaim]]:
        """Judge a sentence by its words in the papers that cover it best, and in two together.

        The one that covers it best comes first.
        """
        found = self._aligned(sentence, place_words(sentence), papers)
        return [(judge_words(aligned), aligned) for aligned in found]

    def _aligned(
        self, sentence: str, words: PlacedWords, papers: Sequence[Paper]
    ) -> list[AlignedClaim]:
        if not len(words.starts) or not papers:
            return []
        read = self._words.of(papers)
        tokens = read_claim(sentence)
        sources = [
            read_source(tokens, words, paper, read[paper.id])
            for paper in papers
            if paper.id in read
        ]
        found = align(sentence, tokens, sources)[:NUM_JUDGED]
        # A sentence may join what two papers say.
        if found and len(sources) > 1 and (both := join(found[0], sources)):
            found.append(both)
        return found


def _contradiction(found: Sequence[AlignedClaim]) -> Support | None:
    """Return where a sentence is clearly contradicted by a paper that speaks of the same thing."""
    same = [aligned for aligned in found if aligned.window.coverage >= SAME_THING]
    judged = [(judge(aligned), aligned) for aligned in same]
    clear = [pair for pair in judged if pair[0].contradiction >= CLEARLY]
    return _support(*max(clear, key=lambda pair: pair[0].contradiction)) if clear else None


def judge(aligned: AlignedClaim) -> Judgement:
    """Judge a claim by its words and, where it is installed, by the reader."""
    if _is_copy(aligned) or not reader.is_installed():
        return judge_words(aligned)
    reading = reader.read(source_text(aligned), aligned.claim).astype(np.float64)
    return load_reading_checker().judge(differences(aligned), reading)


def judge_words(aligned: AlignedClaim) -> Judgement:
    """Judge a claim by its words; what says a sentence again word for word needs no weighing."""
    if _is_copy(aligned):
        return Judgement(1.0, 0.0)
    return load_checker().judge(differences(aligned))


def source_text(aligned: AlignedClaim) -> str:
    """Return the words of a claim's window; of one that lies in the title, the title."""
    spans = aligned.window.spans
    text = " ".join(source.paper.abstract[span.start : span.end] for source, span in spans)
    return text or aligned.sources[0].paper.title


def _is_copy(aligned: AlignedClaim) -> bool:
    words = [token.word for token in aligned.tokens]
    return words == [token.word for token in aligned.window.tokens]


def _support(judgement: Judgement, aligned: AlignedClaim) -> Support:
    spans = tuple((source.paper, span) for source, span in tightened(aligned))
    return Support(judgement.support, spans, _verdict(judgement))


def _verdict(judgement: Judgement) -> Verdict:
    if judgement.support >= THRESHOLD:
        return "supported"
    against = judgement.contradiction / max(1 - judgement.support, 1e-9)
    return "contradicted" if against >= LIKELY else "not_mentioned"

"""Which sentences of the retrieved papers bear on the question."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from pydantic import PrivateAttr

from paper_qa.domain import Evidence, ScoredPaper, Span
from paper_qa.injection import statements
from paper_qa.nodes import evidence_node, question_of, scored_paper
from paper_qa.questions import Question
from paper_qa.word_index import PlacedWords, QuestionWords, WordIndex

NUM_PAPERS_READ = {"answer": 3, "compare": 4}
LATER_BONUS = 0.2  # of the last sentence; abstracts set the scene first, then tell what was found
# Of the best paper's score, for a paper to be listed, or to be part of the summary of a topic.
MIN_SHARE = {"list": 0.55, "summary": 0.65}


class EvidenceSelector(BaseNodePostprocessor):
    """Turns retrieved papers into their sentences, each with its relevance to the question."""

    _words: WordIndex = PrivateAttr()

    def __init__(self, word_index: WordIndex, **fields: Any) -> None:
        super().__init__(**fields)
        self._words = word_index

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serialises this."""
        return "paper_qa_evidence"

    def select(self, question: Question, hits: Sequence[ScoredPaper]) -> list[Evidence]:
        """Return the sentences of the papers worth reading, in the papers' order and theirs."""
        chosen = papers_to_read(question, hits)
        words = self._words.of([hit.paper for hit in chosen])
        asked = self._words.read_question(question)
        return [
            evidence
            for hit in chosen
            if hit.paper.id in words
            for evidence in _sentences(hit, asked, words[hit.paper.id])
        ]

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            return nodes
        hits = [scored_paper(node) for node in nodes]
        return [evidence_node(item) for item in self.select(question_of(query_bundle), hits)]


def papers_to_read(question: Question, hits: Sequence[ScoredPaper]) -> Sequence[ScoredPaper]:
    """Return the papers that an answer may rest on: for lists and summaries, all that stand out.

    Where it is said how many at most, no more than that.
    """
    most = question.options.num_sources
    if question.paper_id:
        return [hit for hit in hits if hit.paper.id == question.paper_id]
    if not hits or question.kind in NUM_PAPERS_READ:
        return hits[: most or NUM_PAPERS_READ.get(question.kind, 0)]
    return [hit for hit in hits if hit.score >= MIN_SHARE[question.kind] * hits[0].score][:most]


def _sentences(hit: ScoredPaper, asked: QuestionWords, words: PlacedWords) -> list[Evidence]:
    abstract = hit.paper.abstract
    spans = statements(abstract)
    scores = relevance(asked, words, spans)
    return [
        Evidence(
            hit.paper.id,
            span.start,
            span.end,
            abstract[span.start : span.end],
            float(score) + LATER_BONUS * position / max(len(spans) - 1, 1),
        )
        for position, (span, score) in enumerate(zip(spans, scores, strict=True))
    ]


def relevance(
    asked: QuestionWords, words: PlacedWords, spans: Sequence[Span]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return how well each sentence matches the question's words, between 0 and 1 (MaxSim)."""
    scores = np.zeros(len(spans))
    total = asked.weights.sum()
    if not len(asked.vectors) or total <= 0:
        return scores
    similarity = asked.vectors @ words.vectors.T
    for number, span in enumerate(spans):
        inside = words.inside(span)
        if inside.any():
            scores[number] = asked.weights @ similarity[:, inside].max(axis=1) / total
    return scores

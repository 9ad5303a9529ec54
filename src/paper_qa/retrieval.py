"""Which papers bear on a question: three ways of looking, fused into one ranking.

Dense: the cosine of question and passage, found by Chroma. Keyword: BM25. Late interaction: word
against word, for the candidates that the other two bring. The scores of each, brought to between
0 and 1 over the candidates, are added with fixed weights (a convex combination: Bruch, Gai and
Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", 2023). To them comes the share of
the question's names ("D4RL", "PlanDQ") that a paper has: to the embedder they are word parts that
mean little. Ties are broken by id, so one library has one ranking.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import NodeWithScore, QueryBundle

from paper_qa.chunking import NUM_MARKS, paper_id_of
from paper_qa.domain import Paper, ScoredPaper
from paper_qa.embedding import embed_query, num_tokens
from paper_qa.indexing import Index
from paper_qa.late_interaction import max_sim
from paper_qa.library import Library
from paper_qa.nodes import paper_node, question_of
from paper_qa.questions import Question
from paper_qa.word_index import WordIndex

NUM_CANDIDATES = 100  # passages by their vector, papers by their words
NUM_READ = 64  # candidates that are compared word by word
NUM_PAPERS = 10
NUM_LISTED = 20
MIN_PARTS_OF_NAME = 3
DENSE_WEIGHT, KEYWORD_WEIGHT, LATE_WEIGHT = 0.3, 0.1, 0.6
NAMES_WEIGHT = 0.35  # of a query that has names

_LOOKS_LIKE_ID = re.compile(r"(?=\S*\d)\S{5,}")
# A figure among letters, or a capital after the first letter: W4A8, DPN, SlimPajama.
_WRITTEN_AS_NAME = re.compile(r"\b(?=\w*[^\W\d_])(?:\w*\d\w*|\w+[A-Z]\w*)\b")

Scores = Mapping[str, float]


def convex_fusion(parts: Sequence[tuple[float, Scores]]) -> dict[str, float]:
    """Add weighted scores, each part brought to between 0 and 1 over all candidates.

    A candidate that a part has no score for counts as that part's least.
    """
    fused: dict[str, float] = {key: 0.0 for _, scores in parts for key in scores}
    for weight, scores in parts:
        if not scores:
            continue
        # What a part did not find is no better than the worst that it did.
        low = min(scores.values()) if len(scores) == len(fused) else min(0.0, *scores.values())
        width = max(scores.values()) - low
        for key in fused:
            fused[key] += weight * ((scores.get(key, low) - low) / width if width > 0 else 1.0)
    return fused


class HybridRetriever(BaseRetriever):
    """Ranks the papers of a library, as a LlamaIndex retriever."""

    def __init__(
        self,
        library: Library,
        index: Index,
        embed_model: BaseEmbedding,
        word_index: WordIndex,
    ) -> None:
        super().__init__()
        self._library = library
        self._index = index
        self._embed_model = embed_model
        self._words = word_index

    def rank(self, question: Question, *, k: int | None = None) -> list[ScoredPaper]:
        """Return the ``k`` best papers, best first; before them one that was named."""
        if respelt := self._library.respelt(question.query, _is_name):
            question = replace(question, query=f"{question.query} {' '.join(respelt)}")
        text = f"{question.query}\n{question.background}" if question.background else question.query
        dense = self._dense(text)
        keyword = dict(self._library.keyword_search(text, NUM_CANDIDATES))
        wide = convex_fusion([(DENSE_WEIGHT, dense), (KEYWORD_WEIGHT, keyword)])
        candidates = _best(wide, NUM_READ)
        papers = {paper.id: paper for paper in self._library.papers([key for key, _ in candidates])}
        parts = [
            (DENSE_WEIGHT, _only(papers, dense)),
            (KEYWORD_WEIGHT, _only(papers, keyword)),
            (LATE_WEIGHT, self._late(question, list(papers.values()))),
        ]
        fused = convex_fusion(parts)
        if named := _only(papers, self._names(question.query)):
            fused = convex_fusion([(1 - NAMES_WEIGHT, fused), (NAMES_WEIGHT, named)])
        k = k or (NUM_LISTED if question.asks_for_papers else NUM_PAPERS)
        best = [ScoredPaper(papers[key], score) for key, score in _best(fused, k)]
        named = self._library.papers([question.paper_id])
        others = [hit for hit in best if hit.paper.id != question.paper_id]
        return [*(ScoredPaper(paper, 1.0) for paper in named), *others][:k]

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [paper_node(hit) for hit in self.rank(question_of(query_bundle))]

    def _dense(self, text: str) -> dict[str, float]:
        """Return the best cosine of the passages of each paper among the nearest passages."""
        vector = embed_query(self._embed_model, text)
        best: dict[str, float] = {}
        for passage_id, cosine in self._index.search(vector, NUM_CANDIDATES):
            best.setdefault(paper_id_of(passage_id), cosine)
        return best

    def resolve(self, question: Question) -> Question:
        """Look whether a summary is asked of one paper: by id, by title, or by its first part.

        Raises:
            UnknownPaperError: an id was meant, and is not quite right.
        """
        if question.kind != "summary":
            return question
        text = question.query
        name = text.strip(" \"'“”‘’").casefold()
        hits = [paper_id for paper_id, _ in self._library.keyword_search(text, NUM_PAPERS)]
        for paper in self._library.papers([text.strip(), text.strip().lower(), *hits]):
            title = paper.title.casefold()
            if name in {paper.id.casefold(), title, title.partition(":")[0].strip()}:
                return replace(question, query=paper.name, paper_id=paper.id)
        if _LOOKS_LIKE_ID.fullmatch(name) and self._library.ids_alike(name):
            self._library.paper(name)  # raises, and says which ones are alike
        return question

    def _names(self, query: str) -> dict[str, float]:
        """Return the share of the names in a query that each paper has, if any has one."""
        shares: dict[str, float] = {}
        found = {
            name: hits
            for name in dict.fromkeys(_WRITTEN_AS_NAME.findall(query))
            if num_tokens(name) - NUM_MARKS > 1  # the embedder knows words in capitals as words
            and (hits := self._library.keyword_search(name, NUM_CANDIDATES))
        }
        for hits in found.values():
            for paper_id, _ in hits:
                shares[paper_id] = shares.get(paper_id, 0.0) + 1 / len(found)
        return shares

    def _late(self, question: Question, papers: Sequence[Paper]) -> dict[str, float]:
        asked = self._words.read_question(question)
        return {
            paper_id: max_sim(asked.vectors, asked.weights, words.vectors)
            for paper_id, words in self._words.of(papers).items()
        }


def _is_name(word: str) -> bool:
    """Tell a name from an ordinary word: the embedder's vocabulary has none of its larger parts."""
    return num_tokens(word) - NUM_MARKS >= MIN_PARTS_OF_NAME


def _best(scores: Scores, k: int) -> list[tuple[str, float]]:
    rounded = ((key, round(score, 6)) for key, score in scores.items())
    return sorted(rounded, key=lambda item: (-item[1], item[0]))[:k]


def _only(keys: Collection[str], scores: Scores) -> Scores:
    return {key: score for key, score in scores.items() if key in keys}

"""Which papers bear on a question: three ways of looking, fused into one ranking.

Dense: the cosine of question and passage, found by Chroma. Keyword: BM25. Late interaction: word
against word, for the candidates that the other two bring. The scores of each, brought to between
0 and 1 over the candidates, are added with fixed weights (a convex combination: Bruch, Gai and
Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", 2023). To them comes the share of
the question's names ("D4RL", "PlanDQ") that a paper has: to the embedder they are word parts that
mean little. Ties are broken by id, so one library has one ranking.

Within a scope the ranking is that of the whole library without the other papers. Where it has too
few of them, the best others of the scope are looked for there, and weighed on the same scale.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import NodeWithScore, QueryBundle

from paper_qa.chunking import NUM_MARKS, paper_id_of
from paper_qa.domain import Paper, ScoredPaper
from paper_qa.embedding import embed_query, num_tokens
from paper_qa.followup import depends_on_history, with_name
from paper_qa.indexing import Index
from paper_qa.late_interaction import max_sim
from paper_qa.library import Library
from paper_qa.nodes import paper_node, question_of
from paper_qa.questions import Question
from paper_qa.word_index import WordIndex

NUM_CANDIDATES = 100  # passages by their vector, papers by their words
NUM_READ = 64  # candidates that are compared word by word; within a scope as many others
NUM_PAPERS = 10
NUM_LISTED = 20
MIN_PARTS_OF_NAME = 3
DENSE_WEIGHT, KEYWORD_WEIGHT, LATE_WEIGHT = 0.3, 0.1, 0.6
NAMES_WEIGHT = 0.35  # of a query that has names

_LOOKS_LIKE_ID = re.compile(r"(?=\S*\d)\S{5,}")
# A figure among letters, or a capital after the first letter: W4A8, DPN, SlimPajama.
_WRITTEN_AS_NAME = re.compile(r"\b(?=\w*[^\W\d_])(?:\w*\d\w*|\w+[A-Z]\w*)\b")

Scores = Mapping[str, float]


def convex_fusion(
    parts: Sequence[tuple[float, Scores]], scale: Collection[str] | None = None
) -> dict[str, float]:
    """Add weighted scores, each part brought to between 0 and 1 over all candidates.

    A candidate that a part has no score for counts as that part's least. With ``scale`` only these
    candidates set the scale, and others may be beyond it.
    """
    fused: dict[str, float] = {key: 0.0 for _, scores in parts for key in scores}
    levels = fused if scale is None else _only(fused, dict.fromkeys(scale, 0.0))
    for weight, scores in parts:
        known = [scores[key] for key in levels if key in scores]
        if not known:
            continue
        # What a part did not find is no better than the worst that it did.
        low = min(known) if len(known) == len(levels) else min(0.0, *known)
        width = max(known) - low
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
        """Return the ``k`` best papers in the question's scope, best first.

        Before them come those that were named. Scores are on the scale of the whole library: where
        none is high, a better paper is outside the scope.

        Raises:
            UnknownPaperError: the scope names a paper that is not in the library.
        """
        scope = question.options.scope
        admitted = None if scope.is_open else self._library.admitted(scope)
        named = [question.paper_id] if question.paper_id else self._compared(question)
        if admitted is not None and not admitted:
            return []
        k = k or _num_wanted(question)
        best = self._ranked(question, admitted, k)
        others = [hit for hit in best if hit.paper.id not in named]
        return [*(ScoredPaper(paper, 1.0) for paper in self._library.papers(named)), *others][:k]

    def _ranked(
        self, question: Question, admitted: Sequence[str] | None, k: int
    ) -> list[ScoredPaper]:
        if respelt := self._library.respelt(question.query, _is_name):
            question = replace(question, query=f"{question.query} {' '.join(respelt)}")
        found = self._candidates(question, admitted, k)
        papers = {paper.id: paper for paper in self._library.papers([*found.scale, *found.others])}
        scale = _only(papers, dict.fromkeys(found.scale, 0.0))
        parts = [
            (DENSE_WEIGHT, _only(papers, found.dense)),
            (KEYWORD_WEIGHT, _only(papers, found.keyword)),
            (LATE_WEIGHT, self._late(question, list(papers.values()))),
        ]
        fused = convex_fusion(parts, scale)
        if named := _only(papers, self._names(question.query, found.others)):
            fused = convex_fusion([(1 - NAMES_WEIGHT, fused), (NAMES_WEIGHT, named)], scale)
        inside = fused if admitted is None else _only(set(admitted), fused)
        return [
            ScoredPaper(papers[key], min(1.0, max(0.0, score))) for key, score in _best(inside, k)
        ]

    def _candidates(
        self, question: Question, admitted: Sequence[str] | None, k: int
    ) -> "_Candidates":
        """Return the papers worth comparing with the question word by word."""
        text = f"{question.query}\n{question.background}" if question.background else question.query
        vector = embed_query(self._embed_model, text)
        dense = _by_paper(self._index.search(vector, NUM_CANDIDATES))
        keyword = dict(self._library.keyword_search(text, NUM_CANDIDATES))
        wide = convex_fusion([(DENSE_WEIGHT, dense), (KEYWORD_WEIGHT, keyword)])
        found = _Candidates(dense, keyword, [key for key, _ in _best(wide, NUM_READ)])
        # Counted against the longest list, so that a shorter one is its beginning.
        if admitted is None or len({*found.scale} & {*admitted}) >= max(k, NUM_LISTED):
            return found
        # What the library's best are known by stays as it is, and with it their order.
        more = set(admitted) - set(found.scale)
        passages = self._index.search_within(vector, admitted, NUM_CANDIDATES)
        words = self._library.keyword_search(text, NUM_CANDIDATES, admitted)
        dense |= _only(more, _by_paper(passages))
        keyword |= _only(more, dict(words))
        if len(more) > NUM_READ:
            all_wide = convex_fusion([(DENSE_WEIGHT, dense), (KEYWORD_WEIGHT, keyword)], wide)
            more = dict(_best(_only(more, all_wide), NUM_READ))
        return _Candidates(dense, keyword, found.scale, sorted(more))

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [paper_node(hit) for hit in self.rank(question_of(query_bundle))]

    def resolve(self, question: Question) -> Question:
        """Look whether one paper is meant: the only one in scope, or one whose summary is asked.

        That is named by its id, its title, or the title's first part.

        Raises:
            UnknownPaperError: an id was meant, and is not quite right.
        """
        scope = question.options.scope
        if scope.only_paper_id and any(map(depends_on_history, (question.text, question.query))):
            return _about(self._library.paper(scope.only_paper_id), question)
        if question.kind != "summary":
            return question
        text = question.query
        name = text.strip(" \"'“”‘’").casefold()
        hits = [paper_id for paper_id, _ in self._library.keyword_search(text, NUM_PAPERS)]
        for paper in self._library.papers([text.strip(), text.strip().lower(), *hits]):
            title = paper.title.casefold()
            names = {paper.id.casefold(), title, title.partition(":")[0].strip()}
            if name in names and scope.admits(paper):
                return replace(question, query=paper.name, paper_id=paper.id)
        if _LOOKS_LIKE_ID.fullmatch(name) and self._library.ids_alike(name):
            self._library.paper(name)  # raises, and says which ones are alike
        return question

    def _compared(self, question: Question) -> list[str]:
        """Return the papers that a comparison names, by what their titles begin with (``Name: …``).

        As a whole the question may be much nearer to the other papers that it compares.
        """
        if question.kind != "compare":
            return []
        text = question.query.casefold()
        hits = [key for key, _ in self._library.keyword_search(text, NUM_CANDIDATES)]
        return [
            paper.id
            for paper in self._library.papers(hits)
            if (head := _head(paper)) and re.search(rf"\b{re.escape(head)}\b", text)
            if question.options.scope.admits(paper)
        ]

    def _names(self, query: str, others: Sequence[str]) -> dict[str, float]:
        """Return the share of the names in a query that each paper has, if any has one.

        Looked for in all papers, as far as the best hundred, and in those ``others``.
        """
        shares: dict[str, float] = {}
        found = {
            name: dict(hits)
            for name in dict.fromkeys(_WRITTEN_AS_NAME.findall(query))
            if num_tokens(name) - NUM_MARKS > 1  # the embedder knows words in capitals as words
            and (hits := self._library.keyword_search(name, NUM_CANDIDATES))
        }
        for name, hits in found.items():
            if others:
                hits |= dict(self._library.keyword_search(name, NUM_READ, others))
            for paper_id in hits:
                shares[paper_id] = shares.get(paper_id, 0.0) + 1 / len(found)
        return shares

    def _late(self, question: Question, papers: Sequence[Paper]) -> dict[str, float]:
        asked = self._words.read_question(question)
        return {
            paper_id: max_sim(asked.vectors, asked.weights, words.vectors)
            for paper_id, words in self._words.of(papers).items()
        }


@dataclass(frozen=True, slots=True)
class _Candidates:
    """What two searches found, and the papers that late interaction is to compare.

    ``scale`` are the best of the library, ``others`` those of a scope that are not among them: all
    of a small one, else its best.
    """

    dense: Scores
    keyword: Scores
    scale: Sequence[str]
    others: Sequence[str] = ()


def _num_wanted(question: Question) -> int:
    usual = NUM_LISTED if question.asks_for_papers else NUM_PAPERS
    return max(usual, question.options.num_sources or 0)


def _by_paper(hits: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Return the best cosine of the passages of each paper; passages come best first."""
    best: dict[str, float] = {}
    for passage_id, cosine in hits:
        best.setdefault(paper_id_of(passage_id), cosine)
    return best


def _head(paper: Paper) -> str:
    """Return the name that a title begins with; '' if there is none but ordinary words."""
    head, colon, _ = paper.title.casefold().partition(":")
    return head.strip() if colon and num_tokens(head) - NUM_MARKS > 1 else ""


def _about(paper: Paper, question: Question) -> Question:
    """Return a question that points to a paper ("it", "the paper") with its name."""
    if question.kind == "summary":
        return replace(question, query=paper.name, paper_id=paper.id)
    head = paper.name.partition(":")[0].strip()
    name = head if num_tokens(head) - NUM_MARKS > 1 else paper.name  # "Position" names nothing
    query = question.query
    return question if name in query else replace(question, query=with_name(query, name))


def _is_name(word: str) -> bool:
    """Tell a name from an ordinary word: the embedder's vocabulary has none of its larger parts."""
    return num_tokens(word) - NUM_MARKS >= MIN_PARTS_OF_NAME


def _best(scores: Scores, k: int) -> list[tuple[str, float]]:
    rounded = ((key, round(score, 6)) for key, score in scores.items())
    return sorted(rounded, key=lambda item: (-item[1], item[0]))[:k]


def _only(keys: Collection[str], scores: Scores) -> Scores:
    return {key: score for key, score in scores.items() if key in keys}

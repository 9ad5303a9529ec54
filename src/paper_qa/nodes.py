"""Papers and evidence as LlamaIndex nodes, and back.

A node's metadata is for programs; none of it goes into an embedding or a prompt, where LlamaIndex
would put all of it by default.
"""

from dataclasses import asdict
from typing import Any

from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from paper_qa.domain import Evidence, Paper, ScoredPaper
from paper_qa.questions import Question, understand


class QuestionBundle(QueryBundle):
    """A LlamaIndex query that carries the question as it was understood."""

    def __init__(self, question: Question) -> None:
        super().__init__(query_str=question.query)
        self.question = question


def question_of(bundle: QueryBundle) -> Question:
    """Return the question in a query, which may come from another LlamaIndex program."""
    return bundle.question if isinstance(bundle, QuestionBundle) else understand(bundle.query_str)


def paper_node(hit: ScoredPaper) -> NodeWithScore:
    """Put a paper into a node: its abstract is the text."""
    metadata = asdict(hit.paper)
    del metadata["abstract"], metadata["found_in"]
    metadata["authors"] = list(hit.paper.authors)
    return NodeWithScore(node=_node(hit.paper.id, hit.paper.abstract, metadata), score=hit.score)


def scored_paper(item: NodeWithScore) -> ScoredPaper:
    """Take a paper out of its node."""
    metadata = dict(item.node.metadata)
    authors = tuple(metadata.pop("authors"))
    paper = Paper(abstract=item.node.get_content(), authors=authors, **metadata)
    return ScoredPaper(paper, item.score or 0.0)


def evidence_node(evidence: Evidence) -> NodeWithScore:
    """Put a sentence of an abstract into a node."""
    metadata = {
        "paper_id": evidence.paper_id,
        "start": evidence.start,
        "end": evidence.end,
    }
    node_id = f"{evidence.paper_id}:{evidence.start}-{evidence.end}"
    return NodeWithScore(node=_node(node_id, evidence.text, metadata), score=evidence.score)


def evidence_of(item: NodeWithScore) -> Evidence:
    """Take a sentence of an abstract out of its node."""
    return Evidence(text=item.node.get_content(), score=item.score or 0.0, **item.node.metadata)


def _node(node_id: str, text: str, metadata: dict[str, Any]) -> TextNode:
    names = list(metadata)
    return TextNode(
        id_=node_id,
        text=text,
        metadata=metadata,
        excluded_embed_metadata_keys=names,
        excluded_llm_metadata_keys=names,
    )

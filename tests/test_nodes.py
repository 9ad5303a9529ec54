from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle

from paper_qa.domain import Evidence, Paper, ScoredPaper, Turn
from paper_qa.errors import PaperQAError
from paper_qa.nodes import (
    QuestionBundle,
    evidence_node,
    evidence_of,
    paper_node,
    question_of,
    scored_paper,
)
from paper_qa.questions import understand
from papers import make_paper

WORDS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30)


@settings(deadline=None)
@given(
    st.builds(
        Paper,
        id=WORDS,
        title=WORDS,
        abstract=WORDS,
        authors=st.lists(WORDS).map(tuple),
        year=st.none() | st.integers(),
        venue=WORDS,
        url=WORDS,
        retracted=st.booleans(),
        found_in=st.just(()),
    ),
    st.floats(min_value=0, max_value=1),
)
def test_a_paper_comes_back_out_of_its_node(paper: Paper, score: float):
    assert scored_paper(paper_node(ScoredPaper(paper, score))) == ScoredPaper(paper, score)


@settings(deadline=None)
@given(st.builds(Evidence, WORDS, st.integers(), st.integers(), WORDS, st.floats(0, 1)))
def test_a_sentence_comes_back_out_of_its_node(evidence: Evidence):
    assert evidence_of(evidence_node(evidence)) == evidence


@pytest.mark.parametrize(
    "node",
    [
        paper_node(ScoredPaper(make_paper(1), 0.5)),
        evidence_node(Evidence("m1", 0, 5, "Words", 0.5)),
    ],
    ids=["paper", "evidence"],
)
@pytest.mark.parametrize("mode", list(MetadataMode))
def test_only_the_words_of_the_abstract_go_into_embeddings_and_prompts(
    node: NodeWithScore, mode: MetadataMode
):
    if mode != MetadataMode.ALL:
        assert node.node.get_content(mode) == node.text


def test_a_retracted_paper_stays_one():
    retracted = replace(make_paper(1), retracted=True)

    assert scored_paper(paper_node(ScoredPaper(retracted, 0.5))).paper.retracted


def test_a_question_travels_with_its_query():
    question = understand("And how fast is it?", [Turn("user", "What is PlanDQ?")])

    bundle = QuestionBundle(question)

    assert question_of(bundle) is question
    assert bundle.query_str == question.query


def test_a_query_of_another_program_is_read_as_a_question():
    assert question_of(QueryBundle("Which papers use graphs?")).kind == "list"
    with pytest.raises(PaperQAError, match="empty"):
        question_of(QueryBundle(" "))

import pytest
from llama_index.core.schema import QueryBundle

from paper_qa.domain import Evidence, Paper, ScoredPaper
from paper_qa.evidence import papers_to_read
from paper_qa.nodes import QuestionBundle, evidence_of, paper_node
from paper_qa.questions import understand
from paper_qa.sentences import split_sentences
from seeds import MOMENTOR, Parts, questions, seed_papers

pytest_plugins = ["seed_library"]


def hits(*scores: float) -> list[ScoredPaper]:
    papers = list(seed_papers().values())
    return [ScoredPaper(paper, score) for paper, score in zip(papers, scores, strict=False)]


def selected(parts: Parts, question: str) -> list[Evidence]:
    understood = understand(question)
    return parts.selector.select(understood, parts.retriever.rank(understood))


@pytest.mark.parametrize(
    "question",
    [MOMENTOR, "Which papers use diffusion models?", "Compare PlanDQ and Momentor.", "fairness"],
)
def test_evidence_is_the_sentences_of_the_papers_in_their_order(seed_parts: Parts, question: str):
    evidence = selected(seed_parts, question)

    order = [hit.paper.id for hit in seed_parts.retriever.rank(understand(question))]
    read = list(dict.fromkeys(item.paper_id for item in evidence))
    assert read == order[: len(read)]
    for paper_id in read:
        abstract = seed_papers()[paper_id].abstract
        spans = [(item.start, item.end) for item in evidence if item.paper_id == paper_id]
        assert spans == [(span.start, span.end) for span in split_sentences(abstract)]
    assert all(
        item.text == seed_papers()[item.paper_id].abstract[item.start : item.end]
        for item in evidence
    )


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (MOMENTOR, "automatic data generation engine"),
        ("On which long-horizon tasks was PlanDQ tested?", "D4RL"),
        ("Under which law does Percept-Annon measure privacy?", "GDPR"),
    ],
)
def test_the_sentence_that_answers_is_among_the_best(seed_parts: Parts, question: str, words: str):
    evidence = selected(seed_parts, question)

    best = sorted(
        (item for item in evidence if item.paper_id == evidence[0].paper_id),
        key=lambda item: -item.score,
    )
    assert any(words in item.text for item in best[:4])


def test_most_facts_stand_in_sentences_that_rank_high(seed_parts: Parts):
    """Of the judged quotes of single-paper questions: nearly all among the six best sentences."""
    places = []
    for item in [item for item in questions() if item.type == "fact"][:12]:
        (paper_id, *_) = item.gold
        paper = seed_papers()[paper_id]
        evidence = seed_parts.selector.select(understand(item.question), [ScoredPaper(paper, 1.0)])
        ranked = sorted(evidence, key=lambda item: -item.score)
        for quote in item.quote:
            start = paper.abstract.index(quote)
            places.append(next(rank for rank, e in enumerate(ranked) if e.start <= start < e.end))

    assert sum(place < 6 for place in places) >= 0.8 * len(places)


@pytest.mark.parametrize(("kind", "most"), [("What is it?", 4), ("Compare two papers.", 6)])
def test_only_the_few_best_papers_are_read_for_an_answer(kind: str, most: int):
    found = papers_to_read(understand(kind), hits(1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1))

    assert 2 <= len(found) <= most
    assert [hit.score for hit in found] == [1.0, 0.9, 0.8, 0.7, 0.6, 0.5][: len(found)]


@pytest.mark.parametrize("question", ["Which papers study graphs?", "Summarize graphs"])
def test_for_lists_and_summaries_all_that_stand_out_are_read(question: str):
    found = papers_to_read(understand(question), hits(*[1.0] * 15, 0.01, 0.001))

    assert len(found) == 15


@pytest.mark.parametrize(
    "question", ["What is it?", "Which papers?", "Compare both papers.", "Summarize it"]
)
def test_nothing_found_is_nothing_to_read(seed_parts: Parts, question: str):
    assert list(papers_to_read(understand(question), [])) == []
    assert seed_parts.selector.select(understand(question), []) == []


def test_a_paper_without_an_abstract_has_no_evidence(seed_parts: Parts):
    hit = ScoredPaper(Paper("x", "Only a title", ""), 1.0)

    assert seed_parts.selector.select(understand(MOMENTOR), [hit]) == []


def test_a_question_without_words_that_carry_meaning_still_has_its_evidence(seed_parts: Parts):
    evidence = seed_parts.selector.select(understand("what is it?"), hits(1.0))

    assert len(evidence) == 6


def test_a_sentence_without_words_that_carry_meaning_is_the_least(seed_parts: Parts):
    paper = Paper("x", "", "It is so. Momentor gets its training data from an engine. So it is.")

    evidence = seed_parts.selector.select(understand(MOMENTOR), [ScoredPaper(paper, 1.0)])

    assert [item.text for item in evidence] == [
        "It is so.",
        "Momentor gets its training data from an engine.",
        "So it is.",
    ]
    assert max(evidence, key=lambda item: item.score) is evidence[1]


def test_the_selector_sits_in_the_seat_of_llama_index(seed_parts: Parts):
    found = seed_parts.retriever.rank(understand(MOMENTOR))
    nodes = [paper_node(hit) for hit in found]
    expected = [(item.paper_id, item.start, item.text) for item in selected(seed_parts, MOMENTOR)]

    for bundle in (QueryBundle(MOMENTOR), QuestionBundle(understand(MOMENTOR))):
        made = [
            evidence_of(node)
            for node in seed_parts.selector.postprocess_nodes(nodes, query_bundle=bundle)
        ]
        assert [(item.paper_id, item.start, item.text) for item in made] == expected
    assert seed_parts.selector.postprocess_nodes(nodes) == nodes
    assert seed_parts.selector.class_name()

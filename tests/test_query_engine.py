import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from llama_index.core import Settings as LlamaIndexSettings
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RouterQueryEngine
from llama_index.core.schema import QueryBundle
from llama_index.core.selectors import LLMSingleSelector
from llama_index.core.tools import QueryEngineTool
from llama_index.vector_stores.chroma import ChromaVectorStore

from contract import assert_is_json_of_the_schema
from fakes import HashedEmbedding, ScriptedLLM
from paper_qa.domain import Answer, Claim, Sources, Stage
from paper_qa.embedding import OnnxEmbedding
from paper_qa.errors import PaperQAError
from paper_qa.qa import PaperQA
from paper_qa.vectors import VectorIndex
from papers import make_papers
from seeds import MOMENTOR, seed_papers

pytest_plugins = ["seed_library"]

ENGINE = "automatic data generation engine"
Opener = Callable[..., PaperQA]


@pytest.fixture
def engine(seed_qa: PaperQA) -> BaseQueryEngine:
    return seed_qa.as_query_engine()


def as_tool(engine: BaseQueryEngine) -> QueryEngineTool:
    return QueryEngineTool.from_defaults(
        engine, name="papers", description="Answers questions about papers"
    )


def test_a_question_is_a_query(engine: BaseQueryEngine, seed_qa: PaperQA):
    response = engine.query(MOMENTOR)

    answer = seed_qa.ask(MOMENTOR)
    assert str(response) == answer.text
    assert response.metadata["answer"]["references"] == answer.to_dict()["references"]
    assert asyncio.run(engine.aquery(MOMENTOR)).response == answer.text
    assert engine.query(QueryBundle(MOMENTOR)).response == answer.text


def test_the_sources_of_a_response_are_sentences_and_papers(engine: BaseQueryEngine):
    nodes = engine.query(MOMENTOR).source_nodes

    sentences = [node for node in nodes if "start" in node.metadata]
    papers = [node for node in nodes if "title" in node.metadata]
    assert sentences[0].metadata["paper_id"] == papers[0].node_id == "qian24a"
    for node in sentences:
        abstract = seed_papers()[node.metadata["paper_id"]].abstract
        assert node.text == abstract[node.metadata["start"] : node.metadata["end"]]


def test_the_kind_of_a_question_is_seen_in_a_query_too(engine: BaseQueryEngine):
    lines = str(engine.query("Which papers are about spiking neurons?")).splitlines()

    assert len(lines) >= 2
    assert all(line.startswith("- ") for line in lines)


def test_it_works_inside_a_running_loop(engine: BaseQueryEngine):
    async def query() -> str:
        return str(engine.query(MOMENTOR))

    assert ENGINE in asyncio.run(query())


def test_a_query_that_asks_nothing_is_an_error_of_ours(engine: BaseQueryEngine):
    with pytest.raises(PaperQAError, match="empty"):
        engine.query("  ")


def test_another_program_can_use_it_as_a_tool(engine: BaseQueryEngine):
    tool = as_tool(engine)

    output = tool.call(MOMENTOR)
    asynchronous = asyncio.run(tool.acall(input=MOMENTOR))

    assert ENGINE in output.content
    assert asynchronous.content == output.content
    assert output.raw_output.metadata["answer"]["claims"]


def test_a_router_can_send_questions_to_it(engine: BaseQueryEngine):
    choice = ScriptedLLM('[{"choice": 1, "reason": "It is about papers."}]')
    router = RouterQueryEngine(
        LLMSingleSelector.from_defaults(llm=choice), [as_tool(engine)], llm=MockLLM()
    )

    assert ENGINE in str(router.query(MOMENTOR))


def test_the_index_of_llama_index_can_query_our_collection(copied_home: Path):
    (directory,) = (copied_home / "index").iterdir()
    opened = VectorIndex.open(directory)
    index = VectorStoreIndex.from_vector_store(
        ChromaVectorStore(chroma_collection=opened._get()), embed_model=OnnxEmbedding()
    )

    response = index.as_query_engine(llm=MockLLM(), similarity_top_k=3).query(MOMENTOR)
    opened.close()

    first = response.source_nodes[0]
    assert first.metadata["paper_id"] == "qian24a"
    assert ENGINE in first.get_content()


def test_any_llm_of_llama_index_can_write(open_qa: Opener):
    llm = ScriptedLLM(
        "Momentor is a Video-LLM for fine-", "grained temporal understanding. A", "h."
    )

    answer = open_qa(llm=llm).ask(MOMENTOR)

    assert answer.model == "scripted"
    assert answer.claims[0].text.startswith("Momentor is a Video-LLM")
    assert answer.usage.llm_calls == 1
    assert "we design an automatic data generation engine to construct Moment-10M" in llm.prompts[0]


@pytest.mark.parametrize("error", [RuntimeError("out of memory"), KeyError("choices"), OSError(5)])
def test_when_any_llm_fails_there_are_the_key_passages_and_one_line(
    open_qa: Opener, seed_qa: PaperQA, error: Exception
):
    llm = ScriptedLLM("Momentor is", error=error)

    answer = open_qa(llm=llm).ask(MOMENTOR)

    assert answer.claims == seed_qa.ask(MOMENTOR).claims
    assert len(answer.notes) == 1


def test_any_embedding_of_llama_index_can_be_used(open_qa: Opener, tmp_path: Path):
    model = HashedEmbedding()
    qa = open_qa(home=tmp_path / "hashed", embed_model=model)
    qa.remove(*(paper.id for paper in qa.papers()))
    qa.add(make_papers(6))

    assert qa.search("marker3 segmentation", k=1)[0].paper.id == "m3"
    assert_is_json_of_the_schema(qa.ask("What is studied with marker3?"))


def test_a_library_made_with_one_embedding_refuses_another(open_qa: Opener):
    qa = open_qa(embed_model=HashedEmbedding())

    with pytest.raises(PaperQAError, match="paper-qa index --rebuild"):
        qa.ask(MOMENTOR)


def test_the_process_wide_settings_of_llama_index_are_left_alone(
    open_qa: Opener, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-fake")
    qa = open_qa(llm=ScriptedLLM("Momentor is a Video-LLM."))

    qa.ask(MOMENTOR)
    qa.summarize("qian24a")
    qa.as_query_engine().query(MOMENTOR)

    assert LlamaIndexSettings._llm is None
    assert LlamaIndexSettings._embed_model is None


def test_events_say_what_is_going_on_before_the_answer(seed_qa: PaperQA):
    async def read() -> list[object]:
        return [event async for event in seed_qa.as_query_engine().aevents(MOMENTOR)]

    events = asyncio.run(read())

    assert events[0] == Stage("Searching")
    sources = events[1]
    assert isinstance(sources, Sources)
    assert sources.papers[0].paper.id == sources.evidence[0].paper_id == "qian24a"
    assert isinstance(events[2], Stage)
    assert all(isinstance(event, Claim) for event in events[3:-1])
    assert isinstance(events[-1], Answer)


def test_how_many_papers_are_read_is_said_in_words(open_qa: Opener, tmp_path: Path):
    qa = open_qa(home=tmp_path / "home", embed_model=HashedEmbedding())
    qa.remove(*(paper.id for paper in qa.papers()))
    qa.add(make_papers(1))

    stages = [event.text for event in qa.stream("What is it?") if isinstance(event, Stage)]

    assert stages == ["Searching", "Reading 1 paper"]

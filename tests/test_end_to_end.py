import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

import pytest

from contract import assert_keeps_the_contract
from openai_replies import Reply
from openai_server import OpenAIServer
from paper_qa.computed import understand_request
from paper_qa.domain import Answer
from paper_qa.evaluation.facts import num_facts_stated
from paper_qa.llm.openai_compatible import OpenAICompatibleLLM
from paper_qa.qa import PaperQA
from paper_qa.questions import understand
from seeds import MOMENTOR, all_questions, cited, questions, seed_papers

pytest_plugins = ["seed_library"]

# Run by a Python of its own, in which nothing can reach the network.
OFFLINE = """
import json, sys

tried = []

def refuse(event, arguments):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"}:
        tried.append(f"{event} {arguments[1:]}")
        raise ConnectionRefusedError("no network in this test")

sys.addaudithook(refuse)

from llama_index.core import Settings
from paper_qa import Paper, PaperQA

qa = PaperQA()
rails = Paper("rails", "On rails", "Trains run on rails of steel. We find sleepers below them.")
texts = [
    qa.ask("How does Momentor get its training data?").text,
    qa.summarize("qian24a").text,
    list(qa.stream("Which papers are about spiking neurons?"))[-1].text,
    str(qa.as_query_engine().query("Compare the two papers on deep equilibrium models.")),
    qa.search("differential privacy")[0].paper.id,
]
qa.add([rails])
texts.append(qa.ask("What do trains run on?").text)
qa.remove("rails")
print(json.dumps({
    "tried": tried,
    "texts": texts,
    "model": qa.model_name,
    "untouched": Settings._llm is None and Settings._embed_model is None,
}))
"""


def of_kind(kind: str) -> list[str]:
    return [key for key, item in all_questions().items() if understand(item.question).kind == kind]


# Extraction


@pytest.mark.parametrize(
    "key", [key for key, item in all_questions().items() if not understand_request(item.question)]
)
def test_an_extracted_answer_keeps_the_contract(seed_answers: Mapping[str, Answer], key: str):
    answer = seed_answers[key]

    assert_keeps_the_contract(answer, seed_papers())
    assert len(answer.retrieved) == 10
    assert answer.model == "extractive"
    assert answer.usage.llm_calls == 0
    assert answer.abstained or any("extraction" in note for note in answer.notes)
    for claim in answer.claims:
        (citation,) = claim.citations
        assert f"“{citation.quote.removesuffix('.')}”" in claim.text
        assert (claim.support, claim.score) == ("supported", 1.0)


@pytest.mark.parametrize("key", [key for key in of_kind("list") if all_questions()[key].gold])
def test_a_list_has_a_line_and_a_citation_for_each(seed_answers: Mapping[str, Answer], key: str):
    answer = seed_answers[key]

    assert not answer.abstained
    lines = answer.text.splitlines()
    assert len(lines) == len(answer.claims) == len(answer.references)
    for line, claim, reference in zip(lines, answer.claims, answer.references, strict=True):
        assert line.startswith(f"- {reference.title} (")
        assert line.endswith(f"[{reference.number}].")
        assert cited(claim) == [reference.paper_id]


@pytest.mark.parametrize("key", [key for key in of_kind("compare") if "compare" in key])
def test_a_comparison_cites_both_sides(seed_answers: Mapping[str, Answer], key: str):
    assert len(cited(*seed_answers[key].claims)) == 2


def test_answers_are_short(seed_answers: Mapping[str, Answer]):
    answers = [seed_answers[key] for key in of_kind("answer")]

    assert max(len(answer.claims) for answer in answers) <= 5
    assert max(len(answer.text.split()) for answer in answers) <= 250
    assert not any("\n" in answer.text for answer in answers)


def test_questions_in_other_scripts_are_declined_for_it(seed_answers: Mapping[str, Answer]):
    foreign = [item for item in questions() if item.lang in {"zh", "ja"}]

    assert {seed_answers[item.id].abstain_reason for item in foreign} == {"language"}


def test_questions_in_other_languages_are_declined_or_said_to_be(
    seed_answers: Mapping[str, Answer],
):
    for item in all_questions().values():
        answer = seed_answers[item.id]
        is_said = answer.abstain_reason == "language" or any("English" in n for n in answer.notes)
        assert is_said == (item.lang != "en"), item.question


def test_most_answerable_questions_are_answered_from_the_right_papers(
    seed_answers: Mapping[str, Answer],
):
    judged = [item for item in all_questions().values() if item.gold and item.lang == "en"]
    hit = [item for item in judged if set(cited(*seed_answers[item.id].claims)) & set(item.gold)]

    assert len(hit) >= 0.75 * len(judged)


# Summaries


@pytest.mark.parametrize("paper_id", seed_papers())
def test_every_seed_is_summarised_in_a_few_cited_sentences(
    seed_summaries: Mapping[str, Answer], paper_id: str
):
    answer = seed_summaries[paper_id]

    assert_keeps_the_contract(answer, seed_papers())
    assert 2 <= len(answer.claims) <= 4
    assert cited(*answer.claims) == [paper_id]


def test_summaries_state_much_of_what_is_asked_about_their_papers(
    seed_summaries: Mapping[str, Answer],
):
    asked = [item for item in questions() if len(item.gold) == 1 and item.type == "fact"]

    stated = sum(num_facts_stated(seed_summaries[item.gold[0]].text, item.facts) for item in asked)

    assert stated >= 0.5 * sum(len(item.facts) for item in asked)


# A model that writes anything


def test_whatever_a_model_writes_the_answer_keeps_the_contract(
    open_qa: Callable[..., PaperQA],
):
    random = Random(7)
    sentences = [
        "Momentor is a Video-LLM for fine-grained temporal understanding tasks",
        "An automatic data generation engine constructs Moment-10M",
        "We train Momentor on Moment-10M, enabling segment-level reasoning and localization",
        "The Eiffel Tower was painted blue in 1931",
        "Many efforts transfer these attributes to video modality, e.g. Video-LLMs",
    ]
    between = [
        *(" [1].", " [2][1]. ", ".\n- ", "?\n\n", " [7, 12]! ", "... ", ". 1. ", "\n10) ", " (3)."),
        *(" $x[1]$. ", " [0, 1]. ", " **", " “", "” ", " 好。", " [1", "] ", " \\( a. B", " $5. "),
    ]
    with OpenAIServer() as server:
        llm = OpenAICompatibleLLM(base_url=server.base_url, model="m", timeout=5)
        qa = open_qa(llm=llm)
        for _ in range(12):
            parts = [random.choice(sentences) + random.choice(between) for _ in range(6)]
            server.script(Reply("".join(parts)))
            answer = qa.ask(MOMENTOR)
            assert_keeps_the_contract(answer, seed_papers())


# Privacy


def test_nothing_leaves_the_machine_with_nothing_configured(copied_home: Path):
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PAPER_QA_")
    }
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE],
        env=environment | {"OPENAI_API_KEY": "sk-fake", "PAPER_QA_HOME": str(copied_home)},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr

    said = json.loads(done.stdout)
    data, summary, spiking, equilibrium, private, rails = said["texts"]
    assert said["tried"] == []
    assert said["model"] == "extractive"
    assert said["untouched"]
    assert "automatic data generation engine" in data
    assert "Momentor" in summary
    assert len(spiking.splitlines()) >= 2
    assert "[2]" in equilibrium
    assert private in seed_papers()
    assert "“Trains run on rails of steel” [1]" in rails
    assert done.stderr == ""

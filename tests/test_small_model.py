"""Answers by a model that reads little at once, as the one that runs on this machine."""

from collections.abc import Callable, Iterator

import pytest

from contract import assert_keeps_the_contract
from openai_replies import Reply
from openai_server import OpenAIServer
from paper_qa.domain import Answer, Claim, KeyPassages, Paper
from paper_qa.llm.openai_compatible import OpenAICompatibleLLM
from paper_qa.prompts import CUE, EXAMPLE, SYSTEM_BRIEF, brief_beginning, brief_messages
from paper_qa.qa import PaperQA
from paper_qa.questions import understand
from seeds import MOMENTOR, seed_papers

pytest_plugins = ["seed_library"]

GOOD = "Momentor is a Video-LLM for fine-grained temporal understanding tasks."
BETTER = "An automatic data generation engine constructs Moment-10M."
Opener = Callable[..., PaperQA]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(default=f"{GOOD} {BETTER}") as server:
        yield server


@pytest.fixture
def qa(open_qa: Opener, server: OpenAIServer) -> PaperQA:
    return open_qa(
        llm=OpenAICompatibleLLM(base_url=server.base_url, model="m", context_window=4096)
    )


def ask(qa: PaperQA, question: str = MOMENTOR) -> Answer:
    answer = qa.ask(question)
    assert_keeps_the_contract(answer, seed_papers())
    return answer


def key_passages(qa: PaperQA) -> tuple[Claim, ...]:
    (event,) = [event for event in qa.stream(MOMENTOR) if isinstance(event, KeyPassages)]
    return event.passages


def quoted(answer: Answer) -> list[str]:
    return [claim.text for claim in answer.claims if "“" in claim.text]


def test_it_is_shown_key_passages_and_not_whole_abstracts(server: OpenAIServer, qa: PaperQA):
    ask(qa)

    system, question, reply, asked = server.chats[-1].body["messages"]
    assert system["content"] == SYSTEM_BRIEF
    assert (question["content"], reply["content"]) == EXAMPLE
    assert asked["content"].startswith(f"Question: {MOMENTOR}")
    assert asked["content"].endswith(CUE)
    assert len(asked["content"].split()) < 200
    for passage in key_passages(qa):
        assert passage.citations[0].quote in asked["content"]


def test_what_comes_first_is_what_is_read_ahead(qa: PaperQA, server: OpenAIServer):
    ask(qa)

    sent = [(item["role"], item["content"]) for item in server.chats[-1].body["messages"]]
    assert sent[: len(brief_beginning())] == brief_beginning()


def test_key_passages_come_before_anything_is_written(qa: PaperQA):
    kinds = [type(event).__name__ for event in qa.stream(MOMENTOR)]

    assert kinds.index("Sources") < kinds.index("KeyPassages") < kinds.index("Claim")
    assert all("“" in claim.text for claim in key_passages(qa))


def test_what_it_leaves_out_is_completed_with_key_passages(qa: PaperQA, server: OpenAIServer):
    server.script(GOOD)
    answer = ask(qa)

    assert answer.claims[0].text == GOOD.rstrip(".")
    assert len(quoted(answer)) == 1
    assert answer.model == "m"


def test_what_it_has_covered_is_not_quoted_as_well(qa: PaperQA, server: OpenAIServer):
    covered = " ".join(claim.citations[0].quote for claim in key_passages(qa))
    server.script(covered)

    assert quoted(ask(qa)) == []


def test_what_it_has_hardly_touched_is_completed_too(qa: PaperQA, server: OpenAIServer):
    *_, last = key_passages(qa)
    touched = " ".join(last.citations[0].quote.split()[:5])
    server.script(f"{GOOD} {touched}.")

    assert len(quoted(ask(qa))) == 1


def test_what_it_copied_is_said_of_the_authors(qa: PaperQA, server: OpenAIServer):
    server.script(
        "We propose Momentor, a Video-LLM for fine-grained temporal understanding. "
        "We train Momentor on Moment-10M."
    )

    first, second, *_ = (claim.text for claim in ask(qa).claims)
    assert first.startswith("Qian et al. propose Momentor")
    assert second.startswith("The authors train Momentor")


@pytest.mark.parametrize(
    "echo",
    [
        "Momentor: Advancing Video Large Language Model with Fine-Grained Temporal Reasoning.",
        "Advancing video large language model with fine-grained temporal reasoning.",
    ],
)
def test_the_title_is_no_sentence_of_the_answer(qa: PaperQA, server: OpenAIServer, echo: str):
    server.script(f"{echo} {GOOD} {BETTER}")

    answer = ask(qa)
    assert [claim.text for claim in answer.claims][:2] == [GOOD[:-1], BETTER[:-1]]
    assert answer.withheld == ()


def test_a_larger_model_is_not_completed(open_qa: Opener, server: OpenAIServer):
    server.script(GOOD)
    large = OpenAICompatibleLLM(base_url=server.base_url, model="m")

    assert quoted(ask(open_qa(llm=large))) == []


@pytest.mark.parametrize(
    "question", ["Which papers are about spiking neurons?", "Summarize offline RL"]
)
def test_many_papers_are_listed_without_it(qa: PaperQA, server: OpenAIServer, question: str):
    answer = ask(qa, question)

    assert server.chats == []
    assert answer.model == "extractive"
    assert "listed by extraction" in answer.notes[0]


def paper(number: int, *sentences: str) -> Paper:
    return Paper(f"p{number}", f"Title {number}", " ".join(sentences))


PAPERS = [
    paper(1, "One is about planning here.", "Two is about rewards there.", "Three has 12 tasks."),
    paper(2, "Four is another thing.", "Five says what comes out."),
]


def test_a_follow_up_is_asked_as_it_stands_alone():
    question = understand("And then?")
    shown = [(PAPERS[0], ["One.", "Two\nlines."]), (PAPERS[1], ["Three."])]
    (*_, (role, asked)) = brief_messages(question, shown)

    passages = "[1] Title 1\n1. One.\n2. Two lines.\n[2] Title 2\n3. Three."
    assert role == "user"
    assert asked == f"Question: And then?\n\nPassages:\n{passages}\n\n{CUE}"


def test_a_sentence_that_the_limit_cut_off_is_left_out(qa: PaperQA, server: OpenAIServer):
    server.script(Reply(f"{GOOD} {BETTER.rstrip('.')[:-12]}", finish_reason="length"))
    answer = ask(qa)

    assert [claim.text for claim in answer.claims if "“" not in claim.text] == [GOOD.rstrip(".")]
    assert answer.withheld == ()


def test_the_title_of_a_paper_is_no_sentence_of_an_answer(qa: PaperQA, server: OpenAIServer):
    server.script(f"{seed_papers()['qian24a'].title}. {GOOD}")

    assert ask(qa).claims[0].text == GOOD.rstrip(".")


def test_a_question_in_another_language_is_asked_in_english(qa: PaperQA, server: OpenAIServer):
    server.script("How does Momentor get its training data?", f"{GOOD} {BETTER}")
    answer = ask(qa, "Wie kommt Momentor zu seinen Trainingsdaten?")

    rewriting, writing = server.chats[-2:]
    assert rewriting.body["messages"][-1]["content"].endswith("from German into English:")
    assert "How does Momentor get its training data?" in writing.body["messages"][-1]["content"]
    assert not answer.abstained

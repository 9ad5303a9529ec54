"""A model that copies, paraphrases, invents, negates and swaps: what of it reaches the reader.

The sentences were written without sight of the checker. It misses some of the false ones: the
bounds are what it reaches, and ``docs/evaluation.md`` says so.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openai_server import OpenAIServer
from paper_qa.citing import without_stop
from paper_qa.drafting import clean_sentence, in_third_person
from paper_qa.llm.openai_compatible import OpenAICompatibleLLM
from paper_qa.models import reader
from paper_qa.qa import PaperQA

pytest_plugins = ["seed_library"]

CASES = Path(__file__).parents[1] / "evaluation" / "adversarial.jsonl"
# With the reader, and by words alone where it is not installed.
MOST_BAD_SHOWN = 0.18 if reader.is_installed() else 0.40
MOST_GOOD_WITHHELD = 0.12


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


def test_most_of_what_is_false_is_withheld_and_most_of_what_is_true_is_shown(
    open_qa: Callable[..., PaperQA], server: OpenAIServer
) -> None:
    qa = open_qa(
        llm=OpenAICompatibleLLM(base_url=server.base_url, model="liar"), abstain_threshold=0
    )
    counts: Counter[tuple[str, bool, bool]] = Counter()
    for case in map(json.loads, CASES.read_text("utf-8").splitlines()):
        abstract = qa.paper(case["paper_id"]).abstract
        server.script(" ".join(item["text"] for item in case["sentences"]))
        answer = qa.ask(case["question"])
        shown = {_plain(claim.text) for claim in answer.claims}
        for item in case["sentences"]:
            text = _plain(clean_sentence(item["text"], abstract))
            counts[item["kind"], item["good"], text in shown] += 1
        assert not any("[7]" in claim.text or "Smith" in claim.text for claim in answer.claims)

    table = {
        f"{kind} {'good' if good else 'bad'}": (
            counts[kind, good, True],
            counts[kind, good, True] + counts[kind, good, False],
        )
        for kind, good, _ in counts
    }
    assert _share(counts, good=False, shown=True) <= MOST_BAD_SHOWN, table
    assert _share(counts, good=True, shown=False) <= MOST_GOOD_WITHHELD, table


def _plain(text: str) -> str:
    return without_stop(in_third_person(text, "the authors"))


def _share(counts: Counter[tuple[str, bool, bool]], *, good: bool, shown: bool) -> float:
    of_them = {key: number for key, number in counts.items() if key[1] == good}
    return sum(n for key, n in of_them.items() if key[2] == shown) / sum(of_them.values())

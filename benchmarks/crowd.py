"""Many people asking the chat at once: errors, mixed-up answers, and how long they wait.

    python benchmarks/crowd.py --people 30 --seconds 120

Starts ``paper-qa serve`` with extraction on a library of the seeds, and plays people who ask, read
the answer for a moment and ask again, each in a browser session of their own. An answer is right if
what the server keeps for that person is their question with an answer, and nobody else's.
"""

import argparse
import asyncio
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from paper_qa.evaluation import read_questions
from paper_qa.user_data import new_id

PROJECT = Path(__file__).resolve().parents[1]
QUESTIONS = PROJECT / "evaluation" / "questions.jsonl"
READING_S = 1.0
PATIENCE_S = 120.0


@dataclass
class Tally:
    """What came of all questions."""

    seconds: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def main() -> None:
    """Play the crowd, and print what came of it; exit with 1 if anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--home", type=Path, help="a library of the seeds; a new one by default")
    given = parser.parse_args()
    with serving(given.home) as url:
        tally = asyncio.run(crowd(url, fact_questions(), given.people, given.seconds))
    if not tally.seconds or not tally.first:
        sys.exit("\n".join([*tally.wrong[:10], "nothing was answered"]))
    ordered = sorted(tally.seconds)
    last = ordered[int(0.95 * (len(ordered) - 1))]
    print(
        f"{len(ordered)} answers for {given.people} people in {given.seconds:.0f} s: "
        f"median {statistics.median(ordered):.2f} s, 95th percentile {last:.2f} s, "
        f"sources after {statistics.median(tally.first):.2f} s, {len(tally.wrong)} wrong"
    )
    if tally.wrong:
        sys.exit("\n".join(tally.wrong[:10]))


def fact_questions() -> list[str]:
    """Return the questions about the seeds that one abstract answers."""
    return [item.question for item in read_questions(QUESTIONS) if item.type == "fact"]


@contextmanager
def serving(home: Path | None) -> Iterator[str]:
    """Serve the chat from a process of its own, and yield its address; by default on the seeds."""
    command = [sys.executable, "-m", "paper_qa", "serve", "--port", "0", "--no-open"]
    with (
        tempfile.TemporaryDirectory(prefix="paper-qa-serving-") as folder,
        subprocess.Popen(
            [*command, "--home", str(home or folder), "--llm", "extractive"],
            stdout=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        told = re.search(r"http://\S+", process.stdout.readline() if process.stdout else "")
        if told is None:
            sys.exit("the chat did not start")
        try:
            yield told[0]
        finally:
            process.terminate()


async def crowd(url: str, questions: Sequence[str], people: int, seconds: float) -> Tally:
    """Let people ask for some seconds."""
    tally = Tally()
    async with session(url) as client:
        # The library is opened by the first question.
        await answered(client, await opened(client), questions[0], tally)
    tally = Tally()
    end = time.monotonic() + seconds
    await asyncio.gather(*(person(url, questions, end, seed, tally) for seed in range(people)))
    return tally


def session(url: str) -> httpx.AsyncClient:
    """Return a browser of one's own, as far as the server can tell."""
    return httpx.AsyncClient(base_url=url, timeout=PATIENCE_S, trust_env=False)


async def person(url: str, questions: Sequence[str], end: float, seed: int, tally: Tally) -> None:
    """Ask one question after the other."""
    chance = random.Random(seed)
    await asyncio.sleep(chance.random() * READING_S)
    async with session(url) as client:
        form = await opened(client)
        while time.monotonic() < end:
            await answered(client, form, chance.choice(questions), tally)
            await asyncio.sleep(READING_S * (0.5 + chance.random()))


async def answered(client: httpx.AsyncClient, form: "Form", question: str, tally: Tally) -> None:
    """Ask a question in a new conversation, and see what the server keeps of it."""
    conversation, start = new_id(), time.monotonic()
    is_first = True
    async for message in events(client, form, question, conversation):
        if message["msg"] == "process_generating" and is_first and "src-" in json.dumps(message):
            tally.first.append(time.monotonic() - start)
            is_first = False
        if message["msg"] == "process_completed":
            tally.seconds.append(time.monotonic() - start)
            if not message["success"]:
                tally.wrong.append(f"{question}: {message['output']}")
    kept = await client.get(f"/export/conversation/{conversation}.json")
    if kept.status_code != httpx.codes.OK or not is_right(kept.json(), question):
        tally.wrong.append(f"{question}: {kept.text[:200]}")


def is_right(kept: dict[str, Any], question: str) -> bool:
    """Tell whether a conversation is this one question with an answer to it."""
    (exchange,) = kept["exchanges"]
    return exchange["question"] == question and exchange["answer"]["question"] == question


@dataclass(frozen=True, slots=True)
class Form:
    """A page: its name, where a question is sent, and what is sent beside it, by element id."""

    page: str
    function: int
    fields: Sequence[tuple[str, Any]]


async def opened(client: httpx.AsyncClient) -> Form:
    """Open the page, and find out what it sends with a question."""
    await client.get("/")  # which brings the cookie
    config = (await client.get("/config")).json()
    parts = {item["id"]: item["props"] for item in config["components"]}
    (box,) = (key for key, props in parts.items() if props.get("elem_id") == "box")
    asking = next(item for item in config["dependencies"] if [box, "submit"] in item["targets"])
    fields = [(parts[key].get("elem_id", ""), parts[key].get("value")) for key in asking["inputs"]]
    return Form(new_id(), asking["id"], fields)


async def events(
    client: httpx.AsyncClient, form: Form, question: str, conversation: str
) -> AsyncGenerator[dict[str, Any]]:
    """Yield what the server says until it is done."""
    given = {"box": question, "chat": [], "conversation": conversation}
    data = [given.get(key, value) for key, value in form.fields]
    body = {"data": data, "fn_index": form.function, "session_hash": form.page}
    joined = await client.post("/gradio_api/queue/join", json=body)
    joined.raise_for_status()
    address = "/gradio_api/queue/data"
    async with client.stream("GET", address, params={"session_hash": form.page}) as stream:
        async for line in stream.aiter_lines():
            if line.startswith("data:"):
                message = json.loads(line[5:])
                yield message
                if message["msg"] in {"process_completed", "close_stream"}:
                    return


if __name__ == "__main__":
    main()

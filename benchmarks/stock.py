"""This product beside LlamaIndex as it comes, on the same questions with the same model.

    python benchmarks/stock.py answer --system stock OUT.jsonl
    python benchmarks/stock.py answer --system paper-qa OUT.jsonl
    python benchmarks/stock.py score STOCK.jsonl PAPER_QA.jsonl

Stock is ``VectorStoreIndex.from_documents`` over the titles and abstracts of the seeds in a Chroma
collection, with the built-in embedder, and ``as_query_engine()`` with its own prompt, splitter and
number of sources. The model is the one that ``PAPER_QA_LLM`` and its companions name; with the
embedded one nothing else should run. Answers that a file holds already are not asked for again.
"""

import argparse
import json
import re
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import chromadb
from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.vector_stores.chroma import ChromaVectorStore

from paper_qa import PaperQA, load_settings
from paper_qa.corpus import read_seeds, seeds_folder
from paper_qa.embedding import OnnxEmbedding
from paper_qa.evaluation import read_questions
from paper_qa.evaluation.facts import num_facts_stated, num_words
from paper_qa.evaluation.questions import Question
from paper_qa.llm import Writer

QUESTIONS = Path(__file__).resolve().parents[1] / "evaluation" / "comparison.jsonl"
_DECLINES = re.compile(
    r"\b(?:(?:does|do|did)\s+not|doesn't|don't|is\s+not|isn't|are\s+not|was\s+not|not|no|cannot|"
    r"can't|unable\s+to)\s+(?:\w+\s+){0,3}?(?:provid|mention|specif|contain|include|state|report|"
    r"information|detail|determin|answer|discuss|address|available|given|context|disclos|find)\w*"
    r"|\b(?:I'm|I\s+am)\s+(?:sorry|unable)|\bunknown\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Given:
    """An answer: its text, whether it declines, how many sentences cite a span, and seconds."""

    id: str
    text: str
    declined: bool
    num_cited: int
    num_sentences: int
    seconds: float


def main() -> None:
    """Answer the questions, or score two files of answers."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    answer = commands.add_parser("answer")
    answer.add_argument("--system", choices=["stock", "paper-qa"], required=True)
    answer.add_argument("--questions", type=Path, default=QUESTIONS)
    answer.add_argument("--home", type=Path, help="a library of the seeds, and of the model")
    answer.add_argument("out", type=Path)
    score = commands.add_parser("score")
    score.add_argument("--questions", type=Path, default=QUESTIONS)
    score.add_argument("files", type=Path, nargs="+")
    given = parser.parse_args()
    questions = read_questions(given.questions)
    if given.command == "score":
        for path in given.files:
            report(path, questions)
        return
    ask = ask_stock(given.home) if given.system == "stock" else ask_product(given.home)
    done = {item.id for item in read(given.out)}
    with given.out.open("a", encoding="utf-8") as file:
        for question in questions:
            if question.id not in done:
                print(json.dumps(asdict(ask(question))), file=file, flush=True)


def ask_stock(home: Path | None) -> Callable[[Question], Given]:
    """Return LlamaIndex's own query engine over the seeds."""
    settings = load_settings(home=home) if home else load_settings()
    collection = chromadb.EphemeralClient().create_collection("seeds")
    documents = [
        Document(text=f"{paper.title}\n\n{paper.abstract}", id_=paper.id)
        for paper in read_seeds(seeds_folder())
    ]
    index = VectorStoreIndex.from_documents(
        documents,
        storage_context=StorageContext.from_defaults(
            vector_store=ChromaVectorStore(chroma_collection=collection)
        ),
        embed_model=OnnxEmbedding(),
    )
    engine = index.as_query_engine(llm=Writer(settings).llm())

    def ask(question: Question) -> Given:
        start = time.perf_counter()
        text = str(engine.query(question.question)).strip()
        seconds = time.perf_counter() - start
        return Given(question.id, text, bool(_DECLINES.search(text)), 0, 0, seconds)

    return ask


def ask_product(home: Path | None) -> Callable[[Question], Given]:
    """Return this product over the seeds."""
    qa = PaperQA(settings=load_settings(home=home) if home else load_settings())
    qa.prepare_model()

    def ask(question: Question) -> Given:
        start = time.perf_counter()
        answer = qa.ask(question.question)
        seconds = time.perf_counter() - start
        cited = sum(bool(claim.citations) for claim in answer.claims)
        declined = answer.abstained or answer.premise_corrected
        return Given(question.id, answer.text, declined, cited, len(answer.claims), seconds)

    return ask


def read(path: Path) -> list[Given]:
    """Return the answers in a file; none if there is no file."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return [Given(**json.loads(line)) for line in lines]


def report(path: Path, questions: Sequence[Question]) -> None:
    """Print what a system answered, stated and declined."""
    by_id = {question.id: question for question in questions}
    pairs = [(by_id[item.id], item) for item in read(path) if item.id in by_id]
    asked = [(question, item) for question, item in pairs if question.is_answerable]
    rest = [item for question, item in pairs if not question.is_answerable]
    stated = sum(num_facts_stated(item.text, question.facts) for question, item in asked)
    facts = sum(len(question.facts) for question, _ in asked)
    words = statistics.mean(num_words(item.text) for _, item in asked)
    refused = statistics.mean(item.declined for _, item in asked)
    answered = statistics.mean(not item.declined for item in rest)
    cited = sum(item.num_cited for _, item in pairs)
    seconds = statistics.median(item.seconds for _, item in pairs)
    print(
        f"{path.name}: {len(asked)} answerable: facts {stated / facts:.2f}, words {words:.0f}, "
        f"declined {refused:.2f}; {len(rest)} unanswerable: answered all the same {answered:.2f}; "
        f"{cited} sentences with a span; {seconds:.1f} s"
    )


if __name__ == "__main__":
    main()

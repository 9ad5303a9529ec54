"""Retrieval by itself, without answers: nDCG@10, recall, MRR and time on four collections.

    python benchmarks/retrieval.py seeds scifact --cache ~/.cache/paper-qa-benchmarks

Each collection becomes a library of its own under ``--cache``, built once and reused.
``--save`` writes the scores of every query, and ``--against`` compares with scores saved before.
"""

import argparse
import gzip
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from paper_qa import PaperQA
from paper_qa.corpus import read_papers
from paper_qa.domain import Paper
from paper_qa.evaluation import bootstrap, measures, read_questions
from paper_qa.evaluation.bootstrap import Ratios

PROJECT = Path(__file__).resolve().parents[1]
QUESTIONS = PROJECT / "evaluation" / "questions.jsonl"
Scores = dict[str, dict[str, float]]
"""Per query id, its measures and its milliseconds."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for, and the papers that should be found."""

    id: str
    text: str
    relevant: frozenset[str]


@dataclass(frozen=True, slots=True)
class Collection:
    """Papers and judged queries; the seeds, which every new library has, stay in or go."""

    name: str
    queries: tuple[Query, ...]
    papers: tuple[Paper, ...] = ()
    keeps_seeds: bool = False


def main() -> None:
    """Run the collections that were asked for, and print a line for each."""
    options = parse_options()
    earlier: Mapping[str, Scores] = (
        json.loads(options.against.read_text()) if options.against else {}
    )
    measured: dict[str, Scores] = {}
    for name in options.collections:
        collection = COLLECTIONS[name](options)
        num_papers, measured[collection.name] = run(collection, options.cache)
        scores = measured[collection.name]
        print(f"{collection.name}: {num_papers} papers, {len(scores)} queries")
        print_figures(scores)
        if collection.name in earlier:
            print_differences(earlier[collection.name], scores)
    if options.save:
        options.save.write_text(json.dumps(measured))


def parse_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("collections", nargs="+", choices=COLLECTIONS, metavar="COLLECTION")
    parser.add_argument("--cache", type=Path, required=True, help="where the libraries are kept")
    parser.add_argument("--data", type=Path, default=PROJECT.parent / "shared", help="benchmarks")
    parser.add_argument("--questions", type=Path, default=QUESTIONS, help="questions on the seeds")
    parser.add_argument(
        "--papers", type=int, default=50_000, help="how many are added in seeds+acl"
    )
    parser.add_argument("--save", type=Path, help="write the scores of every query to this file")
    parser.add_argument("--against", type=Path, help="compare with scores that --save wrote")
    return parser.parse_args()


def seeds(options: argparse.Namespace) -> Collection:
    """Return the questions on the seeds that stand alone and have an answer there."""
    asked = [q for q in read_questions(options.questions) if q.gold and not q.history]
    queries = tuple(Query(q.id, q.question, frozenset(q.gold)) for q in asked)
    return Collection("seeds", queries, keeps_seeds=True)


def seeds_among_others(options: argparse.Namespace) -> Collection:
    """Return the same questions, the seeds hidden among abstracts of the ACL Anthology."""
    others = islice(read_papers(options.data / "corpora" / "acl.jsonl.gz"), options.papers)
    name = f"seeds+{options.papers}"
    return Collection(name, seeds(options).queries, tuple(others), keeps_seeds=True)


def scifact(options: argparse.Namespace) -> Collection:
    """Return SciFact's validation claims (Wadden et al., EMNLP 2020), which BEIR tests on."""
    return benchmark("scifact", options.data, split="validation")


def pubmedqa(options: argparse.Namespace) -> Collection:
    """Return PubMedQA's expert-labelled questions (Jin et al., EMNLP 2019), all thousand."""
    return benchmark("pubmedqa", options.data)


COLLECTIONS: Mapping[str, Callable[[argparse.Namespace], Collection]] = {
    "seeds": seeds,
    "seeds+acl": seeds_among_others,
    "scifact": scifact,
    "pubmedqa": pubmedqa,
}


def benchmark(name: str, data: Path, *, split: str | None = None) -> Collection:
    """Read a collection in BEIR's shape: a corpus, queries, and judgements."""
    folder = data / "bench" / name
    relevant: dict[str, set[str]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query_id, paper_id, grade = line.split("\t")
        if int(grade) > 0:
            relevant.setdefault(query_id, set()).add(paper_id)
    queries = tuple(
        Query(row["id"], row["text"], frozenset(relevant[row["id"]]))
        for row in read_rows(folder / "queries.jsonl.gz")
        if row["id"] in relevant and split in {None, row["split"]}
    )
    rows = read_rows(folder / "corpus.jsonl.gz")
    return Collection(name, queries, tuple(Paper(r["id"], r["title"], r["text"]) for r in rows))


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Read gzipped JSON Lines."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def run(collection: Collection, cache: Path) -> tuple[int, Scores]:
    """Search for every query of a collection, in a library that is built if it is not there."""
    qa = PaperQA(home=cache / collection.name)
    try:
        fill(qa, collection)
        qa.search("the first search loads the model", k=10)
        scores = {query.id: search(qa, query) for query in collection.queries}
        return len(qa.papers()), scores
    finally:
        qa.close()


def fill(qa: PaperQA, collection: Collection) -> None:
    """Add the papers that are missing, and remove the seeds where they don't belong."""
    there = {paper.id for paper in qa.papers()}
    wanted = {paper.id for paper in collection.papers}
    missing = [paper for paper in collection.papers if paper.id not in there]
    if missing:
        print(f"{collection.name}: adding {len(missing)} papers", file=sys.stderr)
        qa.add(missing)
    if not collection.keeps_seeds and there - wanted:
        qa.remove(*sorted(there - wanted))


def search(qa: PaperQA, query: Query) -> dict[str, float]:
    """Return the measures of one query."""
    start = time.perf_counter()
    hits = qa.search(query.text, k=10)
    milliseconds = 1000 * (time.perf_counter() - start)
    ranked = [hit.paper.id for hit in hits]
    return {
        "nDCG@10": measures.ndcg_at_k(ranked, dict.fromkeys(query.relevant, 1.0), k=10),
        "recall@5": measures.recall_at_k(ranked, query.relevant, k=5),
        "recall@10": measures.recall_at_k(ranked, query.relevant, k=10),
        "MRR@10": measures.reciprocal_rank(ranked, query.relevant),
        "ms": milliseconds,
    }


def print_figures(scores: Scores) -> None:
    """Print the means with their 95 % intervals, and the time."""
    for key in ("nDCG@10", "recall@5", "recall@10", "MRR@10"):
        ratios = means(row[key] for row in scores.values())
        low, high = bootstrap.interval(ratios) or (0.0, 0.0)
        print(f"  {key:<10} {ratios.value or 0.0:.3f} [{low:.3f} {high:.3f}]")
    times = [row["ms"] for row in scores.values()]
    slowest = statistics.quantiles(times, n=20)[-1] if len(times) > 1 else times[0]
    print(f"  ms a query {statistics.median(times):.1f} (95 % within {slowest:.1f})")


def print_differences(before: Scores, after: Scores) -> None:
    """Print how much better it got on the queries that both runs have, query by query."""
    shared = [query_id for query_id in after if query_id in before]
    for key in ("nDCG@10", "recall@10", "MRR@10"):
        first = means(before[query_id][key] for query_id in shared)
        change = bootstrap.paired_difference(
            first, means(after[query_id][key] for query_id in shared)
        )
        if change:
            verdict = "clear" if change.is_clear else "may be noise"
            bounds = f"[{change.low:+.3f} {change.high:+.3f}]"
            print(f"  {key:<10} {change.value:+.3f} {bounds} {verdict}, {len(shared)} queries")


def means(values: Iterable[float]) -> Ratios:
    """Make a mean of some values, as the bootstrap takes it."""
    numerators = tuple(values)
    return Ratios(numerators, (1.0,) * len(numerators))


if __name__ == "__main__":
    main()

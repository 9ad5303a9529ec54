r"""The checker by itself: claims about the seeds, and SciFact's validation claims.

    python benchmarks/claims.py --cache ~/.cache/paper-qa-benchmarks/words \
        --claims evaluation/claims.jsonl --scifact FOLDER

Of each set, the AUROC of the score against the labels, beside two controls: plain cosine, and the
length of the claim. For the claims about the seeds also F1, with the threshold chosen on four
fifths of the papers and applied to the last fifth, and the share of each kind that is told right at
the score that 90 % of the supported claims reach. Nothing else is chosen on them.
"""

import argparse
import gzip
import json
import random
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from paper_qa.alignment import align, read_claim, read_source
from paper_qa.checker import THRESHOLD
from paper_qa.corpus import read_seeds, seeds_folder
from paper_qa.domain import Paper
from paper_qa.embedding import OnnxEmbedding, hidden_states
from paper_qa.evaluation import measures, read_claims
from paper_qa.evaluation.claims import f1_ratios
from paper_qa.grounding import judge

PROJECT = Path(__file__).resolve().parents[1]
sys.path.append(str(PROJECT / "tools"))
from fit_checker import WordCache  # noqa: E402 - a tool, beside this folder

NUM_FOLDS = 5
KEPT = 0.9

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Case:
    """A claim, the paper that it is checked against, and what is right."""

    claim: str
    paper: Paper
    label: str
    kind: str


def main() -> None:
    """Measure what was asked for, and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--claims", type=Path, default=PROJECT / "evaluation" / "claims.jsonl")
    parser.add_argument("--scifact", type=Path)
    given = parser.parse_args()
    cache = WordCache(given.cache)
    report_claims(claims_of_seeds(given.claims), cache)
    if given.scifact:
        report_scifact(claims_of_scifact(given.scifact), cache)


def claims_of_seeds(path: Path) -> list[Case]:
    """Return the claims about the seeds."""
    papers = {paper.id: paper for paper in read_seeds(seeds_folder())}
    return [
        Case(judged.claim, papers[judged.paper_id], judged.label, judged.kind)
        for judged in read_claims(path)
    ]


def claims_of_scifact(folder: Path) -> list[Case]:
    """Return the validation claims: labelled, cited without a label, and with another abstract."""
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    papers = {row["id"]: Paper(row["id"], row["title"], row["text"]) for row in rows}
    with gzip.open(folder / "queries.jsonl.gz", "rt", encoding="utf-8") as file:
        claims = [row for row in map(json.loads, file) if row["split"] == "validation"]
    others = sorted({key for claim in claims for key in claim["labels"] if key in papers})
    chance = random.Random(5)
    cases: list[Case] = []
    for claim in claims:
        for key, label in claim["labels"].items():
            if key in papers:
                name = "supported" if label == "SUPPORT" else "contradicted"
                cases.append(Case(claim["text"], papers[key], name, label))
        other = chance.choice([key for key in others if key not in claim["labels"]])
        cases.append(Case(claim["text"], papers[other], "not_mentioned", "unrelated"))
    return cases


def scores_of(cases: Iterable[Case], cache: WordCache) -> tuple[Values, list[float]]:
    """Return the probabilities of support, and the milliseconds that each took."""
    scores: list[float] = []
    times: list[float] = []
    for case in cases:
        claim, paper = cache.read(case.claim), cache.paper(case.paper)
        start = time.perf_counter()
        tokens = read_claim(case.claim)
        found = align(case.claim, tokens, [read_source(tokens, claim, case.paper, paper)])
        scores.append(judge(found[0]).support if found else 0.0)
        times.append(1000 * (time.perf_counter() - start))
    return np.array(scores), times


def cosines_of(cases: Sequence[Case]) -> Values:
    """Return the cosine of each claim with its title and abstract."""
    model = OnnxEmbedding(num_threads=1)
    texts = sorted(
        {case.claim for case in cases}
        | {f"{case.paper.title}\n{case.paper.abstract}" for case in cases}
    )
    vectors = dict(zip(texts, model.embed(texts), strict=True))
    return np.array(
        [
            float(vectors[case.claim] @ vectors[f"{case.paper.title}\n{case.paper.abstract}"])
            for case in cases
        ]
    )


def report_claims(cases: Sequence[Case], cache: WordCache) -> None:
    """Print the figures for the claims about the seeds."""
    scores, times = scores_of(cases, cache)
    true = np.array([case.label == "supported" for case in cases])
    lengths = np.array([float(len(case.claim.split())) for case in cases])
    print(f"{len(cases)} claims: AUROC {auroc(scores, true):.3f}, F1 {f1_of(scores, cases):.3f}")
    print(
        f"controls: cosine {auroc(cosines_of(cases), true):.3f}, length {auroc(lengths, true):.3f}"
    )
    print(f"at the shipped threshold of {THRESHOLD}: " + by_kind(cases, scores >= THRESHOLD))
    bound = float(np.quantile(scores[true], 1 - KEPT))
    print(f"at {KEPT:.0%} of the supported ({bound:.3f}): " + by_kind(cases, scores >= bound))
    run = time_of_reading([case.claim for case in cases[:50]])
    print(f"ms per claim and paper {statistics.median(times):.1f}; reading the claim {run:.1f}")


def report_scifact(cases: Sequence[Case], cache: WordCache) -> None:
    """Print the figures for SciFact's claims."""
    cosines = cosines_of(cases)
    scores, _ = scores_of(cases, cache)
    true = np.array([case.label == "supported" for case in cases])
    labelled = np.array([case.label != "not_mentioned" for case in cases])
    for name, values in (("checker", scores), ("cosine", cosines)):
        against = auroc(values[labelled], true[labelled])
        print(
            f"SciFact, {name}: against contradiction {against:.3f}, all {auroc(values, true):.3f}"
        )


def by_kind(cases: Sequence[Case], accepted: NDArray[np.bool_]) -> str:
    """Return, for each kind, the share that is accepted or rejected as it should be."""
    right: defaultdict[str, list[bool]] = defaultdict(list)
    for case, yes in zip(cases, accepted, strict=True):
        right[case.kind].append(bool(yes) == (case.label == "supported"))
    return ", ".join(f"{kind} {statistics.mean(right[kind]):.2f}" for kind in sorted(right))


def f1_of(scores: Values, cases: Sequence[Case]) -> float:
    """Return F1 with a threshold chosen on the other folds; folds are of whole papers."""
    true = np.array([case.label == "supported" for case in cases])
    papers = sorted({case.paper.id for case in cases})
    random.Random(1).shuffle(papers)
    folds = np.array([papers.index(case.paper.id) % NUM_FOLDS for case in cases])
    accepted = np.zeros(len(cases), dtype=bool)
    for fold in range(NUM_FOLDS):
        seen = folds != fold
        bounds = np.unique(scores[seen])
        best = max(bounds, key=lambda bound: f1(scores[seen] >= bound, true[seen]))
        accepted[~seen] = scores[~seen] >= best
    return f1(accepted, true)


def f1(accepted: NDArray[np.bool_], true: NDArray[np.bool_]) -> float:
    """Return the F1 of what is accepted; 0 where nothing is, and nothing should be."""
    return f1_ratios(accepted.tolist(), true.tolist()).value or 0.0


def auroc(scores: Values, true: NDArray[np.bool_]) -> float:
    """Return how well the scores tell the true ones from the others."""
    return measures.auroc(scores[true].tolist(), scores[~true].tolist())


def time_of_reading(claims: Sequence[str]) -> float:
    """Return the median milliseconds of one run of the built-in model over a claim."""
    times: list[float] = []
    for claim in claims:
        hidden_states.cache_clear()
        start = time.perf_counter()
        hidden_states(claim)
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


if __name__ == "__main__":
    main()

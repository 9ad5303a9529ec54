"""Fit the checkers: claims, true and false, against abstracts; two logistic heads; readable JSON.

Run by hand::

    python tools/fit_checker.py ACL.jsonl.gz SCIFACT_FOLDER --cache FOLDER

Fitted on three kinds of claims, none of them about the abstracts that the checker is measured on:
``checker_claims.tsv``, written by hand about ACL abstracts; the training claims of SciFact, with
the labels of their abstracts, and abstracts that say nothing of them; and claims that
``checker_examples.py`` makes by rule. One model weighs words alone, the other the state of the
reader as well, which must be installed. The result is deterministic.
"""

import argparse
import gzip
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from checker_examples import Example, make_examples
from paper_qa import checker
from paper_qa.alignment import AlignedClaim, align, read_claim, read_source
from paper_qa.chunking import chunk_paper, passage_text
from paper_qa.differences import differences
from paper_qa.domain import Paper, Passage, Span
from paper_qa.embedding import num_tokens
from paper_qa.grounding import source_text
from paper_qa.late_interaction import EncodedWords, Matrix, encode_words
from paper_qa.lexicon import LEXICON_FILE
from paper_qa.models import reader
from paper_qa.word_index import PlacedWords, Places, join_passages

HAND = Path(__file__).parent / "checker_claims.tsv"
MODELS = Path(checker.__file__).parent / "models"
LABELS = {
    **dict.fromkeys(["paraphrase", "compress", "merge", "number_reformat"], "supported"),
    **dict.fromkeys(["extra_detail", "overclaim"], "not_mentioned"),
}
WEIGHTS = {"hand": 4.0, "scifact": 1.0, "rule": 0.05}
READING_WEIGHTS = {"hand": 4.0, "scifact": 1.0, "rule": 0.3}  # of the rules' claims, fewer are read
PENALTY = 8.0  # on squared weights of standardised terms
READER_PENALTY = 600.0  # on those of the reader's state, which has many numbers
NUM_READ_OF_RULES = 1500
NUM_PAPERS_FOR_RULES = 330
NUM_OTHER_PAPERS = 48  # claims written by hand, set against an abstract that is not theirs

Rows = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Labelled:
    """An example, its paper and where it comes from."""

    example: Example
    paper: Paper
    origin: str


@dataclass(frozen=True, slots=True)
class Fit:
    """How much claims weigh by their origin, and the penalties on squared weights, by term."""

    weights: Mapping[str, float]
    penalties: Rows


class ReadingCache:
    """What the reader makes of sentences, read once and kept in a folder, a file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def read(self, source: str, sentence: str) -> Rows:
        """Return the reader's state."""
        name = sha256(f"{source}\n{sentence}".encode()).hexdigest()
        path = self._folder / f"{name}.npy"
        if not path.exists():
            np.save(path, reader.read(source, sentence))
        return np.load(path).astype(np.float64)


class WordCache:
    """The words of texts, read once and kept in a folder, a file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def read(self, text: str) -> EncodedWords:
        """Return the words of a text."""
        path = self._folder / f"{sha256(text.encode()).hexdigest()}.npz"
        if not path.exists():
            words = encode_words(text)
            starts = np.array([(span.start, span.end) for span in words.spans], dtype=np.int32)
            vectors = words.vectors.astype(np.float16)
            np.savez(path, words=np.array(words.words), spans=starts, vectors=vectors)
        with np.load(path) as kept:
            spans = tuple(Span(int(start), int(end)) for start, end in kept["spans"].reshape(-1, 2))
            vectors = kept["vectors"].astype(np.float32)
            return EncodedWords(tuple(map(str, kept["words"])), spans, vectors)

    def paper(self, paper: Paper) -> PlacedWords:
        """Return the words of a paper, title and abstract, passage by passage."""
        read: list[tuple[Passage, Places, Matrix]] = []
        for passage in chunk_paper(paper, num_tokens):
            words = self.read(passage_text(paper, passage))
            places = np.array([span.start for span in words.spans], dtype=np.int32)
            read.append((passage, places, words.vectors))
        return join_passages(paper, read)


def main() -> None:
    """Fit, write the file, and print what it was fitted on."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("acl", type=Path)
    parser.add_argument("scifact", type=Path)
    parser.add_argument("--cache", type=Path, required=True)
    given = parser.parse_args()
    papers = acl_papers(given.acl)
    cache = WordCache(given.cache)
    readings = ReadingCache(given.cache / "readings")
    written = [*by_hand(papers), *of_scifact(given.scifact)]
    made = by_rule(papers)
    hashes = {path.name: digest(path) for path in (given.acl, HAND, MODELS / LEXICON_FILE)}
    for name in ("queries.jsonl.gz", "corpus.jsonl.gz", "qrels.tsv"):
        hashes[f"scifact/{name}"] = digest(given.scifact / name)

    rows, kept, _ = measured([*written, *made], cache)
    words = Fit(WEIGHTS, np.full(len(checker.TERMS), PENALTY))
    model = fit(checker.expand(rows), kept, words)
    write(MODELS / checker.CHECKER_FILE, checker.TERMS, model, kept, hashes)

    random.Random(1).shuffle(made)
    rows, kept, aligned = measured([*written, *made[:NUM_READ_OF_RULES]], cache)
    states = np.stack([readings.read(source_text(one), one.claim) for one in aligned])
    both = Fit(
        READING_WEIGHTS, np.concatenate([words.penalties, np.full(reader.DIM, READER_PENALTY)])
    )
    model = fit(np.concatenate([checker.expand(rows), states], axis=1), kept, both)
    hashes["reader"] = reader.NETWORK[1]
    write(MODELS / checker.READING_CHECKER_FILE, checker.READING_TERMS, model, kept, hashes)


def acl_papers(path: Path) -> dict[str, Paper]:
    """Return the papers that claims were written about, and those for the rules."""
    about = {line.split("\t")[0] for line in HAND.read_text("utf-8").splitlines()}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    fit_length = [row for row in rows if 700 < len(row["abstract"]) < 1250]
    random.Random(11).shuffle(fit_length)
    first = list(
        islice((row for row in fit_length if row["id"] not in about), NUM_PAPERS_FOR_RULES)
    )
    chosen = [*(row for row in rows if row["id"] in about), *first]
    return {row["id"]: Paper(row["id"], row["title"], row["abstract"]) for row in chosen}


def by_hand(papers: dict[str, Paper]) -> list[Labelled]:
    """Return the claims written by hand, some of the true ones also against another abstract."""
    found: list[Labelled] = []
    for line in HAND.read_text("utf-8").splitlines():
        paper_id, kind, claim = line.split("\t")
        label = LABELS.get(kind, "contradicted")
        found.append(Labelled(Example(claim, paper_id, label, kind), papers[paper_id], "hand"))
    chance = random.Random(3)
    ids = sorted({one.paper.id for one in found})
    true = [one for one in found if one.example.label == "supported"]
    for one in chance.sample(true, NUM_OTHER_PAPERS):
        other = papers[chance.choice([key for key in ids if key != one.paper.id])]
        example = Example(one.example.claim, other.id, "not_mentioned", "other_paper")
        found.append(Labelled(example, other, "hand"))
    return found


def of_scifact(folder: Path) -> list[Labelled]:
    """Return the training claims: labelled, cited without a label, and with another abstract."""
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    papers = {row["id"]: Paper(row["id"], row["title"], row["text"]) for row in rows}
    with gzip.open(folder / "queries.jsonl.gz", "rt", encoding="utf-8") as file:
        claims = [row for row in map(json.loads, file) if row["split"] == "train"]
    cited: dict[str, list[str]] = {}
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines():
        claim_id, paper_id, _ = line.split("\t")
        cited.setdefault(claim_id, []).append(paper_id)
    others = sorted({key for claim in claims for key in claim["labels"]})
    chance = random.Random(5)
    found: list[Labelled] = []
    for claim in claims:
        labels = {
            key: "supported" if label == "SUPPORT" else "contradicted"
            for key, label in claim["labels"].items()
        }
        labels |= {key: "not_mentioned" for key in cited.get(claim["id"], []) if key not in labels}
        labels.setdefault(chance.choice(others), "not_mentioned")
        for key, label in labels.items():
            if key in papers:
                example = Example(claim["text"], key, label, "scifact")
                found.append(Labelled(example, papers[key], "scifact"))
    return found


def by_rule(papers: dict[str, Paper]) -> list[Labelled]:
    """Return claims that are made by rule about abstracts that no claim was written about."""
    about = {line.split("\t")[0] for line in HAND.read_text("utf-8").splitlines()}
    chosen = [paper for key, paper in papers.items() if key not in about]
    return [Labelled(one, papers[one.paper_id], "rule") for one in make_examples(chosen)]


def measured(
    labelled: Iterable[Labelled], cache: WordCache
) -> tuple[Rows, list[Labelled], list[AlignedClaim]]:
    """Return what differs between each claim and its abstract, where it can be told."""
    rows: list[Rows] = []
    kept: list[Labelled] = []
    aligned: list[AlignedClaim] = []
    for one in labelled:
        claim, tokens = one.example.claim, read_claim(one.example.claim)
        source = read_source(tokens, cache.read(claim), one.paper, cache.paper(one.paper))
        if found := align(claim, tokens, [source]):
            rows.append(differences(found[0]))
            kept.append(one)
            aligned.append(found[0])
    return np.array(rows), kept, aligned


def fit(terms: Rows, labelled: Sequence[Labelled], how: Fit) -> checker.Checker:
    """Fit both heads: supported or not; and of what is not, contradicted or not mentioned."""
    weights = np.array([how.weights[one.origin] for one in labelled])
    true = labels_of(labelled, "supported") == 1
    weights[true] *= weights[~true].sum() / weights[true].sum()  # as likely as not beforehand
    means = np.average(terms, axis=0, weights=weights)
    scales = np.sqrt(np.average((terms - means) ** 2, axis=0, weights=weights)) + 1e-6
    standard = (terms - means) / scales
    supported = labels_of(labelled, "supported")
    contradicted = labels_of(labelled, "contradicted")
    rest = supported == 0
    return checker.Checker(
        means,
        scales,
        logistic(standard, supported, weights, how.penalties),
        logistic(standard[rest], contradicted[rest], weights[rest], how.penalties),
    )


def labels_of(labelled: Sequence[Labelled], label: str) -> Rows:
    """Return 1 for each example with this label."""
    return np.array([one.example.label == label for one in labelled], dtype=np.float64)


def logistic(rows: Rows, labels: Rows, weights: Rows, penalties: Rows) -> checker.Head:
    """Fit a logistic regression with a ridge penalty for each column, by Newton's method."""
    design = np.concatenate([np.ones((len(rows), 1)), rows], axis=1)
    penalty = np.diag([1e-6, *penalties])
    fitted = np.zeros(design.shape[1])
    for _ in range(40):
        chances = 1 / (1 + np.exp(-np.clip(design @ fitted, -30, 30)))
        gradient = design.T @ (weights * (labels - chances)) - penalty @ fitted
        curvature = (design * (weights * chances * (1 - chances))[:, np.newaxis]).T @ design
        fitted += np.linalg.solve(curvature + penalty, gradient)
    return checker.Head(float(fitted[0]), fitted[1:])


def write(
    target: Path,
    names: Sequence[str],
    model: checker.Checker,
    labelled: Sequence[Labelled],
    hashes: Mapping[str, str],
) -> None:
    """Write a checker, and print what it was fitted on."""
    counts: dict[str, int] = {}
    for one in labelled:
        key = f"{one.origin} {one.example.label}"
        counts[key] = counts.get(key, 0) + 1
    heads = {"supported": model.supported, "contradicted": model.contradicted}
    about = {"fitted_by": "tools/fit_checker.py", "sha256": dict(hashes), "claims": counts}
    write_fitted(target, names, (model.means, model.scales), heads, about)
    print(json.dumps(about, indent=1))


def write_fitted(
    target: Path,
    names: Sequence[str],
    standard: tuple[Rows, Rows],
    heads: Mapping[str, checker.Head],
    about: Mapping[str, object],
    more: Mapping[str, float] = MappingProxyType({}),
) -> None:
    """Write a fitted model as JSON that `checker.read_fitted` reads, a line for each term.

    ``standard`` are the means and scales of the terms; ``about`` says what it was fitted on.
    """
    keys = ("mean", "scale", *heads)
    columns = (*standard, *(head.weights for head in heads.values()))
    terms = [
        {"name": name}
        | {key: round(float(value), 6) for key, value in zip(keys, values, strict=True)}
        for name, *values in zip(names, *columns, strict=True)
    ]
    bias = {name: round(head.bias, 6) for name, head in heads.items()}
    rounded = {name: round(value, 6) for name, value in more.items()}
    content = {**about, "bias": bias, **rounded}
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in content.items()]
    rows = ",\n".join(f"    {json.dumps(term)}" for term in terms)
    text = "\n".join(["{", *lines, f'  "terms": [\n{rows}\n  ]', "}"])
    target.write_text(text + "\n", encoding="utf-8")


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()

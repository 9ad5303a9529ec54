"""Fit the projection of word vectors from 384 to 160 dimensions.

Run by hand::

    python tools/fit_word_projection.py [ABSTRACTS.jsonl[.gz]] [--papers N]

Reads the content words of abstracts, by default of the seeds, with the built-in model, and keeps
the right singular vectors of the largest singular values of all unit word vectors (uncentred PCA):
no question and no judgement goes into it. The result is deterministic; its SHA-256 is printed.
"""

import argparse
from hashlib import sha256
from itertools import islice
from pathlib import Path

import numpy as np

from paper_qa import late_interaction
from paper_qa.corpus import read_papers, read_seeds, seeds_folder
from paper_qa.embedding import hidden_states
from paper_qa.words import content_words

DIM = 160
TARGET = Path(late_interaction.__file__).parent / "models" / late_interaction.PROJECTION_FILE


def main() -> None:
    """Fit, write the file, and print what it is made of."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("abstracts", type=Path, nargs="?")
    parser.add_argument("--papers", type=int)
    given = parser.parse_args()
    gram = np.zeros((384, 384))
    num_words = 0
    papers = read_papers(given.abstracts) if given.abstracts else read_seeds(seeds_folder())
    for paper in islice(papers, given.papers):
        rows = word_rows(f"{paper.title}\n{paper.abstract}")
        gram += rows.T @ rows
        num_words += len(rows)
    values, vectors = np.linalg.eigh(gram)
    projection = vectors[:, ::-1][:, :DIM]
    projection *= np.sign(projection[np.abs(projection).argmax(axis=0), np.arange(DIM)])
    np.save(TARGET, projection.astype(np.float16))
    kept = values[::-1][:DIM].sum() / values.sum()
    print(f"{num_words:,} words, {kept:.1%} of their length kept")
    print(sha256(TARGET.read_bytes()).hexdigest())


def word_rows(text: str) -> np.ndarray:
    """Return the unit vectors of the content words of a text, before projection."""
    hidden, offsets = hidden_states(text)
    starts = np.array([start for start, _ in offsets[1:-1]])
    rows = []
    for _, span in content_words(text):
        first, last = np.searchsorted(starts, [span.start, span.end])
        if first < last:
            rows.append(hidden[first + 1 : last + 1].mean(axis=0))
    matrix = np.array(rows, dtype=np.float64).reshape(len(rows), 384)
    return matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)


if __name__ == "__main__":
    main()

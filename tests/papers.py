"""Made-up papers, as many as a test wants, each with words of its own."""

from random import Random

from paper_qa.domain import Paper, Place

TOPICS = ("retrieval", "translation", "parsing", "segmentation", "planning", "forecasting")
WORDS = [
    "model",
    "data",
    "method",
    "training",
    "graph",
    "kernel",
    "sample",
    "policy",
    "reward",
    "image",
    "speech",
    "language",
    "token",
    "layer",
    "gradient",
    "noise",
    "bound",
    "proof",
    "theorem",
    "search",
    "memory",
    "agent",
    "robot",
    "protein",
    "climate",
    "market",
]


def make_paper(number: int, *, file: str = "made.txt") -> Paper:
    """Return the paper of this number: always the same, and unlike all others."""
    random = Random(number)
    topic = TOPICS[number % len(TOPICS)]
    sentences = [
        f"We study {topic} with marker{number} and {' '.join(random.choices(WORDS, k=12))}."
        for _ in range(random.randint(2, 5))
    ]
    return Paper(
        id=f"m{number}",
        title=f"Paper {number} on {topic}",
        abstract=" ".join(sentences),
        authors=("Ada Lovelace", f"Author {number}"),
        year=2000 + number % 25,
        venue="Made Up",
        url=f"https://example.org/{number}",
        found_in=(Place(file, number + 1),),
    )


def make_papers(count: int, *, start: int = 0) -> list[Paper]:
    return [make_paper(number) for number in range(start, start + count)]

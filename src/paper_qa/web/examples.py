"""Example questions that the library which is loaded can answer."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from paper_qa.domain import Paper

NUM_EXAMPLES = 4

SEED_QUESTIONS = (
    ("qian24a", "How does Momentor get its training data?"),
    ("jelassi24a", "Why are transformers better than state space models at copying?"),
    ("", "Which papers study backdoor attacks on language models?"),
    ("cresswell24a", "Do conformal prediction sets help people decide?"),
)
"""Questions about the seeds, each with the paper it needs."""

_SEED_TOPIC_PAPERS = frozenset({"zhao24r", "liu24bu"})
_NAMED_TITLE = re.compile(r"([A-Z][\w.+-]*[A-Z0-9][\w.+-]*|[A-Z][a-z]{4,}[\w+-]*): \S")
_WORDS = re.compile(r"[A-Za-z][a-z-]{2,}")
_COMMON = re.compile(
    r"and|are|based|both|for|from|how|improved|into|its|not|new|one|position|some|than|that|the"
    r"|their|this|towards?|under|using|via|what|when|where|which|why|with|without"
)


def example_questions(papers: Sequence[Paper]) -> list[str]:
    """Return a few questions about these papers, the seeds' own ones where the seeds are loaded."""
    ids = {paper.id for paper in papers}
    questions = [
        question
        for paper_id, question in SEED_QUESTIONS
        if paper_id in ids or (not paper_id and ids >= _SEED_TOPIC_PAPERS)
    ]
    if len(questions) < NUM_EXAMPLES:
        questions += _questions_from_titles(papers)
    return list(dict.fromkeys(questions))[:NUM_EXAMPLES]


def _questions_from_titles(papers: Sequence[Paper]) -> list[str]:
    topic = _frequent_topic(paper.title for paper in papers)
    questions = [f"Which papers are about {topic}?"] if topic else []
    names = [match[1] for paper in papers if (match := _NAMED_TITLE.match(paper.title))]
    questions += [f"What is {name}, and what is it good for?" for name in names[:NUM_EXAMPLES]]
    plain = (paper.title for paper in papers if "$" not in paper.title)
    titles = [title for title in plain if 10 <= len(title) <= 90]
    return questions + [f"What is shown in “{title}”?" for title in titles[:NUM_EXAMPLES]]


def _frequent_topic(titles: Iterable[str]) -> str:
    """Return the pair of neighbouring words that most titles share, or nothing."""
    pairs: Counter[str] = Counter()
    for title in titles:
        words = [word.lower() for word in _WORDS.findall(title)]
        pairs.update(
            {
                f"{first} {second}"
                for first, second in pairwise(words)
                if not _COMMON.fullmatch(first) and not _COMMON.fullmatch(second)
                if f"{first} {second}" in title.lower()
            }
        )
    # Of pairs that are equally frequent, the alphabet decides: the same library, the same examples.
    best = min(pairs.items(), key=lambda item: (-item[1], item[0]), default=("", 0))
    return best[0] if best[1] > 1 else ""

"""Cutting a paper into the passages that are embedded: whole sentences, the title in front."""

from collections.abc import Callable
from hashlib import sha256

from paper_qa.domain import Paper, Passage
from paper_qa.sentences import split_sentences

NUM_MARKS = 2  # tokens that stand around every text
MAX_TOKENS = 256  # the length that the built-in embedder was tuned for


def chunk_paper(
    paper: Paper, num_tokens: Callable[[str], int], max_tokens: int = MAX_TOKENS
) -> list[Passage]:
    """Cut the abstract into runs of whole sentences that, title included, fit the embedder.

    A sentence that is too long by itself stays whole; the embedder reads its beginning.
    """
    if not paper.abstract.strip():
        return []
    whole = _passage(paper, *_trimmed(paper.abstract))
    if num_tokens(passage_text(paper, whole)) <= max_tokens:
        return [whole]
    budget = max_tokens - num_tokens(paper.title)
    passages: list[Passage] = []
    start, end, used = -1, -1, 0
    for span in split_sentences(paper.abstract):
        cost = num_tokens(paper.abstract[span.start : span.end]) - NUM_MARKS
        if start >= 0 and used + cost > budget:
            passages.append(_passage(paper, start, end))
            start, used = -1, 0
        start = span.start if start < 0 else start
        end, used = span.end, used + cost
    passages.append(_passage(paper, start, end))
    return passages


def passage_text(paper: Paper, passage: Passage) -> str:
    """Return what is embedded for a passage: the title, a line break, the sentences."""
    return _text(paper, passage.start, passage.end)


def paper_id_of(passage_id: str) -> str:
    """Return the id of the paper that a passage is from."""
    return passage_id.rsplit(":", 2)[0]


def _text(paper: Paper, start: int, end: int) -> str:
    words = paper.abstract[start:end]
    return f"{paper.title}\n{words}" if paper.title else words


def _passage(paper: Paper, start: int, end: int) -> Passage:
    digest = sha256(_text(paper, start, end).encode(errors="surrogatepass")).hexdigest()[:12]
    return Passage(f"{paper.id}:{start}-{end}:{digest}", paper.id, start, end)


def _trimmed(text: str) -> tuple[int, int]:
    return len(text) - len(text.lstrip()), len(text.rstrip())

"""Sentences in papers that speak to a language model instead of its readers.

An abstract states; it gives no orders. A sentence that does is neither shown to a model nor taken
for evidence, so a model that obeys it all the same has nothing to rest on.
"""

import functools
import re
from collections.abc import Sequence
from itertools import pairwise

from paper_qa.domain import Span
from paper_qa.sentences import split_sentences

_INSTRUCTION = re.compile(
    r"""
      ^\W*(?:(?:now|then|please|and|but|so)\s+)*(?:ignore|disregard|forget|override)\b.{0,50}
      \b(?:above|previous|prior|preceding|earlier|instructions?|prompts?|rules|the\ question)\b
    | \b(?:ignore|disregard|forget|override)\s+(?:(?:all|any|the|your|these|of)\s+)*
      (?:above|previous|prior|preceding|earlier|instructions|rules)\b
    | (?:^|\n|["“(\[\#*])\s*(?:system|assistant|user|tool|developer|human)
      \s*(?:message|prompt|note)?:
    | <\|[^|>\n]{1,40}\|> | \[/?INST\] | <</?SYS>> | <(?:start|end)_of_turn> | </?system\b
    | ^(?:now\s+|then\s+|please\s+|always\s+|instead,?\s+|just\s+)*
      (?:say|reply|respond|output|print|repeat|cite|tell\s+the\s+(?:user|reader))\s+
      (?:that|with|only|exactly|paper|the\s+(?:word|phrase|text)|["'“\[])
    | \byou\s+(?:are\s+(?:now\s+)?(?:an?\s+)?(?:\w+\s+){0,2}(?:assistant|model|ai)\b
      | (?:must|should|will|have\s+to|need\s+to)\s+(?:now\s+|only\s+|always\s+)*
        (?:answer|reply|respond|say|cite|output|write|print|obey|follow|ignore))
    """,
    re.IGNORECASE | re.VERBOSE,
)


def is_instruction(sentence: str) -> bool:
    """Tell whether a sentence tells a model what to do."""
    return _INSTRUCTION.search(sentence) is not None


@functools.lru_cache(maxsize=1024)
def statements(abstract: str) -> tuple[Span, ...]:
    """Return the sentences of an abstract, without those that are instructions."""
    spans = split_sentences(abstract)
    return tuple(span for span in spans if not is_instruction(abstract[span.start : span.end]))


def are_adjacent(abstract: str, spans: Sequence[Span]) -> bool:
    """Tell whether nothing was left out between sentences that follow each other."""
    return not any(abstract[one.end : two.start].strip() for one, two in pairwise(spans))


def stated(abstract: str) -> str:
    """Return an abstract as it is shown to a model: as it is, or without its instructions."""
    kept = statements(abstract)
    if len(kept) == len(split_sentences(abstract)):
        return abstract
    return " ".join(abstract[span.start : span.end] for span in kept)

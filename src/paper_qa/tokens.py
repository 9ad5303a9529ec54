"""The words of a text as the checker sees them: what each is, and whether it is negated."""

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from paper_qa.domain import Span
from paper_qa.lexicon import load_lexicon, stem
from paper_qa.words import WORD, is_function_word

SCOPE = 6  # words after a "not" that it may negate
_NEGATORS = frozenset(
    """
    not no never none neither nor without cannot n't lack lacks lacked lacking fail fails failed
    failing unable hardly rarely seldom barely absence absent nothing nobody ignore ignores ignored
    ignoring neglect neglects neglected overlook overlooks overlooked free prevents prevent avoid
    avoids avoiding eliminate eliminates eliminating remove removes
    """.split()  # noqa: SIM905 - quoted words are no easier to read
)
_PHRASES_OF_NEGATION = {("rather", "than"), ("instead", "of"), ("far", "from"), ("no", "longer")}
_NO_NEGATION = {("not", "only"), ("not", "just"), ("no", "doubt"), ("not", "merely")}
CLAUSE_WORDS = frozenset(
    ["but", "which", "while", "whereas", "although", "though", "because", "since"]
)


@dataclass(frozen=True, slots=True)
class Token:
    """A word, where it stands, and what is known of it by itself."""

    word: str
    stem: str
    span: Span
    content: bool
    name: bool
    negated: bool
    rarity: float


@functools.lru_cache(maxsize=2048)
def tokens_of(text: str, offset: int = 0) -> tuple[Token, ...]:
    """Return the words of a text, their spans moved by an offset."""
    lexicon = load_lexicon()
    matches = list(WORD.finditer(text))
    words = [match[0].lower().replace("’", "'") for match in matches]
    negated = _negated(text, matches, words)
    tokens: list[Token] = []
    for number, match in enumerate(matches):
        word = words[number]
        content = not is_function_word(word)
        tokens.append(
            Token(
                word,
                stem(word),
                Span(match.start() + offset, match.end() + offset),
                content,
                content and _is_name(match[0], _starts_sentence(text, match.start())),
                negated[number],
                lexicon.rarity(word) if content else 0.0,
            )
        )
    return tuple(tokens)


def num_negations(tokens: Sequence[Token]) -> int:
    """Count the negations in a stretch of text."""
    words = [token.word for token in tokens]
    return sum(_is_negator(words, at) for at in range(len(words)))


def _is_name(word: str, starts_sentence: bool) -> bool:  # noqa: FBT001 - two ways to look at it
    if any(letter.isupper() for letter in word[1:]):
        return True
    if any(letter.isdigit() for letter in word) and any(letter.isalpha() for letter in word):
        return not word[0].isdigit()
    return word[0].isupper() and not starts_sentence


def _starts_sentence(text: str, start: int) -> bool:
    before = text[:start].rstrip(" \n\t\"'“‘(")
    return not before or before[-1] in ".!?:"


def _is_negator(words: Sequence[str], at: int) -> bool:
    here = (words[at], words[at + 1] if at + 1 < len(words) else "")
    if here in _NO_NEGATION:
        return False
    return here in _PHRASES_OF_NEGATION or words[at] in _NEGATORS or words[at].endswith("n't")


def _negated(text: str, matches: Sequence[re.Match[str]], words: Sequence[str]) -> list[bool]:
    """Tell of each word whether an odd number of negations have it in their scope."""
    counts = [0] * len(words)
    for at in range(len(words)):
        if not _is_negator(words, at):
            continue
        for other in range(at + 1, min(at + 1 + SCOPE, len(words))):
            gap = text[matches[other - 1].end() : matches[other].start()]
            if words[other] in CLAUSE_WORDS or re.search(r"[;:.]\s", gap):
                break
            counts[other] += 1
    return [count % 2 == 1 for count in counts]


@functools.lru_cache(maxsize=20_000)
def part_stems(word: str) -> tuple[str, ...]:
    """Return the stems of the parts of a compound; nothing for a simple word."""
    parts = [part for part in re.split(r"[-_/]", word) if len(part) > 1]
    return tuple(stem(part) for part in parts) if len(parts) > 1 else ()

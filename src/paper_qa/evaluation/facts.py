"""Which of the facts that a question asks for an answer states, and how long the answer is.

A fact is a string of alternatives separated by ``||``, stated when one of them is in the text.
An alternative is matched literally, as whole words, and a plural ending may follow.
One in capitals throughout is an acronym and matched as such: ``SAM`` is not "Sam".

Both sides are brought to one typography first: white space to one blank, dashes to ``-``, quotation
marks to ``'`` and ``"``, so that neither an editor's dash nor a line break decides about a fact.
"""

import re
import unicodedata
from collections.abc import Iterable

_SEPARATOR = "||"
_MARKERS = re.compile(r"\s*\[\d+\]")
_TYPOGRAPHY = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-"),
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", None),
    }
)
# Scripts that set no spaces between words have no word boundaries to look for: Thai to Khmer,
# and Chinese, Japanese and Korean with their punctuation and full-width forms.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
)
_UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED}]")
_DIGITS_GO_ON = re.compile(r"[.,]?\d")
_COUNTED_WORD = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]+")


def states_fact(text: str, fact: str) -> bool:
    """Tell whether ``text`` holds one of the alternatives of ``fact``."""
    plain = _plain(text)
    alternatives = (_plain(alternative) for alternative in fact.split(_SEPARATOR))
    return any(_holds(plain, alternative) for alternative in alternatives if alternative)


def num_facts_stated(text: str, facts: Iterable[str]) -> int:
    """Count the facts that ``text`` states."""
    return sum(states_fact(text, fact) for fact in facts)


def num_words(text: str) -> int:
    """Count the words without the markers; in unspaced scripts each character is one."""
    return len(_COUNTED_WORD.findall(_MARKERS.sub("", text)))


def _plain(text: str) -> str:
    """Drop the citation markers, whose numbers state nothing, and level the typography."""
    composed = unicodedata.normalize("NFC", _MARKERS.sub("", text))
    return " ".join(composed.translate(_TYPOGRAPHY).split())


def _holds(text: str, alternative: str) -> bool:
    if not alternative.isupper():
        text, alternative = text.casefold(), alternative.casefold()
    start = text.find(alternative)
    while start >= 0:
        if _begins_word(text, start) and _ends_word(text, start + len(alternative)):
            return True
        start = text.find(alternative, start + 1)
    return False


def _begins_word(text: str, start: int) -> bool:
    """Tell whether a word begins here; 21 does not begin inside 3.21 (UAX 29, rule WB12)."""
    before = text[max(start - 2, 0) : start]
    if text[start].isdecimal() and before[-1:] in {".", ","} and before[:-1].isdecimal():
        return False
    return not (_is_letter(text[start]) and _is_letter(before[-1:]))


def _ends_word(text: str, end: int) -> bool:
    """Tell whether the word ends here, plural or not; a unit may touch a number (``16.2ms``)."""
    last, after = text[end - 1], text[end : end + 3]
    if last.isdecimal():
        return _DIGITS_GO_ON.match(after) is None
    if not _is_letter(last):
        return True
    return any(
        after.startswith(ending) and not _is_letter(after[len(ending) : len(ending) + 1])
        for ending in ("", "s", "es")
    )


def _is_letter(character: str) -> bool:
    """Tell letters and digits from the rest; an underscore is emphasis in Markdown."""
    return character.isalnum() and not _UNSPACED_CHARACTER.match(character)

"""Sentences that speak of the one before: what becomes of them when that one is withheld."""

import re

_CONNECTIVES = re.compile(
    r"^(?:however|moreover|furthermore|additionally|in addition|besides|also|therefore|thus|hence|"
    r"consequently|as a result|accordingly|instead|nevertheless|nonetheless|still|yet|but|and|so|"
    r"in contrast|by contrast|conversely|on the other hand|similarly|likewise|in particular|"
    r"specifically|for example|for instance|that is|indeed|in fact|finally|then|next)\b,?\s+",
    re.IGNORECASE,
)
_REFERS_BACK = re.compile(
    r"^(?:it|its|they|their|theirs|them|he|she|his|her|the former|the latter|the same|both|"
    r"(?:this|these|that|those|such)(?!\s+(?:paper|work|study|article|survey|research|abstract)s?\b)"
    r")\b",
    re.IGNORECASE,
)


def refers_back(sentence: str) -> bool:
    """Tell whether a sentence begins with a pronoun, and so speaks of what came before."""
    return bool(_REFERS_BACK.match(_CONNECTIVES.sub("", sentence)))


class Thread:
    """Follows an answer, sentence by sentence, and knows whether the last subject was shown."""

    def __init__(self) -> None:
        self._is_lost = False

    def mended(self, sentence: str) -> str | None:
        """Return a sentence as it reads after what was shown; None if its "it" was withheld.

        A "however" that answered to a withheld sentence is dropped.
        """
        if not self._is_lost:
            return sentence
        text = _CONNECTIVES.sub("", sentence)
        if _REFERS_BACK.match(text):
            return None
        return text[:1].upper() + text[1:]

    def follow(self, sentence: str, *, is_shown: bool) -> None:
        """Take note of what became of a sentence; an "it" leaves the subject where it was."""
        if not refers_back(sentence):
            self._is_lost = not is_shown

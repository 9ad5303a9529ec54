"""Numbers in a text, however they are written: 12, twelve, 1,200, 0.1 million, 100k."""

import re
from dataclasses import dataclass

_UP_TO_TWENTY = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty
"""
_SCALES = {
    "k": 1e3,
    "thousand": 1e3,
    "m": 1e6,
    "million": 1e6,
    "b": 1e9,
    "billion": 1e9,
}
_FIGURE = re.compile(
    r"(?<![\w.])(?P<digits>\d+(?:,\d{3})+(?!\d)|\d+|(?=\.\d))(?P<fraction>\.\d+)?"
    r"(?:\s?(?P<scale>thousand|million|billion|k|m|b)\b)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number and the last place to which it is given: 0.01 for 93.63, 1e5 for 0.1 million."""

    value: float
    place: float

    def is_rounded(self, exact: "Figure") -> bool:
        """Tell whether this is ``exact``, or ``exact`` rounded to fewer places."""
        if self.place < exact.place:
            return abs(self.value - exact.value) < self.place / 2
        return abs(self.value - exact.value) <= self.place / 2 * (1 + 1e-9)


_WORDS = {word: Figure(float(number), 1.0) for number, word in enumerate(_UP_TO_TWENTY.split())}
_WORDS["half"] = Figure(0.5, 0.1)
_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)
_AMBIGUOUS = frozenset({"one"})  # mostly a pronoun


def figures(text: str) -> list[Figure]:
    """Return the numbers in a text; of those in words, the ones up to twenty."""
    found = [_figure(match) for match in _FIGURE.finditer(text)]
    words = (match[0].lower() for match in _WORD.finditer(text))
    return found + [_WORDS[word] for word in words if word not in _AMBIGUOUS]


def _figure(match: re.Match[str]) -> Figure:
    fraction = match["fraction"] or ""
    scale = _SCALES[match["scale"].lower()] if match["scale"] else 1.0
    value = float(match["digits"].replace(",", "") + fraction)
    return Figure(value * scale, 10.0 ** -max(len(fraction) - 1, 0) * scale)

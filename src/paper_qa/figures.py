"""Numbers in a text, however they are written: 12, twelve, 1,200, 0.1 million, 100k."""

import re
from dataclasses import dataclass

from paper_qa.domain import Span

_UP_TO_TWENTY = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty
"""
_TENS = "thirty forty fifty sixty seventy eighty ninety hundred"
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
_PERCENT = re.compile(r"\s?(?:\\?%|per\s?cent|percent)", re.IGNORECASE)


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


@dataclass(frozen=True, slots=True)
class PlacedFigure:
    """A number where it stands, and whether it is one of percent."""

    figure: Figure
    span: Span
    percent: bool


_WORDS = {
    **{word: Figure(float(number), 1.0) for number, word in enumerate(_UP_TO_TWENTY.split())},
    **{word: Figure(10.0 * number, 1.0) for number, word in enumerate(_TENS.split(), 3)},
}
_WORDS["half"] = Figure(0.5, 0.1)
_WORDS["twice"] = Figure(2.0, 1.0)
_WORD = re.compile(
    rf"\b(?P<word>{'|'.join(_WORDS)})\b(?:[\s-](?P<scale>thousand|million|billion)\b)?",
    re.IGNORECASE,
)
_AMBIGUOUS = frozenset({"one"})  # mostly a pronoun


def figures(text: str) -> list[Figure]:
    """Return the numbers in a text; of those in words, the ones up to twenty and the tens."""
    return [placed.figure for placed in placed_figures(text)]


def placed_figures(text: str) -> list[PlacedFigure]:
    """Return the numbers in a text with their places, first those in digits."""
    found = [
        PlacedFigure(_figure(match), Span(*match.span()), _is_percent(text, match))
        for match in _FIGURE.finditer(text)
    ]
    for match in _WORD.finditer(text):
        if match[0].lower() not in _AMBIGUOUS:
            figure = _scaled(_WORDS[match["word"].lower()], match["scale"])
            found.append(PlacedFigure(figure, Span(*match.span()), _is_percent(text, match)))
    return found


def _figure(match: re.Match[str]) -> Figure:
    fraction = match["fraction"] or ""
    value = float(match["digits"].replace(",", "") + fraction)
    return _scaled(Figure(value, 10.0 ** -max(len(fraction) - 1, 0)), match["scale"])


def _scaled(figure: Figure, scale: str | None) -> Figure:
    factor = _SCALES[scale.lower()] if scale else 1.0
    return Figure(figure.value * factor, figure.place * factor)


def _is_percent(text: str, match: re.Match[str]) -> bool:
    return _PERCENT.match(text, match.end()) is not None

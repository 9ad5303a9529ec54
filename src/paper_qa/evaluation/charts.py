"""Charts as SVG inside a page: drawn by the page's colours, and described for who can't see them.

Coordinates are in units of the drawing, which the page scales to its width.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from paper_qa.evaluation.bootstrap import Interval
from paper_qa.evaluation.markup import Markup, element, joined
from paper_qa.evaluation.measures import CalibrationBin

_WIDTH = 340
_LABELS, _VALUES = 100, 40  # left and right of the bars
_ROW, _BAR = 22, 12
_PLOT = _WIDTH - _LABELS - _VALUES
_LONGEST = 15  # characters of a label
_MARGIN, _SIDE = 44, 280  # of a square plot
_TOPS = (0.1, 0.2, 0.5)  # where the axis of the risk may end, before 1


@dataclass(frozen=True, slots=True)
class Bar:
    """A measure between 0 and 1 of some questions."""

    label: str
    value: float
    interval: Interval | None


def bar_chart(key: str, title: str, bars: Sequence[Bar]) -> Markup:
    """Draw a bar for each group, with its interval as a line; ``key`` is its own on the page."""
    bottom = _ROW * len(bars)
    said = "; ".join(f"{bar.label}: {_said(bar)}" for bar in bars)
    ticks = [_vertical(_across(share), bottom, f"{share:g}") for share in (0.0, 0.5, 1.0)]
    rows = [_bar(bar, top=_ROW * number) for number, bar in enumerate(bars)]
    return _drawing(key, title, said, (_WIDTH, bottom + 20), [*ticks, *rows])


def risk_coverage_chart(
    points: Sequence[tuple[float, float]], now: tuple[float, float] | None
) -> Markup:
    """Draw the share of false answers over the share of questions answered.

    The dashed line is what answering in any order gives, the dot what is answered now.
    """
    all_answered = points[-1][1]
    highest = max(risk for _, risk in points)
    top = next((bound for bound in _TOPS if highest <= bound), 1.0)
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (_at(c, r / top) for c, r in points))
    level = _at(0, all_answered / top)[1]
    shapes = [
        *_axes("share answered", "share of them that is false", top),
        _line((_MARGIN, level), (_MARGIN + _SIDE, level), class_="chance"),
        element("polyline", points=path, class_="curve"),
    ]
    said = f"Where all are answered {all_answered:.2f} of the answers are false"
    if now:
        shapes.append(_dot(now[0], now[1] / top, 5, f"now: {now[0]:.2f} answered, {now[1]:.2f}"))
        said += f"; now {now[0]:.2f} are answered, and {now[1]:.2f} of the answers are false"
    at_half = points[(len(points) - 1) // 2][1]
    said += f"; of the more confident half {at_half:.2f} would be."
    return _square("risk", "Risk and coverage", said, shapes)


def calibration_chart(bins: Sequence[CalibrationBin]) -> Markup:
    """Draw how many questions of each confidence are answerable; ideal is the dashed line."""
    total = sum(alike.num_items for alike in bins)
    start, end = _at(0, 0), _at(1, 1)
    shapes = [
        *_axes("confidence", "share answerable", 1.0),
        _line(start, end, class_="chance"),
        *(
            _dot(x.score, x.share_true, 3 + 9 * (x.num_items / total) ** 0.5, _said_of_bin(x))
            for x in bins
        ),
    ]
    said = "; ".join(map(_said_of_bin, bins))
    return _square("calibration", "Calibration of the confidence", said, shapes)


def _bar(bar: Bar, *, top: int) -> Markup:
    label = bar.label if len(bar.label) <= _LONGEST else bar.label[: _LONGEST - 1] + "…"
    middle = top + _ROW / 2
    shapes = [
        element("title", f"{bar.label}: {_said(bar)}"),
        element("text", label, x=_LABELS - 8, y=middle + 4, class_="end"),
        element(
            "rect",
            x=_LABELS,
            y=middle - _BAR / 2,
            width=f"{_PLOT * bar.value:.1f}",
            height=_BAR,
            class_="bar",
        ),
        element("text", f"{bar.value:.2f}", x=_WIDTH - _VALUES + 8, y=middle + 4),
    ]
    return element("g", *shapes, *_whisker(bar.interval, middle))


def _whisker(interval: Interval | None, middle: float) -> list[Markup]:
    """Draw an interval as a line with ends."""
    if interval is None:
        return []
    low, high = map(_across, interval)
    ends = [_line((x, middle - 4), (x, middle + 4), class_="whisker") for x in (low, high)]
    return [_line((low, middle), (high, middle), class_="whisker"), *ends]


def _across(share: float) -> float:
    return _LABELS + _PLOT * share


def _vertical(x: float, bottom: float, label: str) -> Markup:
    return joined(
        [
            _line((x, 0), (x, bottom + 4), class_="grid"),
            element("text", label, x=x, y=bottom + 16, class_="middle"),
        ]
    )


def _axes(across: str, upwards: str, top: float) -> list[Markup]:
    """Draw the grid of a square plot; its height stands for ``top``."""
    shapes: list[Markup] = []
    for share in (0.0, 0.5, 1.0):
        x, y = _at(share, share)
        shapes += [
            _line((x, _MARGIN / 4), (x, _at(0, 0)[1]), class_="grid"),
            _line((_MARGIN, y), (_MARGIN + _SIDE, y), class_="grid"),
            element("text", f"{share:g}", x=x, y=_at(0, 0)[1] + 16, class_="middle"),
            element("text", f"{share * top:g}", x=_MARGIN - 6, y=y + 4, class_="end"),
        ]
    centre, middle = _at(0.5, 0.5)
    turned = f"rotate(-90 12 {middle:.1f})"
    return [
        *shapes,
        element("text", across, x=centre, y=_at(0, 0)[1] + 32, class_="middle"),
        element("text", upwards, x=12, y=middle, transform=turned, class_="middle"),
    ]


def _at(across: float, upwards: float) -> tuple[float, float]:
    """Return the place of a point of a square plot, whose sides are from 0 to 1."""
    return _MARGIN + _SIDE * across, _MARGIN / 4 + _SIDE * (1 - upwards)


def _dot(across: float, upwards: float, radius: float, said: str) -> Markup:
    x, y = _at(across, upwards)
    place = {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": f"{radius:.1f}"}
    return element("circle", element("title", said), **place, class_="dot")


def _line(start: tuple[float, float], end: tuple[float, float], *, class_: str) -> Markup:
    (x1, y1), (x2, y2) = start, end
    place = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
    return element("line", **{key: f"{at:.1f}" for key, at in place.items()}, class_=class_)


def _square(key: str, title: str, said: str, shapes: Sequence[Markup]) -> Markup:
    return _drawing(key, title, said, (_WIDTH, _MARGIN / 4 + _SIDE + 40), shapes)


def _drawing(
    key: str, title: str, said: str, size: tuple[float, float], shapes: Sequence[Markup]
) -> Markup:
    """Return the picture with its name and what it shows, for screen readers."""
    width, height = size
    return element(
        "svg",
        element("title", title, id=f"{key}-title"),
        element("desc", said, id=f"{key}-desc"),
        *shapes,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_labelledby=f"{key}-title",
        aria_describedby=f"{key}-desc",
    )


def _said(bar: Bar) -> str:
    low_high = f", interval {bar.interval[0]:.2f} to {bar.interval[1]:.2f}" if bar.interval else ""
    return f"{bar.value:.2f}{low_high}"


def _said_of_bin(alike: CalibrationBin) -> str:
    return (
        f"{alike.num_items} of confidence {alike.score:.2f}: {alike.share_true:.2f} are answerable"
    )

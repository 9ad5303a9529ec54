"""The report as plain text for a terminal: a few narrow tables rather than one that wraps."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from paper_qa.evaluation.bootstrap import Difference, Interval
from paper_qa.evaluation.claims import ClaimReport, Measured
from paper_qa.evaluation.comparison import Comparison
from paper_qa.evaluation.report import Group, Report
from paper_qa.evaluation.results import JUDGED

Rows = list[list[str]]

_TABLES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "Retrieval": {
            "ndcg@10": "nDCG@10",
            "recall@5": "recall@5",
            "recall@10": "recall@10",
            "mrr": "MRR",
        },
        "Answers": {
            "fact_recall": "fact recall",
            "mean_words": "words",
            "mean_claims": "claims",
            "citation_precision": "cit. precision",
            "citation_recall": "cit. recall",
        },
        "Declining": {
            "false_answer_rate": "false answers",
            "false_refusal_rate": "false refusals",
            "abstention_kind_accuracy": "right reason",
            "abstention_auroc": "AUROC",
        },
        "Risk, quotes": {
            "aurc": "AURC",
            "quote_validity": "valid quotes",
            "median_s": "seconds",
        },
        "Judged": {"alce_recall": "ALCE recall", "alce_precision": "ALCE precision"},
    }
)
_CLAIM_TABLES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "Verdicts": {"f1": "F1", "accuracy": "accuracy", "verdict_accuracy": "three-way"},
        "Scores": {
            "auroc": "AUROC",
            "auroc_length": "AUROC of length",
            "calibration_error": "calibration error",
            "median_ms": "ms",
        },
    }
)
NAMES: Mapping[str, str] = MappingProxyType(
    {key: name for columns in _TABLES.values() for key, name in columns.items()}
)
"""What the measures are called, in the order of the tables."""
# No interval is shown of these.
_BARE = frozenset({"mean_words", "mean_claims", "quote_validity", "median_s", "median_ms"})
_DECIMALS = MappingProxyType({"mean_words": 0, "mean_claims": 1, "median_s": 2, "median_ms": 1})


def render_table(report: Report) -> str:
    """Return the measures per type and overall, with their 95 % intervals in brackets."""
    return _rendered(heading(report), report_tables(report))


def render_claims(report: ClaimReport) -> str:
    """Return the measures over claims, and which share of each kind was told right."""
    return _rendered(claim_heading(report), claim_tables(report))


def render_comparison(comparison: Comparison) -> str:
    """Return what both runs have of each measure, how far they are apart, and whether clearly."""
    first, second = (saved.model or "nobody" for saved in (comparison.first, comparison.second))
    number = len(comparison.first.questions)
    rows = [["Measure", "first", "second", "second - first", ""]]
    rows += [
        [
            NAMES.get(key, key),
            _cell(key, found.first, None),
            _cell(key, found.second, None),
            _change(key, found),
            "clear" if found.is_clear else "",
        ]
        for key, found in comparison.differences.items()
    ]
    title = f"{number} questions, answered first by {first} and then by {second}"
    return _rendered(title + _judges(comparison), [rows])


def heading(report: Report) -> str:
    """Say how many questions were asked, who answered, and who judged that."""
    asked = f"{len(report.results)} questions, answered by {report.model or 'nobody'}"
    if not (judge := report.judge):
        return asked
    unclear = (
        f"; of {judge.num_judged} verdicts {judge.num_unclear} were neither yes nor no"
        if judge.num_unclear
        else ""
    )
    return f"{asked}, judged by {judge.name}{unclear}"


def claim_heading(report: ClaimReport) -> str:
    """Say how many claims were checked."""
    return f"{len(report.results)} claims, each checked against one abstract"


def report_tables(report: Report) -> list[Rows]:
    """Return the tables, each with its head: the title, and the names of the columns.

    What a judge is needed for is left out where there was none.
    """
    groups = {**report.by_type, "overall": report.overall}
    if any(result.question.history for result in report.results):
        groups["single-turn"] = report.single_turn
    return [
        _table(title, columns, groups)
        for title, columns in _TABLES.items()
        if report.judge or not set(columns) <= set(JUDGED)
    ]


def claim_tables(report: ClaimReport) -> list[Rows]:
    """Return the tables over claims, each with its head."""
    overall, by_kind = report.overall, report.by_kind
    number = str(len(report.results))
    tables: list[Rows] = [
        [
            [title, "n", *columns.values()],
            ["overall", number, *(_measured(key, overall[key]) for key in columns)],
        ]
        for title, columns in _CLAIM_TABLES.items()
    ]
    kinds = [
        [kind, str(len(by_kind[kind])), _measured("detection", share)]
        for kind, share in report.detection.items()
    ]
    return [*tables, [["Detection", "n", "told right"], *kinds]]


def _judges(comparison: Comparison) -> str:
    """Say who judged both runs, or that two did."""
    judges = [saved.judge.name for saved in (comparison.first, comparison.second) if saved.judge]
    if len(judges) < 2:
        return ""
    if comparison.has_one_judge:
        return f", judged by {judges[0]}"
    return f", judged by {judges[0]} and by {judges[1]}: ALCE is not compared between judges"


def _table(title: str, columns: Mapping[str, str], groups: Mapping[str, Group]) -> Rows:
    """Set a row for each group that the columns say something about."""
    rows = [[title, "n", *columns.values()]]
    for name, group in groups.items():
        if any(group.values[key] is not None for key in columns):
            cells = [_cell(key, group.values[key], group.intervals.get(key)) for key in columns]
            rows.append([name, str(group.num_questions), *cells])
    return rows


def _rendered(title: str, tables: Sequence[Rows]) -> str:
    return "\n\n".join([title, *map(_aligned, tables)]) + "\n"


def _aligned(rows: Rows) -> str:
    """Align the columns: the names to the left, what is measured to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(_line(row, widths) for row in rows)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [row[0].ljust(widths[0])]
    cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
    return "  ".join(cells).rstrip()


def _measured(key: str, measured: Measured) -> str:
    return _cell(key, measured.value, measured.interval)


def _cell(key: str, value: float | None, interval: Interval | None) -> str:
    if value is None:
        return "-"
    if key in _DECIMALS:
        return f"{value:.{_DECIMALS[key]}f}"
    almost = 0.999 < value < 1  # 1.000 is kept for what is without exception
    return _bare(f"{0.999 if almost else value:.3f}") + (
        "" if key in _BARE or interval is None else _brackets(interval)
    )


def _change(key: str, found: Difference) -> str:
    """Return a difference with its sign, and its interval."""
    decimals = _DECIMALS[key] + 1 if key in _DECIMALS else 3
    value, low, high = (f"{x:+.{decimals}f}" for x in (found.value, found.low, found.high))
    return _bare(value) + f" [{_bare(low)} {_bare(high)}]"


def _brackets(interval: Interval) -> str:
    return " [" + " ".join(_bare(f"{bound:.2f}") for bound in interval) + "]"


def _bare(number: str) -> str:
    """Drop the zero before the point, as the field writes its measures."""
    return number.replace("0.", ".", 1) if number.lstrip("+-").startswith("0.") else number

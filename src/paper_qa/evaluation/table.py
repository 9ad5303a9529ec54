"""The report as plain text for a terminal: a few narrow tables rather than one that wraps."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from paper_qa.evaluation.bootstrap import Interval
from paper_qa.evaluation.claims import ClaimReport, Measured
from paper_qa.evaluation.report import Group, Report

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
            "abstention_auroc": "AUROC",
            "quote_validity": "valid quotes",
            "median_s": "seconds",
        },
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
# No interval is shown of these.
_BARE = frozenset({"mean_words", "mean_claims", "quote_validity", "median_s", "median_ms"})
_DECIMALS = MappingProxyType({"mean_words": 0, "mean_claims": 1, "median_s": 2, "median_ms": 1})


def render_table(report: Report) -> str:
    """Return the measures per type and overall, with their 95 % intervals in brackets."""
    groups = {**report.by_type, "overall": report.overall}
    if any(result.question.history for result in report.results):
        groups["single-turn"] = report.single_turn
    tables = [_table(title, columns, groups) for title, columns in _TABLES.items()]
    heading = f"{len(report.results)} questions, answered by {report.model or 'nobody'}"
    return "\n\n".join([heading, *tables]) + "\n"


def render_claims(report: ClaimReport) -> str:
    """Return the measures over claims, and which share of each kind was told right."""
    overall, number = report.overall, str(len(report.results))
    tables = [
        [
            [title, "n", *columns.values()],
            ["overall", number, *(_measured(key, overall[key]) for key in columns)],
        ]
        for title, columns in _CLAIM_TABLES.items()
    ]
    by_kind = report.by_kind
    kinds = [
        [kind, str(len(by_kind[kind])), _measured("detection", share)]
        for kind, share in report.detection.items()
    ]
    tables.append([["Detection", "n", "told right"], *kinds])
    heading = f"{number} claims, each checked against one abstract"
    return "\n\n".join([heading, *map(_aligned, tables)]) + "\n"


def _table(title: str, columns: Mapping[str, str], groups: Mapping[str, Group]) -> str:
    """Set a row for each group that the columns say something about."""
    rows = [[title, "n", *columns.values()]]
    for name, group in groups.items():
        if any(group.values[key] is not None for key in columns):
            cells = [_cell(key, group.values[key], group.intervals.get(key)) for key in columns]
            rows.append([name, str(group.num_questions), *cells])
    return _aligned(rows)


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    """Align the columns: the names to the left, what is measured to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(_line(row, widths) for row in rows)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [row[0].ljust(widths[0])]
    cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
    return "  ".join(cells)


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


def _brackets(interval: Interval) -> str:
    return " [" + " ".join(_bare(f"{bound:.2f}") for bound in interval) + "]"


def _bare(number: str) -> str:
    """Drop the zero before the point, as the field writes its measures."""
    return number.removeprefix("0") if number.startswith("0.") else number

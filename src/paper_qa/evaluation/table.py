"""The report as plain text for a terminal: a few narrow tables rather than one that wraps."""

from collections.abc import Mapping
from types import MappingProxyType

from paper_qa.evaluation.bootstrap import Interval
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
_BARE = frozenset({"mean_words", "mean_claims", "quote_validity", "median_s"})  # no interval shown
_DECIMALS = MappingProxyType({"mean_words": 0, "mean_claims": 1, "median_s": 2})


def render_table(report: Report) -> str:
    """Return the measures per type and overall, with their 95 % intervals in brackets."""
    groups = {**report.by_type, "overall": report.overall}
    if any(result.question.history for result in report.results):
        groups["single-turn"] = report.single_turn
    tables = [_table(title, columns, groups) for title, columns in _TABLES.items()]
    heading = f"{len(report.results)} questions, answered by {report.model or 'nobody'}"
    return "\n\n".join([heading, *tables]) + "\n"


def _table(title: str, columns: Mapping[str, str], groups: Mapping[str, Group]) -> str:
    """Align the columns: the names to the left, what is measured to the right."""
    rows = [[title, "n", *columns.values()]]
    for name, group in groups.items():
        if any(group.values[key] is not None for key in columns):
            cells = [_cell(group, key) for key in columns]
            rows.append([name, str(group.num_questions), *cells])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(_line(row, widths) for row in rows)


def _line(row: list[str], widths: list[int]) -> str:
    cells = [row[0].ljust(widths[0])]
    cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
    return "  ".join(cells)


def _cell(group: Group, key: str) -> str:
    value, interval = group.values[key], group.intervals.get(key)
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

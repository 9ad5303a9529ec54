"""The report as one page: no script, nothing fetched, and all text of the data escaped."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from paper_qa.evaluation import abstention, charts, measures
from paper_qa.evaluation.charts import Bar
from paper_qa.evaluation.claims import ClaimReport, ClaimResult
from paper_qa.evaluation.html_questions import questions_section
from paper_qa.evaluation.markup import Markup, element, escaped, joined
from paper_qa.evaluation.report import Group, Report
from paper_qa.evaluation.results import QuestionResult
from paper_qa.evaluation.table import (
    NAMES,
    Rows,
    claim_heading,
    claim_tables,
    heading,
    report_tables,
)

_TITLE = "How good the answers are"
_CHARTED = (
    "ndcg@10",
    "fact_recall",
    "citation_precision",
    "citation_recall",
    "alce_recall",
    "alce_precision",
    "false_answer_rate",
    "false_refusal_rate",
)
# Nothing may run or be fetched, whatever text an abstract brings.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)
_INTERVALS = "Intervals, in brackets or as lines, are of 95 %."


def render_page(report: Report | None, claims: ClaimReport | None = None) -> str:
    """Return the page about a run over questions, over claims, or over both."""
    sections = [
        *(_about_questions(report) if report and report.results else []),
        *(_about_claims(claims) if claims else []),
        *([questions_section(report.results)] if report and report.results else []),
    ]
    body = element("main", element("h1", _TITLE), element("p", _INTERVALS), *sections)
    return _document(body)


def _document(body: Markup) -> str:
    style = Path(__file__).with_name("report.css").read_text("utf-8")
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="referrer" content="no-referrer">',
            '<meta name="color-scheme" content="light dark">',
            '<link rel="icon" href="data:,">',  # a browser would ask the server for one
            f"<title>{escaped(_TITLE)}</title>",
            f"<style>\n{style}</style>",
            "</head>",
            f"<body>{body}</body>",
            "</html>",
            "",
        ]
    )


def _about_questions(report: Report) -> list[Markup]:
    return [
        _section("Measures", element("p", heading(report)), *map(_table, report_tables(report))),
        _section("By type", element("div", *_bar_charts(report), class_="charts")),
        _section("Declining", *_about_declining(report.results)),
    ]


def _about_claims(claims: ClaimReport) -> list[Markup]:
    wrong = [result for result in claims.results if not result.is_right]
    listed = [_details(f"{len(wrong)} told wrong", _wrong_claims(wrong))] if wrong else []
    tables = map(_table, claim_tables(claims))
    return [_section("Claims", element("p", claim_heading(claims)), *tables, *listed)]


def _section(title: str, *children: Markup) -> Markup:
    return element("section", element("h2", title), *children)


def _details(summary: str, *children: Markup) -> Markup:
    return element("details", element("summary", summary), *children)


def _table(rows: Rows, *, of: str = "kind") -> Markup:
    """Return a table whose first row has its title and its columns; ``of`` names its rows."""
    (title, *columns), *lines = rows
    head = element("tr", *(element("th", name, scope="col") for name in (of, *columns)))
    body = (
        element("tr", element("th", name, scope="row"), *(element("td", cell) for cell in cells))
        for name, *cells in lines
    )
    table = element(
        "table", element("caption", title), element("thead", head), element("tbody", *body)
    )
    # A wide table scrolls by itself, with the keyboard too.
    return element("div", table, class_="wide", role="region", aria_label=title, tabindex=0)


def _bar_charts(report: Report) -> list[Markup]:
    groups = {**report.by_type, "overall": report.overall}
    bars = {key: _bars(groups, key) for key in _CHARTED}
    return [
        _figure(NAMES[key], charts.bar_chart(f"bars-{number}", NAMES[key], bars[key]))
        for number, key in enumerate(bars)
        if bars[key]
    ]


def _bars(groups: Mapping[str, Group], key: str) -> list[Bar]:
    return [
        Bar(name, value, group.intervals.get(key))
        for name, group in groups.items()
        if (value := group.values[key]) is not None
    ]


def _figure(caption: str, chart: Markup) -> Markup:
    return element("figure", element("figcaption", caption), chart)


def _about_declining(results: Sequence[QuestionResult]) -> list[Markup]:
    """Show when to decline: by confidence, and for which reason."""
    outcomes = [result.question.is_answerable for result in results]
    scores = [result.answer.confidence for result in results]
    error = measures.calibration_error(scores, outcomes)
    risk = charts.risk_coverage_chart(abstention.curve(results), _now(results))
    calibration = charts.calibration_chart(abstention.calibration(results))
    figures = [
        _figure(
            "What is answered first, if what is most confident is: the share of false answers "
            "(unanswerable questions) over the share of questions answered. "
            "Dashed: in any order. Dot: what is answered now.",
            risk,
        ),
        _figure(
            f"How often a question of each confidence is answerable; calibration error {error:.3f}."
            " Dashed: ideal. Larger dots: more questions.",
            calibration,
        ),
    ]
    return [
        element("div", *figures, class_="charts"),
        _table(_confusion(results), of="right reason"),
    ]


def _now(results: Sequence[QuestionResult]) -> tuple[float, float] | None:
    """Return which share is answered as it is, and which share of that is false."""
    given = [result for result in results if not result.answer.abstained]
    if not given:
        return None
    wrong = sum(not result.question.is_answerable for result in given)
    return len(given) / len(results), wrong / len(given)


def _confusion(results: Sequence[QuestionResult]) -> Rows:
    """Return the table of the reasons given for declining what is unanswerable."""
    found = abstention.confusion(results)
    reasons = list(next(iter(found.values())))
    rows = [[right, *(str(found[right][given]) for given in reasons)] for right in found]
    return [["Reasons given for declining", *reasons], *rows]


def _wrong_claims(wrong: Sequence[ClaimResult]) -> Markup:
    return element(
        "ul",
        *(
            element(
                "li",
                element("q", result.judged.claim),
                joined(
                    [
                        f" {result.judged.id}, {result.judged.kind}, {result.judged.paper_id}: ",
                        f"{result.judged.label}, and told {result.checked.support}",
                        f" ({result.checked.score:.2f})",
                    ]
                ),
            )
            for result in wrong
        ),
    )

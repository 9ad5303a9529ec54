"""``evaluate``."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paper_qa.cli.console import Console
from paper_qa.cli.options import Home, Json, Llm, Quiet, prepared, refuse, settings_with

if TYPE_CHECKING:
    from paper_qa.evaluation import ClaimReport, Question, Report


QuestionFile = Annotated[
    Path | None,
    typer.Option(
        "--questions",
        metavar="FILE",
        help="JSON Lines of questions; by default those about the seeds.",
    ),
]
ClaimFile = Annotated[
    Path | None,
    typer.Option(
        "--claims",
        metavar="FILE",
        help="JSON Lines of judged claims to check, instead of questions or beside --questions.",
    ),
]
Types = Annotated[
    list[str] | None,
    typer.Option("--type", metavar="TYPE", help="Only questions of this type; may be repeated."),
]
Limit = Annotated[
    int | None,
    typer.Option("--limit", min=1, metavar="N", help="Only the first N of each file."),
]


def evaluate(  # noqa: PLR0913 - an argument for each option
    *,
    questions: QuestionFile = None,
    claims: ClaimFile = None,
    types: Types = None,
    limit: Limit = None,
    json: Json = False,
    home: Home = None,
    llm: Llm = None,
    quiet: Quiet = False,
) -> None:
    """Measure how good the answers are, or the checks of claims."""
    from paper_qa.evaluation import read_claims, run_claims, run_evaluation

    console = Console(quiet=quiet)
    settings = settings_with(home=home, llm=llm)
    if types and claims and not questions:
        refuse("--type chooses among questions: name their file with --questions")
    asked = _asked(questions, types or ())[:limit] if questions or not claims else []
    judged = read_claims(claims)[:limit] if claims else []
    with prepared(settings, console) as qa:
        report = run_evaluation(qa, asked, progress=partial(console.progress, "Asking"))
        checked = run_claims(qa, judged, progress=partial(console.progress, "Checking"))
    _show(console, report if asked else None, checked if judged else None, json=json)


def _asked(file: Path | None, types: Sequence[str]) -> "list[Question]":
    """Return the questions of a file, or of the shipped one; with types, only theirs."""
    from paper_qa.evaluation import read_questions

    asked = read_questions(file or _shipped_questions())
    known = dict.fromkeys(question.type for question in asked)
    for name in types:
        if name not in known:
            refuse(f"no questions of type {name!r}: choose from {', '.join(known)}")
    return [question for question in asked if not types or question.type in types]


def _show(
    console: Console, report: "Report | None", checked: "ClaimReport | None", *, json: bool
) -> None:
    """Print what was measured: one object, or one table after the other."""
    from paper_qa.evaluation import render_claims, render_table

    if json:
        fields = report.to_dict() if report else {}
        console.json({**fields, "claims": checked.to_dict()} if checked else fields)
        return
    tables = [render_table(report)] if report else []
    tables += [render_claims(checked)] if checked else []
    console.table("\n".join(tables))


def _shipped_questions() -> Path:
    """Return the question set that came with the package, or that of the checkout it runs from."""
    from paper_qa import evaluation

    packaged = Path(evaluation.__file__).with_name("questions.jsonl")
    checkout = Path(__file__).parents[3] / "evaluation" / packaged.name
    return packaged if packaged.exists() else checkout

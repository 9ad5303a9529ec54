"""``evaluate``."""

from pathlib import Path
from typing import Annotated

import typer

from paper_qa.cli.console import Console
from paper_qa.cli.options import Home, Json, Llm, Quiet, prepared, refuse, settings_with


def evaluate(
    *,
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions",
            metavar="FILE",
            help="JSON Lines of questions; by default those about the seeds.",
        ),
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type", metavar="TYPE", help="Only questions of this type; may be repeated."
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="Only the first N questions.")
    ] = None,
    json: Json = False,
    home: Home = None,
    llm: Llm = None,
    quiet: Quiet = False,
) -> None:
    """Ask a set of questions and measure how good the answers are."""
    from paper_qa.evaluation import read_questions, render_table, run_evaluation

    console = Console(quiet=quiet)
    settings = settings_with(home=home, llm=llm)
    asked = read_questions(questions or _shipped_questions())
    known = dict.fromkeys(question.type for question in asked)
    for name in types or ():
        if name not in known:
            refuse(f"no questions of type {name!r}: choose from {', '.join(known)}")
    asked = [question for question in asked if not types or question.type in types][:limit]
    with prepared(settings, console) as qa:
        report = run_evaluation(
            qa, asked, progress=lambda done, total: console.progress("Asking", done, total)
        )
    if json:
        console.json(report.to_dict())
    else:
        console.table(render_table(report))


def _shipped_questions() -> Path:
    """Return the question set that came with the package, or that of the checkout it runs from."""
    from paper_qa import evaluation

    packaged = Path(evaluation.__file__).with_name("questions.jsonl")
    checkout = Path(__file__).parents[3] / "evaluation" / packaged.name
    return packaged if packaged.exists() else checkout

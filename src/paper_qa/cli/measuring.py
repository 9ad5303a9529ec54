"""``evaluate``."""

from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paper_qa.cli.console import Console, to_json
from paper_qa.cli.files import replacing
from paper_qa.cli.options import Home, Json, Llm, Quiet, prepared, refuse, settings_with
from paper_qa.errors import ConfigurationError, PaperQAError

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from paper_qa.evaluation import ClaimReport, JudgedClaim, Question, Report
    from paper_qa.settings import Settings

PAGE = "index.html"

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
ReportFolder = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FOLDER",
        help="Write a page with tables, charts and every answer to FOLDER/index.html, too.",
    ),
]
Judged = Annotated[
    bool,
    typer.Option(
        "--judge", help="Let the language model say whether citations support the claims, too."
    ),
]
TwoReports = Annotated[
    tuple[Path, Path] | None,
    typer.Option(
        "--compare",
        metavar="A B",
        help="Ask nothing, but say how far B is above A: files that --json or --report wrote.",
    ),
]


def evaluate(  # noqa: PLR0913 - an argument for each option
    *,
    questions: QuestionFile = None,
    claims: ClaimFile = None,
    types: Types = None,
    limit: Limit = None,
    judge: Judged = False,
    report: ReportFolder = None,
    compare: TwoReports = None,
    json: Json = False,
    home: Home = None,
    llm: Llm = None,
    quiet: Quiet = False,
) -> None:
    """Measure how good the answers are, or the checks of claims."""
    console = Console(quiet=quiet)
    if compare:
        if any((questions, claims, limit, judge, report, home, llm)):
            refuse("--compare asks nothing: leave out every option but --type, --json and --quiet")
        _compare(console, compare, types or (), json=json)
        return
    from paper_qa.evaluation import read_claims

    settings = settings_with(home=home, llm=llm)
    if types and claims and not questions:
        refuse("--type chooses among questions: name their file with --questions")
    if judge and claims and not questions:
        refuse("--judge judges answers to questions: name their file with --questions")
    asked = _asked(questions, types or ())[:limit] if questions or not claims else []
    judged = read_claims(claims)[:limit] if claims else []
    if report:
        _make_folder(report)
    with _judging(settings, home) if judge else nullcontext() as model:
        measured = _measure(console, settings, asked, judged, model)
    if report:
        _write(report, *measured)
        console.note(f"wrote {report / PAGE}")
    _show(console, *measured, json=json)


def _measure(
    console: Console,
    settings: "Settings",
    asked: "Sequence[Question]",
    claims: "Sequence[JudgedClaim]",
    judging: "LLM | None",
) -> "tuple[Report | None, ClaimReport | None]":
    """Ask the questions, let a model judge the answers if there is one, and check the claims."""
    from paper_qa.evaluation import LlmJudge, run_claims, run_evaluation

    judge = LlmJudge(judging) if judging else None
    doing = "Asking and judging" if judge else "Asking"
    # A model that judges what it wrote is not loaded twice.
    writing = judging if settings.llm != "extractive" else None
    with prepared(settings, console, writing) as qa:
        answered = run_evaluation(qa, asked, judge, progress=partial(console.progress, doing))
        checked = run_claims(qa, claims, progress=partial(console.progress, "Checking"))
    return answered if asked else None, checked if claims else None


@contextmanager
def _judging(settings: "Settings", home: Path | None) -> "Generator[LLM]":
    """Open the model that judges: the one that writes, or else the one that could.

    Raises:
        ConfigurationError: there is none.
    """
    from paper_qa.llm import Writer

    if settings.llm == "extractive":  # asked for in this call, perhaps
        settings = settings_with(home=home)
    if settings.llm == "extractive":
        settings = settings_with(home=home, llm="auto")
    with closing(Writer(settings)) as writer:
        model = writer.llm()
        if model is None:
            raise ConfigurationError(
                "--judge needs a language model: set PAPER_QA_LLM_BASE_URL to an endpoint, "
                "or fetch the embedded one with `paper-qa model pull`"
            )
        yield model


def _compare(
    console: Console, files: tuple[Path, Path], types: Sequence[str], *, json: bool
) -> None:
    """Print how far the second of two reports is above the first."""
    from paper_qa.evaluation import read_comparison, render_comparison

    comparison = read_comparison(*files, types)
    if json:
        console.json(comparison.to_dict())
    else:
        console.table(render_comparison(comparison))


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
        console.json(_fields(report, checked))
        return
    tables = [render_table(report)] if report else []
    tables += [render_claims(checked)] if checked else []
    console.table("\n".join(tables))


def _fields(report: "Report | None", checked: "ClaimReport | None") -> dict[str, object]:
    """Return what was measured as JSON types."""
    fields = report.to_dict() if report else {}
    return {**fields, "claims": checked.to_dict()} if checked else fields


def _make_folder(folder: Path) -> None:
    """Make the folder of the report, before time is spent on what would go into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PaperQAError(
            f"cannot make the folder {str(folder)!r}: {error.strerror}; name another"
        ) from error


def _write(folder: Path, report: "Report | None", checked: "ClaimReport | None") -> None:
    """Write the page and, beside it, the figures as JSON."""
    from paper_qa.evaluation import render_page

    with replacing(folder / "report.json") as stream:
        stream.write(to_json(_fields(report, checked)) + "\n")
    with replacing(folder / PAGE) as stream:
        stream.write(render_page(report, checked))


def _shipped_questions() -> Path:
    """Return the question set that came with the package, or that of the checkout it runs from."""
    from paper_qa import evaluation

    packaged = Path(evaluation.__file__).with_name("questions.jsonl")
    checkout = Path(__file__).parents[3] / "evaluation" / packaged.name
    return packaged if packaged.exists() else checkout

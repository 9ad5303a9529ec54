"""``paper-qa``: its commands, and the one place that turns errors into exit codes."""

import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from paper_qa.cli import asking, measuring, models, papers, serving
from paper_qa.cli.console import Console
from paper_qa.cores import keep_numpy_to_one_thread
from paper_qa.errors import PaperQAError

app = typer.Typer(
    name="paper-qa",
    help="Ask a collection of paper abstracts, and get answers whose every sentence is cited.",
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help reads the same in a pipe, and needs no rich
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(asking.ask)
app.command()(asking.search)
app.command()(asking.summarize)
app.command()(asking.check)
app.command("list")(papers.list_papers)
app.command()(papers.add)
app.command()(papers.remove)
app.command()(papers.export)
app.command()(papers.index)
app.command()(measuring.evaluate)
app.command()(serving.serve)
app.add_typer(models.app, name="model")


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run ``paper-qa`` and exit: 0 done, 1 error, and by typer 2 wrong usage, 130 interrupted."""
    keep_numpy_to_one_thread()
    try:
        app(arguments, prog_name="paper-qa")
    except PaperQAError as error:
        Console().error(str(error))
        sys.exit(1)
    sys.exit(0)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it with the flag
    if wanted:
        from importlib.metadata import version

        typer.echo(f"paper-qa {version('paper-qa-chat')}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Take the options that stand before a command."""

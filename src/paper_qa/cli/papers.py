"""``list``, ``add``, ``remove``, ``export`` and ``index``."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paper_qa.cli import render
from paper_qa.cli.console import Console
from paper_qa.cli.files import replacing
from paper_qa.cli.options import Home, Json, Quiet, opened, settings_with

if TYPE_CHECKING:
    from paper_qa.library import AddReport


def list_papers(*, json: Json = False, home: Home = None, quiet: Quiet = False) -> None:
    """List the papers of the library."""
    console = Console(quiet=quiet)
    with opened(settings_with(home=home)) as qa:
        papers = qa.papers()
    if json:
        console.json([render.paper_fields(paper) for paper in papers])
    elif papers:
        console.table(render.paper_table(papers))
    else:
        console.note("the library is empty: `paper-qa add FILE` puts papers in")


def add(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Text files of abstracts, or JSON Lines of papers, plain or gzipped.",
        ),
    ],
    *,
    json: Json = False,
    home: Home = None,
    quiet: Quiet = False,
) -> None:
    """Add papers to the library."""
    console = Console(quiet=quiet)
    reports: dict[str, AddReport] = {}
    with opened(settings_with(home=home)) as qa:
        for file in files:
            console.status(f"Adding {file}")
            with _resumable(console, "what had been added stays"):
                reports[str(file)] = qa.add(file, progress=console.progress)
            if not json:
                console.result(f"{file}: {render.added(reports[str(file)])}")
    if json:
        console.json({file: render.added_fields(report) for file, report in reports.items()})


def remove(
    ids: Annotated[
        list[str],
        typer.Argument(help="Ids of papers, as `paper-qa list` shows them."),
    ],
    *,
    home: Home = None,
    quiet: Quiet = False,
) -> None:
    """Remove papers from the library."""
    console = Console(quiet=quiet)
    with opened(settings_with(home=home)) as qa:
        qa.remove(*ids)
    console.note("removed 1 paper" if len(ids) == 1 else f"removed {len(ids):,} papers")


def export(
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to, instead of the screen."),
    ] = None,
    home: Home = None,
    quiet: Quiet = False,
) -> None:
    """Write all papers as JSON Lines.

    `paper-qa add` reads them again.
    """
    console = Console(quiet=quiet)
    with opened(settings_with(home=home)) as qa:
        if output is None:
            qa.export(sys.stdout)
            return
        with replacing(output) as stream:
            qa.export(stream)
    console.note(f"wrote {output}")


def index(
    *,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Build it anew.")] = False,
    home: Home = None,
    quiet: Quiet = False,
) -> None:
    """Bring the index in line with the library.

    What an interrupted `add` left undone is done here.
    """
    console = Console(quiet=quiet)
    with opened(settings_with(home=home)) as qa:
        bring_in_line = qa.rebuild_index if rebuild else qa.refresh_index
        with _resumable(console, "what had been embedded stays"):
            bring_in_line(console.progress)
        num_papers = len(qa.papers())
    console.note(f"{num_papers:,} papers indexed")


@contextmanager
def _resumable(console: Console, kept: str) -> Generator[None]:
    """Tell who interrupts that nothing is lost, and how it goes on."""
    try:
        yield
    except KeyboardInterrupt:
        console.note(f"interrupted: {kept}, and `paper-qa index` goes on from there")
        raise

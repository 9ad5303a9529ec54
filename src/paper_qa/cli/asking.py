"""``ask``, ``search``, ``summarize`` and ``check``."""

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from paper_qa.cli import render
from paper_qa.cli.console import Console
from paper_qa.cli.conversation import Printer, converse
from paper_qa.cli.options import (
    Author,
    FromYear,
    Home,
    Json,
    Llm,
    NoLlm,
    NumSources,
    Only,
    Quiet,
    Quotes,
    ToYear,
    Venue,
    not_blank,
    prepared,
    settings_with,
)
from paper_qa.domain import AskOptions, Scope

_MOST_BYTES_READ = 1_000_000  # far beyond any question; the core says how long one may be


def ask(  # noqa: PLR0913 - a flag each
    question: Annotated[
        list[str] | None,
        typer.Argument(
            help="What you want to know; - reads it from a pipe.",
            show_default=False,
        ),
    ] = None,
    *,
    from_year: FromYear = None,
    to_year: ToYear = None,
    venue: Venue = "",
    author: Author = "",
    paper: Only = None,
    sources: NumSources = None,
    no_llm: NoLlm = False,
    quotes: Quotes = False,
    json: Json = False,
    home: Home = None,
    llm: Llm = None,
    quiet: Quiet = False,
) -> None:
    """Answer a question from the abstracts, with citations.

    Without a question, at a terminal, it asks for one after the other; each may follow on from
    those before it.
    """
    scope = Scope(from_year, to_year, venue, author, tuple(paper or ()))
    options = AskOptions(scope, sources, write=not no_llm)
    printer = Printer(Console(quiet=quiet), json=json, quotes=quotes)
    piped = question in (None, [], ["-"])
    if piped and not question and sys.stdin.isatty():
        with prepared(settings_with(home=home, llm=llm), printer.console) as qa:
            converse(qa, printer, options=options)
        return
    text = not_blank([_read_question()] if piped else question or [], "question")
    with prepared(settings_with(home=home, llm=llm), printer.console) as qa:
        printer.show(qa.stream(text, options=options))


def search(  # noqa: PLR0913 - a flag each
    query: Annotated[list[str], typer.Argument(help="Words to look for.")],
    *,
    k: Annotated[int, typer.Option("-k", min=1, max=1000, metavar="N", help="How many.")] = 10,
    from_year: FromYear = None,
    to_year: ToYear = None,
    venue: Venue = "",
    author: Author = "",
    paper: Only = None,
    json: Json = False,
    home: Home = None,
    quiet: Quiet = False,
) -> None:
    """Find the papers nearest to a query, best first."""
    scope = Scope(from_year, to_year, venue, author, tuple(paper or ()))
    console = Console(quiet=quiet)
    text = not_blank(query, "query")
    with prepared(settings_with(home=home), console) as qa:
        hits = qa.search(text, k=k, options=AskOptions(scope))
    if json:
        console.json([render.hit_fields(hit) for hit in hits])
    elif hits:
        console.table(render.hit_table(hits))
    else:
        console.note("no paper fits")


def summarize(
    what: Annotated[
        list[str], typer.Argument(metavar="PAPER|TOPIC", help="A paper's id or title, or a topic.")
    ],
    *,
    quotes: Quotes = False,
    json: Json = False,
    home: Home = None,
    llm: Llm = None,
    quiet: Quiet = False,
) -> None:
    """Summarize a paper, or each paper on a topic, with citations."""
    printer = Printer(Console(quiet=quiet), json=json, quotes=quotes)
    text = not_blank(what, "paper or topic")
    with prepared(settings_with(home=home, llm=llm), printer.console) as qa:
        printer.console.status("Summarizing")
        printer.finish(qa.summarize(text))


def check(
    claim: Annotated[list[str], typer.Argument(help="A sentence that the abstracts may support.")],
    *,
    paper: Annotated[
        str | None,
        typer.Option(
            "--paper",
            metavar="ID",
            help="Hold it against this paper only; by default against the nearest.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
    home: Home = None,
    quiet: Quiet = False,
) -> None:
    """Say whether the abstracts support a sentence, contradict it, or do not mention it.

    With the words of the abstract that tell.
    """
    console = Console(quiet=quiet)
    text = not_blank(claim, "claim")
    with prepared(settings_with(home=home), console) as qa:
        found = qa.check(text, paper_id=paper)
    if json:
        console.json(asdict(found))
    else:
        console.result(render.verdict(found))


def _read_question() -> str:
    return sys.stdin.buffer.read(_MOST_BYTES_READ).decode("utf-8-sig", "replace")

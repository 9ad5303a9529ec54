"""The options that several commands share, and the library that they open."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import typer

from paper_qa.cli.console import Console
from paper_qa.domain import MAX_SOURCES

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from paper_qa.qa import PaperQA
    from paper_qa.settings import Settings

Home = Annotated[
    Path | None,
    typer.Option("--home", metavar="FOLDER", help="Where the library lives.", show_default=False),
]
Llm = Annotated[
    Literal["auto", "extractive", "embedded", "openai"] | None,
    typer.Option(
        "--llm",
        metavar="WHO",
        help="Who writes the answers: auto, extractive, embedded or openai.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the result and errors only.")]
FromYear = Annotated[
    int | None,
    typer.Option("--from-year", metavar="YEAR", help="Papers of this year or later only."),
]
ToYear = Annotated[
    int | None,
    typer.Option("--to-year", metavar="YEAR", help="Papers of this year or earlier only."),
]
Venue = Annotated[
    str, typer.Option("--venue", metavar="NAME", help="Papers of this venue only, or a part of it.")
]
Author = Annotated[
    str,
    typer.Option("--author", metavar="NAME", help="Papers by this author only, or a part of it."),
]
Only = Annotated[
    list[str] | None,
    typer.Option("--paper", metavar="ID", help="This paper only; may be given several times."),
]
NumSources = Annotated[
    int | None,
    typer.Option(
        "--sources",
        min=1,
        max=MAX_SOURCES,
        metavar="N",
        help="Rest the answer on so many papers at most.",
    ),
]
NoLlm = Annotated[
    bool, typer.Option("--no-llm", help="Answer with key passages, without a language model.")
]
Quotes = Annotated[bool, typer.Option("--quotes", help="Print the words that were cited, too.")]


def settings_with(**given: object) -> "Settings":
    """Read the settings; options that were given win."""
    from paper_qa.settings import load_settings

    return load_settings(**{name: value for name, value in given.items() if value is not None})


@contextmanager
def opened(settings: "Settings", llm: "LLM | None" = None) -> "Generator[PaperQA]":
    """Open the library, and close it in the end."""
    from paper_qa.qa import PaperQA

    qa = PaperQA(settings=settings, llm=llm)
    try:
        yield qa
    finally:
        qa.close()


@contextmanager
def prepared(
    settings: "Settings", console: Console, llm: "LLM | None" = None
) -> "Generator[PaperQA]":
    """Open the library to ask about it: what is not indexed yet is indexed first, visibly."""
    console.status("Opening the library")
    with opened(settings, llm) as qa:
        qa.prepare(console.progress)
        if pending := qa.num_pending():
            console.note(f"{pending:,} papers are not indexed yet: `paper-qa index` does it")
        yield qa


def not_blank(words: Sequence[str], name: str) -> str:
    """Return the words as one text: in a shell, quotes around it are optional."""
    text = " ".join(words).encode("utf-8", "surrogatepass").decode("utf-8", "replace").strip()
    if not text:
        refuse(f"the {name} is blank: write one")
    return text


def refuse(message: str) -> NoReturn:
    """End as after wrong usage."""
    Console().error(message)
    raise typer.Exit(2)

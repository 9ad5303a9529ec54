"""``model``: the file of the model that runs on this machine."""

import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paper_qa.cli.console import Console
from paper_qa.cli.options import Home, Json, Llm, Quiet, prepared, settings_with

if TYPE_CHECKING:
    from paper_qa.llm.model_files import GgufModel, ModelStore

app = typer.Typer(
    help="Fetch, find and remove the model that runs on this machine.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_QUESTION = "How does Momentor get its training data?"
Name = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="Which one, as `model list` calls it; by default the first."
    ),
]


@app.command()
def pull(name: Name = "", *, home: Home = None, quiet: Quiet = False) -> None:
    """Fetch the model, unless it is there.

    What was interrupted goes on where it was.
    """
    console = Console(quiet=quiet)
    store = _store(home)
    fetch(store, store.model(name), console)


@app.command("list")
def list_models(*, json: Json = False, home: Home = None, quiet: Quiet = False) -> None:
    """List the models, and which of them are on the disk."""
    console = Console(quiet=quiet)
    store = _store(home)
    rows = [_fields(model, store.path(model)) for model in store.models]
    if json:
        console.json(rows)
    else:
        console.table("\n".join(_line(row) for row in rows))


@app.command()
def remove(name: Name = "", *, home: Home = None, quiet: Quiet = False) -> None:
    """Remove the model from the disk.

    What a pull that was interrupted left goes too.
    """
    console = Console(quiet=quiet)
    store = _store(home)
    model = store.model(name)
    freed = store.remove(model)
    console.note(
        f"removed {model.name}: {_megabytes(freed)} freed"
        if freed
        else f"{model.name} is not on the disk"
    )


@app.command()
def path(name: Name = "", *, home: Home = None) -> None:
    """Print where the model lies.

    The exit code is 1 when it is not on the disk.
    """
    from paper_qa.errors import ModelFileError

    store = _store(home)
    model = store.model(name)
    found = store.path(model)
    if found is None:
        raise ModelFileError(
            f"{model.name!r} is not in {str(store.folder)!r}: `paper-qa model pull` fetches it"
        )
    Console().table(str(found))


@app.command("test")
def try_model(*, home: Home = None, llm: Llm = None, quiet: Quiet = False) -> None:
    """Try the model of the settings from end to end, and say what is wrong.

    Whether it is reached and listed, what it can read, how fast it writes, and one cited answer.
    """
    import asyncio

    from paper_qa.errors import ConfigurationError, ModelError
    from paper_qa.llm import Writer
    from paper_qa.llm.openai_compatible import OpenAICompatibleLLM
    from paper_qa.llm.probe import listed_model, speed_of

    console = Console(quiet=quiet)
    settings = settings_with(home=home, llm=llm)
    with closing(Writer(settings)) as writer:
        model = writer.llm()
        if not isinstance(model, OpenAICompatibleLLM):
            raise ConfigurationError(
                "no language model is configured: set PAPER_QA_LLM_BASE_URL to an endpoint, "
                "or fetch the embedded one with `paper-qa model pull`"
            )
        console.status("Reaching the model")
        listed = asyncio.run(listed_model(model))
        console.result(f"model    {model.metadata.model_name}")
        length = listed.context_length if listed else None
        console.result(f"context  {f'{length:,} tokens' if length else 'its server does not tell'}")
        console.status("Measuring its speed")
        speed = asyncio.run(speed_of(model))
        stream = "streams" if speed.num_parts > 1 else "does not stream"
        console.result(
            f"speed    first words after {speed.first_s:.1f} s, "
            f"{speed.tokens_per_s:.1f} tokens a second, {stream}"
        )
        with prepared(settings, console, llm=model) as qa:
            console.status("Asking")
            answer = qa.ask(_QUESTION)
    written = sum("“" not in claim.text for claim in answer.claims)
    console.result(
        f"answer   {written} sentences supported, {len(answer.withheld)} withheld, "
        f"in {answer.timings.total_s:.1f} s, by {answer.model}"
    )
    console.result(f"\n{_QUESTION}\n{answer.text}")
    if not written:
        raise ModelError(f"it wrote no sentence that the abstracts support: {answer.notes[-1:]}")


def fetch(store: "ModelStore", model: "GgufModel", console: Console) -> None:
    """Fetch a model unless it is there, and say which of both it was."""
    found = store.path(model)
    if found is not None:
        console.note(f"{model.name} is there already: {found}")
        return
    began = time.monotonic()
    found = store.pull(model, console.progress, console.note)
    seconds = time.monotonic() - began
    console.note(f"fetched {model.name} in {seconds:,.0f} s: {found}")


def _store(home: Path | None) -> "ModelStore":
    from paper_qa.llm import model_store

    return model_store(settings_with(home=home))


def _fields(model: "GgufModel", found: Path | None) -> dict[str, Any]:
    """Return what there is to know of a model, as JSON types."""
    return {
        "name": model.name,
        "file": model.file,
        "num_bytes": model.num_bytes,
        "licence": model.licence,
        "context_length": model.context_length,
        "path": None if found is None else str(found),
        "sources": list(model.origins),
    }


def _line(row: dict[str, Any]) -> str:
    place = row["path"] or "not on the disk"
    size = _megabytes(row["num_bytes"])
    return f"{row['name']}  {size}  {row['licence']}  {place}  from {', or '.join(row['sources'])}"


def _megabytes(num_bytes: int) -> str:
    return f"{num_bytes / 1e6:,.0f} MB"

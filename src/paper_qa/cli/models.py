"""``model``: the file of the model that runs on this machine."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paper_qa.cli.console import Console
from paper_qa.cli.options import Home, Json, Quiet, settings_with

if TYPE_CHECKING:
    from paper_qa.llm.model_files import GgufModel, ModelStore

app = typer.Typer(
    help="Fetch, find and remove the model that runs on this machine.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

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
    from paper_qa.llm.model_files import ModelStore

    return ModelStore(settings_with(home=home).home / "models")


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

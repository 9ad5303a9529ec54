"""The manifest, ``models.toml``: which models there are, and how each file is known to be right."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

_SHIPPED = Path(__file__).parents[1] / "models.toml"


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a repository on the Hugging Face hub."""

    repo: str
    file: str
    revision: str = "main"  # which one hardly matters: the hashes decide what is accepted


@dataclass(frozen=True, slots=True)
class Packages:
    """Packages of the package index, each with one piece; ``{number}`` counts from 1."""

    name: str
    version: str
    entry: str


@dataclass(frozen=True, slots=True)
class GgufModel:
    """A model in one GGUF file: sizes in bytes, hashes as hexadecimal SHA-256.

    Raises:
        ValueError: the pieces do not make up the file.
    """

    name: str
    file: str
    num_bytes: int
    sha256: str
    licence: str
    context_length: int
    prompt_notes: str
    piece_bytes: int
    pieces: tuple[str, ...]
    hub: HubFile | None = None
    packages: Packages | None = None

    def __post_init__(self) -> None:
        if len(self.pieces) != -(-self.num_bytes // self.piece_bytes):
            raise ValueError(f"{self.name!r} has {len(self.pieces)} pieces, which is not its size")

    @property
    def origins(self) -> tuple[str, ...]:
        """Where it can be had, in the order in which that is tried."""
        hub = (f"hub {self.hub.repo}",) if self.hub else ()
        if self.packages is None:
            return hub
        first, last = (self.packages.name.format(number=n) for n in (1, len(self.pieces)))
        return (*hub, f"package index {first} … {last} =={self.packages.version}")

    def piece_end(self, number: int) -> int:
        """Return where a piece ends in the file; pieces are numbered from 0."""
        return min((number + 1) * self.piece_bytes, self.num_bytes)


def read_models(path: Path = _SHIPPED) -> tuple[GgufModel, ...]:
    """Return the models of a manifest, the default first."""
    manifest = tomllib.loads(path.read_text("utf-8"))
    return tuple(_model(fields) for fields in cast("list[dict[str, Any]]", manifest["models"]))


def _model(fields: dict[str, Any]) -> GgufModel:
    hub, packages = fields.pop("hub", None), fields.pop("packages", None)
    return GgufModel(
        pieces=tuple(fields.pop("pieces")),
        hub=HubFile(**hub) if hub else None,
        packages=Packages(**packages) if packages else None,
        **fields,
    )

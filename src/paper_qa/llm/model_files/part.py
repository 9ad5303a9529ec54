"""A model file on its way: the beginning of it, of which every whole piece is right.

There is no record beside it. The hashes of the pieces say how far it is right, so that after a
kill, a crash or a flipped byte nothing is fetched again but the piece that suffered.
"""

import hashlib
import os
from collections.abc import Iterable
from io import FileIO
from pathlib import Path

from paper_qa.errors import ModelFileError
from paper_qa.llm.model_files.manifest import GgufModel
from paper_qa.llm.model_files.source import BrokenOffError, Tell

_BLOCK = 1 << 20


class PartFile:
    """The file ``path``, which may not be there yet, as the beginning of ``model``."""

    def __init__(self, path: Path, model: GgufModel) -> None:
        self._path = path
        self._model = model

    @property
    def num_bytes(self) -> int:
        """How much of the file is here."""
        return self._path.stat().st_size if self._path.exists() else 0

    @property
    def is_complete(self) -> bool:
        """Whether all of it is here."""
        return self.num_bytes == self._model.num_bytes

    def keep_good(self, tell: Tell) -> None:
        """Cut it off before the first piece that is wrong."""
        if not self.num_bytes:
            return
        with self._path.open("r+b") as stream:
            stream.truncate(min(self.num_bytes, self._model.num_bytes))
            size, start = self.num_bytes, 0
            for number, expected in enumerate(self._model.pieces):
                end = self._model.piece_end(number)
                if end > size:
                    return
                if hashlib.sha256(stream.read(end - start)).hexdigest() != expected:
                    stream.truncate(start)
                    return
                start = end
                tell(start)

    def keep_whole_pieces(self) -> None:
        """Drop what is there of a piece that is not complete."""
        if self.num_bytes and not self.is_complete:
            os.truncate(
                self._path, self.num_bytes // self._model.piece_bytes * self._model.piece_bytes
            )

    def append(self, blocks: Iterable[bytes], tell: Tell) -> None:
        """Write what comes next, and check each piece when it is complete.

        Raises:
            BrokenOffError: a piece was wrong, and is dropped; or the end came too early.
        """
        try:
            with self._path.open("a+b", buffering=0) as stream:
                tail = _Tail(stream, self._model)
                for block in blocks:
                    tail.write(block)
                    tell(tail.position)
        finally:
            if not self.num_bytes:
                self._path.unlink(missing_ok=True)
        if not self.is_complete:
            raise BrokenOffError("broke off")

    def place(self, target: Path, tell: Tell) -> None:
        """Check the whole file, and move it where it belongs.

        Raises:
            ModelFileError: it is not the file that it should be; it is deleted then.
        """
        digest, done = hashlib.sha256(), 0
        with self._path.open("r+b") as stream:
            while block := stream.read(_BLOCK):
                digest.update(block)
                done += len(block)
                tell(done)
            os.fsync(stream.fileno())
        if digest.hexdigest() != self._model.sha256:
            self._path.unlink()
            raise ModelFileError(
                f"what was fetched is not {self._model.file!r} (its SHA-256 is wrong) and was "
                "deleted: run `paper-qa model pull` again"
            )
        self._path.replace(target)


class _Tail:
    """The end of the file, where the piece that is coming in is checked as it is completed."""

    def __init__(self, stream: FileIO, model: GgufModel) -> None:
        self._stream = stream
        self._model = model
        self.position = stream.seek(0, os.SEEK_END)
        self._number = self.position // model.piece_bytes
        stream.seek(self._number * model.piece_bytes)
        self._digest = hashlib.sha256(stream.read())

    def write(self, block: bytes) -> None:
        """Write a block; what would come after the end of the file is ignored."""
        rest = memoryview(block)
        while rest and self.position < self._model.num_bytes:
            end = self._model.piece_end(self._number)
            written = self._stream.write(rest[: end - self.position])
            self._digest.update(rest[:written])
            self.position += written
            rest = rest[written:]
            if self.position == end:
                self._finish_piece()

    def _finish_piece(self) -> None:
        if self._digest.hexdigest() != self._model.pieces[self._number]:
            self._stream.truncate(self._number * self._model.piece_bytes)
            raise BrokenOffError(f"sent a damaged piece {self._number + 1}")
        self._number += 1
        self._digest = hashlib.sha256()

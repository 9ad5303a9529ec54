"""Locks between processes on one library: files in its folder, free again when their owner dies."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from paper_qa.errors import LibraryError
from paper_qa.filling import Progress

PATIENCE_S = 0.3  # before anyone is told that we wait
LONGEST_S = 3600.0


class HomeLock:
    """What only one thread of one process does at a time in a library's folder."""

    def __init__(self, home: Path, name: str, doing: str) -> None:
        self._path = home / name
        self._doing = doing

    @contextmanager
    def held(self, progress: Progress) -> Generator[None]:
        """Wait for the lock, and say so; hold it inside.

        Raises:
            LibraryError: it can't be had.
        """
        lock = self._new()
        if not self._acquire(lock, PATIENCE_S):
            progress(f"Waiting for another process that is {self._doing}", 0, 0)
            if not self._acquire(lock, LONGEST_S):
                raise LibraryError(
                    f"another process has been {self._doing} in {str(self._path.parent)!r} "
                    "for an hour: end it, then try again"
                )
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def tried(self) -> Generator[bool]:
        """Hold the lock inside if it is free; say whether it is ours."""
        lock = self._new()
        is_ours = self._acquire(lock, 0.0)
        try:
            yield is_ours
        finally:
            if is_ours:
                lock.release()

    def _new(self) -> FileLock:
        # One for each use: two threads of this process must keep out of each other's way too.
        return FileLock(self._path, thread_local=False)

    def _acquire(self, lock: FileLock, timeout: float) -> bool:
        try:
            lock.acquire(timeout=timeout)
        except Timeout:
            return False
        except OSError as error:
            raise LibraryError(
                f"the lock {str(self._path)!r} can't be taken ({error.strerror}): "
                "allow it to be written, or set PAPER_QA_HOME to another folder"
            ) from error
        return True

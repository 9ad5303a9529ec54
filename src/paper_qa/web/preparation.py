"""What is made ready in the background: the library has to be indexed, the model be fetched."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from paper_qa.errors import PaperQAError

_LOOK_EVERY_S = 0.1

Report = Callable[[str, int, int], None]
"""Takes what is being done, how much of it is done, and how much there is."""
Prepare = Callable[[Report], object]


@dataclass(frozen=True, slots=True)
class ModelPreparation:
    """How the model is made ready: when the program starts, and when somebody asks for it."""

    at_start: Prepare
    on_demand: Prepare


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is; ``total`` is 0 as long as it is not known."""

    text: str
    done: int = 0
    total: int = 0

    @property
    def share(self) -> float | None:
        """How much is done, between 0 and 1, as far as that is known."""
        return min(self.done / self.total, 1.0) if self.total else None


class Preparation:
    """Runs ``prepare`` once, in a thread, however many pages wait for it; again after a failure."""

    def __init__(self, prepare: Prepare, text: str = "Getting ready") -> None:
        self._prepare = prepare
        self._begun = Progress(text)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._progress = self._begun
        self._error: PaperQAError | None = None
        self._ready = False

    def start(self) -> None:
        """Begin, unless it is going on or done."""
        with self._lock:
            if self._ready or (self._thread and self._thread.is_alive()):
                return
            self._error = None
            self._progress = self._begun
            # A daemon, so that Ctrl-C ends the program; an interrupted build is taken up later.
            self._thread = threading.Thread(target=self._run, name="prepare", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        try:
            self._prepare(self._report)
        except PaperQAError as error:
            self._error = error
        else:
            self._ready = True

    def _report(self, text: str, done: int, total: int) -> None:
        self._progress = Progress(text, done, total)

    async def wait(self) -> AsyncIterator[Progress]:
        """Yield the progress whenever it has changed, until everything is ready.

        Raises:
            PaperQAError: it can't be made ready.
        """
        self.start()
        seen: Progress | None = None
        while not self._ready:
            if self._error:
                raise self._error
            if not (self._thread and self._thread.is_alive()):
                raise PaperQAError("getting ready has failed: the terminal says why")
            if self._progress is not seen:
                seen = self._progress
                yield seen
            await asyncio.sleep(_LOOK_EVERY_S)

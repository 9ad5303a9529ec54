"""Answers as they are written, and a conversation at a terminal."""

import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from paper_qa.citing import with_markers
from paper_qa.cli import render
from paper_qa.cli.console import Console
from paper_qa.domain import AS_CONFIGURED, Answer, AskOptions, Claim, Event, Stage, Turn
from paper_qa.errors import PaperQAError

if TYPE_CHECKING:
    from paper_qa.qa import PaperQA

_WELCOME = "Ask in plain words. /new forgets the conversation, /quit or Ctrl-D ends it."


class Printer:
    """Shows answers: at a terminal sentence by sentence, in a pipe or as JSON when complete."""

    def __init__(self, console: Console, *, json: bool = False, quotes: bool = False) -> None:
        self.console = console
        self._json = json
        self._quotes = quotes

    def show(self, events: Iterable[Event]) -> Answer:
        """Show an answer while it is written, and return it."""
        written: list[Claim] = []
        for event in events:
            match event:
                case Stage():
                    self.console.status(event.text)
                case Claim() if self.console.live and not self._json:
                    is_heading = event.support == "computed" and not written
                    self.console.result(f"{'' if is_heading else '- '}{with_markers(event)}")
                    written.append(event)
                case Answer():
                    self.finish(event, written)
                    return event
                case _:
                    pass
        raise AssertionError("the last event of a stream is its answer")

    def finish(self, answer: Answer, written: Sequence[Claim] = ()) -> None:
        """Show what is not written yet of an answer, and the list under it."""
        if self._json:
            self.console.json(answer.to_dict())
            return
        if not written or tuple(written) != answer.claims:
            self.console.result(f"\n{answer.text}" if written else answer.text)
        listed = render.references(answer, quotes=self._quotes)
        if listed:
            self.console.result(f"\n{listed}")
        for remark in render.remarks(answer):
            self.console.note(remark)


def converse(
    qa: "PaperQA",
    printer: Printer,
    read: Callable[[], str] | None = None,
    options: AskOptions = AS_CONFIGURED,
) -> None:
    """Answer one question after the other, each understood with those before it."""
    console = printer.console
    console.note(_WELCOME)
    history: list[Turn] = []
    with suppress(EOFError):
        while (question := (read or _read_line)().strip()) not in {"/quit", "/exit"}:
            if question == "/new":
                history = []
            elif question.startswith("/"):
                console.note(_WELCOME)
            elif question:
                history += _answered(qa, printer, question, history, options)
                console.result()


def _answered(
    qa: "PaperQA", printer: Printer, question: str, history: list[Turn], options: AskOptions
) -> tuple[Turn, ...]:
    """Answer a question; one that fails or is stopped leaves no trace in the history."""
    try:
        answer = printer.show(qa.stream(question, history=tuple(history), options=options))
    except PaperQAError as error:
        printer.console.error(str(error))
        return ()
    except KeyboardInterrupt:
        printer.console.result()
        printer.console.note("stopped")
        return ()
    return Turn("user", question), Turn("assistant", answer.text)


def _read_line() -> str:
    with suppress(ImportError):
        pass  # gives input() its editing and its history
    if sys.stdout.isatty():
        return input("> ")
    sys.stderr.write("> ")  # the answers go elsewhere; the prompt must not
    sys.stderr.flush()
    if not (line := sys.stdin.readline()):
        raise EOFError
    return line

"""``serve``."""

import os
import sys
import webbrowser
from collections.abc import Mapping
from functools import partial
from typing import Annotated

import typer

from paper_qa.cli.console import Console
from paper_qa.cli.options import Home, Llm, Quiet, settings_with


def serve(
    *,
    host: Annotated[
        str | None,
        typer.Option(
            "--host", metavar="ADDRESS", help="The address to listen on.", show_default=False
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            min=0,
            max=65535,
            metavar="N",
            help="The port; 0 takes a free one.",
            show_default=False,
        ),
    ] = None,
    browser: Annotated[
        bool | None,
        typer.Option(
            "--open/--no-open",
            help="Open a browser; by default where there is a screen.",
            show_default=False,
        ),
    ] = None,
    pull: Annotated[
        bool,
        typer.Option(
            "--pull",
            help="Fetch the embedded model in the background, if no other is configured.",
        ),
    ] = False,
    home: Home = None,
    llm: Llm = None,
    quiet: Quiet = False,
) -> None:
    """Open the chat in the browser.

    Without --pull nothing is ever downloaded.
    """
    console = Console(quiet=quiet)
    settings = settings_with(home=home, llm=llm, host=host, port=port)
    console.status("Starting the chat")
    from paper_qa.qa import PaperQA
    from paper_qa.user_data import FILE_NAME, UserData
    from paper_qa.web import ModelPreparation
    from paper_qa.web import serve as serve_chat

    def ready(url: str) -> None:
        console.result(f"The chat is open at {url} (Ctrl-C ends it)")
        if _someone_sits_here() if browser is None else browser:
            webbrowser.open(url)

    qa = PaperQA(settings=settings)
    data = UserData(settings.home / FILE_NAME)
    try:
        serve_chat(
            qa,
            data=data,
            host=settings.host,
            port=settings.port,
            login=settings.login.get_secret_value(),
            model=ModelPreparation(
                partial(qa.prepare_model, note=console.note, pull=pull),
                partial(qa.prepare_model, note=console.note, pull=True),
            ),
            on_ready=ready,
        )
    finally:
        data.close()
        qa.close()


def has_screen(platform: str, environment: Mapping[str, str], *, at_terminal: bool) -> bool:
    """Whether a person sits here with a browser, rather than a script or a remote shell."""
    if platform == "darwin":
        return at_terminal and "SSH_CONNECTION" not in environment
    return at_terminal and bool({"DISPLAY", "WAYLAND_DISPLAY"} & environment.keys())


def _someone_sits_here() -> bool:
    screens = os.environ  # noqa: TID251 - where the screen is, which is no setting of ours
    return has_screen(sys.platform, screens, at_terminal=sys.stdout.isatty())

"""Write ``docs/cli.md`` from the ``--help`` of every command, or check that it is up to date."""

import sys
from pathlib import Path

from typer.testing import CliRunner

from paper_qa.cli.app import app

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
INTRODUCTION = """\
# Command line

`paper-qa` and `python -m paper_qa` are the same.
The result goes to stdout and everything else to stderr, so pipes and `--json` get the result alone.

    paper-qa ask "How does Momentor get its training data?"
    paper-qa ask --json - < question.txt | jq .references
    paper-qa ask                                # a conversation
    paper-qa list | grep -i diffusion

The exit code is 0 when the question was answered or nothing in the abstracts answers it, 1 after an error, 2 after wrong usage, and 130 when interrupted.
An error is one line on stderr that begins with `error:` and says what to do.
Wherever `--home` or `--llm` is missing, the [settings](configuration.md) hold.

This page is written by `make docs`.
"""  # noqa: E501 - a line is a sentence


def main() -> None:
    """Write the page; with ``--check``, fail if it would change."""
    page = render()
    if "--check" not in sys.argv:
        PAGE.write_text(page, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text("utf-8") != page:
        sys.exit(f"{PAGE.name} is out of date: run `make docs`")


def render() -> str:
    """Return the page as it should be."""
    sections = [INTRODUCTION, _help([])]
    for command in app.registered_commands:
        name = command.name or getattr(command.callback, "__name__", "")
        sections.append(f"## {name}\n\n{_help([name])}")
    for group in app.registered_groups:
        sections.append(f"## {group.name}\n\n{_help([str(group.name)])}")
        for command in group.typer_instance.registered_commands if group.typer_instance else ():
            name = [str(group.name), command.name or getattr(command.callback, "__name__", "")]
            sections.append(f"### {' '.join(name)}\n\n{_help(name)}")
    return "\n".join(sections)


def _help(arguments: list[str]) -> str:
    environment = {"COLUMNS": "80", "TERMINAL_WIDTH": "80"}
    result = CliRunner().invoke(app, [*arguments, "--help"], "paper-qa", env=environment)
    return f"```\n{result.output.strip()}\n```\n"


if __name__ == "__main__":
    main()

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from paper_qa.cli.app import app
from paper_qa.domain import Answer, Citation, Claim, Reference, Withheld

pytest_plugins = ["seed_library"]

PROJECT = Path(__file__).parents[1]
PAGES = ["README.md", *(f"docs/{path.name}" for path in sorted((PROJECT / "docs").glob("*.md")))]
COMMANDS = [
    command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands
]
MAKEFILE = (PROJECT / "Makefile").read_text("utf-8")


def text_of(page: str) -> str:
    return (PROJECT / page).read_text("utf-8")


def python_blocks() -> list[object]:
    blocks: list[object] = []
    for page in ["README.md", "docs/python.md"]:
        for match in re.finditer(r"^```python\n(.*?)^```", text_of(page), re.MULTILINE | re.DOTALL):
            line = text_of(page)[: match.start()].count("\n") + 1
            blocks.append(pytest.param(match[1], id=f"{page}:{line}"))
    return blocks


@pytest.mark.parametrize("code", python_blocks())
def test_the_example_runs(code: str, copied_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAPER_QA_HOME", str(copied_home))

    exec(compile(code, "example", "exec"), {})  # noqa: S102 - our own documents


def test_the_layers_are_drawn_as_they_are_enforced() -> None:
    page, contract = (
        re.search(pattern, text_of(name), re.MULTILINE)
        for name, pattern in [
            ("docs/architecture.md", r"^```\n(cli\n(?: .*\n)+)```"),
            (".importlinter", r"^layers =\n((?: .*\n)+)"),
        ]
    )

    assert page is not None
    assert contract is not None
    assert page[1].split() == contract[1].split()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_option_says_what_it_is_for(command: str) -> None:
    help_text = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "100"}).output
    summary, _, options = help_text.partition("Options:")

    assert re.search(r"^  [A-Z].*\.$", summary, re.MULTILINE)
    for option in re.findall(r"^  -.*$", options, re.MULTILINE):
        assert re.search(r"  [A-Z]", option.rstrip()), option


def test_the_page_of_the_command_line_is_what_help_prints() -> None:
    check = [sys.executable, str(PROJECT / "tools" / "cli_docs.py"), "--check"]

    result = subprocess.run(check, capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("page", PAGES)
def test_links_between_the_documents_lead_somewhere(page: str) -> None:
    folder = (PROJECT / page).parent
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", text_of(page)):
        assert (folder / target).exists(), target


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md", "AGENTS.md", ".ci/run"])
def test_make_targets_that_are_named_exist(page: str) -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):.*##", MAKEFILE, re.MULTILINE))
    for line in re.findall(r"(?:^|`)\s*make ((?:[a-z][a-z0-9-]* ?)+)", text_of(page), re.MULTILINE):
        assert set(line.split()) <= targets, line


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md"])
def test_every_module_is_described(page: str) -> None:
    table = text_of(page).partition("| module |")[2].partition("\n## ")[0]
    first_cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    described = set(re.findall(r"`(\w+)/?`", " ".join(first_cells)))
    modules = {
        path.stem
        for path in (PROJECT / "src" / "paper_qa").iterdir()
        if (path.suffix == ".py" and not path.stem.startswith("__"))
        or (path / "__init__.py").exists()
    }

    assert modules - set(re.findall(r"`(\w+)/?`", table)) == set()
    assert described - modules == set()


def test_every_field_of_the_answer_is_documented() -> None:
    citation = Citation(1, "a", 0, 1, "T")
    reference = Reference(1, "a", "A", (), None, "", "", retracted=False)
    claim = Claim("T", "supported", 1.0, (citation,))
    answer = Answer("Q", "T [1]", (claim,), (Withheld("F", 0.0),), (reference,), (reference,))

    example = text_of("docs/answer.md").partition("```json")[2].partition("```")[0]

    assert keys_of(answer.to_dict()) - set(re.findall(r'"(\w+)":', example)) == set()


def keys_of(value: object) -> set[str]:
    match value:
        case dict():
            return set(value).union(*(keys_of(item) for item in value.values()))
        case list():
            return set().union(*(keys_of(item) for item in value))
        case _:
            return set()


def test_the_instructions_for_agents_stay_short() -> None:
    assert len(text_of("AGENTS.md").splitlines()) <= 60


def test_each_sentence_of_the_documents_has_its_own_line() -> None:
    for page in [*PAGES, "CONTRIBUTING.md", "SECURITY.md"]:
        prose = re.sub(r"^```.*?^```", "", text_of(page), flags=re.MULTILINE | re.DOTALL)
        for line in prose.splitlines():
            if line[:1].isalpha():
                bare = re.sub(r"`[^`]*`|\[[^\]]*\]\([^)]*\)", "x", line)
                assert not re.search(r"[a-z)][.?!] [A-Z]", bare), f"{page}: {line}"

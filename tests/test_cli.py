"""The commands, end to end: the real library, index and answers."""

import io
import json
import os
import pty
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import get_args

import pytest

from paper_qa.cli import main
from paper_qa.cli.options import Llm
from paper_qa.cli.serving import has_screen
from paper_qa.settings import Settings

pytest_plugins = ["seed_library"]

PAPER_QA = [sys.executable, "-m", "paper_qa"]
QUESTION = "How does Momentor get its training data?"
ADA = {
    "id": "ada43",
    "title": "Notes on the Analytical Engine",
    "abstract": "The engine weaves algebraic patterns. It computes the numbers of Bernoulli.",
    "authors": ["Ada Lovelace"],
    "year": 1843,
}


class Keyboard(io.StringIO):
    def isatty(self) -> bool:
        return True


class Shell:
    """Runs a command in this process and keeps what it wrote."""

    def __init__(self, capsys: pytest.CaptureFixture[str], home: Path) -> None:
        self._capsys = capsys
        self._home = home

    def __call__(
        self, *arguments: str | Path, stdin: bytes = b"", typed: str = ""
    ) -> tuple[int, str, str]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PAPER_QA_HOME", str(self._home))
            pipe = io.TextIOWrapper(io.BytesIO(stdin))
            patch.setattr(sys, "stdin", Keyboard(typed) if typed else pipe)
            with pytest.raises(SystemExit) as ended:
                main([str(argument) for argument in arguments])
        out, err = self._capsys.readouterr()
        return int(ended.value.code or 0), out, err


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], seed_home: Path) -> Shell:
    return Shell(capsys, seed_home)


@pytest.fixture
def own_shell(capsys: pytest.CaptureFixture[str], copied_home: Path) -> Shell:
    """Return a shell on a library of its own, which a test may change."""
    return Shell(capsys, copied_home)


@pytest.fixture
def ada(tmp_path: Path) -> Path:
    file = tmp_path / "ada.jsonl"
    file.write_text(json.dumps(ADA) + "\n", "utf-8")
    return file


def test_an_answer_is_cited_on_stdout_and_its_author_named_on_stderr(shell: Shell) -> None:
    code, out, err = shell("ask", QUESTION)

    assert code == 0
    answer, _, references = out.partition("\n\nReferences\n")
    assert "Moment-10M" in answer
    assert "[1]" in answer
    assert references.startswith("[1] Long Qian et al. Momentor")
    assert "extraction" in err


def test_quotes_around_a_question_are_optional(shell: Shell) -> None:
    assert shell("ask", *QUESTION.split())[1] == shell("ask", QUESTION)[1]


def test_an_answer_as_json_is_the_documented_object(shell: Shell) -> None:
    code, out, err = shell("ask", "--json", "--quiet", QUESTION)

    answer = json.loads(out)
    assert (code, err) == (0, "")
    assert answer["question"] == QUESTION
    assert answer["schema_version"] == 1
    assert answer["claims"][0]["citations"][0]["paper_id"] == "qian24a"


@pytest.mark.parametrize("arguments", [("ask", "-"), ("ask",)])
def test_a_question_comes_through_a_pipe(shell: Shell, arguments: tuple[str, ...]) -> None:
    code, out, _ = shell(*arguments, stdin=f"\ufeff{QUESTION}\n".encode())

    assert code == 0
    assert out == shell("ask", QUESTION)[1]


@pytest.mark.parametrize("command", ["ask", "search", "summarize"])
@pytest.mark.parametrize("blank", ["", " \n\t "])
def test_a_blank_question_is_wrong_usage(shell: Shell, command: str, blank: str) -> None:
    code, out, err = shell(command, blank)

    assert (code, out) == (2, "")
    assert err.startswith("error: the ")
    assert err.count("\n") == 1


def test_a_blank_pipe_is_wrong_usage(shell: Shell) -> None:
    assert shell("ask", stdin=b" \n")[0] == 2


def test_a_question_without_end_is_refused_in_one_line(shell: Shell) -> None:
    code, out, err = shell("ask", "--quiet", "why " * 25_000)

    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "question",
    ["\x1b]0;x\x07 \x00 data?", "🤖 robots", "كيف تتعلم النماذج؟", "\ud800 what", "[1] [2]"],
    ids=["controls", "emoji", "right-to-left", "surrogate", "markers"],
)
def test_an_odd_question_gets_an_answer_and_no_traceback(shell: Shell, question: str) -> None:
    code, out, err = shell("ask", question)

    assert code == 0
    assert out.strip()
    assert "\x1b" not in out + err


def test_bytes_that_are_no_text_get_an_answer(shell: Shell) -> None:
    code, out, _ = shell("ask", stdin=b"\xff\xfe momentor \x80")

    assert code == 0
    assert out.strip()


def test_search_lists_the_best_papers_first(shell: Shell) -> None:
    code, out, _ = shell("search", "video", "moments", "-k", "3")
    found = json.loads(shell("search", "video moments", "-k", "3", "--json")[1])

    assert code == 0
    assert len(out.splitlines()) == 3
    assert set(found[0]) == {"paper_id", "title", "score"}
    assert [hit["paper_id"] for hit in found] == [line.split()[1] for line in out.splitlines()]
    assert found[0]["paper_id"] == "qian24a"


def test_a_paper_is_summarized_by_its_id(shell: Shell) -> None:
    code, out, _ = shell("summarize", "qian24a")

    assert code == 0
    assert "[1]" in out
    assert "Momentor" in out


def test_list_names_all_papers(shell: Shell) -> None:
    _, out, _ = shell("list")
    listed = json.loads(shell("list", "--json")[1])

    assert len(out.splitlines()) == len(listed) == 84
    assert set(listed[0]) == {"id", "title", "authors", "year", "venue", "url"}
    assert any(line.startswith("qian24a ") and "Momentor" in line for line in out.splitlines())


def test_papers_are_added_asked_about_exported_and_removed(own_shell: Shell, ada: Path) -> None:
    added = own_shell("add", ada)
    again = own_shell("add", ada, "--json")
    answer = own_shell("ask", "What does the analytical engine weave?")
    exported = own_shell("export", "-o", "all.jsonl")
    removed = own_shell("remove", "ada43")
    listed = own_shell("list")

    assert (added[0], added[1]) == (0, f"{ada}: 1 added, 0 already there\n")
    assert json.loads(again[1]) == {str(ada): {"added": [], "merged": ["ada43"]}}
    assert "algebraic patterns" in answer[1]
    lines = Path("all.jsonl").read_text("utf-8").splitlines()
    assert (exported[0], exported[1], len(lines)) == (0, "", 85)
    assert json.loads(lines[-1])["abstract"] == ADA["abstract"]
    assert (removed[0], removed[2].splitlines()[-1]) == (0, "removed 1 paper")
    assert "ada43" not in listed[1]


def test_export_without_a_file_writes_to_the_pipe(shell: Shell) -> None:
    code, out, _ = shell("export")

    assert code == 0
    assert len([json.loads(line) for line in out.splitlines()]) == 84


def test_an_export_that_cannot_be_written_is_an_error_and_leaves_no_part(
    shell: Shell, tmp_path: Path
) -> None:
    code, _, err = shell("export", "-o", tmp_path / "nowhere" / "all.jsonl")

    assert code == 1
    assert err.startswith("error: cannot write ")


def test_an_export_replaces_a_file_only_when_it_is_complete(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "all.jsonl"
    target.write_text("old", "utf-8")
    target.chmod(0o640)

    assert shell("export", "-o", target)[0] == 0

    assert target.read_text("utf-8").count("\n") == 84
    assert [path.name for path in tmp_path.glob("*.jsonl*")] == ["all.jsonl"]
    assert [path.name for path in tmp_path.glob(".all*")] == []


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("remove", "nobody24"), "nobody24"),
        (("add", "missing.jsonl"), "missing.jsonl"),
        (("evaluate", "--questions", "missing.jsonl"), "missing.jsonl"),
    ],
)
def test_what_is_not_there_is_named_in_one_line(
    shell: Shell, arguments: tuple[str, ...], named: str
) -> None:
    code, out, err = shell(*arguments, "--quiet")

    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert named in err
    assert err.count("\n") == 1


def test_a_folder_that_cannot_be_written_is_an_error(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")

    code, _, err = shell("list", "--home", tmp_path / "file" / "home")

    assert code == 1
    assert err.startswith("error: ")


def test_a_misspelt_setting_is_an_error_before_anything_slow_is_loaded(seed_home: Path) -> None:
    Path(".env").write_text("PAPER_QA_PROT=1\n", "utf-8")
    code = (
        "import sys, paper_qa.cli\n"
        "try: paper_qa.cli.main(['ask', 'why'])\n"
        "finally: print('llama_index' in sys.modules)"
    )

    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )

    assert result.returncode == 1
    assert result.stderr == (
        "error: unknown setting 'PAPER_QA_PROT': did you mean PAPER_QA_PORT?\n"
    )
    assert result.stdout == "False\n"


def test_the_llms_to_choose_from_are_those_of_the_settings() -> None:
    offered = get_args(get_args(get_args(Llm)[0])[0])

    assert offered == get_args(Settings.model_fields["llm"].annotation)


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["ask", "--nonsense"], ["search"], ["search", "x", "-k", "0"], []]
)
def test_wrong_usage_exits_with_2(shell: Shell, arguments: list[str]) -> None:
    code, out, err = shell(*arguments)

    assert code == 2
    assert "Usage: paper-qa" in out + err


def test_the_version_is_printed(shell: Shell) -> None:
    assert shell("--version") == (0, "paper-qa 0.1.0\n", "")


def test_index_says_how_many_papers_it_holds(own_shell: Shell, ada: Path) -> None:
    first = own_shell("index")
    again = own_shell("index", "--rebuild")

    assert (first[0], first[2].splitlines()[-1]) == (0, "84 papers indexed")
    assert (again[0], again[2].splitlines()[-1]) == (0, "84 papers indexed")


def test_evaluate_prints_a_table_or_json(shell: Shell) -> None:
    code, table, _ = shell("evaluate", "--limit", "2", "--type", "fact")
    report = json.loads(shell("evaluate", "--limit", "2", "--type", "fact", "--json")[1])

    assert code == 0
    assert "nDCG@10" in table
    assert report["overall"]["num_questions"] == 2
    assert list(report["by_type"]) == ["fact"]


def test_evaluate_names_the_types_there_are(shell: Shell) -> None:
    code, _, err = shell("evaluate", "--type", "facts", "--quiet")

    assert code == 2
    assert err.startswith("error: no questions of type 'facts': choose from ")


def test_help_costs_little_more_than_importing_typer() -> None:
    """The processor's time, as a ratio: neither the machine nor its load matters."""

    def seconds(*command: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    bare = min(seconds(sys.executable, "-c", "import typer, rich.console") for _ in range(3))

    assert min(seconds(*PAPER_QA, "--help") for _ in range(3)) < 3 * bare


def test_a_reader_that_leaves_early_is_no_error_worth_a_word(seed_home: Path) -> None:
    environment = {**os.environ, "PAPER_QA_HOME": str(seed_home)}
    with subprocess.Popen(
        [*PAPER_QA, "export"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        assert process.stdout is not None
        process.stdout.read(10)
        process.stdout.close()
        _, err = process.communicate(timeout=60)

    assert err == b""


def test_ctrl_c_exits_with_130_and_no_traceback(seed_home: Path) -> None:
    environment = {**os.environ, "PAPER_QA_HOME": str(seed_home)}
    with subprocess.Popen(
        [*PAPER_QA, "evaluate"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stderr is not None
        seen = iter(process.stderr.readline, b"")
        assert any(line.startswith(b"Asking") for line in seen)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

    assert process.returncode == 130
    assert out == b""
    assert b"Traceback" not in err


class TerminalSession:
    """A process at a pseudo-terminal."""

    def __init__(self, *arguments: str, home: Path) -> None:
        environment = {**os.environ, "PAPER_QA_HOME": str(home), "TERM": "xterm", "COLUMNS": "80"}
        self._screen, end = pty.openpty()
        self.process = subprocess.Popen(
            [*PAPER_QA, *arguments], stdin=end, stdout=end, stderr=end, env=environment
        )
        os.close(end)
        self.text = ""
        self._read_up_to = 0

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def wait_for(self, text: str) -> None:
        while (found := self.text.find(text, self._read_up_to)) < 0:
            self.text += os.read(self._screen, 4096).decode("utf-8", "replace")
        self._read_up_to = found + len(text)

    def interrupt(self) -> None:
        """Press Ctrl-C; again if readline was not yet waiting for a key when it came."""
        while self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=10)

    def close(self) -> int:
        try:
            while data := os.read(self._screen, 4096):
                self.text += data.decode("utf-8", "replace")
        except OSError:  # how Linux reports that the other side has gone
            pass
        os.close(self._screen)
        return self.process.wait(timeout=30)


@pytest.fixture
def terminal(seed_home: Path) -> Iterator[TerminalSession]:
    session = TerminalSession("ask", home=seed_home)
    yield session
    if session.process.poll() is None:
        session.process.kill()
        session.process.wait()


def test_without_a_question_it_is_a_conversation(terminal: TerminalSession) -> None:
    terminal.wait_for("> ")
    terminal.type(f"{QUESTION}\n")
    terminal.wait_for("answered by")
    terminal.wait_for("> ")
    terminal.type("And how large is that dataset?\n")
    terminal.wait_for("answered by")
    terminal.wait_for("> ")
    terminal.type("\x04")

    assert terminal.close() == 0
    assert terminal.text.count("References") == 2
    assert "Traceback" not in terminal.text


def test_the_answers_of_a_conversation_can_go_to_a_file(shell: Shell) -> None:
    code, out, err = shell("ask", typed=f"{QUESTION}\nWhich dataset?\n")

    assert code == 0
    assert out.count("References") == 2
    assert err.count("> ") == 3
    assert "> " not in out


def test_ctrl_c_at_the_prompt_exits_with_130(terminal: TerminalSession) -> None:
    terminal.wait_for("> ")
    terminal.interrupt()

    assert terminal.close() == 130
    assert "Traceback" not in terminal.text


def test_serve_on_a_busy_port_names_it_and_the_way_out(shell: Shell) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        code, out, err = shell("serve", "--quiet", "--port", str(port))

    assert (code, out) == (1, "")
    assert f"{port}" in err
    assert "--port" in err
    assert err.count("\n") == 1


def test_serve_prints_its_address_and_ends_with_ctrl_c(seed_home: Path) -> None:
    environment = {**os.environ, "PAPER_QA_HOME": str(seed_home)}
    with subprocess.Popen(
        [*PAPER_QA, "serve", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)

    assert "http://127.0.0.1:" in line
    assert process.returncode == 130
    assert b"Traceback" not in err


def test_serve_opens_the_browser_where_it_is_told_to(seed_home: Path, tmp_path: Path) -> None:
    opened, browser = tmp_path / "opened", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > "{opened}.part"\nmv "{opened}.part" "{opened}"\n')
    browser.chmod(0o700)
    environment = {**os.environ, "PAPER_QA_HOME": str(seed_home), "BROWSER": str(browser)}
    command = [*PAPER_QA, "serve", "--port", "0", "--open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        end = time.monotonic() + 60
        while not opened.exists() and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)

    assert opened.read_text().strip() in line


@pytest.mark.parametrize(
    ("platform", "environment", "at_terminal", "expected"),
    [
        ("linux", {"DISPLAY": ":0"}, True, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True, True),
        ("linux", {}, True, False),
        ("linux", {"DISPLAY": ":0"}, False, False),
        ("darwin", {}, True, True),
        ("darwin", {"SSH_CONNECTION": "somewhere"}, True, False),
    ],
)
def test_a_browser_is_opened_only_where_someone_sits(
    platform: str, environment: dict[str, str], *, at_terminal: bool, expected: bool
) -> None:
    assert has_screen(platform, environment, at_terminal=at_terminal) is expected

"""``make gate``: passes while the answers are good, and says what has become worse."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["seed_library"]

GATE = Path(__file__).parents[1] / "tools" / "quality_gate.py"
SMALL = {"questions.jsonl": 40, "unanswerable.jsonl": 80, "claims.jsonl": 50}


@pytest.fixture
def gate(seed_home: Path, tmp_path: Path):
    """Return what runs the gate on a few questions, with bounds of its own."""

    def run(*, least: dict[str, float], most: dict[str, float]) -> tuple[int, str, str]:
        bounds = tmp_path / "bounds.json"
        bounds.write_text(json.dumps({"every": SMALL, "least": least, "most": most}), "utf-8")
        command = [sys.executable, str(GATE), "--home", str(seed_home), "--bounds", str(bounds)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        return result.returncode, result.stdout, result.stderr

    return run


def test_figures_within_their_bounds_pass(gate):
    code, out, err = gate(
        least={"ndcg@10": 0.1, "quote_validity": 1.0, "claims_f1": 0.0},
        most={"false_answer_rate": 1.0, "false_refusal_rate": 1.0},
    )

    assert (code, err) == (0, "")
    assert out.startswith("5 questions and 4 claims\nndcg@10 ")


def test_each_measure_that_is_out_of_bounds_is_a_line(gate):
    code, _, err = gate(
        least={"quote_validity": 1.01, "ndcg@10": 0.0, "no_such_measure": 0.0},
        most={"false_answer_rate": -0.5, "claims_f1": 1.0},
    )

    lines = err.splitlines()
    assert code == 1
    assert lines[0] == "quote_validity is 1: it must be at least 1.01"
    assert lines[1] == "no_such_measure is not measured: it must be at least 0.0"
    assert lines[2].startswith("false_answer_rate is ")
    assert lines[2].endswith(": it must be at most -0.5")
    assert len(lines) == 3


def test_a_library_that_cannot_be_opened_is_one_line(tmp_path):
    (tmp_path / "file").write_text("", "utf-8")

    result = subprocess.run(
        [sys.executable, str(GATE), "--home", str(tmp_path / "file" / "home")],
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.returncode == 1
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1

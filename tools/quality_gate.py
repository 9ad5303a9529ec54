"""Ask a sample of the questions by extraction, check a sample of the claims, and judge the figures.

``quality_gate.json`` says which (every third question of a file, say) and has the bounds: what a
measure must be at least, and what it may be at most. They are a little worse than the figures were
when they were set, so that a change that breaks something fails and one that costs a question
does not. The exit code is 1 if a measure is out of bounds, with one line for each.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from paper_qa import PaperQA, PaperQAError, load_settings
from paper_qa.evaluation import read_claims, read_questions, run_claims, run_evaluation

PROJECT = Path(__file__).resolve().parents[1]
EVALUATION = PROJECT / "evaluation"
CLAIMS = "claims.jsonl"


@dataclass(frozen=True, slots=True)
class Gate:
    """Of each file every how-manieth item is taken, and the bounds of the measures."""

    every: Mapping[str, int]
    least: Mapping[str, float]
    most: Mapping[str, float]


def main() -> None:
    """Measure, print the figures, and fail if one is out of bounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bounds", type=Path, default=Path(__file__).with_suffix(".json"))
    parser.add_argument("--home", type=Path, help="a library of the seeds; a new one by default")
    given = parser.parse_args()
    gate = Gate(**json.loads(given.bounds.read_text("utf-8")))
    try:
        with tempfile.TemporaryDirectory(prefix="paper-qa-gate-") as folder:
            figures = measure(gate, given.home or Path(folder))
    except PaperQAError as error:
        sys.exit(f"error: {error}")
    bounded = [key for key in (*gate.least, *gate.most) if key in figures]
    print(", ".join(f"{key} {written(figures[key])}" for key in bounded))
    if problems := out_of_bounds(gate, figures):
        sys.exit("\n".join(problems))


def measure(gate: Gate, home: Path) -> dict[str, float | None]:
    """Return the figures on the sample; those of the claims begin with ``claims_``."""
    files = [EVALUATION / name for name in gate.every if name != CLAIMS]
    questions = [item for path in files for item in read_questions(path)[:: gate.every[path.name]]]
    claims = read_claims(EVALUATION / CLAIMS)[:: gate.every[CLAIMS]]
    # The bounds are those of the defaults, whatever is configured here.
    qa = PaperQA(settings=load_settings(home=home, llm="extractive", _env_file=None))
    try:
        answered = run_evaluation(qa, questions).overall
        checked = run_claims(qa, claims).overall
    finally:
        qa.close()
    print(f"{len(questions)} questions and {len(claims)} claims")
    return {
        **answered.values,
        **{f"claims_{key}": measured.value for key, measured in checked.items()},
    }


def out_of_bounds(gate: Gate, figures: Mapping[str, float | None]) -> list[str]:
    """Return a line for each measure that is out of bounds, or is not measured at all."""
    problems: list[str] = []
    for key, bound, sign, name in (
        *((key, bound, 1, "at least") for key, bound in gate.least.items()),
        *((key, bound, -1, "at most") for key, bound in gate.most.items()),
    ):
        value = figures.get(key)
        if value is None or sign * value < sign * bound:
            problems.append(f"{key} is {written(value)}: it must be {name} {bound}")
    return problems


def written(value: float | None) -> str:
    """Return a figure for people."""
    return "not measured" if value is None else f"{value:.4g}"


if __name__ == "__main__":
    main()

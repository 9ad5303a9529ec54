"""Two runs over the same questions: as reports, as files, and in the shell."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from paper_qa.cli import main
from paper_qa.errors import FormatError
from paper_qa.evaluation import Report, compare, read_comparison, render_comparison
from scripted_results import cite, declined, result, said


def row(key: str, *, answerable: bool = True, **fields: object) -> dict[str, object]:
    """Return a row of ``questions`` in the JSON of a report."""
    row = {
        "id": key,
        "type": "fact" if answerable else "unanswerable",
        "answerable": answerable,
        "abstained": False,
        "confidence": 0.9,
        "seconds": 1.0,
        "ndcg@10": 1.0 if answerable else None,
        "false_answer_rate": None if answerable else 1.0,
        "weights": {},
    }
    return row | fields


def write(path: Path, *rows: dict, model: str = "extractive") -> Path:
    path.write_text(json.dumps({"model": model, "questions": rows}), encoding="utf-8")
    return path


@pytest.fixture
def evaluate(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Return what runs ``paper-qa evaluate``."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["evaluate", *map(str, arguments)])
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def results(*, last: Sequence[object] = ()) -> Report:
    """Return four results; the last of them as given, if it is."""
    return Report(
        (
            result("f1", said("Alpha.", cite("a"), retrieved="ab"), gold="a", facts=("alpha",)),
            result("f2", said("No.", cite("b"), retrieved="ab"), gold="b", facts=("x", "y", "z")),
            result("u1", said("So.", cite("c"), confidence=0.4), kind="off_topic"),
            *(last or [result("f3", declined(retrieved="b"), gold="b", facts=("gamma",))]),
        )
    )


def test_two_runs_are_compared_question_by_question():
    """Facts stated are 1 of 5 and then 2 of 5; of three answerable questions one was declined."""
    answered = result("f3", said("Gamma.", cite("b"), retrieved="b"), gold="b", facts=("gamma",))
    after = results(last=[answered])
    shuffled = Report(tuple(after.results[index] for index in (3, 1, 0, 2)))

    differences = compare(results(), shuffled)

    assert differences["fact_recall"].first == pytest.approx(1 / 5)
    assert differences["fact_recall"].value == pytest.approx(2 / 5 - 1 / 5)
    assert differences["false_refusal_rate"].value == pytest.approx(-1 / 3)
    assert differences["false_answer_rate"].value == 0.0
    assert not differences["false_answer_rate"].is_clear


def test_the_confidence_and_the_seconds_are_compared_too():
    """.9, .9 and .1 against .4 have an AUROC of 2/3; with .9 for the last, of 1."""
    after = results(last=[result("f3", said("Yes."), gold="b", seconds=9.0)])

    differences = compare(results(), after)

    assert differences["abstention_auroc"].value == pytest.approx(1 - 2 / 3)
    assert differences["aurc"].first == pytest.approx((0 + 0 + 1 / 3 + 1 / 4) / 4)
    assert differences["aurc"].second == pytest.approx((0 + 0 + 0 + 1 / 4) / 4)
    assert differences["median_s"].value == 0.0


def test_what_the_json_says_is_what_the_reports_say(tmp_path):
    """Numerators and denominators come through: facts are pooled, not averaged."""
    last = result("f3", said("Gamma.", cite("b"), retrieved="b"), gold="b", facts=("gamma",))
    reports = results(), results(last=[last])
    for name, report in zip("ab", reports, strict=True):
        (tmp_path / name).write_text(json.dumps(report.to_dict()), encoding="utf-8")

    comparison = read_comparison(tmp_path / "a", tmp_path / "b")

    assert comparison.differences == compare(*reports)
    for key, found in comparison.differences.items():
        assert found.first == pytest.approx(reports[0].overall.values[key])
        assert found.second == pytest.approx(reports[1].overall.values[key])


def test_runs_over_different_questions_are_not_compared():
    with pytest.raises(ValueError, match=r"different questions \(1 only in the first: f3\)"):
        compare(results(), Report(results().results[:3]))


def test_measures_that_neither_run_has_are_not_compared():
    report = Report(results().results[:2])

    assert "false_answer_rate" not in compare(report, report)
    assert "abstention_auroc" not in compare(report, report)


def test_a_weight_is_what_a_value_was_divided_by(tmp_path):
    """1 of 1 and 0 of 3 is 1/4 first; then 1 of 1 and 3 of 3."""
    first = write(
        tmp_path / "a",
        row("q1", fact_recall=1.0, weights={"fact_recall": 1}),
        row("q2", fact_recall=0.0, weights={"fact_recall": 3}),
    )
    second = write(
        tmp_path / "b",
        row("q2", fact_recall=1.0, weights={"fact_recall": 3}),
        row("q1", fact_recall=1.0, weights={"fact_recall": 1}),
    )

    found = read_comparison(first, second).differences["fact_recall"]

    assert (found.first, found.second, found.value) == (0.25, 1.0, 0.75)


def test_the_shell_prints_the_differences_and_marks_the_clear_ones(evaluate, tmp_path):
    """Each of three questions gains .25 of nDCG; one of two false answers is gone, perhaps."""
    first = write(
        tmp_path / "a.json",
        *(row(f"q{number}", **{"ndcg@10": 0.5}) for number in range(3)),
        *(row(f"u{number}", answerable=False) for number in range(2)),
    )
    second = write(
        tmp_path / "b.json",
        *(row(f"q{number}", **{"ndcg@10": 0.75}) for number in range(3)),
        row("u0", answerable=False),
        row("u1", answerable=False, false_answer_rate=0.0),
        model="qwen",
    )

    code, out, err = evaluate("--compare", first, second)
    lines = out.splitlines()

    assert (code, err) == (0, "")
    assert lines[0] == "5 questions, answered first by extractive and then by qwen"
    assert lines[2].split() == ["Measure", "first", "second", "second", "-", "first"]
    assert lines[3].split() == ["nDCG@10", ".500", ".750", "+.250", "[+.250", "+.250]", "clear"]
    assert lines[4].split() == ["false", "answers", "1.000", ".500", "-.500", "[-1.000", "+.000]"]
    assert not [line for line in lines if line.endswith(" ")]
    assert max(map(len, lines)) <= 100


def test_the_shell_prints_the_differences_as_json(evaluate, tmp_path):
    first = write(tmp_path / "a.json", row("q1", **{"ndcg@10": 0.5}), row("q2"))
    second = write(tmp_path / "b.json", row("q1"), row("q2"))

    found = json.loads(evaluate("--compare", first, second, "--json")[1])

    assert list(found) == ["num_questions", "models", "differences"]
    assert found["num_questions"] == 2
    assert found["models"] == ["extractive", "extractive"]
    assert found["differences"]["ndcg@10"] == {
        "first": 0.75,
        "second": 1.0,
        "difference": 0.25,
        "interval": [0.0, 0.5],
        "clear": False,
    }
    assert list(found["differences"]) == ["ndcg@10", "median_s"]


def test_types_can_be_compared_by_themselves(evaluate, tmp_path):
    files = [write(tmp_path / name, row("q1"), row("u1", answerable=False)) for name in "ab"]

    code, out, _ = evaluate("--compare", *files, "--type", "unanswerable")

    assert code == 0
    assert out.startswith("1 questions, ")
    assert "nDCG" not in out


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([row("q1")], "(1 only in the first: q2)"),
        ([row("q1"), row("q2"), row("q3")], "(1 only in the second: q3)"),
        ([row(f"x{number}") for number in range(5)], "(2 only in the first: q1, q2)"),
        ([row("q1"), row("q2", answerable=False)], "(q2 is answerable in one of them only)"),
        (
            [row("q1"), row("q2"), *(row(f"x{number}") for number in range(5))],
            "(5 only in the second: x0, x1, x2, …)",
        ),
    ],
)
def test_different_questions_are_one_line_that_names_them(evaluate, tmp_path, rows, complaint):
    first = write(tmp_path / "a.json", row("q1"), row("q2"))
    second = write(tmp_path / "b.json", *rows)

    code, out, err = evaluate("--compare", first, second)

    assert (code, out) == (1, "")
    assert err == (
        f"error: {first} and {second} are over different questions {complaint}: "
        "evaluate both on the same file\n"
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "invalid JSON: "),
        ("[]", "input should be "),
        ('{"claims": {}}', "'model': field required"),
        ('{"model": "m"}', "'questions': field required"),
        ('{"model": "m", "questions": []}', "no questions"),
        ('{"model": "m", "questions": [7]}', "'questions.0': input should be "),
        (json.dumps({"model": "m", "questions": [row("q1"), row("q1")]}), "an id of a question"),
        (
            json.dumps({"model": "m", "questions": [row("q1", confidence="high")]}),
            "'questions.0.confidence': input should be a valid number",
        ),
        (
            json.dumps({"model": "m", "questions": [row("q1", **{"ndcg@10": float("nan")})]}),
            "'questions.0.measured.ndcg@10': input should be a finite number",
        ),
        (
            json.dumps({"model": "m", "questions": [row("q1", weights={"fact_recall": 0})]}),
            "'questions.0.weights.fact_recall': input should be greater than 0",
        ),
        (
            json.dumps({"model": "m", "questions": [row("q1", weights=None)]}),
            "'questions.0.weights': input should be ",
        ),
    ],
)
def test_a_file_that_is_no_report_is_named_in_one_line(evaluate, tmp_path, text, complaint):
    good, bad = write(tmp_path / "a.json", row("q1")), tmp_path / "b.json"
    bad.write_text(text, encoding="utf-8")

    code, out, err = evaluate("--compare", bad, good)

    assert (code, out) == (1, "")
    assert err.startswith(f"error: {bad}: {complaint}")
    assert err.count("\n") == 1


def test_a_missing_file_is_named(evaluate, tmp_path):
    code, _, err = evaluate("--compare", write(tmp_path / "a.json", row("q1")), tmp_path / "gone")

    assert code == 1
    assert err.startswith(f"error: can't read '{tmp_path / 'gone'}': no such file")


def test_a_type_that_is_not_there_is_named(tmp_path):
    path = write(tmp_path / "a.json", row("q1"))

    with pytest.raises(FormatError, match="no questions of type list"):
        read_comparison(path, path, ["list"])


@pytest.mark.parametrize("option", [("--limit", "3"), ("--report", "x"), ("--llm", "extractive")])
def test_comparing_asks_nothing_and_takes_no_option_of_asking(evaluate, tmp_path, option):
    path = write(tmp_path / "a.json", row("q1"))

    code, out, err = evaluate("--compare", path, path, *option)

    assert (code, out) == (2, "")
    assert err.startswith("error: --compare asks nothing")


def test_one_file_is_wrong_usage(evaluate, tmp_path):
    assert evaluate("--compare", write(tmp_path / "a.json", row("q1")))[0] == 2


def test_the_table_has_the_name_of_every_measure(tmp_path):
    (tmp_path / "a").write_text(json.dumps(results().to_dict()), encoding="utf-8")

    table = render_comparison(read_comparison(tmp_path / "a", tmp_path / "a"))

    for name in ("nDCG@10", "fact recall", "words", "false refusals", "AUROC", "AURC", "seconds"):
        assert f"\n{name} " in table

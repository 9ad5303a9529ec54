"""Judged claims: their file, the measures on them, and ``paper-qa evaluate --claims``."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from paper_qa.cli import main
from paper_qa.domain import Claim
from paper_qa.errors import FormatError, QuestionError, UnknownPaperError
from paper_qa.evaluation import (
    ClaimReport,
    ClaimResult,
    JudgedClaim,
    read_claims,
    render_claims,
    run_claims,
)
from paper_qa.evaluation.bootstrap import calibration_interval
from paper_qa.evaluation.measures import calibration_error
from seeds import EVALUATION

pytest_plugins = ["seed_library"]

LINE = {
    "id": "c1",
    "paper_id": "a",
    "claim": "Rain is wet.",
    "label": "supported",
    "kind": "paraphrase",
    "span": "rain is wet",
}
CLAIMS = [
    JudgedClaim("c1", "a", "Rain is always wet.", "supported", "paraphrase"),
    JudgedClaim("c2", "a", "Snow falls.", "contradicted", "negation"),
    JudgedClaim("c3", "b", "Rain falls.", "supported", "paraphrase"),
    JudgedClaim("c4", "b", "Rain is dry.", "contradicted", "negation"),
    JudgedClaim("c5", "b", "Hail!", "not_mentioned", "extra_detail"),
]
VERDICTS = {
    "Rain is always wet.": ("supported", 0.95),
    "Snow falls.": ("supported", 0.65),
    "Rain falls.": ("not_mentioned", 0.35),
    "Rain is dry.": ("contradicted", 0.15),
    "Hail!": ("contradicted", 0.25),
}
MEASURES = [
    "f1",
    "accuracy",
    "verdict_accuracy",
    "auroc",
    "auroc_length",
    "calibration_error",
    "median_ms",
]
TABLE = """\
5 claims, each checked against one abstract

Verdicts  n               F1         accuracy       three-way
overall   5  .500 [.00 1.00]  .600 [.20 1.00]  .400 [.00 .80]

Scores   n            AUROC  AUROC of length  calibration error   ms
overall  5  .833 [.25 1.00]  .750 [.17 1.00]     .350 [.13 .57]  2.5

Detection     n         told right
paraphrase    2    .500 [.00 1.00]
negation      2    .500 [.00 1.00]
extra_detail  1  1.000 [1.00 1.00]
"""
ABOUT_SEEDS = [
    {
        "id": "s1",
        "paper_id": "qian24a",
        "claim": "We train Momentor on Moment-10M, enabling it to perform segment-level reasoning "
        "and localization.",
        "label": "supported",
        "kind": "verbatim",
        "span": "We train Momentor on Moment-10M",
    },
    {
        "id": "s2",
        "paper_id": "qian24a",
        "claim": "Frogs lay their eggs in ponds after heavy rain in spring.",
        "label": "not_mentioned",
        "kind": "other_paper",
        "span": "",
    },
]


@dataclass
class ScriptedChecker:
    """Knows its verdicts by heart, and remembers what it was asked."""

    asked: list[tuple[str, str | None]] = field(default_factory=list)

    def check(self, claim: str, *, paper_id: str | None = None) -> Claim:
        self.asked.append((claim, paper_id))
        support, score = VERDICTS[claim]
        return Claim(claim, support, score)


@dataclass
class RefusingChecker:
    """Can check nothing."""

    error: Exception

    def check(self, claim: str, *, paper_id: str | None = None) -> Claim:
        raise self.error


@pytest.fixture
def report() -> ClaimReport:
    return run_claims(ScriptedChecker(), CLAIMS)


@pytest.fixture
def evaluate(
    capsys: pytest.CaptureFixture[str], seed_home: Path
) -> Callable[..., tuple[int, str, str]]:
    """Return what runs ``paper-qa evaluate`` on the seeds."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["evaluate", "--home", str(seed_home), *map(str, arguments)])
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def write(path: Path, *lines: dict) -> Path:
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return path


def test_a_claim_is_read_with_the_line_it_stands_on(tmp_path):
    path = write(tmp_path / "c.jsonl", LINE, {**LINE, "id": "c2", "new": 1})

    claims = read_claims(path)

    claim = JudgedClaim("c1", "a", "Rain is wet.", "supported", "paraphrase", "rain is wet")
    assert claims == [claim, replace(claim, id="c2")]
    assert [claim.where for claim in claims] == [f"{path}:1", f"{path}:2"]


def test_a_claim_needs_no_span(tmp_path):
    line = {key: value for key, value in LINE.items() if key != "span"}

    assert read_claims(write(tmp_path / "c.jsonl", line))[0].span == ""


def test_the_claims_of_the_repository_are_read():
    claims = read_claims(EVALUATION / "claims.jsonl")

    assert len(claims) == 200
    assert sum(claim.is_supported for claim in claims) == 85


@pytest.mark.parametrize("missing", ["id", "paper_id", "claim", "label", "kind"])
def test_a_missing_field_is_named_with_its_line(tmp_path, missing):
    line = {key: value for key, value in LINE.items() if key != missing}

    assert complaint_about(write(tmp_path / "c.jsonl", {**LINE, "id": "c0"}, line)) == (
        f"2: '{missing}': field required"
    )


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (
            {"label": "true"},
            "'label': input should be 'supported', 'contradicted' or 'not_mentioned'",
        ),
        ({"claim": " "}, "'claim' is blank; write a sentence"),
        ({"paper_id": 7}, "'paper_id': input should be a valid string"),
        ({"id": "c0"}, "the id 'c0' occurs twice; give each its own"),
    ],
)
def test_a_line_that_is_no_judged_claim_is_named(tmp_path, change, complaint):
    path = write(tmp_path / "c.jsonl", {**LINE, "id": "c0"}, {**LINE, **change})

    assert complaint_about(path) == f"2: {complaint}"


@pytest.mark.parametrize("text", ["{", "[1]", "Rain is wet.", '{"id": "c1", }'])
def test_a_line_that_is_not_a_json_object_is_named(tmp_path, text):
    path = tmp_path / "c.jsonl"
    path.write_text(json.dumps(LINE) + "\n\n" + text, encoding="utf-8")

    assert complaint_about(path).startswith("3: ")


def test_a_file_without_claims_is_refused(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text("\n", encoding="utf-8")

    assert complaint_about(path) == "1: no claims; put one JSON object on each line"


def test_a_missing_file_is_refused_by_name(tmp_path):
    with pytest.raises(
        FormatError, match=r"^can't read '.*absent.jsonl': no such file.*claim file"
    ):
        read_claims(tmp_path / "absent.jsonl")


def complaint_about(path: Path) -> str:
    """Return what is wrong with a file, after its name."""
    with pytest.raises(FormatError) as caught:
        read_claims(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}:")
    return message.removeprefix(f"{path}:")


def test_every_claim_is_checked_once_against_its_paper():
    checker = ScriptedChecker()
    heard = []

    run_claims(checker, CLAIMS[:3], progress=lambda done, total: heard.append((done, total)))

    assert checker.asked == [(claim.claim, claim.paper_id) for claim in CLAIMS[:3]]
    assert heard == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("error", [UnknownPaperError("no paper 'a'"), QuestionError("too long")])
def test_a_claim_that_cannot_be_checked_is_named_by_its_line(error):
    claim = replace(CLAIMS[0], where="c.jsonl:7")

    with pytest.raises(type(error), match=rf"^c\.jsonl:7: {error}$"):
        run_claims(RefusingChecker(error), [claim])


def test_the_verdicts_are_measured_as_they_are_defined(report):
    """Accepted are c1, rightly, and c2; supported are c1 and c3: F1 = 2 * 1 / (2 + 2).

    Right for supported against the rest are c1, c4 and c5, and of three verdicts c1 and c4.
    """
    assert report.overall["f1"].value == pytest.approx(2 / 4)
    assert report.overall["accuracy"].value == pytest.approx(3 / 5)
    assert report.overall["verdict_accuracy"].value == pytest.approx(2 / 5)


def test_the_score_and_the_length_are_measured_against_each_other(report):
    """.95 and .35 against .65, .15 and .25: 5 of 6 pairs; 4 and 2 words against 2, 3 and 1: 4.5."""
    assert report.overall["auroc"].value == pytest.approx(5 / 6)
    assert report.overall["auroc_length"].value == pytest.approx(4.5 / 6)


def test_every_kind_has_the_share_that_was_told_right_the_supported_kinds_first(report):
    shares = {kind: share.value for kind, share in report.detection.items()}

    assert list(shares) == ["paraphrase", "negation", "extra_detail"]
    assert shares == {"paraphrase": 0.5, "negation": 0.5, "extra_detail": 1.0}


def test_the_probabilities_are_measured_by_their_calibration_error(report):
    """Each in a bin of its own: (.05 + .65 + .65 + .15 + .25) / 5."""
    assert report.overall["calibration_error"].value == pytest.approx(0.35)


@pytest.mark.parametrize(
    ("scores", "outcomes", "error"),
    [
        ([0.52, 0.52, 0.0, 1.0], [True, False, False, True], 0.01),
        ([0.92, 0.98], [True, True], 0.05),
        ([0.5, 0.55], [True, False], 0.025),  # the border belongs to the bin above
        ([0.5, 0.45], [True, False], 0.475),
        ([0.25, 0.25, 0.25, 0.25], [True, False, False, False], 0.0),
        ([1.0], [False], 1.0),
    ],
)
def test_the_calibration_error_is_what_the_definition_gives(scores, outcomes, error):
    assert calibration_error(scores, outcomes) == pytest.approx(error)


def test_the_calibration_error_of_nothing_is_an_error_and_not_a_score():
    with pytest.raises(ZeroDivisionError):
        calibration_error([], [])


def test_the_interval_of_a_calibration_error_is_that_of_the_normal_approximation():
    """One bin, 320 of 400 true: .3 off, with a standard error of sqrt(.8 * .2 / 400) = .02."""
    low, high = calibration_interval([0.5] * 400, [True] * 320 + [False] * 80)

    assert low == pytest.approx(0.3 - 0.039, abs=0.005)
    assert high == pytest.approx(0.3 + 0.039, abs=0.005)


def test_the_median_is_that_of_the_milliseconds(report):
    times = [3.0, 1.0, 2.0, 90.0, 4.0]
    timed = tuple(replace(r, ms=ms) for r, ms in zip(report.results, times, strict=True))

    assert ClaimReport(timed).overall["median_ms"].value == 3.0


def test_every_interval_holds_its_value(report):
    chance = random.Random(3)
    labels = ["supported", "contradicted", "not_mentioned"]
    guessed = [
        ClaimResult(
            JudgedClaim(str(number), "a", "word " * chance.randint(1, 9), label, label),
            Claim("", chance.choice(labels), chance.random()),
            chance.random(),
        )
        for number in range(60)
        for label in [chance.choice(labels)]
    ]

    for measured in (report, ClaimReport(tuple(guessed))):
        for found in (*measured.overall.values(), *measured.detection.values()):
            assert found.interval is not None
            assert found.interval[0] <= found.value <= found.interval[1]


def test_a_measure_that_needs_both_classes_is_null_without_one():
    fields = run_claims(ScriptedChecker(), CLAIMS[:1]).to_dict()

    assert fields["auroc"] is None
    assert fields["auroc_length"] is None
    assert fields["intervals"].keys() == {*MEASURES, "detection"} - {"auroc", "auroc_length"}


def test_no_claims_give_an_empty_report():
    report = run_claims(ScriptedChecker(), [])

    assert {measured.value for measured in report.overall.values()} == {None}
    assert report.to_dict()["intervals"] == {"detection": {}}
    assert render_claims(report).startswith("0 claims")


def test_the_json_has_the_documented_keys(report):
    fields = json.loads(json.dumps(report.to_dict()))

    assert list(fields) == ["num_claims", *MEASURES, "detection", "intervals"]
    assert fields["num_claims"] == 5
    assert fields["detection"] == {"paraphrase": 0.5, "negation": 0.5, "extra_detail": 1.0}
    assert list(fields["intervals"]) == [*MEASURES, "detection"]
    assert fields["intervals"]["detection"]["extra_detail"] == [1.0, 1.0]


def test_the_table_shows_the_measures_and_every_kind(report):
    steady = ClaimReport(tuple(replace(result, ms=2.5) for result in report.results))

    assert render_claims(steady) == TABLE


def test_the_table_fits_a_terminal(report):
    assert max(map(len, render_claims(report).splitlines())) <= 100


def test_the_shell_checks_claims_about_the_seeds(evaluate, tmp_path):
    claims = write(tmp_path / "c.jsonl", *ABOUT_SEEDS)

    code, out, err = evaluate("--claims", claims, "--json")

    report = json.loads(out)
    assert code == 0
    assert list(report) == ["claims"]
    assert list(report["claims"]) == ["num_claims", *MEASURES, "detection", "intervals"]
    assert report["claims"]["num_claims"] == 2
    assert report["claims"]["detection"] == {"verbatim": 1.0, "other_paper": 1.0}
    assert report["claims"]["f1"] == report["claims"]["auroc"] == 1.0
    assert "Checking: 2 of 2" in err
    assert "Asking" not in err


def test_the_shell_prints_claims_as_a_table(evaluate, tmp_path):
    claims = write(tmp_path / "c.jsonl", *ABOUT_SEEDS)

    code, out, err = evaluate("--claims", claims, "--quiet")

    assert (code, err) == (0, "")
    assert out.startswith("2 claims, each checked against one abstract\n\nVerdicts ")
    assert "nDCG" not in out
    assert out.splitlines()[-1].split() == ["other_paper", "1", "1.000", "[1.00", "1.00]"]


def test_questions_and_claims_are_reported_together(evaluate, tmp_path):
    claims = write(tmp_path / "c.jsonl", *ABOUT_SEEDS)
    both = ("--claims", claims, "--questions", EVALUATION / "questions.jsonl", "--limit", "1")

    report = json.loads(evaluate(*both, "--json")[1])
    table = evaluate(*both)[1]

    assert list(report) == [
        "model",
        "judge",
        "overall",
        "single_turn",
        "by_type",
        "abstention",
        "questions",
        "claims",
    ]
    assert report["overall"]["num_questions"] == report["claims"]["num_claims"] == 1
    assert table.startswith("1 questions, ")
    assert "\n\n1 claims, " in table


def test_a_paper_that_is_not_there_is_named_with_the_line(evaluate, tmp_path):
    claims = write(tmp_path / "c.jsonl", ABOUT_SEEDS[0], {**ABOUT_SEEDS[1], "paper_id": "nobody24"})

    code, out, err = evaluate("--claims", claims, "--quiet")

    assert (code, out) == (1, "")
    assert err.startswith(f"error: {claims}:2: no paper 'nobody24' in the library: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("claim", ["?!", "word " * 25_000], ids=["no words", "without end"])
def test_a_claim_that_is_no_sentence_is_named_with_the_line(evaluate, tmp_path, claim):
    claims = write(tmp_path / "c.jsonl", {**ABOUT_SEEDS[0], "claim": claim})

    code, out, err = evaluate("--claims", claims, "--quiet")

    assert (code, out) == (1, "")
    assert err.startswith(f"error: {claims}:1: ")
    assert err.count("\n") == 1


def test_a_broken_claim_file_is_an_error_before_the_library_is_opened(evaluate, tmp_path):
    claims = write(tmp_path / "c.jsonl", {**LINE, "label": "maybe"})

    code, out, err = evaluate("--claims", claims)

    assert (code, out) == (1, "")
    assert err.startswith(f"error: {claims}:1: 'label': input should be ")


def test_a_type_without_questions_is_wrong_usage(evaluate, tmp_path):
    code, _, err = evaluate("--claims", write(tmp_path / "c.jsonl", LINE), "--type", "fact")

    assert code == 2
    assert err == "error: --type chooses among questions: name their file with --questions\n"

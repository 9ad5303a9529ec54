"""When to decline, measured: by confidence, and by the reason that is given."""

import json

import pytest

from paper_qa.evaluation import Report, abstention
from scripted_results import cite, declined, result, said

ANSWERED = said("It is said [1].", cite("a"), retrieved="a")


def report_of(*results) -> Report:
    return Report(tuple(results))


@pytest.fixture
def refusals() -> Report:
    """Of three whose paper is there two are declined rightly, of two others one; one is answered.

    One is declined wrongly, since it is answerable, and one is of a kind that names no reason.
    """
    return report_of(
        result("n1", declined("not_in_abstract"), kind="not_in_abstract"),
        result("n2", declined("not_in_abstract"), kind="false_premise"),
        result("n3", declined("no_evidence"), kind="false_premise"),
        result("o1", declined("no_evidence"), kind="off_topic"),
        result("o2", declined("language"), kind="absent_topic"),
        result("o3", ANSWERED, kind="off_topic"),
        result("x1", declined("no_evidence"), kind="something_else"),
        result("f1", declined("no_evidence"), gold="a"),
    )


def test_the_kind_of_abstention_is_judged_where_declining_is_right(refusals):
    """Right are n1, n2 and o1, of n1, n2, n3, o1 and o2."""
    assert refusals.overall.values["abstention_kind_accuracy"] == pytest.approx(3 / 5)
    assert refusals.over({"fact"}).values["abstention_kind_accuracy"] is None


def test_the_confusion_counts_the_reasons_given_for_each_that_is_right(refusals):
    assert abstention.confusion(refusals.results) == {
        "not_in_abstract": {"no_evidence": 1, "not_in_abstract": 2, "language": 0},
        "no_evidence": {"no_evidence": 1, "not_in_abstract": 0, "language": 1},
    }


def test_a_question_with_gold_has_no_right_reason_whatever_its_kind():
    found = result("f1", declined("no_evidence"), gold="a", kind="off_topic")

    assert found.question.right_reason is None


@pytest.fixture
def ranked() -> Report:
    """By confidence: answerable, unanswerable, answerable, unanswerable."""
    return report_of(
        result("f1", said("Yes [1].", cite("a"), confidence=0.95), gold="a"),
        result("u1", said("So [1].", cite("a"), confidence=0.85), kind="off_topic"),
        result("f2", declined(confidence=0.75), gold="a"),
        result("u2", declined(confidence=0.15), kind="off_topic"),
    )


def test_an_answer_to_an_unanswerable_question_is_the_risk(ranked):
    """0/1, 1/2, 1/3, 2/4; what is declined is ranked by its confidence as well."""
    overall = ranked.overall

    assert overall.values["aurc"] == pytest.approx((0 + 1 / 2 + 1 / 3 + 2 / 4) / 4)
    low, high = overall.intervals["aurc"]
    assert low < overall.values["aurc"] < high
    assert overall.values["abstention_auroc"] == pytest.approx(3 / 4)


def test_the_risk_of_one_kind_of_questions_is_not_measured(ranked):
    assert ranked.over({"fact"}).values["aurc"] is None
    assert ranked.over({"unanswerable"}).values["aurc"] is None


def test_the_json_has_the_curve_the_bins_and_the_confusion(ranked):
    fields = json.loads(json.dumps(ranked.to_dict()))["abstention"]

    assert list(fields) == ["confusion", "risk_coverage", "calibration"]
    assert fields["confusion"]["no_evidence"]["no_evidence"] == 1
    assert fields["risk_coverage"] == [
        [0.25, 0.0],
        [0.5, 0.5],
        [0.75, pytest.approx(1 / 3)],
        [1.0, 0.5],
    ]
    assert [list(alike.values()) for alike in fields["calibration"]] == [
        [1, pytest.approx(0.15), 0.0],
        [1, pytest.approx(0.75), 1.0],
        [1, pytest.approx(0.85), 0.0],
        [1, pytest.approx(0.95), 1.0],
    ]

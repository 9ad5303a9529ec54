import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from paper_qa.domain import Answer, Turn
from paper_qa.errors import ModelConnectionError
from paper_qa.evaluation import Question, Report, render_table, run_evaluation
from scripted_results import ScriptedAnswerer, cite, declined, said

TABLE = """\
4 questions, answered by extractive

Retrieval    n          nDCG@10           recall@5          recall@10              MRR
fact         2  .815 [.63 1.00]  1.000 [1.00 1.00]  1.000 [1.00 1.00]  .750 [.50 1.00]
followup     1   .693 [.69 .69]  1.000 [1.00 1.00]  1.000 [1.00 1.00]   .500 [.50 .50]
overall      4  .775 [.63 1.00]  1.000 [1.00 1.00]  1.000 [1.00 1.00]  .667 [.50 1.00]
single-turn  3  .815 [.63 1.00]  1.000 [1.00 1.00]  1.000 [1.00 1.00]  .750 [.50 1.00]

Answers       n      fact recall  words  claims   cit. precision      cit. recall
fact          2  .667 [.00 1.00]      3     1.0  .500 [.00 1.00]  .500 [.00 1.00]
unanswerable  1                -      2     1.0                -                -
followup      1   .000 [.00 .00]      4     1.0   .500 [.50 .50]   .500 [.50 .50]
overall       4  .500 [.00 1.00]      3     1.0  .500 [.00 1.00]  .500 [.00 1.00]
single-turn   3  .667 [.00 1.00]      2     1.0  .500 [.00 1.00]  .500 [.00 1.00]

Declining     n      false answers   false refusals  right reason            AUROC
fact          2                  -  .500 [.00 1.00]             -                -
unanswerable  1  1.000 [1.00 1.00]                -             -                -
followup      1                  -   .000 [.00 .00]             -                -
overall       4  1.000 [1.00 1.00]  .333 [.00 1.00]             -  .667 [.00 1.00]
single-turn   3  1.000 [1.00 1.00]  .500 [.00 1.00]             -  .500 [.00 1.00]

Risk, quotes  n             AURC  valid quotes  seconds
fact          2                -         1.000     0.25
unanswerable  1                -          .000     0.25
followup      1                -          .500     0.25
overall       4   .146 [.00 .79]          .500     0.25
single-turn   3  .278 [.00 1.00]          .500     0.25
"""
KEYS = [
    "num_questions",
    "ndcg@10",
    "recall@5",
    "recall@10",
    "mrr",
    "fact_recall",
    "citation_precision",
    "citation_recall",
    "quote_validity",
    "alce_recall",
    "alce_precision",
    "false_answer_rate",
    "false_refusal_rate",
    "abstention_kind_accuracy",
    "mean_claims",
    "mean_words",
    "abstention_auroc",
    "aurc",
    "median_s",
]
QUESTIONS = [
    Question("f1", "What about a?", "fact", gold=("a",), facts=("alpha", "beta")),
    Question("f2", "And b?", "fact", gold=("b",), facts=("gamma",)),
    Question("u1", "Rain?", "unanswerable", kind="off_topic"),
    Question(
        "t1", "It?", "followup", gold=("a", "c"), facts=("delta",), history=(Turn("user", "a"),)
    ),
]


class BrokenAnswerer(ScriptedAnswerer):
    """Has lost its model."""

    def ask(self, question: str, *, history: Sequence[Turn] = ()) -> Answer:
        raise ModelConnectionError("can't reach the model; start it")


@pytest.fixture
def answerer() -> ScriptedAnswerer:
    """One right answer, one wrong refusal, one wrong answer, and one in part right."""
    return ScriptedAnswerer(
        {
            "What about a?": said("Alpha and beta [1].", cite("a"), retrieved="ab"),
            "And b?": declined(retrieved="ab", confidence=0.3),
            "Rain?": said("It rains [1].", cite("c", "wrong"), retrieved="abc", confidence=0.4),
            "It?": said("Not much to say [1].", cite("a"), cite("gone"), retrieved="xac"),
        }
    )


@pytest.fixture
def report(answerer) -> Report:
    return run_evaluation(answerer, QUESTIONS)


def test_every_question_is_asked_once_with_its_history(answerer):
    heard = []

    run_evaluation(answerer, QUESTIONS, progress=lambda done, total: heard.append((done, total)))

    assert answerer.asked == [(q.question, q.history) for q in QUESTIONS]
    assert heard == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_the_measures_of_a_group_are_what_the_definitions_give(report):
    """Two fact questions: answered with both facts, and declined with b on rank 2.

    nDCG@10 = (1 + 1/log2(3)) / 2; MRR = (1 + 1/2) / 2; facts 2 of 3; citations 1 and 0.
    """
    values = report.by_type["fact"].values

    assert values["ndcg@10"] == pytest.approx((1 + 0.6309298) / 2)
    assert values["recall@5"] == values["recall@10"] == 1.0
    assert values["mrr"] == pytest.approx(0.75)
    assert values["fact_recall"] == pytest.approx(2 / 3)
    assert values["citation_precision"] == values["citation_recall"] == 0.5
    assert values["false_refusal_rate"] == 0.5
    assert values["quote_validity"] == 1.0
    assert values["mean_words"] == 3.0
    assert values["mean_claims"] == 1.0


def test_a_refusal_states_no_facts_and_has_no_length():
    """It would otherwise score by what it says it does not know, and shorten the mean."""
    refusal = Answer("", "alpha is not in the abstracts, nor is beta", abstained=True)
    answerer = ScriptedAnswerer({"What about a?": refusal})

    overall = run_evaluation(answerer, QUESTIONS[:1]).overall

    assert overall.values["fact_recall"] == 0.0
    assert overall.values["citation_precision"] == 0.0
    assert overall.values["mean_words"] is None
    assert "mean_words" not in overall.intervals


def test_a_quote_of_a_paper_that_is_not_there_or_not_its_text_is_invalid(report):
    """Four citations: one of a twice (right), a wrong quote of c, and the paper 'gone'."""
    assert report.overall.values["quote_validity"] == pytest.approx(2 / 4)


def test_measures_that_do_not_apply_to_a_group_are_null(report):
    values = report.by_type["unanswerable"].values

    for key in ("ndcg@10", "mrr", "fact_recall", "citation_precision", "false_refusal_rate"):
        assert values[key] is None
    assert values["abstention_auroc"] is None
    assert values["false_answer_rate"] == 1.0
    assert report.by_type["fact"].values["false_answer_rate"] is None


def test_the_confidence_is_judged_over_answerable_and_unanswerable_questions(report):
    """.9, .3 and .9 against .4: two of three pairs are in order."""
    assert report.overall.values["abstention_auroc"] == pytest.approx(2 / 3)


def test_follow_ups_are_left_out_of_the_single_turn_figures(report):
    assert report.overall.num_questions == 4
    assert report.single_turn.num_questions == 3
    assert report.single_turn.values["mrr"] == pytest.approx(0.75)


def test_types_can_be_pooled(report):
    """Facts pooled over fact and followup: 2 of 4."""
    assert report.over({"fact", "followup"}).values["fact_recall"] == pytest.approx(2 / 4)


def test_the_json_has_the_documented_keys_in_every_group(report):
    fields = json.loads(json.dumps(report.to_dict()))

    assert list(fields) == [
        "model",
        "judge",
        "overall",
        "single_turn",
        "by_type",
        "abstention",
        "questions",
    ]
    assert fields["model"] == "extractive"
    assert list(fields["by_type"]) == ["fact", "unanswerable", "followup"]
    for group in (fields["overall"], fields["single_turn"], *fields["by_type"].values()):
        assert list(group) == [*KEYS, "intervals"]
        assert group["intervals"].keys() == {k for k in KEYS[1:] if group[k] is not None}
        assert all(low <= group[key] <= high for key, (low, high) in group["intervals"].items())


def test_the_json_has_a_row_for_each_question(report):
    rows = report.to_dict()["questions"]

    assert [row["id"] for row in rows] == ["f1", "f2", "u1", "t1"]
    assert rows[0]["fact_recall"] == 1.0
    assert rows[1]["abstained"] is True
    assert rows[2]["ndcg@10"] is None
    assert rows[3]["quote_validity"] == 0.5
    assert [row["answerable"] for row in rows] == [True, True, False, True]
    assert rows[0]["weights"] == {"fact_recall": 2, "quote_validity": 1}
    assert rows[1]["weights"] == {"fact_recall": 1}


def test_a_failure_ends_the_run():
    with pytest.raises(ModelConnectionError):
        run_evaluation(BrokenAnswerer({}), QUESTIONS)


def test_no_questions_give_an_empty_report():
    report = run_evaluation(ScriptedAnswerer({}), [])

    assert report.overall.num_questions == 0
    assert set(report.overall.values.values()) == {None}
    assert "0 questions, answered by nobody" in render_table(report)


def test_the_table_shows_every_type_and_the_whole(answerer, report):
    steady = replace(report, results=tuple(replace(r, seconds=0.25) for r in report.results))

    assert render_table(steady) == TABLE


def test_the_table_fits_a_terminal_and_its_columns_are_aligned(report):
    for table in render_table(report).strip().split("\n\n")[1:]:
        lines = table.splitlines()
        assert len({len(line) for line in lines}) == 1
        assert len(lines[0]) <= 100


def test_the_table_has_no_single_turn_row_without_follow_ups(answerer):
    assert "single-turn" not in render_table(run_evaluation(answerer, QUESTIONS[:3]))


def test_a_table_leaves_out_the_types_that_it_says_nothing_about(report):
    retrieval = render_table(report).split("\n\n")[1]

    assert "unanswerable" not in retrieval
    assert "overall" in retrieval


def test_one_wrong_quote_in_ten_thousand_is_not_rounded_away(report):
    first = replace(report.results[0], num_quotes=10_000, num_valid_quotes=9_999)

    quotes = render_table(replace(report, results=(first,))).split("\n\n")[4]

    assert "  .999  " in quotes
    assert "1.000" not in quotes

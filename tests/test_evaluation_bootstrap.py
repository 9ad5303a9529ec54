import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper_qa.evaluation.bootstrap import (
    Median,
    Ratios,
    RiskCoverage,
    Separation,
    interval,
    paired_difference,
)
from paper_qa.evaluation.measures import auroc

CONFIDENCES = st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=1, max_size=6)


def means(*values: float) -> Ratios:
    return Ratios(values, (1.0,) * len(values))


def test_the_interval_of_a_mean_is_that_of_the_normal_approximation():
    """400 fair coin flips: the standard error is .5 / sqrt(400) = .025, so .5 ± 1.96 * .025."""
    low, high = interval(means(*([0.0, 1.0] * 200)))

    assert low == pytest.approx(0.5 - 0.049, abs=0.006)
    assert high == pytest.approx(0.5 + 0.049, abs=0.006)


def test_a_pooled_share_weighs_questions_by_their_denominator():
    """One of one, and none of three: 1/4, where the mean of the shares would be 1/2."""
    assert Ratios((1.0, 0.0), (1.0, 3.0)).value == 0.25


def test_the_same_scores_give_the_same_interval():
    scores = means(0.1, 0.5, 0.9, 0.3)

    assert interval(scores) == interval(scores)
    assert interval(scores, seed=1) != interval(means(0.1, 0.5, 0.9, 0.4), seed=1)


def test_the_interval_holds_the_value_of_one_question():
    assert interval(means(0.7)) == (0.7, 0.7)
    assert interval(Median((2.5,))) == (2.5, 2.5)


def test_nothing_to_divide_by_has_no_value_and_no_interval():
    nothing = Ratios((0.0, 0.0), (0.0, 0.0))

    assert nothing.value is None
    assert interval(nothing) is None
    assert interval(Ratios((), ())) is None
    assert interval(Median(())) is None


def test_resamples_that_miss_the_only_question_with_a_say_are_left_out():
    assert interval(Ratios((0.5, 0.0, 0.0), (1.0, 0.0, 0.0))) == (0.5, 0.5)


def test_the_interval_of_the_median_is_around_it():
    low, high = interval(Median((1.0, 2.0, 3.0, 4.0, 100.0)))

    assert 1.0 <= low <= 3.0 <= high <= 100.0


def test_the_interval_of_an_auroc_is_that_of_its_standard_error():
    """Hanley & McNeil's standard error for 60 and 40 normal scores one deviation apart."""
    rng = np.random.default_rng(7)
    positives, negatives = rng.normal(1, 1, 60).tolist(), rng.normal(0, 1, 40).tolist()
    area = auroc(positives, negatives)
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    variance = area * (1 - area) + 59 * (q1 - area**2) + 39 * (q2 - area**2)
    error = (variance / (60 * 40)) ** 0.5

    low, high = interval(Separation(tuple(positives), tuple(negatives)))

    assert low == pytest.approx(area - 1.96 * error, abs=0.025)
    assert high == pytest.approx(area + 1.96 * error, abs=0.025)


def test_a_perfect_auroc_stays_perfect_in_every_resample():
    assert interval(Separation((0.9, 0.8), (0.1,))) == (1.0, 1.0)


def test_a_small_steady_gain_is_clear_when_questions_are_paired():
    """Hard and easy questions spread by .5, the gain is .02 on each: pairing sees only the gain."""
    first = [0.0, 0.25, 0.5, 0.75] * 10
    second = [value + 0.02 for value in first]

    difference = paired_difference(means(*first), means(*second))

    assert difference.value == pytest.approx(0.02)
    assert difference.low == pytest.approx(0.02)
    assert difference.is_clear
    apart = interval(means(*first))
    assert apart[1] - apart[0] > 0.1


def test_a_gain_on_some_and_a_loss_on_others_is_not_clear():
    difference = paired_difference(means(*([0.0, 1.0] * 10)), means(*([1.0, 0.0] * 10)))

    assert difference is not None
    assert difference.value == 0.0
    assert not difference.is_clear


def test_a_loss_is_clear_too():
    difference = paired_difference(means(1.0, 1.0), means(0.5, 0.5))

    assert difference.is_clear
    assert difference.high == pytest.approx(-0.5)


def test_runs_without_a_value_are_not_compared():
    nothing = Ratios((0.0,), (0.0,))

    assert paired_difference(nothing, means(1.0)) is None
    assert paired_difference(means(1.0), nothing) is None


@given(right=CONFIDENCES, wrong=CONFIDENCES, seed=st.integers(0, 99))
def test_a_resample_is_what_the_measure_gives_over_what_was_drawn(right, wrong, seed):
    number = len(right) + len(wrong)
    drawn = np.random.default_rng(seed).multinomial(number, np.full(number, 1 / number))
    taken_right = tuple(np.repeat(right, drawn[: len(right)]))
    taken_wrong = tuple(np.repeat(wrong, drawn[len(right) :]))
    counts = drawn[None, :].astype(float)

    area = Separation(tuple(right), tuple(wrong)).resampled(counts)[0]
    risk = RiskCoverage(tuple(right), tuple(wrong)).resampled(counts)[0]
    median = Median((*right, *wrong)).resampled(counts)[0]

    assert median == np.median([*taken_right, *taken_wrong])
    if taken_right and taken_wrong:
        assert area == pytest.approx(Separation(taken_right, taken_wrong).value)
        assert risk == pytest.approx(RiskCoverage(taken_right, taken_wrong).value)
    else:
        assert np.isnan(area)
        assert risk == pytest.approx(0.0 if taken_right else 1.0)


def test_the_area_of_the_risk_is_measured_only_where_an_order_matters():
    assert RiskCoverage((0.9,), ()).value is None
    assert RiskCoverage((), (0.9,)).value is None
    assert interval(RiskCoverage((0.9,), ())) is None


def test_the_interval_of_the_risk_holds_its_value():
    found = RiskCoverage((0.9, 0.8, 0.4, 0.3), (0.7, 0.2))

    low, high = interval(found)

    assert low < found.value < high


def test_medians_are_compared_question_by_question():
    slower = paired_difference(Median((1.0, 5.0, 9.0)), Median((1.5, 5.5, 9.5)))

    assert (slower.first, slower.second, slower.value) == (5.0, 5.5, 0.5)
    assert (slower.low, slower.high) == (0.5, 0.5)

import numpy as np
import pytest

from paper_qa.evaluation.bootstrap import (
    Ratios,
    auroc_interval,
    median_interval,
    paired_difference,
    ratio_interval,
)
from paper_qa.evaluation.measures import auroc


def means(*values: float) -> Ratios:
    return Ratios(values, (1.0,) * len(values))


def test_the_interval_of_a_mean_is_that_of_the_normal_approximation():
    """400 fair coin flips: the standard error is .5 / sqrt(400) = .025, so .5 ± 1.96 * .025."""
    low, high = ratio_interval(means(*([0.0, 1.0] * 200)))

    assert low == pytest.approx(0.5 - 0.049, abs=0.006)
    assert high == pytest.approx(0.5 + 0.049, abs=0.006)


def test_a_pooled_share_weighs_questions_by_their_denominator():
    """One of one, and none of three: 1/4, where the mean of the shares would be 1/2."""
    assert Ratios((1.0, 0.0), (1.0, 3.0)).value == 0.25


def test_the_same_scores_give_the_same_interval():
    scores = means(0.1, 0.5, 0.9, 0.3)

    assert ratio_interval(scores) == ratio_interval(scores)
    assert ratio_interval(scores, seed=1) != ratio_interval(means(0.1, 0.5, 0.9, 0.4), seed=1)


def test_the_interval_holds_the_value_of_one_question():
    assert ratio_interval(means(0.7)) == (0.7, 0.7)
    assert median_interval([2.5]) == (2.5, 2.5)


def test_nothing_to_divide_by_has_no_value_and_no_interval():
    nothing = Ratios((0.0, 0.0), (0.0, 0.0))

    assert nothing.value is None
    assert ratio_interval(nothing) is None
    assert ratio_interval(Ratios((), ())) is None
    assert median_interval([]) is None


def test_resamples_that_miss_the_only_question_with_a_say_are_left_out():
    assert ratio_interval(Ratios((0.5, 0.0, 0.0), (1.0, 0.0, 0.0))) == (0.5, 0.5)


def test_the_interval_of_the_median_is_around_it():
    low, high = median_interval([1.0, 2.0, 3.0, 4.0, 100.0])

    assert 1.0 <= low <= 3.0 <= high <= 100.0


def test_the_interval_of_an_auroc_is_that_of_its_standard_error():
    """Hanley & McNeil's standard error for 60 and 40 normal scores one deviation apart."""
    rng = np.random.default_rng(7)
    positives, negatives = rng.normal(1, 1, 60).tolist(), rng.normal(0, 1, 40).tolist()
    area = auroc(positives, negatives)
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    variance = area * (1 - area) + 59 * (q1 - area**2) + 39 * (q2 - area**2)
    error = (variance / (60 * 40)) ** 0.5

    low, high = auroc_interval(positives, negatives)

    assert low == pytest.approx(area - 1.96 * error, abs=0.025)
    assert high == pytest.approx(area + 1.96 * error, abs=0.025)


def test_a_perfect_auroc_stays_perfect_in_every_resample():
    assert auroc_interval([0.9, 0.8], [0.1]) == (1.0, 1.0)


def test_a_small_steady_gain_is_clear_when_questions_are_paired():
    """Hard and easy questions spread by .5, the gain is .02 on each: pairing sees only the gain."""
    first = [0.0, 0.25, 0.5, 0.75] * 10
    second = [value + 0.02 for value in first]

    difference = paired_difference(means(*first), means(*second))

    assert difference.value == pytest.approx(0.02)
    assert difference.low == pytest.approx(0.02)
    assert difference.is_clear
    apart = ratio_interval(means(*first))
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

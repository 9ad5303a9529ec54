import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paper_qa.figures import Figure, figures


def values(text: str) -> list[float]:
    return sorted(figure.value for figure in figures(text))


def is_rounded(claim: str, exact: str) -> bool:
    (figure,), (known,) = figures(claim), figures(exact)
    return figure.is_rounded(known)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is 3.5 times as fast on 12 tasks.", [3.5, 12]),
        ("over 1,200,000 samples", [1_200_000]),
        ("0.1 million, 2 Million, 3.5k and 10M", [3500, 100_000, 2e6, 1e7]),
        ("Two of seven, and none of the twelve", [2, 7, 12]),
        ("from 93.63% to 15.12%", [15.12, 93.63]),
        ("1-5 digit addition", [1, 5]),
        ("Moment-10M", [1e7]),
        ("a latency of 16.2ms", [16.2]),
        ("no figures, and one of them", []),
        ("BERT2 and v2.0.1", []),
        ("", []),
    ],
)
def test_numbers_are_read_however_they_are_written(text: str, expected: list[float]):
    assert values(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("claim", "exact"),
    [
        ("95%", "95%"),
        ("twelve", "12"),
        ("100,000", "0.1 million"),
        ("93.6", "93.63"),
        ("94", "93.63"),
        ("2 million", "2M"),
        ("1.2k", "1,234"),
    ],
)
def test_a_number_may_be_rounded_or_written_in_another_way(claim: str, exact: str):
    assert is_rounded(claim, exact)


@pytest.mark.parametrize(
    ("claim", "exact"),
    [("95", "94"), ("93.7", "93.63"), ("12", "1.2"), ("2 million", "2"), ("150", "510")],
)
def test_another_number_is_another_number(claim: str, exact: str):
    assert not is_rounded(claim, exact)


def test_half_is_not_one():
    assert not is_rounded("half of it", "1")


@settings(deadline=None)
@given(st.integers(0, 10**9))
def test_a_whole_number_is_itself_in_every_form(number: int):
    (plain,), (grouped,) = figures(f"{number} items"), figures(f"{number:,} items")

    assert plain == grouped == Figure(float(number), 1.0)
    assert plain.is_rounded(grouped)


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_has_figures_or_none(text: str):
    assert all(figure.place > 0 for figure in figures(text))

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paper_qa.words import content_words, is_function_word


def words(text: str) -> list[str]:
    return [word for word, _ in content_words(text)]


def test_words_without_meaning_of_their_own_are_left_out():
    assert words("How does the Momentor get its training data?") == ["momentor", "training", "data"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Moment-10M", ["moment-10m"]),
        ("What's SPIKE-LM’s aim", ["spike-lm’s", "aim"]),
        ("don't, wouldn’t, isn't", []),
        ("naïve Bayes für 3 größen", ["naïve", "bayes", "für", "3", "größen"]),
        ("有没有方法", ["有没有方法"]),
        ("--- … !?", []),
        ("", []),
    ],
)
def test_a_word_goes_on_over_hyphens_and_apostrophes(text: str, expected: list[str]):
    assert words(text) == expected


def test_a_contraction_is_known_by_what_stands_before_the_apostrophe():
    assert is_function_word("what's")
    assert is_function_word("they’re")
    assert not is_function_word("bayes'")


@settings(deadline=None)
@given(st.text(max_size=80))
def test_spans_point_to_the_words(text: str):
    found = content_words(text)

    assert all(text[span.start : span.end].lower() == word for word, span in found)
    assert all(not is_function_word(word) for word, _ in found)
    ends = [0, *(span.end for _, span in found)]
    assert all(span.start >= end for (_, span), end in zip(found, ends, strict=False))

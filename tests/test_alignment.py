from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from paper_qa.alignment import align, read_claim, read_source
from paper_qa.differences import FEATURES, differences
from paper_qa.domain import Paper
from paper_qa.late_interaction import encode_words
from paper_qa.lexicon import load_lexicon, stem
from paper_qa.tokens import num_negations, tokens_of
from paper_qa.word_index import PlacedWords, place_words

BRIDGES = Paper(
    "bridges",
    "Rope bridges under load",
    "We study rope bridges in mountain valleys. Hemp ropes carry more weight than nylon ropes on "
    "12 of 14 bridges. Wet ropes do not stretch evenly. In most valleys, wind reduces the carrying "
    "capacity by 23.4%. The Kelvin sensor may detect early damage.",
)


def measure(claim: str, paper: Paper = BRIDGES) -> Mapping[str, float]:
    words = encode_words(f"{paper.title}\n{paper.abstract}")
    starts = [span.start - len(paper.title) - 1 for span in words.spans]
    tokens = read_claim(claim)
    source = read_source(
        tokens, place_words(claim), paper, PlacedWords(np_int(starts), words.vectors)
    )
    (aligned,) = align(claim, tokens, [source])
    return dict(zip(FEATURES, differences(aligned), strict=True))


def np_int(numbers: list[int]) -> np.ndarray:
    return np.array(numbers, dtype=np.int32)


SIGNS = [
    (
        "foreign_figures",
        "Wind reduces the carrying capacity by 32%.",
        "Wind reduces capacity by 23%.",
    ),
    (
        "foreign_names",
        "The Celsius sensor may detect damage.",
        "The Kelvin sensor may detect damage.",
    ),
    ("negation_added", "Wind does not reduce the carrying capacity.", "Wind reduces capacity."),
    ("negation_lost", "Wet ropes stretch evenly.", "Wet ropes stretch unevenly, not evenly."),
    ("opposite_near", "Wind increases the carrying capacity.", "Wind reduces the capacity."),
    ("sides_crossed", "Nylon ropes carry more weight than hemp ropes.", "Hemp beats nylon ropes."),
    (
        "strength_added",
        "In all valleys, wind reduces the capacity.",
        "In most valleys wind matters.",
    ),
    ("hedge_dropped", "The Kelvin sensor detects damage.", "The Kelvin sensor can detect damage."),
]


@pytest.mark.parametrize(("sign", "false", "true"), SIGNS, ids=[sign for sign, _, _ in SIGNS])
def test_what_differs_is_told(sign: str, false: str, true: str):
    assert measure(false)[sign] > 0
    assert measure(true)[sign] == 0


COUNTS = Paper("counts", "", "We tie 3 ropes to 14 bridges. They hold 2 tons for 0.1 hours.")


@pytest.mark.parametrize(
    ("claim", "is_rebound"),
    [
        ("3 ropes are tied to 14 bridges.", False),
        ("Three ropes are tied to fourteen bridges.", False),
        ("14 ropes are tied to 3 bridges.", True),
        ("The ropes hold 0.1 tons for 2 hours.", True),
        ("For 0.1 hours, 2 tons are held.", False),
    ],
)
def test_a_figure_that_counts_something_else_is_told(claim: str, is_rebound: bool):
    assert (measure(claim, COUNTS)["figure_rebound"] > 0.1) == is_rebound


def test_a_sentence_of_the_abstract_differs_in_nothing():
    measured = measure("Hemp ropes carry more weight than nylon ropes on 12 of 14 bridges.")

    told = {name for name, value in measured.items() if value > 0.05}
    assert told <= {"literal", "scattered", "margin", "distance"}
    assert measured["literal"] == 1


def test_words_that_nothing_covers_are_told():
    near = measure("Wet ropes stretch unevenly.")["uncovered"]
    far = measure("Bananas from Ecuador ripen in refrigerated ships.")["uncovered"]

    assert near < 0.3
    assert far > 0.6


def test_a_claim_may_rest_on_two_distant_sentences():
    claim = (
        "Hemp ropes carry more weight than nylon ropes, and the Kelvin sensor may detect damage."
    )
    tokens = read_claim(claim)
    words = encode_words(f"{BRIDGES.title}\n{BRIDGES.abstract}")
    starts = [span.start - len(BRIDGES.title) - 1 for span in words.spans]
    paper_words = PlacedWords(np_int(starts), words.vectors)

    (aligned,) = align(
        claim, tokens, [read_source(tokens, place_words(claim), BRIDGES, paper_words)]
    )

    assert len(aligned.window.spans) == 2


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("It works.", 0),
        ("It does not work.", 1),
        ("It doesn't work.", 1),
        ("It works without data, and never fails.", 3),
        ("Not only fast but also cheap.", 0),
        ("Speed rather than size matters.", 1),
    ],
)
def test_negations_are_counted(text: str, number: int):
    assert num_negations(tokens_of(text)) == number


def test_a_negation_reaches_to_the_end_of_its_clause():
    tokens = tokens_of("It does not need labels, but it uses graphs.")

    negated = {token.word for token in tokens if token.negated}
    assert "labels" in negated
    assert "graphs" not in negated


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("increase", "decrease"),
        ("increases", "decreased"),
        ("supervised", "unsupervised"),
        ("useful", "useless"),
        ("dependent", "independent"),
        ("better", "worse"),
        ("overestimate", "underestimate"),
    ],
)
def test_opposites_are_known_both_ways(first: str, second: str):
    lexicon = load_lexicon()

    assert lexicon.opposed(first, second)
    assert lexicon.opposed(second, first)


@pytest.mark.parametrize(
    ("first", "second"),
    [("model", "models"), ("training", "trained"), ("evaluate", "evaluation"), ("use", "useless")],
)
def test_other_words_are_no_opposites(first: str, second: str):
    assert not load_lexicon().opposed(first, second)


def test_rare_words_weigh_more():
    assert load_lexicon().rarity("results") < load_lexicon().rarity("phonotactics") == 1


@given(st.text(max_size=80))
def test_the_stem_of_a_word_is_no_longer_than_the_word(word: str):
    assert len(stem(word.lower())) <= len(word.lower()) + 1


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=60).map(lambda text: f"ropes {text}"))
@example("ropes 0:0")
@example("ropes 7 8 9 %")
def test_any_claim_can_be_measured(claim: str):
    measured = measure(claim)

    assert [name for name, value in measured.items() if not 0 <= value <= 1.2] == []

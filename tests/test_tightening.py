import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paper_qa.alignment import AlignedClaim, align, read_claim, read_source
from paper_qa.domain import Paper, Span
from paper_qa.late_interaction import encode_words
from paper_qa.sentences import split_sentences
from paper_qa.tightening import tightened
from paper_qa.word_index import PlacedWords, place_words
from test_alignment import BRIDGES, np_int

LONG = Paper(
    "long",
    "",
    "Although nobody had looked at it before, wind reduces the capacity of rope bridges, which is "
    "why most villages have built them of steel since then. "
    "The sensor (a gift of Kelvin, who was rich, and of others) may detect early damage to a rope. "
    "With $x$, we get $y$, and $a, b, c, d, e, f$ too.",
)


STEEL = (
    "wind reduces the capacity of rope bridges, which is why most villages have built them of "
    "steel since then."
)


def quotes(claim: str, paper: Paper = LONG) -> list[str]:
    return [paper.abstract[span.start : span.end] for span in spans_of(claim, paper)]


def spans_of(claim: str, paper: Paper) -> list[Span]:
    return [span for aligned in aligned_in(claim, paper) for _, span in tightened(aligned)]


def aligned_in(claim: str, paper: Paper) -> list[AlignedClaim]:
    title = len(paper.title) + 1 if paper.title else 0
    words = encode_words(f"{paper.title}\n{paper.abstract}" if title else paper.abstract)
    read = PlacedWords(np_int([span.start - title for span in words.spans]), words.vectors)
    tokens = read_claim(claim)
    return align(claim, tokens, [read_source(tokens, place_words(claim), paper, read)])


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        (
            "Wind reduces the capacity of rope bridges.",
            "wind reduces the capacity of rope bridges",
        ),
        (
            "Most villages have built bridges of steel, as wind reduces their capacity.",
            STEEL,
        ),
        (
            "Nobody had looked at it before.",
            "Although nobody had looked at it before",
        ),
    ],
)
def test_the_clauses_beside_the_words_that_matter_are_left_out(claim: str, quote: str):
    assert quotes(claim) == [quote]


def test_brackets_stay_closed():
    (quote,) = quotes("Others may detect early damage to a rope.")

    assert quote.count("(") == quote.count(")")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(BRIDGES.abstract.split()), min_size=1, max_size=12))
def test_spans_lie_in_the_window_and_hold_the_words_that_are_aligned(words: list[str]):
    claim = " ".join(words)
    for aligned in aligned_in(claim, BRIDGES):
        for (_, tight), (_, span) in zip(tightened(aligned), aligned.window.spans, strict=True):
            assert span.start <= tight.start < tight.end <= span.end
        held = [span for _, span in tightened(aligned)]
        for _, token in aligned.pairs:
            assert any(span.start <= token.span.start < span.end for span in held)


def test_a_whole_sentence_stays_whole():
    for span in split_sentences(BRIDGES.abstract):
        sentence = BRIDGES.abstract[span.start : span.end]
        assert quotes(sentence, BRIDGES) == [sentence]

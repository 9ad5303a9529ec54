import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paper_qa.sentences import split_sentences
from seeds import seed_papers

EXAMPLES = [
    "One sentence. | And another one.",
    "No full stop at the end",
    "Is it so? | It is! | Good.",
    # Maths
    "We bound $a. B$ from below. | The rest follows.",
    "It is $$x.\n Y$$ in all. | Next.",
    r"With \(a. B\) it holds. | With \[a. B\] too.",
    r"The rate is $\mathcal{O}(n^2)$. | It is tight.",
    "We measure $X$. | The rest is easy.",
    "We measure X. | The rest is easy.",
    # Abbreviations
    "Hu et al. show it, e.g. BERT, i.e. a model, w.r.t. speed. | We agree.",
    "As in Fig. 3 and Eq. 2, resp. Thm. 1 (cf. Sec. 4). | Then we go on.",
    "Dr. Smith and Prof. Lee read a book by J. R. Tolkien. | They talked.",
    "It works for images, audio, etc. | We also try text.",
    "It beats BERT vs. GPT by approx. 3 points. | Good.",
    # Figures
    "It is 3.5 times as fast as version 2.0.1. | We gain 12.5%.",
    "The error is .5 on average. | It falls to 1.2e-3.",
    # Addresses
    "The code is at https://github.com/a.b/c.git. | We thank all.",
    "See www.example.org/a?b=1.2 for more. | It is free.",
    # Closing marks
    "He said “it works.” | She agreed.",
    "(It is so.) | That is all.",
    "It is *so.* | That is all.",
    "It is so.[1] | That is all.[2][3] | The end.",
    "It is so [1]. | That is all [2].",
    "It goes on ... and on. | It stops.",
    # Other scripts
    "我们提出了一种方法。 | 它很好！ | 真的吗？",
    "他说“好。” | 然后走了。",
    # Paragraphs
    "A heading without a stop\n\n | And then a sentence.",
    "One line\nand the next of one sentence. | Another.",
]
UNMATHS = st.text(alphabet=st.sampled_from(list("aB1 .!?…。”)]*_[,;\n\t\u00a0é好- ")), max_size=60)


def pieces(text: str) -> list[str]:
    return [text[span.start : span.end] for span in split_sentences(text)]


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_text_is_cut_between_its_sentences(example: str):
    # Chinese sets no blank between sentences.
    joint = "" if "。" in example else " "
    text = re.sub(r" \| ", joint, example)

    assert pieces(text) == [piece.strip() for piece in example.split(" | ")]


@pytest.mark.parametrize("text", ["", "   ", "\n\n\t "])
def test_a_blank_text_has_no_sentences(text: str):
    assert split_sentences(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "The answer is no. We show why.",
        "A query takes 16 ms. We measure it on a laptop.",
        "It costs $5. We paid $6 for it.",
    ],
)
def test_words_that_look_like_abbreviations_end_sentences_too(text: str):
    assert len(pieces(text)) == 2


@settings(deadline=None)
@given(st.one_of(st.text(max_size=120), UNMATHS))
def test_the_sentences_hold_everything_but_blanks(text: str):
    spans = split_sentences(text)
    outside = [*text]
    for span in spans:
        outside[span.start : span.end] = " " * (span.end - span.start)

    assert not "".join(outside).strip()
    assert all(first.end <= second.start for first, second in pairwise(spans))
    assert all(piece and piece == piece.strip() for piece in pieces(text))


@settings(deadline=None)
@given(UNMATHS, UNMATHS)
def test_a_sentence_that_another_follows_does_not_change_when_more_text_comes(text: str, more: str):
    """Text without maths, of which a line at a time is cut, as it streams in from a model."""
    begun, whole = (line.replace("\n", " ") for line in (text, text + more))

    settled = pieces(begun)[:-1]

    assert pieces(whole)[: len(settled)] == settled


def test_the_seeds_are_cut_into_what_reads_like_sentences():
    odd = [
        piece
        for paper in seed_papers().values()
        for piece in pieces(paper.abstract)
        if not 3 <= len(piece.split()) <= 90
        or piece.count("$") % 2
        or piece.count("(") > piece.count(")")  # and not the other way round: "i) first, ii) then"
        or piece[0].islower()
        or re.search(r"\b(?:e\.g|i\.e|et al|vs|w\.r\.t)\.$", piece)
    ]

    assert not odd


def test_the_seeds_have_as_many_sentences_as_a_reader_counts():
    counts = {paper.id: len(pieces(paper.abstract)) for paper in seed_papers().values()}

    assert counts["qian24a"] == 7
    assert counts["dai24a"] == 6
    assert 580 <= sum(counts.values()) <= 640
    assert min(counts.values()) >= 2

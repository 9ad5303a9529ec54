import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from paper_qa.web.maths import (
    INERT,
    MAX_MATHS_LENGTH,
    chat_text,
    inline_html,
    plain_text,
    split_math,
)

NASTY = st.text(
    st.sampled_from([*"ab 5.,$\\()[]{}<>&*_~`!:/#|-=+\"'\n\x00\u200b\u202e", "é", "数"]),
    max_size=60,
)
LINK_OR_MARKUP = {
    "blockquote_open",
    "bullet_list_open",
    "code_block",
    "fence",
    "heading_open",
    "hr",
    "html_block",
    "html_inline",
    "image",
    "link_open",
    "ordered_list_open",
    "s_open",
    "table_open",
}
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def formulas(text: str) -> list[str]:
    return [piece.text for piece in split_math(text) if piece.kind != "text"]


def markup_of(markdown: str) -> set[str]:
    """Return the kinds of tokens that a Markdown reader sees in the text."""
    tokens = MARKDOWN.parse(markdown)
    return {t.type for token in tokens for t in [token, *(token.children or [])]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the $k$-WL test", ["k"]),
        (
            r"a rate of $\mathcal{O}(\sqrt{T})$, or $\tilde O(n)$",
            [r"\mathcal{O}(\sqrt{T})", r"\tilde O(n)"],
        ),
        ("E-UC$^3$RL", ["^3"]),
        (r"as \(a<b\) and \[x^2\]", ["a<b", "x^2"]),
        ("so $$a + b$$ holds", ["a + b"]),
        ("$x_1 * y_2$", ["x_1 * y_2"]),
    ],
)
def test_formulas_are_found(text: str, expected: list[str]) -> None:
    assert formulas(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "from $5 to $10 a day",
        "$5 million and $6 million",
        "it costs $5, not $ 6",
        r"it costs \$5 and \$6",
        "`$HOME` and `$PATH`",
        "$a{b$ has no second brace",
        r"$a\)b$ would end too early",
        r"$a\$ ends in an escape",
        "US$5 and US$6",
    ],
)
def test_prices_and_broken_formulas_stay_text(text: str) -> None:
    assert formulas(text) == []


def test_what_is_no_formula_does_not_hide_the_next_one() -> None:
    assert formulas("from $5 to about $x$ or $y$") == ["x", "y"]


def test_displayed_and_inline_formulas_are_told_apart() -> None:
    kinds = [piece.kind for piece in split_math(r"$$a$$ $b$ \[c\] \(d\)") if piece.text.strip()]

    assert kinds == ["display", "inline", "display", "inline"]


@given(NASTY)
def test_the_pieces_cover_the_text_end_to_end(text: str) -> None:
    position = 0
    for piece in split_math(text):
        assert piece.start == position
        assert piece.end > piece.start
        if piece.kind == "text" and text[piece.start : piece.end] != r"\$":
            assert piece.text == text[piece.start : piece.end]
        position = piece.end

    assert position == len(text)


def test_a_very_long_text_is_not_searched_for_formulas() -> None:
    hostile = r"\[" * MAX_MATHS_LENGTH

    assert formulas(hostile) == []
    assert formulas("$x$" + "\\[" * 9000) == ["x"]  # and what is searched takes no time


@given(NASTY)
@example("<script>alert(1)</script>")
@example("*<b>*")
def test_html_holds_nothing_but_emphasis(text: str) -> None:
    tags = re.findall(r"<[^>]*>", inline_html(text))

    assert set(tags) <= {"<em>", "</em>", "<strong>", "</strong>"}
    assert tags.count("<em>") == tags.count("</em>")


@given(NASTY)
def test_html_is_one_line(text: str) -> None:
    assert not re.search(r"[\n\r\x00-\x08]", inline_html(text))


def test_html_shows_tex_as_it_is_meant() -> None:
    text = "``Deep'' is *not* \\emph{new}: 5\\% \\& $x<y$\nfor \\$3, 2*3*4"

    assert inline_html(text) == (
        "“Deep” is <em>not</em> <em>new</em>: 5% &amp; \\(x&lt;y\\) for $3, 2*3*4"
    )


@pytest.mark.parametrize("convert", [inline_html, chat_text])
def test_a_lone_delimiter_can_not_begin_a_formula(convert) -> None:
    shown = convert(r"a \( b and $x$ and \] c")

    assert r"\( b" not in shown
    assert r"\] c" not in shown
    assert r"\(x\)" in shown


@pytest.mark.parametrize(
    "text",
    [
        "<img src=x onerror=alert(1)>",
        "</script><script>alert(1)</script>",
        "![a](https://evil.example/x.png)",
        "[click](javascript:alert(1))",
        "[click](https://evil.example)",
        "[1]: https://evil.example\n\nsee [1]",
        "<https://evil.example>",
        "<!-- hidden -->",
        "# Heading\n> quote\n- item\n1. item\n+ item\n* item",
        "```mermaid\ngraph\n```",
        "~~~\ncode\n~~~",
        "a | b\n--|--\n1 | 2",
        "Heading\n===",
        "&lt;b&gt; &#60;",
        "__init__ ~~gone~~ **",
    ],
)
def test_markup_in_a_text_is_only_text(text: str) -> None:
    assert markup_of(chat_text(text)).isdisjoint(LINK_OR_MARKUP)


@pytest.mark.parametrize(
    "address", ["https://a.example", "HTTP://b.example", "www.c.example", "d@e"]
)
def test_a_bare_address_does_not_become_a_link(address: str) -> None:
    shown = chat_text(f"at “{address}”")

    assert address not in shown
    assert plain_text(shown) == f"at “{address}”"


def plain_of(markdown: str) -> str:
    """Return what a reader sees of the Markdown."""
    tokens = [child for token in MARKDOWN.parse(markdown) for child in token.children or []]
    return "".join(token.content for token in tokens).replace(INERT, "")


@given(st.text(st.sampled_from([*"ab5<>&*_~`!()[]:#|-=+\"'"]), max_size=40).map(lambda s: f"x{s}x"))
def test_chat_text_is_inert_and_loses_nothing(text: str) -> None:
    markdown = chat_text(text)

    assert markup_of(markdown).isdisjoint(LINK_OR_MARKUP)
    if "*" not in text and "`" not in text and "''" not in text:
        assert plain_of(markdown) == text


@given(NASTY)
@example("**<b>**")
def test_no_text_becomes_a_tag_a_link_or_an_image(text: str) -> None:
    assert markup_of(chat_text(text)).isdisjoint(
        {"html_inline", "html_block", "image", "link_open"}
    )


def test_letters_that_an_abstract_sets_in_bold_are_bold() -> None:
    text = "a new **F**ront-door **A**djustment, 2**3**4 and ***x***"

    assert inline_html(text) == (
        "a new <strong>F</strong>ront-door <strong>A</strong>djustment, 2**3**4 and ***x***"
    )
    assert plain_of(chat_text(text)) == "a new Front-door Adjustment, 2**3**4 and ***x***"


def test_emphasis_survives_in_the_chat() -> None:
    assert (
        chat_text("which we term *mechanistic*, 2*3*4") == "which we term *mechanistic*, 2\\*3\\*4"
    )


@pytest.mark.parametrize(
    "text",
    ["from $5 to $10", "the $k$-WL test", "a_b and `c` for <T>", "[1]: x ![y](z)", "$$a$$ & *b*"],
)
def test_plain_text_undoes_chat_text(text: str) -> None:
    assert plain_text(chat_text(text)) == text

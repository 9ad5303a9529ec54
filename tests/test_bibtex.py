import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper_qa.bibtex import (
    citation_key,
    entries,
    entry,
    is_safe_formula,
    one_line,
    web_address,
)
from paper_qa.domain import Paper

SSM = Paper(
    id="dao24a",
    title="Transformers are SSMs: Generalized Models",
    abstract="We show that they are.",
    authors=("Tri Dao", "Albert Gu"),
    year=2024,
    venue="ICML 2024",
    url="https://proceedings.mlr.press/v235/dao24a.html",
)
BARE = Paper(id="x", title="", abstract="")
# Signs that mean something to TeX or BibTeX, among others.
hostile = st.lists(
    st.one_of(
        st.sampled_from([*"{}\\$%&#_^~,@\"'\n", "$x$", "$\\frac{1}{2}$", "\\input{a}", " and "]),
        st.text(max_size=4),
    ),
    max_size=12,
).map("".join)


def field(name: str, text: str) -> str | None:
    found = re.search(rf"^  {name} = {{(.*)}},$", text, re.MULTILINE)
    return found[1] if found else None


def authors_of(*names: str) -> str | None:
    return field("author", entry(replace(SSM, authors=names)))


def title_of(title: str) -> str | None:
    return field("title", entry(replace(SSM, title=title)))


def test_a_paper_of_a_conference() -> None:
    assert entry(SSM) == "\n".join(
        [
            "@inproceedings{dao2024transformers,",
            "  title = {Transformers are {SSMs}: Generalized Models},",
            "  author = {Dao, Tri and Gu, Albert},",
            "  booktitle = {ICML 2024},",
            "  year = {2024},",
            "  url = {https://proceedings.mlr.press/v235/dao24a.html},",
            "}",
        ]
    )


def test_what_is_not_known_is_left_out_and_the_title_is_the_abstracts_beginning() -> None:
    paper = Paper(id="x", title="", abstract="We study noise.")

    assert entry(paper) == "@misc{anonymousstudy,\n  title = {We study noise.},\n}"


def test_a_paper_of_which_nothing_is_known_is_still_an_entry() -> None:
    assert entry(BARE) == "@misc{anonymous,\n}"


def test_a_retracted_paper_says_so_and_a_note_is_an_annotation() -> None:
    text = entry(replace(SSM, retracted=True), note="read\nagain: 50%")

    assert field("note", text) == "Retracted"
    assert field("annote", text) == "read again: 50\\%"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Tri Dao", "Dao, Tri"),
        ("Quoc V. Le", "Le, Quoc V."),
        ("Laurens van der Maaten", "van der Maaten, Laurens"),
        ("Mihaela Van Der Schaar", "Van Der Schaar, Mihaela"),
        ("Juan de la Cruz", "de la Cruz, Juan"),
        ("Nguyen Van Anh", "Anh, Nguyen Van"),
        ("van der Maaten, Laurens", "van der Maaten, Laurens"),
        ("Martin Luther King Jr.", "King, Jr., Martin Luther"),
        ("Martin Luther King, Jr.", "King, Jr., Martin Luther"),
        ("King, Jr., Martin Luther", "King, Jr., Martin Luther"),
        ("danah boyd", "boyd, danah"),
        ("Plato", "{Plato}"),
        ("others", "{others}"),
        ("王小明", "{王小明}"),
        ("The LIGO Collaboration", "{The LIGO Collaboration}"),
        ("Smith and Sons", "{Smith and Sons}"),
        ("one, two, three, four", "{one, two, three, four}"),
        ("half,", "{half,}"),
        ("  Ada \n Lovelace ", "Lovelace, Ada"),
    ],
)
def test_family_and_given_names_are_told_apart(name: str, expected: str) -> None:
    assert authors_of(name) == expected


def test_authors_without_a_name_are_left_out() -> None:
    assert authors_of("", "Tri Dao", " ") == "Dao, Tri"


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("A Call for Embodied AI", "A Call for Embodied {AI}"),
        ("SpikeLM: Going Far", "{SpikeLM}: Going Far"),
        ("Long-Context Q-Learning on D4RL", "Long-Context {Q}-Learning on {D4RL}"),
        ("Attention is all you need", "Attention is all you need"),
        (r"Coresets for $\ell_p$ Regression", r"Coresets for {$\ell_p$} Regression"),
        ("Costs $5 & 10% of #1_a", r"Costs \$5 \& 10\% of \#1\_a"),
        (r"Run \input{/etc/passwd}", r"Run \textbackslash{}input\{/etc/passwd\}"),
        (
            r"Run $\input{/etc/passwd}$",
            r"Run \$\textbackslash{}input\{/etc/passwd\}\$",
        ),
        ("Ends} here", "Ends here"),
        ("Wrong }order{", "Wrong order"),
        ("a<b>c|d", r"a\textless{}b\textgreater{}c\textbar{}d"),
        ("a~b^c", r"a\textasciitilde{}b\textasciicircum{}c"),
    ],
)
def test_titles_keep_their_capitals_and_formulas_and_nothing_else_of_tex(
    title: str, expected: str
) -> None:
    assert title_of(title) == expected


@pytest.mark.parametrize(
    "formula",
    [r"$x$", r"$\mathcal{O}(\sqrt{T})$", r"$\{a, b\}$", r"$83\%$", r"$a \iff b$", r"$\theta_i$"],
)
def test_formulas_of_maths_are_safe(formula: str) -> None:
    assert is_safe_formula(formula)


@pytest.mark.parametrize(
    "formula",
    [
        "x",
        "$",
        "$$",
        "$$x$$",
        "$a$b$",
        "$a{b$",
        "$a}{b$",
        r"$a\{b$",
        "$a\\$",
        "$a%b$",
        "$a&b$",
        "$#1$",
        r"$\write18{rm}$",
        r"$\csname input\endcsname a$",
        r"$^^5cinput a$",
        r"$\def\x{y}$",
        r"$\frac\href{a}{b}$",
    ],
)
def test_formulas_that_are_torn_or_do_more_are_not(formula: str) -> None:
    assert not is_safe_formula(formula)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({}, "dao2024transformers"),
        ({"authors": ("Laurens van der Maaten",)}, "vandermaaten2024transformers"),
        ({"authors": ("Anders Sørensen-Łęcki",)}, "sorensenlecki2024transformers"),
        ({"authors": ("王小明",)}, "anonymous2024transformers"),
        ({"year": None}, "daotransformers"),
        ({"title": "On the 3-part $x$ Question"}, "dao20243part"),
        ({"title": "王小明"}, "dao2024"),
        ({"title": "$x_1$"}, "dao2024x1"),
    ],
)
def test_keys(changes: dict[str, Any], key: str) -> None:
    assert citation_key(replace(SSM, **changes)) == key


def test_keys_that_would_be_the_same_get_letters_and_none_is_taken_twice() -> None:
    papers = [SSM, replace(SSM, title="Transformersb"), SSM, SSM]

    text = entries(papers)

    assert re.findall(r"^@\w+{(.*),$", text, re.MULTILINE) == [
        "dao2024transformersa",
        "dao2024transformersb",
        "dao2024transformersc",
        "dao2024transformersd",
    ]


def test_many_papers_of_one_key_have_keys_of_their_own() -> None:
    text = entries([SSM] * 60)

    keys = re.findall(r"^@\w+{(.*),$", text, re.MULTILINE)
    assert len(set(keys)) == 60
    assert keys[25:28] == [
        "dao2024transformersz",
        "dao2024transformersaa",
        "dao2024transformersab",
    ]


def test_entries_are_set_apart_and_none_is_nothing() -> None:
    assert entries([]) == ""
    assert entries([SSM, BARE], notes={"x": "mine"}) == (
        f"{entry(SSM)}\n\n@misc{{anonymous,\n  annote = {{mine}},\n}}\n"
    )


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://a.org/b?c=d&e=f#g", "https://a.org/b?c=d&e=f#g"),
        (" http://a.org/x y", "http://a.org/x%20y"),
        ("https://a.org/(a)<b>{c}[d]\\", "https://a.org/%28a%29%3Cb%3E%7Bc%7D%5Bd%5D%5C"),
        ("https://a.org/ü", "https://a.org/%C3%BC"),
        ("HTTPS://a.org", "HTTPS://a.org"),
        ("javascript:alert(1)", ""),
        ("file:///etc/passwd", ""),
        ("//a.org", ""),
        ("https://", ""),
        ("http://[", ""),
        ("", ""),
    ],
)
def test_only_addresses_of_the_web_are_given(url: str, address: str) -> None:
    assert web_address(url) == address


def test_one_line_has_no_breaks_no_halves_and_no_turned_text() -> None:
    assert one_line("a\n\tb\x00\u2028c\u202ed\ud800 ") == "a b cd"


@given(hostile, hostile, hostile, hostile, st.lists(hostile, max_size=3))
def test_no_text_leaves_its_field(
    title: str, venue: str, url: str, note: str, authors: list[str]
) -> None:
    paper = Paper("x", title, title, tuple(authors), 2024, venue, f"https://a.org/{url}")

    text = entry(paper, note=note)

    depth = 0
    for number, sign in enumerate(text):
        depth += (sign == "{") - (sign == "}")
        assert depth > 0 or number == len(text) - 1 or number < text.index("{")
    assert depth == 0
    names = r"title|author|booktitle|year|url|annote"
    first, *fields, last = text.split("\n")
    assert re.fullmatch(r"@(?:inproceedings|misc){[a-z0-9]+,", first)
    assert all(re.fullmatch(rf"  (?:{names}) = {{.*}},", line) for line in fields)
    assert last == "}"


@given(hostile)
def test_tex_is_given_no_command_but_ours_outside_of_formulas(text: str) -> None:
    shown = title_of(f"x {text}") or ""

    outside = re.sub(r"(?<!\\)\$[^$]*\$", "", shown.replace(r"\$", ""))
    without = re.sub(
        r"\\text(?:backslash|asciitilde|asciicircum|less|greater|bar){}|\\[{}%&#_]", "", outside
    )
    assert not set("\\%&#_$^~") & set(without)

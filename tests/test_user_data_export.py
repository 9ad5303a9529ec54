import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from paper_qa.bibtex import one_line
from paper_qa.domain import (
    Answer,
    Citation,
    Claim,
    Evidence,
    Paper,
    ScoredPaper,
    Turn,
    Withheld,
)
from paper_qa.evaluation import read_questions
from paper_qa.user_data import (
    Conversation,
    Exchange,
    Feedback,
    GivenFeedback,
    Saved,
    conversation_bibtex,
    conversation_json,
    conversation_markdown,
    evaluation_file,
    file_name,
    reading_list_bibtex,
    reading_list_markdown,
)
from paper_qa.user_data.markdown import escaped, link, paragraphs
from papers import make_paper
from scripted_qa import reference_to

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
FIRST = "Ada Lovelace, Author 1. [Paper 1 on translation](https://example.org/1). Made Up 2001."
READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
# Signs that mean something to Markdown, among others.
hostile = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *"`*_[]()<>!#+-=~|\\&\n\t $:.1{}^@",
                "](http://evil.org)",
                "![x](http://evil.org)",
                "<script>",
                "<http://evil.org>",
                "\n\n# ",
                "\n---\n",
                "\n    ",
                "```\n",
                "[x]: http://evil.org\n",
                "&amp;",
                "$[a](b)$",
                "$x_i$",
                "| a |\n|---|\n",
                "\u2028",
            ]
        ),
        st.text(max_size=3),
    ),
    max_size=12,
).map("".join)


def answered(text: str = "It studies noise [1].", *, papers: int = 1) -> Answer:
    cited = [make_paper(number) for number in range(1, papers + 1)]
    return Answer(
        question="What is it?",
        text=text,
        claims=(Claim("It studies noise", "supported", 0.9, (Citation(1, "m1", 0, 2, "We"),)),),
        withheld=(Withheld("Nobody knows.", 0.1),),
        references=tuple(
            reference_to(paper, number) for number, paper in enumerate(cited, start=1)
        ),
        retrieved=(ScoredPaper(make_paper(1), 0.5),),
        notes=("written by a model",),
    )


def conversation(*exchanges: Exchange, title: str = "What is it?") -> Conversation:
    return Conversation("c", title, NOON, NOON, exchanges)


def exchange(answer: Answer | None = None, question: str = "What is it?") -> Exchange:
    return Exchange("e", question, NOON, answer)


def kinds(markdown: str) -> set[str]:
    """Return all kinds of tokens that a reader finds."""
    found: set[str] = set()

    def walk(tokens: list[Token]) -> None:
        for token in tokens:
            found.add(token.type)
            walk(token.children or [])

    walk(READER.parse(markdown))
    return found


def links(markdown: str) -> list[str]:
    inline = [child for token in READER.parse(markdown) for child in token.children or []]
    return [str(token.attrs["href"]) for token in inline if token.type == "link_open"]


def read(markdown: str) -> str:
    """Return what a reader shows of one paragraph."""
    inline = [child for token in READER.parse(markdown) for child in token.children or []]
    return "".join(token.content for token in inline)


def test_a_conversation_as_markdown() -> None:
    text = conversation_markdown(conversation(exchange(answered())))

    assert text == "\n".join(
        [
            "# What is it?",
            "",
            "1 question, the last on 2024-05-01.",
            "",
            "## What is it?",
            "",
            r"It studies noise \[1\].",
            "",
            "1 sentence withheld: nothing in the abstracts supports it.",
            "",
            "Note: written by a model",
            "",
            "References:",
            "",
            rf"- \[1\] {FIRST}",
            "",
            "Asked on 2024-05-01 at 12:00 UTC.",
            "",
        ]
    )


def test_lists_errors_and_what_was_stopped_or_declined_as_markdown() -> None:
    as_list = replace(answered("- One [1].\n- Two [1]."), withheld=(Withheld("a", 0.1),) * 2)
    declined = Answer(
        "Why?", "The abstracts do not say.", abstained=True, see=(reference_to(make_paper(2), 0),)
    )
    retracted = replace(make_paper(3), retracted=True, year=None, venue="", url="", authors=())
    cites_it = Answer("Why?", "So [1].", references=(reference_to(retracted, 1),))

    text = conversation_markdown(
        conversation(
            exchange(as_list),
            exchange(declined),
            replace(exchange(cites_it), stopped=True),
            replace(exchange(), error="the model\nis away", question=" "),
        )
    )

    assert "4 questions, the last on" in text
    assert "\n- One \\[1\\].\n- Two \\[1\\].\n" in text
    assert "2 sentences withheld: nothing in the abstracts supports them." in text
    assert "Worth opening:\n\n- Ada Lovelace, Author 2. [Paper 2 on parsing](" in text
    assert "- \\[1\\] RETRACTED: Paper 3 on segmentation.\n" in text
    assert "\n\nStopped.\n\n" in text
    assert "## No question\n\nNo answer: the model is away\n" in text


def test_the_reading_list_as_markdown() -> None:
    saved = [
        Saved(make_paper(1), "first line\n\n# second", NOON),
        Saved(replace(make_paper(2), title="", abstract="", venue="ICML 2002"), "", NOON),
    ]

    text = reading_list_markdown(saved)

    assert text == "\n".join(
        [
            "# Reading list",
            "",
            f"- {FIRST}",
            "",
            "  Note: first line",
            "",
            r"  \# second",
            "",
            "- Ada Lovelace, Author 2. [Untitled](https://example.org/2). ICML 2002.",
            "",
        ]
    )
    assert "heading_open" in kinds(text)
    assert text.count("#") == 2
    assert reading_list_markdown([]) == "# Reading list\n"


@given(hostile)
def test_an_escaped_text_is_text_to_a_reader_and_nothing_else(text: str) -> None:
    shown = escaped(text)

    assert "\n" not in shown
    assert kinds(shown) <= {"paragraph_open", "paragraph_close", "inline", "text"}
    if "$" not in text:  # formulas may lose a backslash to a reader who knows none
        assert read(shown) == one_line(text)


@given(hostile, hostile, hostile, hostile, hostile)
def test_a_conversation_of_hostile_texts_has_the_shape_of_any_other(
    title: str, question: str, said: str, name: str, url: str
) -> None:
    paper = Paper("p", title, "", (name,), 2024, name, url)
    answer = Answer(
        question,
        said,
        references=(reference_to(paper, 1),),
        see=(reference_to(replace(paper, url=f"https://a.org/{url}"), 0),),
        notes=(said,),
    )
    exported = conversation_markdown(
        conversation(replace(exchange(answer, question), error=said), title=title)
    )

    tokens = READER.parse(exported)
    headings = [token.tag for token in tokens if token.type == "heading_open"]
    assert headings == ["h1", "h2"]
    assert kinds(exported) <= {
        *("heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline", "text"),
        *("bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close"),
        *("link_open", "link_close"),
    }
    assert all(re.match(r"https?://", target, re.IGNORECASE) for target in links(exported))
    assert "https://a.org/" in "".join(links(exported))


@given(hostile, hostile, hostile)
def test_a_reading_list_of_hostile_texts_is_a_list_of_papers(
    title: str, note: str, name: str
) -> None:
    paper = Paper("p", title, "", (name,), None, name, "https://a.org/x")

    exported = reading_list_markdown([Saved(paper, note, NOON), Saved(paper, note, NOON)])

    assert [token.tag for token in READER.parse(exported) if token.type == "heading_open"] == ["h1"]
    assert links(exported) == ["https://a.org/x"] * 2
    assert not kinds(exported) & {"html_inline", "html_block", "image", "fence", "code_block"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (r"In $\mathcal{O}(\sqrt{T})$ steps", r"In $\mathcal{O}(\sqrt{T})$ steps"),
        ("for $x \\in [0, 1]$ and $a_i$", "for $x \\in [0, 1]$ and $a_i$"),
        (r"$\input{a}$", r"\$\\input\{a\}\$"),
        ("$[a](b)$", r"\$\[a\](b)\$"),
        ("$[a$", r"\$\[a\$"),
        ("$www.a.org$", r"\$www\.a.org\$"),
        ("from $5 to $10", r"from \$5 to \$10"),
        ("https://evil.org www.evil.org a@b.org", r"https\://evil.org www\.evil.org a\@b.org"),
        ("1. one", r"1\. one"),
        ("- one", r"\- one"),
        ("a-b 1.5", "a-b 1.5"),
        ("# C#", r"\# C\#"),
    ],
)
def test_formulas_stay_and_addresses_become_no_links(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_a_paper_by_a_number_begins_no_list() -> None:
    saved = Saved(Paper("p", "Title", "", ("1",)), "", NOON)

    assert "ordered_list_open" not in kinds(reading_list_markdown([saved]))


def test_only_addresses_of_the_web_are_linked() -> None:
    assert link("a [b]", "https://a.org/(x) y") == r"[a \[b\]](https://a.org/%28x%29%20y)"
    assert link("a", "javascript:alert(1)") == "a"
    assert paragraphs("one\n\n\n- two") == "one\n\n\\- two"


def test_a_conversation_as_json_is_whole() -> None:
    kept = replace(
        exchange(answered()),
        papers=(make_paper(1),),
        evidence=(Evidence("m1", 0, 2, "We", 0.5),),
    )

    exported = json.loads(conversation_json(conversation(kept, exchange())))

    assert list(exported) == [
        "schema_version",
        "id",
        "title",
        "created_at",
        "updated_at",
        "exchanges",
    ]
    assert exported["schema_version"] == 1
    assert exported["updated_at"] == "2024-05-01T12:00:00.000000+00:00"
    first, second = exported["exchanges"]
    assert set(first) == {
        *("id", "asked_at", "question", "answer", "papers", "evidence", "error", "stopped")
    }
    assert first["answer"] == json.loads(json.dumps(answered().to_dict()))
    assert first["papers"][0]["abstract"] == make_paper(1).abstract
    assert first["papers"][0]["found_in"] == [{"file": "made.txt", "paragraph": 2}]
    assert first["evidence"] == [
        {"paper_id": "m1", "start": 0, "end": 2, "text": "We", "score": 0.5}
    ]
    assert second["answer"] is None


def test_a_conversation_as_bibtex_has_each_cited_paper_once() -> None:
    shown = replace(exchange(answered(papers=3)), papers=(make_paper(2),))

    text = conversation_bibtex(conversation(exchange(), exchange(answered()), shown))

    assert re.findall(r"^  title = {(.*)},", text, re.MULTILINE) == [
        "Paper 1 on translation",
        "Paper 2 on parsing",
        "Paper 3 on segmentation",
    ]


def test_the_reading_list_as_bibtex_has_the_notes() -> None:
    text = reading_list_bibtex(
        [Saved(make_paper(1), "read {this", NOON), Saved(make_paper(2), "", NOON)]
    )

    assert re.findall(r"annote = {(.*)},", text) == ["read this"]
    assert text.count("@inproceedings") == 2


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("What is DPO?", "What-is-DPO.md"),
        ("Größe & Co: l'été", "Grosse-Co-lete.md"),
        ("../../etc/passwd", "etc-passwd.md"),
        ("王小明", "paper-qa.md"),
        ("", "paper-qa.md"),
        ("CON", "paper-qa-CON.md"),
        ("lpt1", "paper-qa-lpt1.md"),
        ("word " * 20, "word-word-word-word-word-word-word-word-word-word-word.md"),
        ("w" * 80, "w" * 57 + ".md"),
    ],
)
def test_file_names(title: str, name: str) -> None:
    assert file_name(title, "md") == file_name(title, ".md") == name


@given(st.text(max_size=200), st.sampled_from(["md", ".json", "bib"]))
def test_every_title_gives_a_file_name_for_every_system(title: str, suffix: str) -> None:
    name = file_name(title, suffix)

    assert re.fullmatch(r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*\.[a-z]+", name)
    assert len(name) <= 60


def feedback(**changes: object) -> Feedback:
    given = Feedback("up", "What is it?", answered(papers=2), NOON, version="1", library="f")
    return replace(given, **changes)  # pyright: ignore[reportArgumentType]


def test_feedback_is_read_as_an_evaluation_file(tmp_path: Path) -> None:
    said = (Turn("user", "What?"), Turn("assistant", "A\u2028thing."))
    declined = Answer("Q", "Not here.", abstained=True, abstain_reason="no_evidence")
    given = [
        GivenFeedback("e1", feedback(comment="good\nreally")),
        GivenFeedback("e1", feedback(history=said, question="And \ud800 then?")),
        GivenFeedback("e2", feedback(answer=declined, model="gpt")),
        GivenFeedback("e3", feedback(verdict="down")),
        GivenFeedback("e4", feedback(question=" ")),
    ]
    path = tmp_path / "feedback.jsonl"
    path.write_text(evaluation_file(given), "utf-8")

    first, second, third = read_questions(path)

    assert (first.id, first.question, first.type, first.gold) == (
        *("e1", "What is it?", "feedback"),
        ("m1", "m2"),
    )
    assert (second.id, second.question, second.type) == ("e1-2", "And \ufffd then?", "followup")
    assert second.history == said
    assert (third.type, third.gold, third.right_reason) == ("unanswerable", (), "no_evidence")
    line = json.loads(path.read_text("utf-8").split("\n")[2])
    assert line["model"] == "gpt"
    assert {"verdict", "comment", "answer", "version", "library", "at"} <= set(line)


def test_what_people_did_not_like_comes_when_asked_for_and_names_no_gold(tmp_path: Path) -> None:
    path = tmp_path / "feedback.jsonl"
    given = [GivenFeedback("e", feedback(verdict="down", comment="wrong paper"))]
    assert evaluation_file(given) == ""
    path.write_text(evaluation_file(given, verdicts=("up", "down")), "utf-8")

    (question,) = read_questions(path)

    assert (question.type, question.gold) == ("unjudged", ())
    assert json.loads(path.read_text("utf-8"))["comment"] == "wrong paper"

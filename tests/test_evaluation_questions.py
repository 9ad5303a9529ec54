import hashlib
import json
from pathlib import Path

import pytest

from paper_qa.domain import Turn
from paper_qa.errors import FormatError
from paper_qa.evaluation import Question, read_questions
from paper_qa.evaluation.facts import states_fact

PROJECT = Path(__file__).parents[1]
FILES = ["questions.jsonl", "questions_more.jsonl"]
LINE = {"id": "q1", "question": "Why?", "type": "fact", "lang": "en", "gold": ["a"], "facts": ["x"]}


@pytest.fixture(scope="module")
def abstracts() -> dict[str, str]:
    """The abstracts of the seeds by paper id, joined with the metadata by their hash."""
    lines = (PROJECT / "seeds" / "metadata.jsonl").read_text(encoding="utf-8").splitlines()
    ids = {paper["abstract_sha256"]: paper["id"] for paper in map(json.loads, lines)}
    paragraphs = [
        paragraph.strip()
        for path in sorted((PROJECT / "seeds").glob("*.txt"))
        for paragraph in path.read_text(encoding="utf-8").split("\n")
    ]
    hashed = {hashlib.sha256(text.encode()).hexdigest(): text for text in paragraphs}
    return {ids[digest]: text for digest, text in hashed.items() if digest in ids}


def write(path: Path, *lines: dict) -> Path:
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return path


def test_a_question_is_read_with_its_history(tmp_path):
    history = [{"role": "user", "content": "Hm?"}, {"role": "assistant", "content": "Well."}]
    path = write(tmp_path / "q.jsonl", {**LINE, "near": ["b"], "history": history, "new": 1})

    questions = read_questions(path)

    turns = (Turn("user", "Hm?"), Turn("assistant", "Well."))
    expected = Question("q1", "Why?", "fact", gold=("a",), facts=("x",), near=("b",), history=turns)
    assert questions == [expected]
    assert questions[0].is_answerable


def test_a_question_without_gold_papers_is_unanswerable(tmp_path):
    line = {"id": "u", "question": "Rain?", "type": "unanswerable", "kind": "off_topic"}

    (question,) = read_questions(write(tmp_path / "q.jsonl", line))

    assert not question.is_answerable
    assert question.kind == "off_topic"


def test_blank_lines_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_bytes(b"\xef\xbb\xbf\r\n" + json.dumps(LINE).encode() + b"\r\n\r\n")

    assert [question.id for question in read_questions(path)] == ["q1"]


def test_a_line_separator_inside_a_question_does_not_end_it(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps({**LINE, "question": "a\u2028b"}, ensure_ascii=False), "utf-8")

    assert read_questions(path)[0].question == "a\u2028b"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"id": 7}, "'id': input should be a valid string"),
        ({"gold": "a"}, "'gold': input should be a valid array"),
        ({"gold": ["a", 1]}, "'gold.1': input should be a valid string"),
        ({"history": [{"role": "bot", "content": ""}]}, "'history.0.role': input should be"),
        ({"question": "  "}, "'question' is blank"),
        ({"gold": []}, "'facts' without 'gold'"),
        ({"facts": [" || "]}, "'facts' has a blank one"),
        ({"quote": ["x"]}, "'quote' and 'quote_paper' differ in length"),
        ({"id": "q0"}, "the id 'q0' occurs twice"),
    ],
)
def test_a_line_that_is_no_question_is_named(tmp_path, change, complaint):
    path = write(tmp_path / "q.jsonl", {**LINE, "id": "q0"}, {**LINE, **change})

    with pytest.raises(FormatError) as caught:
        read_questions(path)

    assert str(caught.value).startswith(f"{path}:2: {complaint}")


@pytest.mark.parametrize("text", ["{", "[1]", '{"id": "q1"}', "Why?"])
def test_a_line_that_is_not_a_json_object_of_a_question_is_named(tmp_path, text):
    path = tmp_path / "q.jsonl"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(FormatError, match=r"q\.jsonl:1: "):
        read_questions(path)


def test_an_empty_file_is_refused(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_text("\n", encoding="utf-8")

    with pytest.raises(FormatError, match="no questions"):
        read_questions(path)


def test_a_file_in_another_encoding_is_refused_with_its_line(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_bytes(json.dumps(LINE).encode() + b'\n{"id": "caf\xe9"}')

    with pytest.raises(FormatError, match=r"q\.jsonl:2: not UTF-8"):
        read_questions(path)


def test_a_missing_file_is_refused_by_name(tmp_path):
    with pytest.raises(FormatError, match=r"can't read '.*absent.jsonl': no such file"):
        read_questions(tmp_path / "absent.jsonl")


@pytest.mark.parametrize("name", FILES)
def test_every_quote_is_in_its_abstract_word_for_word_and_states_its_fact(name, abstracts):
    questions = read_questions(PROJECT / "evaluation" / name)

    for question in questions:
        proofs = list(zip(question.facts, question.quote, question.quote_paper, strict=True))
        assert [p for p in proofs if p[1] not in abstracts[p[2]]] == [], question.id
        assert [p for p in proofs if not states_fact(p[1], p[0])] == [], question.id
        assert {paper for _, _, paper in proofs} <= set(question.gold), question.id


@pytest.mark.parametrize("name", FILES)
def test_every_paper_named_is_one_of_the_seeds(name, abstracts):
    questions = read_questions(PROJECT / "evaluation" / name)

    named = {paper for q in questions for paper in (*q.gold, *q.near)}

    assert named <= abstracts.keys()
    assert len(abstracts) == 84


def test_repeating_a_question_of_ours_states_none_of_its_facts():
    questions = read_questions(PROJECT / "evaluation" / "questions_more.jsonl")

    given_away = [(q.id, f) for q in questions for f in q.facts if states_fact(q.question, f)]

    assert given_away == []


def test_the_question_files_share_no_id_and_no_question():
    first, second = (read_questions(PROJECT / "evaluation" / name) for name in FILES)

    assert not {q.id for q in first} & {q.id for q in second}
    assert not {q.question for q in first} & {q.question for q in second}


def test_the_claims_name_papers_of_the_seeds_and_quote_them_word_for_word(abstracts):
    lines = (PROJECT / "evaluation" / "claims.jsonl").read_text(encoding="utf-8").splitlines()

    misquoted = [
        claim["id"]
        for claim in map(json.loads, lines)
        if claim["span"] not in abstracts[claim["paper_id"]]
    ]

    assert misquoted == []

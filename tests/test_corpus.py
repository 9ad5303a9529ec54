import gzip
import os
import re
from itertools import count
from pathlib import Path

import pytest

import paper_qa.corpus
from paper_qa.corpus import read_papers
from paper_qa.corpus.source import MAX_TEXT_BYTES
from paper_qa.errors import FormatError

PROSE = "Papers\n\nIt sings at night.\n"
LINE = '{"id": "a", "title": "Song", "abstract": "It sings."}\n'
PACKED = gzip.compress(LINE.encode() * 50)


def write(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_the_public_names_are_all_there():
    assert all(hasattr(paper_qa.corpus, name) for name in paper_qa.corpus.__all__)


@pytest.mark.parametrize("name", ["papers.txt", "papers.md", "papers", "papers.pdf", "papers.dat"])
def test_a_text_is_known_by_its_content(name, tmp_path):
    assert [paper.abstract for paper in read_papers(write(tmp_path, name, PROSE))] == [
        "It sings at night."
    ]


@pytest.mark.parametrize("name", ["papers.jsonl", "papers.txt", "papers", "papers.json"])
def test_json_lines_are_known_by_their_content(name, tmp_path):
    assert [paper.id for paper in read_papers(write(tmp_path, name, "\n" + LINE))] == ["a"]


@pytest.mark.parametrize(("content", "name"), [(PROSE, "p.txt.gz"), (LINE, "p.jsonl")])
def test_a_gzipped_file_is_unpacked_whatever_its_name(content, name, tmp_path):
    path = write(tmp_path, name, gzip.compress(content.encode()))

    assert len(list(read_papers(path))) == 1


@pytest.mark.parametrize("name", ["papers.jsonl", "papers.JSONL.gz", "papers.ndjson"])
def test_json_lines_with_a_broken_first_line_do_not_pass_as_prose(name, tmp_path):
    path = write(tmp_path, name, '"title": "Song", "abstract": "It sings."}\n' + LINE)

    with pytest.raises(FormatError, match=":1: not valid JSON"):
        read_papers(path)


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("a.txt", b"%PDF-1.7 x", "is a PDF"),
        ("a.docx", b"PK\x03\x04 x", "is a zip archive"),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "is an old Office document"),
        ("a.png", b"\x89PNG\r\n\x1a\n\x00", "is a picture"),
        ("a.jpg", b"\xff\xd8\xff\xe0", "is a picture"),
        ("a.db", b"SQLite format 3\x00", "is an SQLite database"),
        ("a.tar", b"x" * 257 + b"ustar\x00", "is a tar archive"),
        ("a.gz", gzip.compress(gzip.compress(b"x")), "is a gzip file inside a gzip file"),
        ("a.txt", bytes(range(1, 256)) * 4, "is a binary file"),
        ("a.txt", bytes(1000), "is a binary file"),
        ("a.txt", b"", "is empty"),
        ("a.txt", b"\xef\xbb\xbf \r\n", "is empty"),
        ("a.gz", gzip.compress(b""), "is empty"),
        ("a.txt", "<!DOCTYPE html><html>", "is a web page"),
        ("a.txt", "<!-- x -->\n<HTML>", "is a web page"),
        ("a.xml", '<?xml version="1.0"?><a/>', "XML is not read yet"),
        ("a.txt", "<PubmedArticleSet>", "XML is not read yet"),
        ("a.json", '[\n {"id": "a"}]', "JSON that is not one object per line"),
        ("a.json", '{\n "id": "a"}', "JSON that is not one object per line"),
        ("a.json", '"x"', "JSON that is not one object per line"),
        ("a.txt", "% refs\n\n@article{a, title={T}}", "BibTeX is not read yet"),
        ("a.bib", "% nothing here yet", "BibTeX is not read yet"),
        ("a.txt", "TY  - JOUR\nTI  - T\nER  - \n", "RIS is not read yet"),
        ("a.txt", "PMID- 30000001\nTI  - T\n", "MEDLINE (NBIB) is not read yet"),
        ("a.txt", "FN Clarivate Analytics\nVR 1.0\n", "Web of Science is not read yet"),
        ("a.txt", "PT\tAU\tTI\nJ\tHale\tSong\n", "Web of Science is not read yet"),
        ("a.txt", '\ufeff"Title";"Abstract"\n"T";"A"\n', "a table (CSV) is not read yet"),
        ("a.csv.gz", gzip.compress(b"name\nx\n"), "a table (CSV) is not read yet"),
    ],
    ids=count(),
)
def test_another_format_is_named_with_what_to_give_instead(name, content, what, tmp_path):
    path = write(tmp_path, name, content)

    with pytest.raises(FormatError) as caught:
        read_papers(path)

    assert str(caught.value).startswith(f"{path}: {what}")
    assert str(caught.value).endswith("or JSON Lines (one paper per line)")
    assert "\n" not in str(caught.value)


def test_a_few_control_characters_do_not_make_a_text_binary(tmp_path):
    (paper,) = read_papers(write(tmp_path, "a.txt", PROSE.replace("sings", "si\x00\x1bngs")))

    assert paper.abstract == "It sings at night."


def test_blank_lines_without_end_are_looked_at_quickly(tmp_path):
    path = write(tmp_path, "a.txt", "Papers\n\n" + "\n" * 100_000 + "@ \n" * 5_000 + ".")

    assert len(list(read_papers(path))) == 1


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FormatError, match=r"nowhere\.txt: no such file; check the path"):
        read_papers(tmp_path / "nowhere.txt")


@pytest.mark.parametrize("name", ["a\x00b", "a" * 5_000])
def test_an_impossible_name_is_refused(name, tmp_path):
    with pytest.raises(FormatError, match="check the path"):
        read_papers(tmp_path / name)


def test_a_folder_is_not_a_file(tmp_path):
    with pytest.raises(FormatError, match="is a folder; give the files in it"):
        read_papers(tmp_path)


def test_a_pipe_is_not_a_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(FormatError, match="is no ordinary file; save what it delivers"):
        read_papers(tmp_path / "pipe")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_named(tmp_path):
    path = write(tmp_path, "a.txt", PROSE)
    path.chmod(0)

    with pytest.raises(FormatError, match=r"a\.txt: may not be read; change its permissions"):
        read_papers(path)


@pytest.mark.parametrize(
    "damaged", [PACKED[:-9], PACKED[:20] + b"\xff" * 20, PACKED[:-8] + bytes(8)], ids=count()
)
def test_a_damaged_gzip_file_is_named(damaged, tmp_path):
    path = write(tmp_path, "a.jsonl.gz", damaged)

    with pytest.raises(FormatError, match="gzip file is damaged or cut off; download or pack"):
        read_papers(path)


def test_a_text_larger_than_the_limit_is_refused(tmp_path):
    bomb = gzip.compress(b"It sings.\n\n" * (MAX_TEXT_BYTES // 11 + 1), compresslevel=1)

    with pytest.raises(FormatError, match="is larger than 64 MiB; split it"):
        read_papers(write(tmp_path, "a.txt.gz", bomb))


@pytest.mark.shared
def test_formats_to_come_get_one_clear_line_each(shared):
    later = {".bib", ".ris", ".nbib", ".xml", ".csv", ".json", ".jsonl"}
    paths = [
        path
        for folder in ("import_cases", "inputs")
        for path in sorted((shared / folder).iterdir())
        if path.suffix in later or path.name == "08_wos_tab.txt"
    ]

    for path in paths:
        with pytest.raises(FormatError) as caught:
            read_papers(path)
        assert str(caught.value).startswith(str(path))
        assert ";" in str(caught.value)
        assert "\n" not in str(caught.value)
    assert len(paths) > 15


def test_a_path_is_shown_as_it_was_given(tmp_path):
    with pytest.raises(FormatError, match=r"^sub/nowhere\.txt: no such file"):
        read_papers(Path("sub/nowhere.txt"))


def examples(language):
    text = (Path(__file__).parents[1] / "docs" / "formats.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_documented_examples_are_read_as_they_say(tmp_path):
    papers = list(read_papers(write(tmp_path, "a.txt", examples("text")[0])))
    lines = list(read_papers(write(tmp_path, "b.jsonl", examples("json")[1])))

    assert [paper.title for paper in papers] == ["", "Night song of urban blackbirds"]
    assert papers[1].abstract.startswith("Street light shifts")
    assert [paper.id for paper in lines] == ["acl:2023.emnlp-main.844"]


def test_the_documented_message_is_the_one_that_is_given(tmp_path):
    write(tmp_path, "papers.jsonl", LINE * 16 + '{"title": "T", "year": "2023"}\n')

    with pytest.raises(FormatError) as caught:
        read_papers(Path("papers.jsonl"))

    assert f"error: {caught.value}\n" == examples("text")[1]

import hashlib
import json
import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from paper_qa.corpus import read_papers, read_seeds, seeds_folder
from paper_qa.domain import Place
from paper_qa.errors import FormatError, LibraryError, PaperQAError

SEEDS = Path(__file__).parents[1] / "seeds"
RECORDS = [
    json.loads(line) for line in (SEEDS / "metadata.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.fixture(scope="module")
def seeds():
    return read_seeds(SEEDS)


def test_the_seeds_are_84_papers_in_95_places(seeds):
    assert len(seeds) == 84
    assert sum(len(paper.found_in) for paper in seeds) == 95
    assert Counter(len(paper.found_in) for paper in seeds) == {1: 74, 2: 9, 3: 1}


def test_what_is_known_of_the_seeds_is_theirs_in_the_same_order(seeds):
    for paper, record in zip(seeds, RECORDS, strict=True):
        assert paper.id == record["id"]
        assert paper.title == record["title"]
        assert paper.authors == tuple(record["authors"])
        assert (paper.year, paper.venue, paper.url) == (2024, "ICML 2024", record["url"])
        assert paper.found_in == tuple(
            Place(place["file"], place["paragraph"]) for place in record["found_in"]
        )


def test_the_abstracts_of_the_seeds_are_kept_to_the_letter(seeds):
    for paper, record in zip(seeds, RECORDS, strict=True):
        assert hashlib.sha256(paper.abstract.encode()).hexdigest() == record["abstract_sha256"]


def test_a_seeds_file_by_itself_gives_every_paragraph():
    counts = [len(list(read_papers(path))) for path in sorted(SEEDS.glob("*.txt"))]

    assert sum(counts) == 95


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "gb18030"])
def test_the_seeds_are_the_same_in_another_encoding(encoding, seeds, tmp_path):
    shutil.copy(SEEDS / "metadata.jsonl", tmp_path)
    for path in SEEDS.glob("*.txt"):
        text = path.read_text(encoding="utf-8").replace("\n", "\r\n")
        (tmp_path / path.name).write_bytes(text.encode(encoding))

    assert read_seeds(tmp_path) == seeds


def test_seeds_without_metadata_have_made_up_ids_and_no_titles(tmp_path):
    for path in SEEDS.glob("*.txt"):
        shutil.copy(path, tmp_path)

    papers = read_seeds(tmp_path)

    assert len(papers) == 84
    assert all(paper.id.startswith("p-") and not paper.title for paper in papers)
    assert len({paper.id for paper in papers}) == 84


def test_a_repeat_in_one_file_is_one_paper_in_two_places(tmp_path):
    (tmp_path / "a.txt").write_text("Heading\n\nIt sings.\n\nIt flies.\n\nIt sings.\n")

    papers = read_seeds(tmp_path)

    assert [paper.abstract for paper in papers] == ["It sings.", "It flies."]
    assert papers[0].found_in == (Place("a.txt", 1), Place("a.txt", 3))


def test_files_that_are_not_seeds_are_left_alone(tmp_path):
    (tmp_path / "a.TXT").write_text("Heading\n\nIt sings.\n")
    (tmp_path / "README.md").write_text("Not a seed.\n")
    (tmp_path / "._a.txt").write_bytes(b"\x00\x05\x16\x07")

    assert [paper.abstract for paper in read_seeds(tmp_path)] == ["It sings."]


def test_the_seeds_of_the_checkout_are_found():
    assert seeds_folder() == SEEDS


def test_a_missing_seeds_folder_is_named(tmp_path):
    with pytest.raises(LibraryError, match=r"seeds folder '.*nowhere' is missing; give a folder"):
        read_seeds(tmp_path / "nowhere")


def test_an_empty_seeds_folder_is_named(tmp_path):
    with pytest.raises(LibraryError, match="has no text file; give a folder of text files"):
        read_seeds(tmp_path)


def test_a_file_in_place_of_the_seeds_folder_is_named(tmp_path):
    (tmp_path / "seeds").write_text("x")

    with pytest.raises(LibraryError, match=r"can't be read .*; give a folder"):
        read_seeds(tmp_path / "seeds")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("mode", [0o000, 0o400])
def test_an_unreadable_seeds_folder_is_named(mode, tmp_path):
    folder = tmp_path / "seeds"
    folder.mkdir()
    (folder / "a.txt").write_text("Heading\n\nIt sings.\n")
    folder.chmod(mode)

    try:
        with pytest.raises(PaperQAError, match=r"seeds.*read"):
            read_seeds(folder)
    finally:
        folder.chmod(0o700)


def test_a_bad_file_among_the_seeds_is_named(tmp_path):
    (tmp_path / "a.txt").write_text("\n\n")

    with pytest.raises(FormatError, match=r"a\.txt: has no paragraphs"):
        read_seeds(tmp_path)


def test_bad_metadata_is_named_with_its_line(tmp_path):
    digest = hashlib.sha256(b"It sings.").hexdigest()
    (tmp_path / "a.txt").write_text("Heading\n\nIt sings.\n")
    (tmp_path / "metadata.jsonl").write_text(
        f'{{"abstract_sha256": 7}}\n{{"abstract_sha256": "{digest}", "title": 7}}\n'
    )

    with pytest.raises(FormatError, match=r"metadata\.jsonl:2: 'title' must be text, not a number"):
        read_seeds(tmp_path)


def test_metadata_does_not_pass_for_papers():
    with pytest.raises(FormatError, match=r"metadata\.jsonl:1: .*; give the text file"):
        read_papers(SEEDS / "metadata.jsonl")

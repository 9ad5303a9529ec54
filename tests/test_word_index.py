import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from paper_qa.chunking import chunk_paper
from paper_qa.domain import Paper, Span, Turn
from paper_qa.embedding import num_tokens
from paper_qa.library import Library
from paper_qa.questions import understand
from paper_qa.word_index import PlacedWords, WordIndex
from papers import make_papers
from seeds import Parts, seed_papers

pytest_plugins = ["seed_library"]


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    opened = Library(tmp_path / "home")
    opened.add(make_papers(3))
    yield opened
    opened.close()


def weights_of(words: WordIndex, question: str, *history: Turn) -> dict[str, float]:
    read = words.read_question(understand(question, history))
    return dict(zip(read.words, read.weights, strict=True))


def words_of(paper: Paper, read: PlacedWords) -> list[str]:
    """Return the words of a paper as they stand in its title and its abstract."""
    title = f"{paper.title}\n" if paper.title else ""
    text = title + paper.abstract
    rests = [text[len(title) + start :] for start in read.starts]
    return [re.match(r"\w+(?:[-'’]\w+)*", rest)[0] for rest in rests]


def test_words_of_the_title_stand_below_zero_and_those_of_the_abstract_where_they_are(
    library: Library,
):
    paper = Paper("a", "Spiking networks", "Neurons that spike are studied. The rest is silence.")

    read = WordIndex(library).of([paper])["a"]

    title, abstract = ["Spiking", "networks"], ["Neurons", "spike", "studied", "rest", "silence"]
    assert words_of(paper, read) == [*title, *abstract]
    assert [start < 0 for start in read.starts] == [True] * 2 + [False] * 5
    assert list(read.inside(Span(0, 31))) == [False] * 2 + [True] * 3 + [False] * 2
    assert len(read.vectors) == 7


def test_a_paper_of_several_passages_is_read_whole_and_its_title_once(library: Library):
    text = " ".join(f"We study case{number} of many others." for number in range(60))
    paper = Paper("a", "A long study", text)

    read = WordIndex(library).of([paper])["a"]

    assert len(chunk_paper(paper, num_tokens)) > 1
    found = words_of(paper, read)
    assert found[:2] == ["long", "study"]
    assert [word for word in found if word.startswith("case")] == [f"case{n}" for n in range(60)]
    assert len(found) == len(read.vectors) == len(set(read.starts))


def test_what_is_kept_is_what_was_read(library: Library, tmp_path: Path):
    papers = library.papers()
    first = WordIndex(library).of(papers)
    other = Library(tmp_path / "home")

    again = WordIndex(other).of(papers)
    other.close()

    assert set(first) == set(again) == {"m0", "m1", "m2"}
    for paper in papers:
        assert words_of(paper, first[paper.id]) == words_of(paper, again[paper.id])
        assert np.array_equal(first[paper.id].vectors, again[paper.id].vectors)


def test_a_paper_that_is_not_in_the_library_is_read_each_time_it_has_other_words(
    library: Library,
):
    stranger = Paper("text-1", "", "A sentence about trains.")
    namesake = Paper("text-1", "", "Quite another sentence about ships.")
    words = WordIndex(library)

    read = {paper: words.of([paper])["text-1"] for paper in (stranger, namesake, stranger)}

    assert [words_of(paper, item) for paper, item in read.items()] == [
        ["sentence", "trains"],
        ["Quite", "another", "sentence", "ships"],
    ]


def test_a_paper_without_an_abstract_is_left_out(library: Library):
    papers = [Paper("a", "Title", ""), Paper("b", "Title", "  "), Paper("c", "", "…")]

    assert "a" not in WordIndex(library).of(papers)
    assert "b" not in WordIndex(library).of(papers)
    assert WordIndex(library).of([]) == {}


def test_a_paper_that_has_found_its_title_is_read_anew(library: Library):
    abstract = "A planner for small satellites that spares fuel on every one of its orbits. " * 3
    library.add([Paper("x", "", abstract)])
    words = WordIndex(library)
    before = words.of(library.papers(["x"]))["x"]

    library.add([Paper("y", "Sparing fuel", abstract)])
    after = words.of(library.papers(["x"]))["x"]

    assert min(before.starts) >= 0
    assert [start < 0 for start in after.starts][:3] == [True, True, False]


def test_a_paper_that_took_the_id_of_a_removed_one_is_read_anew(library: Library):
    words = WordIndex(library)
    words.of(library.papers())
    library.remove(["m1"])
    library.add([Paper("m1", "", "Trains run on rails.")])

    (paper,) = library.papers(["m1"])

    assert words_of(paper, words.of([paper])["m1"]) == ["Trains", "run", "rails"]


def test_more_papers_than_are_kept_in_memory_are_read_all_the_same(
    library: Library, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("paper_qa.word_index.NUM_PAPERS_KEPT", 2)
    papers = [Paper(f"x{number}", "", f"Word{number}.") for number in range(5)]
    words = WordIndex(library)

    read = words.of(papers)

    assert list(read) == [paper.id for paper in papers]
    assert words_of(papers[0], words.of(papers[:1])["x0"]) == ["Word0"]


def test_rare_words_count_more(seed_parts: Parts):
    weights = weights_of(seed_parts.words, "model learning Momentor zyzzyva")

    assert weights["zyzzyva"] >= weights["momentor"] > weights["learning"] > weights["model"] > 0


def test_the_weights_of_words_are_those_in_a_question(seed_parts: Parts):
    weights = weights_of(seed_parts.words, "model learning Momentor")

    assert list(seed_parts.words.weights(list(weights))) == pytest.approx(list(weights.values()))


def test_what_was_said_before_counts_less_than_what_is_asked(seed_parts: Parts):
    before = Turn("user", "Momentor learns from video")

    weights = weights_of(seed_parts.words, "And is its video long?", before)
    alone = weights_of(seed_parts.words, "momentor video long")

    assert weights["video"] == pytest.approx(alone["video"])  # asked, and said before
    assert 0 < weights["momentor"] < alone["momentor"]


def test_a_question_without_words_that_carry_meaning_is_read_too(seed_parts: Parts):
    read = seed_parts.words.read_question(understand("what is it?"))

    assert read.words == ()
    assert len(read.vectors) == len(read.weights) == 0


def test_every_seed_is_read_to_its_end(seed_parts: Parts):
    read = seed_parts.words.of(list(seed_papers().values()))

    assert set(read) == set(seed_papers())
    for paper in seed_papers().values():
        starts = read[paper.id].starts
        assert len(paper.abstract) - 60 < max(starts) < len(paper.abstract), paper.id
        assert min(starts) >= -len(paper.title) - 1

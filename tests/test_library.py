import os
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from paper_qa.chunking import chunk_paper, passage_text
from paper_qa.domain import Paper, Place
from paper_qa.errors import LibraryError, UnknownPaperError
from paper_qa.library import AddReport, Library, WordVectors
from papers import make_paper, make_papers


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    opened = Library(tmp_path / "home")
    yield opened
    opened.close()


def test_papers_come_back_as_they_were_added_and_in_that_order(library):
    papers = make_papers(5)

    report = library.add(reversed(papers))

    assert report == AddReport(added=("m4", "m3", "m2", "m1", "m0"))
    assert library.papers() == papers[::-1]
    assert library.num_papers() == 5
    assert library.paper("m3") == papers[3]


def test_papers_asked_for_by_id_come_in_the_order_asked_each_once_and_missing_ones_are_left_out(
    library,
):
    library.add(make_papers(4))

    found = library.papers(["m3", "nothing", "m0", "m3"])

    assert [paper.id for paper in found] == ["m3", "m0"]


def test_papers_are_still_there_after_reopening(tmp_path):
    first = Library(tmp_path)
    first.add(make_papers(3))
    uuid = first.uuid
    first.close()

    again = Library(tmp_path)

    assert [paper.id for paper in again.papers()] == ["m0", "m1", "m2"]
    assert again.uuid == uuid
    again.close()


def test_a_paper_that_recurs_is_kept_once_with_all_its_places(library):
    paper = make_paper(1)
    elsewhere = replace(paper, id="other", title="", found_in=(Place("b.txt", 7),))

    report = library.add([paper, elsewhere])

    assert report == AddReport(added=("m1",), merged=("m1",))
    assert library.papers() == [replace(paper, found_in=(*paper.found_in, Place("b.txt", 7)))]


def test_what_was_empty_is_filled_by_a_repeat_and_what_was_there_stays(library):
    bare = replace(make_paper(1), title="", authors=(), year=None, venue="", url="")
    full = replace(make_paper(1), id="x", retracted=True)
    library.add([bare])

    library.add([full])
    library.add([replace(full, title="Another title", year=1900)])

    assert library.papers() == [replace(full, id="m1")]


def test_an_abstract_is_added_to_an_entry_that_came_without_one(library):
    paper = make_paper(1)
    library.add([replace(paper, abstract="")])

    report = library.add([paper])

    assert report == AddReport(merged=("m1",))
    assert library.paper("m1").abstract == paper.abstract
    assert library.add([replace(paper, id="m9")]).merged == ("m1",)


def test_an_entry_without_its_abstract_is_known_again(library):
    library.add([make_paper(1)])

    report = library.add([replace(make_paper(1), abstract="")])

    assert report == AddReport(merged=("m1",))
    assert library.paper("m1") == make_paper(1)


def test_different_papers_without_abstract_may_have_the_same_title(library):
    first = Paper(id="a", title="Introduction", abstract="")
    second = Paper(id="b", title="Introduction", abstract="")

    report = library.add([first, second, first])

    assert report == AddReport(added=("a", "b"), merged=("a",))


def test_another_paper_that_claims_a_used_id_gets_the_next_free_one_and_keeps_it(library):
    papers = [replace(make_paper(number), id="same") for number in range(3)]

    library.add(papers)
    again = library.add(papers)

    assert [paper.id for paper in library.papers()] == ["same", "same-2", "same-3"]
    assert again == AddReport(merged=("same", "same-2", "same-3"))
    assert library.paper("same-3").title == papers[2].title


def test_the_generation_grows_with_every_change_and_with_nothing_else(library):
    seen = [library.generation]

    for change in (
        lambda: library.add(make_papers(2)),
        lambda: library.add(make_papers(2)),
        lambda: library.add([]),
        lambda: library.remove([]),
        lambda: library.remove(["m0"]),
        lambda: library.store_vectors("model", {"text": np.ones(3, dtype=np.float32)}),
    ):
        change()
        seen.append(library.generation)

    assert seen == [0, 1, 1, 1, 1, 2, 2]


def test_removing_an_unknown_paper_removes_none(library):
    library.add(make_papers(3))

    with pytest.raises(UnknownPaperError, match="no paper 'm7'"):
        library.remove(["m0", "m7"])

    assert library.num_papers() == 3
    assert library.keyword_search("marker0", 5)


def test_removing_a_paper_twice_at_once_is_removing_it(library):
    library.add(make_papers(3))

    library.remove(["m0", "m0"])

    assert [paper.id for paper in library.papers()] == ["m1", "m2"]


@pytest.mark.parametrize("asked", ["smithe24a", "Smith24A", "smith24"])
def test_an_unknown_id_is_answered_with_those_that_look_alike(library, asked):
    library.add([replace(make_paper(1), id="smith24a"), replace(make_paper(2), id="jones23b")])

    with pytest.raises(UnknownPaperError) as caught:
        library.paper(asked)

    assert str(caught.value) == f"no paper {asked!r} in the library: did you mean 'smith24a'?"


def test_an_unknown_id_like_no_other_is_answered_with_where_to_look(library):
    with pytest.raises(UnknownPaperError, match="see `paper-qa list`"):
        library.paper("zzz")


def test_a_failing_source_keeps_the_batches_before_it(library, monkeypatch):
    monkeypatch.setattr("paper_qa.library.BATCH", 2)

    def papers() -> Iterator[Paper]:
        yield from make_papers(5)
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        library.add(papers())

    assert [paper.id for paper in library.papers()] == ["m0", "m1", "m2", "m3"]


def test_half_characters_are_replaced_since_they_cannot_be_kept(library):
    library.add([Paper(id="a\ud800", title="b\udfff", abstract="c\ud800d", authors=("e\ud800",))])

    (paper,) = library.papers()

    assert paper == Paper(id="a\ufffd", title="b\ufffd", abstract="c\ufffdd", authors=("e\ufffd",))


def test_zeros_quotes_and_any_script_are_kept_as_they_are(library):
    paper = Paper(id="a'\"", title='x\x00"y', abstract="שלום 日本語 \x00 'z' 🎉 ' OR 1=1; --")
    library.add([paper])

    assert library.paper("a'\"") == paper


texts = st.text(max_size=30)


@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    title=texts,
    abstract=st.text(min_size=1, max_size=60),
    authors=st.lists(texts, max_size=3).map(tuple),
    year=st.none() | st.integers(0, 3000),
)
def test_whatever_a_paper_says_it_comes_back_the_same(tmp_path, title, abstract, authors, year):
    paper = Paper("id", title, abstract, authors, year)
    with tempfile.TemporaryDirectory(dir=tmp_path) as home:
        library = Library(Path(home))
        library.add([paper])
        found = library.papers()
        library.close()

    assert found == [paper]


# Vectors


def test_vectors_are_found_by_model_and_text(library):
    vector = np.array([0.25, -1.5, 3.0], dtype=np.float32)

    library.store_vectors("one", {"text": vector})

    (text, found), *others = library.vectors("one", ["text", "other"]).items()
    assert (text, others) == ("text", [])
    assert found.dtype == np.float32
    assert found.tolist() == vector.tolist()
    assert library.vectors("two", ["text"]) == {}


def make_words(*rows: list[int]) -> WordVectors:
    return WordVectors(
        np.array([[start, start + 1] for start in range(len(rows))], dtype=np.int32).reshape(-1, 2),
        np.array(rows, dtype=np.int8).reshape(len(rows), -1 if rows else 0),
        np.array([0.5] * len(rows), dtype=np.float32),
    )


def keep_passage(library: Library, paper: Paper) -> str:
    """Make the library know the passage of a paper, and return its text."""
    (passage,) = chunk_paper(paper, lambda text: len(text.split()))
    text = passage_text(paper, passage)
    library.passages.store("test", {paper.id: [(passage, text)]})
    return text


def test_word_vectors_are_kept_by_text_as_long_as_a_paper_has_the_passage(library):
    library.add(make_papers(2))
    texts = [keep_passage(library, paper) for paper in make_papers(2)]
    words = make_words([1, -2], [3, 127])
    library.store_word_vectors("model", {texts[0]: words, texts[1]: words, "no passage": words})

    found = library.word_vectors("model", [*texts, "no passage"])
    library.remove(["m0"])

    assert list(found) == texts
    assert found[texts[0]].spans.tolist() == words.spans.tolist()
    assert found[texts[0]].matrix.tolist() == words.matrix.tolist()
    assert found[texts[0]].scales.tolist() == words.scales.tolist()
    assert list(library.word_vectors("model", texts)) == [texts[1]]
    assert library.word_vectors("other", texts) == {}


def test_a_text_without_words_has_no_rows(library):
    library.add([make_paper(1)])
    text = keep_passage(library, make_paper(1))

    library.store_word_vectors("model", {text: make_words()})

    assert len(library.word_vectors("model", [text])[text].matrix) == 0


# Faults


def test_a_library_made_by_a_newer_version_is_refused(tmp_path):
    Library(tmp_path).close()
    with sqlite3.connect(tmp_path / "library.sqlite") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()

    with pytest.raises(LibraryError, match=r"newer version of paper-qa: upgrade paper-qa$"):
        Library(tmp_path)


def test_another_programs_database_is_refused_and_left_alone(tmp_path):
    with sqlite3.connect(tmp_path / "library.sqlite") as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    before = (tmp_path / "library.sqlite").read_bytes()

    with pytest.raises(LibraryError, match="another program: set PAPER_QA_HOME"):
        Library(tmp_path)

    assert (tmp_path / "library.sqlite").read_bytes() == before


def test_a_file_that_is_no_database_is_called_damaged(tmp_path):
    (tmp_path / "library.sqlite").write_bytes(b"something else, for longer than a header" * 50)

    with pytest.raises(LibraryError, match="is damaged: put back a copy"):
        Library(tmp_path)


def test_a_database_with_torn_pages_is_called_damaged(tmp_path):
    library = Library(tmp_path)
    library.add(make_papers(200))
    library.close()
    path = tmp_path / "library.sqlite"
    data = path.read_bytes()
    path.write_bytes(data[:8192] + b"\xff" * (len(data) - 8192))

    with pytest.raises(LibraryError, match="is damaged: put back a copy"):  # noqa: PT012
        library = Library(tmp_path)
        try:
            library.papers()
        finally:
            library.close()


def test_a_home_that_is_a_file_cannot_be_written(tmp_path):
    (tmp_path / "home").write_text("a file")

    with pytest.raises(LibraryError, match="is a file: set PAPER_QA_HOME to a folder"):
        Library(tmp_path / "home")


@pytest.fixture
def readonly_home() -> Iterator[Path]:
    """A folder with a library that we may read and not write, whoever we are."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        library = Library(home)
        library.add(make_papers(1))
        library.close()
        home.chmod(0o555)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)
        try:
            yield home
        finally:
            os.seteuid(user)
            home.chmod(0o755)


def test_a_home_without_permission_is_refused_in_one_line(readonly_home):
    with pytest.raises(LibraryError) as caught:
        Library(readonly_home)
    with pytest.raises(LibraryError):
        Library(readonly_home / "below")

    assert "can't be written: allow it, or set PAPER_QA_HOME" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_full_disk_loses_only_what_was_being_added(library):
    library.add(make_papers(10))
    (pages,) = library._database._connection.execute("PRAGMA page_count").fetchone()
    library._database._connection.execute(f"PRAGMA max_page_count = {pages + 2}")

    with pytest.raises(LibraryError, match=r"the disk is full; .* free some space, then try again"):
        library.add(make_papers(1000, start=10))

    assert [paper.id for paper in library.papers()] == [f"m{number}" for number in range(10)]


def test_a_library_locked_for_too_long_is_said_to_be_in_use(library, tmp_path):
    other = sqlite3.connect(tmp_path / "home" / "library.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    library._database._connection.execute("PRAGMA busy_timeout = 50")

    with pytest.raises(LibraryError, match="is being written by another process: wait"):
        library.add(make_papers(1))
    other.execute("ROLLBACK")
    other.close()

    assert library.add(make_papers(1)).added == ("m0",)


def test_a_closed_library_says_so_in_one_line(tmp_path):
    library = Library(tmp_path)
    library.close()

    with pytest.raises(LibraryError, match="closed"):
        library.num_papers()


def test_many_threads_may_use_one_library(library):
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for step in range(5):
                library.add(make_papers(10, start=100 * number + 10 * step))
                library.keyword_search("retrieval model", 5)
                library.papers([f"m{100 * number}"])
        except LibraryError as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    assert library.num_papers() == 200


class LibraryMachine(RuleBasedStateMachine):
    """The library against a plain dictionary, under any order of adding, removing, reopening."""

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.library = Library(Path(self.folder.name))
        self.expected: dict[str, Paper] = {}
        self.generation = 0

    @rule(numbers=st.lists(st.integers(0, 12), max_size=6), file=st.sampled_from(["a", "b"]))
    def add(self, numbers: list[int], file: str) -> None:
        report = self.library.add([make_paper(number, file=file) for number in numbers])
        new = [f"m{n}" for n in dict.fromkeys(numbers) if f"m{n}" not in self.expected]
        assert list(report.added) == new
        for number in numbers:
            paper = make_paper(number, file=file)
            known = self.expected.setdefault(paper.id, paper)
            places = tuple(dict.fromkeys(known.found_in + paper.found_in))
            self.expected[paper.id] = replace(known, found_in=places)

    @rule(number=st.integers(0, 12))
    def remove(self, number: int) -> None:
        paper_id = f"m{number}"
        try:
            self.library.remove([paper_id])
        except UnknownPaperError:
            assert paper_id not in self.expected
        else:
            del self.expected[paper_id]

    @rule()
    def reopen(self) -> None:
        self.library.close()
        self.library = Library(Path(self.folder.name))

    @invariant()
    def is_the_same(self) -> None:
        assert self.library.papers() == list(self.expected.values())
        assert self.library.generation >= self.generation
        self.generation = self.library.generation
        self.library._database._connection.execute(
            "INSERT INTO keywords (keywords, rank) VALUES ('integrity-check', 1)"
        )

    def teardown(self) -> None:
        if hasattr(self, "library"):
            self.library.close()
            self.folder.cleanup()


LibraryMachine.TestCase.settings = settings(max_examples=15, stateful_step_count=12, deadline=None)
TestLibraryMachine = LibraryMachine.TestCase

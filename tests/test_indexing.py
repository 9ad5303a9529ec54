import os
import random
import resource
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

import paper_qa.indexing
from chroma_server import running_chroma
from fakes import HashedEmbedding
from paper_qa.domain import Paper
from paper_qa.errors import LibraryError, ModelError
from paper_qa.indexing import Index
from paper_qa.library import Library
from paper_qa.vectors import VectorIndex
from papers import make_paper, make_papers

MODEL = HashedEmbedding()
Stages = list[tuple[str, int, int]]


def count_words(text: str) -> int:
    return len(text.split())


def embed(text: str) -> np.ndarray:
    return np.asarray(MODEL.get_text_embedding(text), dtype=np.float32)


def open_index(library: Library, model: HashedEmbedding = MODEL, url: str = "") -> Index:
    return Index(library, model, chroma_url=url, num_tokens=count_words)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    opened = Library(tmp_path / "home")
    yield opened
    opened.close()


@pytest.fixture
def index(library: Library) -> Iterator[Index]:
    opened = open_index(library)
    yield opened
    opened.close()


def found(index: Index, text: str, k: int = 5) -> list[str]:
    return [passage_id.split(":")[0] for passage_id, _ in index.search(embed(text), k)]


def directories(library: Library) -> list[Path]:
    return sorted((library.home / "index").iterdir())


def present(library: Library) -> Path:
    state = library.passages.index_state()
    assert state is not None
    return library.home / "index" / state.name


def text_of(number: int) -> str:
    return f"{make_paper(number).title}\n{make_paper(number).abstract}"


def agrees(library: Library, index: Index) -> bool:
    """Tell whether the index holds just the passages of the papers, and finds each paper."""
    state = library.passages.index_state()
    assert state is not None
    opened = VectorIndex.open(library.home / "index" / state.name)
    ids = opened.ids()
    opened.close()
    expected = set(library.passages.embedded_ids(MODEL.model_name))
    papers = [paper.id for paper in library.papers()]
    return (
        ids == expected
        and {passage_id.split(":")[0] for passage_id in ids} == set(papers)
        and index.num_pending() == 0
    )


def test_every_paper_is_found_by_its_own_text(library, index):
    library.add(make_papers(60))

    index.refresh()

    assert all(found(index, text_of(number), 1) == [f"m{number}"] for number in range(60))
    assert agrees(library, index)


def test_an_empty_library_finds_nothing_and_needs_no_index(library, index):
    index.refresh()

    assert index.search(embed("anything"), 5) == []
    assert index.num_pending() == 0


def test_papers_without_abstract_are_not_indexed_and_not_missed(library, index):
    library.add([Paper("a", "Only a title", ""), Paper("b", "Blank", "  "), make_paper(1)])

    index.refresh()

    assert found(index, "Only a title", 5) == ["m1"]
    assert index.num_pending() == 0
    assert library.num_papers() == 3


def test_a_library_of_titles_alone_is_an_empty_index(library, index):
    library.add([Paper("a", "Only a title", "")])

    index.refresh()
    index.refresh(rebuild=True)

    assert index.search(embed("title"), 5) == []


def test_a_long_abstract_becomes_several_passages_with_their_places(library, index):
    abstract = " ".join(f"Sentence {number} has some more words in it." for number in range(80))
    library.add([Paper("long", "A title", abstract)])

    index.refresh()

    hits = index.search(embed("Sentence 79 has some more words in it."), 10)
    passages = library.passages.passages([passage_id for passage_id, _ in hits])
    assert len(passages) == len(hits) > 1
    assert all(passage.paper_id == "long" for passage in passages.values())
    assert max(passage.end for passage in passages.values()) == len(abstract)


def test_progress_tells_each_stage_to_its_end(library, index):
    library.add(make_papers(10))
    stages: Stages = []

    index.refresh(lambda *stage: stages.append(stage))
    index.refresh(lambda *stage: stages.append(stage))

    assert stages == [
        ("Reading papers", 0, 10),
        ("Embedding", 0, 10),
        ("Building the index", 0, 10),
        ("Building the index", 10, 10),
    ]


def test_refreshing_what_is_in_line_makes_no_new_index(library, index):
    library.add(make_papers(10))
    index.refresh()
    before = directories(library)

    index.refresh()
    index.search(embed("parsing"), 3)

    assert directories(library) == before


def test_added_and_removed_papers_are_found_and_found_no_more(library, index):
    library.add(make_papers(30))
    index.refresh()

    library.add(make_papers(5, start=30))
    library.remove(["m0", "m1"])
    index.refresh()

    assert found(index, text_of(33), 1) == ["m33"]
    assert len(found(index, text_of(0), 50)) == 33
    assert agrees(library, index)


def test_a_removed_paper_is_never_found_even_before_the_index_knows(library, index):
    library.add(make_papers(30))
    index.refresh()

    library.remove([f"m{number}" for number in range(12)])

    assert len(found(index, text_of(0), 10)) == 10
    assert set(found(index, text_of(0), 100)) == {f"m{number}" for number in range(12, 30)}


def test_a_large_index_is_not_copied_for_a_few_removed_papers(library, index, monkeypatch):
    monkeypatch.setattr(paper_qa.indexing, "SMALL", 10)
    monkeypatch.setattr(paper_qa.indexing, "MAX_DEAD", 3)
    library.add(make_papers(30))
    index.refresh()
    before = present(library)

    library.remove(["m0", "m1", "m2"])
    index.refresh()
    assert present(library) == before
    assert set(found(index, text_of(0), 50)) == {f"m{number}" for number in range(3, 30)}

    library.remove(["m3"])
    index.refresh()
    assert present(library) != before
    assert agrees(library, index)


def test_the_vectors_of_a_removed_paper_are_forgotten_and_those_of_others_are_not(library, index):
    library.add(make_papers(3))
    index.refresh()

    library.remove(["m0"])

    assert list(library.vectors("hashed", [text_of(n) for n in range(3)])) == [
        text_of(1),
        text_of(2),
    ]


def test_a_paper_that_gets_its_title_later_is_embedded_anew(library, index):
    bare = Paper("m1", "", make_paper(1).abstract)
    library.add([bare, make_paper(2)])
    index.refresh()
    assert library.vectors("hashed", [bare.abstract])

    library.add([make_paper(1)])
    index.refresh()

    assert library.vectors("hashed", [bare.abstract]) == {}
    assert index.search(embed(text_of(1)), 1)[0][1] == 1.0
    assert agrees(library, index)


def test_nothing_is_embedded_twice(library):
    texts: list[str] = []

    class Counting(HashedEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            texts.append(text)
            return super()._get_text_embedding(text)

    index = open_index(library, Counting())
    library.add(make_papers(20))
    index.refresh()
    library.add(make_papers(22))
    index.refresh()
    shutil.rmtree(library.home / "index")
    index.refresh()
    index.close()

    assert len(texts) == len(set(texts)) == 22


def test_only_the_present_and_the_previous_index_are_kept(library, index):
    for number in range(4):
        library.add([make_paper(number)])
        index.refresh()
        (library.home / "index" / "left by a killed process").mkdir(exist_ok=True)

    library.add([make_paper(9)])
    index.refresh()

    assert len(directories(library)) == 2
    assert present(library) in directories(library)


def test_an_index_of_mostly_deleted_passages_is_made_anew(library, index):
    library.add(make_papers(40))
    index.refresh()
    library.remove([f"m{number}" for number in range(1, 40)])
    index.refresh()
    worn = library.passages.index_state()

    library.add(make_papers(5, start=50))
    index.refresh()

    fresh = library.passages.index_state()
    assert worn is not None
    assert fresh is not None
    assert worn.num_deleted == 39
    assert fresh.num_deleted == 0
    assert agrees(library, index)


def test_the_same_library_gives_the_same_hits_whatever_its_history(tmp_path):
    results = []
    for name in ("straight", "winding", "rebuilt"):
        library = Library(tmp_path / name)
        index = open_index(library)
        library.add(make_papers(100))
        if name == "winding":
            index.refresh()
            library.add(make_papers(20, start=200))
            index.refresh()
            library.remove([f"m{number}" for number in range(200, 220)])
            library.remove(["m7"])
            index.refresh()
            library.add([make_paper(7)])
        index.refresh(rebuild=name == "rebuilt")
        results.append([index.search(embed(f"marker{n} parsing"), 40) for n in range(10)])
        index.close()
        library.close()

    assert results[0] == results[1] == results[2]


# Left undone


def test_what_a_killed_process_left_is_finished_by_the_next_search(library, index):
    library.add(make_papers(10))
    index.refresh()
    library.add(make_papers(5, start=10))
    assert index.num_pending() == 5

    assert found(index, text_of(12), 1) == ["m12"]

    assert index.num_pending() == 0


def test_finishing_tells_its_progress_when_asked_to_prepare(library, index):
    library.add(make_papers(3))
    stages: Stages = []

    index.prepare(lambda *stage: stages.append(stage))
    index.prepare(lambda *stage: stages.append(stage))

    assert [stage for stage, *_ in stages].count("Embedding") == 1


def test_much_left_undone_is_left_to_the_index_command(library, index, monkeypatch):
    library.add(make_papers(4))
    index.refresh()
    monkeypatch.setattr(paper_qa.indexing, "_FINISHABLE", range(1, 5))
    library.add(make_papers(9, start=4))

    assert set(found(index, text_of(7), 20)) == {"m0", "m1", "m2", "m3"}
    assert index.num_pending() == 9

    index.refresh()
    assert found(index, text_of(7), 1) == ["m7"]


def test_what_another_process_is_embedding_is_left_to_it(library, index):
    library.add(make_papers(4))
    index.refresh()
    library.add(make_papers(3, start=4))

    with FileLock(library.home / ".embedding.lock"):
        assert set(found(index, text_of(5), 20)) == {"m0", "m1", "m2", "m3"}

    assert found(index, text_of(5), 1) == ["m5"]


def test_own_papers_do_not_wait_for_those_that_another_process_is_embedding(library, index):
    library.add(make_papers(3))

    with FileLock(library.home / ".embedding.lock"):
        library.add([make_paper(9)])
        index.refresh(paper_ids=["m9"])
        assert found(index, text_of(9), 5) == ["m9"]

    assert index.num_pending() == 3
    assert len(found(index, text_of(9), 5)) == 4


def test_waiting_for_another_writer_is_said(library, index):
    library.add(make_papers(3))
    stages: Stages = []
    lock = FileLock(library.home / ".lock", thread_local=False)
    lock.acquire()
    timer = threading.Timer(1.0, lock.release)
    timer.start()

    index.refresh(lambda *stage: stages.append(stage))
    timer.join()

    assert ("Waiting for another process that is writing the search index", 0, 0) in stages
    assert agrees(library, index)


def test_a_writer_that_never_ends_is_named(library, index, monkeypatch):
    monkeypatch.setattr("paper_qa.locks.LONGEST_S", 0.1)
    library.add(make_papers(3))

    with (
        FileLock(library.home / ".lock"),
        pytest.raises(LibraryError, match="another process has been writing the search index"),
    ):
        index.refresh()


def test_a_lock_that_cannot_be_made_is_named(library, index):
    (library.home / ".embedding.lock").mkdir()

    with pytest.raises(LibraryError, match="can't be taken"):
        index.refresh()


# Models


def test_another_embedding_model_is_refused_with_what_to_run(library, index):
    library.add(make_papers(5))
    index.refresh()
    other = open_index(library, HashedEmbedding(model_name="other", dim=32))

    for use in (
        other.refresh,
        other.prepare,
        other.check_model,
        lambda: other.search(np.ones(32, dtype=np.float32), 3),
        lambda: other.refresh(paper_ids=[]),
    ):
        with pytest.raises(LibraryError) as caught:
            use()
        assert "'hashed', not 'other'" in str(caught.value)
        assert "`paper-qa index --rebuild`" in str(caught.value)


def test_a_rebuild_embeds_all_with_the_present_model_and_forgets_the_other(library, index):
    library.add(make_papers(5))
    index.refresh()
    model = HashedEmbedding(model_name="other", dim=32)
    other = open_index(library, model)

    other.refresh(rebuild=True)

    vector = np.asarray(model.get_text_embedding(text_of(3)), dtype=np.float32)
    assert other.search(vector, 1)[0][0].startswith("m3:")
    assert library.vectors("hashed", [text_of(3)]) == {}
    with pytest.raises(LibraryError, match="'other', not 'hashed'"):
        index.search(embed("x"), 3)
    other.close()


def test_a_model_that_changed_the_length_of_its_vectors_asks_for_a_rebuild(library, index):
    library.add(make_papers(5))
    index.refresh()
    changed = open_index(library, HashedEmbedding(dim=32))
    library.add(make_papers(2, start=5))

    for use in (changed.refresh, lambda: changed.search(np.ones(32, dtype=np.float32), 3)):
        with pytest.raises(LibraryError, match=r"vectors of 64 numbers.* returns 32.*--rebuild"):
            use()

    changed.refresh(rebuild=True)
    assert len(changed.search(np.ones(32, dtype=np.float32), 10)) == 7
    changed.close()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_vectors_that_are_no_numbers_are_refused(library, value):
    class Broken(HashedEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            return [value] * 3

    library.add(make_papers(2))

    with pytest.raises(ModelError, match="'hashed' returned a vector that is not finite"):
        open_index(library, Broken()).refresh()


def test_vectors_of_different_lengths_are_refused(library):
    class Broken(HashedEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            return [1.0] * (3 + len(text) % 2)

    library.add(make_papers(9))

    with pytest.raises(ModelError, match="'hashed' returned not one vector of the same length"):
        open_index(library, Broken()).refresh()


def test_a_model_that_fails_half_way_keeps_what_it_did(library, monkeypatch):
    monkeypatch.setattr("paper_qa.filling.PASSAGES", 4)

    class Failing(HashedEmbedding):
        left: int = 10

        def _get_text_embedding(self, text: str) -> list[float]:
            if not self.left:
                raise ModelError("no more")
            self.left -= 1
            return super()._get_text_embedding(text)

    library.add(make_papers(20))
    index = open_index(library, Failing())
    with pytest.raises(ModelError, match="no more"):
        index.refresh()

    assert len(library.vectors("hashed", [text_of(number) for number in range(20)])) == 8
    index.close()


# Damage


def garble(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for place in random.Random(1).sample(range(len(data)), min(200, len(data))):
        data[place] ^= 255
    path.write_bytes(data)


def cut_off(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def remove_all(directory: Path) -> None:
    shutil.rmtree(directory.parent)


def damage(name: str, how: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda directory: how(next(directory.rglob(name)))


@pytest.mark.parametrize(
    ("do_damage", "is_open"),
    [
        pytest.param(shutil.rmtree, False, id="no directory"),
        pytest.param(shutil.rmtree, True, id="no directory while open"),
        pytest.param(remove_all, True, id="nothing at all while open"),
        pytest.param(damage("chroma.sqlite3", Path.unlink), False, id="no database"),
        pytest.param(damage("chroma.sqlite3", garble), False, id="torn database"),
        pytest.param(damage("chroma.sqlite3", garble), True, id="torn database while open"),
        pytest.param(damage("data_level0.bin", garble), False, id="torn graph"),
        pytest.param(damage("data_level0.bin", garble), True, id="torn graph while open"),
        pytest.param(damage("header.bin", garble), False, id="torn header"),
        pytest.param(damage("link_lists.bin", Path.unlink), False, id="no links"),
        pytest.param(damage("data_level0.bin", cut_off), False, id="cut off graph"),
        pytest.param(damage("index_metadata.pickle", garble), False, id="torn ids"),
    ],
)
def test_a_damaged_index_is_made_again_without_a_word(library, do_damage, is_open):
    library.add(make_papers(20))
    first = open_index(library)
    first.refresh()
    if is_open:
        first.search(embed("parsing"), 3)
    else:
        first.close()

    do_damage(present(library))
    library.add([make_paper(50)])

    for index in (first, open_index(library)):
        assert found(index, text_of(50), 1) == ["m50"]
        assert found(index, text_of(7), 1) == ["m7"]
        assert agrees(library, index)
        index.close()


def test_lost_passages_are_noticed_on_opening(library, index):
    library.add(make_papers(20))
    index.refresh()
    index.close()
    opened = VectorIndex.open(present(library))
    opened.delete(sorted(opened.ids())[:3])
    opened.close()

    assert len(found(index, "parsing", 50)) == 20


def test_an_index_that_cannot_be_made_again_is_an_error_with_what_to_do(library, index):
    library.add(make_papers(5))
    index.refresh()
    index.close()
    shutil.rmtree(library.home / "index")
    (library.home / "index").write_text("a file where a folder should be")

    with pytest.raises(LibraryError) as caught:
        index.search(embed("parsing"), 3)

    assert "can't be written" in str(caught.value)
    assert str(caught.value).endswith("then run `paper-qa index`")


@contextmanager
def full_disk(library: Library) -> Iterator[None]:
    """Let no file grow beyond 150 kB, which is less than Chroma's own database has."""
    library._database._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_on_a_full_disk_the_present_index_stays_and_goes_on_answering(library, index, caplog):
    library.add(make_papers(5))
    index.refresh()
    before = directories(library)
    library.add([make_paper(9)])

    with full_disk(library):
        with pytest.raises(LibraryError) as caught:
            index.refresh()
        assert found(index, text_of(3), 1) == ["m3"]
        assert found(index, text_of(3), 1) == ["m3"]

    assert "can't be written (File too large;" in str(caught.value)
    assert str(caught.value).endswith("make room or allow it, then run `paper-qa index`")
    assert directories(library) == before
    assert caplog.text.count("some papers can't be searched yet") == 1
    assert index.num_pending() == 1
    index.refresh()
    assert found(index, text_of(9), 1) == ["m9"]


def test_on_a_full_disk_a_first_index_is_an_error_with_what_to_do(library, index):
    library.add(make_papers(5))

    with full_disk(library):
        for use in (index.refresh, index.prepare, lambda: index.search(embed("parsing"), 3)):
            with pytest.raises(LibraryError, match="the papers are safe; make room or allow it"):
                use()

    assert not directories(library)
    assert found(index, text_of(3), 1) == ["m3"]


def test_a_question_is_answered_though_the_model_fails_on_what_is_new(library):
    class Failing(HashedEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            if "marker9" in text:
                raise ModelError("no more")
            return super()._get_text_embedding(text)

    index = open_index(library, Failing())
    library.add(make_papers(5))
    index.refresh()
    library.add([make_paper(9)])

    assert found(index, text_of(3), 1) == ["m3"]

    assert index.num_pending() == 1
    index.close()


def test_many_threads_may_search_while_one_adds_and_removes(library, index):
    library.add(make_papers(20))
    index.refresh()
    errors: list[object] = []
    is_over = threading.Event()

    def ask(seed: int) -> None:
        own = random.Random(seed)
        while not is_over.is_set():
            number = own.randrange(20)
            try:
                if found(index, text_of(number), 1) != [f"m{number}"]:
                    errors.append(number)
            except LibraryError as error:
                errors.append(error)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for number in range(30, 33):
        library.add([make_paper(number)])
        index.refresh()
        library.remove([f"m{number}"])
        index.refresh()
    is_over.set()
    for thread in threads:
        thread.join()

    assert errors == []
    assert agrees(library, index)


# A Chroma server


@pytest.fixture(scope="module")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_chroma(tmp_path_factory.mktemp("server")) as url:
        yield url


def test_an_index_on_a_server_follows_the_library(library, server_url):
    index = open_index(library, url=server_url)
    library.add(make_papers(20))
    index.refresh()
    library.remove(["m3"])
    assert "m3" not in found(index, text_of(3), 50)
    library.add([make_paper(30)])

    assert found(index, text_of(30), 1) == ["m30"]

    index.refresh()
    assert not (library.home / "index").exists()
    remote = VectorIndex.connect(server_url, f"paper_qa-{library.uuid}")
    assert remote.ids() == set(library.passages.embedded_ids("hashed"))
    remote.close()
    index.close()


def test_two_libraries_on_one_server_do_not_meet(tmp_path, server_url):
    for name, first in (("a", 0), ("b", 10)):
        library = Library(tmp_path / name)
        index = open_index(library, url=server_url)
        library.add(make_papers(5, start=first))
        index.refresh()
        assert sorted(found(index, "parsing", 50)) == sorted(f"m{first + n}" for n in range(5))
        index.close()
        library.close()


def test_a_collection_that_somebody_emptied_is_filled_again(library, server_url):
    index = open_index(library, url=server_url)
    library.add(make_papers(5))
    index.refresh()
    index.close()
    remote = VectorIndex.connect(server_url, f"paper_qa-{library.uuid}")
    remote.clear()
    remote.close()

    assert found(index, text_of(2), 1) == ["m2"]
    index.close()


def test_another_model_on_a_server_needs_a_rebuild_too(library, server_url):
    index = open_index(library, url=server_url)
    library.add(make_papers(5))
    index.refresh()
    model = HashedEmbedding(model_name="other", dim=32)
    other = open_index(library, model, server_url)
    with pytest.raises(LibraryError, match="--rebuild"):
        other.refresh()

    other.refresh(rebuild=True)

    assert len(other.search(np.ones(32, dtype=np.float32), 9)) == 5
    index.close()
    other.close()


def test_moving_to_a_server_and_back_embeds_nothing_again(library, server_url):
    library.add(make_papers(5))
    for url in ("", server_url, ""):
        index = open_index(library, url=url)
        assert index.num_pending() == 5
        assert found(index, text_of(2), 1) == ["m2"]
        assert index.num_pending() == 0
        index.close()


def test_a_server_that_has_gone_is_an_error_with_what_to_do(library, tmp_path):
    library.add(make_papers(5))
    (tmp_path / "server").mkdir()
    with running_chroma(tmp_path / "server") as url:
        index = open_index(library, url=url)
        index.refresh()
        index.search(embed("parsing"), 3)

    with pytest.raises(LibraryError, match="start it, or correct or unset PAPER_QA_CHROMA_URL"):
        index.search(embed("parsing"), 3)
    index.close()

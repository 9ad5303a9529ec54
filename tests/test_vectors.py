import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from llama_index.core import VectorStoreIndex
from llama_index.vector_stores.chroma import ChromaVectorStore

from chroma_server import running_chroma
from fakes import HashedEmbedding
from paper_qa.chunking import chunk_paper, passage_text
from paper_qa.domain import Passage
from paper_qa.errors import LibraryError
from paper_qa.vectors import (
    ChromaServerError,
    DamagedIndexError,
    Entry,
    VectorIndex,
)
from papers import make_papers

MODEL = HashedEmbedding()


def embed(text: str) -> np.ndarray:
    return np.asarray(MODEL.get_text_embedding(text), dtype=np.float32)


def make_entries(count: int, *, start: int = 0) -> list[Entry]:
    entries = []
    for paper in make_papers(count, start=start):
        (passage,) = chunk_paper(paper, lambda text: len(text.split()))
        text = passage_text(paper, passage)
        entries.append(Entry(passage, text, embed(text)))
    return entries


def build(directory: Path, entries: list[Entry]) -> Path:
    index = VectorIndex.create(directory)
    for start in range(0, len(entries), 500):
        index.add(entries[start : start + 500])
    index.close()
    index = VectorIndex.open(directory)
    index.finds(entries[0].vector)
    index.close()
    return directory


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    return make_entries(300)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, entries: list[Entry]) -> Path:
    return build(tmp_path_factory.mktemp("built") / "index", entries)


@pytest.fixture
def index(built: Path) -> Iterator[VectorIndex]:
    opened = VectorIndex.open(built)
    yield opened
    opened.close()


def test_the_nearest_are_those_of_an_exact_search_with_their_cosines(index, entries):
    matrix = np.stack([entry.vector for entry in entries])
    query = embed("retrieval with marker12 and a graph kernel")
    cosines = matrix @ query
    exact = {entry.passage.id: cosine for entry, cosine in zip(entries, cosines, strict=True)}

    hits = index.search(query, 20)

    assert [score for _, score in hits] == pytest.approx(sorted(cosines)[:-21:-1], abs=2e-6)
    assert all(exact[passage_id] == pytest.approx(score, abs=2e-6) for passage_id, score in hits)
    assert hits == sorted(hits, key=lambda hit: (-hit[1], hit[0]))


def test_every_passage_finds_itself_and_its_id(index, entries):
    assert index.ids() == {entry.passage.id for entry in entries}
    assert index.count() == len(entries)
    for entry in entries[::50]:
        assert index.search(entry.vector, 1)[0] == (entry.passage.id, 1.0)


def test_asking_for_more_than_there_is_gives_all(index, entries):
    assert len(index.search(entries[0].vector, 5000)) == len(entries)


def test_equal_vectors_come_in_the_order_of_their_ids(tmp_path):
    vector = embed("the same words")
    names = [f"p{number:02}" for number in range(40)]
    for name, order in (("a", names), ("b", names[::-1])):
        entries = [Entry(Passage(n, "paper", 0, 1), "text", vector) for n in order]
        build(tmp_path / name, entries)
        index = VectorIndex.open(tmp_path / name)
        found = [passage_id for passage_id, _ in index.search(vector, 40)]
        index.close()
        assert found == names


def test_the_same_passages_are_found_however_often_and_in_whatever_steps_it_was_built(
    tmp_path, built, entries
):
    stepwise = tmp_path / "steps"
    build(stepwise, entries[:100])
    for start in (100, 101, 200):
        index = VectorIndex.open(stepwise)
        index.add(entries[start : {100: 101, 101: 200, 200: 300}[start]])
        index.delete([entries[5].passage.id])
        index.add([entries[5]])
        index.close()
    build(tmp_path / "again", entries)
    queries = [embed(f"marker{number} model for parsing") for number in range(20)]

    found = []
    for directory in (built, stepwise, tmp_path / "again"):
        index = VectorIndex.open(directory)
        found.append([index.search(query, 50) for query in queries])
        index.close()

    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("count", [1, 2, 120, 1001])
def test_reading_an_index_changes_none_of_the_graph_files(tmp_path, count):
    made = make_entries(count + 1)
    directory = build(tmp_path / "index", made)
    index = VectorIndex.open(directory)
    index.delete([made[0].passage.id])
    index.finds(made[1].vector)
    index.close()
    files = [path for path in directory.rglob("*") if path.is_file()]
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}

    index = VectorIndex.open(directory)
    index.search(embed("parsing"), 10)
    index.ids()
    index.close()

    changed = [
        path.name
        for path in directory.rglob("*")
        if path.is_file() and before.get(path) != (path.read_bytes(), path.stat().st_mtime_ns)
    ]
    assert changed == ["chroma.sqlite3"]


def test_deleted_passages_are_found_no_more_and_more_can_be_added(tmp_path, entries):
    directory = build(tmp_path / "index", entries[:20])
    index = VectorIndex.open(directory)
    index.delete([entry.passage.id for entry in entries[:5]])
    index.delete([])
    index.add([])
    index.add(entries[20:22])

    found = {passage_id for passage_id, _ in index.search(entries[0].vector, 50)}
    index.close()

    assert found == {entry.passage.id for entry in entries[5:22]}


def test_a_text_without_a_known_word_is_near_to_nothing_and_does_no_harm(tmp_path, entries):
    nothing = Entry(Passage("p", "paper", 0, 1), "!", np.zeros(64, dtype=np.float32))
    directory = build(tmp_path / "index", [nothing, *entries[:3]])
    index = VectorIndex.open(directory)

    hits = index.search(entries[0].vector, 4)

    assert index.finds(nothing.vector)
    assert hits[0][0] == entries[0].passage.id
    assert dict(hits)["p"] == 0.0
    index.close()


def test_llamaindex_own_index_reads_the_collection(built, entries):
    index = VectorIndex.open(built)
    store = ChromaVectorStore(chroma_collection=index._get())
    retriever = VectorStoreIndex.from_vector_store(store, embed_model=MODEL).as_retriever(
        similarity_top_k=1
    )

    (hit,) = retriever.retrieve(entries[7].text)
    index.close()

    assert hit.node.get_content() == entries[7].text
    assert hit.node.node_id == entries[7].passage.id
    assert hit.node.metadata == {
        "paper_id": "m7",
        "start": entries[7].passage.start,
        "end": entries[7].passage.end,
    }


def test_a_dotenv_file_of_the_current_folder_is_none_of_chromas_business(
    tmp_path, built, monkeypatch
):
    (tmp_path / ".env").write_text("ALLOW_RESET=true\nIS_PERSISTENT=nonsense\n")
    monkeypatch.chdir(tmp_path)

    index = VectorIndex.open(built)

    assert index._client.get_settings().allow_reset is False
    index.close()


def test_a_missing_index_is_damaged_and_not_made(tmp_path):
    with pytest.raises(DamagedIndexError, match="is missing"):
        VectorIndex.open(tmp_path / "nothing")

    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("content", [b"", b"not a database", None])
def test_a_damaged_database_is_said_to_be_damaged(tmp_path, built, content):
    shutil.copytree(built, tmp_path / "copy")
    path = tmp_path / "copy" / "chroma.sqlite3"
    path.write_bytes(path.read_bytes()[:5000] if content is None else content)

    with pytest.raises(DamagedIndexError, match=r"paper-qa index --rebuild`$") as caught:
        VectorIndex.open(tmp_path / "copy")

    assert "\n" not in str(caught.value)


def test_a_damaged_graph_is_said_to_be_damaged(tmp_path, built, entries):
    shutil.copytree(built, tmp_path / "copy")
    (path,) = (tmp_path / "copy").rglob("index_metadata.pickle")
    path.write_bytes(b"\0" * 100)
    index = VectorIndex.open(tmp_path / "copy")

    with pytest.raises(DamagedIndexError):
        index.search(entries[0].vector, 3)
    index.close()


# A Chroma server


@pytest.fixture(scope="module")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_chroma(tmp_path_factory.mktemp("server")) as url:
        yield url


def test_a_collection_on_a_server_does_the_same(server_url, entries, index):
    remote = VectorIndex.connect(server_url, "paper_qa-test")
    remote.add(entries)

    assert remote.ids() == index.ids()
    assert dict(remote.search(entries[3].vector, 10)) == pytest.approx(
        dict(index.search(entries[3].vector, 10)), abs=2e-6
    )
    remote.close()
    again = VectorIndex.connect(server_url, "paper_qa-test")
    assert again.count() == len(entries)
    again.clear()
    assert again.ids() == set()
    assert again.sample() is None
    again.add([Entry(Passage("p", "paper", 0, 1), "text", np.ones(3, dtype=np.float32))])
    assert again.count() == 1
    again.close()


def test_a_server_that_is_not_there_is_named_without_its_password():
    with pytest.raises(ChromaServerError) as caught:
        VectorIndex.connect("http://me:secret@127.0.0.1:9", "paper_qa-test")

    assert "'http://127.0.0.1:9'" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert str(caught.value).endswith("start it, or correct or unset PAPER_QA_CHROMA_URL")


def test_a_server_of_another_kind_or_one_that_never_answers_is_not_waited_for(monkeypatch):
    monkeypatch.setattr("paper_qa.vectors.CONNECT_S", 0.2)
    silent = socket.create_server(("127.0.0.1", 0))
    port = silent.getsockname()[1]

    with pytest.raises(LibraryError, match="can't be used"):
        VectorIndex.connect(f"http://127.0.0.1:{port}", "paper_qa-test")

    def answer() -> None:
        while True:
            try:
                connection, _ = silent.accept()
            except OSError:
                return
            connection.recv(1000)
            connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n<html>hello</html>")
            connection.close()

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    with pytest.raises(LibraryError, match="can't be used"):
        VectorIndex.connect(f"http://127.0.0.1:{port}", "paper_qa-test")
    silent.shutdown(socket.SHUT_RDWR)
    silent.close()
    thread.join(5)

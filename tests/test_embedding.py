import asyncio
import hashlib
import json
import os
import pickle
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core import Settings as LlamaIndexSettings
from llama_index.core.embeddings import MockEmbedding

import openai_replies as replies
from openai_replies import Failure, Hang
from openai_server import OpenAIServer
from paper_qa.corpus import read_seeds
from paper_qa.embedding import (
    DIM,
    MAX_TOKENS,
    EndpointEmbedding,
    OnnxEmbedding,
    available_cores,
    embed_query,
    hidden_states,
    load_embedding,
    num_tokens,
)
from paper_qa.errors import (
    ConfigurationError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelRateLimitError,
)
from paper_qa.models import model_name
from paper_qa.settings import load_settings

DATA = Path(__file__).parent / "data"
TEXTS = json.loads((DATA / "embedding_reference.json").read_text(encoding="utf-8"))
QUESTION = "How does Momentor get its training data?"
KEY = "sk-embedding-0123456789"


@pytest.fixture(scope="module")
def built_in() -> OnnxEmbedding:
    return OnnxEmbedding()


@pytest.fixture(scope="module")
def vectors(built_in: OnnxEmbedding) -> np.ndarray:
    return built_in.embed(TEXTS)


@pytest.fixture
def server():
    with OpenAIServer() as server:
        yield server


def endpoint_at(server: OpenAIServer, **fields) -> EndpointEmbedding:
    fields = {"base_url": server.base_url, "model": "scripted", "max_retries": 0, **fields}
    return EndpointEmbedding(**fields)


def reply_with(*items: object) -> Failure:
    return Failure(200, {"object": "list", "model": "scripted", "data": list(items)})


def item(vector: object, index: int | None = 0) -> dict[str, object]:
    return {"object": "embedding", "embedding": vector, "index": index}


# The built-in model


def test_vectors_agree_with_those_of_the_original_weights(vectors: np.ndarray):
    original = np.load(DATA / "embedding_reference.npz")["vectors"].astype(np.float32)
    original /= np.linalg.norm(original, axis=1, keepdims=True)

    cosines = (vectors * original).sum(axis=1)

    assert len(cosines) >= 60
    assert cosines.min() > 0.999, TEXTS[cosines.argmin()]
    assert cosines.mean() > 0.9995


def test_vectors_are_rows_of_length_one(vectors: np.ndarray):
    assert vectors.shape == (len(TEXTS), DIM)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_a_vector_is_the_same_to_the_bit_beside_any_neighbours(
    built_in: OnnxEmbedding, vectors: np.ndarray
):
    few = slice(40, 55)  # short ones, and one that is longer than the model reads
    backwards = built_in.embed(TEXTS[few][::-1])[::-1]
    alone = np.array([built_in.embed([text])[0] for text in TEXTS[few]])

    assert np.array_equal(backwards, vectors[few])
    assert np.array_equal(alone, vectors[few])


@pytest.mark.parametrize("num_threads", [1, 2, 5])
def test_a_vector_is_the_same_to_the_bit_on_any_number_of_threads(
    num_threads: int, vectors: np.ndarray
):
    found = OnnxEmbedding(num_threads=num_threads).embed(TEXTS[:54])

    assert np.array_equal(found, vectors[:54])


def test_every_door_gives_the_same_vector(built_in: OnnxEmbedding):
    expected = built_in.embed([QUESTION])[0].tolist()

    async def through_the_asynchronous_doors() -> list[list[float]]:
        return [
            await built_in.aget_query_embedding(QUESTION),
            await built_in.aget_text_embedding(QUESTION),
            (await built_in.aget_text_embedding_batch(["x", QUESTION]))[1],
        ]

    assert built_in.get_query_embedding(QUESTION) == expected
    assert built_in.get_text_embedding(QUESTION) == expected
    assert built_in.get_text_embedding_batch(["x", QUESTION])[1] == expected
    assert embed_query(built_in, QUESTION).tolist() == expected
    assert asyncio.run(through_the_asynchronous_doors()) == [expected] * 3


def test_no_texts_give_no_rows(built_in: OnnxEmbedding):
    assert built_in.embed([]).shape == (0, DIM)


def test_a_text_is_read_up_to_256_tokens(built_in: OnnxEmbedding):
    fitting = "word " * (MAX_TOKENS - 2)
    assert num_tokens(fitting) == MAX_TOKENS

    read, longer, much_longer, shorter = built_in.embed(
        [fitting, fitting + "more", fitting + "more " * 1000, fitting[:-5]]
    )

    assert np.array_equal(read, longer)
    assert np.array_equal(read, much_longer)
    assert not np.array_equal(read, shorter)


@pytest.mark.parametrize(
    ("text", "count"), [("", 2), (" \n", 2), ("a", 3), ("Momentor's", 6), ("a " * 5000, 5002)]
)
def test_tokens_are_counted_with_the_marks_and_without_a_limit(text: str, count: int):
    assert num_tokens(text) == count


def test_a_lone_surrogate_is_read_as_a_question_mark(built_in: OnnxEmbedding):
    damaged, replaced = built_in.embed(["one \ud800 two", "one ? two"])

    assert np.array_equal(damaged, replaced)
    assert num_tokens("one \ud800 two") == num_tokens("one ? two")


@settings(max_examples=25, deadline=None)
@given(st.text(st.characters(exclude_categories=()), max_size=80))
def test_any_text_has_a_finite_vector_of_length_one(text: str):
    (vector,) = OnnxEmbedding().embed([text])

    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_the_hidden_states_are_those_of_the_vector(built_in: OnnxEmbedding):
    text = "Video language models"

    hidden, offsets = hidden_states(text)

    mean = hidden.mean(axis=0)
    assert np.array_equal(mean / np.linalg.norm(mean), built_in.embed([text])[0])
    assert [text[start:end] for start, end in offsets] == ["", "Video", "language", "models", ""]


def test_the_hidden_states_of_a_long_text_end_with_its_last_mark():
    hidden, offsets = hidden_states("word " * 1000)

    assert hidden.shape == (MAX_TOKENS, DIM)
    assert len(offsets) == MAX_TOKENS
    assert offsets[-1] == (0, 0)


def test_several_threads_may_embed_at_once(built_in: OnnxEmbedding, vectors: np.ndarray):
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(built_in.embed, [TEXTS[:10]] * 4))

    assert all(np.array_equal(each, vectors[:10]) for each in found)


def test_the_files_of_the_model_are_those_of_the_manifest():
    folder = resources.files("paper_qa.models")
    manifest = json.loads((folder / "MANIFEST.json").read_text(encoding="utf-8"))

    assert manifest["files"].keys() == {"model.onnx", "tokenizer.json"}
    for name, recorded in manifest["files"].items():
        content = (folder / name).read_bytes()
        assert len(content) == recorded["bytes"]
        assert hashlib.sha256(content).hexdigest() == recorded["sha256"]


def test_the_model_is_named_after_its_files(built_in: OnnxEmbedding):
    folder = resources.files("paper_qa.models")
    content = b"".join((folder / name).read_bytes() for name in ("model.onnx", "tokenizer.json"))

    digest = hashlib.sha256(content).hexdigest()[:8]

    assert built_in.model_name == model_name() == f"all-MiniLM-L6-v2-int8-{digest}"


def test_the_cores_that_are_counted_are_those_of_this_process():
    assert 1 <= available_cores() <= (os.cpu_count() or 1)


def test_llama_index_serialises_the_embedding(built_in: OnnxEmbedding):
    again = OnnxEmbedding.from_dict(built_in.to_dict())

    assert again.model_name == built_in.model_name
    assert pickle.loads(pickle.dumps(built_in)).num_threads == built_in.num_threads  # noqa: S301


FRESH_PROCESS = """
import socket, sys

def refuse(*args, **kwargs):
    raise AssertionError("a socket was opened")

socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
from paper_qa.embedding import OnnxEmbedding, num_tokens
embedding = OnnxEmbedding()
loaded = {"onnxruntime", "tokenizers", "openai", "torch", "transformers", "nltk"} & set(sys.modules)
assert not loaded, loaded
print(len(embedding.get_query_embedding("offline")), num_tokens("offline"))
assert "openai" not in sys.modules
"""


def test_it_works_without_a_network_and_without_a_home(tmp_path: Path):
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "OPENAI_API_KEY": "sk-fake"}

    done = subprocess.run(
        [sys.executable, "-c", FRESH_PROCESS],
        check=False,
        env=environment,
        capture_output=True,
        text=True,
    )

    assert (done.stdout, done.returncode) == ("384 4\n", 0), done.stderr
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("damage", "message"), [(Path.unlink, "cannot be read"), (Path.touch, "is damaged")]
)
def test_a_missing_or_damaged_model_file_is_a_clear_error(tmp_path: Path, damage, message: str):
    with resources.as_file(resources.files("paper_qa.models")) as folder:
        for file in folder.iterdir():
            if file.suffix in {".py", ".json"}:
                (tmp_path / file.name).write_bytes(file.read_bytes())
    model = tmp_path / "model.onnx"
    model.touch()
    damage(model)
    script = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location("broken", {str(tmp_path / "__init__.py")!r},
    submodule_search_locations=[{str(tmp_path)!r}])
broken = sys.modules["broken"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(broken)
try:
    broken.load_session()
except broken.ModelError as error:
    print(error)
"""

    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )

    assert done.stdout == f"the model file 'model.onnx' {message}: install paper-qa-chat again\n"


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.shared
def test_retrieval_by_these_vectors_alone_is_as_good_as_by_the_original(
    built_in: OnnxEmbedding, shared: Path
):
    papers = read_seeds(Path(__file__).parents[1] / "seeds")
    lines = (shared / "qa" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [q for q in map(json.loads, lines) if q["gold"] and not q.get("history")]
    passages = built_in.embed([f"{paper.title}\n{paper.abstract}" for paper in papers])
    questions = built_in.embed([q["question"] for q in asked])

    gains = []
    for question, scores in zip(asked, questions @ passages.T, strict=True):
        best = [papers[i].id for i in np.argsort(-scores, kind="stable")[:10]]
        found = sum(1 / np.log2(r + 2) for r, name in enumerate(best) if name in question["gold"])
        ideal = sum(1 / np.log2(r + 2) for r in range(min(10, len(question["gold"]))))
        gains.append(found / ideal)

    assert len(gains) == 96
    assert np.mean(gains) > 0.81


# An endpoint


def test_an_endpoint_embeds_in_batches_and_in_order(server: OpenAIServer):
    texts = [f"text {number}" for number in range(10)]
    embedding = endpoint_at(server, embed_batch_size=4, api_key=KEY)

    found = embedding.embed(texts)

    assert [request.body["input"] for request in server.requests] == [
        texts[:4],
        texts[4:8],
        texts[8:],
    ]
    assert np.allclose(found, [server.embed(text) for text in texts], atol=1e-6)
    assert found.dtype == np.float32
    assert {r.headers["authorization"] for r in server.requests} == {f"Bearer {KEY}"}
    assert {r.body["model"] for r in server.requests} == {"scripted"}


def test_every_door_to_an_endpoint_gives_the_same_vector(server: OpenAIServer):
    embedding = endpoint_at(server)
    expected = embedding.embed([QUESTION])[0].tolist()

    async def through_the_asynchronous_doors() -> list[list[float]]:
        return [
            await embedding.aget_query_embedding(QUESTION),
            (await embedding.aget_text_embedding_batch(["x", QUESTION]))[1],
            embedding.get_query_embedding(QUESTION),  # blocking, in a running event loop
        ]

    assert embedding.get_text_embedding(QUESTION) == expected
    assert asyncio.run(through_the_asynchronous_doors()) == [expected] * 3


def test_vectors_of_an_endpoint_are_scaled_to_length_one(server: OpenAIServer):
    server.embed = lambda text: [3.0, 4.0]

    assert np.allclose(endpoint_at(server).embed(["x"]), [[0.6, 0.8]])


def test_no_texts_make_no_request(server: OpenAIServer):
    embedding = endpoint_at(server)

    assert embedding.embed([]).shape == (0, 0)
    assert asyncio.run(embedding.aembed([])).shape == (0, 0)
    assert server.requests == []


def test_a_blank_text_does_not_spoil_its_batch(server: OpenAIServer):
    server.embed = lambda text: [1.0, float(len(text))]

    endpoint_at(server).embed(["", "one \ud800", " \n"])

    assert server.requests[0].body["input"] == [".", "one ?", "."]


def test_vectors_that_come_out_of_order_are_put_in_order(server: OpenAIServer):
    server.script_embeddings(reply_with(item([0, 1], index=1), item([1, 0], index=0)))

    assert endpoint_at(server).embed(["a", "b"]).tolist() == [[1, 0], [0, 1]]


def test_vectors_without_numbers_are_taken_in_the_order_they_came(server: OpenAIServer):
    server.script_embeddings(reply_with(item([0, 1], index=None), item([1, 0], index=None)))

    assert endpoint_at(server).embed(["a", "b"]).tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (reply_with(item([1.0, 0.0])), "sent 1 vectors for 2 texts"),
        (reply_with(*[item([1.0], n) for n in range(3)]), "sent 3 vectors for 2 texts"),
        (reply_with(item([1.0], 0), item([1.0], 0)), "are not those of the texts"),
        (reply_with(item([1.0], 0), item([1.0], [1])), "sent no vectors"),
        (reply_with(item([float("nan")], 0), item([1.0], 1)), "zero or not finite"),
        (reply_with(item([float("inf")], 0), item([1.0], 1)), "zero or not finite"),
        (reply_with(item([None], 0), item([1.0], 1)), "zero or not finite"),
        (reply_with(item([0.0, 0.0], 0), item([1.0, 0.0], 1)), "zero or not finite"),
        (reply_with(item([], 0), item([], 1)), "zero or not finite"),
        (reply_with(item([1.0, 2.0], 0), item([1.0], 1)), "not lists of numbers"),
        (reply_with(item([[1.0]], 0), item([[1.0]], 1)), "not lists of numbers"),
        (reply_with(item(["a"], 0), item(["b"], 1)), "not lists of numbers"),
        (reply_with(item([10**400], 0), item([1], 1)), "not lists of numbers"),
        (reply_with("a", "b"), "sent no vectors"),
        (Failure(200, {"object": "list"}), "sent no vectors"),
        (Failure(200, {"data": "ab"}), "sent no vectors"),
        (Failure(200, {"data": 2}), "sent no vectors"),
        (Failure(200, "[1]"), "sent no vectors"),
    ],
)
def test_what_is_not_a_vector_for_each_text_is_refused(
    server: OpenAIServer, reply: Failure, message: str
):
    server.script_embeddings(reply)

    with pytest.raises(ModelError, match=message) as caught:
        endpoint_at(server).embed(["a", "b"])

    assert server.base_url in str(caught.value)
    assert "\n" not in str(caught.value)


def test_vectors_of_another_length_than_before_are_refused(server: OpenAIServer):
    embedding = endpoint_at(server)
    embedding.embed(["a"])
    server.embed = lambda text: [1.0, 0.0]

    with pytest.raises(ModelError, match="sent 2 numbers per text, before 64"):
        embedding.embed(["a"])


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (replies.wrong_key(), ModelAuthenticationError),
        (replies.no_such_model(), ModelNotFoundError),
        (replies.rate_limited(), ModelRateLimitError),
        (replies.loading(), ModelConnectionError),
        (replies.server_error(), ModelError),
        (replies.redirect("http://127.0.0.1:9/v1"), ModelConnectionError),
        (replies.web_page(), ModelError),
        (Failure(200, "{"), ModelError),
    ],
)
def test_a_failing_endpoint_is_a_model_error(
    server: OpenAIServer, reply: Failure, kind: type[ModelError]
):
    server.script_embeddings(reply)

    with pytest.raises(kind) as caught:
        endpoint_at(server, api_key=KEY).embed(["a"])

    assert KEY not in str(caught.value)
    assert "PAPER_QA_LLM" not in str(caught.value)


def test_a_dead_port_is_a_connection_error():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"

        with pytest.raises(ModelConnectionError, match="PAPER_QA_EMBEDDING_BASE_URL"):
            EndpointEmbedding(base_url=url, model="m", max_retries=0).embed(["a"])


def test_a_silent_endpoint_is_given_up(server: OpenAIServer):
    server.script_embeddings(Hang())

    with pytest.raises(ModelConnectionError, match="PAPER_QA_EMBEDDING_TIMEOUT"):
        endpoint_at(server, timeout=0.2).embed(["a"])


def test_a_passing_failure_is_tried_again(server: OpenAIServer):
    server.script_embeddings(replies.rate_limited(retry_after="0"))

    found = endpoint_at(server, max_retries=1).embed(["a"])

    assert len(found) == 1
    assert len(server.requests) == 2


def test_cancelling_ends_the_request(server: OpenAIServer):
    server.script_embeddings(Hang())
    embedding = endpoint_at(server)

    async def give_up() -> None:
        task = asyncio.create_task(embedding.aget_query_embedding("a"))
        await asyncio.to_thread(server.wait_for_request)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(give_up())

    server.wait_for_disconnect(timeout_s=2)


def test_a_key_for_openai_is_not_sent_to_the_endpoint(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-fake")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-fake")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_ORG_ID", "sk-fake")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "sk-fake")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Secret: sk-fake\nAuthorization: sk-fake")

    endpoint_at(server).embed(["a"])

    assert server.requests[0].headers["authorization"] == "Bearer none"
    assert "sk-fake" not in str(server.requests)


def test_a_proxy_is_not_asked_the_way_to_this_machine(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")

    assert len(endpoint_at(server).embed(["a"])) == 1


def test_the_key_is_never_shown(server: OpenAIServer):
    embedding = endpoint_at(server, api_key=KEY)
    embedding.embed(["a"])

    shown = [repr(embedding), str(embedding.to_dict()), embedding.to_json(), str(vars(embedding))]

    assert not any(KEY in text for text in shown)
    assert KEY not in str(embedding.to_payload())


def test_an_endpoint_is_named_by_its_model_and_its_address():
    embedding = EndpointEmbedding(base_url="http://127.0.0.1:8080/v1/", model="bge-m3")

    assert embedding.model_name == "bge-m3@http://127.0.0.1:8080/v1"


# Choosing one


def test_the_built_in_model_is_the_default(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-fake")

    assert isinstance(load_embedding(load_settings()), OnnxEmbedding)


def test_a_configured_endpoint_is_used(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch):
    server.key = KEY
    monkeypatch.setenv("PAPER_QA_EMBEDDING_BASE_URL", server.base_url)
    monkeypatch.setenv("PAPER_QA_EMBEDDING_MODEL", "scripted")
    monkeypatch.setenv("PAPER_QA_EMBEDDING_API_KEY", KEY)
    monkeypatch.setenv("PAPER_QA_EMBEDDING_TIMEOUT", "7")

    embedding = load_embedding(load_settings())

    assert isinstance(embedding, EndpointEmbedding)
    assert embedding.model_name == f"scripted@{server.base_url}"
    assert embedding.timeout == 7
    assert len(embedding.embed(["a"])) == 1


def test_an_endpoint_without_a_model_is_refused():
    settings = load_settings(embedding_base_url="http://127.0.0.1:8080/v1")

    with pytest.raises(ConfigurationError, match="set PAPER_QA_EMBEDDING_MODEL"):
        load_embedding(settings)


def test_an_address_with_a_password_is_refused_without_showing_it():
    settings = load_settings(
        embedding_base_url="http://me:secret@127.0.0.1:8080/v1", embedding_model="m"
    )

    with pytest.raises(ConfigurationError, match="PAPER_QA_EMBEDDING_BASE_URL") as caught:
        load_embedding(settings)

    assert "secret" not in str(caught.value)


# Other people's embeddings


def test_a_question_is_embedded_by_any_llama_index_embedding():
    assert np.allclose(embed_query(MockEmbedding(embed_dim=4), "a"), [0.5] * 4)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_question_whose_vector_is_not_finite_is_a_model_error(number: float):
    class Broken(MockEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            return [number]

    with pytest.raises(ModelError, match="not finite"):
        embed_query(Broken(embed_dim=1), "a")


def test_llama_index_is_not_given_a_global_embedding(built_in: OnnxEmbedding):
    built_in.get_query_embedding("a")

    assert LlamaIndexSettings._embed_model is None

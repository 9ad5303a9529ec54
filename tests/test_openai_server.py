import http.client
import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest

import openai_replies as replies
from openai_server import OpenAIServer, bag_of_words


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


def ask(server: OpenAIServer, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(server.host_url.removeprefix("http://"), timeout=5)
    try:
        connection.request(method, path, json.dumps(body) if body else None)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def test_a_completion_can_be_had_in_one_piece(server: OpenAIServer) -> None:
    server.script("Hello you.")

    status, body = ask(
        server, "POST", "/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}]}
    )

    completion = json.loads(body)
    assert status == 200
    assert completion["choices"][0]["message"]["content"] == "Hello you."
    assert completion["usage"]["completion_tokens"] == 2


def test_models_are_listed_and_unknown_paths_are_404(server: OpenAIServer) -> None:
    server.models = ["a", "b"]

    assert [m["id"] for m in json.loads(ask(server, "GET", "/v1/models")[1])["data"]] == ["a", "b"]
    assert ask(server, "GET", "/v2/models")[0] == 404
    assert [request.path for request in server.requests] == ["/v1/models", "/v2/models"]


@pytest.mark.parametrize("encoding", [openai.omit, "float"], ids=["base64", "float"])
def test_embeddings_are_the_same_in_both_encodings(server: OpenAIServer, encoding: Any) -> None:
    http_client = openai.DefaultHttpxClient(trust_env=False)
    with openai.OpenAI(base_url=server.base_url, api_key="k", http_client=http_client) as client:
        reply = client.embeddings.create(
            model="e", input=["two words", "two"], encoding_format=encoding
        )

    vectors = [item.embedding for item in reply.data]
    assert vectors[0] == pytest.approx(bag_of_words("two words"))
    assert vectors[1] == pytest.approx(bag_of_words("two"))


def test_embeddings_fail_by_a_script_of_their_own(server: OpenAIServer) -> None:
    server.script_embeddings(replies.rate_limited())

    assert ask(server, "POST", "/v1/embeddings", {"model": "e", "input": "x"})[0] == 429
    assert ask(server, "POST", "/v1/embeddings", {"model": "e", "input": "x"})[0] == 200


def test_texts_that_share_words_are_near_each_other() -> None:
    def cosine(left: str, right: str) -> float:
        return sum(a * b for a, b in zip(bag_of_words(left), bag_of_words(right), strict=True))

    assert cosine("video language model", "a model of video") > 0.4
    assert cosine("video language model", "graph matching") < 0.3
    assert sum(bag_of_words("")) == 0


def test_a_wanted_key_is_insisted_on(server: OpenAIServer) -> None:
    server.key = "right"

    assert ask(server, "GET", "/v1/models")[0] == 401


def test_a_server_that_is_closed_lets_go_of_those_who_hang(server: OpenAIServer) -> None:
    with OpenAIServer(default=replies.Hang()) as hanging:
        connection = http.client.HTTPConnection(hanging.host_url.removeprefix("http://"), timeout=5)
        connection.request("POST", "/v1/chat/completions", json.dumps({"messages": []}))
        hanging.wait_for_request()

    with pytest.raises(http.client.RemoteDisconnected):
        connection.getresponse()
    connection.close()

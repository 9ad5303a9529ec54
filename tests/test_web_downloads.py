import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from fastapi.testclient import TestClient

from paper_qa.domain import Answer
from paper_qa.user_data import FILE_NAME, Feedback, UserData
from paper_qa.web import build_app
from paper_qa.web.security import OWNER
from paper_qa.web.turn import exchange_of
from scripted_qa import ScriptedQA
from test_web_turn import AT, turn_after
from web_papers import GRAPHS, PAPERS, VIDEO

ME, OTHER = "m" * 32, "o" * 32
NOTHING = "There is nothing of yours here"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UserData]:
    folder: Path = tmp_path_factory.mktemp("mine")
    with closing(UserData(folder / FILE_NAME)) as data:
        data.save_exchange(ME, "talk", 0, exchange_of(turn_after()))
        data.rename(ME, "talk", "Grüße; filename=evil.exe\r\n../x")
        data.star(ME, GRAPHS)
        data.annotate(ME, GRAPHS.id, "read this")
        data.give_feedback(ME, "e", Feedback("down", "How?", Answer("How?", "So."), AT, "no"))
        yield data


@pytest.fixture(scope="module")
def client(data: UserData) -> Iterator[TestClient]:
    app = build_app(ScriptedQA(PAPERS), data=data)
    with TestClient(app, base_url="http://127.0.0.1") as client:
        yield client


def got(client: TestClient, path: str, owner: str = ME) -> httpx.Response:
    headers = {"cookie": f"{OWNER}={owner}"} if owner else {}
    return client.get(f"/export/{path}", headers=headers)


@pytest.mark.parametrize(
    ("path", "kind", "name", "words"),
    [
        ("conversation/talk.md", "text/markdown", "{title}.md", "## How?"),
        ("conversation/talk.json", "application/json", "{title}.json", '"question": "How?"'),
        ("conversation/talk.bib", "application/x-bibtex", "{title}.bib", "Momentor"),
        ("reading-list.md", "text/markdown", "reading-list.md", "Note: read this"),
        ("reading-list.bib", "application/x-bibtex", "reading-list.bib", "annote"),
        ("feedback.jsonl", "application/jsonl", "feedback.jsonl", '"comment": "no"'),
        ("paper.bib?id=qian24a", "application/x-bibtex", "qian24a.bib", "Moment"),
    ],
)
def test_what_is_mine_comes_as_a_file(
    client: TestClient, path: str, kind: str, name: str, words: str
) -> None:
    response = got(client, path)

    assert response.status_code == 200
    assert response.headers["content-type"] == f"{kind}; charset=utf-8"
    name = name.format(title="Grusse-filename-evil-exe-x")
    assert response.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert words in response.text


def test_a_conversation_as_json_is_whole(client: TestClient) -> None:
    found = json.loads(got(client, "conversation/talk.json").text)

    assert found["exchanges"][0]["answer"]["references"][0]["paper_id"] == VIDEO.id
    assert len(found["exchanges"][0]["papers"]) == 3


@pytest.mark.parametrize("owner", [ME, OTHER, "", "x"])
@pytest.mark.parametrize(
    "path",
    [
        "conversation/talk.{suffix}",
        "conversation/unknown.{suffix}",
        "conversation/talk.exe",
        "conversation/..%2Ftalk.md",
        "conversation/talk.",
        "reading-list.exe",
        "reading-list.json",
    ],
)
def test_what_is_another_persons_or_nothing_or_unknown_is_the_same_nothing(
    client: TestClient, path: str, owner: str
) -> None:
    is_mine = owner == ME and path == "conversation/talk.{suffix}"
    for suffix in () if is_mine else ("md", "json", "bib"):
        response = got(client, path.format(suffix=suffix), owner)

        assert (response.status_code, response.text) == (404, NOTHING)


@pytest.mark.parametrize("path", ["reading-list.md", "reading-list.bib", "feedback.jsonl"])
def test_without_a_cookie_nothing_is_mine(client: TestClient, path: str) -> None:
    assert (got(client, path, "").status_code, got(client, path, "").text) == (404, NOTHING)
    assert "read this" not in got(client, path, OTHER).text
    assert '"no"' not in got(client, path, OTHER).text


def test_of_a_paper_that_is_not_there_is_no_bibtex(client: TestClient) -> None:
    assert got(client, "paper.bib?id=unknown").text == NOTHING
    assert got(client, "paper.bib?id=unknown").status_code == 404
    assert got(client, "paper.bib").status_code == 422

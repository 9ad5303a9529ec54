import asyncio
import base64
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import httpx
import pytest

from paper_qa.errors import ConfigurationError
from paper_qa.user_data import FILE_NAME, UserData
from paper_qa.web import build_app, serve
from paper_qa.web.security import CLOSED, OWNER, owner_in
from paper_qa.web.server import _refused, _url
from scripted_qa import ScriptedQA
from web_browser import served
from web_papers import PAPERS


@pytest.fixture
def data(tmp_path: Path) -> Iterator[UserData]:
    with closing(UserData(tmp_path / FILE_NAME)) as data:
        yield data


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(ScriptedQA(PAPERS)) as url:
        yield url


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, trust_env=False) as client:
        yield client


def policy_of(response: httpx.Response) -> dict[str, str]:
    directives = response.headers["content-security-policy"].split("; ")
    return dict(directive.split(" ", 1) for directive in directives)


def test_the_page_runs_no_script_but_its_own(client: httpx.Client) -> None:
    response = client.get("/")

    policy = policy_of(response)
    nonce = re.search(r"'nonce-([\w-]+)'", policy["script-src"])
    assert nonce
    scripts = re.findall(r"<script[^>]*>", response.text)
    assert scripts
    assert all(f'nonce="{nonce[1]}"' in script for script in scripts)
    assert policy["default-src"] == policy["object-src"] == policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in policy["script-src"]
    assert policy["connect-src"] == policy["form-action"] == "'self'"


def test_a_nonce_is_used_once(client: httpx.Client) -> None:
    policies = {client.get("/").headers["content-security-policy"] for _ in range(2)}

    assert len(policies) == 2


def test_the_page_names_no_other_host(client: httpx.Client) -> None:
    hosts = set(re.findall(r"(?:src|href)=\"https?://([^/\"]+)", client.get("/").text))

    assert hosts <= {httpx.URL(client.base_url).netloc.decode()}


@pytest.mark.parametrize("path", ["/", "/config", "/ui/ui.js", "/theme.css", "/nothing"])
def test_every_response_is_taken_for_what_it_says(client: httpx.Client, path: str) -> None:
    headers = client.get(path).headers

    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "access-control-allow-origin" not in headers


def test_a_page_is_not_kept_by_the_browser(client: httpx.Client) -> None:
    assert client.get("/").headers["cache-control"] == "no-store"


def test_our_own_files_are_served(client: httpx.Client) -> None:
    assert "javascript" in client.get("/ui/ui.js").headers["content-type"]
    assert "text/css" in client.get("/ui/ui.css").headers["content-type"]
    assert client.get("/ui/../app.py").status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/docs",
        "/redoc",
        "/openapi.json",
        "/monitoring",
        "/monitoring/summary",
        "/gradio_api/runs",
        "/gradio_api/mcp/",
        "/gradio_api/file=/etc/passwd",
        "/gradio_api/deep_link?session_hash=x",
        "/gradio_api/vibe-code/",
    ],
)
def test_doors_that_are_not_needed_are_closed(client: httpx.Client, path: str) -> None:
    assert client.get(path).status_code == 404


def test_nothing_can_be_uploaded(client: httpx.Client) -> None:
    response = client.post("/gradio_api/upload", files={"files": ("a.txt", b"x")})

    assert response.status_code == 404


def test_all_doors_in_the_list_are_closed(client: httpx.Client) -> None:
    assert {client.get(path).status_code for path in CLOSED} == {404}


def test_no_endpoint_is_offered_to_other_programs(client: httpx.Client) -> None:
    info = client.get("/gradio_api/info").json()

    assert info == {"named_endpoints": {}, "unnamed_endpoints": {}}


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", ""])
def test_a_foreign_name_for_this_server_is_refused(client: httpx.Client, host: str) -> None:
    assert client.get("/", headers={"host": host}).status_code == 400


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:7860", "[::1]:7860"])
def test_the_names_of_this_machine_are_known(client: httpx.Client, host: str) -> None:
    assert client.get("/config", headers={"host": host}).status_code == 200


def test_errors_of_the_program_stay_in_the_program(client: httpx.Client) -> None:
    config = client.get("/config").json()

    assert config["show_error"] is False
    assert not config.get("run_history")
    assert config["footer_links"] == []
    assert config["analytics_enabled"] is False


def test_a_question_from_another_site_is_refused(client: httpx.Client) -> None:
    join = "/gradio_api/queue/join"
    body = '{"data": ["q", [], null], "fn_index": 1, "session_hash": "x"}'
    headers = {"origin": "https://evil.example", "content-type": "text/plain"}

    assert client.post(join, content=body, headers=headers).status_code == 422


def test_the_page_gives_a_browser_its_name_once(client: httpx.Client) -> None:
    cookie = client.get("/", headers={"cookie": "other=1"}).headers["set-cookie"]

    rules = [rule.strip() for rule in cookie.split(";")]
    assert re.fullmatch(rf"{OWNER}=[\w-]{{32}}", rules[0])
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(rules)
    known = client.get("/", headers={"cookie": f"other=1; {rules[0]}; more=2"})
    assert "set-cookie" not in known.headers


def test_every_browser_has_a_name_of_its_own(client: httpx.Client) -> None:
    names = {client.get("/", headers={"cookie": ""}).headers["set-cookie"] for _ in range(3)}

    assert len(names) == 3


@pytest.mark.parametrize(
    "value", ["", "short", "x" * 31, "x" * 33, "x" * 31 + "/", '"' + "x" * 32 + '"', "ä" * 32]
)
def test_a_name_that_is_none_is_replaced(client: httpx.Client, value: str) -> None:
    headers = {"cookie": f"{OWNER}={value}".encode()}

    assert f"{OWNER}=" in client.get("/", headers=headers).headers["set-cookie"]


def test_a_name_is_the_whole_of_its_cookie() -> None:
    assert owner_in(f"{OWNER}={'x' * 32}") == "x" * 32
    assert owner_in(f"not_{OWNER}={'x' * 32}") == ""
    assert owner_in(f"a=1;{OWNER}={'x' * 32};b=2") == "x" * 32


@pytest.mark.parametrize("path", ["/config", "/ui/ui.js", "/export/feedback.jsonl", "/nothing"])
def test_only_the_page_gives_a_name(client: httpx.Client, path: str) -> None:
    assert "set-cookie" not in client.get(path, headers={"cookie": ""}).headers


def credentials(login: str) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(login.encode()).decode()}


def test_with_a_login_nothing_is_open_without_it(data: UserData) -> None:
    app = build_app(ScriptedQA(PAPERS), data=data, host="192.0.2.1", login="me:pä:ss")
    transport = httpx.ASGITransport(app)

    async def statuses() -> list[int]:
        async with httpx.AsyncClient(transport=transport, base_url="http://chat.example") as client:
            responses = [
                await client.get("/"),
                await client.get("/ui/ui.js"),
                await client.get("/export/feedback.jsonl"),
                await client.get("/config", headers={"authorization": "Bearer x"}),
                await client.get("/config", headers={"authorization": "Basic ???"}),
                await client.get("/config", headers=credentials("me:wrong")),
                await client.get("/config", headers=credentials("me:pä:ss")),
            ]
            assert responses[0].headers["www-authenticate"].startswith("Basic")
            assert "set-cookie" not in responses[0].headers
            return [response.status_code for response in responses]

    assert asyncio.run(statuses()) == [401] * 6 + [200]


def test_a_busy_port_is_one_line_that_says_what_to_do(data: UserData) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(ConfigurationError) as caught:
            serve(ScriptedQA(PAPERS), data=data, port=port)

    assert f"port {port} is already in use" in str(caught.value)
    assert "--port" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "203.0.113.7"])
def test_an_address_of_another_machine_is_an_error(data: UserData, host: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(f"host {host!r}")):
        serve(ScriptedQA(PAPERS), data=data, host=host, port=0)


def test_a_port_that_needs_rights_says_so() -> None:
    assert "more rights" in _refused("127.0.0.1", 80, PermissionError(13, "denied"))


def test_the_chat_is_served_until_it_is_interrupted(
    data: UserData, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[tuple[str, int]] = []

    def look(url: str) -> None:
        open_page = httpx.stream("GET", f"{url}/gradio_api/heartbeat/x", trust_env=False)
        with suppress(httpx.RemoteProtocolError), open_page as heartbeat:
            seen.append((url, heartbeat.status_code))
            os.kill(os.getpid(), signal.SIGINT)
            for _ in heartbeat.iter_raw():  # as long as the server lets it
                pass

    def ready(url: str) -> None:
        threading.Thread(target=look, args=(url,), name="page").start()

    with pytest.raises(KeyboardInterrupt):
        serve(ScriptedQA(PAPERS), data=data, port=0, on_ready=ready)

    url, status = seen[0]
    assert status == 200
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
    assert "page" not in [thread.name for thread in threading.enumerate()]
    assert [record for record in caplog.records if record.name.startswith("uvicorn")] == []


@pytest.mark.parametrize(
    ("host", "url"),
    [("::", "http://127.0.0.1:80"), ("::1", "http://[::1]:80"), ("box", "http://box:80")],
)
def test_the_address_that_is_told_can_be_opened(host: str, url: str) -> None:
    assert _url(host, 80) == url


def test_importing_the_web_does_not_load_gradio_and_keeps_its_telemetry_off() -> None:
    code = (
        "import paper_qa.web, sys, os; assert 'gradio' not in sys.modules;"
        "print(os.environ['GRADIO_ANALYTICS_ENABLED'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"

import re
from pathlib import Path

import pytest

from paper_qa.errors import ConfigurationError
from paper_qa.settings import PREFIX, Settings, load_settings, openai_api_key

PROJECT = Path(__file__).parents[1]
SECRET = "sk-very-secret"
NAMES = {PREFIX + name.upper() for name in Settings.model_fields}
SECRETS = ["PAPER_QA_LLM_API_KEY", "PAPER_QA_EMBEDDING_API_KEY", "PAPER_QA_LOGIN"]


def refusal(**overrides: object) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load_settings(**overrides)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_nothing_needs_to_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PAPER_QA_HOME")

    settings = load_settings()

    assert settings.llm == "auto"
    assert settings.host == "127.0.0.1"
    assert settings.home.name == "paper-qa"


def test_the_environment_wins_over_the_file_and_an_argument_over_both(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path(".env").write_text("PAPER_QA_PORT=1000\nPAPER_QA_LLM_MODEL=from-file\n", "utf-8")
    monkeypatch.setenv("PAPER_QA_PORT", "2000")

    assert load_settings().port == 2000
    assert load_settings().llm_model == "from-file"
    assert load_settings(port=3000).port == 3000


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_never_printed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, f"me:{SECRET}")

    settings = load_settings()

    assert SECRET not in f"{settings} {settings!r} {settings.model_dump()}"
    assert SECRET not in settings.model_dump_json()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PAPER_QA_PORT", "high"),
        ("PAPER_QA_LLM", "gpt"),
        ("PAPER_QA_LLM_BASE_URL", "not a url"),
        ("PAPER_QA_LLM_TIMEOUT", "0"),
        ("PAPER_QA_ABSTAIN_THRESHOLD", "1.5"),
        ("PAPER_QA_LOGIN", SECRET),
        ("PAPER_QA_HOST", "0.0.0.0"),  # noqa: S104 - refused is what we test
    ],
)
def test_an_impossible_value_is_named_without_its_neighbours(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(".env").write_text(f"OPENAI_API_KEY={SECRET}\n", "utf-8")
    monkeypatch.setenv("PAPER_QA_LLM_API_KEY", SECRET)
    monkeypatch.setenv(name, value)

    message = refusal()

    assert name in message
    assert SECRET not in message


@pytest.mark.parametrize("value", ["PAPER_QA_TOPK=3", "paper_qa_topk=3"])
def test_a_misspelt_name_is_an_error_in_the_file(value: str) -> None:
    Path(".env").write_text(f"{value}\n", "utf-8")

    message = refusal()

    assert "topk" in message.lower()
    assert "docs/configuration.md" in message


def test_a_misspelt_name_is_an_error_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAPER_QA_LLM_MODLE", "gpt")

    message = refusal()

    assert "'PAPER_QA_LLM_MODLE'" in message
    assert "PAPER_QA_LLM_MODEL" in message


def test_a_file_that_is_no_text_is_an_error() -> None:
    Path(".env").write_bytes("PAPER_QA_LLM_MODEL=größer\n".encode("latin-1"))

    assert "'.env'" in refusal()


def test_an_empty_value_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.setenv(name, "")

    assert load_settings() == Settings.model_construct()


def test_the_example_file_can_be_copied_as_it_stands() -> None:
    example = (PROJECT / ".env.example").read_text("utf-8")
    defaults = load_settings()

    Path(".env").write_text(example, "utf-8")

    assert load_settings() == defaults


def test_names_of_other_programs_are_none_of_our_business() -> None:
    Path(".env").write_text("DATABASE_URL=x\nexport PAPERS=1\nLLM=gpt\nPORT=1\n", "utf-8")

    assert load_settings().port == 7860


def test_settings_cannot_be_changed() -> None:
    settings = load_settings()

    with pytest.raises(ValueError, match="frozen"):
        settings.port = 1  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.7", "::"])  # noqa: S104
def test_other_machines_need_a_login(host: str) -> None:
    assert "PAPER_QA_LOGIN" in refusal(host=host)

    assert load_settings(host=host, login="ada:engine").host == host


@pytest.mark.parametrize("login", ["ada", "ada:", ":engine", ":"])
def test_a_login_has_a_name_and_a_password(login: str) -> None:
    assert "name:password" in refusal(login=login)


def test_the_openai_key_is_read_only_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert openai_api_key() == ""
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)

    settings = load_settings()

    assert settings.llm_api_key.get_secret_value() == ""
    assert openai_api_key() == SECRET


@pytest.mark.parametrize("page", [".env.example", "docs/configuration.md"])
def test_every_setting_is_documented_and_no_other(page: str) -> None:
    text = (PROJECT / page).read_text("utf-8")
    line = r"^(PAPER_QA_\w+)=$" if page.startswith(".") else r"^\| `(PAPER_QA_\w+)` \|"

    documented = re.findall(line, text, re.MULTILINE)

    assert sorted(documented) == sorted(NAMES)

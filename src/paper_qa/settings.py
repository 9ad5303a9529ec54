"""The settings, read once from the environment and ``.env`` and handed down from there."""

import os
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, Self

from dotenv import dotenv_values
from platformdirs import user_data_path
from pydantic import Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from paper_qa.errors import ConfigurationError

PREFIX = "PAPER_QA_"
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class Settings(BaseSettings):
    """What can be configured; ``.env.example`` says what each one is for."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_file=".env",
        env_ignore_empty=True,
        extra="ignore",  # other programs keep their settings in the same .env
        frozen=True,
        hide_input_in_errors=True,  # pydantic would print the neighbouring keys in clear
    )

    home: Path = Field(default_factory=lambda: user_data_path("paper-qa", appauthor=False))
    llm: Literal["auto", "extractive", "embedded", "openai"] = "auto"
    llm_base_url: str = Field(default="", pattern=r"^(https?://\S+)?$")
    llm_api_key: SecretStr = SecretStr("")
    llm_model: str = ""
    llm_timeout: float = Field(default=120.0, gt=0, le=3600)
    llm_context: int = Field(default=8192, gt=0)
    llm_gguf: Path | None = None
    llm_idle_minutes: float = Field(default=0.0, ge=0, le=10_000)
    model_pull: Literal["auto", "never"] = "auto"
    embedding_base_url: str = Field(default="", pattern=r"^(https?://\S+)?$")
    embedding_api_key: SecretStr = SecretStr("")
    embedding_model: str = ""
    embedding_timeout: float = Field(default=60.0, gt=0, le=3600)
    chroma_url: str = Field(default="", pattern=r"^(https?://\S+)?$")
    grounding: Literal["withhold", "flag"] = "withhold"
    abstain_threshold: float = Field(default=0.5, ge=0, le=1)
    host: str = "127.0.0.1"
    port: int = Field(default=7860, ge=0, le=65535)
    login: SecretStr = SecretStr("")

    @model_validator(mode="after")
    def _check_login(self) -> Self:
        login = self.login.get_secret_value()
        if login and not all(login.partition(":")[::2]):
            raise ValueError("PAPER_QA_LOGIN must be 'name:password'")
        if self.host not in LOOPBACK and not login:
            raise ValueError(
                f"PAPER_QA_HOST={self.host!r} opens the chat to other machines: "
                "set PAPER_QA_LOGIN=name:password too"
            )
        return self


def load_settings(**overrides: object) -> Settings:
    """Read the settings; values given here win over the environment and ``.env``.

    Raises:
        ConfigurationError: a name with our prefix is misspelt, or a value is impossible.
    """
    _refuse_unknown_names()
    try:
        return Settings(**overrides)  # pyright: ignore[reportArgumentType]
    except ValidationError as error:
        raise ConfigurationError(_explain(error)) from error


def openai_api_key() -> str:
    """Return ``OPENAI_API_KEY``; asked for only when OpenAI itself was chosen by name."""
    return os.environ.get("OPENAI_API_KEY", "")  # noqa: TID251 - the one other variable we read


def _refuse_unknown_names() -> None:
    known = [name.upper() for name in Settings.model_fields]
    names = [*os.environ, *_names_in_file()]  # noqa: TID251 - to find misspelt names
    for name in sorted(name for name in names if name.upper().startswith(PREFIX)):
        ours = name.upper().removeprefix(PREFIX)
        if ours not in known:
            close = get_close_matches(ours, known, n=1)
            hint = f"did you mean {PREFIX}{close[0]}?" if close else "see docs/configuration.md"
            raise ConfigurationError(f"unknown setting {name!r}: {hint}")


def _names_in_file() -> list[str]:
    try:
        return list(dotenv_values(".env"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot read '.env': {error}; save it as UTF-8 text") from error


def _explain(error: ValidationError) -> str:
    """Put the first of pydantic's complaints into one line without the value."""
    first = error.errors(include_input=False, include_url=False)[0]
    message = first["msg"].removeprefix("Value error, ")
    if not first["loc"]:
        return message
    return f"{PREFIX}{str(first['loc'][0]).upper()}: {message}; see .env.example"

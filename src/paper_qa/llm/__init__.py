"""Chat models: which one the settings ask for, and how it is reached."""

from typing import TYPE_CHECKING

from paper_qa.errors import ConfigurationError
from paper_qa.settings import Settings, openai_api_key

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

OPENAI_URL = "https://api.openai.com/v1"


def load_llm(settings: Settings) -> "LLM | None":
    """Return the chat model of the settings, or None for extraction.

    ``OPENAI_API_KEY`` is read only when OpenAI itself was asked for by name, with no other address:
    a key that happens to be exported must not start spending, nor reach another server.

    Raises:
        ConfigurationError: the settings name a model that can't be had.
    """
    if settings.llm == "extractive" or (settings.llm == "auto" and not settings.llm_base_url):
        return None
    key = settings.llm_api_key.get_secret_value()
    if not settings.llm_base_url:
        key = key or openai_api_key()
        _check_openai(key, settings.llm_model)
    from paper_qa.llm.openai_compatible import OpenAICompatibleLLM  # noqa: PLC0415 - takes seconds

    return OpenAICompatibleLLM(
        base_url=settings.llm_base_url or OPENAI_URL,
        model=settings.llm_model,
        api_key=key,
        timeout=settings.llm_timeout,
    )


def _check_openai(key: str, model: str) -> None:
    if not key:
        raise ConfigurationError(
            "PAPER_QA_LLM='openai' needs a key: set PAPER_QA_LLM_API_KEY or OPENAI_API_KEY, "
            "or PAPER_QA_LLM_BASE_URL for another endpoint"
        )
    if not model:
        raise ConfigurationError(
            "PAPER_QA_LLM='openai' needs a model: set PAPER_QA_LLM_MODEL to one that OpenAI offers"
        )

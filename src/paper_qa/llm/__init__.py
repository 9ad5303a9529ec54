"""Chat models: which one the settings ask for, and how it is reached."""

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from paper_qa.errors import ConfigurationError
from paper_qa.llm.model_files import ModelStore, read_models
from paper_qa.settings import Settings, openai_api_key

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from paper_qa.llm.embedded import EmbeddedLLM
    from paper_qa.llm.model_files import Progress

OPENAI_URL = "https://api.openai.com/v1"


class Writer:
    """The chat model that the settings ask for, or one that was handed in, at any moment.

    Under ``auto`` the embedded model is taken as soon as its file is on the disk, and left when it
    is gone: the chat may have been open before it was fetched.

    Raises:
        ConfigurationError: the settings name a model that can't be had.
    """

    def __init__(self, settings: Settings, llm: "LLM | None" = None) -> None:
        self._settings = settings
        self._given = llm or load_endpoint(settings)
        self._embedded: EmbeddedLLM | None = None
        self._lock = Lock()
        if settings.llm == "embedded" and llm is None:
            self.llm()

    def llm(self) -> "LLM | None":
        """Return the model that writes the next answer, or None for extraction."""
        if not self._may_be_embedded:
            return self._given
        path = embedded_file(self._settings)
        with self._lock:
            if path is None:
                self._close_embedded()
            elif self._embedded is None:
                self._embedded = _load_embedded(path, self._settings)
            return self._embedded

    def prepare(
        self,
        beginning: Sequence[tuple[str, str]],
        progress: "Progress",
        note: Callable[[str], None],
        *,
        pull: bool,
    ) -> None:
        """Start the embedded model where it is the one that writes; with ``pull``, fetch it first.

        Args:
            beginning: the (role, content) pairs that every prompt starts with, to be read ahead.
            progress: told what is being done, how far it is, and how far it has to go.
            note: told what does not work, in one line, where something else then does.
            pull: whether a model that is not on the disk may be fetched, if the settings allow it.

        Raises:
            ModelFileError: it can't be fetched.
            ModelError: it does not start.
        """
        settings = self._settings
        if not self._may_be_embedded:
            return
        if pull and settings.model_pull != "never" and settings.llm_gguf is None:
            store = model_store(settings)
            store.pull(store.model(), progress, note)
        if self.llm() is not None and self._embedded is not None:
            progress("Starting the model", 0, 0)
            self._embedded.warm_up(beginning)

    def close(self) -> None:
        """End the embedded model, if it runs."""
        with self._lock:
            self._close_embedded()

    @property
    def _may_be_embedded(self) -> bool:
        return self._given is None and self._settings.llm in {"auto", "embedded"}

    def _close_embedded(self) -> None:
        if self._embedded is not None:
            self._embedded.close()
            self._embedded = None


def load_endpoint(settings: Settings) -> "LLM | None":
    """Return the model behind the endpoint of the settings, or None if they name none.

    ``OPENAI_API_KEY`` is read only when OpenAI itself was asked for by name, with no other address:
    a key that happens to be exported must not start spending, nor reach another server.

    Raises:
        ConfigurationError: the settings name a model that can't be had.
    """
    if settings.llm in {"extractive", "embedded"}:
        return None
    if settings.llm == "auto" and not settings.llm_base_url:
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
        context_window=settings.llm_context,
    )


def embedded_file(settings: Settings) -> Path | None:
    """Return the file of the embedded model, or None while it is not on the disk.

    Raises:
        ConfigurationError: the settings ask for it, or name a file, and it is not there.
    """
    if settings.llm_gguf is not None:
        if not settings.llm_gguf.is_file():
            raise ConfigurationError(
                f"PAPER_QA_LLM_GGUF={str(settings.llm_gguf)!r} is no file: give the path of a model"
            )
        return settings.llm_gguf
    store = model_store(settings)
    path = store.path(store.model())
    if path is None and settings.llm == "embedded":
        raise ConfigurationError(
            "PAPER_QA_LLM='embedded' needs the model on the disk: run paper-qa model pull"
        )
    return path


def model_store(settings: Settings) -> ModelStore:
    """Return where the files of embedded models lie."""
    return ModelStore(settings.home / "models")


def _load_embedded(path: Path, settings: Settings) -> "EmbeddedLLM":
    from paper_qa.llm.embedded import EmbeddedLLM  # noqa: PLC0415 - takes seconds
    from paper_qa.llm.llama_server import LlamaModel, LlamaServer  # noqa: PLC0415

    known = {model.file: model.name for model in read_models()}
    model = LlamaModel(path, known.get(path.name, path.stem))
    idle_s = round(settings.llm_idle_minutes * 60) or -1
    server = LlamaServer(model, settings.home / "logs", idle_s)
    return EmbeddedLLM(server, timeout=settings.llm_timeout)


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

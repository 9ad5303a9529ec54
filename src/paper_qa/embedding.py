"""Texts to vectors of length 1: by the built-in model, or by any OpenAI-compatible endpoint.

Both are LlamaIndex embeddings with a door of their own for arrays, ``embed``. ``model_name`` is the
identity that a library keeps: vectors of one name can be compared, those of two names cannot.
"""

import asyncio
import functools
import json
from abc import abstractmethod
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr, SecretStr

from paper_qa.cores import available_cores
from paper_qa.errors import ConfigurationError, ModelError
from paper_qa.models import load_session, load_tokenizer, model_name
from paper_qa.settings import Settings

if TYPE_CHECKING:
    from paper_qa.llm.endpoint import Endpoint

Vectors = NDArray[np.float32]

DIM = 384
MAX_TOKENS = 256


class ArrayEmbedding(BaseEmbedding):
    """A LlamaIndex embedding of which only ``embed`` has to be written."""

    embed_batch_size: int = Field(default=64, gt=0, le=2048)

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row of length 1 for each text, in their order."""

    async def aembed(self, texts: Sequence[str]) -> Vectors:
        """Do the same without blocking the event loop."""
        return await asyncio.to_thread(self.embed, texts)

    def _get_query_embedding(self, query: str) -> list[float]:
        return self.embed([query])[0].tolist()

    def _get_text_embedding(self, text: str) -> list[float]:
        return self.embed([text])[0].tolist()

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self.embed(texts).tolist()

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return (await self.aembed([query]))[0].tolist()

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return (await self.aembed([text]))[0].tolist()

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return (await self.aembed(texts)).tolist()


class OnnxEmbedding(ArrayEmbedding):
    """all-MiniLM-L6-v2, shipped with the package: no key, no network, no torch.

    A text has the same vector to the bit, whatever is embedded beside it and on however many
    threads: each text is a run of its own, on one thread. A text is read up to 256 tokens; what
    comes after them does not count.
    """

    model_name: str = Field(default_factory=model_name)
    num_threads: int = Field(default_factory=available_cores, gt=0)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serialises this."""
        return "onnx"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row of length 1 for each text, the texts spread over the threads."""
        if not texts:
            return np.empty((0, DIM), dtype=np.float32)
        num_threads = min(self.num_threads, len(texts))
        if num_threads == 1:
            return np.stack([_embed_one(text) for text in texts])
        with ThreadPoolExecutor(num_threads, "paper-qa-embed") as pool:
            return np.stack(list(pool.map(_embed_one, texts)))


def num_tokens(text: str) -> int:
    """Count the tokens that the built-in model sees, the two marks around every text included."""
    return len(load_tokenizer().encode(_encodable(text)).ids)


class EndpointEmbedding(ArrayEmbedding):
    """A model behind an OpenAI-compatible ``/embeddings``, hosted or on this machine.

    A text longer than the model can read is an error of the endpoint's, as most make it one.
    """

    base_url: str
    model: str
    timeout: float = Field(default=60.0, gt=0, description="seconds of silence before giving up")
    max_retries: int = Field(default=2, ge=0)
    _endpoint: "Endpoint" = PrivateAttr()  # holds the key
    _dim: int | None = PrivateAttr(default=None)

    def __init__(self, *, base_url: str, model: str, api_key: str = "", **fields: Any) -> None:
        from paper_qa.llm.endpoint import Endpoint  # noqa: PLC0415 - the SDK is slow to import

        base_url = base_url.rstrip("/")
        fields |= {"model_name": f"{model}@{base_url}", "base_url": base_url, "model": model}
        super().__init__(**fields)
        key = SecretStr(api_key.strip())
        self._endpoint = Endpoint(base_url, key, self.timeout, prefix="PAPER_QA_EMBEDDING")

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serialises this."""
        return "openai_compatible_embedding"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row of length 1 for each text; a request for each ``embed_batch_size``."""
        from paper_qa.llm.blocking import iterate  # noqa: PLC0415 - see above

        return self._joined(list(iterate(self._batches(texts)))) if texts else self._joined([])

    async def aembed(self, texts: Sequence[str]) -> Vectors:
        """Do the same without blocking; cancelling ends the request."""
        return self._joined([batch async for batch in self._batches(texts)])

    async def _batches(self, texts: Sequence[str]) -> AsyncGenerator[Vectors]:
        from paper_qa.llm.errors import VENDOR_ERRORS, httpx  # noqa: PLC0415 - see above

        async with self._endpoint.connect() as client:
            patient = client.with_options(max_retries=self.max_retries)
            for start in range(0, len(texts), self.embed_batch_size):
                batch = texts[start : start + self.embed_batch_size]
                # An empty text would be refused, and the whole batch with it.
                inputs = [_encodable(text) if text.strip() else "." for text in batch]
                request = {"model": self.model, "input": inputs, "encoding_format": "float"}
                try:
                    # Not embeddings.create(), which takes long to read vectors, and trusts them.
                    reply = await patient.post("/embeddings", cast_to=httpx.Response, body=request)
                    body = json.loads(reply.content)
                except VENDOR_ERRORS as error:
                    raise self._endpoint.error(error, self.model) from self._endpoint.cause(error)
                yield self._read(body, len(batch))

    def _read(self, body: Any, count: int) -> Vectors:
        """Check what came, as it may be anything."""
        try:
            items = list(body["data"])
            if len(items) != count:
                raise self._failure(f"sent {len(items)} vectors for {count} texts")
            vectors = _unit_rows([item["embedding"] for item in _in_order(items)])
        except (AttributeError, KeyError, TypeError) as error:
            raise self._failure("sent no vectors") from error
        except ValueError as error:
            raise self._failure(str(error)) from error
        if self._dim not in {None, vectors.shape[1]}:
            raise self._failure(f"sent {vectors.shape[1]} numbers per text, before {self._dim}")
        self._dim = vectors.shape[1]
        return vectors

    def _joined(self, batches: list[Vectors]) -> Vectors:
        empty = np.empty((0, self._dim or 0), dtype=np.float32)
        return np.concatenate(batches) if batches else empty

    def _failure(self, what: str) -> ModelError:
        return ModelError(
            f"the endpoint {self.base_url!r} {what}: "
            f"check that PAPER_QA_EMBEDDING_MODEL={self.model!r} is an embedding model"
        )


def load_embedding(settings: Settings) -> ArrayEmbedding:
    """Choose as configured: an endpoint where one is named, else the built-in model.

    Raises:
        ConfigurationError: an endpoint is named without its model, or cannot be one.
    """
    if not settings.embedding_base_url:
        return OnnxEmbedding()
    if not settings.embedding_model:
        raise ConfigurationError(
            "PAPER_QA_EMBEDDING_BASE_URL names an endpoint, but not the model there: "
            "set PAPER_QA_EMBEDDING_MODEL too"
        )
    return EndpointEmbedding(
        base_url=settings.embedding_base_url,
        model=settings.embedding_model,
        api_key=settings.embedding_api_key.get_secret_value(),
        timeout=settings.embedding_timeout,
    )


def embed_query(model: BaseEmbedding, query: str) -> Vectors:
    """Embed a question; some models read it in another way than the texts it is asked of."""
    if isinstance(model, ArrayEmbedding):
        return model.embed([query])[0]
    vector = np.asarray(model.get_query_embedding(query), dtype=np.float32)
    length = np.linalg.norm(vector)
    if not np.isfinite(length):
        raise ModelError(
            f"the embedding model {model.model_name!r} returned a vector that is not finite: "
            "choose another model"
        )
    return vector / np.float32(length or 1)


def _unit_rows(rows: Any) -> Vectors:
    """Scale each row to length 1.

    Raises:
        ValueError: says what a model sent instead of such rows, after "the model …".
    """
    try:
        vectors = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError("sent vectors that are not lists of numbers") from error
    if vectors.ndim != 2:
        raise ValueError("sent vectors that are not lists of numbers")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise ValueError("sent a vector that is zero or not finite")
    return (vectors / lengths).astype(np.float32)


def _in_order(items: list[Any]) -> list[Any]:
    """Put vectors in the order of their texts; a server that numbers none has kept it."""
    numbers = [item.get("index") for item in items]
    if all(number is None for number in numbers):
        return items
    if set(numbers) != set(range(len(items))):
        raise ValueError("sent vectors whose numbers are not those of the texts")
    return sorted(items, key=lambda item: item["index"])


# A question is read for its vector and for its words, and others ask in the meantime.
@functools.lru_cache(maxsize=16)
def hidden_states(text: str) -> tuple[Vectors, list[tuple[int, int]]]:
    """Return the built-in model's last hidden state for each token, and the tokens' offsets.

    The marks around the text have the offsets (0, 0); a text is read up to 256 tokens.
    """
    encoding = load_tokenizer().encode(_encodable(text))
    ids, offsets = encoding.ids, encoding.offsets
    if len(ids) > MAX_TOKENS:
        ids = [*ids[: MAX_TOKENS - 1], ids[-1]]
        offsets = [*offsets[: MAX_TOKENS - 1], offsets[-1]]
    inputs = {"input_ids": np.array([ids], dtype=np.int64)}
    hidden = cast("list[Vectors]", load_session().run(None, inputs))[0]
    return hidden[0], offsets


def mean_vector(hidden: Vectors) -> Vectors:
    """Return the vector of a text, of length 1, from its hidden states."""
    mean = hidden.mean(axis=0)
    return mean / np.linalg.norm(mean)


def _embed_one(text: str) -> Vectors:
    return mean_vector(hidden_states(text)[0])


def _encodable(text: str) -> str:
    """Replace lone surrogates, which have no UTF-8 and come from damaged files."""
    return text.encode(errors="replace").decode()

"""A LlamaIndex LLM over any endpoint that speaks OpenAI's chat completions, hosted or local.

There is one way to the model, an asynchronous stream, and every other method is built on it.
Cancelling the task that reads the stream, or closing the stream, ends the HTTP request.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import openai
from llama_index.core.base.llms import generic_utils
from llama_index.core.llms import (
    ChatMessage,
    ChatResponse,
    ChatResponseAsyncGen,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseAsyncGen,
    CompletionResponseGen,
    CustomLLM,
    LLMMetadata,
    MessageRole,
    callbacks,
)
from pydantic import Field, PrivateAttr, SecretStr
from typing_extensions import override

from paper_qa.errors import ConfigurationError, ContextLengthError, ModelConnectionError, ModelError
from paper_qa.llm import dialects
from paper_qa.llm.blocking import iterate
from paper_qa.llm.endpoint import CONNECT_TIMEOUT_S, Endpoint
from paper_qa.llm.errors import VENDOR_ERRORS, said_by_server
from paper_qa.llm.reply import Reply

_Method = TypeVar("_Method", bound=Callable[..., Any])

_MAX_CHARACTERS_PER_TOKEN = 64  # more than any token has: an endpoint that goes on is stopped
_MAX_MODELS_NAMED = 10
_COMPLAINING = frozenset({400, 422, 500})  # 500: llama.cpp, when its chat template complains


def _observed(method: _Method) -> _Method:
    """Let LlamaIndex's callbacks and instrumentation see the calls of this method."""
    observe = cast("Any", callbacks).llm_chat_callback()
    return cast("_Method", observe(method))


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model as an endpoint lists it; its context length in tokens, where that is told."""

    name: str
    context_length: int | None = None


class OpenAICompatibleLLM(CustomLLM):
    """A chat model behind an OpenAI-compatible endpoint; without ``model``, its only one.

    The last response of a stream, and the response of a whole call, carry in ``raw`` the keys
    ``model``, ``usage`` and ``finish_reason``; read them with `usage_of` and `finish_reason_of`.
    """

    base_url: str
    model: str = ""
    timeout: float = Field(default=120.0, gt=0, description="Seconds of silence to put up with.")
    temperature: float = Field(default=0.0, ge=0, le=2)
    max_tokens: int = Field(default=1024, gt=0)
    context_window: int = Field(default=8192, gt=0)
    _endpoint: Endpoint = PrivateAttr()
    _found_model: str = PrivateAttr(default="")
    _rejected: frozenset[str] = PrivateAttr(default=frozenset())

    def __init__(self, *, base_url: str, api_key: str = "", **fields: Any) -> None:
        super().__init__(base_url=base_url, **fields)
        self._endpoint = Endpoint(base_url, SecretStr(api_key.strip()), self.timeout)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the key out of a pickle; LlamaIndex would not read it back in any case."""
        return {**super().__getstate__(), "__pydantic_private__": None}

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serialises this."""
        return "openai_compatible"

    @property
    def metadata(self) -> LLMMetadata:
        """What LlamaIndex wants to know of a model."""
        return LLMMetadata(
            context_window=self.context_window,
            num_output=self.max_tokens,
            is_chat_model=True,
            model_name=self.model or self._found_model or f"the model at {self.base_url}",
        )

    @_observed
    async def astream_chat(
        self, messages: Sequence[ChatMessage], **kwargs: Any
    ) -> ChatResponseAsyncGen:
        """Stream the answer; ``kwargs`` go into the request as they are."""
        return self._stream(messages, kwargs)

    @_observed
    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Return the whole answer."""
        latest = None
        async for response in self._stream(messages, kwargs):
            latest = response
        return cast("ChatResponse", latest)

    @_observed
    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        """Stream the answer; closing the stream ends the request."""
        return iterate(self._stream(messages, kwargs))

    @_observed
    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Return the whole answer."""
        return deque(iterate(self._stream(messages, kwargs)), maxlen=1)[0]

    @override
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Return the answer to a prompt that is one message of the user."""
        return generic_utils.chat_to_completion_decorator(self.chat)(prompt, **kwargs)

    @override
    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseGen:
        """Stream the answer to a prompt that is one message of the user."""
        return generic_utils.stream_chat_to_completion_decorator(self.stream_chat)(prompt, **kwargs)

    @override
    async def acomplete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponse:
        """Return the answer to a prompt that is one message of the user."""
        return await generic_utils.achat_to_completion_decorator(self.achat)(prompt, **kwargs)

    @override
    async def astream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseAsyncGen:
        """Stream the answer to a prompt that is one message of the user."""
        stream = generic_utils.astream_chat_to_completion_decorator(self.astream_chat)
        return await stream(prompt, **kwargs)

    async def _stream(
        self, messages: Sequence[ChatMessage], options: dict[str, Any]
    ) -> AsyncGenerator[ChatResponse]:
        """Ask, and yield what becomes visible of the answer; the last response has its usage."""
        request = {
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "stream_options": {"include_usage": True},
            **options,
            "messages": [_as_openai_has_it(message) for message in messages],
            "stream": True,
        }
        limit = _MAX_CHARACTERS_PER_TOKEN * options.get("max_tokens", self.max_tokens)
        reply = Reply()
        async with aclosing(self._chunks(request)) as chunks:
            async for chunk in chunks:
                if delta := reply.read(chunk):
                    yield _response(reply, delta)
                if reply.num_characters > limit:
                    reply.finish_reason = "length"
                    break
        self._check_whole(reply)
        yield _response(reply, reply.flush(), raw=reply.raw)

    async def _chunks(self, request: dialects.Request) -> AsyncGenerator[Any]:
        """Yield the chunks as the SDK reads them, and raise our errors instead of its own."""
        try:
            async with self._endpoint.connect() as client:
                async with asyncio.timeout(CONNECT_TIMEOUT_S + self.timeout):
                    stream = await self._open(client, request)
                try:
                    while (chunk := await self._next(stream)) is not None:
                        yield chunk
                finally:
                    await stream.close()
        except VENDOR_ERRORS as error:
            translated = self._endpoint.error(error, request.get("model", self.model))
            raise translated from self._endpoint.cause(error)

    async def _next(self, stream: Any) -> Any:
        """Return the next chunk; comments that keep a connection alive are no sign of life."""
        async with asyncio.timeout(self.timeout):
            return await anext(stream, None)

    async def _open(self, client: openai.AsyncOpenAI, request: dialects.Request) -> Any:
        """Send the request, and again without what the server says it does not take."""
        request["model"] = request.get("model") or self.model or await self._only_model(client)
        create: Any = client.chat.completions.create
        while True:
            try:
                return await create(**dialects.adapt(request, self._rejected))
            except openai.APIStatusError as error:
                if error.status_code not in _COMPLAINING:
                    raise
                if isinstance(self._endpoint.error(error, ""), ContextLengthError):
                    raise  # its words often name max_tokens too
                rejected = dialects.find_rejected(
                    dialects.adapt(request, self._rejected), said_by_server(error)
                )
                if rejected is None:
                    raise
                self._rejected |= {rejected}

    async def alist_models(self) -> list[ListedModel]:
        """Return the models that the endpoint lists, by name; none where it lists nothing.

        Raises:
            ModelError: it can't be asked.
        """
        try:
            async with self._endpoint.connect() as client:
                return await _listed(client)
        except VENDOR_ERRORS as error:
            raise self._endpoint.error(error, self.model) from self._endpoint.cause(error)

    async def _only_model(self, client: openai.AsyncOpenAI) -> str:
        """Ask the endpoint which model it has, once."""
        if not self._found_model:
            names = [model.name for model in await _listed(client)]
            self._found_model = _the_one(names, self.base_url)
        return self._found_model

    def _check_whole(self, reply: Reply) -> None:
        if not reply.has_begun:
            raise ModelError(
                f"the endpoint {self.base_url!r} sent no completion: "
                "check PAPER_QA_LLM_BASE_URL, which often ends in /v1"
            )
        if reply.finish_reason is None:
            raise ModelConnectionError(
                f"the endpoint {self.base_url!r} broke off in the middle of its answer: "
                "ask again, or look into its log"
            )


async def _listed(client: openai.AsyncOpenAI) -> list[ListedModel]:
    try:
        listed: Any = await client.models.list()
    except openai.NotFoundError:
        return []
    models = getattr(listed, "data", None) or ()
    found = [ListedModel(str(model.id), _context_length(model)) for model in models]
    return sorted(found, key=lambda model: model.name)


def _context_length(model: Any) -> int | None:
    """Return the context length where the list tells: vLLM, LM Studio and llama.cpp each do so."""
    fields: dict[str, Any] = model.model_dump()
    meta: dict[str, Any] = fields.get("meta") or {}
    told = [fields.get("max_model_len"), fields.get("max_context_length"), meta.get("n_ctx")]
    return next((value for value in told if isinstance(value, int)), None)


def _the_one(models: Sequence[str], base_url: str) -> str:
    if len(models) == 1:
        return models[0]
    if not models:
        raise ConfigurationError(f"{base_url!r} lists no model: set PAPER_QA_LLM_MODEL")
    names = ", ".join(models[:_MAX_MODELS_NAMED]) + (", …" if models[_MAX_MODELS_NAMED:] else "")
    raise ConfigurationError(f"set PAPER_QA_LLM_MODEL to one of those at {base_url!r}: {names}")


def _as_openai_has_it(message: ChatMessage) -> dict[str, str]:
    return {"role": str(message.role.value), "content": message.content or ""}


def _response(reply: Reply, delta: str, raw: dict[str, Any] | None = None) -> ChatResponse:
    message = ChatMessage(role=MessageRole.ASSISTANT, content=reply.text)
    return ChatResponse(message=message, delta=delta, raw=raw)

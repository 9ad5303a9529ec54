"""The embedded model: one more OpenAI-compatible endpoint, which is started when it is needed."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from llama_index.core.llms import ChatMessage
from pydantic import PrivateAttr, SecretStr
from typing_extensions import override

from paper_qa.errors import ModelConnectionError
from paper_qa.llm import dialects
from paper_qa.llm.endpoint import Endpoint
from paper_qa.llm.llama_server import LlamaServer
from paper_qa.llm.openai_compatible import ListedModel, OpenAICompatibleLLM

NOT_STARTED = "http://127.0.0.1:0/v1"  # the system chooses the port
DYING_S = 1.0


class EmbeddedLLM(OpenAICompatibleLLM):
    """A chat model that runs on this machine, in a child of this process."""

    _server: LlamaServer = PrivateAttr()

    def __init__(self, server: LlamaServer, **fields: Any) -> None:
        super().__init__(
            base_url=NOT_STARTED,
            api_key=server.api_key,
            model=server.model.name,
            max_tokens=server.model.max_tokens,
            context_window=server.model.context_length,
            **fields,
        )
        self._server = server

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serialises this."""
        return "paper_qa_embedded"

    def warm_up(self, beginning: Sequence[tuple[str, str]]) -> None:
        """Start the model and let it read the (role, content) pairs that every prompt begins with.

        Raises:
            ModelError: it does not start.
        """
        self.chat([ChatMessage(role=role, content=text) for role, text in beginning], max_tokens=1)

    def close(self) -> None:
        """End the child process."""
        self._server.stop()

    @override
    async def alist_models(self) -> list[ListedModel]:
        """Return the one model that there is, once it runs."""
        await self._reach()
        return await super().alist_models()

    @override
    async def _chunks(self, request: dialects.Request) -> AsyncGenerator[Any]:
        """Yield the chunks; a child that dies before the first of them is started once more."""
        has_begun = False
        try:
            async with aclosing(self._served(request)) as chunks:
                async for chunk in chunks:
                    has_begun = True
                    yield chunk
        except ModelConnectionError:
            # A dying child lets go of the connection a little before it is seen to be dead.
            if has_begun or not await asyncio.to_thread(self._server.has_died, DYING_S):
                raise
            async with aclosing(self._served(request)) as chunks:
                async for chunk in chunks:
                    yield chunk

    async def _reach(self) -> None:
        """Start the server unless it runs, and find out where it answers."""
        base_url = await asyncio.wrap_future(self._server.start())
        self._endpoint = Endpoint(base_url, SecretStr(self._server.api_key), self.timeout)

    async def _served(self, request: dialects.Request) -> AsyncGenerator[Any]:
        await self._reach()
        async with aclosing(super()._chunks(dict(request))) as chunks:
            async for chunk in chunks:
                yield chunk

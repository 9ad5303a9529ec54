"""Stand-ins that are real implementations of the interfaces, small and the same on every run."""

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import (
    CompletionResponse,
    CompletionResponseGen,
    CustomLLM,
    LLMMetadata,
)
from pydantic import PrivateAttr


class HashedEmbedding(BaseEmbedding):
    """A bag of hashed words: texts that share words really are near to each other."""

    model_name: str = "hashed"
    dim: int = 64

    @classmethod
    def class_name(cls) -> str:
        return "HashedEmbedding"

    def _get_text_embedding(self, text: str) -> list[float]:
        vector = np.zeros(self.dim)
        for word in re.findall(r"\w+", text.lower()):
            digest = blake2b(word.encode(), digest_size=8).digest()
            vector[int.from_bytes(digest[:4], "big") % self.dim] += 1 if digest[4] % 2 else -1
        norm = np.linalg.norm(vector)
        return (vector / norm if norm else vector).tolist()

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


class ScriptedLLM(CustomLLM):
    """Another program's LLM: says its pieces, and then may fail; keeps the prompts it was given."""

    pieces: Sequence[str] = ()
    name: str = "scripted"
    _error: Exception | None = PrivateAttr()
    _prompts: list[str] = PrivateAttr(default_factory=list)

    def __init__(self, *pieces: str, error: Exception | None = None, **fields: Any) -> None:
        super().__init__(pieces=pieces, **fields)
        self._error = error

    @classmethod
    def class_name(cls) -> str:
        return "ScriptedLLM"

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name=self.name)

    @property
    def prompts(self) -> list[str]:
        return self._prompts

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return list(self.stream_complete(prompt))[-1]

    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseGen:
        self._prompts.append(prompt)
        text = ""
        for piece in self.pieces:
            text += piece
            yield CompletionResponse(text=text, delta=piece)
        if self._error:
            raise self._error

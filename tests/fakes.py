"""Stand-ins that are real implementations of the interfaces, small and the same on every run."""

import re
from hashlib import blake2b

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding


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

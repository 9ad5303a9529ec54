"""Whether a chat model works, and how well: what the settings name, tried from end to end."""

import time
from contextlib import aclosing
from dataclasses import dataclass

from llama_index.core.llms import ChatMessage

from paper_qa.errors import ModelError, ModelNotFoundError
from paper_qa.llm.openai_compatible import ListedModel, OpenAICompatibleLLM
from paper_qa.llm.reply import usage_of

MAX_NAMED = 8
_TASK = "Write the numbers from one to twenty as words, with commas between them."
_MAX_TOKENS = 64


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast a model answers: seconds to its first words, and tokens a second from there."""

    first_s: float
    tokens_per_s: float
    num_parts: int  # in which the answer came; one is no stream


async def listed_model(llm: OpenAICompatibleLLM) -> ListedModel | None:
    """Return the model as its endpoint lists it, or None where the endpoint lists nothing.

    Raises:
        ModelNotFoundError: it lists others only.
        ModelError: it can't be reached, or refuses the key.
    """
    listed = await llm.alist_models()
    names = [model.name for model in listed]
    if llm.model and listed and llm.model not in names:
        shown = ", ".join(names[:MAX_NAMED]) + (", …" if names[MAX_NAMED:] else "")
        raise ModelNotFoundError(
            f"{llm.base_url!r} does not list the model {llm.model!r}: "
            f"set PAPER_QA_LLM_MODEL to one of {shown}"
        )
    return next((model for model in listed if llm.model in ("", model.name)), None)


async def speed_of(llm: OpenAICompatibleLLM) -> Speed:
    """Let a model write a little, and measure it.

    Raises:
        ModelError: it fails, or writes nothing.
    """
    began = time.monotonic()
    first = 0.0
    num_parts = num_tokens = 0
    asked = [ChatMessage(role="user", content=_TASK)]
    async with aclosing(await llm.astream_chat(asked, max_tokens=_MAX_TOKENS)) as stream:
        async for response in stream:
            if response.delta:
                num_parts += 1
                first = first or time.monotonic()
            num_tokens = usage_of(response).completion_tokens or num_tokens
    if not first:
        raise ModelError("the model wrote nothing: try another, or look into the server's log")
    writing = max(time.monotonic() - first, 1e-3)
    return Speed(first - began, (num_tokens or num_parts) / writing, num_parts)

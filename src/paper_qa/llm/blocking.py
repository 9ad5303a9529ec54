"""Drives an asynchronous stream from synchronous code, be there a running event loop or not."""

import asyncio
import contextvars
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing, suppress
from queue import SimpleQueue
from typing import TypeVar, cast

T = TypeVar("T")


def iterate(stream: AsyncGenerator[T]) -> Generator[T]:
    """Yield what ``stream`` yields, from a thread with an event loop of its own.

    Closing the generator, or an exception thrown into it such as a Ctrl-C, cancels the stream and
    waits until it has cleaned up.
    """
    received: SimpleQueue[tuple[T] | None] = SimpleQueue()
    cancel: Future[Callable[[], object]] = Future()

    async def pump() -> None:
        task = cast("asyncio.Task[None]", asyncio.current_task())
        cancel.set_result(lambda: task.get_loop().call_soon_threadsafe(task.cancel))
        try:
            async with aclosing(stream):
                async for item in stream:
                    received.put((item,))
        finally:
            received.put(None)

    context = contextvars.copy_context()
    with ThreadPoolExecutor(1, "paper-qa-stream") as pool:
        done = pool.submit(context.run, asyncio.run, pump())
        try:
            while item := received.get():
                yield item[0]
            done.result()
        finally:
            if not done.done():
                with suppress(RuntimeError):  # the loop has closed since
                    cancel.result()()

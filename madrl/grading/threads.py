"""A function that is not async, called in a thread: one that takes its time must not keep its siblings waiting."""

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

THREADS = 32
"""Calls of one function at a time. They share one core for what is Python, and wait side by side for what is not."""


def asynchronous(function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    """``function`` itself when it is async, or else the same in threads of its own."""
    if _is_async(function):
        return function
    threads = ThreadPoolExecutor(THREADS, thread_name_prefix="verifier")

    async def in_a_thread(*args: Any, **kwargs: Any) -> Any:
        call = functools.partial(_in_full, function, *args, **kwargs)
        found = await asyncio.get_running_loop().run_in_executor(threads, call)
        return await found if inspect.isawaitable(found) else found

    return in_a_thread


def _in_full(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call ``function``, a StopIteration or SystemExit of which becomes a RuntimeError: no future can hold the one, so
    that whoever awaits it would wait for ever, and the other would end the process."""
    try:
        return function(*args, **kwargs)
    except (StopIteration, SystemExit) as error:
        raise RuntimeError(f"{type(error).__name__}: {error}") from error


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004

"""Threads beside an event loop: functions that are not async in some, and an event loop for who has none in another."""

import asyncio
import functools
import inspect
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Self, TypeVar

T = TypeVar("T")

THREADS = 32
"""Calls at a time. They share one core for what is Python, and wait side by side for what is not."""

THREAD_NAME = "madrl-plug-in"
"""What the names of these threads begin with."""


def asynchronous(function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    """``function`` itself when it is async, or else the same in threads of its own: a call that takes its time must
    not keep its siblings waiting."""
    if is_async(function):
        return function

    async def in_a_thread(*args: Any, **kwargs: Any) -> Any:
        call = functools.partial(_in_full, function, *args, **kwargs)
        found = await asyncio.get_running_loop().run_in_executor(_threads(), call)
        return await found if inspect.isawaitable(found) else found

    return in_a_thread


def _in_full(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call ``function``. What it raises comes back as ``awaitable_error`` has it."""
    try:
        return function(*args, **kwargs)
    except BaseException as error:
        if (awaitable := awaitable_error(error)) is error:
            raise
        raise awaitable from error


def awaitable_error(error: BaseException) -> Exception:
    """What whoever awaits a function gets for its ``error``: the error itself, or a RuntimeError for what no future can
    hold (StopIteration) and for what would pass through whoever catches an Exception, as a panic of Rust's does."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")


def ends_the_caller(error: BaseException) -> bool:
    """Whether an exception in something awaited is meant for the task that awaits it, which is interrupted, closed or
    cancelled itself, and not for what it awaits."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    if isinstance(error, KeyboardInterrupt):  # Ctrl-C: Python raises it in the main thread alone
        return threading.current_thread() is threading.main_thread()
    if isinstance(error, GeneratorExit):  # who is closed does not run, where a function that raises it does
        return not _in_a_task()
    return False


def _in_a_task() -> bool:
    try:
        return asyncio.current_task() is not None
    except RuntimeError:  # no loop runs
        return False


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a call gives something to await."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


class LoopThread:
    """An event loop in a thread of its own, which runs while the context is open."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="madrl-loop", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        asyncio.run_coroutine_threadsafe(_cancel_others(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def start(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Run ``work`` in the thread. It is cancelled when the context closes before it is done."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def is_current(self) -> bool:
        """Whether the caller runs in the thread, which would wait for itself if it waited for ``start``."""
        return threading.current_thread() is self._thread


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def in_plugin_thread() -> bool:
    """Whether the caller runs in one of the threads of ``asynchronous``."""
    return threading.current_thread().name.startswith(THREAD_NAME)


def shared_loop() -> LoopThread:
    """This process's event loop for calls from code that is not async, open until the process ends. Clients keep their
    connections in it from one call to the next."""
    with _starting:
        return _loop()


_starting = threading.Lock()


@functools.cache
def _loop() -> LoopThread:
    return LoopThread().__enter__()


@functools.cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix=THREAD_NAME)


def _forget_threads() -> None:
    """A forked child has none of its parent's threads, and finds a lock as it was."""
    global _starting
    _starting = threading.Lock()
    _loop.cache_clear()
    _threads.cache_clear()


os.register_at_fork(after_in_child=_forget_threads)

"""The bodies of requests, bounded while they arrive, files in memory for what is large, and clients that leave."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from fastapi import Request
from starlette.requests import ClientDisconnect

from sandbox.pool import OverloadedError
from sandbox.translation import SMALL_BYTES

Result = TypeVar("Result")

CHUNK_BYTES = 256 << 10
BODY_S = 300.0
"""Time for a request's body to arrive, and for a part of an answer to be taken."""


class TooLargeError(Exception):
    """A body is larger than one may be."""


class SlowBodyError(Exception):
    """A body did not arrive in time."""


class Bodies:
    """The bodies of the requests in the service: each at most ``largest`` bytes, all together ``budget`` bytes."""

    def __init__(self, largest: int, budget: int, overloaded: Callable[[], OverloadedError]) -> None:
        self.largest, self.budget, self.overloaded = largest, budget, overloaded
        self.held = 0
        """Bytes of all requests that have no answer yet."""

    @asynccontextmanager
    async def of(self, request: Request, files: ExitStack) -> AsyncIterator[bytes | Path]:
        """The request's body, whose bytes count until the block ends. A large one is in one of ``files``.

        Raises TooLargeError, OverloadedError where the budget is used up, SlowBodyError and starlette's
        ClientDisconnect."""
        if int(request.headers.get("content-length", "0")) > self.largest:
            raise TooLargeError
        size, body, file, store = 0, bytearray(), None, None
        try:
            try:
                async with asyncio.timeout(BODY_S):
                    async for chunk in request.stream():
                        size += len(chunk)
                        self.held += len(chunk)
                        if size > self.largest:
                            raise TooLargeError
                        if self.held > self.budget:
                            raise self.overloaded()
                        if store is None and size > SMALL_BYTES:
                            file = memory_file(files)
                            store = files.enter_context(file.open("wb", buffering=0))
                            store.write(body)
                        if store is None:
                            body += chunk
                        else:
                            store.write(chunk)
            except TimeoutError:
                raise SlowBodyError from None
            if store is not None:
                store.close()
            yield bytes(body) if file is None else file
        finally:
            self.held -= size


def memory_file(files: ExitStack) -> Path:
    """A new file in memory, which is gone when ``files`` ends. Only our own user's processes can open its path, and
    no program in a sandbox sees it, because it is in no folder."""
    descriptor = os.memfd_create("sandbox")
    files.callback(os.close, descriptor)
    return Path(f"/proc/{os.getpid()}/fd/{descriptor}")


async def unless_gone(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """What ``work`` returns. It is cancelled when the client leaves first. Raises ClientDisconnect then."""

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    working = asyncio.ensure_future(work)
    tasks = working, asyncio.ensure_future(gone())
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

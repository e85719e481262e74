"""``POST /judge/batch``: many programs in one request, and a line of the answer for each as soon as it is judged."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import AsyncExitStack, ExitStack
from functools import partial
from typing import Any, BinaryIO

from fastapi import Request, Response
from starlette.requests import ClientDisconnect

from sandbox.bodies import BODY_S, CHUNK_BYTES, unless_gone
from sandbox.translation import Item

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]


class Lines(Response):
    """An answer of one line for each item, sent when ``line`` has made it, ``together`` of them at a time.

    A line's files are open until it is sent. ``held`` is closed at the end, whoever ends it. A client that leaves, or
    takes nothing for BODY_S, cancels what is left of its items, and ``left`` is called.
    """

    media_type = "application/x-ndjson"

    def __init__(
        self,
        items: Iterable[Item],
        line: Callable[[Item, ExitStack], Awaitable[Iterable[bytes]]],
        together: int,
        held: AsyncExitStack,
        left: Callable[[], None],
    ) -> None:
        self.items, self.line, self.together, self.held, self.left = items, line, together, held, left
        self.status_code, self.background = 200, None
        self.init_headers()

    async def __call__(self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Send) -> None:
        async with self.held:
            try:
                await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                await unless_gone(Request(scope, receive), self._send_all(send))
            except* ClientDisconnect:
                self.left()

    async def _send_all(self, send: Send) -> None:
        waiting, whole = iter(self.items), asyncio.Lock()

        async def take() -> None:
            for item in waiting:
                with ExitStack() as files:
                    line = await self.line(item, files)
                    async with whole:
                        for part in line:
                            await _send(send, part)

        async with asyncio.TaskGroup() as group:
            for _ in range(self.together):
                group.create_task(take())
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _send(send: Send, part: bytes) -> None:
    try:
        async with asyncio.timeout(BODY_S):
            await send({"type": "http.response.body", "body": part, "more_body": True})
    except TimeoutError:
        raise ClientDisconnect from None


def result_line(item: Item, result: bytes | BinaryIO) -> Iterable[bytes]:
    """The line of an item that is judged, in parts. ``result`` is the answer of ``/judge``, or a file that holds it."""
    yield f'{{"index":{item.index},"id":{json.dumps(item.id)},"status":200,"result":'.encode()
    if isinstance(result, bytes):
        yield result
    else:
        yield from iter(partial(result.read, CHUNK_BYTES), b"")
    yield b"}\n"


def refusal_line(item: Item, status: int, detail: str) -> bytes:
    """The line of an item that cannot be judged."""
    return json.dumps({"index": item.index, "id": item.id, "status": status, "detail": detail}).encode() + b"\n"

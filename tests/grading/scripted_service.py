"""A real HTTP server that misbehaves as a test tells it to, in the test's own event loop."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(frozen=True)
class Reply:
    """What goes over the wire; ``cut_after`` resets the connection after so many bytes of it."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    cut_after: int | None = None

    def wire(self) -> bytes:
        """The whole HTTP message."""
        headers = {"Content-Length": str(len(self.body)), "Content-Type": "application/json", **self.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"HTTP/1.1 {self.status} Scripted\r\n{head}\r\n".encode() + self.body


def verdict(code: str = "AC", message: str = "", tried_exec: bool = False, tests: str = "AC", total: int = 0) -> Reply:
    """A whole answer to /judge, as far as the client reads it. ``tests`` has the verdicts of those that were run."""
    run = [{"verdict": of_test} for of_test in tests.split()]
    passed = tests.split().count("AC")
    answer = {"verdict": code, "message": message, "tried_exec": tried_exec}
    answer |= {"passed": passed, "total": total or len(run), "tests": run}
    return Reply(body=json.dumps(answer).encode())


Handler = Callable[[dict[str, Any]], Awaitable[Reply]]


async def script_nothing(request: dict[str, Any]) -> Reply:
    """For a service that is not asked to judge."""
    raise AssertionError("it is asked to judge")


class ScriptedService:
    """Answers a POST with what ``handler`` returns for the request's JSON, and GET /health with ``health``; starts on a
    port of its own. ``post`` and ``get`` are its paths."""

    def __init__(self, handler: Handler, post: str = "/judge", get: str = "/health") -> None:
        self.handler = handler
        self._post, self._get = post, get
        self.health = Reply(404)
        self.before_health: Callable[[], Awaitable[object]] | None = None
        """What it waits for before it answers a GET /health."""
        self.health_requests = 0
        self.requests: list[dict[str, Any]] = []
        self.heads: list[str] = []
        self.in_flight = self.most_in_flight = 0
        self.port = 0
        self._server: asyncio.Server | None = None
        self.connections: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}

    @property
    def url(self) -> str:
        """Also valid while it is stopped."""
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """On its former port, if it had one."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def kill(self) -> None:
        """As a SIGKILL looks from outside: every connection is reset, and new ones are refused."""
        assert self._server is not None
        self._server.close()
        for connection, serving in self.connections.items():
            connection.transport.abort()
            serving.cancel()
        await asyncio.gather(*self.connections.values())
        await self._server.wait_closed()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.kill()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving = asyncio.current_task()
        assert serving is not None
        self.connections[writer] = serving
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                self.heads.append(head)
                if head.startswith(f"GET {self._get} HTTP/1.1\r\n"):
                    self.health_requests += 1
                    if self.before_health:
                        await self.before_health()
                    writer.write(self.health.wire())
                    await writer.drain()
                    continue
                assert head.startswith(f"POST {self._post} HTTP/1.1\r\n")
                length = int(head.lower().split("content-length: ")[1].split("\r\n")[0])
                request = json.loads(await reader.readexactly(length))
                self.requests.append(request)
                self.in_flight += 1
                self.most_in_flight = max(self.most_in_flight, self.in_flight)
                try:
                    reply = await self.handler(request)
                finally:
                    self.in_flight -= 1
                writer.write(reply.wire()[: reply.cut_after])
                await writer.drain()
                if reply.cut_after is not None:
                    return
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            del self.connections[writer]
            writer.transport.abort()


class Hole:
    """Accepts connections and never says anything, as a machine that has stopped does; ``heads`` are the first lines
    of what it was sent."""

    def __init__(self) -> None:
        self.heads: list[str] = []
        self._server: asyncio.Server | None = None
        self._connections: list[asyncio.StreamWriter] = []

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._swallow, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        assert self._server is not None
        self._server.close()
        for connection in self._connections:
            connection.transport.abort()

    async def _swallow(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.append(writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                self.heads.append(head.split("\r\n")[0])
                if "content-length: " in head.lower():
                    await reader.readexactly(int(head.lower().split("content-length: ")[1].split("\r\n")[0]))

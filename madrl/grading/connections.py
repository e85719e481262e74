"""HTTP connections to a service that grading waits for, and how long to leave one alone that did not answer."""

import random
import re
import socket
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx

BACKOFF_S, MAX_BACKOFF_S = 0.1, 5.0
"""After the nth failed attempt a request sleeps uniform(0, min(MAX, BACKOFF * 2^(n - 1))): full jitter."""

CONNECT_TIMEOUT_S = 5.0
KEEPALIVE_S = 3.0
"""Below the 5 s after which uvicorn closes an idle connection, or a request could meet the closing."""

TCP_OPTIONS = {
    "TCP_KEEPIDLE": 30,  # s without a byte before the first probe
    "TCP_KEEPINTVL": 10,  # s between probes
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 60_000,  # ms that what was sent may lack its acknowledgement
}
"""How a machine that has vanished is told from one that is busy, where the system has these: within a minute."""


def connections(timeout_s: float, read_timeout_s: float | None, headers: Mapping[str, str] | None) -> httpx.AsyncClient:
    """A connection pool without bounds: who asks bounds the requests. It ignores proxies in the environment.

    Args:
        timeout_s: bounds sending a request, and with CONNECT_TIMEOUT_S connecting.
        read_timeout_s: bounds a wait for the next bytes of an answer; None bounds nothing.
        headers: go with every request.
    """
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=KEEPALIVE_S)
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    options += [
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in TCP_OPTIONS.items()
        if hasattr(socket, name)
    ]
    return httpx.AsyncClient(
        headers=headers,
        timeout=httpx.Timeout(timeout_s, read=read_timeout_s, connect=min(CONNECT_TIMEOUT_S, timeout_s)),
        transport=httpx.AsyncHTTPTransport(limits=limits, trust_env=False, socket_options=options),
        trust_env=False,
    )


def json_body(body: bytes) -> dict[str, Any]:
    """The arguments of an httpx request that sends ``body``, which is JSON, and then lets go of it.

    httpx's answers hold their requests, and themselves: a body that is given as bytes stays until the garbage collector
    looks for cycles, and one that is read from a generator goes with its frame.
    """

    async def once() -> AsyncIterator[bytes]:
        yield body

    return {"content": once(), "headers": {"Content-Type": "application/json", "Content-Length": str(len(body))}}


def backoff_s(attempt: int) -> float:
    """How long to sleep after the failed attempt number ``attempt``, counted from 0."""
    return random.uniform(0, min(MAX_BACKOFF_S, BACKOFF_S * 2.0 ** min(attempt, 30)))


def retry_after_s(response: httpx.Response, at_most_s: float) -> float:
    """Seconds that the service asks to be left alone: 0 when it names none, or names a date."""
    seconds = re.fullmatch(r"[0-9]{1,9}", response.headers.get("Retry-After", ""))
    return min(float(seconds[0]), at_most_s) if seconds else 0.0

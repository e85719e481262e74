"""A connection of the service: uvicorn's, with a limit on how long the head of a request may take."""

import asyncio

from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEAD_S = 30.0
"""Time from the connection, or from the first byte of a later request, to the end of the request's head. uvicorn itself
only closes connections that idle after an answer."""


class HeadInTime(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """Closes the connection of a client that does not send the head of a request in HEAD_S."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Expect the first head from now on."""
        super().connection_made(transport)
        self._late = self.loop.call_later(HEAD_S, transport.close)

    def data_received(self, data: bytes) -> None:
        """Expect the rest of a head that has begun, and nothing once it is complete."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._stop_waiting()
        elif self._late is None and self.cycle.response_complete:
            self._late = self.loop.call_later(HEAD_S, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing any more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

"""Where the judge's services are: each source names one, or several that come and go.

    http://node1:8080               that one
    dns+http://judge.default:8080   one at each address of the name, which Kubernetes gives a headless service
    file:/shared/judges             one a line of the file; # begins a comment

A name is resolved, and a file read, again and again.
"""

import asyncio
import logging
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from madrl.errors import MadrlError
from madrl.grading.programs.replicas import Replica

logger = logging.getLogger(__name__)

REFRESH_S = 15.0
"""Sources that change are looked at so often."""

DNS = "dns+http://"
FILE = "file:"


def check_source(source: str) -> None:
    """Raises MadrlError for a source that could never name a service."""
    if source.startswith(FILE):
        if not Path(source.removeprefix(FILE)).is_absolute():
            raise MadrlError(f"sandbox source {source!r} is no absolute path: write it as file:/PATH")
        return
    url = source.removeprefix("dns+")
    try:
        parts = urlsplit(url)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        right = False
    if not right or (url != source and not source.startswith(DNS)):
        raise MadrlError(
            f"sandbox URL {source!r} is no web address: write it as http://host:port, dns+http://name:port or "
            "file:/PATH"
        )


def addresses(source: str) -> list[str]:
    """The services that a source names now. Raises OSError when it cannot be looked up, MadrlError for a line of a file
    that is no address."""
    if source.startswith(DNS):
        parts = urlsplit(source.removeprefix("dns+"))
        found = socket.getaddrinfo(parts.hostname, parts.port or 80, type=socket.SOCK_STREAM)
        return sorted({_url(str(address[0]), address[1]) for *_, address in found})
    if source.startswith(FILE):
        lines = Path(source.removeprefix(FILE)).read_text("utf-8").splitlines()
        named = [line.partition("#")[0].strip().rstrip("/") for line in lines]
        for url in filter(None, named):
            if not url.startswith(("http://", "https://")):
                raise MadrlError(f"sandbox source {source!r}: {url!r} is no web address: write http://host:port")
            check_source(url)
        return list(dict.fromkeys(filter(None, named)))
    return [source.rstrip("/")]


def _url(host: str, port: object) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def all_addresses(sources: Sequence[str]) -> list[str]:
    """The services that all sources name now. A source that cannot be looked up stands for itself, so that who asks for
    its health is told why it has none. Raises MadrlError as ``addresses`` does."""
    found: list[str] = []
    for source in sources:
        try:
            found += addresses(source)
        except OSError:
            found.append(source)
    return list(dict.fromkeys(found))


class Fleet:
    """The replicas at all sources, each with its record for as long as it is named."""

    def __init__(self, sources: Sequence[str]) -> None:
        for source in sources:
            check_source(source)
        self.sources = list(sources)
        self.trouble = ""
        """Why a source could not be looked up, the last time; empty when all could."""
        self._changes = any(source.startswith((DNS, FILE)) for source in sources)
        self._named: dict[str, list[str]] = {s: addresses(s) for s in sources if not s.startswith((DNS, FILE))}
        self._replicas: dict[str, Replica] = {}
        self._looked_at = -REFRESH_S
        self._keep()

    @property
    def known(self) -> list[Replica]:
        """The replicas as of the last look."""
        return list(self._replicas.values())

    async def replicas(self) -> list[Replica]:
        """The replicas now. What a source named last stays while it cannot be looked up."""
        if self._changes and time.monotonic() - self._looked_at >= REFRESH_S:
            self._looked_at = time.monotonic()  # the requests of this moment need one look
            self.trouble = "; ".join(await asyncio.to_thread(self._look))
            self._keep()
        return self.known

    def _look(self) -> list[str]:
        troubles = []
        for source in self.sources:
            if source.startswith((DNS, FILE)):
                try:
                    self._named[source] = addresses(source)
                except (OSError, ValueError, MadrlError) as error:
                    troubles.append(f"{source}: {error}")
                    logger.warning("%s: %s; its former services stay", source, error)
        return troubles

    def _keep(self) -> None:
        urls = dict.fromkeys(url for source in self.sources for url in self._named.get(source, ()))
        self._replicas = {url: self._replicas.get(url) or Replica(url) for url in urls}

"""A check that the sandbox services are there and have the languages that a run needs, before anything waits for them.

A service that is gone, or has no compiler for a language, would else be found out by responses that nobody can judge,
hours into a run or at the end of a deadline.
"""

import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any, NamedTuple

from madrl.errors import MadrlError
from madrl.extras import require
from madrl.grading.programs.fleet import all_addresses
from madrl.grading.programs.program import (
    TOKEN_FILE_VARIABLE,
    URLS_VARIABLE,
    languages_among,
    sandbox_headers,
    sandbox_urls,
)

CONNECT_TIMEOUT_S, TIMEOUT_S = 5.0, 30.0
"""A service that is gone refuses at once; a busy one may be slow."""

START = "madrl install sandbox && madrl-sandbox"
"""How a service is had."""


LOST = {
    "portable": "without cgroups a program can use some memory above its limit, and CPU time in children that live for "
    "milliseconds only: start the sandbox as root, in a container with --privileged",
    "weak": "a program can read this machine's files, and end the runner that watches it: use a machine on which "
    "bubblewrap works",
}
"""Protection below the full one -> what is lost with it, and the remedy (docs/sandbox.md, Threat model)."""


class Health(NamedTuple):
    """What one service says of itself at /health."""

    url: str
    trouble: str = ""
    """Why it takes no programs; the rest is empty then."""
    missing: Mapping[str, str] = MappingProxyType({})
    """Language to the reason why it is not served."""
    served: tuple[str, ...] = ()
    slots: int = 0
    protection: str = ""


def health_of(urls: Sequence[str]) -> list[Health]:
    """What the services at ``urls`` say, in this order, each asked at the same time and for TIMEOUT_S at most."""
    require("programs")
    with ThreadPoolExecutor(max(1, len(urls))) as threads:
        return list(threads.map(_health, urls))


def _health(url: str) -> Health:
    import httpx

    url = url.rstrip("/")
    try:
        timeout = httpx.Timeout(TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
        answer = httpx.get(f"{url}/health", headers=sandbox_headers(), timeout=timeout, trust_env=False)
        if answer.status_code != httpx.codes.OK:
            return Health(url, f"HTTP {answer.status_code}")
        said: Any = answer.json()
        if said == {"status": "ok"}:  # what it tells to anybody
            return Health(url, f"it wants another token: name its file in {TOKEN_FILE_VARIABLE}")
        served = tuple(language for language, works in said["languages"].items() if works)
        return Health(url, "", dict(said["missing"]), served, int(said["slots"]), str(said["protection"]))
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return Health(url, type(error).__name__)
    except (ValueError, KeyError, TypeError, AttributeError):
        return Health(url, "no sandbox's answer")


def check_sandbox(categories: Sequence[str]) -> None:
    """Raises MadrlError, with the remedy, when no service at sandbox_urls() takes programs, or when one of
    ``categories`` is a programming language that none of them has. Says on stderr, in a line for each level, which
    services protect less than they could, and what is lost; and where no language is a category, so that a response may
    be in any, which none of them has."""
    found = health_of(all_addresses(sandbox_urls()))
    answering = [health for health in found if not health.trouble]
    if not answering:
        asked = ", ".join(f"{health.url} ({health.trouble})" for health in found)
        raise MadrlError(f"no sandbox answers at {asked}: start one ({START}), or name others in {URLS_VARIABLE}")
    for level, lost in LOST.items():
        if below := [health.url for health in answering if health.protection == level]:
            print(f"sandbox at {', '.join(below)}: protection {level}, not full: {lost}", file=sys.stderr)
    for language in languages_among(categories):
        if not any(language in health.served for health in answering):
            why = "; ".join(f"{health.url}: {health.missing.get(language, 'not known there')}" for health in answering)
            remedy = f"install it and start that sandbox again ({START}), or name others in {URLS_VARIABLE}"
            if language in categories:
                raise MadrlError(f"no sandbox serves {language} ({why}): {remedy}")
            print(
                f"no sandbox serves {language} ({why}): a run stops at the first response in it; {remedy}",
                file=sys.stderr,
            )

"""CodeContests: a problem none of whose own solutions passes its tests would teach that right programs are wrong.

The solutions run in the sandbox services that MADRL_SANDBOX_URLS names, through the verifier that judges a model's
responses. Each verdict is appended to a file as it comes, so that a check that was killed goes on where it was; delete
the file to check again, after a change of the sandbox's toolchains for instance.
"""

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TextIO

from data_prep.splits import DroppedRow
from madrl.errors import MadrlError
from madrl.files import read_jsonl
from madrl.grading.programs.fleet import all_addresses
from madrl.grading.programs.program import URLS_VARIABLE, default_client, sandbox_urls
from madrl.grading.verifiers import load_verifier
from madrl.progress import progress
from madrl.rollout import Rollout, Verdict, Verification

MAX_SOLUTIONS = 3
"""Solutions of a problem that are tried, one after the other, until one is accepted."""
AT_A_TIME = 32
"""Programs under way: enough for a machine's slots, few enough that their tests fit in memory."""
HEALTH_TIMEOUT_S = 30.0
"""A service that is gone refuses at once; a busy one may be slow."""
WATCH_EVERY_S = 15.0
MAX_SILENCES = 4
"""How often in a row no service answers before the check is given up."""


class Solution(NamedTuple):
    """A program that is said to be correct."""

    language: str
    code: str


class Candidate(NamedTuple):
    """A problem whose solutions are to be tried."""

    origin: str
    source_split: str
    name: str
    ground_truth: str
    """The ground truth with the tests where they are now."""
    key: str
    """Its tests and limits, whatever folder the tests are in."""
    solutions: Sequence[Solution]
    """Those to try, in this order."""
    has_checker: bool = False
    """Whether a program of the problem's own says which outputs are right."""


class ReferenceCheck(NamedTuple):
    """What came of trying the problems' own solutions."""

    dropped: dict[str, DroppedRow]
    """Origin -> the dropped row, for each problem none of whose solutions is accepted."""
    disputed: list[str]
    """The names of problems without a checker of which a solution that was tried gives another output than expected:
    perhaps several are right."""


def checked_references(candidates: Sequence[Candidate], verdicts: Path) -> ReferenceCheck:
    """Try the problems' own solutions. Problems without one are left alone.

    ``verdicts`` is the file of verdicts so far. Raises MadrlError when no sandbox answers.
    """
    candidates = [candidate for candidate in candidates if candidate.solutions]
    if not candidates:
        return ReferenceCheck({}, [])
    known = _known_verdicts(verdicts)
    with verdicts.open("a", encoding="utf-8") as file:
        return asyncio.run(_checked(candidates, known, file))


def _known_verdicts(path: Path) -> dict[str, str]:
    """Key -> the reason why the program was not accepted, or ""."""
    if not path.exists():
        return {}
    written = path.read_bytes()
    if not written.endswith(b"\n"):  # killed in the middle of a line
        path.write_bytes(written[: written.rfind(b"\n") + 1])
    return {line["program"]: line["rejected"] for line in read_jsonl(path)}


def to_try(solutions: Sequence[Solution]) -> list[Solution]:
    """MAX_SOLUTIONS of them: the first of each language, then the second of each, and so on, as what one language lacks
    another may have."""
    seen: Counter[str] = Counter()
    order = {"cpp": 0, "python": 1, "java": 2}  # the cheapest to judge first
    ranks = []
    for i, (language, _) in enumerate(solutions):
        ranks.append((seen[language], order[language], i))
        seen[language] += 1
    return [solutions[i] for _, _, i in sorted(ranks)[:MAX_SOLUTIONS]]


def fenced(solution: Solution) -> str:
    """The program as a response; the fence is longer than any that the code could have."""
    fence = "`" * 3
    while fence in solution.code:
        fence += "`"
    return f"{fence}{solution.language}\n{solution.code}\n{fence}\n"


async def _checked(candidates: Sequence[Candidate], known: Mapping[str, str], file: TextIO) -> ReferenceCheck:
    """What checked_references says, with the verdicts ``known``; new ones are appended to ``file``."""
    verify, turns = load_verifier("code"), asyncio.Semaphore(AT_A_TIME)
    drops: dict[str, DroppedRow] = {}
    disputed: list[str] = []

    async def check(candidate: Candidate) -> None:
        tried = []
        async with turns:
            for solution in candidate.solutions:
                key = hashlib.sha256(json.dumps([candidate.key, *solution]).encode()).hexdigest()
                rejected = known.get(key)
                if rejected is None:
                    verification = await verify(Rollout(fenced(solution), candidate.ground_truth))
                    rejected = _noted(key, verification, file)
                if not rejected:
                    break
                tried.append(f"{solution.language} {rejected}")
            else:
                ungraded = any("ungraded" in reason for reason in tried)
                drops[candidate.origin] = DroppedRow(
                    candidate.origin,
                    candidate.source_split,
                    "reference_ungraded" if ungraded else "reference_rejected",
                    f"{candidate.name}: {'; '.join(tried)}",
                )
        if not candidate.has_checker and any(reason.endswith(" wa") for reason in tried):
            disputed.append(candidate.name)
        advance(1)

    with progress("grading reference solutions", len(candidates)) as advance:
        if not await _sandbox_answers():
            raise _no_sandbox()
        checks = asyncio.gather(*map(check, candidates))
        watch = asyncio.create_task(_watch_sandbox())
        watch.add_done_callback(lambda _: checks.cancel())
        try:
            await checks
        except asyncio.CancelledError:
            if watch.done():
                watch.result()  # raises
            raise
        finally:
            watch.cancel()
            await default_client().aclose()
    return ReferenceCheck(drops, sorted(disputed))


def _noted(key: str, verification: Verification, file: TextIO) -> str:
    """Why the program was not accepted, or "". What could not be graded is tried again next time."""
    if verification.verdict is Verdict.UNGRADED:
        return f"ungraded ({verification.reason})"
    rejected = "" if verification.verdict is Verdict.CORRECT else verification.reason or "incorrect"
    file.write(json.dumps({"program": key, "rejected": rejected}) + "\n")
    file.flush()
    return rejected


async def _watch_sandbox() -> None:
    """Raises MadrlError once no service has answered for a while: each verdict alone would be waited for much longer,
    which is right in the middle of a training step, and not here."""
    silences = 0
    while silences < MAX_SILENCES:
        await asyncio.sleep(WATCH_EVERY_S)
        silences = 0 if await _sandbox_answers() else silences + 1
    raise _no_sandbox()


async def _sandbox_answers() -> bool:
    """Whether any service is there, ready or not."""
    import httpx

    async with httpx.AsyncClient(timeout=HEALTH_TIMEOUT_S, trust_env=False) as http:
        for url in all_addresses(sandbox_urls()):
            try:
                await http.get(f"{url.rstrip('/')}/health")
            except (httpx.HTTPError, httpx.InvalidURL):
                continue
            return True
    return False


def _no_sandbox() -> MadrlError:
    return MadrlError(
        f"no sandbox answers at {', '.join(sandbox_urls())}: start one (python -m sandbox), name others in "
        f"{URLS_VARIABLE}, or pass --no_reference_check; the verdicts so far are kept"
    )

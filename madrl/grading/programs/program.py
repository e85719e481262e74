"""CODE: the language of the program in a response, and whether it passes its row's tests, run as that language.

Both look at the very same object (``madrl.grading.programs.extract``), so that a category can't be earned with anything
but what is graded.

The programs run in the sandbox service, never here. Its replicas are named by the environment variable
MADRL_SANDBOX_URLS, since a verifier is a function of the rollout alone and the machines belong to a run, not to a row.
"""

import json
import os
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from madrl.errors import MadrlError
from madrl.extras import require
from madrl.grading.programs.extract import last_program
from madrl.grading.turns import clients
from madrl.rollout import Classification, Rollout, Verification
from madrl.tasks import PROGRAMMING_LANGUAGES

if TYPE_CHECKING:
    from madrl.grading.programs.sandbox_client import SandboxClient

URLS_VARIABLE = "MADRL_SANDBOX_URLS"
TOKEN_FILE_VARIABLE = "MADRL_SANDBOX_TOKEN_FILE"
DEFAULT_URL = "http://127.0.0.1:8080"
DEADLINE_S = 900.0
"""The time for a response's verdict from the moment that it gets its turn, so that a slow service loses none of
a batch. It is enough to restart a service in the middle of a step without losing a verdict."""

TRIED_EXEC = "tried to start another program"

LIMITS = {"time_limit_s", "memory_limit_mb", "checker"}
"""What a ground truth may say beside its tests, in the service's words; the service has the defaults."""


def classify_programming_language(rollout: Rollout) -> Classification:
    """The language that the response's program really is in, with a reason where that is not what its fence says.

    Off-support with ``no_program`` when there is none, and with what the fence said when its code is in no language of
    ours.
    """
    program = last_program(rollout.response)
    if program is None:
        return Classification(None, "no_program")
    return Classification(program.language, program.reason)


class ProgrammingLanguageClassifier:
    """``classify_programming_language`` among the declared languages: a program in another one is off-support.

    Args:
        categories: the declared ones, some of PROGRAMMING_LANGUAGES; all of them where none are declared.

    Raises MadrlError for another category.
    """

    def __init__(self, *, categories: Sequence[str] = ()) -> None:
        if unknown := [name for name in categories if name not in PROGRAMMING_LANGUAGES]:
            raise MadrlError(f"{unknown[0]!r} is none of its languages: declare some of {list(PROGRAMMING_LANGUAGES)}")
        self._declared = frozenset(categories or PROGRAMMING_LANGUAGES)

    def __call__(self, rollout: Rollout) -> Classification:
        """The response's language, None where it is not declared."""
        found = classify_programming_language(rollout)
        if found.category is None or found.category in self._declared:
            return found
        return Classification(None, f"other language: {found.category}")


def languages_among(categories: Sequence[str]) -> tuple[str, ...]:
    """The programming languages that are declared categories; all of ours where none is, as in a task whose categories
    are something else."""
    return tuple(name for name in PROGRAMMING_LANGUAGES if name in categories) or tuple(PROGRAMMING_LANGUAGES)


async def verify_program(rollout: Rollout, *, partial: bool = False, categories: Sequence[str] = ()) -> Verification:
    """CORRECT when the response's program (madrl.grading.programs.extract) passes every test; the answer is its code.

    With ``partial`` the correctness is the share of the tests that it passes. All are run then, which takes longer for
    programs that are wrong, but no more after one that runs out of time: those behind it count as not passed.

    Else INCORRECT, or correct in part, with the first failure's verdict as reason (``wa tle mle re ce ole``).
    INCORRECT with ``no_program`` when there is none, ``no_language`` when it is in no language of ours, whatever its
    fence says, and ``other language: ...`` when it is in none of ``languages_among(categories)``: the sandboxes need
    not have that one. UNGRADED when the row's tests are at fault (``program_tests``) or the service gave no verdict.

    A program that tried to start another one, which the service refuses, has TRIED_EXEC in its reason, and is unusual,
    whatever its verdict.
    """
    program = last_program(rollout.response)
    if program is None:
        return Verification(0.0, reason="no_program")
    if program.language is None:
        return Verification(0.0, answer=program.code, reason="no_language")
    if program.language not in languages_among(categories):
        return Verification(0.0, answer=program.code, reason=f"other language: {program.language}")
    try:
        tests = program_tests(rollout.ground_truth)
    except MadrlError as error:
        return Verification(None, answer=program.code, reason=str(error))
    how = {"stop_on_first_failure": False, "stop_on_timeout": True} if partial else {"stop_on_first_failure": True}
    graded = await default_client().judge({"language": program.language, "code": program.code, **tests, **how})
    if graded.verdict is None:
        return Verification(None, answer=program.code, reason=graded.reason)
    failure = "" if graded.verdict == "AC" else graded.verdict.lower()
    tried = TRIED_EXEC if graded.tried_exec else ""
    return Verification(
        (graded.passed if partial else 0.0) if failure else 1.0,
        answer=program.code,
        reason=", ".join(filter(None, (failure, tried))),
        unusual=tried,
    )


@lru_cache(maxsize=64)
def program_tests(ground_truth: str) -> dict[str, Any]:
    """The part of a request to ``/judge`` that a row decides, parsed once for its group: ``{"tests": [{"input": str,
    "output": str}, ...]}``, with LIMITS where the row names them. Not to be changed by the caller.

    A row whose tests are large says ``{"tests_file": PATH}`` instead, a file that holds ``{"tests": [...]}``: parquet
    and every copy of the row that veRL makes then carry a path. Raises MadrlError when it is anything else.
    """
    where = f"program ground_truth {_start(ground_truth)}"
    row = _parse(ground_truth, where)
    if "tests_file" in row and "tests" not in row:
        path = row.pop("tests_file")
        if not isinstance(path, str) or not Path(path).is_absolute():
            raise MadrlError(f"{where}: tests_file {path!r} is no absolute path: prepare the data again")
        try:
            text = Path(path).read_text("utf-8")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise MadrlError(
                f"program ground_truth: cannot read {path} ({reason}): prepare the data again where the tests now lie"
            ) from None
        where = f"program ground_truth: {path}"
        row |= _parse(text, where)
    tests = row.get("tests")
    if not isinstance(tests, list) or not tests or not all(map(_is_test, tests)):
        raise MadrlError(f'{where} has no tests: write it as {{"tests": [{{"input": "...", "output": "..."}}]}}')
    unknown = row.keys() - {"tests"} - LIMITS
    if unknown:
        raise MadrlError(f"program ground_truth has unknown fields {sorted(unknown)}: use tests, {sorted(LIMITS)}")
    return row


def _parse(text: str, where: str) -> dict[str, Any]:
    try:
        parsed = json.loads(text)
    except ValueError as error:
        raise MadrlError(f"{where} is not JSON: {error}") from None
    return parsed if isinstance(parsed, dict) else {}


def _is_test(test: object) -> bool:
    fields = test if isinstance(test, dict) else {}
    return fields.keys() == {"input", "output"} and all(isinstance(text, str) for text in fields.values())


def _start(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:80]}...")


@cache
def default_client() -> "SandboxClient":
    """This process's client of the services at sandbox_urls().

    Set the variable before the first verdict. Raises MadrlError for what is no URL.
    """
    # httpx takes a tenth of a second to import, and most who import the verifiers never judge a program.
    require("programs")
    from madrl.grading.programs.sandbox_client import SandboxClient

    return SandboxClient(sandbox_urls(), deadline_s=DEADLINE_S, headers=sandbox_headers(), clients=clients())


def sandbox_urls() -> list[str]:
    """The services in MADRL_SANDBOX_URLS, comma-separated; DEFAULT_URL when it is unset. Nobody else reads it."""
    return os.environ.get(URLS_VARIABLE, "").replace(",", " ").split() or [DEFAULT_URL]


def sandbox_headers() -> dict[str, str]:
    """What tells the services who asks: the token in the file that MADRL_SANDBOX_TOKEN_FILE names; nothing when it is
    unset. Nobody else reads it. Raises MadrlError when the file cannot be read."""
    file = os.environ.get(TOKEN_FILE_VARIABLE)
    if not file:
        return {}
    try:
        return {"Authorization": f"Bearer {Path(file).read_text(encoding='ascii').strip()}"}
    except (OSError, ValueError) as error:
        raise MadrlError(f"cannot read the sandbox's token ({TOKEN_FILE_VARIABLE}): {error}") from error

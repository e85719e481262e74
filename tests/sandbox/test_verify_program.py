"""A response gets its verdict through the real client and the real service."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest

from madrl.grading.programs.program import URLS_VARIABLE, default_client, verify_program
from madrl.rollout import Rollout, Verdict, Verification

if TYPE_CHECKING:
    from sandbox_service import Service

pytestmark = pytest.mark.sandbox

GROUND_TRUTH = json.dumps(
    {"tests": [{"input": f"{n}\n", "output": f"{2 * n} \n"} for n in range(5)], "time_limit_s": 3}
)
SOLUTIONS = {
    "python": "print(2 * int(input()))",
    "cpp": "#include <iostream>\nint main() { int n; std::cin >> n; std::cout << 2 * n; }",
    "java": "import java.util.Scanner;\npublic class Double {\n  public static void main(String[] args) {\n"
    "    System.out.println(2 * new Scanner(System.in).nextInt());\n  }\n}",
    "go": 'package main\n\nimport "fmt"\n\nfunc main() {\n\tvar n int\n\tfmt.Scan(&n)\n\tfmt.Println(2 * n)\n}',
    "javascript": "console.log(2 * Number(require('fs').readFileSync(0, 'utf8')))",
}


@pytest.fixture(autouse=True)
async def client(service: "Service", monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """This process's client asks the service."""
    monkeypatch.setenv(URLS_VARIABLE, service.url)
    default_client.cache_clear()
    yield
    await default_client().aclose()
    default_client.cache_clear()


async def verify(code: str, tag: str = "python") -> Verification:
    return await verify_program(Rollout(f"Here:\n\n```{tag}\n{code}\n```\n", GROUND_TRUTH))


@pytest.mark.parametrize("language", SOLUTIONS)
async def test_a_right_program_is_correct(language: str) -> None:
    assert await verify(SOLUTIONS[language], language) == Verification(1.0, f"{SOLUTIONS[language]}\n")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("print(3 * int(input()))", "wa"),
        ("n = int(input())\nprint(2 * n", "ce"),
        ("print(1 / 0)", "re"),
        ("while True: pass", "tle"),
        ("while True: print('x' * 65536)", "ole"),
        ("print('\x00')", "ce"),
        ("print('\ud800')", "wa"),
        ("# " + "x" * (2 << 20), "no_language"),
    ],
    ids=["wrong", "syntax", "crash", "endless", "flood", "NUL", "half a surrogate pair", "2 MiB"],
)
async def test_a_program_that_fails_is_incorrect_for_its_verdict(code: str, reason: str) -> None:
    judged = await verify(code)
    assert (judged.correctness, judged.reason) == (0.0, reason)


@pytest.mark.parametrize(
    ("code", "correctness", "reason"),
    [
        (SOLUTIONS["python"], 1.0, ""),
        ("n = int(input())\nprint(2 * n if n != 1 else 0)", 0.8, "wa"),
        ("n = int(input())\nassert n != 2\nprint(0)", 0.2, "wa"),
        ("n = int(input())\nwhile n == 3: pass\nprint(2 * n)", 0.6, "tle"),
        ("n = int(input())\nprint(2 * n", 0.0, "ce"),
    ],
    ids=["right", "wrong once", "crash", "endless", "syntax"],
)
async def test_a_program_is_correct_in_part_for_the_tests_that_it_passes(
    code: str, correctness: float, reason: str
) -> None:
    judged = await verify_program(Rollout(f"```python\n{code}\n```\n", GROUND_TRUTH), partial=True)
    assert (judged.correctness, judged.reason) == (correctness, reason)


async def test_one_languages_code_under_anothers_tag_is_run_as_what_it_is() -> None:
    assert (await verify(SOLUTIONS["python"], "cpp")).verdict is Verdict.CORRECT


async def test_killing_and_restarting_the_service_in_the_middle_of_a_batch_loses_no_verdict(service: "Service") -> None:
    codes = [f"{SOLUTIONS['python']}  # {n}" if n % 2 else f"print({n})" for n in range(200)]
    batch = asyncio.gather(*(verify(code) for code in codes))
    await asyncio.sleep(1.0)
    unfinished = not batch.done()
    await asyncio.to_thread(service.kill)
    await asyncio.to_thread(service.start)
    judged = await batch
    await asyncio.to_thread(service.warm_up)
    assert unfinished
    assert [verification.correctness for verification in judged] == [n % 2 == 1 for n in range(200)]

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from scripted_service import Reply, ScriptedService, verdict

from madrl import GroupReward
from madrl.errors import MadrlError
from madrl.grading.programs.program import (
    TRIED_EXEC,
    URLS_VARIABLE,
    classify_programming_language,
    default_client,
    program_tests,
    verify_program,
)
from madrl.grading.verifiers import load_verifier
from madrl.rollout import Rollout, Verdict, Verification

TESTS = [{"input": "2\n", "output": "4\n"}]
GROUND_TRUTH = json.dumps({"tests": TESTS})
RESPONSE = "Double it:\n```py\nprint(2 * int(input()))\n```\n"
CODE = "print(2 * int(input()))\n"
GO = '```go\npackage main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Println(4)\n}\n```\n'
RUST = 'fn main() {\n    let mut n = 4;\n    println!("{}", n);\n}\n'


@pytest.fixture
async def service(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ScriptedService]:
    """The service that this process's client asks; accepts everything until told otherwise."""

    async def accept(request: dict[str, Any]) -> Reply:
        return verdict()

    default_client.cache_clear()
    async with ScriptedService(accept) as running:
        monkeypatch.setenv(URLS_VARIABLE, running.url)
        yield running
        await default_client().aclose()
    default_client.cache_clear()


def always(service: ScriptedService, reply: Reply) -> None:
    async def handler(request: dict[str, Any]) -> Reply:
        return reply

    service.handler = handler


async def test_an_accepted_program_is_correct_and_its_code_is_the_answer(service: ScriptedService) -> None:
    assert await verify_program(Rollout(RESPONSE, GROUND_TRUTH)) == Verification(1.0, CODE)
    assert service.requests == [{"language": "python", "code": CODE, "tests": TESTS, "stop_on_first_failure": True}]


@pytest.mark.parametrize("letters", ["WA", "TLE", "MLE", "RE", "CE", "OLE"])
async def test_a_program_that_fails_is_incorrect_for_its_verdict(service: ScriptedService, letters: str) -> None:
    always(service, verdict(letters))
    assert await verify_program(Rollout(RESPONSE, GROUND_TRUTH)) == Verification(0.0, CODE, letters.lower())


@pytest.mark.parametrize(
    ("letters", "correctness", "reason"),
    [("AC", 1.0, "tried to start another program"), ("WA", 0.0, "wa, tried to start another program")],
)
async def test_a_program_that_tried_to_start_another_says_so_whatever_its_verdict(
    service: ScriptedService, letters: str, correctness: float, reason: str
) -> None:
    always(service, verdict(letters, tried_exec=True))
    graded = await verify_program(Rollout(RESPONSE, GROUND_TRUTH))
    assert graded == Verification(correctness, CODE, reason, unusual=TRIED_EXEC)


@pytest.mark.parametrize(
    ("letters", "tests", "total", "correctness"),
    [
        ("AC", "AC AC AC AC", 4, 1.0),
        ("WA", "AC WA AC AC", 4, 0.75),
        ("RE", "RE WA WA RE", 4, 0.0),
        ("WA", "AC WA AC TLE", 5, 0.4),  # no test is run behind one that runs out of time
        ("CE", "", 4, 0.0),
    ],
)
async def test_a_program_that_passes_some_tests_is_correct_in_part_on_request(
    service: ScriptedService, letters: str, tests: str, total: int, correctness: float
) -> None:
    always(service, verdict(letters, tests=tests, total=total))
    graded = await verify_program(Rollout(RESPONSE, GROUND_TRUTH), partial=True)
    assert graded == Verification(correctness, CODE, "" if letters == "AC" else letters.lower())
    asked = {"stop_on_first_failure": False, "stop_on_timeout": True}
    assert service.requests == [{"language": "python", "code": CODE, "tests": TESTS, **asked}]
    whole = await verify_program(Rollout(RESPONSE, GROUND_TRUTH))
    assert whole.correctness == float(letters == "AC")


async def test_an_internal_error_is_ungraded_and_never_wrong(service: ScriptedService) -> None:
    always(service, verdict("IE", "no space left"))
    graded = await verify_program(Rollout(RESPONSE, GROUND_TRUTH))
    assert (graded.correctness, graded.answer) == (None, CODE)
    assert "no space left" in graded.reason


async def test_a_group_with_a_program_in_a_language_that_no_sandbox_has_is_not_scored(service: ScriptedService) -> None:
    """It would earn the mean of its siblings for its choice, where a wrong program earns nothing."""

    async def only_python(request: dict[str, Any]) -> Reply:
        missing = b'{"detail": "go is not served here: apt-get install golang"}'
        return verdict("WA") if request["language"] == "python" else Reply(501, missing)

    service.handler = only_python
    reward = GroupReward(categories=("python", "go"), classifier="programming_language", verifier="code")
    python, go = Rollout(RESPONSE, GROUND_TRUTH), Rollout(GO, GROUND_TRUTH)
    assert (await reward([python, python])).correctness.tolist() == [0.0, 0.0]
    with pytest.raises(MadrlError, match=r"^no sandbox serves go \(.*: apt-get install golang"):
        await reward([python, go])


async def test_nor_is_one_whose_prompt_does_not_want_that_language_or_that_an_attribute_s_classifier_failed_on(
    service: ScriptedService,
) -> None:
    async def only_python(request: dict[str, Any]) -> Reply:
        return verdict("WA") if request["language"] == "python" else Reply(501, b'{"detail": "go is not served here"}')

    def raises(rollout: Rollout) -> str:
        raise ConnectionError("down")

    service.handler = only_python
    options: dict[str, Any] = {"classifier": "programming_language", "verifier": "code"}
    own = {"target": json.dumps({"python": 1, "java": 1}), "categories": json.dumps(["python", "java"])}
    group = [Rollout(text, GROUND_TRUTH, extra_info=own) for text in (RESPONSE, GO)]
    with pytest.raises(MadrlError, match=r"none of this prompt's; no sandbox serves go"):
        await GroupReward(categories=("python", "go", "java"), **options)(group)
    attributes = {"tone": {"classifier": raises, "categories": ["kind", "blunt"]}}
    with pytest.raises(MadrlError, match=r"attribute tone: .*: down; no sandbox serves go"):
        await GroupReward(categories=("python", "go"), attributes=attributes, **options)(
            [Rollout(text, GROUND_TRUTH) for text in (RESPONSE, GO)]
        )


async def test_a_program_in_a_language_that_is_not_declared_is_wrong_and_asks_no_sandbox(
    service: ScriptedService,
) -> None:
    reward = GroupReward(categories=("python", "java"), classifier="programming_language", verifier="code")
    grade = await reward.grade(Rollout(GO, GROUND_TRUTH))
    assert (grade.category, grade.correctness, grade.reason) == (None, 0.0, "other language: go")
    assert service.requests == []
    of_lengths = GroupReward(categories=("short", "long"), classifier=lambda _: "short", verifier="code")
    await of_lengths.grade(Rollout(GO, GROUND_TRUTH))
    assert [asked["language"] for asked in service.requests] == ["go"]


@pytest.mark.parametrize("response", ["", "4", "```python\n```", "`print(4)`"])
async def test_a_response_without_a_program_is_incorrect(service: ScriptedService, response: str) -> None:
    assert await verify_program(Rollout(response, GROUND_TRUTH)) == Verification(0.0, None, "no_program")
    assert service.requests == []


@pytest.mark.parametrize("tag", ["", "rust", "text"])
async def test_a_program_in_no_language_of_ours_is_incorrect(service: ScriptedService, tag: str) -> None:
    graded = await verify_program(Rollout(f"```{tag}\n{RUST}```", GROUND_TRUTH))
    assert graded == Verification(0.0, RUST, "no_language")
    assert service.requests == []


async def test_a_broken_row_is_ungraded_and_never_wrong(service: ScriptedService) -> None:
    graded = await verify_program(Rollout(RESPONSE, "4"))
    assert (graded.correctness, graded.answer) == (None, CODE)
    assert "has no tests" in graded.reason
    assert service.requests == []


async def test_the_rows_limits_and_checker_reach_the_service(service: ScriptedService) -> None:
    row = {"tests": TESTS, "time_limit_s": 1.5, "memory_limit_mb": 512, "checker": {"mode": "lines"}}
    await verify_program(Rollout(RESPONSE, json.dumps(row)))
    assert service.requests[0].items() >= row.items()


async def test_half_a_surrogate_pair_and_nul_in_the_code_are_graded(service: ScriptedService) -> None:
    always(service, verdict("CE"))
    graded = await verify_program(Rollout("```python\nx = '\ud800\x00'\n```", GROUND_TRUTH))
    assert (graded.correctness, graded.reason) == (0.0, "ce")
    assert service.requests[0]["code"] == "x = '?\x00'\n"


@pytest.mark.parametrize(
    "ground_truth",
    [
        "",
        "4",
        "null",
        "[]",
        "{}",
        '{"tests": []}',
        '{"tests": {}}',
        '{"tests": ["4"]}',
        '{"tests": [{"input": "2"}]}',
        '{"tests": [{"input": "2", "output": 4}]}',
        '{"tests": [{"input": "2", "output": "4", "points": "1"}]}',
        '{"tests": [{"input": "2", "output": "4"}], "timelimit": 2}',
        '{"tests_file": "tests.json"}',
        '{"tests_file": "/nowhere/tests.json"}',
        '{"tests_file": 1}',
        '{"tests_file": "/dev/null"}',
        '{"tests_file": "/tmp/a.json", "tests": [{"input": "2", "output": "4"}]}',
    ],
)
def test_a_ground_truth_that_is_no_set_of_tests_is_refused(ground_truth: str) -> None:
    with pytest.raises(MadrlError, match="program ground_truth") as raised:
        program_tests(ground_truth)
    assert len(str(raised.value)) < 300


async def test_tests_in_a_file_of_their_own_are_graded_as_if_they_stood_in_the_row(
    service: ScriptedService, tmp_path: Path
) -> None:
    file = tmp_path / "tests.json"
    file.write_text(GROUND_TRUTH)
    row = json.dumps({"tests_file": str(file), "time_limit_s": 1.5})
    assert (await verify_program(Rollout(RESPONSE, row))).verdict is Verdict.CORRECT
    assert service.requests[0].items() >= {"tests": TESTS, "time_limit_s": 1.5}.items()
    assert "tests_file" not in service.requests[0]


async def test_a_tests_file_that_is_gone_is_ungraded_and_named(service: ScriptedService, tmp_path: Path) -> None:
    row = json.dumps({"tests_file": str(tmp_path / "gone.json")})
    graded = await verify_program(Rollout(RESPONSE, row))
    assert graded.verdict is Verdict.UNGRADED
    assert f"{tmp_path}/gone.json (No such file or directory)" in graded.reason


def test_an_error_shows_no_more_than_the_start_of_a_ground_truth() -> None:
    with pytest.raises(MadrlError) as raised:
        program_tests("x" * 10_000)
    assert len(str(raised.value)) < 300


def test_a_ground_truth_is_parsed_once_for_its_group() -> None:
    program_tests.cache_clear()
    for _ in range(16):
        program_tests(GROUND_TRUTH)
    assert program_tests.cache_info().misses == 1


def test_the_services_are_those_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, urls in [
        (None, ["http://127.0.0.1:8080"]),
        ("", ["http://127.0.0.1:8080"]),
        ("http://a:1", ["http://a:1"]),
        ("http://a:1, http://b:2,", ["http://a:1", "http://b:2"]),
    ]:
        monkeypatch.delenv(URLS_VARIABLE, raising=False)
        if value is not None:
            monkeypatch.setenv(URLS_VARIABLE, value)
        default_client.cache_clear()
        assert default_client().urls == urls
        assert default_client() is default_client()
    default_client.cache_clear()


async def test_the_token_in_the_file_that_the_environment_names_goes_with_every_request(
    service: ScriptedService, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    monkeypatch.setenv("MADRL_SANDBOX_TOKEN_FILE", str(file))
    default_client.cache_clear()
    with pytest.raises(MadrlError, match="MADRL_SANDBOX_TOKEN_FILE"):
        default_client()
    file.write_text("secret\n")
    await verify_program(Rollout(RESPONSE, GROUND_TRUTH))
    assert "authorization: bearer secret\r\n" in service.heads[-1].lower()


POLYGLOTS = {
    "python and javascript": "1 // 1; '''\nprocess.stdout.write('4\\n')\n// '''\n# print(4)\n",
    "cpp and python": (
        '#include <iostream>\n#if 0\nprint(4)\nimport sys\nsys.exit()\n"""\n#endif\n'
        'int main() { std::cout << 4; }\n#if 0\n"""\n#endif\n'
    ),
    "cpp and java": (
        "//\\u000a/*\n#include <iostream>\nint main() { std::cout << 4; }\n//*/ class Main { "
        "public static void main(String[] a) { System.out.println(4); } }\n"
    ),
}


@pytest.mark.parametrize("tag", ["", "python", "cpp", "java", "go", "javascript", "typescript"])
@pytest.mark.parametrize("polyglot", POLYGLOTS)
async def test_a_text_that_is_a_program_in_two_languages_is_run_in_its_category(
    service: ScriptedService, polyglot: str, tag: str
) -> None:
    rollout = Rollout(f"```{tag}\n{POLYGLOTS[polyglot]}```", GROUND_TRUTH)
    await verify_program(rollout)
    category = classify_programming_language(rollout).category
    assert [asked["language"] for asked in service.requests] == ([category] if category else [])


def test_code_names_this_verifier() -> None:
    assert load_verifier("code") is verify_program


def test_httpx_is_not_imported_before_the_first_verdict() -> None:
    check = "import sys, madrl.grading.verifiers; print('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout == "False\n"

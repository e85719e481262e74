"""A run that needs a sandbox asks for it, and for its languages, before it starts."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from scripted_engine import write_model, write_rows
from scripted_service import Reply, ScriptedService, script_nothing

from madrl.doctor import _sandbox
from madrl.errors import MadrlError
from madrl.grading.grader import GraderSpec
from madrl.grading.programs.program import URLS_VARIABLE
from madrl.grading.programs.sandbox_health import health_of
from madrl.grading.verifiers import check_ready
from madrl.run import judges
from madrl.sampling.engine import Sampling
from madrl.sampling.generate import generate_file
from sandbox.__main__ import protect
from sandbox.settings import ServiceSettings

ALL = ("python", "cpp", "java", "go", "javascript")
NOBODY = "http://127.0.0.1:9"
"""The discard port, where no service is."""


def healthy(*languages: str, protection: str = "full") -> Reply:
    """What a sandbox with these languages says."""
    missing = {name: f"apt-get install {name}" for name in ALL if name not in languages}
    served = {name: name in languages for name in ALL}
    body = {"status": "ok", "languages": served, "missing": missing, "slots": 2, "protection": protection}
    return Reply(body=json.dumps(body).encode())


@pytest.fixture
async def services() -> AsyncIterator[tuple[ScriptedService, ScriptedService]]:
    async with ScriptedService(script_nothing) as one, ScriptedService(script_nothing) as other:
        yield one, other


async def ready(categories: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, *urls: str) -> None:
    monkeypatch.setenv(URLS_VARIABLE, ",".join(urls))
    await asyncio.to_thread(check_ready, "code", categories)


async def test_a_sandbox_with_the_runs_languages_is_enough(
    services: tuple[ScriptedService, ScriptedService], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = services
    one.health = healthy("python", "go")
    await ready(("python", "go"), monkeypatch, one.url)
    await ready(("python",), monkeypatch, NOBODY, one.url)


async def test_a_run_whose_categories_are_no_languages_is_told_which_ones_would_stop_it(
    services: tuple[ScriptedService, ScriptedService],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    one, _ = services
    one.health = healthy("python", "go", "java", "cpp")
    await ready(("python", "go"), monkeypatch, one.url)
    assert capsys.readouterr().err == ""
    await ready(("short", "long"), monkeypatch, one.url + "/")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"no sandbox serves javascript ({one.url}: apt-get install javascript): a run stops at the ")


async def test_what_a_lower_level_of_protection_loses_is_said_in_a_line(
    services: tuple[ScriptedService, ScriptedService],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    one, other = services
    one.health, other.health = healthy(*ALL), healthy(*ALL, protection="portable")
    await ready(ALL, monkeypatch, one.url, other.url)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"sandbox at {other.url}: protection portable, not full: without cgroups a program can use")
    other.health = healthy(*ALL, protection="weak")
    await ready(ALL, monkeypatch, other.url)
    assert "protection weak, not full: a program can read" in capsys.readouterr().err
    await ready(ALL, monkeypatch, one.url)
    assert capsys.readouterr().err == ""


@pytest.mark.sandbox
def test_a_sandbox_that_finds_no_cgroups_is_taken_and_the_run_says_what_that_loses(
    own_service: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    service = own_service("--no-cgroups")
    monkeypatch.setenv(URLS_VARIABLE, service.url)
    check_ready("code", ALL)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"sandbox at {service.url}: protection portable, not full: without cgroups")


@pytest.mark.sandbox
def test_a_run_s_own_sandbox_has_java_s_loop_and_the_best_protection_that_the_machine_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SANDBOX_URL", URLS_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    groups, best, _ = protect(ServiceSettings())
    if groups:
        groups.remove()
    with judges(tmp_path) as variables:
        health = httpx.get(f"{variables[URLS_VARIABLE]}/health", timeout=300).json()
    assert (health["java_loop"], health["protection"]) == (True, best)


async def test_the_replicas_may_share_the_languages_between_them(
    services: tuple[ScriptedService, ScriptedService], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = services
    one.health, other.health = healthy("python", "cpp", "java"), healthy("go", "javascript")
    await ready(ALL, monkeypatch, one.url, other.url)


async def test_a_language_that_no_replica_has_is_named_with_what_to_install(
    services: tuple[ScriptedService, ScriptedService], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = services
    one.health, other.health = healthy("python", "cpp"), healthy("python")
    with pytest.raises(MadrlError, match="no sandbox serves java") as raised:
        await ready(("python", "cpp", "java"), monkeypatch, one.url, other.url)
    for part in (f"{one.url}: apt-get install java", "madrl install sandbox", URLS_VARIABLE):
        assert part in str(raised.value)


@pytest.mark.parametrize(
    ("health", "trouble"),
    [
        (Reply(503, b'{"status": "broken"}'), "HTTP 503"),
        (Reply(404), "HTTP 404"),
        (Reply(body=b"<html>"), "no sandbox's answer"),
        (Reply(body=b"[]"), "no sandbox's answer"),
        (Reply(body=b"{}"), "no sandbox's answer"),
    ],
    ids=["broken", "another service", "a page", "a list", "an empty object"],
)
async def test_what_takes_no_programs_is_no_sandbox(
    services: tuple[ScriptedService, ScriptedService],
    monkeypatch: pytest.MonkeyPatch,
    health: Reply,
    trouble: str,
) -> None:
    one, _ = services
    one.health = health
    with pytest.raises(MadrlError, match="no sandbox answers") as raised:
        await ready((), monkeypatch, one.url, NOBODY)
    assert f"{one.url} ({trouble})" in str(raised.value)
    assert f"{NOBODY} (ConnectError)" in str(raised.value)


def test_a_url_that_is_none_is_no_sandbox() -> None:
    assert [health.trouble != "" for health in health_of(["nonsense", "http://[", ""])] == [True] * 3


async def test_the_token_goes_with_the_question_and_one_that_is_wrong_is_named(
    services: tuple[ScriptedService, ScriptedService], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one, other = services
    one.health, other.health = Reply(body=b'{"status": "ok"}'), healthy("python")
    (tmp_path / "token").write_text("secret")
    monkeypatch.setenv("MADRL_SANDBOX_TOKEN_FILE", str(tmp_path / "token"))
    found = await asyncio.to_thread(health_of, [one.url, other.url])
    assert "MADRL_SANDBOX_TOKEN_FILE" in found[0].trouble
    assert found[1].trouble == ""
    assert "authorization: bearer secret\r\n" in other.heads[-1].lower()


def test_other_verifiers_need_no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(URLS_VARIABLE, NOBODY)
    check_ready("math", ("en", "python"))
    check_ready("mine:verify", ("python",))


def test_verify_without_a_sandbox_ends_in_one_line_with_the_remedy(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    truth = {"tests": [{"input": "", "output": "1"}]}
    source.write_text(json.dumps({"response": "```python\nprint(1)\n```", "ground_truth": truth}) + "\n")
    command = [sys.executable, "-m", "madrl.cli", "verify", "code", str(source), "-o", str(tmp_path / "out.jsonl")]
    done = subprocess.run(
        command, env=os.environ | {URLS_VARIABLE: NOBODY}, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 2
    assert done.stderr == (
        f"madrl: error: no sandbox answers at {NOBODY} (ConnectError): start one (madrl install sandbox && "
        "madrl-sandbox), or name others in MADRL_SANDBOX_URLS\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_sampling_asks_for_the_sandbox_before_an_engine_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(URLS_VARIABLE, NOBODY)
    grader = GraderSpec("programming_language", "code", ALL)
    rows, model = write_rows(tmp_path / "rows.parquet", 2), write_model(tmp_path / "model")
    with pytest.raises(MadrlError, match="no sandbox answers"):
        generate_file(rows, tmp_path / "out.jsonl", Sampling(str(model)), grader, 1)


async def test_doctor_minds_a_missing_language_only_when_no_replica_has_it(
    services: tuple[ScriptedService, ScriptedService], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = services
    one.health, other.health = healthy("python", "cpp", "java"), healthy("python", "go")
    monkeypatch.setenv(URLS_VARIABLE, f"{one.url},{other.url}")
    first, second = await asyncio.to_thread(_sandbox)
    assert (first.ok, second.ok) == (False, False)
    assert (first.remedy, second.remedy) == ("apt-get install javascript",) * 2
    assert "no go" in first.detail
    one.health = healthy("python", "cpp", "java", "javascript")
    assert [check.ok for check in await asyncio.to_thread(_sandbox)] == [True, True]

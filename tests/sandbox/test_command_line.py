"""Starting the service: what it says and does when the machine lacks something."""

import contextlib
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from sandbox_service import START_S
from test_front import scripted
from test_service_death import until

from sandbox.__main__ import _run_server, bind, parse
from sandbox.errors import SandboxError
from sandbox.settings import Protection, ServiceSettings

pytestmark = pytest.mark.sandbox
ROOT = Path(__file__).parents[2]


def _start_fails(*arguments: str) -> str:
    """Standard error of a service that must refuse to start, with status 2."""
    done = subprocess.run(
        [sys.executable, "-m", "sandbox", "--port", "0", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2, done
    assert "Traceback" not in done.stderr
    return done.stderr


def test_it_refuses_to_start_below_the_protection_asked_for() -> None:
    message = _start_fails("--require", "full", "--no-cgroups")
    assert "protection is portable (cgroups are switched off), below --require full" in message


def test_protection_levels_are_ordered() -> None:
    assert Protection.FULL.at_least(Protection.PORTABLE)
    assert Protection.PORTABLE.at_least(Protection.PORTABLE)
    assert not Protection.WEAK.at_least(Protection.PORTABLE)


def test_a_state_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    if os.getuid():
        pytest.skip("only root can make a folder of another user")
    os.chown(tmp_path, 65534, 65534)
    assert "--state-dir" in _start_fails("--state-dir", str(tmp_path))


def test_a_port_in_use_is_one_clear_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "is another service there" in _start_fails("--port", str(taken.getsockname()[1]))


@pytest.mark.parametrize(
    "setting",
    [
        "--slots 0",
        "--port 70000",
        "--queue-size -5",
        "--drain-s nan",
        "--drain-s inf",
        "--cpu-weight 0",
        "--cache-mb -1",
        "--max-body-mb 0",
        "--budget-mb 100",
    ],
)
def test_a_setting_out_of_range_is_refused(setting: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(setting.split())
    assert setting in capsys.readouterr().err


async def test_two_services_at_one_address_are_one_clear_line_too(tmp_path: Path) -> None:
    """Both are bound before either listens."""
    with bind("127.0.0.1", 0, loopback_only=True) as first:
        port = first.getsockname()[1]
        with bind("127.0.0.1", port, loopback_only=True) as second:
            first.listen()
            _, state, _ = scripted(tmp_path)
            with pytest.raises(SandboxError, match="is another service there"):
                await _run_server(state, ServiceSettings(port=port), second)


def test_a_service_may_open_as_many_files_as_the_machine_lets_it(own_service: Any) -> None:
    """Its queue takes more requests than the usual limit of 1,024 has descriptors for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 1024), hard))
    try:
        service = own_service()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert resource.prlimit(service.pid, resource.RLIMIT_NOFILE) == (hard, hard)


def test_without_cgroups_the_portable_level_is_reported_and_holds_memory(own_service: Any) -> None:
    service = own_service("--no-cgroups")
    health = service.get("/health").json()
    assert (health["protection"], health["protection_detail"]) == ("portable", "cgroups are switched off")
    hoarder = "import time\nx = bytearray(300 << 20)\ntime.sleep(1)\nprint(1)"
    answer = service.judge(language="python", code=hoarder, tests=[{"output": "1"}], memory_limit_mb=64)
    assert answer["verdict"] == "MLE"


@pytest.mark.skipif(os.getuid() != 0, reason="hides a compiler by a mount, which needs root")
def test_a_missing_toolchain_is_named_and_the_others_are_served(own_service: Any, tmp_path: Path) -> None:
    compiler = os.path.realpath("/usr/bin/javac")
    hide = f"mount --bind /dev/null {compiler} && exec {sys.executable} -m sandbox --port %d"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = (tmp_path / "log").open("wb")
    process = subprocess.Popen(["unshare", "--mount", "sh", "-c", hide % port], cwd=ROOT, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + START_S
        health: dict[str, Any] = {}
        while not health and time.monotonic() < deadline:
            with contextlib.suppress(httpx.TransportError):
                health = httpx.get(f"{url}/health").json()
            time.sleep(0.1)
        assert health["languages"] == {name: name != "java" for name in health["languages"]}
        assert re.search("apt-get install default-jdk-headless", health["missing"]["java"])
        java = httpx.post(f"{url}/judge", json={"language": "java", "code": "", "tests": [{}]}, timeout=300)
        assert java.status_code == 501
        assert "default-jdk-headless" in java.text
        entry = next(e for e in httpx.get(f"{url}/languages", timeout=300).json() if e["name"] == "java")
        assert not entry["available"]
        good = httpx.post(f"{url}/judge", json={"language": "python", "code": "", "tests": [{}]}, timeout=300)
        assert good.json()["verdict"] == "AC"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(300)
    assert "sandbox: java: not served: javac is not installed" in (tmp_path / "log").read_text()


@pytest.mark.parametrize(
    ("drain_s", "signals"),
    [("0", [signal.SIGTERM]), ("3600", [signal.SIGINT, signal.SIGINT])],
    ids=["out of time", "a second Ctrl-C"],
)
def test_what_a_drain_has_no_time_for_is_told_to_come_again(own_service: Any, drain_s: str, signals: list[Any]) -> None:
    service = own_service("--slots", "2", "--drain-s", drain_s)
    routes: dict[str, dict[str, Any]] = {
        "/judge": {"tests": [{}], "time_limit_s": 60},
        "/run_code": {"run_timeout": 300},
    }
    with ThreadPoolExecutor(3) as pool:

        def ask(route: str) -> Future[httpx.Response]:
            body = {"language": "python", "code": service.held(), **routes[route]}
            return pool.submit(httpx.post, service.url + route, json=body, timeout=300)

        asked = [ask("/judge"), ask("/run_code")]
        assert until(lambda: service.holds() == 2)
        asked.append(ask("/judge"))
        assert until(lambda: service.get("/health").json()["waiting"] == 1)
        for number in signals[:-1]:
            service.process.send_signal(number)
            assert until(lambda: not service.healthy())
        assert service.stop(signals[-1]) == 0
        answers = [one.result() for one in asked]
    found = [(answer.status_code, "the service stops" in answer.text) for answer in answers]
    assert found == [(503, True), (504, True), (503, True)]
    assert all(int(answer.headers["retry-after"]) > 0 for answer in answers)
    assert "Traceback" not in service.log.read_text(), service.tail()


def test_firejail_is_below_the_protection_asked_for_by_default() -> None:
    assert "below --require portable" in _start_fails("--backend", "firejail")


def test_a_body_above_the_limit_is_413_however_it_is_sent(own_service: Any) -> None:
    service = own_service("--max-body-mb", "1")
    body = json.dumps({"language": "python", "code": "", "tests": [{"input": "x" * (2 << 20)}]}).encode()

    def pieces() -> Iterator[bytes]:
        yield from (body[at : at + 65536] for at in range(0, len(body), 65536))

    for content in (body, pieces()):
        answer = httpx.post(
            service.url + "/judge", content=content, headers={"content-type": "application/json"}, timeout=300
        )
        assert answer.status_code == 413
        assert "--max-body-mb" in answer.text
    with socket.create_connection(("127.0.0.1", service.port), 300) as client:  # reads nothing before all is sent
        head = "POST /judge HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        client.sendall(f"{head}Content-Length: {50 << 20}\r\n\r\n".encode() + b" " * (50 << 20))
        assert client.recv(100).startswith(b"HTTP/1.1 413 ")
    assert service.judge(language="python", code="", tests=[{}])["verdict"] == "AC"

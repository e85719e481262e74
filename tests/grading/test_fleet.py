"""Services that come and go: named by a DNS name, or by a file."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest
from scripted_service import ScriptedService, verdict

from madrl.errors import MadrlError
from madrl.grading.programs import fleet
from madrl.grading.programs.fleet import Fleet, addresses, all_addresses
from madrl.grading.programs.sandbox_client import SandboxClient

REQUEST = {"language": "python", "code": "print(1)", "tests": [{"input": "", "output": "1"}]}


async def accept(request: dict[str, Any]) -> Any:
    return verdict()


@pytest.fixture(autouse=True)
def at_every_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "REFRESH_S", 0.0)


def resolving(monkeypatch: pytest.MonkeyPatch, *hosts: str) -> None:
    def found(host: str, port: int, **_: Any) -> Any:
        assert host == "judge.example"
        families = [socket.AF_INET6 if ":" in each else socket.AF_INET for each in hosts]
        return [(family, socket.SOCK_STREAM, 6, "", (each, port)) for family, each in zip(families, hosts, strict=True)]

    monkeypatch.setattr(socket, "getaddrinfo", found)


def test_a_name_is_one_service_at_each_of_its_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving(monkeypatch, "10.0.0.2", "10.0.0.1", "10.0.0.2", "fd00::1")
    assert addresses("dns+http://judge.example:8080") == [
        "http://10.0.0.1:8080",
        "http://10.0.0.2:8080",
        "http://[fd00::1]:8080",
    ]


def test_a_file_is_one_service_a_line(tmp_path: Path) -> None:
    file = tmp_path / "judges"
    file.write_text("# the nodes of this job\nhttp://node1:8080/\n\nhttp://node2:8080  # slow\nhttp://node1:8080\n")
    assert addresses(f"file:{file}") == ["http://node1:8080", "http://node2:8080"]


@pytest.mark.parametrize("line", ["node1:8080", "dns+http://node1:8080", "file:/x", "http://", "http://node1:port"])
def test_a_line_that_is_no_address_is_told(tmp_path: Path, line: str) -> None:
    (tmp_path / "judges").write_text(line)
    with pytest.raises(MadrlError, match="is no web address"):
        addresses(f"file:{tmp_path}/judges")


@pytest.mark.parametrize("source", ["file:judges", "dns+https://judge:8080", "dns+http://", "dns+judge:8080"])
def test_what_could_never_name_a_service_is_refused(source: str) -> None:
    with pytest.raises(MadrlError, match="sandbox"):
        Fleet([source])


async def test_services_come_and_go_and_keep_their_records(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Fleet(["dns+http://judge.example:80", "http://fixed:1"])
    assert [replica.url for replica in found.known] == ["http://fixed:1"]
    resolving(monkeypatch, "10.0.0.1", "10.0.0.2")
    first = await found.replicas()
    first[0].failures = 3
    resolving(monkeypatch, "10.0.0.1", "10.0.0.3")
    second = await found.replicas()
    assert [replica.url for replica in second] == ["http://10.0.0.1:80", "http://10.0.0.3:80", "http://fixed:1"]
    assert (second[0].failures, second[1].failures) == (3, 0)


async def test_what_a_source_named_last_stays_while_it_cannot_be_looked_up(tmp_path: Path) -> None:
    file = tmp_path / "judges"
    file.write_text("http://node1:8080")
    found = Fleet([f"file:{file}"])
    assert [replica.url for replica in await found.replicas()] == ["http://node1:8080"]
    file.unlink()
    assert [replica.url for replica in await found.replicas()] == ["http://node1:8080"]
    assert str(file) in found.trouble


async def test_a_client_follows_a_file(tmp_path: Path) -> None:
    file = tmp_path / "judges"
    async with ScriptedService(accept) as one, ScriptedService(accept) as other:
        file.write_text(one.url)
        async with SandboxClient([f"file:{file}"]) as client:
            assert (await client.judge(REQUEST)).verdict == "AC"
            file.write_text(other.url)
            assert (await client.judge(REQUEST)).verdict == "AC"
    assert (len(one.requests), len(other.requests)) == (1, 1)


async def test_a_client_waits_for_the_first_service(tmp_path: Path) -> None:
    file = tmp_path / "judges"
    async with ScriptedService(accept) as service, SandboxClient([f"file:{file}"]) as client:
        asked = asyncio.create_task(client.judge(REQUEST))
        await asyncio.sleep(0.1)
        assert not asked.done()
        file.write_text(service.url)
        assert (await asked).verdict == "AC"


async def test_a_fleet_that_stays_empty_is_told_with_the_reason(tmp_path: Path) -> None:
    async with SandboxClient([f"file:{tmp_path}/judges"], deadline_s=0.3) as client:
        result = await client.judge(REQUEST)
    assert result.verdict is None
    assert "no sandbox at file:" in result.reason
    assert "No such file" in result.reason


def test_a_source_that_cannot_be_looked_up_stands_for_itself(tmp_path: Path) -> None:
    assert all_addresses(["http://a:1/", f"file:{tmp_path}/none"]) == ["http://a:1", f"file:{tmp_path}/none"]

"""Sandboxes that a Ray cluster places: a real cluster of two nodes on this machine, the real service on each."""

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from judge_problems import programs
from placed_judges import Cluster, placed, services, two_nodes, use_own_judges, wait_for

from madrl import cli
from madrl.errors import MadrlError
from madrl.grading.programs import own_sandbox, program
from madrl.grading.programs.own_sandbox import shares_of
from madrl.grading.programs.sandbox_client import SandboxClient
from madrl.grading.programs.sandbox_health import health_of
from madrl.run import Stage, judges, run_stages
from madrl.trainer.judges import place, slots_of

CHEAP = ("large_sum", "edit_distance", "knapsack", "quotients", "exit_status", "triangle", "components", "empty_input")

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with two_nodes() as found:
        yield found


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    use_own_judges(monkeypatch)


async def test_two_placed_sandboxes_give_every_verdict_although_one_is_killed(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = [program for program in programs() if program.problem in CHEAP]
    log = (tmp_path / "judges" / "log").read_text
    with placed(tmp_path, cluster, monkeypatch) as urls:
        before = urls()
        assert len(before) == len(services(tmp_path)) == 2, log()
        assert (tmp_path / "judges" / "token").stat().st_mode & 0o077 == 0
        async with SandboxClient(program.sandbox_urls(), headers=program.sandbox_headers()) as client:
            asked = [asyncio.create_task(client.judge(program.request())) for program in chosen]
            while sum(task.done() for task in asked) < len(asked) // 4:
                await asyncio.sleep(0.05)
            services(tmp_path)[before[0]].kill()
            results = await asyncio.gather(*asked)
            found = {
                program.name: result.verdict or result.reason for program, result in zip(chosen, results, strict=True)
            }
            assert found == {program.name: program.verdict for program in chosen}
        wait_for(lambda: len(urls()) == 2 and before[0] not in urls(), log)
        assert before[1] in urls()
        assert set(urls()) == services(tmp_path).keys()


def test_a_node_that_leaves_leaves_the_list_and_one_that_joins_gets_a_sandbox(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = (tmp_path / "judges" / "log").read_text
    with placed(tmp_path, cluster, monkeypatch) as urls:
        first = set(urls())
        cluster.second("lose")
        wait_for(lambda: len(urls()) == 1, log)
        cluster.second("add")
        wait_for(lambda: len(urls()) == 2, log)
        assert len(first & set(urls())) == 1
        with pytest.raises(MadrlError, match="another fleet is in"):
            place(cluster.address, tmp_path / "judges", 1)
        # Its title has the method that it is in: ray::Judge.watch, say.
        titles = {process: (process.info["cmdline"] or [""])[0] for process in psutil.process_iter(["cmdline"])}
        actor = next(process for process, title in titles.items() if title.partition(".")[0] == "ray::Judge")
        actor.send_signal(signal.SIGKILL)
        wait_for(lambda: "its actor has failed and starts again" in log(), log)
        wait_for(lambda: len(urls()) == 2 and set(urls()) == services(tmp_path).keys(), log)


def test_a_cluster_that_is_not_there_ends_the_recipe_before_its_stages(tmp_path: Path) -> None:
    stage = Stage("train", "programs", ["false"], runs_programs=True)
    with pytest.raises(MadrlError, match=r"the cluster's sandboxes did not start: see .*judges/log"):
        run_stages([stage], tmp_path, ray_address="127.0.0.1:1")
    assert "cannot join the Ray cluster at 127.0.0.1:1" in (tmp_path / "judges" / "log").read_text()


@pytest.mark.parametrize(
    ("words", "address", "said"),
    [
        (["F"], "", "RAY_ADDRESS names no Ray cluster: set it to HEAD:6379"),
        (["F", "--slots", "0"], "head:6379", "--slots 0: each node judges 1 program at a time at least"),
    ],
)
def test_a_wrong_call_says_so(
    words: list[str], address: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", address)
    assert cli.main(["judges", *words]) == 2
    assert said in capsys.readouterr().err


def test_slots_that_are_no_number_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANDBOX_SLOTS", "many")
    with pytest.raises(MadrlError, match="SANDBOX_SLOTS=many is no number of programs at a time"), judges(tmp_path):
        pass


def test_a_node_keeps_the_cores_that_training_needs() -> None:
    assert slots_of({"CPU": 192.0, "GPU": 8.0}) == 192 - 24 - 12
    assert slots_of({"CPU": 64.0}) == 52
    assert slots_of({"CPU": 4.0, "GPU": 1.0}) == 1


def test_many_slots_are_shared_by_several_services_of_about_the_same_size() -> None:
    assert shares_of(1) == [1]
    assert shares_of(24) == [24]
    assert shares_of(156) == [23, 23, 22, 22, 22, 22, 22]  # 6 services of 24 would have 144
    assert all(sum(shares_of(slots)) == slots for slots in range(1, 400))


def test_a_machine_of_many_cores_has_several_services_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_sandbox, "SLOTS_PER_SERVICE", 1)
    monkeypatch.setenv("SANDBOX_SLOTS", "2")
    with judges(tmp_path) as variables:
        urls = variables[program.URLS_VARIABLE].split(",")
        assert [health.slots for health in health_of(urls)] == [1, 1]
        assert len(set(urls)) == 2
    assert all("ConnectError" in health.trouble for health in health_of(urls))

"""Cgroups on the machine itself; needs root."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from sandbox import cgroups
from sandbox.errors import SandboxError

pytestmark = [pytest.mark.sandbox, pytest.mark.skipif(os.getuid() != 0, reason="needs root")]


@pytest.fixture
def slot() -> Iterator[cgroups.SlotGroup]:
    try:
        groups = cgroups.create(10)
    except SandboxError as error:
        pytest.skip(str(error))
    yield groups.add_slot(["python"])["python"]
    groups.remove()
    assert not [base for base in groups.bases.values() if base.exists()]


def _run_inside(slot: cgroups.SlotGroup, code: str) -> subprocess.Popen[bytes]:
    join = "".join(f"open({file!r}, 'w').write('0');" for file in slot.procs_files)
    return subprocess.Popen([sys.executable, "-c", join + code], stderr=subprocess.DEVNULL)


def _asleep_inside(slot: cgroups.SlotGroup) -> subprocess.Popen[bytes]:
    process = _run_inside(slot, "import time\ntime.sleep(600)")
    while slot.is_empty():  # it has not started yet
        assert process.poll() is None
        time.sleep(0.01)
    return process


def test_a_program_over_its_memory_is_killed_and_counted(slot: cgroups.SlotGroup) -> None:
    slot.limit(64 << 20, 50)
    before, mark = slot.oom_kills(), slot.mark()
    assert not slot.hit_limit_since(mark)
    assert _run_inside(slot, "bytearray(200 << 20)").wait() == -9
    assert slot.oom_kills() == before + 1
    assert slot.hit_limit_since(mark)


def test_limits_can_be_raised_and_lowered(slot: cgroups.SlotGroup) -> None:
    for megabytes in (64, 512, 32, 256):
        slot.limit(megabytes << 20, 50)
        assert _run_inside(slot, f"bytearray({megabytes // 2} << 20)").wait() == 0


def test_processes_are_bounded(slot: cgroups.SlotGroup) -> None:
    slot.limit(256 << 20, 3)
    code = "import os\nfor _ in range(9):\n  if os.fork() == 0: import time; time.sleep(9)"
    process = _run_inside(slot, code)
    assert process.wait() == 1
    slot.kill()
    assert slot.is_empty()


def test_what_is_left_is_killed(slot: cgroups.SlotGroup) -> None:
    slot.limit(256 << 20, 50)
    process = _asleep_inside(slot)
    slot.kill()
    assert process.wait() == -9


def test_groups_of_dead_services_are_removed_with_what_is_left_in_them(slot: cgroups.SlotGroup) -> None:
    parent = slot.directories["memory"].parent.parent
    stale = parent / f"{cgroups.NAME}-run-of-a-dead-service"
    (stale / "slot-0").mkdir(parents=True)
    left = subprocess.Popen(["sleep", "600"])
    (stale / "slot-0" / "cgroup.procs").write_text(str(left.pid))
    cgroups._remove_stale(parent)
    assert left.wait() == -9
    assert not stale.exists()


def test_a_service_that_sees_other_process_numbers_leaves_the_groups_alone(slot: cgroups.SlotGroup) -> None:
    """Two containers share a cgroup mount, and neither knows the other's processes."""
    slot.limit(256 << 20, 50)
    running = _asleep_inside(slot)
    code = "from sandbox import cgroups; g = cgroups.create(10); g.add_slot(['python']); g.remove()"
    other = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable, "-c", code]
    assert subprocess.run(other, check=False).returncode == 0
    assert running.poll() is None
    assert slot.problem() == ""
    slot.kill()
    assert running.wait() == -9


def test_groups_that_are_gone_are_a_problem(slot: cgroups.SlotGroup) -> None:
    assert slot.problem() == ""
    memory = slot.directories["memory"]
    memory.rmdir()
    assert slot.problem() == f"{memory} is gone"
    memory.mkdir()

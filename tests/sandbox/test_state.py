"""The state folder: built once, never half, and swept of what killed services left."""

import os
from pathlib import Path

import pytest

from sandbox.errors import SandboxError
from sandbox.state import ScratchFolder, built, default_state_folder, native_tools, open_state


def test_what_is_built_is_built_once_for_the_same_inputs(tmp_path: Path) -> None:
    calls: list[Path] = []

    def build(folder: Path) -> None:
        calls.append(folder)
        (folder / "result").write_text("x")

    first = built(tmp_path, "thing", ["a", "b"], build)
    assert built(tmp_path, "thing", ["a", "b"], build) == first
    assert built(tmp_path, "thing", ["ab"], build) != first
    assert len(calls) == 2
    assert (first / "result").read_text() == "x"


def test_a_failed_build_leaves_nothing(tmp_path: Path) -> None:
    def build(folder: Path) -> None:
        (folder / "half").write_text("x")
        raise SandboxError("no")

    with pytest.raises(SandboxError):
        built(tmp_path, "thing", [], build)
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_the_run_folder_of_a_dead_service_is_removed_and_a_live_ones_is_not(tmp_path: Path) -> None:
    (tmp_path / "run-dead").mkdir()
    (tmp_path / "run-dead" / "lock").touch()
    alive = ScratchFolder(tmp_path)
    second = ScratchFolder(tmp_path)
    assert sorted(tmp_path.glob("run-*")) == sorted([alive.path, second.path])
    second.remove()
    assert list(tmp_path.glob("run-*")) == [alive.path]
    alive.remove()


def test_root_keeps_its_state_where_other_users_can_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert not default_state_folder().is_relative_to("/root")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert default_state_folder() == Path("/somewhere/madrl-sandbox")


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SandboxError, match="--state-dir"):
        open_state(tmp_path / "file" / "below")


def test_without_a_c_compiler_the_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError, match="apt-get install gcc"):
        native_tools(tmp_path)

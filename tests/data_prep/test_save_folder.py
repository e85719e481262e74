import multiprocessing
from pathlib import Path
from typing import Any

import pytest
from prepared_data import content

from data_prep import save_folder
from madrl.errors import MadrlError


def fill(folder: Path, word: str, *tests: str) -> None:
    with save_folder.filling(folder) as unfinished:
        (unfinished / "train.parquet").write_text(word)
        (unfinished / "tests").mkdir()
        for test in tests:
            (unfinished / "tests" / test).write_text(word)
        save_folder.write_manifest(unfinished, {"word": word})


def test_files_appear_together_when_the_block_ends(tmp_path: Path) -> None:
    folder = tmp_path / "new/dataset"
    with save_folder.filling(folder) as unfinished:
        (unfinished / "train.parquet").write_text("whole")
        save_folder.write_manifest(unfinished, {"rows": 1})
        assert not (folder / "train.parquet").exists()
    assert content(folder) == {"train.parquet": b"whole", "manifest.json": b'{\n  "rows": 1\n}\n'}


def test_new_files_replace_old_ones_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    fill(tmp_path, "old", "a.json", "b.json")
    fill(tmp_path, "new", "b.json", "c.json")
    assert sorted(content(tmp_path)) == ["manifest.json", "mine.txt", "tests/b.json", "tests/c.json", "train.parquet"]
    assert (tmp_path / "train.parquet").read_text() == (tmp_path / "tests/b.json").read_text() == "new"


@pytest.mark.parametrize("error", [MadrlError, KeyboardInterrupt, OSError])
def test_a_block_that_raises_leaves_the_old_files_alone(tmp_path: Path, error: type[BaseException]) -> None:
    fill(tmp_path, "old", "a.json")
    before = content(tmp_path)

    def fail_halfway() -> None:
        with save_folder.filling(tmp_path) as unfinished:
            (unfinished / "train.parquet").write_text("ne")
            raise error

    with pytest.raises(error):
        fail_halfway()
    assert content(tmp_path) == before


def test_a_kill_between_the_renames_leaves_no_manifest_so_that_nobody_takes_it_for_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, "old", "a.json")
    replace = Path.replace

    def killed(self: Path, target: Any) -> Path:
        if self.name == "train.parquet":
            raise KeyboardInterrupt
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        fill(tmp_path, "new", "a.json")
    assert not (tmp_path / "manifest.json").exists()
    monkeypatch.undo()
    fill(tmp_path, "new", "a.json")
    assert set(content(tmp_path)) == {"manifest.json", "tests/a.json", "train.parquet"}


def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path: Path) -> None:
    (tmp_path / ".unfinished").mkdir(parents=True)
    (tmp_path / ".unfinished/holdout.parquet").write_text("half")
    fill(tmp_path, "new")
    assert sorted(content(tmp_path)) == ["manifest.json", "train.parquet"]


def test_two_at_once_in_one_folder_are_refused(tmp_path: Path) -> None:
    with save_folder.filling(tmp_path) as unfinished:
        save_folder.write_manifest(unfinished, {})
        with multiprocessing.get_context("fork").Pool(1) as pool, pytest.raises(MadrlError, match="another process"):
            pool.apply(fill, (tmp_path, "other"))

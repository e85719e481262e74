"""A dataset's folder: files appear in it together, and only when all of them are complete."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from madrl.files import locked, replacing

MANIFEST = "manifest.json"
UNFINISHED = ".unfinished"
LOCK = ".lock"


@contextmanager
def filling(save_dir: Path) -> Iterator[Path]:
    """A temporary folder to write a dataset in, manifest included. When the block ends, its files replace those of the
    same names in ``save_dir`` (made if need be); when it raises, or is killed, ``save_dir`` stays as it was.

    The manifest goes first and comes back last, so that a folder with a manifest is whole: a kill between the renames
    leaves whole files and no manifest. What a subfolder holds beside the new files is removed. Raises MadrlError while
    another process fills the same folder.
    """
    save_dir.mkdir(parents=True, exist_ok=True)
    with locked(save_dir / LOCK, f"{save_dir} is being written by another process: wait for it"):
        unfinished = save_dir / UNFINISHED
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        try:
            yield unfinished
            _publish(unfinished, save_dir)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


def _publish(unfinished: Path, save_dir: Path) -> None:
    (save_dir / MANIFEST).unlink(missing_ok=True)
    subfolders = [path for path in unfinished.iterdir() if path.is_dir()]
    for folder in subfolders:
        target = save_dir / folder.name
        target.mkdir(exist_ok=True)
        names = {file.name for file in folder.iterdir()}
        for name in names:
            (folder / name).replace(target / name)
        for file in target.iterdir():
            if file.name not in names:
                file.unlink()
    for file in unfinished.iterdir():
        if file.is_file() and file.name != MANIFEST:
            file.replace(save_dir / file.name)
    (unfinished / MANIFEST).replace(save_dir / MANIFEST)


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """``folder/manifest.json``, whole or not at all."""
    with replacing(folder / MANIFEST) as unfinished:
        unfinished.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", "utf-8")

"""A dataset's folder: files appear in it together, and only when all of them are complete."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from madrl import __version__
from madrl.files import locked, replacing, sha256_of
from madrl.schema import Row, write_parquet

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
    for folder in (path for path in unfinished.iterdir() if path.is_dir()):
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


def write_splits(folder: Path, dataset: str, seed: int, splits: Mapping[str, Sequence[Row]], **facts: Any) -> list[str]:
    """Write a parquet file for each of ``splits`` and the manifest, which also has the dataset's own ``facts``.
    Returns a line about each file."""
    files = {}
    for split, rows in splits.items():
        path = folder / f"{split}.parquet"
        write_parquet(rows, path)
        files[path.name] = {"rows": len(rows), "data_source": rows[0]["data_source"], "sha256": sha256_of(path)}
    manifest = {"dataset": dataset, "seed": seed, "madrl_version": __version__, "files": files, **facts}
    write_manifest(folder, manifest)
    return [*(f"{name}: {entry['rows']} rows" for name, entry in files.items()), f"{MANIFEST}: where the rows are from"]


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write ``folder/manifest.json``, whole or not at all."""
    with replacing(folder / MANIFEST) as unfinished:
        unfinished.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", "utf-8")

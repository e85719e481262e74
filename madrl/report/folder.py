"""The folder that a report is written to: all files of a report or none, and never over a file of somebody else's."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from madrl.errors import MadrlError
from madrl.files import making, replacing

MANIFEST = ".madrl-report.json"
"""In the folder: which of its files reports have made."""

PAGE = "index.html"
"""What every report has."""


@contextmanager
def report_folder(folder: Path) -> Iterator[Path]:
    """An empty folder to write a report into; its files move into ``folder``, which is made, when the block ends.

    Only files that an earlier report made there, which MANIFEST names, are replaced. Raises MadrlError, before anything
    is written, for any other file of the same name.
    """
    with making(folder):
        _refuse_foreign(folder, [PAGE])  # before the work, not only after it
        with tempfile.TemporaryDirectory(dir=folder, prefix=".madrl-report.") as unfinished:
            yield Path(unfinished)
            names = sorted(path.name for path in Path(unfinished).iterdir())
            _refuse_foreign(folder, names)
            # Before the files: after a kill between the two they are still known as ours.
            with replacing(folder / MANIFEST) as manifest:
                manifest.write_text(json.dumps({"files": sorted({*names, *_ours(folder)})}, indent=2) + "\n")
            for name in names:
                (Path(unfinished) / name).replace(folder / name)
            for name in _ours(folder).difference(names):  # of an earlier report, on other runs
                (folder / name).unlink(missing_ok=True)


def _refuse_foreign(folder: Path, names: list[str]) -> None:
    ours = _ours(folder)
    foreign = [name for name in names if (folder / name).exists() and name not in ours]
    if foreign:
        raise MadrlError(
            f"{folder} already has {', '.join(foreign)}, which no report of madrl made: move it away, or name another "
            "folder with -o"
        )


def _ours(folder: Path) -> set[str]:
    manifest = folder / MANIFEST
    if not manifest.exists():
        return set()
    try:
        return set(json.loads(manifest.read_text(encoding="utf-8"))["files"])
    except (ValueError, KeyError, TypeError) as error:
        raise MadrlError(f"{manifest} is damaged ({error}): delete the folder, or name another with -o") from error

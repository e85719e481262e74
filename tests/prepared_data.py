"""Running data_prep's modules as a user does, and reading what they wrote."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[1]


def module_command(name: str, *arguments: object) -> tuple[list[str], dict[str, str]]:
    """A command line that runs the module ``name`` of data_prep, and its environment."""
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return [sys.executable, "-m", f"data_prep.{name}", *map(str, arguments)], {**os.environ, "PYTHONPATH": paths}


def run_module(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the module ``name`` of data_prep to its end."""
    command, environment = module_command(name, *arguments)
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def read_rows(folder: Path, split: str) -> list[dict[str, Any]]:
    """The rows of one split's file."""
    rows: list[dict[str, Any]] = pq.ParquetFile(folder / f"{split}.parquet").read().to_pylist()
    return rows


def content(folder: Path) -> dict[str, bytes]:
    """The name of every file, but for the lock, and what it holds."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def real_data(name: str) -> Path:
    """The folder of a benchmark's published files; skips the test when nobody says where."""
    folder = os.environ.get("MADRL_REAL_DATA")
    if not folder:
        pytest.skip("MADRL_REAL_DATA names no folder with the benchmarks' published files")
    path = Path(folder) / name
    if not path.is_dir():
        pytest.skip(f"{path} does not exist")
    return path

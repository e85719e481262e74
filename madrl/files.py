"""Reading and writing files so that nobody ever sees half of one."""

import errno
import fcntl
import hashlib
import json
import os
import platform
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from madrl.errors import MadrlError


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A temporary name beside ``path``, to write a file or make a folder at: it becomes ``path`` when the block ends,
    or is removed when the block raises, so that a reader never sees half of it. A folder does not replace another."""
    target = Path(path)
    # Two machines, or two containers with the same process ids, may write to one shared folder.
    unfinished = target.with_name(f".{target.name}.{platform.node()}.{os.getpid()}.tmp")
    try:
        yield unfinished
        unfinished.replace(target)
    finally:
        if unfinished.is_dir():
            shutil.rmtree(unfinished)
        unfinished.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` as the file ``path``, whole or not at all."""
    with replacing(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


@contextmanager
def replacing_all(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """``replacing`` for several files that belong together: none of them appears before all are written."""
    with ExitStack() as stack:
        yield [stack.enter_context(replacing(path)) for path in paths]


@contextmanager
def making(folder: Path) -> Iterator[None]:
    """Make ``folder`` and what is missing above it; what was made is removed again when the block raises, if it is
    empty."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for path in made:
            with suppress(OSError):
                path.rmdir()
        raise


@contextmanager
def locked(path: str | Path, busy: str) -> Iterator[None]:
    """Hold the lock file ``path`` (made if need be, and left there). Child processes that inherit file descriptors hold
    it as well, so it outlives a parent that is killed. Raises MadrlError with the message ``busy`` when it is held."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with Path(path).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise MadrlError(busy) from None
        os.set_inheritable(file.fileno(), True)
        yield


@contextmanager
def appending(path: Path, busy: str) -> Iterator[BinaryIO]:
    """Open ``path``, made if need be, to be read and appended to by nobody else at the same time.

    The block may rename or remove it. What the block has not flushed may be lost. Raises MadrlError with the message
    ``busy`` when another process has it open in this way.
    """
    while True:
        file = path.open("a+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise MadrlError(busy) from None
        # Whoever had it may have renamed or removed it after we opened it.
        if path.exists() and os.path.samestat(path.stat(), os.fstat(file.fileno())):
            break
        file.close()
    try:
        yield file
    finally:
        with suppress(OSError):  # a full disk has been told of where it was met
            file.close()


@contextmanager
def waited_for(
    path: str | Path,
    busy: str = "",
    gives_up: Callable[[], bool] = lambda: False,
    waiting: Callable[[], None] = lambda: None,
) -> Iterator[None]:
    """Hold the lock file as ``locked`` does, and wait for whoever holds it now.

    ``waiting`` is called once, before the wait. Raises MadrlError with the message ``busy`` when ``gives_up`` says so.
    """
    told = False
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(locked(path, busy))
                break
            except MadrlError:
                if gives_up():
                    raise
                if not told:
                    waiting()
                    told = True
                time.sleep(0.05)
        yield


def no_space(error: BaseException) -> str | None:
    """What to say when ``error`` is that the disk, or the user's share of it, is full; None for any other."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "no space left on the disk: free some, or write elsewhere, and start the same call again"
    return None


def check_same(
    old: Mapping[str, Any], new: Mapping[str, Any], holds: str, remedy: str, may_change: Collection[str] = ()
) -> None:
    """Raises MadrlError when two nested configs differ, other than in the dotted keys ``may_change``.

    The message consists of ``holds``, the first key that differs with both of its values, and ``remedy``.
    """
    before, now = ({key: leaf for key, leaf in leaves(node).items() if leaf != {}} for node in (old, new))
    for key in sorted({*before, *now} - {*may_change}):
        if before.get(key) != now.get(key):
            raise MadrlError(f"{holds} {key}={before.get(key)!r}, not {now.get(key)!r}: {remedy}")


def leaves(node: Any, path: str = "") -> dict[str, Any]:
    """Dotted key -> value of each leaf of a nested config. An empty node is a leaf."""
    if not isinstance(node, Mapping) or not node:
        return {path: node}
    return {name: leaf for key in node for name, leaf in leaves(node[key], f"{path}.{key}".lstrip(".")).items()}


def sha256_of(path: str | Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_model(model: str) -> None:
    """Raises MadrlError where ``model`` can only be the path of a folder and no folder is there. A name on the hub has
    one slash at most."""
    if (model.startswith(("/", ".", "~")) or model.count("/") > 1) and not Path(model).is_dir():
        raise MadrlError(f"model {model} does not exist: name a folder, or a model on the Hugging Face hub")


def write_json(path: Path, content: Any) -> None:
    """Write ``content`` to a JSON file, whole or not at all."""
    write_text(path, json.dumps(content, indent=2) + "\n")


def read_json(path: Path) -> Any:
    """What a JSON file of ours holds. Raises MadrlError when it is damaged, OSError when it cannot be read."""
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise MadrlError(f"{path} is damaged, no JSON ({error}): put back a copy, or leave its folder out") from error


def parsed(line: bytes) -> dict[str, Any]:
    """The object that a line of a JSON-lines file holds. Raises MadrlError when it holds none."""
    try:
        record = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, or nested beyond reason
        raise MadrlError(f"not JSON ({error}): is the file complete? write one object per line, in UTF-8") from error
    if not isinstance(record, dict):
        raise MadrlError(f"a JSON {type(record).__name__} where an object belongs: write one object per line")
    return record


def json_object(text: str, what: str, example: str) -> dict[str, Any]:
    """The object that a user wrote as JSON. Raises MadrlError, which calls it ``what`` and shows ``example``, for
    anything else."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise MadrlError(f"{what} {text!r}: not JSON ({error}): write {example}") from error
    if not isinstance(found, dict):
        raise MadrlError(f"{what} {text!r}: no JSON object: write {example}")
    return found


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON-lines file. Raises MadrlError naming the first line that is not a JSON object."""
    records = []
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                records.append(parsed(line))
            except MadrlError as error:
                raise MadrlError(f"{path}, line {number}: {error}") from error
    return records


def whole_lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file from its beginning. What a kill left of the last one is cut off."""
    whole = 0
    file.seek(0)
    for line in file:
        if not line.endswith(b"\n"):
            break
        whole += len(line)
        yield line
    file.truncate(whole)


class JsonLinesTail:
    """The objects of a JSON-lines file that another process appends to. It need not exist yet."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0

    def new(self) -> list[dict[str, Any]]:
        """The objects of the lines that were completed since the last call; a half-written last line waits. Raises
        MadrlError for a line that holds none."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._read)
            # In one piece: an iterator gives the half of a line, and then, once it is written, the other half.
            written = file.read()
        lines = written[: written.rfind(b"\n") + 1]
        self._read += len(lines)
        try:
            return [parsed(line) for line in lines.splitlines()]
        except MadrlError as error:
            raise MadrlError(f"{self._path}: {error}") from error

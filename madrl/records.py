"""A response on disk: one JSON object a line, by the names that every command shares. Read and checked here only.

    group       text that all responses to one prompt share (within one ``split``, where lines have that key)
    session     whole number: which of the group's responses this is
    turn        whole number: which output of a session that has several; the last one counts. 0 otherwise
    row         whole number: ``extra_info.index`` of the data row that was asked
    response    text
    category    text, or null for off-support
    classified  false where nobody could say the category (an outage), which is not off-support; true, null or absent
                otherwise
    correct     number from 0 to 1, true, false, or null for ungraded
    hinted      text, the category that the response alone was asked for by name (madrl.hints), or null; null where it
                is absent
    target      text or object: the target of the response's prompt, where the prompt has one of its own or the run a
                schedule: {category: share}, whose keys are the prompt's categories, or a name; null or absent otherwise
    cluster     text that the responses to prompts of one kind share, such as a topic; null or absent where each prompt
                stands for itself
    attributes  object: {name: {category, classified, divergence_reward}} for each further attribute of the run
                (madrl.attributes), absent where there is none

A command names the keys that it needs; any other key is kept as it is. veRL's own dumps (RUN/validation, RUN/rollouts)
have names of their own and are translated when they are read. A file whose name ends with ``.gz`` is unpacked as it is
read; none is written packed.
"""

import gzip
import io
import json
import os
import re
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from madrl.errors import MadrlError
from madrl.files import no_space, parsed, replacing
from madrl.frequency import category_indices
from madrl.prompt_targets import PromptTarget, read_prompt_target
from madrl.rollout import Grade, is_correctness

Record = dict[str, Any]

GRADED = ("group", "category", "correct")
"""What a response needs to be counted or rewarded."""

NEEDED_FOR = {
    "group": "give all responses to one prompt the same text there",
    "category": "madrl classify adds it",
    "correct": "madrl verify adds it",
    "row": "give the extra_info.index of the data row there",
    "response": "put the response's text there",
    "ground_truth": "put what the verifier compares with there",
}
"""Key -> what to do when a line lacks it."""

VERL_PADDING = re.compile(r"pad[0-9a-f]{32}_\d+_\d+")
"""The ``uid`` of an empty row that veRL adds to a batch which its workers cannot share evenly: no response."""

MAY_BE_NULL = frozenset(("category", "correct"))

CLASSIFIED = "classified"
"""The key of whether anybody could say a response's category."""

HINTED = "hinted"
"""The key of the category that a hinted response was asked for."""

TARGET = "target"
"""The key of the target of a response's prompt, where it is not the one for all."""

CLUSTER = "cluster"
"""The key of what a response's prompt shares with others that are like it, so that they tell less than as many prompts
that are not: in a data row the field of ``extra_info`` of that name."""

ATTRIBUTES = "attributes"
"""The key of what the response is of each further attribute."""

VERL_NAMES = {"input": "prompt", "output": "response", "gts": "ground_truth", "score": "reward"}
"""veRL's name in a dump -> ours. Its ``uid`` is the key ``{group}_{session}_{turn}``."""

LIKELY_GROUPS = ("prompt", "problem", "question", "row", "uid", "index")
"""Keys that often name what was asked, the surest first: a line that has a prompt was asked that prompt."""


STANDARD = "-"
"""What a command calls standard input, and standard output."""

PACKED = ".gz"
"""How the name of a file ends whose lines are packed by gzip."""


class Name(NamedTuple):
    """What tells a response from every other of its file and split."""

    group: str
    session: int
    turn: int


def read(
    source: "Source",
    needs: Sequence[str],
    optional: Sequence[str] = (),
    check: Callable[[Record], None] = lambda record: None,
) -> Iterator[Record]:
    """The records of a JSON-lines file, in order, blank lines dropped.

    Args:
        needs: keys that every line must have.
        optional: keys whose values are checked in the lines that have them.
        check: what else a record must be; raises MadrlError for one that is not.

    Raises MadrlError that names file and line for what is not JSON, not an object, lacks a key, holds a value of the
    wrong kind or fails ``check``; for a file without a response, and for a packed one that is not whole. OSError when
    the file cannot be read.
    """
    empty = True
    for number, line in enumerate(_lines(source), start=1):
        if not line.strip():
            continue
        try:
            record = _translated(parsed(line))
            if record is None:
                continue
            _check(record, needs, optional)
            check(record)
        except MadrlError as error:
            raise MadrlError(f"{source}, line {number}: {error}") from error
        empty = False
        yield record
    if empty:
        raise MadrlError(f"{source} holds no responses: write one JSON object per line")


def read_graded(source: "Source", categories: Sequence[str], attribute: str | None = None) -> list[Record]:
    """The records of a file whose responses are to be counted or rewarded, each with its ``session`` and ``turn``.

    Lines of a group that name no session are numbered as they come; a turn that is not named is 0. With ``attribute``
    each is what ``of_attribute`` makes of it, and ``categories`` are that attribute's. Raises what ``read``
    raises, and MadrlError for a response that is named twice, for one in none of ``categories`` or not in those of its
    prompt's own target, and for a group with several targets or clusters.
    """
    seen: set[tuple[str, str, int, int]] = set()
    targets: dict[tuple[str, str], PromptTarget | None] = {}
    clusters: dict[tuple[str, str], str | None] = {}
    counted: Counter[tuple[str, str]] = Counter()

    def check(record: Record) -> None:
        if attribute is not None:
            own = of_attribute(record, attribute)
            record.clear()
            record |= own
        category_indices([record["category"]], categories)
        target = target_of(record, categories)
        if target is not None and record["category"] not in (None, *target.categories):
            raise MadrlError(
                f"category {record['category']!r} is not among those that its prompt's target names, "
                f"{list(target.categories)}: name it there with the weight 0, or use null for off-support"
            )
        if targets.setdefault(group_of(record), target) != target:
            raise MadrlError(f"group {record['group']!r} has another target in an earlier line: it is one prompt's")
        if clusters.setdefault(group_of(record), record.get(CLUSTER)) != record.get(CLUSTER):
            raise MadrlError(
                f"group {record['group']!r} has another {CLUSTER} in an earlier line: it is its prompt's; rename the "
                "key where it means something else"
            )
        if "session" not in record:
            if "turn" in record:
                raise MadrlError("'turn' without 'session': name the session that it is a turn of")
            record["session"] = counted[group_of(record)]
            counted[group_of(record)] += 1
        record.setdefault("turn", 0)
        response = *session_of(record), record["turn"]
        if response in seen:
            raise MadrlError(
                f"group {record['group']!r}, session {record['session']}, turn {record['turn']} is there already: name "
                "every response once, in all lines of a group or in none, and keep files of several samplings apart"
            )
        seen.add(response)

    return list(read(source, GRADED, ("session", "turn", HINTED, CLASSIFIED, CLUSTER, ATTRIBUTES), check))


def name_of(record: Mapping[str, Any]) -> Name:
    """The response's name, of a record that has all three parts."""
    return Name(record["group"], record["session"], record["turn"])


def group_of(record: Mapping[str, Any]) -> tuple[str, str]:
    """What the responses to one prompt share: their split, empty where there is none, and their group."""
    return str(record.get("split", "")), record["group"]


def session_of(record: Mapping[str, Any]) -> tuple[str, str, int]:
    """What the turns of one session share."""
    return *group_of(record), record["session"]


def target_of(record: Mapping[str, Any], categories: Sequence[str]) -> PromptTarget | None:
    """The target of the response's prompt, None where it is the one for all. Raises MadrlError for one that makes no
    sense, or not over the declared ``categories``."""
    target = record.get(TARGET)
    if target is None:
        return None
    try:
        return read_prompt_target(target, categories)
    except MadrlError as error:
        raise MadrlError(f"{error}; rename the key where it means something else") from error


def of_attribute(record: Mapping[str, Any], name: str) -> Record:
    """The record with what the response is of a further attribute in the place of what it is of the first: its category
    and what that earned. A target of the prompt's own is one for the first.

    Raises MadrlError where it is not known.
    """
    own = (record.get(ATTRIBUTES) or {}).get(name)
    if own is None:
        raise MadrlError(f"no attribute {name!r}: {ATTRIBUTES} has {sorted(record.get(ATTRIBUTES) or {})}")
    return {key: value for key, value in record.items() if key != TARGET} | {
        "category": own["category"],
        CLASSIFIED: own.get(CLASSIFIED),
        "divergence_reward": own.get("divergence_reward"),
    }


def attributes_key(grade: Grade) -> Record:
    """What a response is of each further attribute, as its line has it; nothing where there is none."""
    found = {
        name: {"category": one.category, CLASSIFIED: one.classified, "divergence_reward": None}
        for name, one in grade.attributes.items()
    }
    return {ATTRIBUTES: found} if found else {}


def unhinted(records: Iterable[Record]) -> list[Record]:
    """The responses that the policy gave by itself, not asked for a category by name (``madrl.hints``)."""
    return [record for record in records if not record.get(HINTED)]


def is_classified(record: Mapping[str, Any]) -> bool:
    """Whether somebody could say the response's category, or that it has none."""
    return record.get(CLASSIFIED) is not False


def classified(records: Iterable[Record]) -> list[Record]:
    """The responses that count: those whose category is not ungraded (``madrl.grading.grader``)."""
    return [record for record in records if is_classified(record)]


def is_ungraded(record: Mapping[str, Any]) -> bool:
    """Whether the response lacks its category, of any attribute, or its correctness by a fault that is not its own."""
    further = (record.get(ATTRIBUTES) or {}).values()
    return record["correct"] is None or not is_classified(record) or not all(map(is_classified, further))


def ungraded_rate(records: Collection[Record]) -> float | None:
    """Share of the responses that are ungraded, in [0, 1]; None when there are no responses."""
    return sum(map(is_ungraded, records)) / len(records) if records else None


def last_turns(records: Sequence[Record]) -> list[Record]:
    """The last turn of each session, which is the one that counts; sessions in order of appearance."""
    last: dict[tuple[str, str, int], Record] = {}
    for record in records:
        session = session_of(record)
        if session not in last or last[session]["turn"] < record["turn"]:
            last[session] = record
    return list(last.values())


def groups(records: Sequence[Record]) -> list[list[Record]]:
    """The last turns of each group's sessions, groups in order of appearance."""
    return by_group(last_turns(records))


def by_group(records: Sequence[Record]) -> list[list[Record]]:
    """The records of each group, all of them, groups in order of appearance."""
    found: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in records:
        found[group_of(record)].append(record)
    return list(found.values())


def check_groups(found: Sequence[Sequence[Record]], name: object, one_each: bool = False) -> None:
    """Raises MadrlError when every group of the file ``name`` has one response, and names the key that ``group`` was
    probably meant to hold. With ``one_each`` that is wrong only where there is such a key."""
    responses = [record for group in found for record in group]
    if len(responses) == 1 or len(found) < len(responses):
        return
    key = likely_group(responses)
    if key is None and one_each:
        return
    remedy = f"several share their {key!r}, put that there" if key else NEEDED_FOR["group"]
    raise MadrlError(f"{name}: each of its {len(responses)} responses has a 'group' of its own: {remedy}")


def likely_group(records: Sequence[Record]) -> str | None:
    """The first of LIKELY_GROUPS that every record has, if most records share its value with another: None if not."""
    key = next((key for key in LIKELY_GROUPS if all(isinstance(r.get(key), str | int) for r in records)), None)
    if key is None:
        return None
    shared = sum(n for n in Counter(record[key] for record in records).values() if n > 1)
    return key if 2 * shared > len(records) else None


def from_verl_key(key: str) -> Name:
    """The name in a key of veRL's, ``{group}_{session}_{turn}``. Raises MadrlError for any other text."""
    group, session, turn = [*key.rsplit("_", 2), "", ""][:3]
    if not (session.isdecimal() and turn.isdecimal()):
        raise MadrlError(f"uid {key!r} is not {{group}}_{{session}}_{{turn}}, as veRL writes it")
    return Name(group, int(session), int(turn))


def line_of(record: Mapping[str, Any]) -> bytes:
    """The record as a line of a file. A lone surrogate, which JSON can hold and UTF-8 cannot, stays a JSON escape."""
    return (json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8", errors="backslashreplace")


class StandardInput:
    """What is piped into a command in place of a file; it is read whole, once."""

    def __init__(self) -> None:
        self._content = sys.stdin.buffer.read()

    def open(self, mode: Literal["rb"]) -> io.BytesIO:
        """The content from its beginning; as ``Path.open``."""
        return io.BytesIO(self._content)

    def __str__(self) -> str:
        return "standard input"


Source = Path | StandardInput
"""Where records are read."""


def stem_of(path: Path) -> str:
    """The file's name without its ending: ``base`` of ``base.jsonl`` and of ``base.jsonl.gz``."""
    return Path(path.name.removesuffix(PACKED)).stem


def source_of(name: str | Path) -> Source:
    """The file that a command was given, or standard input for ``-`` (``./-`` is a file of that name)."""
    return StandardInput() if name == STANDARD else Path(name)


def destination_of(name: str | Path) -> Path | None:
    """The file that a command is to write, None for standard output, ``-``. Raises MadrlError as ``writable``."""
    return None if name == STANDARD else writable(Path(name))


def write(destination: Path | None, lines: Iterable[bytes]) -> None:
    """The lines as the file, complete or not at all, or to standard output. Raises MadrlError when it cannot be
    written."""
    if destination is None:
        sys.stdout.buffer.writelines(lines)
        return
    try:
        with replacing(destination) as partial, partial.open("wb") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise cannot_write(destination, error) from error


def cannot_write(path: Path, error: OSError) -> MadrlError:
    """The error for a file that could not be written, with a remedy when the disk is full."""
    return MadrlError(f"cannot write {path}: {no_space(error) or error.strerror}")


def writable(path: Path) -> Path:
    """Where ``path`` really lies, symbolic links followed. Raises MadrlError where a file cannot be put there, and for
    a name that says it is packed."""
    if path.name.endswith(PACKED):
        raise MadrlError(f"cannot write {path}: files are written unpacked, name it without {PACKED}")
    path = path.resolve()
    if not path.parent.is_dir():
        raise MadrlError(f"cannot write {path}: its folder does not exist, create it first")
    if path.exists() and not path.is_file():  # replacing a folder fails late, replacing /dev/null succeeds
        raise MadrlError(f"cannot write {path}: it is not a regular file, name another")
    return path


def _lines(source: Source) -> Iterator[bytes]:
    """The lines of a source, unpacked where its name says that they are packed. Raises MadrlError for a packed file
    that is cut off or damaged, or that is not packed."""
    if not (isinstance(source, Path) and source.name.endswith(PACKED)):
        with source.open("rb") as file:
            yield from file
        return
    try:
        with gzip.open(source) as unpacked:
            yield from unpacked
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        remedy = f"copy it again, or name it without {PACKED} if it is not packed"
        raise MadrlError(f"{source} is not a whole gzip file ({error}): {remedy}") from error


def _translated(record: Record) -> Record | None:
    """A line of a dump of veRL's in our names, None for its padding; any other line as it is."""
    if not record.keys() >= {*VERL_NAMES, "uid"}:
        return record
    if VERL_PADDING.fullmatch(str(record["uid"])):
        return None
    ours = {VERL_NAMES[name]: record[name] for name in VERL_NAMES}
    others = {name: value for name, value in record.items() if name not in VERL_NAMES and name != "uid"}
    if str(others.get("row", "")).isdecimal():  # text, on its way through veRL (madrl.trainer.reward_manager)
        others["row"] = int(others["row"])
    if isinstance(others.get("verifier_extra"), str):  # likewise
        others["verifier_extra"] = json.loads(others["verifier_extra"])
    if isinstance(others.get(ATTRIBUTES), str):
        others[ATTRIBUTES] = json.loads(others[ATTRIBUTES])
    return {**from_verl_key(str(record["uid"]))._asdict(), **ours, **others}


def _check(record: Record, needs: Sequence[str], optional: Sequence[str]) -> None:
    for key in needs:
        if key not in record or (record[key] is None and key not in MAY_BE_NULL):
            lacks = f"no {key!r}: {NEEDED_FOR.get(key, 'is the file complete?')}"
            raise MadrlError(_misnamed(record) if key == "group" else lacks)
    for key in (*needs, *optional):
        if key in record and key in KINDS and not KINDS[key].fits(record[key]):
            raise MadrlError(f"{key} {_shown(record[key])} is not {KINDS[key].what}")


def _misnamed(record: Record) -> str:
    """What is wrong with a line without a group, which may have it under another name."""
    for key in ("uid", "problem"):
        if key in record:
            where = f"no 'group', which all responses to one prompt share: {key!r} is not read"
            try:
                group, session, turn = from_verl_key(str(record[key]))
            except MadrlError:
                return f"{where}, call it 'group' if it is that"
            return f"{where}, write {record[key]!r} as group {group!r}, session {session} and turn {turn}"
    return f"no 'group': {NEEDED_FOR['group']}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


class Kind(NamedTuple):
    """What the value of a key must be."""

    fits: Callable[[Any], bool]
    what: str


KINDS = {
    "group": Kind(lambda v: isinstance(v, str), "text: put it in quotes"),
    "session": Kind(_is_whole, "a whole number: number the sessions of a group 0, 1, ..."),
    "turn": Kind(_is_whole, "a whole number: number the outputs of a session 0, 1, ..."),
    "row": Kind(_is_whole, "a whole number: give the data row's extra_info.index"),
    "response": Kind(lambda v: isinstance(v, str), "text: write the response's text"),
    "extra_info": Kind(lambda v: v is None or isinstance(v, dict), "an object"),
    "category": Kind(lambda v: v is None or isinstance(v, str), "text: use a declared name, or null for off-support"),
    CLUSTER: Kind(
        lambda v: v is None or isinstance(v, str),
        "text: name what the prompt has in common with others, or rename the key where it means something else",
    ),
    HINTED: Kind(lambda v: v is None or isinstance(v, str), "text: name the category that was asked for, or null"),
    ATTRIBUTES: Kind(
        lambda v: (
            v is None or (isinstance(v, dict) and all(isinstance(of, dict) and "category" in of for of in v.values()))
        ),
        "an object of objects with a category each: rename the key where it means something else",
    ),
    CLASSIFIED: Kind(lambda v: v is None or isinstance(v, bool), "true, false, or null for true"),
    "correct": Kind(is_correctness, "a verdict: use true, false, a number from 0 to 1, or null for ungraded"),
}
"""Key -> what its values must be. A key that is not here may hold anything."""

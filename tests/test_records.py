"""One record of a response, read by every command: each accepts what the others write, or says what is meant."""

import gzip
import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from madrl.cli import main
from madrl.errors import MadrlError
from madrl.records import (
    Record,
    check_groups,
    classified,
    groups,
    is_ungraded,
    last_turns,
    read,
    read_graded,
    ungraded_rate,
)

OPTIONS = json.dumps(["Arctic", "Atlantic", "Indian", "Pacific", "Southern"])
RANKS = [f"rank_{i}" for i in range(1, 6)]
MEASURED = ("--categories", ",".join(RANKS), "--target", "uniform")


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def responses(**more: Any) -> list[dict[str, Any]]:
    """Two prompts of two responses, ungraded, with nothing but the group's name and what a judge needs."""
    texts = [("p", "Arctic"), ("p", "Pacific"), ("q", "Pacific"), ("q", "nothing")]
    return [{"group": group, "response": text, "ground_truth": OPTIONS, **more} for group, text in texts]


def as_verl_dumps() -> list[dict[str, Any]]:
    return [
        {"input": "Name one.", "output": line["response"], "gts": OPTIONS, "score": 0.5, "step": 3, "uid": uid}
        for line, uid in zip(responses(), ("a_b_0_0", "a_b_1_0", "c_0_0", "c_1_0"), strict=True)
    ]


@pytest.mark.parametrize("source", [responses(), as_verl_dumps()], ids=["a user's", "veRL's"])
def test_each_command_reads_what_the_one_before_it_wrote(
    tmp_path: Path, source: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "r.jsonl", source)
    for command in (
        ["verify", "listed_option", str(path), "-o", str(path)],
        ["classify", "choice", str(path), "-o", str(path)],
        ["evaluate", str(path), *MEASURED],
        ["rescore", str(path), "-o", str(path), *MEASURED],
        ["evaluate", str(path), *MEASURED],
        ["verify", "listed_option", str(path), "-o", str(path)],
        ["rescore", str(path), "-o", str(path), *MEASURED],
    ):
        assert main(command) == 0, capsys.readouterr().err
    assert "responses rescored: 4, groups: 2" in capsys.readouterr().out
    found = json.loads((tmp_path / "r.metrics.json").read_text())["evaluations"][0]
    assert (found["samples"], found["problems"], found["pass@1"], found["off_support"]) == (4, 2, 0.75, 0.25)
    assert [(line["session"], line["turn"]) for line in lines_of(path)] == [(0, 0), (1, 0)] * 2
    assert all("uid" not in line and "input" not in line for line in lines_of(path))


@pytest.mark.parametrize("command", ["rescore", "evaluate"])
@pytest.mark.parametrize("key", ["row", "prompt", "problem", "uid"])
def test_groups_of_one_are_an_error_that_names_the_key_that_was_meant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, key: str
) -> None:
    lines = [
        {"group": f"{row}_{k}_0", key: row, "category": "rank_1", "correct": True} for row in (0, 1) for k in (0, 1)
    ]
    path = write(tmp_path / "r.jsonl", lines)
    output = ["-o", str(tmp_path / "out.jsonl")] if command == "rescore" else []
    assert main([command, str(path), *output, *MEASURED]) == 2
    error = capsys.readouterr().err
    assert f"{path}: each of its 4 responses has a 'group' of its own: several share their '{key}', put that" in error
    assert [file.name for file in tmp_path.iterdir()] == ["r.jsonl"]


def test_one_response_a_prompt_can_be_evaluated_and_not_rescored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # As generate --ask-category --samples 1 writes them: one row asked for two categories is two prompts. And two of
    # the prompts are the same by chance.
    lines = [
        {"group": f"{row}-{asked}", "row": row, "prompt": f"{min(row, 8)} in {asked}", "asked": asked}
        for row in range(10)
        for asked in RANKS[:2]
    ]
    path = write(tmp_path / "r.jsonl", [line | {"category": line["asked"], "correct": True} for line in lines])
    assert main(["evaluate", str(path), *MEASURED]) == 0
    assert main(["rescore", str(path), "-o", str(tmp_path / "out.jsonl"), *MEASURED]) == 2
    assert "a 'group' of its own: give all responses to one prompt the same text there" in capsys.readouterr().err


def test_the_rows_with_which_verl_pads_a_batch_are_no_responses(tmp_path: Path) -> None:
    padding = as_verl_dumps()[0] | {"input": "", "output": "", "uid": f"pad{uuid.uuid4().hex}_3_0"}
    path = write(tmp_path / "r.jsonl", [*as_verl_dumps(), padding])
    assert [record["group"] for record in read(path, ("group",))] == ["a_b", "a_b", "c", "c"]


def test_a_single_response_is_a_group(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", [{"group": "p", "category": None, "correct": None}])
    check_groups(groups(read_graded(path, RANKS)), path)


def test_of_a_session_the_last_turn_counts_wherever_it_stands() -> None:
    record = {"group": "p", "category": "rank_1", "correct": True}
    found = last_turns([record | {"session": s, "turn": t} for s, t in ((1, 1), (0, 0), (1, 0), (0, 2), (0, 1))])
    assert [(r["session"], r["turn"]) for r in found] == [(1, 1), (0, 2)]


def test_all_turns_of_a_session_earn_what_its_last_one_earns(tmp_path: Path) -> None:
    line = {"group": "p", "correct": True}
    lines = [line | {"session": 0, "turn": t, "category": c} for t, c in ((0, None), (1, "rank_1"))]
    lines.append(line | {"session": 1, "turn": 0, "category": "rank_2"})
    path = write(tmp_path / "r.jsonl", lines)
    assert main(["rescore", str(path), "-o", str(path), *MEASURED, "--divergence", "l2", "--alpha", "0"]) == 0
    # Two responses, a half in each of two categories: 1/5 - 1/2
    assert [line["reward"] for line in lines_of(path)] == [pytest.approx(-0.3, abs=1e-3)] * 3


def test_splits_with_the_same_names_are_kept_apart(tmp_path: Path) -> None:
    line = {"group": "0", "category": "rank_1", "correct": True}
    path = write(
        tmp_path / "r.jsonl", [line | {"session": k, "split": s} for k in (0, 1) for s in ("train", "holdout")]
    )
    assert [len(group) for group in groups(read_graded(path, RANKS))] == [2, 2]


def test_any_number_from_0_to_1_is_a_verdict_and_is_kept_as_it_is(tmp_path: Path) -> None:
    verdicts = [0.25, 1, True, None, 0.0]
    lines = [{"group": "p", "category": None, "correct": verdict} for verdict in verdicts]
    path = write(tmp_path / "r.jsonl", lines)
    assert [record["correct"] for record in read_graded(path, RANKS)] == verdicts


@pytest.mark.parametrize(
    ("line", "needs", "message"),
    [
        ({"group": "p", "correct": True}, ("group", "category", "correct"), "no 'category': madrl classify adds it"),
        ({"group": "p", "category": None}, ("group", "category", "correct"), "no 'correct': madrl verify adds it"),
        ({"group": "p"}, ("group", "session"), "no 'session': is the file complete?"),
        ({"response": None}, ("response",), "no 'response': put the response's text there"),
        ({"response": ["x"] * 100}, ("response",), r"response \['x', .{0,60}… is not text"),
        (as_verl_dumps()[0] | {"uid": "p"}, ("group",), "uid 'p' is not {group}_{session}_{turn}, as veRL writes it"),
        (as_verl_dumps()[0] | {"uid": "p_x_0"}, ("group",), "uid 'p_x_0' is not"),
    ],
)
def test_a_line_that_lacks_something_is_told_what_to_do(
    tmp_path: Path, line: dict[str, Any], needs: tuple[str, ...], message: str
) -> None:
    path = write(tmp_path / "r.jsonl", [line])
    with pytest.raises(MadrlError, match=message) as caught:
        list(read(path, needs))
    assert str(caught.value).startswith(f"{path}, line 1: ")


def test_a_packed_file_of_responses_is_read_as_the_plain_one_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [{**line, "category": "rank_1", "correct": i % 2} for i, line in enumerate(responses())]
    plain = write(tmp_path / "plain.jsonl", lines)
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    scores = []
    for path in (plain, packed):
        assert main(["evaluate", str(path), *MEASURED]) == 0, capsys.readouterr().err
        assert main(["rescore", str(path), "-o", str(tmp_path / "out.jsonl"), *MEASURED]) == 0
        found = json.loads((tmp_path / f"{path.name.split('.')[0]}.metrics.json").read_text())
        assert found["evaluations"][0].pop("split") == path.name.split(".")[0]
        scores.append((found["evaluations"], lines_of(tmp_path / "out.jsonl")))
    assert scores[0] == scores[1]
    assert main(["classify", "choice", str(packed), "-o", str(tmp_path / "out.jsonl")]) == 0


@pytest.mark.parametrize(
    "content",
    [gzip.compress(b'{"group": "p"}\n' * 9)[:-9], b'{"group": "p"}\n', gzip.compress(b"{}\n" * 99)[:12] + b"\xff" * 30],
    ids=["cut off", "not packed", "damaged"],
)
def test_a_packed_file_that_is_not_whole_is_one_clear_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    path = tmp_path / "r.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(MadrlError, match=r"r\.jsonl\.gz is not a whole gzip file .*: copy it again, or name it"):
        list(read(path, ()))
    assert main(["evaluate", str(path), *MEASURED]) == 2
    assert str(path) in capsys.readouterr().err


def test_a_bad_line_of_a_packed_file_is_named_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"group": "p"}\n{"group": 1}\n'))
    with pytest.raises(MadrlError, match=r"r\.jsonl\.gz, line 2: group 1 is not text"):
        list(read(path, ("group",)))


def test_a_file_is_never_written_under_the_name_of_a_packed_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "r.jsonl", [{**line, "category": "rank_1", "correct": 1} for line in responses()])
    assert main(["rescore", str(path), "-o", str(tmp_path / "out.jsonl.gz"), *MEASURED]) == 2
    assert "out.jsonl.gz: files are written unpacked, name it without .gz" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["r.jsonl"]


def test_a_response_without_category_or_verdict_by_no_fault_of_its_own_is_ungraded() -> None:
    known: list[Record] = [
        {"category": None, "correct": 0, **more} for more in ({}, {"classified": None}, {"classified": True})
    ]
    lost: list[Record] = [{"category": None, "correct": 1, "classified": False}, {"category": "a", "correct": None}]
    assert list(map(is_ungraded, [*known, *lost])) == [False] * 3 + [True] * 2
    assert classified([*known, *lost]) == [*known, lost[1]]
    assert ungraded_rate([*known, *lost]) == 2 / 5
    assert ungraded_rate([]) is None


def test_whether_it_was_classified_is_true_or_false(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", responses(category=None, correct=1, classified="no"))
    with pytest.raises(MadrlError, match="line 1: classified 'no' is not true, false, or null for true"):
        read_graded(path, RANKS)


def graded(*targets: Any, category: str = "rank_1") -> list[dict[str, Any]]:
    return [{"group": "p", "category": category, "correct": True, "target": target} for target in targets]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (graded({"rank_9": 1}), "line 1: target names unknown category 'rank_9': .*; rename the key where it means"),
        (graded(42), "line 1: target 42 is neither text nor an object: write"),
        (graded("42"), "line 1: unknown target '42'"),
        (graded("uniform", "peak"), "line 2: group 'p' has another target in an earlier line: it is one prompt's"),
        (graded("uniform", None), "line 2: group 'p' has another target"),
        (
            graded({"rank_2": 1}),
            r"line 1: category 'rank_1' is not among those that its prompt's target names, \['rank_2'\]: name it there "
            "with the weight 0, or use null for off-support",
        ),
    ],
)
def test_a_target_of_a_prompt_s_own_is_checked_and_is_the_group_s(
    tmp_path: Path, lines: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(MadrlError, match=message):
        read_graded(write(tmp_path / "r.jsonl", lines), RANKS)


@pytest.mark.parametrize(
    ("clusters", "message"),
    [
        ((3,), "line 1: cluster 3 is not text: name what the prompt has in common with others, or rename the key"),
        (("a", "b"), "line 2: group 'p' has another cluster in an earlier line: it is its prompt's; rename the key"),
        (("a", None), "line 2: group 'p' has another cluster"),
    ],
)
def test_a_cluster_is_text_and_the_group_s(tmp_path: Path, clusters: tuple[object, ...], message: str) -> None:
    lines = [{"group": "p", "category": "rank_1", "correct": True, "cluster": cluster} for cluster in clusters]
    with pytest.raises(MadrlError, match=message):
        read_graded(write(tmp_path / "r.jsonl", lines), RANKS)


def test_a_target_may_be_text_or_an_object_and_is_kept_as_it_is(tmp_path: Path) -> None:
    lines = [
        *graded({"rank_1": 1, "rank_2": 1}, '{"rank_2": 0.5, "rank_1": 0.5}'),
        {**graded("uniform")[0], "group": "q"},
        {**graded(None)[0], "group": "r"},
    ]
    found = read_graded(write(tmp_path / "r.jsonl", lines), RANKS)
    assert [record["target"] for record in found] == [line["target"] for line in lines]

"""Rescoring a JSONL file: the hand-worked example, what is kept, and every kind of bad line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from madrl.cli import main
from madrl.divergence import DIVERGENCES
from madrl.errors import MadrlError
from madrl.frequency import category_indices
from madrl.rescore import rescore_file
from madrl.reward import FORMS, RewardConfig, score_group
from madrl.targets import uniform

CATEGORIES = ("english", "हिन्दी")
GOOD = '{"group": "p", "category": "english", "correct": true}'


def _rescore(source: Path, out: Path, config: RewardConfig | None = None) -> list[dict[str, Any]]:
    rescore_file(source, out, CATEGORIES, uniform(2), config or RewardConfig("l2"))
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def _write(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_two_interleaved_groups_earn_the_rewards_worked_by_hand(tmp_path: Path) -> None:
    source = _write(
        tmp_path / "in.jsonl",
        '{"group": "p", "category": "english", "correct": true}',
        '{"group": "q", "category": "हिन्दी", "correct": 1}',
        '{"group": "p", "category": "english", "correct": false}',
        '{"group": "p", "category": "हिन्दी", "correct": null}',
        '{"group": "q", "category": null, "correct": 0}',
        '{"group": "p", "category": null, "correct": 0}',
    )
    rows = _rescore(source, tmp_path / "out.jsonl", RewardConfig("l2", alpha=0.6))
    # p: four responses, q = (2/4, 1/4), so r_div = 1/2 - 1/2 = 0 twice, 1/2 - 1/4 = 1/4, off-support -1; correctness
    #    1, 0, ungraded (1 + 0 + 0) / 3 = 1/3, 0.  0.6 + 0, 0, 0.6/3 + 0.4/4 = 0.3, -0.4
    # q: two responses, q = (0, 1/2), so r_div = 1/2 - 1/2 = 0 and -1; correctness 1 and 0.  0.6, -0.4
    assert [row["group"] for row in rows] == ["p", "q", "p", "p", "q", "p"]
    np.testing.assert_allclose([row["divergence_reward"] for row in rows], [0, 0, 0, 0.25, -1, -1], atol=1e-15)
    np.testing.assert_allclose([row["reward"] for row in rows], [0.6, 0.6, 0, 0.3, -0.4, -0.4], atol=1e-15)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("divergence", sorted(DIVERGENCES))
def test_a_file_is_scored_exactly_as_training_scores_a_group(tmp_path: Path, divergence: str, form: str) -> None:
    rng = np.random.default_rng(0)
    labels = [[None, *CATEGORIES][i] for i in rng.integers(0, 3, 16)]
    correct = [[None, True, False, 0.25][i] for i in rng.integers(0, 4, 16)]
    source = _write(
        tmp_path / "in.jsonl",
        *(json.dumps({"group": "p", "category": c, "correct": v}) for c, v in zip(labels, correct, strict=True)),
    )
    config = RewardConfig(divergence, form, alpha=0.55, lambda_g=0.7, epsilon=0.01)
    rows = _rescore(source, tmp_path / "out.jsonl", config)
    score = score_group(category_indices(labels, CATEGORIES), correct, uniform(2), config)
    assert [row["reward"] for row in rows] == score.reward.tolist()  # to the last bit
    assert [row["divergence_reward"] for row in rows] == score.divergence_reward.tolist()


def test_a_lone_response_earns_nothing_as_in_training(tmp_path: Path) -> None:
    source = _write(tmp_path / "in.jsonl", GOOD, GOOD, GOOD.replace('"p"', '"q"'))
    config = RewardConfig("l2", alpha=0.5)
    # p: 0.5 + 0.5 (1/2 - 1); q would earn the same.
    assert [row["reward"] for row in _rescore(source, tmp_path / "out.jsonl", config)] == [0.25, 0.25, 0.0]


def test_it_says_how_many_responses_and_groups_it_scored(tmp_path: Path) -> None:
    source = _write(tmp_path / "in.jsonl", GOOD, GOOD.replace('"p"', '"q"'), GOOD)
    assert rescore_file(source, tmp_path / "out.jsonl", CATEGORIES, uniform(2), RewardConfig()) == (3, 2)


def test_other_keys_and_their_text_are_kept_and_older_rewards_replaced(tmp_path: Path) -> None:
    row = {"group": "p", "category": "english", "correct": True, "response": "नमस्ते\u2028a\nb", "step": 3, "reward": 9.0}
    source = _write(tmp_path / "in.jsonl", json.dumps(row))
    out = tmp_path / "out.jsonl"
    (scored,) = [json.loads(line) for line in _lines_after(source, out)]
    assert {key: scored[key] for key in ("response", "step")} == {"response": row["response"], "step": 3}
    assert scored["reward"] != 9.0
    assert "नमस्ते" in out.read_text(encoding="utf-8")  # readable, not \u-escaped


def _lines_after(source: Path, out: Path) -> list[str]:
    """The rescored file's lines, split at newlines only (a response may hold other line separators)."""
    rescore_file(source, out, CATEGORIES, uniform(2), RewardConfig("l2"))
    return out.read_text(encoding="utf-8").rstrip("\n").split("\n")


def test_a_lone_surrogate_in_a_response_survives(tmp_path: Path) -> None:
    source = _write(tmp_path / "in.jsonl", GOOD.replace("}", r', "response": "cut \ud83d"}'))
    assert _rescore(source, tmp_path / "out.jsonl")[0]["response"] == "cut \ud83d"


def test_blank_lines_are_dropped_but_counted_in_line_numbers(tmp_path: Path) -> None:
    assert len(_rescore(_write(tmp_path / "in.jsonl", GOOD, "", GOOD, "  "), tmp_path / "out.jsonl")) == 2
    with pytest.raises(MadrlError, match="line 3"):
        _rescore(_write(tmp_path / "bad.jsonl", GOOD, "", "{"), tmp_path / "out.jsonl")


def test_a_file_can_be_rescored_in_place_and_again(tmp_path: Path) -> None:
    path = _write(tmp_path / "in.jsonl", GOOD, GOOD)
    first = _rescore(path, path)
    assert _rescore(path, path) == first


def test_a_symbolic_link_is_written_through(tmp_path: Path) -> None:
    source, real, link = _write(tmp_path / "in.jsonl", GOOD), tmp_path / "real.jsonl", tmp_path / "link.jsonl"
    real.touch()
    link.symlink_to(real)
    _rescore(source, link)
    assert link.is_symlink()
    assert "reward" in real.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("not json", "not JSON"),
        ('{"group": "p"', "not JSON"),
        ('{"a":' * 100_000, "not JSON"),  # nested too deep for the parser
        ("7" * 5000, "not JSON"),  # an integer too long for Python
        ("[1]", "a JSON list where an object belongs"),
        ("null", "a JSON NoneType where an object belongs"),
        ('{"category": "english", "correct": true}', "no 'group'"),
        ('{"group": "p", "correct": true}', "no 'category'"),
        ('{"group": "p", "category": "english"}', "no 'correct'"),
        ('{"group": 7, "category": "english", "correct": true}', "group 7 is not text"),
        ('{"group": null, "category": "english", "correct": true}', "no 'group'"),
        ('{"uid": "p", "category": "english", "correct": true}', "'uid' is not read, call it 'group' if it is that"),
        ('{"problem": "p", "category": "english", "correct": true}', "'problem' is not read, call it 'group'"),
        ('{"uid": "p_1_0"}', "write 'p_1_0' as group 'p', session 1 and turn 0"),
        ('{"group": "p", "session": -1, "category": null, "correct": true}', "session -1 is not a whole number"),
        ('{"group": "p", "session": true, "category": null, "correct": true}', "session True is not a whole number"),
        ('{"group": "p", "session": 3, "turn": "0", "category": null, "correct": true}', "turn '0' is not a whole"),
        ('{"group": "p", "turn": 1, "category": null, "correct": true}', "'turn' without 'session'"),
        ('{"group": "p", "session": 0, "category": null, "correct": 1}', "session 0, turn 0 is there already"),
        ('{"group": "p", "category": 0, "correct": true}', "category 0 is not text"),
        ('{"group": "p", "category": ["english"], "correct": true}', "is not text"),
        ('{"group": "p", "category": "german", "correct": true}', "category 'german' is not declared"),
        ('{"group": "p", "category": "english", "correct": "yes"}', "correct 'yes' is not a verdict"),
        ('{"group": "p", "category": "english", "correct": [1]}', r"correct \[1\] is not a verdict"),
        ('{"group": "p", "category": "english", "correct": 2}', "correct 2 is not a verdict"),
        ('{"group": "p", "category": "english", "correct": -0.5}', "correct -0.5 is not a verdict"),
        ('{"group": "p", "category": "english", "correct": NaN}', "correct nan is not a verdict"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_written(tmp_path: Path, line: str, message: str) -> None:
    source, out = _write(tmp_path / "in.jsonl", GOOD, line, GOOD), tmp_path / "out.jsonl"
    out.write_text("what was there before")
    with pytest.raises(MadrlError, match=message) as caught:
        rescore_file(source, out, CATEGORIES, uniform(2), RewardConfig())
    assert str(caught.value).startswith(f"{source}, line 2: ")
    assert out.read_text() == "what was there before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]


def test_a_line_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_bytes(GOOD.encode() + b"\n" + GOOD.encode("utf-16") + b"\n")
    with pytest.raises(MadrlError, match="line 2: not JSON"):
        _rescore(source, tmp_path / "out.jsonl")


def test_a_file_without_responses_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MadrlError, match="holds no responses"):
        _rescore(_write(tmp_path / "in.jsonl", ""), tmp_path / "out.jsonl")


def test_a_missing_input_is_an_os_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"absent\.jsonl"):
        _rescore(tmp_path / "absent.jsonl", tmp_path / "out.jsonl")


def test_an_output_that_cannot_be_written_is_refused_by_name(tmp_path: Path) -> None:
    source = _write(tmp_path / "in.jsonl", GOOD)
    with pytest.raises(MadrlError, match="its folder does not exist"):
        _rescore(source, tmp_path / "absent" / "out.jsonl")
    with pytest.raises(MadrlError, match="not a regular file"):
        _rescore(source, tmp_path)
    with pytest.raises(MadrlError, match="cannot write /dev/null: it is not a regular file"):
        _rescore(source, Path("/dev/null"))


def test_a_failure_while_writing_keeps_the_old_file_and_leaves_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    source, out = _write(tmp_path / "in.jsonl", GOOD), _write(tmp_path / "out.jsonl", "old")
    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(MadrlError, match=r"cannot write .*out\.jsonl: no space left on the disk: free some"):
        _rescore(source, out)
    assert out.read_text() == "old\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]


def test_a_hinted_response_is_rewarded_and_not_counted(tmp_path: Path) -> None:
    source = _write(
        tmp_path / "in.jsonl",
        '{"group": "p", "category": "english", "correct": true, "hinted": null}',
        '{"group": "p", "category": "english", "correct": true}',
        '{"group": "p", "category": "हिन्दी", "correct": true, "hinted": "हिन्दी"}',
    )
    rows = _rescore(source, tmp_path / "out.jsonl", RewardConfig("l2", alpha=0.6))
    # q = (1, 0) of two; the third earns 1/2 - 1/2.  0.6 - 0.4/2 twice, 0.6
    np.testing.assert_allclose([row["reward"] for row in rows], [0.4, 0.4, 0.6])
    assert [row.get("hinted") for row in rows] == [None, None, "हिन्दी"]
    _write(source, '{"group": "p", "category": "english", "correct": true, "hinted": true}')
    with pytest.raises(MadrlError, match="line 1: hinted True is not text: name the category that was asked for"):
        _rescore(source, tmp_path / "out.jsonl")


def test_a_response_that_nobody_could_classify_earns_the_others_mean_and_is_not_counted(tmp_path: Path) -> None:
    source = _write(
        tmp_path / "in.jsonl",
        '{"group": "p", "category": "english", "correct": true, "classified": true}',
        '{"group": "p", "category": null, "correct": true, "classified": false}',
        '{"group": "p", "category": null, "correct": true}',
    )
    rows = _rescore(source, tmp_path / "out.jsonl", RewardConfig("l2", alpha=0.5))
    # q = (1/2, 0) of two: r_div 0, and -1 off-support; their mean, -1/2
    np.testing.assert_allclose([row["divergence_reward"] for row in rows], [0, -0.5, -1])


def test_a_group_is_rescored_by_its_prompt_s_own_target(tmp_path: Path) -> None:
    lines = [json.loads(GOOD), {**json.loads(GOOD), "category": "हिन्दी"}]
    own = [{**line, "group": "q", "target": {"english": 3, "हिन्दी": 1}} for line in lines]
    alone = [{**lines[0], "group": "r", "target": {"english": 1}}, {**lines[0], "group": "r", "category": None}]
    alone[1]["target"] = alone[0]["target"]
    source = _write(tmp_path / "in.jsonl", *map(json.dumps, lines + own + alone))
    rows = _rescore(source, tmp_path / "out.jsonl", RewardConfig("rkl", epsilon=0.01))
    # q = (1/2, 1/2). p: log 1 = 0 twice. q: log (0.99 x 3/4 + 0.01/2) - log 1/2 and log (0.99/4 + 0.01/2) - log 1/2.
    # r: among the prompt's own categories there is one, so p* = 1 and q = 1/2: log 2; the other is off-support, -1.
    expected = [0, 0, np.log(1.495), np.log(0.505), np.log(2), -1]
    np.testing.assert_allclose([row["divergence_reward"] for row in rows], expected, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "calibrate"), [((), True), (("--no-calibrate",), False), (("--form", "gated"), False)]
)
def test_the_command_calibrates_where_a_run_does(tmp_path: Path, options: tuple[str, ...], calibrate: bool) -> None:
    categories = ["english"] * 7 + ["हिन्दी"]
    lines = [json.dumps({"group": "p", "category": name, "correct": True}) for name in categories]
    source, out = _write(tmp_path / "in.jsonl", *lines), tmp_path / "out.jsonl"
    call = ["rescore", str(source), "-o", str(out), "--categories", ",".join(CATEGORIES)]
    assert main([*call, "--target", '{"english": 9, "हिन्दी": 1}', *options]) == 0
    found = [json.loads(line)["reward"] for line in out.read_text(encoding="utf-8").splitlines()]
    config = RewardConfig(form="gated" if "gated" in options else "additive", calibrate=calibrate)
    rescore_file(source, tmp_path / "expected.jsonl", CATEGORIES, np.array([0.9, 0.1]), config)
    expected = [json.loads(line)["reward"] for line in (tmp_path / "expected.jsonl").read_text().splitlines()]
    assert found == expected

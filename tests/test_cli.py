"""The ``madrl`` command, run in process and as a process of its own."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import madrl
from madrl import cli, rescore
from madrl.reward import RewardConfig
from madrl.warm_start import run as warm_start_run

ROOT = Path(madrl.__file__).parents[1]
HAVE_ROWS = '{"group": "p", "category": "a", "correct": true}\n{"group": "p", "category": "b", "correct": 0}\n'


def _madrl(*argv: str | Path) -> subprocess.CompletedProcess[str]:
    """``python -m madrl.cli`` in a process of its own."""
    return subprocess.run([sys.executable, "-m", "madrl.cli", *argv], cwd=ROOT, capture_output=True, text=True)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text(HAVE_ROWS)
    return path


def test_rescore_writes_the_rewards_worked_by_hand(rows: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    # fmt: off
    done = _madrl("rescore", rows, "-o", out, "--categories", "a, b", "--target", '{"a": 3, "b": 1}',
                  "--divergence", "fkl", "--form", "additive", "--alpha", "0.6")
    # fmt: on
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"responses rescored: 2, groups: 1, written to {out}\n"
    # p* = (3/4, 1/4), q = (1/2, 1/2): r_div = 3/2 - 1 = 1/2 and 1/2 - 1 = -1/2.  0.6 + 0.4/2 and -0.4/2
    scored = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["divergence_reward"] for row in scored] == [0.5, -0.5]
    assert [row["reward"] for row in scored] == pytest.approx([0.8, -0.2], abs=1e-15)


def test_every_reward_option_reaches_the_reward_and_the_defaults_are_the_config_s(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[RewardConfig] = []

    def spy(*args: object) -> object:
        seen.append(args[4])  # type: ignore[arg-type]
        return original(*args)  # type: ignore[arg-type]

    original = rescore.rescore_file
    monkeypatch.setattr(rescore, "rescore_file", spy)
    call = ["rescore", str(rows), "-o", str(tmp_path / "out.jsonl"), "--categories", "a,b", "--target", "uniform"]
    options = ["--divergence", "jsd", "--form", "gated", "--alpha", "0.1", "--lambda-g", "2", "--epsilon", "0.25"]
    options += ["--gate-floor", "-0.5", "--off-support", "flat", "--off-support-reward", "-2", "--calibrate"]
    assert cli.main(call) == 0
    assert cli.main(call + options) == 0
    asked = RewardConfig("jsd", "gated", 0.1, 2.0, -0.5, 0.25, "flat", -2.0, True)
    assert seen == [RewardConfig(calibrate=True), asked]


def test_floor_prints_one_readable_line_in_nats(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["floor", "--target", "uniform", "--categories", "5", "--samples", "32"]) == 0
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert "target uniform over 5 categories, measured on 32 responses: mean 0.0168 nats, 95th percentile" in out


def test_floor_as_json_names_everything_it_depends_on(capsys: pytest.CaptureFixture[str]) -> None:
    # fmt: off
    call = ["floor", "--target", '{"b": 1}', "--categories", "a,b", "--samples", "7", "--draws", "50", "--json"]
    # fmt: on
    assert cli.main(call) == 0
    assert json.loads(capsys.readouterr().out) == {
        "mean": 0.0, "p95": 0.0, "draws": 50, "samples": 7, "categories": ["a", "b"], "target": [0.0, 1.0],
    }  # fmt: skip


def test_a_count_of_categories_stands_for_the_names_1_to_n(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["floor", "--target", '{"3": 1, "1": 3}', "--categories", "3", "--samples", "9", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["categories"] == ["1", "2", "3"]
    assert result["target"] == [0.75, 0, 0.25]


def test_the_seed_decides_the_percentile(capsys: pytest.CaptureFixture[str]) -> None:
    def p95(seed: str) -> float:
        call = ["floor", "--target", "uniform", "--categories", "3", "--samples", "500", "--draws", "99", "--json"]
        assert cli.main([*call, "--seed", seed]) == 0
        value: float = json.loads(capsys.readouterr().out)["p95"]
        return value

    assert p95("1") == p95("1") != p95("2")


RESCORE = ("rescore", "IN", "-o", "OUT", "--categories", "a,b", "--target", "uniform")
FLOOR = ("floor", "--target", "uniform", "--categories", "5", "--samples", "32")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        # The last of a repeated option counts.
        ((*RESCORE, "--target", "{a: 1}"), "target '{a: 1}' is not JSON"),
        ((*RESCORE, "--target", '{"a": ' + "7" * 5000 + "}"), "is not JSON"),
        ((*RESCORE, "--target", "[1, 2]"), "unknown target '[1, 2]'"),
        ((*RESCORE, "--target", "flat"), "unknown target 'flat': use one of ['peak', 'uniform']"),
        ((*RESCORE, "--target", "peak"), "needs at least 3, got 2"),
        ((*RESCORE, "--target", '{"c": 1}'), "unknown category 'c'"),
        ((*RESCORE, "--target", '{"a": NaN}'), "target weight nan of 'a'"),
        ((*RESCORE, "--categories", "a"), "IN, line 2: category 'b' is not declared"),
        ((*RESCORE, "--categories", "a,,b"), "an empty category name"),
        ((*RESCORE, "--categories", "a,b,a"), "category 'a' is declared twice"),
        ((*RESCORE, "--alpha", "2"), "alpha=2.0 is not a number in [0, 1]"),
        ((*RESCORE, "--alpha", "half"), "argument --alpha: invalid float value: 'half'"),
        ((*RESCORE, "--lambda-g", "-1"), "lambda_g=-1.0 is not a number in "),
        ((*RESCORE, "--epsilon", "0"), "epsilon=0.0 is not a number in [1e-12, 0.999]"),
        ((*RESCORE, "--divergence", "kl"), "unknown divergence 'kl'"),
        ((*RESCORE, "--form", "mixed"), "unknown reward form 'mixed'"),
        ((*RESCORE, "--div", "l2"), "unrecognized arguments: --div l2"),
        ((*RESCORE, "-o", "ABSENT/out.jsonl"), "cannot write ABSENT/out.jsonl: its folder does not exist"),
        (("rescore", "ABSENT", *RESCORE[2:]), "ABSENT: No such file or directory"),
        (("rescore", "FOLDER", *RESCORE[2:]), "FOLDER: Is a directory"),
        (("rescore", "IN"), "required: -o/--output, --categories, --target (see madrl rescore --help)"),
        ((*FLOOR, "--samples", "-32"), "samples=-32 is outside 1.."),
        ((*FLOOR, "--samples", "many"), "argument --samples: invalid int value: 'many'"),
        ((*FLOOR, "--samples", "9" * 30), "is outside 1.."),
        ((*FLOOR, "--draws", "0"), "draws=0 must be at least 1"),
        ((*FLOOR, "--seed", "-1"), "seed=-1 must be 0 or more"),
        (
            (*FLOOR, "--categories", "100000", "--draws", "100000"),
            "100000 categories are more than 200000000 numbers in memory: take at most",
        ),
        ((*FLOOR, "--categories", "1000000000000"), "categories=1000000000000 is outside 1..1000000"),
        ((*FLOOR, "--categories", "0"), "categories=0 is outside 1..1000000"),
        ((*FLOOR, "--categories", "-3"), "categories=-3 is outside 1..1000000"),
        ((*FLOOR, "--target", "a\nb"), r"unknown target 'a\nb'"),
        (("dance",), "invalid choice: 'dance'"),
        ((), "the following arguments are required: COMMAND (see madrl --help)"),
    ],
)
def test_a_mistake_gives_one_line_on_stderr_and_exit_code_2(
    call: tuple[str, ...], message: str, rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"IN": rows, "OUT": tmp_path / "out.jsonl", "ABSENT": tmp_path / "absent", "FOLDER": tmp_path}

    def placed(text: str) -> str:
        for word, path in places.items():
            text = text.replace(word, str(path))
        return text

    assert cli.main([placed(argument) for argument in call]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("madrl: error: ")
    assert printed.err.count("\n") == 1
    assert placed(message) in printed.err
    assert list(tmp_path.iterdir()) == [rows]


def test_the_process_exits_with_the_code_and_prints_no_traceback() -> None:
    done = _madrl("floor", "--target", "uniform", "--categories", "5", "--samples", "-1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [done.stderr.strip()]
    assert done.stderr.startswith("madrl: error: samples=-1")


def test_an_error_of_ours_is_not_dressed_up_as_the_user_s(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise OSError("no file involved")

    monkeypatch.setitem(cli.COMMANDS, "floor", broken)
    with pytest.raises(OSError, match="no file involved"):
        cli.main(FLOOR)


def test_a_package_that_the_base_installation_lacks_is_named_with_the_command_that_installs_it() -> None:
    program = "import sys; sys.modules['hydra'] = None; from madrl import cli; sys.exit(cli.main(['train', 'task=a']))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "madrl: error: hydra is not installed: call madrl install cpu, or on GPUs madrl install gpu\n"


def test_help_names_every_command_and_loads_nothing_heavy() -> None:
    program = "import sys; from madrl import cli; print(cli.main(['--help']), 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 False"
    for name in cli.COMMANDS:
        assert f"    {name}" in done.stdout


@pytest.mark.parametrize("name", sorted(cli.COMMANDS))
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([name, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: madrl {name}")


def test_words_and_options_stand_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    monkeypatch.setattr(warm_start_run, "warm_start", lambda *given: seen.append(given))
    words = ["task=gsm8k", "~trainer.logger", "+trainer.seed=1", "-"]
    for place in range(len(words) + 1):
        assert cli.main(["warm-start", *words[:place], "--dry-run", *words[place:]]) == 0
    assert seen == [(words, True)] * 5


def test_an_option_before_the_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--json", *FLOOR]) == 2
    assert "the following arguments are required: COMMAND (see madrl --help)" in capsys.readouterr().err


def test_help_shows_the_defaults_of_the_reward_config(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rescore", "--help"]) == 0
    text = capsys.readouterr().out
    default = RewardConfig()
    for value in (default.divergence, default.form, default.alpha, default.lambda_g, default.epsilon):
        assert f"({value})" in text
    assert "(-1.0)" in text


def test_version_is_the_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"madrl {madrl.__version__}\n"


def test_a_reader_that_goes_away_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    # Buffered, as in a user's shell: the failure then shows only when the buffer is flushed.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with os.fdopen(writer, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "madrl.cli", *FLOOR],
            cwd=ROOT,
            env=environment,
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert (done.returncode, done.stderr) == (141, "")


def test_ctrl_c_ends_quietly(tmp_path: Path) -> None:
    fifo = tmp_path / "endless.jsonl"
    os.mkfifo(fifo)
    call = ["rescore", str(fifo), "-o", str(tmp_path / "out.jsonl"), "--categories", "a", "--target", "uniform"]
    process = subprocess.Popen(
        [sys.executable, "-m", "madrl.cli", *call],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )
    # Lines without end: to a reader that waits for one, a signal just before its read() would only be told by a line.
    lines = threading.Thread(target=_write_lines_until_nobody_reads, args=[_open_once_it_is_read(fifo)])
    lines.start()
    try:
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=300)
    finally:
        process.kill()
        lines.join()
    assert (process.returncode, stderr) == (130, "")


def _write_lines_until_nobody_reads(fifo: int) -> None:
    os.set_blocking(fifo, True)
    with open(fifo, "wb", buffering=0) as file, contextlib.suppress(BrokenPipeError):
        while True:
            file.write(b'{"group": "p", "category": "a", "correct": true}\n')
            time.sleep(0.01)  # a reader that did not end would fill the memory


def _open_once_it_is_read(fifo: Path) -> int:
    """A descriptor that writes to the reader of ``fifo``; gives up after 300 s without a reader."""
    deadline = time.monotonic() + 300
    while True:
        try:
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)

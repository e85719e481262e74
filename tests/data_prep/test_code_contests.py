import contextlib
import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from prepared_data import content, module_command, read_rows, real_data, run_module

from data_prep import code_contests, program_references, sources
from data_prep.splits import SourceProblem
from madrl.grading.programs.program import default_client, program_tests
from madrl.schema import check_parquet

SPLITS = ("train", "selection", "validation", "holdout")

CPP = "#include <iostream>\nint main() { int a; std::cin >> a; std::cout << a + 1; } // right"
PYTHON = "print(int(input()) + 1)  # right"
WRONG = "print(int(input()) - 1)"


def a_row(number: int, **changes: Any) -> dict[str, Any]:
    """A row of the hub's schema."""
    row = {
        "name": f"{number}_A. Successor",
        "description": f"Print {number} if it is the successor of the input, else the input plus 1.",
        "public_tests": {"input": ["1\n"], "output": ["2\n"]},
        "private_tests": {"input": ["1\n", "2\n"], "output": ["2\n", "3\n"]},
        "generated_tests": {"input": [f"{number}\n"], "output": [f"{number + 1}\n"]},
        "source": 2,
        "difficulty": 7,
        "solutions": {"language": [1, 3, 2], "solution": ["print 1", PYTHON, CPP]},
        "incorrect_solutions": {"language": [3], "solution": [WRONG]},
        "input_file": "",
        "output_file": "",
        "time_limit": {"seconds": 1, "nanos": 500_000_000},
        "memory_limit_bytes": 256_000_000,
        "is_description_translated": False,
    }
    return {**row, **changes}


def some_tests(*pairs: tuple[str, str]) -> dict[str, list[str]]:
    return {"input": [one for one, _ in pairs], "output": [other for _, other in pairs]}


def write_source(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def prepare(source: Path, target: Path, *arguments: str) -> int:
    result: int = code_contests.main(["--local_dataset_path", str(source), "--local_save_dir", str(target), *arguments])
    return result


def manifest_of(folder: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text("utf-8"))
    return manifest


def parsed(tmp_path: Path, **changes: Any) -> Any:
    intake = code_contests.Intake(tmp_path, Path("/final/tests"))
    return intake.parse(sources.Record("train", "train.parquet, row 3", a_row(5, **changes)))


# One row.


def test_a_row_gives_all_its_tests_once_and_its_limits(tmp_path: Path) -> None:
    problem = parsed(tmp_path)
    [file] = tmp_path.iterdir()
    assert json.loads(file.read_text("utf-8")) == {
        "tests": [
            {"input": "1\n", "output": "2\n"},
            {"input": "2\n", "output": "3\n"},
            {"input": "5\n", "output": "6\n"},
        ],
        "checker": {"ignore_case": True},
    }
    assert file.name == sha256(file.read_bytes()).hexdigest() + ".json"
    assert json.loads(problem.ground_truth) == {
        "tests_file": f"/final/tests/{file.name}",
        "time_limit_s": 1.5,
        "memory_limit_mb": 256,
    }
    assert (problem.extra["problem_id"], problem.extra["source"]) == ("5_A. Successor", "CODEFORCES")


@pytest.mark.parametrize(
    ("published", "limits"),
    [
        ({"time_limit": None, "memory_limit_bytes": 0}, {}),
        ({"memory_limit_bytes": 256 << 20}, {"time_limit_s": 1.5, "memory_limit_mb": 256}),
        ({"time_limit": {"seconds": 2, "nanos": 0}}, {"time_limit_s": 2.0, "memory_limit_mb": 256}),
    ],
)
def test_limits_that_the_source_does_not_have_are_left_to_the_sandbox(
    tmp_path: Path, published: dict[str, Any], limits: dict[str, float]
) -> None:
    ground_truth = json.loads(parsed(tmp_path, **published).ground_truth)
    assert {name: value for name, value in ground_truth.items() if name != "tests_file"} == limits


EMPTY = some_tests()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"input_file": "input.txt"}, "not_stdio"),
        ({"output_file": "output.txt"}, "not_stdio"),
        ({"description": " \n"}, "no_problem"),
        ({"description": "Sum them.\n\n\nInteraction\n\nAsk me."}, "interactive"),
        ({"description": "Ask. Do not forget to flush the output."}, "interactive"),
        ({"description": "Sum them. Use fast input in Java."}, "names_a_language"),
        ({"description": "Solve it in C++."}, "names_a_language"),
        ({"public_tests": EMPTY, "private_tests": EMPTY, "generated_tests": EMPTY}, "no_tests"),
        ({"public_tests": some_tests(("1\n", "3\n"))}, "contradictory_tests"),
        ({"generated_tests": some_tests(("\ud800", "1"))}, "not_unicode"),
        ({"generated_tests": some_tests(*((str(i), "1") for i in range(3, 10_003)))}, "over_sandbox_limits"),
        ({"time_limit": {"seconds": 61, "nanos": 0}}, "over_sandbox_limits"),
        ({"memory_limit_bytes": 8_000_000}, "over_sandbox_limits"),
    ],
)
def test_a_row_that_cannot_be_graded_or_asked_is_dropped(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    dropped = parsed(tmp_path, **changes)
    assert (dropped.reason, dropped.origin) == (reason, "train.parquet, row 3")
    assert not list(tmp_path.iterdir())


def test_tests_that_are_larger_than_a_request_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_contests, "MAX_CODE_BYTES", (256 << 20) - 1000)
    assert parsed(tmp_path, generated_tests=some_tests(("1" * 1000, "1"))).reason == "over_sandbox_limits"


def test_outputs_that_the_judge_takes_for_equal_do_not_contradict(tmp_path: Path) -> None:
    assert parsed(tmp_path, public_tests=some_tests(("1\n", "2 \n\n"), ("7", "0.50"), ("7", "0.5"))).ground_truth
    assert parsed(tmp_path, public_tests=some_tests(("7", "YES"), ("7", "Yes"))).ground_truth


@pytest.mark.parametrize("text", ["Is the hand a royal flush?", "Go to the next node.", "Count the interactions."])
def test_a_word_that_only_looks_like_a_reason_drops_nothing(tmp_path: Path, text: str) -> None:
    assert parsed(tmp_path, description=text).text == text


def test_advice_on_streams_is_cut_since_it_names_a_language(tmp_path: Path) -> None:
    advice = (
        "Please, do not use the %lld specifier to read or write 64-bit integers in С++. It is preferred to use cin."
    )
    assert parsed(tmp_path, description=f"Sum them. {advice}\n\nOutput\n\nThe sum.").text == (
        "Sum them.\n\nOutput\n\nThe sum."
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"public_tests": None}, "field 'public_tests' is not a struct of the lists ['input', 'output']"),
        ({"public_tests": {"input": ["1"], "output": []}}, "field 'public_tests' has lists of different lengths"),
        (
            {"public_tests": {"input": ["1"], "output": [None]}},
            "field 'public_tests', test 0: input and output must be",
        ),
        ({"time_limit": 2.0}, "time_limit 2.0 or memory_limit_bytes 256000000 is not"),
        ({"name": None}, "field 'name' is NoneType, not text"),
    ],
)
def test_a_malformed_row_is_one_line_that_names_it(
    tmp_path: Path, changes: dict[str, Any], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (a_row(1), a_row(2, **changes))))
    assert prepare(path, tmp_path / "out") == 2
    error = capsys.readouterr().err
    assert f"train.jsonl, line 2: {message}" in error
    assert error.count("\n") == 1
    assert not content(tmp_path / "out")


# The whole, without a sandbox.


def test_the_files_the_tests_and_the_manifest_belong_together(tmp_path: Path) -> None:
    rows = [a_row(i) for i in range(20)]
    write_source(tmp_path / "data/train-00000-of-00002.parquet", rows[:10])
    write_source(tmp_path / "data/train-00001-of-00002.parquet", rows[10:])
    write_source(tmp_path / "data/test-00000-of-00001.parquet", [a_row(i) for i in range(18, 30)])
    assert prepare(tmp_path / "data", tmp_path / "out", "--no_reference_check") == 0
    manifest = manifest_of(tmp_path / "out")
    assert manifest["reference_check"] is False
    assert manifest["drops"] == {"duplicate": 2}
    assert manifest["problems_without_a_checked_reference"] == 30
    files = set()
    for split in SPLITS:
        assert check_parquet(tmp_path / f"out/{split}.parquet") == manifest["files"][f"{split}.parquet"]["rows"]
        for row in read_rows(tmp_path / "out", split):
            tests = program_tests(row["reward_model"]["ground_truth"])
            assert len(tests["tests"]) == row["extra_info"]["n_tests"]
            assert (tests["time_limit_s"], tests["memory_limit_mb"]) == (1.5, 256)
            files.add(row["extra_info"]["tests_file"])
    assert files == {path.name for path in (tmp_path / "out/tests").iterdir()}
    assert manifest["tests"]["files"] == len(files)


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path) -> None:
    source = write_source(tmp_path / "train.parquet", [a_row(i) for i in range(10)])
    contents = []
    for _ in range(2):
        assert prepare(source, tmp_path / "out", "--no_reference_check") == 0
        contents.append(content(tmp_path / "out"))
    assert contents[0] == contents[1]


# The reference check, against a service that knows right programs by a word in them.


class Judge:
    """A service that answers /health and /judge, and counts the programs that it was sent."""

    def __init__(self) -> None:
        self.graded: list[str] = []
        self.silent = threading.Event()
        """While set, /judge gives no answer."""
        judge = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer({})

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                judge.graded.append(request["code"])
                while judge.silent.is_set():
                    time.sleep(0.02)
                self._answer({"verdict": "AC" if "right" in request["code"] else "WA"})

            def _answer(self, body: dict[str, Any]) -> None:
                encoded = json.dumps(body).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(encoded)))
                with contextlib.suppress(BrokenPipeError):  # the client was killed
                    self.end_headers()
                    self.wfile.write(encoded)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Iterator[Judge]:
    judge = Judge()
    monkeypatch.setenv("MADRL_SANDBOX_URLS", judge.url)
    default_client.cache_clear()
    yield judge
    default_client.cache_clear()
    judge.silent.clear()
    judge.server.shutdown()
    judge.server.server_close()


def with_solutions(number: int, *solutions: tuple[int, str]) -> dict[str, Any]:
    columns = {"language": [one for one, _ in solutions], "solution": [other for _, other in solutions]}
    return a_row(number, solutions=columns)


def test_only_solutions_that_will_be_tried_are_kept_in_memory(tmp_path: Path) -> None:
    fields = with_solutions(5, *((language, f"{language} {i}") for language in (3, 2) for i in range(100)))
    for checks, kept in ((True, ["2 0", "3 0", "2 1"]), (False, [])):
        intake = code_contests.Intake(tmp_path, Path("/final/tests"), checks_references=checks)
        intake.parse(sources.Record("train", "train.parquet, row 3", fields))
        (candidate,) = intake.candidates.values()
        assert [solution.code for solution in candidate.solutions] == kept


def test_a_problem_none_of_whose_solutions_passes_is_dropped_and_one_without_any_is_kept(
    tmp_path: Path, judge: Judge
) -> None:
    rows = [
        *(a_row(i) for i in range(8)),
        with_solutions(8, (3, WRONG), (3, WRONG + "#"), (3, PYTHON)),  # the third is accepted
        with_solutions(9, (3, WRONG), (3, WRONG + "#"), (3, WRONG + "##"), (3, PYTHON)),  # the fourth is not tried
        with_solutions(10, (1, WRONG)),  # Python 2 is none of ours
    ]
    source = write_source(tmp_path / "train.parquet", rows)
    assert prepare(source, tmp_path / "out") == 0
    manifest = manifest_of(tmp_path / "out")
    assert manifest["drops"] == {"reference_rejected": 1}
    assert manifest["dropped"] == [
        {
            "row": "train.parquet, row 9",
            "split": "train",
            "reason": "reference_rejected",
            "detail": "9_A. Successor: python wa; python wa; python wa",
        }
    ]
    assert (manifest["reference_check"], manifest["problems_without_a_checked_reference"]) == (True, 1)
    assert len(judge.graded) == 8 + 3 + 3


def test_verdicts_are_kept_so_that_a_second_run_judges_nothing_again(tmp_path: Path, judge: Judge) -> None:
    source = write_source(tmp_path / "train.parquet", [*(a_row(i) for i in range(6)), with_solutions(6, (3, WRONG))])
    assert prepare(source, tmp_path / "out") == 0
    before, graded = content(tmp_path / "out"), len(judge.graded)
    assert prepare(source, tmp_path / "out") == 0
    assert content(tmp_path / "out") == before
    assert len(judge.graded) == graded == 7


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_stopped_leaves_the_old_output_and_the_next_goes_on(
    tmp_path: Path, judge: Judge, stop: signal.Signals
) -> None:
    source = write_source(tmp_path / "train.parquet", [a_row(i) for i in range(3, 9)])  # no two with the same tests
    assert prepare(source, tmp_path / "out", "--seed", "1") == 0
    verdicts = tmp_path / "out/reference_verdicts.jsonl"
    verdicts.write_bytes(b"".join(verdicts.read_bytes().splitlines(keepends=True)[:4]) + b'{"program": "ab')
    before = content(tmp_path / "out")
    judge.silent.set()
    judge.graded.clear()
    command, environment = module_command(
        "code_contests", "--local_dataset_path", source, "--local_save_dir", tmp_path / "out"
    )
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 600
        while len(judge.graded) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(stop)
        _, error = process.communicate(timeout=300)
    assert len(judge.graded) == 2  # of six: four verdicts were kept
    assert process.returncode == (130 if stop == signal.SIGINT else -stop)
    assert "Traceback" not in error
    after = {n: b for n, b in content(tmp_path / "out").items() if not n.startswith((".unfinished", "reference_"))}
    assert after == {name: data for name, data in before.items() if not name.startswith("reference_")}
    judge.silent.clear()
    judge.graded.clear()
    assert prepare(source, tmp_path / "out") == 0
    assert len(judge.graded) == 2
    assert not (tmp_path / "out/.unfinished").exists()
    assert manifest_of(tmp_path / "out")["seed"] == 42


def test_without_a_sandbox_there_is_one_line_with_the_remedy(tmp_path: Path) -> None:
    source = write_source(tmp_path / "train.parquet", [a_row(i) for i in range(6)])
    command, environment = module_command(
        "code_contests", "--local_dataset_path", source, "--local_save_dir", tmp_path / "out"
    )
    environment["MADRL_SANDBOX_URLS"] = "http://127.0.0.1:9"
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    error = done.stderr.splitlines()[-1]
    assert error.startswith(
        "data_prep.code_contests: error: no sandbox answers at http://127.0.0.1:9: start one (python -m "
    )
    assert "--no_reference_check" in error
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out/train.parquet").exists()


def test_a_sandbox_that_goes_away_ends_the_check(
    tmp_path: Path, judge: Judge, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(program_references, "WATCH_EVERY_S", 0.05)
    judge.silent.set()
    source = write_source(tmp_path / "train.parquet", [a_row(i) for i in range(6)])

    def go_away() -> None:
        while not judge.graded:
            time.sleep(0.02)
        judge.server.shutdown()
        judge.server.server_close()

    leaving = threading.Thread(target=go_away)
    leaving.start()
    assert prepare(source, tmp_path / "out") == 2
    leaving.join()
    assert "no sandbox answers" in capsys.readouterr().err


def test_a_program_with_a_fence_in_it_is_fenced_longer() -> None:
    from madrl.grading.programs.extract import last_program

    solution = program_references.Solution("python", 'print("""\n```\n""")')
    program = last_program(program_references.fenced(solution))
    assert program is not None
    assert (program.language, program.code) == ("python", solution.code + "\n")


@pytest.mark.sandbox
def test_the_real_sandbox_accepts_right_references_and_no_wrong_ones(
    tmp_path: Path, own_service: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MADRL_SANDBOX_URLS", own_service().url)
    default_client.cache_clear()
    java = """
        import java.util.Scanner;
        class A { public static void main(String[] a) { System.out.println(new Scanner(System.in).nextInt() + 1); } }"""
    rows = [
        *(a_row(i) for i in range(3)),
        with_solutions(3, (4, java)),
        with_solutions(4, (3, WRONG), (3, PYTHON)),
        with_solutions(5, (3, WRONG), (2, "#include <iostream>\nint main() { std::cout << unknown; }")),
    ]
    assert prepare(write_source(tmp_path / "train.parquet", rows), tmp_path / "out") == 0
    default_client.cache_clear()
    [dropped] = manifest_of(tmp_path / "out")["dropped"]
    assert (dropped["row"], dropped["detail"]) == ("train.parquet, row 5", "5_A. Successor: cpp ce; python wa")


CHECKER = r"""
#include "testlib.h"
int main(int argc, char* argv[]) {
  registerTestlibCmd(argc, argv);
  int asked = inf.readInt(), said = ouf.readInt();
  if (said <= asked) quitf(_wa, "%d is not larger", said);
  quitf(_ok, "%d", said);
}
"""
TESTLIB = r"""
#include <cstdio>
#include <cstdlib>
#include <fstream>
enum TResult { _ok, _wa };
struct InStream { std::ifstream file; int readInt() { int n; file >> n; return n; } } inf, ouf;
void registerTestlibCmd(int, char* argv[]) { inf.file.open(argv[1]); ouf.file.open(argv[2]); }
void quitf(TResult result, const char* format, int n) { fprintf(stderr, format, n); exit(result); }
"""


def test_a_checker_goes_along_with_the_tests_and_testlib_in_it(tmp_path: Path) -> None:
    intake = code_contests.Intake(tmp_path, Path("/final/tests"), TESTLIB)
    several = some_tests(("1", "2"), ("1", "3"))
    row = a_row(5, checker=CHECKER, private_tests=several)
    problem = intake.parse(sources.Record("train", "train.parquet, row 3", row))
    assert isinstance(problem, SourceProblem)
    [file] = tmp_path.iterdir()
    checker = json.loads(file.read_text("utf-8"))["checker"]
    assert (checker["mode"], checker["language"]) == ("program", "cpp")
    assert TESTLIB in checker["code"]
    assert "testlib.h" not in checker["code"]


def test_a_checker_that_includes_testlib_is_dropped_without_it(tmp_path: Path) -> None:
    dropped = parsed(tmp_path, checker=CHECKER)
    assert (dropped.reason, "--testlib" in dropped.detail) == ("no_testlib", True)


def test_a_problem_whose_right_solutions_fail_may_need_a_checker(tmp_path: Path, judge: Judge) -> None:
    rows = [*(a_row(i) for i in range(6)), with_solutions(6, (3, WRONG), (3, PYTHON))]
    assert prepare(write_source(tmp_path / "train.parquet", rows), tmp_path / "out") == 0
    assert manifest_of(tmp_path / "out")["may_need_a_checker"] == ["6_A. Successor"]


@pytest.mark.sandbox
def test_the_real_sandbox_asks_a_problems_checker(
    tmp_path: Path, own_service: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MADRL_SANDBOX_URLS", own_service().url)
    default_client.cache_clear()
    (tmp_path / "testlib.h").write_text(TESTLIB)
    other = "print(int(input()) + 7)"
    rows = [{**with_solutions(i, (3, other)), "checker": CHECKER} for i in range(5)]
    rows.append({**with_solutions(5, (3, WRONG)), "checker": CHECKER})
    source = write_source(tmp_path / "train.parquet", rows)
    assert prepare(source, tmp_path / "out", "--testlib", str(tmp_path / "testlib.h")) == 0
    default_client.cache_clear()
    manifest = manifest_of(tmp_path / "out")
    assert [drop["row"] for drop in manifest["dropped"]] == ["train.parquet, row 5"]
    assert manifest["may_need_a_checker"] == []


# The published problems.


def test_the_published_problems_are_prepared_by_the_default_command_without_a_sandbox(tmp_path: Path) -> None:
    source = real_data("code_contests")
    done = run_module("code_contests", "--local_dataset_path", source, "--local_save_dir", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "warning: holdout has 2 problems, not 200" in done.stderr
    manifest = manifest_of(tmp_path)
    assert [drop["detail"].split(":")[0] for drop in manifest["dropped"]] == ["1179_E. Alesya and Discrete Math"]
    assert manifest["drops"] == {"interactive": 1}
    assert manifest["problems_without_a_checked_reference"] == 11
    assert [len(read_rows(tmp_path, split)) for split in SPLITS] == [6, 2, 1, 2]
    for split in SPLITS:
        for row in read_rows(tmp_path, split):
            ground_truth = row["reward_model"]["ground_truth"]
            assert Path(json.loads(ground_truth)["tests_file"]).is_absolute()
            assert len(program_tests(ground_truth)["tests"]) == row["extra_info"]["n_tests"]

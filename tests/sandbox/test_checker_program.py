"""Special judges: a checker program says whether an output is right, in testlib's convention."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from sandbox import jobs
from sandbox.box import Slot
from sandbox.checker_program import Checked
from sandbox.errors import BoxLostError, CheckerError
from sandbox.jobs import JudgeVerdict, Program
from sandbox.judging import Judge
from sandbox.languages import Toolchain

pytestmark = pytest.mark.sandbox

# Its own part of testlib's interface, as a checker brings that is to run anywhere.
CPP_CHECKER = r"""
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
enum TResult { _ok = 0, _wa = 1, _pe = 2, _fail = 3, _points = 7 };
struct InStream {
  std::ifstream file;
  TResult on_error;
  long long readLong() {
    long long value;
    if (!(file >> value)) { fprintf(stderr, "expected an integer"); exit(on_error); }
    return value;
  }
  bool seekEof() { std::string rest; return !(file >> rest); }
} inf, ouf, ans;
void quitf(TResult result, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  exit(result);
}
void quitp(double points, const char* said) { fprintf(stderr, "points %f %s", points, said); exit(_points); }
void registerTestlibCmd(int argc, char* argv[]) {
  if (argc < 4) exit(_fail);
  inf.file.open(argv[1]), ouf.file.open(argv[2]), ans.file.open(argv[3]);
  inf.on_error = ans.on_error = _fail, ouf.on_error = _pe;
}
int main(int argc, char* argv[]) {
  registerTestlibCmd(argc, argv);
  long long sum = inf.readLong(), a = ouf.readLong(), b = ouf.readLong();
  if (!ouf.seekEof()) quitf(_pe, "extra tokens");
  if (a + b == sum - 1) quitp(0.25, "off by one");
  if (a + b != sum) quitf(_wa, "%lld + %lld is not %lld", a, b, sum);
  quitf(_ok, "%lld and %lld", a, b);
}
"""

CHECKERS = {
    "cpp": CPP_CHECKER,
    "python": "import sys\nwanted, got, _ = (list(map(int, open(path).read().split())) for path in sys.argv[1:])\n"
    "sys.exit(sum(got) != wanted[0])",
    "java": "import java.nio.file.*; import java.util.*;\npublic class Check { static long sum(String path) "
    'throws Exception { String text = Files.readString(Path.of(path)).trim();\n'
    'return Arrays.stream(text.split("\\\\s+")).mapToLong(Long::parseLong).sum(); }\n'
    "public static void main(String[] a) throws Exception { System.exit(sum(a[0]) == sum(a[1]) ? 0 : 1); } }",
    "go": 'package main\nimport ("fmt"; "os")\nfunc main() { i, _ := os.Open(os.Args[1]); o, _ := os.Open(os.Args[2])\n'
    "var s, a, b int; fmt.Fscan(i, &s); fmt.Fscan(o, &a, &b); if a + b != s { os.Exit(1) } }",
    "javascript": 'const [i, o] = process.argv.slice(2).map((p) => require("fs").readFileSync(p, "utf8"));\n'
    "process.exit(o.split(/\\s+/).map(Number).reduce((a, b) => a + b) == Number(i) ? 0 : 1)",
}  # fmt: skip

NOT_CACHED = 'sandbox_compile_cache_total{language="cpp",result="miss"}'
NOT_ITS_OWN = "does not accept the expected output"
ONE_AND_THE_REST = "print(1, int(input()) - 1)"
TESTS = [{"input": f"{n}\n", "output": f"{n} 0\n"} for n in range(5, 8)]


def refused(service: Any, checker: str, language: str, expected: str, reason: str) -> None:
    asked = {"mode": "program", "language": language, "code": checker}
    tests = [{"input": "5\n", "output": expected}]
    body = {"language": "python", "code": "print(1)", "tests": tests, "checker": asked}
    response = httpx.post(f"{service.url}/judge", json=body, timeout=300)
    assert response.status_code == 422, response.text
    assert reason in response.json()["detail"]


def judged(service: Any, code: str, checker: str = CPP_CHECKER, language: str = "cpp", **fields: Any) -> Any:
    asked = {"mode": "program", "language": language, "code": checker}
    return service.judge(**{"language": "python", "code": code, "tests": TESTS, "checker": asked, **fields})


@pytest.mark.parametrize("language", CHECKERS)
def test_an_answer_other_than_the_expected_one_is_right_when_the_checker_says_so(service: Any, language: str) -> None:
    assert judged(service, ONE_AND_THE_REST, CHECKERS[language], language)["verdict"] == "AC"
    assert judged(service, "print(1, int(input()) + 2)", CHECKERS[language], language)["verdict"] == "WA"
    plain = service.judge(language="python", code=ONE_AND_THE_REST, tests=TESTS)
    assert plain["verdict"] == "WA"


def test_the_checkers_words_are_the_tests_message(service: Any) -> None:
    answer = judged(service, "print(1, 1)")
    assert (answer["verdict"], answer["message"], answer["points"]) == ("WA", "1 + 1 is not 5", 0)
    assert judged(service, "print('a b')")["message"] == "expected an integer"


def test_a_checker_gives_points(service: Any) -> None:
    code = "n = int(input())\nprint(n - (n == 6), 0)"
    answer = judged(service, code, stop_on_first_failure=False)
    assert [test["points"] for test in answer["tests"]] == [1, 0.25, 1]
    assert (answer["verdict"], answer["points"]) == ("WA", 0.75)


def test_a_program_that_does_not_end_well_is_not_shown_to_the_checker(service: Any) -> None:
    answer = judged(
        service, "n = int(input())\nprint(n, 0)\nif n == 6: raise SystemExit(3)", stop_on_first_failure=False
    )
    assert [test["verdict"] for test in answer["tests"]] == ["AC", "RE", "AC"]
    assert [test["points"] for test in answer["tests"]] == [1, 0, 1]


def test_the_first_failure_ends_the_run_among_many_tests_too(service: Any) -> None:
    tests = [{"input": f"{n}\n", "output": f"{n} 0\n"} for n in range(40)]
    answer = judged(service, "n = int(input())\nprint(n + (n >= 21), 0)", tests=tests)
    assert (answer["first_failed"], len(answer["tests"]), answer["total"], answer["points"]) == (21, 22, 40, 21 / 40)


@pytest.mark.parametrize("wrong", [0, 1, 3])
def test_no_row_behind_the_deciding_one_is_looked_at(service: Any, wrong: int) -> None:
    """In the next one the checker does not accept what is expected."""
    tests = [{"input": f"{n} {n == wrong + 1:d}\n", "output": f"{n} 0\n"} for n in range(5)]
    code = f"n = int(input().split()[0])\nprint(n + (n >= {wrong}), 0)"
    strict = CPP_CHECKER.replace(
        "long long sum = inf.readLong(),", "long long sum = inf.readLong(), bad = inf.readLong(),"
    )
    strict = strict.replace("if (!ouf.seekEof())", "if (bad) exit(_fail);\n  if (!ouf.seekEof())")
    answer = judged(service, code, strict, tests=tests)
    assert (answer["verdict"], answer["first_failed"], len(answer["tests"])) == ("WA", wrong, wrong + 1), answer


@pytest.mark.parametrize("output", ["", "x", "1e400 -", "\0" * 100, "9" * 5000 + " 1"], ids=ascii)
def test_no_output_makes_itself_ungraded_by_crashing_the_checker(service: Any, output: str) -> None:
    answer = judged(service, f"print({output!r}, end='')", CHECKERS["python"], "python")
    assert answer["verdict"] == "WA"


def test_a_checker_that_spoils_its_own_files_is_asked_about_the_next_output_all_the_same(service: Any) -> None:
    breaks = (
        "import os, sys\nif 'x' in open(sys.argv[2]).read():\n    os.remove(sys.argv[2])\n    os.mkdir(sys.argv[2])\n"
        "    sys.exit(9)"
    )
    code = "n = int(input())\nprint('x' if n == 6 else n)"
    answer = judged(service, code, breaks, "python", stop_on_first_failure=False)
    assert [test["verdict"] for test in answer["tests"]] == ["AC", "WA", "AC"]


@pytest.mark.parametrize(
    ("checker", "reason"),
    [
        ("int main( {", "does not compile"),
        ("int main() { return 3; }", NOT_ITS_OWN),
        (
            "#include <vector>\nint main() { for (std::vector<char> v;;) v.push_back(1); }",
            "does not accept the expected output",
        ),
        ("int main() { __builtin_trap(); }", NOT_ITS_OWN),
        ("int main() { return 1; }", NOT_ITS_OWN),
    ],
)
def test_a_checker_at_fault_refuses_the_request(service: Any, checker: str, reason: str) -> None:
    refused(service, checker, "cpp", TESTS[0]["output"], reason)


@pytest.mark.parametrize("language", CHECKERS)
def test_a_checker_that_rejects_the_expected_output_or_crashes_at_it_refuses_the_request(
    service: Any, language: str
) -> None:
    """An uncaught exception ends with 1, which is a rejection for testlib. All read numbers, and these are words."""
    refused(service, CHECKERS[language], language, "five and nothing", NOT_ITS_OWN)


def test_a_checker_finds_nothing_of_what_it_has_left_at_an_output_before(service: Any) -> None:
    leaves = (
        "import os, sys\nleft = ['/tmp/left', '/dev/shm/left']\nfound = any(map(os.path.exists, left))\n"
        "for path in left: open(path, 'w').close()\n"
        "sys.exit(found or open(sys.argv[2]).read().split() != open(sys.argv[3]).read().split())"
    )
    answer = judged(service, "n = int(input())\nprint(n, 1 - n % 2)", leaves, "python", stop_on_first_failure=False)
    assert [test["verdict"] for test in answer["tests"]] == ["AC", "WA", "AC"]


def test_no_output_makes_itself_ungraded_by_taking_the_checkers_sandbox_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def words(_: Judge, *asked: Any) -> Iterator[Checked]:
        for _, output in asked[-1]:
            if output == b"x":
                raise BoxLostError("the sandbox ended")
            yield Checked(JudgeVerdict.AC, 1.0, "")

    monkeypatch.setattr(Judge, "_words", words)
    monkeypatch.setattr(Judge, "_blame", lambda *_: None)
    judge = Judge(Slot("", str(tmp_path)), {"python": Toolchain("python", "", (), None)})
    checker = Program("python", "", "")
    cases = [(jobs.TestCase(b"", b"1"), output) for output in (b"1", b"x", b"1")]
    assert [one.verdict for one in judge._asked(checker, cases)] == ["AC", "WA", "AC"]
    with pytest.raises(CheckerError, match="takes its sandbox down"):
        list(judge._asked(checker, [(jobs.TestCase(b"", b"x"), b"x")]))


@pytest.mark.parametrize(
    "checker",
    [
        {"mode": "program"},
        {"mode": "program", "language": "cpp"},
        {"mode": "program", "code": "int main() {}"},
        {"mode": "tokens", "language": "cpp", "code": "int main() {}"},
        {"mode": "program", "language": "cobol", "code": "x"},
    ],
)
def test_half_a_checker_is_refused(service: Any, checker: Any) -> None:
    body = {"language": "python", "code": "print(1)", "tests": TESTS, "checker": checker}
    assert httpx.post(f"{service.url}/judge", json=body, timeout=300).status_code == 422


def test_a_checker_has_a_sandbox_of_its_own(service: Any) -> None:
    leaves = "open('/tmp/check', 'w').write('x')\nopen('/dev/shm/left', 'w').write('x')\nn = int(input())\nprint(n, 0)"
    looks = "import os, sys\nsys.exit(not os.path.isdir('/tmp/check') or os.path.exists('/dev/shm/left'))"
    assert judged(service, leaves, looks, "python")["verdict"] == "AC"
    starts = "import os, sys\ntry: os.execv('/usr/bin/python3', ['python3', '-c', ''])\nexcept PermissionError: pass"
    assert judged(service, ONE_AND_THE_REST, starts, "python")["verdict"] == "AC"


def test_a_checker_is_compiled_once(service: Any) -> None:
    def misses() -> float:
        lines = service.get("/metrics").text.splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(NOT_CACHED))

    before, checker = misses(), CPP_CHECKER + "// asked for again and again"
    answers = [judged(service, f"{ONE_AND_THE_REST}  # {n}", checker) for n in range(3)]
    assert [answer["verdict"] for answer in answers] == ["AC"] * 3
    assert misses() == before + 1

"""The native route: every verdict in every language, from the real service run by root and by a plain user."""

from typing import Any

import httpx
import pytest
from sample_programs import ADD, BROKEN, CRASH, EACH, FLOOD, HOARD, SPIN, WRONG

from sandbox.languages import LANGUAGES

pytestmark = pytest.mark.sandbox

TESTS = [{"input": f"{n} 2\n", "output": f"{n + 2} \n"} for n in range(3)]


@pytest.mark.parametrize("language", EACH)
def test_a_right_program_is_accepted_with_what_each_test_cost(service: Any, language: str) -> None:
    answer = service.judge(language=language, code=ADD[language], tests=TESTS, time_limit_s=5)
    assert (answer["verdict"], answer["passed"], answer["total"], answer["first_failed"]) == ("AC", 3, 3, None)
    assert answer["compile"]["status"] == "ok"
    assert answer["toolchain"]
    for test in answer["tests"]:
        assert test["verdict"] == "AC"
        assert test["exit_code"] == 0
        assert test["signal"] is None
        assert 0 < test["cpu_s"] < 5
        assert test["wall_s"] > 0
        assert test["rss_kb"] > 500


@pytest.mark.parametrize("language", EACH)
def test_a_wrong_answer_says_where_it_differs(service: Any, language: str) -> None:
    answer = service.judge(language=language, code=WRONG[language], tests=TESTS, time_limit_s=5)
    assert (answer["verdict"], answer["first_failed"], len(answer["tests"])) == ("WA", 0, 1)
    assert "'2'" in answer["message"]


@pytest.mark.parametrize(
    ("verdict", "programs"), [("RE", CRASH), ("TLE", SPIN), ("MLE", HOARD), ("OLE", FLOOD), ("CE", BROKEN)]
)
@pytest.mark.parametrize("language", EACH)
def test_each_way_to_fail_has_its_verdict(service: Any, language: str, verdict: str, programs: dict[str, str]) -> None:
    limit = 0.5 if verdict == "TLE" else 5
    answer = service.judge(
        language=language, code=programs[language], tests=TESTS, time_limit_s=limit, memory_limit_mb=64
    )
    assert answer["verdict"] == verdict, answer
    if verdict == "CE":
        assert answer["compile"]["status"] == "error"
        assert answer["compile"]["stderr"]
        assert answer["tests"] == []


NO_CPP = """#include <stdio.h>
#include <stdlib.h>
int main(void) {
  int class = 1, *p = malloc(4);
  *p = 41;
  printf("%d", *p + class);
}"""


def test_c_is_compiled_as_c_and_not_as_cpp(service: Any) -> None:
    tests = [{"input": "40 2", "output": "42"}]
    verdicts = {
        (language, code): service.judge(language=language, code=code, tests=tests, time_limit_s=5)["verdict"]
        for language in ("c", "cpp")
        for code in (NO_CPP, ADD["cpp"])
    }
    assert verdicts == {("c", NO_CPP): "AC", ("c", ADD["cpp"]): "CE", ("cpp", NO_CPP): "CE", ("cpp", ADD["cpp"]): "AC"}


IN_C = """#include <stdio.h>
int main(void) {
#ifndef ONLINE_JUDGE
  freopen("input.txt", "r", stdin);
#endif
  printf("%c", getchar());
}"""
IN_JAVA = """import java.io.*;
class Main { public static void main(String[] a) throws IOException {
  InputStream in = System.getProperty("ONLINE_JUDGE") == null ? new FileInputStream("input.txt") : System.in;
  System.out.println((char) in.read()); } }"""


@pytest.mark.parametrize(("language", "code"), [("c", IN_C), ("cpp", IN_C), ("java", IN_JAVA)])
def test_a_program_finds_that_it_is_judged(service: Any, language: str, code: str) -> None:
    tests = [{"input": "7", "output": "7"}]
    assert service.judge(language=language, code=code, tests=tests, time_limit_s=5)["verdict"] == "AC"


def test_all_tests_run_when_asked_to(service: Any) -> None:
    code = "n = int(input())\nassert n != 2\nprint(n)"
    tests = [{"input": f"{n}", "output": f"{max(n, 1)}"} for n in range(4)]
    answer = service.judge(language="python", code=code, tests=tests, stop_on_first_failure=False)
    assert [test["verdict"] for test in answer["tests"]] == ["WA", "AC", "RE", "AC"]
    assert (answer["verdict"], answer["passed"], answer["first_failed"]) == ("WA", 2, 0)


def test_a_test_that_runs_out_of_time_is_the_last_one_when_asked_to(service: Any) -> None:
    code = "n = int(input())\nwhile n == 2: pass\nprint(n)"
    tests = [{"input": f"{n}", "output": f"{max(n, 1)}"} for n in range(4)]
    stops = {"stop_on_first_failure": False, "stop_on_timeout": True}
    answer = service.judge(language="python", code=code, tests=tests, time_limit_s=1, **stops)
    assert [test["verdict"] for test in answer["tests"]] == ["WA", "AC", "TLE"]
    assert (answer["verdict"], answer["passed"], answer["total"]) == ("WA", 1, 4)


def test_outputs_are_compared_as_the_checker_says(service: Any) -> None:
    def verdict(output: str, expected: str, **checker: Any) -> str:
        code = f"print({output!r})"
        tests = [{"output": expected}]
        return str(service.judge(language="python", code=code, tests=tests, checker=checker)["verdict"])

    assert verdict("10000000000000000", "10000000000000001") == "WA"
    assert verdict("0.3333333", "0.333333333") == "AC"
    assert verdict("1  2\n\n3", "1 2 3  \n") == "AC"
    assert verdict("Yes", "YES") == "WA"
    assert verdict("Yes", "YES", ignore_case=True) == "AC"
    assert verdict("1  2", "1 2\n", mode="exact") == "WA"
    assert verdict("a \nb", "a\nb\n\n", mode="lines") == "AC"


def test_a_sleeper_meets_the_wall_limit(service: Any) -> None:
    code, wall_s = "import time\ntime.sleep(600)", 6.0
    for _ in range(3):
        if wall_s >= 6:
            (test,) = service.judge(language="python", code=code, tests=[{}], time_limit_s=0.1)["tests"]
            assert test["verdict"] == "TLE"
            assert test["cpu_s"] < 0.1
            wall_s = test["wall_s"]
    assert 2.3 <= wall_s < 6


def test_the_time_limit_counts_the_cpu_of_all_processes(service: Any) -> None:
    code = """import os, time
for _ in range(3):
    if os.fork() == 0:
        while time.process_time() < 0.3: pass
        os._exit(0)
for _ in range(3): os.wait()
"""
    (test,) = service.judge(language="python", code=code, tests=[{}], time_limit_s=0.4)["tests"]
    assert test["verdict"] == "TLE"
    assert test["cpu_s"] > 0.4


def test_java_runs_whatever_class_has_main(service: Any) -> None:
    code = """package a.b;
    interface Shape { double area(); }
    /* public class Decoy { */
    class Helper { static int one() { return 1; } }
    public final class Entry { String s = "public class Fake {"; public static void main(String[] args) {
        System.out.println(Helper.one()); } }"""
    assert service.judge(language="java", code=code, tests=[{"output": "1"}], time_limit_s=5)["verdict"] == "AC"


@pytest.mark.parametrize(
    ("language", "code", "verdict"),
    [
        ("javascript", "\n" * 1_000_000 + "console.log(1)", "AC"),
        ("java", "/* " * 300_000, "CE"),
        ("java", '\\"' * 500_000, "CE"),
    ],
    ids=["blank lines", "open comments", "escaped quotes"],
)
def test_no_program_text_keeps_the_service_busy(service: Any, language: str, code: str, verdict: str) -> None:
    # In quadratic time each of them took the service an hour and more, in which it answered nobody.
    assert service.judge(language=language, code=code, tests=[{"output": "1"}], time_limit_s=5)["verdict"] == verdict


def test_javascript_may_import(service: Any) -> None:
    code = "import { readFileSync } from 'fs';\nconsole.log(readFileSync(0, 'utf8').trim());"
    tests = [{"input": "x", "output": "x"}]
    assert service.judge(language="js", code=code, tests=tests, time_limit_s=5)["verdict"] == "AC"


def test_javascript_that_exits_loses_nothing_that_it_has_printed(service: Any) -> None:
    tests = [{"output": "x " * 500_000}]
    code = "console.log('x '.repeat(500_000)); process.exit(0)"
    assert service.judge(language="js", code=code, tests=tests, time_limit_s=5)["verdict"] == "AC"


RECURSION = "def f(n): return n and 1 + f(n - 1)\n"
DEEP = f"{RECURSION}import resource as r, sys\nsys.setrecursionlimit(10**6)\n"
OWN_STREAM = """import io, os
class Stream(io.IOBase):
    text = ''
    def write(self, text): self.text += text
    def flush(self):
        os.write(1, self.text.encode())
        self.text = ''
"""
# What ``python3 main.py < input | cat`` prints of its streams under LANG=C.UTF-8.
STREAMS = """<_io.TextIOWrapper name='<stdin>' mode='r' encoding='utf-8'> surrogateescape
<_io.TextIOWrapper name='<stdout>' mode='w' encoding='utf-8'> surrogateescape
<_io.TextIOWrapper name='<stderr>' mode='w' encoding='utf-8'> backslashreplace"""
RAW = """<_io.FileIO name='<stdin>' mode='rb' closefd=False> False
<_io.FileIO name='<stdout>' mode='wb' closefd=False> False
<_io.FileIO name='<stderr>' mode='wb' closefd=False> True"""


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        ("import sys\nprint(__name__, __file__ is not None, len(sys.argv))", "__main__ True 1"),
        ("import atexit\natexit.register(print, 'last')\nprint('first')", "first\nlast"),
        ("import threading, time\nthreading.Thread(target=lambda: (time.sleep(.05), print('t'))).start()", "t"),
        ("f = open(1, 'w', closefd=False)\nf.write('unflushed')", "unflushed"),
        ("import sys\nprint('out'); sys.exit(0)", "out"),
        ("class C:\n    def __del__(self): print('deleted')\nc = C()", "deleted"),
        ("import sys\nsys.setrecursionlimit(10**6)\ndef f(n): return n and 1 + f(n - 1)\nprint(f(100000))", "100000"),
        (RECURSION + "print(f(997))", "997"),
        (RECURSION + "import sys\nsys.setrecursionlimit(5005)\nprint(f(5000))", "5000"),
        (DEEP + "r.setrlimit(r.RLIMIT_STACK, (r.RLIM_INFINITY, r.RLIM_INFINITY))\nprint(f(100_000))", "100000"),
        (DEEP + "r.setrlimit(r.RLIMIT_STACK, (2**28, r.RLIM_INFINITY))\nprint(f(100_000))", "100000"),
        (DEEP + "r.setrlimit(r.RLIMIT_STACK, (2**29, -1))\nprint(f(100_000))", "100000"),
        (DEEP + "r.setrlimit(r.RLIMIT_STACK, (1 << 29, 1 << 29))\nprint(f(100_000))", "100000"),
        ("import multiprocessing as m\nwith m.Pool(2) as p: print(sum(p.map(abs, [-1, -2])))", "3"),
        ("import random\nprint(random.random() != random.random())", "True"),
        ("exit", ""),
        ("print(sum(1 for _ in open(0)))", "0"),
        ("x: int = 3\nprint(__annotations__)", "{'x': <class 'int'>}"),
        ("import sys\nprint(sys.stdin.encoding, sys.stdout.encoding)", "utf-8 utf-8"),
        ("import asyncio\nasync def f(): return 5\nprint(asyncio.run(f()))", "5"),
        ("import codecs, sys\nsys.stdout = codecs.getwriter('utf-8')(sys.stdout.detach())\nprint('own')", "own"),
        ("import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.detach(), 'utf-8')\nprint('wrapped')", "wrapped"),
        ("import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer, 'utf-8')\nprint('buffer')", "buffer"),
        ("import io, sys\nsys.stdin = io.TextIOWrapper(sys.stdin.buffer)\nprint(sys.stdin.read(), 'no end')", "no end"),
        ("import sys\nfor s in sys.stdin, sys.stdout, sys.stderr: print(s, s.errors)", STREAMS),
        ("import sys\nfor s in sys.stdin, sys.stdout, sys.stderr: print(s.buffer.raw, s.line_buffering)", RAW),
        (OWN_STREAM + "import sys; sys.stdout = Stream(); print('flushed at the end')", "flushed at the end"),
        (OWN_STREAM + "out = Stream(); out.write('flushed by a finalizer')", "flushed by a finalizer"),
        (
            "import atexit, io, sys; sys.stdout = kept = io.StringIO()\n"
            "atexit.register(lambda: sys.__stdout__.write(kept.getvalue()))\nprint('kept')",
            "kept",
        ),
    ],
)
def test_a_python_program_behaves_as_under_a_fresh_interpreter(service: Any, code: str, printed: str) -> None:
    tests = [{"output": printed}] * 2
    answer = service.judge(language="python", code=code, tests=tests, stop_on_first_failure=False, time_limit_s=5)
    assert [test["verdict"] for test in answer["tests"]] == ["AC", "AC"], answer


def test_one_array_may_fill_most_of_javas_memory(service: Any) -> None:
    code = "class A { public static void main(String[] a) { System.out.println(new int[50_000_000].length); } }"
    limits = {"time_limit_s": 10, "memory_limit_mb": 256}
    assert service.judge(language="java", code=code, tests=[{"output": "50000000"}] * 2, **limits)["verdict"] == "AC"


def test_a_python_traceback_shows_the_program_and_nothing_of_ours(service: Any) -> None:
    answer = service.judge(language="python", code="def f():\n    return 1 / 0\nf()", tests=[{}])
    assert answer["verdict"] == "RE"
    assert "ZeroDivisionError" in answer["message"]
    assert "return 1 / 0" in answer["message"]
    assert "zygote" not in answer["message"]


def test_how_a_program_ends_is_seen_behind_much_standard_error(service: Any) -> None:
    code = "import sys\nfor _ in range(5000): sys.stderr.write('d' * 100)\nraise {}('the end')"
    for error, verdict in (("MemoryError", "MLE"), ("ValueError", "RE")):
        answer = service.judge(language="python", code=code.format(error), tests=[{}], time_limit_s=5)
        assert (answer["verdict"], f"{error}: the end" in answer["message"]) == (verdict, True), answer


def test_exit_statuses_and_signals_are_reported(service: Any) -> None:
    (test,) = service.judge(language="python", code="raise SystemExit(7)", tests=[{}])["tests"]
    assert (test["verdict"], test["exit_code"], test["signal"]) == ("RE", 7, None)
    (test,) = service.judge(language="cpp", code="int main() { return *(volatile int*)8; }", tests=[{}])["tests"]
    assert (test["verdict"], test["exit_code"], test["signal"]) == ("RE", None, 11)


def test_large_inputs_and_outputs_pass_whole(service: Any) -> None:
    text = "0123456789abcdef\n" * 200_000
    tests = [{"input": text, "output": text}] * 3
    code = "import sys\nsys.stdout.write(sys.stdin.read())"
    answer = service.judge(language="python", code=code, tests=tests, checker={"mode": "exact"}, time_limit_s=5)
    assert (answer["verdict"], answer["passed"]) == ("AC", 3)


def test_the_second_compilation_of_a_program_comes_from_the_cache(service: Any) -> None:
    for code in ("int main() { return 0; } // cached", "int main() { return 0 } // cached"):
        first = service.judge(language="cpp", code=code, tests=[{}])
        second = service.judge(language="cpp", code=code, tests=[{}])
        assert (first["compile"]["cached"], second["compile"]["cached"]) == (False, True)
        assert first["verdict"] == second["verdict"]


@pytest.mark.parametrize(
    ("fields", "status", "part"),
    [
        ({"language": "cobol"}, 422, "cobol"),
        ({"tests": []}, 422, "tests"),
        ({"time_limit_s": 0}, 422, "time_limit_s"),
        ({"memory_limit_mb": 1 << 20}, 422, "memory_limit_mb"),
        ({"checker": {"mode": "fuzzy"}}, 422, "mode"),
        ({"no_such_field": 1}, 422, "no_such_field"),
    ],
)
def test_a_bad_request_is_told_what_is_wrong(service: Any, fields: dict[str, Any], status: int, part: str) -> None:
    request = {"language": "python", "code": "", "tests": [{}], **fields}
    answer = httpx.post(service.url + "/judge", json=request, timeout=300)
    assert answer.status_code == status
    assert part in answer.text


def test_a_source_that_is_too_large_is_a_compile_error(service: Any) -> None:
    answer = service.judge(language="python", code="#" * (2 << 20), tests=[{}])
    assert answer["verdict"] == "CE"
    assert "1 MiB" in answer["compile"]["stderr"]


def test_a_nul_in_a_program_is_the_programs_fault(service: Any) -> None:
    for language in service.get("/health").json()["languages"]:
        answer = service.judge(language=language, code=ADD[language] + "\0", tests=TESTS, time_limit_s=5)
        assert answer["verdict"] in ("CE", "AC"), answer


def test_a_request_id_is_given_back_and_logged(service: Any) -> None:
    answer = httpx.post(
        service.url + "/judge",
        json={"language": "python", "code": "", "tests": [{}]},
        headers={"x-request-id": "the-very-one"},
        timeout=300,
    )
    assert answer.headers["x-request-id"] == "the-very-one"
    line = next(line for line in service.log.read_text().splitlines() if "the-very-one" in line)
    assert '"verdict": "AC"' in line


def test_health_and_languages_say_what_is_served(service: Any) -> None:
    health = service.get("/health").json()
    assert health["status"] == "ok"
    assert health["protection"] == ("full" if service.runner.name == "root" else health["protection"])
    assert health["protection"] in ("full", "portable")
    assert all(health["languages"].values())
    languages = {entry["name"]: entry for entry in service.get("/languages").json()}
    assert languages.keys() == LANGUAGES.keys()
    assert "c++" in languages["cpp"]["aliases"]
    assert {name for name, entry in languages.items() if not (entry["available"] and entry["toolchain"])} <= {"rust"}
    assert {name for name, entry in languages.items() if entry["available"]} == set(health["languages"])


def test_metrics_count_verdicts_and_cache_hits(service: Any) -> None:
    def value(line_start: str) -> float:
        lines = service.get("/metrics").text.splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(line_start))

    names = (
        'sandbox_verdicts_total{language="go",verdict="CE"}',
        'sandbox_compile_cache_total{language="go",result="hit"}',
        'sandbox_compile_cache_total{language="go",result="miss"}',
        'sandbox_cpu_seconds_total{language="go",phase="compile"}',
    )
    before = [value(name) for name in names]
    for _ in range(2):
        service.judge(language="go", code="package main\nfunc main() { metrics() }", tests=[{}])
    verdicts, hits, misses, cpu = (value(name) - old for name, old in zip(names, before, strict=True))
    assert (verdicts, hits, misses) == (2, 1, 1)
    assert cpu > 0
    assert value("sandbox_slots") == 2
    assert value("sandbox_queue_depth") == 0

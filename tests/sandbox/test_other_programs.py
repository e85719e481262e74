"""A program is alone: it starts no other program, and finds no other language's runtime. Its own has all it needs."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sample_programs import EACH

from sandbox.runtime_view import runtime_view
from sandbox.state import default_state_folder, native_tools, open_state

pytestmark = pytest.mark.sandbox

STARTS_ANOTHER = {
    "python": "import os\nos.system('echo 1')\nprint(42)",
    "cpp": '#include <cstdio>\n#include <cstdlib>\nint main() { int r = system("pause"); puts(r ? "42" : "0"); }',
    "c": '#include <stdio.h>\n#include <stdlib.h>\nint main(void) { puts(system("pause") ? "42" : "0"); }',
    "java": "class A { public static void main(String[] x) {\n"
    'try { Runtime.getRuntime().exec("ls"); } catch (java.io.IOException e) { System.out.println(42); } } }',
    "go": 'package main\nimport ("fmt"; "os/exec")\nfunc main() { exec.Command("/bin/ls").Run(); fmt.Println(42) }',
    "javascript": "require('child_process').spawnSync('ls'); console.log(42)",
    "rust": 'fn main() { println!("{}", if std::process::Command::new("ls").status().is_err() { 42 } else { 0 }) }',
}

HONEST = {
    "python: every module of the standard library": (
        "python",
        "import importlib, sys\nmissing = set()\nfor name in sys.stdlib_module_names - {'antigravity', 'this'}:\n"
        "    try: importlib.import_module(name)\n    except ModuleNotFoundError as error: missing.add(error.name)\n"
        "    except ImportError as error: print(name, error)\n"
        "print('sqlite3' in missing, 'ssl' in missing, '_ctypes' in missing, 'curses' in missing)",
        "False False False False",
    ),
    "python: child processes, threads, codecs and its own locale": (
        "python",
        "import ctypes, locale, threading\nfrom multiprocessing import Pool\nprint(*Pool(2).map(abs, [-1, -2]))\n"
        "thread = threading.Thread(target=print, args=(ctypes.CDLL('libgcc_s.so.1') is not None,))\n"
        "thread.start(); thread.join()\n"
        "print(locale.setlocale(locale.LC_ALL, ''), len('中'.encode('gb18030')))",
        "1 2 True C.UTF-8 2",
    ),
    "cpp: locales, wide characters, conversions, threads and randomness": (
        "cpp",
        "#include <bits/stdc++.h>\n#include <iconv.h>\nint main() {\n"
        'std::setlocale(LC_ALL, ""); std::printf("%ls ", L"é中"); std::cout << std::locale("C.UTF-8").name();\n'
        "auto later = std::async(std::launch::async, [] { return std::random_device()() >= 0; });\n"
        'std::cout << " " << later.get() << " " << (iconv_open("UTF-16", "GBK") != (iconv_t)-1); }',
        "é中 C.UTF-8 1 1",
    ),
    "java: time zones, locales, charsets, geometry, digests and threads": (
        "java",
        "import java.time.*; import java.util.*; import java.util.concurrent.*;\n"
        "class A { public static void main(String[] x) throws Exception {\n"
        'System.out.println(ZonedDateTime.of(2020, 7, 1, 0, 0, 0, 0, ZoneId.of("Europe/Paris")).getOffset());\n'
        'System.out.println(java.text.NumberFormat.getInstance(new Locale("hi", "IN")).format(1234567));\n'
        'System.out.println("中".getBytes("GBK").length);\n'
        "System.out.println(new java.awt.geom.Area(new java.awt.Rectangle(1, 2)).isEmpty());\n"
        'System.out.println(java.security.MessageDigest.getInstance("SHA-256").getDigestLength());\n'
        "ExecutorService pool = Executors.newFixedThreadPool(4);\n"
        "System.out.println(pool.submit(() -> 5).get()); pool.shutdown(); } }",
        "+02:00 1,234,567 2 false 32 5",
    ),
    "go: threads of the system, sorting and the clock": (
        "go",
        'package main\nimport ("fmt"; "runtime"; "sync"; "time")\nfunc main() { var all sync.WaitGroup\n'
        "for i := 0; i < 50; i++ { all.Add(1); go func() { runtime.LockOSThread(); time.Sleep(time.Millisecond); "
        "all.Done() }() }\nall.Wait(); fmt.Println(time.Unix(0, 0).UTC().Year()) }",
        "1970",
    ),
    "javascript: ICU, time zones, workers, digests and compression": (
        "javascript",
        "const { Worker } = require('worker_threads')\n"
        "const french = new Intl.DateTimeFormat('fr', { timeZone: 'Europe/Paris', dateStyle: 'full' })\n"
        "console.log(french.format(new Date(0)))\n"
        "console.log((1234567).toLocaleString('hi-IN'), require('crypto').createHash('md5').update('').digest('hex'))\n"
        "new Worker(\"require('worker_threads').parentPort.postMessage(7)\", { eval: true }).on('message', (m) => "
        "console.log(m, require('zlib').gunzipSync(require('zlib').gzipSync('a')).toString()))",
        "jeudi 1 janvier 1970 12,34,567 d41d8cd98f00b204e9800998ecf8427e 7 a",
    ),
}  # fmt: skip


@pytest.mark.parametrize("language", EACH)
def test_a_program_that_tries_to_start_another_says_so_and_goes_on(service: Any, language: str) -> None:
    fields = {"language": language, "code": STARTS_ANOTHER[language], "time_limit_s": 5}
    answer = service.judge(tests=[{"output": "42"}] * 2, **fields)
    assert (answer["verdict"], answer["tried_exec"]) == ("AC", True), answer
    assert [test["tried_exec"] for test in answer["tests"]] == [True, True]
    assert "start another program" in service.run_code(language=language, code=STARTS_ANOTHER[language])["message"]


@pytest.mark.parametrize("name", HONEST)
def test_a_runtime_has_what_its_programs_need_and_starts_nothing(service: Any, name: str) -> None:
    language, code, output = HONEST[name]
    answer = service.judge(
        language=language, code=code, tests=[{"output": output}], time_limit_s=10, memory_limit_mb=512
    )
    assert (answer["verdict"], answer["tried_exec"]) == ("AC", False), answer


IN_A_BOX = """
import ctypes, struct, sys
from sandbox.backends import View
from sandbox.box import Box, Limits, Slot
native, scratch, listened = sys.argv[1:]
if listened == "1":  # as a container's manager does: an own filter that lets all pass, and a listener for it
    libc = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(struct.pack("<HBBI", 6, 0, 0, 0x7FFF0000))
    program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", 1, ctypes.addressof(code)))
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    libc.syscall.restype = ctypes.c_long
    assert libc.syscall(ctypes.c_long(317), ctypes.c_long(1), ctypes.c_long(8), program) >= 0
code = "import os\\ntry: os.execv('/bin/true', ['true'])\\nexcept PermissionError: print('refused')"
command = ["/usr/bin/python3", "-c", code]
with Box(Slot(native, scratch), "python", View(), Limits.of(10, 512)) as box:
    box.load(None, command, box.limits)
    for outcome in box.run([b"", b""]):
        print(outcome.exit_code, outcome.stdout.decode().strip(), outcome.exec_attempts)
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the number of seccomp(2) here is x86-64's")
@pytest.mark.parametrize(("listened", "attempts"), [(0, 1), (1, 0)])
def test_what_no_one_can_be_told_of_is_refused_all_the_same(tmp_path: Path, listened: int, attempts: int) -> None:
    native = native_tools(open_state(default_state_folder()))
    command = [sys.executable, "-c", IN_A_BOX, str(native), str(tmp_path), str(listened)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines() == [f"0 refused {attempts}"] * 2, done


def test_a_view_has_the_libraries_of_what_it_shows_and_no_other_file(tmp_path: Path) -> None:
    view = runtime_view(tmp_path, "test", "/usr/bin/env")
    assert view.usr is not None
    names = {path.name for path in Path(view.usr).rglob("*") if path.is_file()}
    assert {"env", "libc.so.6"} <= names
    assert all(name == "env" or ".so" in name for name in names)
    assert (Path(view.usr) / "bin/env").stat().st_size == 0  # the place at which it is mounted
    assert runtime_view(tmp_path, "test", "/usr/bin/env") == view

"""A sandbox takes one program after another. The next finds nothing of the last."""

from collections.abc import Callable
from typing import Any

import pytest
from test_service_death import until

pytestmark = pytest.mark.sandbox

LOOK = """
import os, socket, sys
names = [name for _, folders, files in (*os.walk("/tmp"), *os.walk("/dev/shm")) for name in folders + files]
processes = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
sockets = len(open("/proc/net/unix").read().splitlines()) - 1
others = [process for process in processes if process not in (1, os.getpid())]
print(names, others, sockets, sorted(os.listdir("/box")), "left" in dir(sys))
print(os.getpid(), file=sys.stderr)
"""
NOTHING = "[] [] 0 ['main.bin', 'main.py'] False"

LEAVE = """
import os, socket, sys
sys.left = True
os.makedirs("/tmp/a/b")
for path in ("/tmp/a/b/file", "/dev/shm/file", "/tmp/a/.hidden"):
    open(path, "w").write("left")
os.chmod("/tmp/a", 0)
listener = socket.socket(socket.AF_UNIX)
listener.bind("\\0left")
listener.listen()
if os.fork() == 0:
    os.setsid()
    __import__("time").sleep(600)
print("left")
"""


@pytest.fixture
def one_slot(own_service: Callable[..., Any]) -> Any:
    return own_service("--slots", "1")


def look(service: Any) -> int:
    """The process number of a program that has found nothing."""
    answer = service.run_code(language="python", code=LOOK, run_timeout=10)
    assert answer["run_result"]["stdout"].strip() == NOTHING, answer
    return int(answer["run_result"]["stderr"])


def test_the_next_program_in_the_same_sandbox_finds_nothing_of_the_last(one_slot: Any) -> None:
    before = look(one_slot)
    left = one_slot.judge(language="python", code=LEAVE, tests=[{"output": "left"}])
    assert left["verdict"] == "AC", left
    assert look(one_slot) > before


LEAVE_A_NOTE = {
    "what it read and printed": "sys.stderr.write(note * 1000)",
    "the names of its files": "for n in range(100): open(f'/tmp/{note}-{n:0200}', 'w').close()",
    "the name of a process that was looked at": """
    __import__("ctypes").CDLL(None).prctl(15, note.encode())
    while __import__("time").process_time() < 0.3: pass
""",
}
SEARCH = """
import re, sys
note = input()
if note:
    LEAVE
    print(note)
    sys.exit()
found = []
for line in open("/proc/self/maps"):
    place = line.split()
    if not place[1].startswith("rw"): continue
    start, end = [int(n, 16) for n in place[0].split("-")]
    memory = open("/proc/self/mem", "rb", 0)
    memory.seek(start)
    if re.findall(b"note-of-the-[1]st", memory.read(end - start)): found.append(place[-1])
print(*found or ["nothing"])
"""


@pytest.mark.parametrize("what", LEAVE_A_NOTE)
def test_the_memory_of_the_parent_holds_nothing_of_a_test_or_program_before(one_slot: Any, what: str) -> None:
    """A copy of it becomes the next one's, with the stack and the heap."""
    code = SEARCH.replace("LEAVE", LEAVE_A_NOTE[what])
    tests = [{"input": "note-of-the-1st", "output": "note-of-the-1st"}, {"input": "\n", "output": "nothing"}] * 2
    before = look(one_slot)
    answer = one_slot.judge(language="python", code=code, tests=tests[:3], time_limit_s=10)
    assert answer["verdict"] == "AC", answer
    answer = one_slot.judge(language="python", code=f"{code}#", tests=tests[1:2], time_limit_s=10)
    assert answer["verdict"] == "AC", answer
    assert look(one_slot) > before
    finds = one_slot.run_code(language="python", code=code.replace("sys.exit()", ""), stdin="note-of-the-1st")
    assert finds["run_result"]["stdout"].startswith("note-of-the-1st"), finds
    assert "nothing" not in finds["run_result"]["stdout"], finds


@pytest.mark.parametrize("code", ["raise SystemExit(3)", "while True: pass", "import os; os.kill(os.getpid(), 9)"])
def test_after_a_program_that_has_not_ended_well_the_next_gets_a_new_sandbox(one_slot: Any, code: str) -> None:
    before = max(look(one_slot) for _ in range(3))
    assert one_slot.judge(language="python", code=code, tests=[{"output": ""}], time_limit_s=1)["verdict"] in (
        "RE",
        "TLE",
    )
    assert look(one_slot) < before


def test_tests_that_are_not_needed_any_more_are_dropped_and_the_sandbox_is_kept(one_slot: Any) -> None:
    before = max(look(one_slot) for _ in range(3))
    slow = "import time\nif int(input()) > 0: time.sleep(600)\nprint(0)"
    tests = [{"input": str(n), "output": "1"} for n in range(50)]
    answer = one_slot.judge(language="python", code=slow, tests=tests, time_limit_s=60)
    assert (answer["verdict"], answer["first_failed"]) == ("WA", 0), answer
    assert look(one_slot) > before


def test_programs_with_and_without_numpy_take_turns(one_slot: Any) -> None:
    for code in ("print(1)", "# numpy\nprint(1)") * 3:
        assert one_slot.judge(language="python", code=code, tests=[{"output": "1"}])["verdict"] == "AC"


FILL = {
    "python": "open('/tmp/f', 'wb').write(b'x' * (200 << 20))\nprint(1)",
    "cpp": """#include <cstdio>
#include <vector>
int main() {
  std::vector<char> megabyte(1 << 20, 'x');
  FILE* file = fopen("/tmp/f", "wb");
  for (int i = 0; i < 200; i++) fwrite(megabyte.data(), 1, megabyte.size(), file);
  puts("1");
}""",
}
SMALL = {"python": "print(1)", "cpp": '#include <cstdio>\nint main() { puts("1"); }'}


@pytest.mark.parametrize("language", FILL)
def test_the_files_that_a_program_leaves_take_no_memory(one_slot: Any, language: str) -> None:
    """Neither from the next, which may have a lower limit, nor from the machine until one comes."""
    tests = [{"output": "1"}]
    assert one_slot.judge(language=language, code=SMALL[language], tests=tests)["verdict"] == "AC"
    before = one_slot.memory_bytes()
    answer = one_slot.judge(language=language, code=FILL[language], tests=tests, memory_limit_mb=1024, time_limit_s=20)
    assert answer["verdict"] == "AC", answer
    assert until(lambda: one_slot.memory_bytes() < before + (100 << 20))
    answer = one_slot.judge(language=language, code=SMALL[language], tests=tests, memory_limit_mb=16)
    assert answer["verdict"] == "AC", answer


READ = """#include <cstdio>
#include <unistd.h>
static char b[65536];
int main() {
  long n = 0;
  for (ssize_t k; (k = read(0, b, sizeof b)) > 0;) n += k;
  printf("%ld", n);
}"""
PRINT = """#include <cstring>
#include <unistd.h>
static char b[65536];
int main() {
  memset(b, 'x', sizeof b);
  for (int i = 0; i < 240; i++)
    if (write(1, b, sizeof b) < 0) return 1;
}"""


def test_what_a_program_reads_and_prints_is_not_its_memory(one_slot: Any) -> None:
    """It has 16 MiB, and 8 for its runtime."""
    text = "7 " * (16 << 20)
    for code, test in (
        (READ, {"input": text, "output": str(len(text))}),
        (PRINT, {"input": "", "output": "x" * (15 << 20)}),
    ):
        answer = one_slot.judge(language="cpp", code=code, tests=[test] * 2, memory_limit_mb=16)
        assert answer["verdict"] == "AC", {**answer, "tests": [one["message"][:200] for one in answer["tests"]]}


def test_the_input_cannot_be_changed(one_slot: Any) -> None:
    code = """
import fcntl, mmap, os
done = []
for name, attempt in {
    "write": lambda: os.write(0, b"other"),
    "truncate": lambda: os.ftruncate(0, 0),
    "map": lambda: mmap.mmap(0, 0, prot=mmap.PROT_READ | mmap.PROT_WRITE),
    "seal": lambda: fcntl.fcntl(0, 1033, 0x10),
    "reopen": lambda: os.write(os.open("/dev/stdin", os.O_RDWR), b"other"),
}.items():
    try:
        attempt()
        done.append(name)
    except (OSError, ValueError):
        pass
print(done, open("/dev/stdin").read(), input())
"""
    answer = one_slot.judge(language="python", code=code, tests=[{"input": "7", "output": "[] 7 7"}] * 2)
    assert answer["verdict"] == "AC", answer

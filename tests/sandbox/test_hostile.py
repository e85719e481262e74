"""One hostile program per test: each ends in its verdict, within its limits, and leaves nothing behind.

The programs are the files under ``hostile/``, as they would arrive from a policy. Each opens with comment lines
``key: value``:

    verdicts              the acceptable ones, and never IE
    portable_verdicts     more that are acceptable where there are no cgroups, when the why says what is lost there
    why                   what it tries, and why those verdicts are right
    time_limit_s          0.5 when not given; memory_limit_mb: 64 (256 for Java, Go and JavaScript)
    output                what its tests expect: ``contained`` when not given, which a program prints when an attempt
                          has failed in every way; ``unguessable`` is a token that only the judge knows
    tests                 how many, 1 when not given (in Java as many as get it into the loop, behind which a JVM a
                          test follows as soon as one is not accepted); each reads its own number, from 0
    requests              how often the whole is sent, 1 when not given
    tried_exec            yes: the answer says that it tried to start another program
    also                  another language in which it means the same, and is sent too
    compile_timeout_s     for a compiler that must be stopped: sent to /run_code, where a request can say when

In the code, ``@repeat(N, "text")@`` stands for N copies (%d in the text is the copy's number), ``@repository@``,
``@state@``, ``@service_pid@`` and ``@service_port@`` for what a program would need to know to do harm, and
``@abstract_socket@`` for the name of a socket that listens outside.
"""

import json
import os
import re
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from sample_programs import ADD, EACH

from sandbox.judging import LOOP_TESTS

if TYPE_CHECKING:
    from sandbox_service import Service

pytestmark = pytest.mark.sandbox

FOLDER = Path(__file__).parent / "hostile"
LANGUAGES = {".py": "python", ".cpp": "cpp", ".java": "java", ".go": "go", ".js": "javascript"}
MEMORY_MB = {"python": 64, "cpp": 64, "c": 64, "java": 256, "go": 256, "javascript": 256}
KEYS = {
    "verdicts",
    "portable_verdicts",
    "why",
    "time_limit_s",
    "memory_limit_mb",
    "output",
    "tests",
    "requests",
    "tried_exec",
    "also",
    "compile_timeout_s",
}
VERDICTS = {"AC", "WA", "TLE", "MLE", "RE", "CE", "OLE"}
COMPILE_S = 40
"""Seconds that a compilation may take with everything around it."""
SLACK_S = 90
"""Seconds more for a machine that stands still now and then: a program that is not stopped takes longer."""
DIAGNOSTICS_MAX = 70_000
"""Characters of compiler output in an answer."""


@dataclass(frozen=True)
class Program:
    """A file under ``hostile/``."""

    path: Path
    header: dict[str, str]
    language: str

    @property
    def verdicts(self) -> set[str]:
        return set(self.header["verdicts"].split())

    @property
    def time_limit_s(self) -> float:
        return float(self.header.get("time_limit_s", 0.5))

    def code(self, places: dict[str, str]) -> str:
        """The source that is sent to the service."""

        def copies(match: re.Match[str]) -> str:
            text: str = json.loads(match[2])
            return "".join(text.replace("%d", str(number)) for number in range(int(match[1])))

        source = self.path.read_text()
        for name, value in places.items():
            source = source.replace(f"@{name}@", value)
        return re.sub(r'@repeat\((\d+), ("(?:[^"\\]|\\.)*")\)@', copies, source)


def load(path: Path) -> list[Program]:
    """The program, in each language in which it is sent. Raises ValueError when the header is not as the module's
    docstring says."""
    head = [re.match(r"(?:#|//) (\w+): (.+)$", line) for line in path.read_text().splitlines()[:10]]
    header = {match[1]: match[2] for match in head if match and match[1] in KEYS}
    program = Program(path, header, LANGUAGES[path.suffix])
    if not header.keys() >= {"verdicts", "why"} or not program.verdicts <= VERDICTS:
        raise ValueError(f"{path}: the header needs a why, and verdicts out of {sorted(VERDICTS)}: {header}")
    return [program, *(replace(program, language=other) for other in header.get("also", "").split())]


PROGRAMS = [program for path in sorted(FOLDER.glob("*/*.*")) if path.suffix in LANGUAGES for program in load(path)]


def name_of(program: Program) -> str:
    """The file's name; with the language where that is not the file's own."""
    own = program.language == LANGUAGES[program.path.suffix]
    return str(program.path.relative_to(FOLDER)) + ("" if own else f"-as_{program.language}")


@pytest.fixture(scope="module")
def places(service: "Service") -> Iterator[dict[str, str]]:
    """The facts about the world outside that programs are given."""
    name = f"madrl-hostile-{os.urandom(8).hex()}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0{name}")
        listener.listen()
        yield {
            "repository": str(service.checkout),
            "state": str(service.state),
            "service_pid": str(service.pid),
            "service_port": str(service.port),
            "abstract_socket": name,
        }


@pytest.mark.parametrize("program", PROGRAMS, ids=map(name_of, PROGRAMS))
def test_a_hostile_program_ends_in_its_verdict_and_leaves_nothing_behind(
    service: "Service", places: dict[str, str], program: Program
) -> None:
    token = f"MADRL-TOKEN-{os.urandom(16).hex()}"
    expected = program.header.get("output", "contained").replace("unguessable", token)
    count = int(program.header.get("tests", LOOP_TESTS if program.language == "java" else 1))
    fields: dict[str, Any] = {
        "language": program.language,
        "code": program.code(places),
        "tests": [{"input": f"{number}\n", "output": expected} for number in range(count)],
        "time_limit_s": program.time_limit_s,
        "memory_limit_mb": int(program.header.get("memory_limit_mb", MEMORY_MB[program.language])),
    }
    run_code = {
        "language": program.language,
        "code": fields["code"],
        "stdin": "0\n",
        "compile_timeout": float(program.header.get("compile_timeout_s", 10)),
        "run_timeout": program.time_limit_s,
        "memory_limit_MB": fields["memory_limit_mb"],
    }
    portable = set(program.header.get("portable_verdicts", "").split()) if service.protection == "portable" else set()
    with service.leaves_nothing_behind():
        for _ in range(int(program.header.get("requests", 1))):
            start = time.monotonic()
            if "compile_timeout_s" in program.header:
                answer = service.run_code(**run_code)
                verdict = verdict_of(answer)
            else:
                answer = service.judge(**fields)
                verdict = answer["verdict"]
                run_code["stdin"] = f"{answer['first_failed'] or 0}\n"
            elapsed_s = time.monotonic() - start
            seen = json.dumps(shorten(answer), indent=1)
            if verdict not in program.verdicts | portable:
                ran = answer if "compile_timeout_s" in program.header else printed(service, run_code)
                pytest.fail(
                    f"{verdict} is not among {sorted(program.verdicts)}: {program.header['why']}\n{seen}\n"
                    f"printed: {shorten(ran)}"
                )
            assert answer.get("tried_exec") or "tried_exec" not in program.header, seen
            assert elapsed_s < COMPILE_S + count * (3 * program.time_limit_s + SLACK_S), seen
            assert all(test["wall_s"] < 3 * program.time_limit_s + SLACK_S for test in answer.get("tests", ())), seen
            whole = json.dumps(answer)
            for text in (service.secret, "root:x:", "root:*:", f"{places['repository']}/"):
                assert text not in whole, f"the answer tells {text!r}: {seen}"
            compiled = answer.get("compile") or answer.get("compile_result")
            if compiled:
                assert len(compiled["stderr"] or "") + len(compiled["stdout"] or "") <= DIAGNOSTICS_MAX


def verdict_of(answer: dict[str, Any]) -> str:
    """The verdict that /judge would give to an answer of /run_code."""
    if answer["status"] == "SandboxError":
        return "IE"
    if answer["compile_result"] and answer["compile_result"]["status"] != "Finished":
        return "CE"
    if answer["compile_result"] and answer["compile_result"]["return_code"] != 0:
        return "CE"
    if answer["run_result"]["status"] == "TimeLimitExceeded":
        return "TLE"
    if answer["run_result"]["return_code"] != 0:
        return "RE"
    return "AC" if answer["run_result"]["stdout"].split() == ["contained"] else "WA"


def shorten(value: Any) -> Any:
    """The answer without pages of diagnostics."""
    if isinstance(value, dict):
        return {key: shorten(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shorten(inner) for inner in value]
    return value if not isinstance(value, str) or len(value) < 1500 else f"{value[:1500]}... ({len(value)})"


def printed(service: "Service", run_code: dict[str, Any]) -> Any:
    """The output of the program for the failure message, because a verdict alone does not say what a probe got."""
    try:
        answer = service.run_code(**run_code)
    except Exception as error:  # the first failure is the one to report
        return repr(error)
    return answer.get("run_result") or answer


@pytest.mark.parametrize("language", EACH)
@pytest.mark.parametrize("code", ["", "\n", "\0", "\ud800", "\ufeff", "\N{LEFT CURLY BRACKET}" * 3], ids=ascii)
def test_a_source_that_is_no_program_gets_a_verdict_of_its_own(service: "Service", language: str, code: str) -> None:
    """An error of the service or of the request would be unjudged, and a policy could learn to write it."""
    with service.leaves_nothing_behind():
        answer = service.judge(language=language, code=code, tests=[{"output": "contained"}], time_limit_s=2)
        assert answer["verdict"] in {"CE", "RE", "WA"}, shorten(answer)


@pytest.mark.parametrize(
    "name", ["link", "folder/environ", "folder/maps", "folder/cwd/link", "files/os.py", "loop", "socket"]
)
def test_a_fetched_link_does_not_bring_back_what_it_points_to(service: "Service", name: str) -> None:
    code = """import os, socket
os.symlink('/proc/self/environ', 'link')
os.symlink('/proc/self', 'folder')
os.symlink(os.path.dirname(os.__file__), 'files')
os.symlink('loop', 'loop')
socket.socket(socket.AF_UNIX).bind("socket")
print('done')
"""
    with service.leaves_nothing_behind():
        answer = service.run_code(language="python", code=code, fetch_files=[name])
        assert answer["status"] == "Success", shorten(answer)
        assert service.secret not in json.dumps(answer)
        assert not any(answer["files"].values()), sorted(answer["files"])


@pytest.mark.parametrize(
    "name", ["../etc/passwd", "/etc/passwd", "/proc/1/environ", ".", "..", "", "a\0b", "x" * 5000], ids=ascii
)
def test_a_fetched_name_outside_the_working_directory_brings_nothing_back(service: "Service", name: str) -> None:
    with service.leaves_nothing_behind():
        fields = {"language": "python", "code": "print('done')", "fetch_files": [name]}
        response = httpx.post(f"{service.url}/run_code", json=fields, timeout=300)
        assert response.status_code < 500, response.text
        assert not any((response.json().get("files") or {}).values())


@pytest.mark.parametrize(
    "name", ["../outside", "/usr/planted", "@state@/planted", "a/../../../planted", "x" * 300, "a\0b", ""]
)
def test_a_name_that_leaves_the_working_directory_writes_nothing_outside(
    service: "Service", places: dict[str, str], name: str
) -> None:
    """The request's own files; a refusal is as good as a file inside, an error of the service is not."""
    files = {name.replace("@state@", places["state"]): "cGxhbnRlZA=="}
    with service.leaves_nothing_behind():
        fields = {"language": "python", "code": "print('done')", "files": files}
        response = httpx.post(f"{service.url}/run_code", json=fields, timeout=300)
        assert response.status_code < 500, response.text
        assert not (service.state / "planted").exists()


@pytest.mark.skipif(not shutil.which("firejail"), reason="firejail is not installed")
@pytest.mark.skipif(os.getuid() != 0, reason="firejail lets in root, and only users named in its configuration")
def test_firejail_is_a_weaker_fallback_that_judges_all_the_same(own_service: Callable[..., "Service"]) -> None:
    """Here, and so never beside the fork bombs: firejail counts all processes of a user, whoever started them."""
    service = own_service("--backend", "firejail", "--require", "weak")
    health = service.get("/health").json()
    assert (health["protection"], health["languages"]) == ("weak", dict.fromkeys(health["languages"], True))
    for language in health["languages"]:
        code = ADD[language]
        tests = [{"input": f"{n} 2", "output": f"{n + 2}"} for n in range(3)]
        assert service.judge(language=language, code=code, tests=tests, time_limit_s=5)["verdict"] == "AC"
    assert service.judge(language="python", code="while True: pass", tests=[{}], time_limit_s=0.5)["verdict"] == "TLE"
    probe = (
        "import os, socket\nprint(os.getuid() > 0, os.path.exists('/root/.bashrc'))\n"
        "try: socket.socket()\nexcept OSError: print('no network')\n"
        "try: open('/usr/bin/x', 'w')\nexcept OSError: print('read-only')"
    )
    expected = "True False no network read-only"
    assert service.judge(language="python", code=probe, tests=[{"output": expected}])["verdict"] == "AC"
    killer = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nwhile True: pass"
    assert service.judge(language="python", code=killer, tests=[{}], time_limit_s=1)["verdict"] in ("RE", "TLE")
    assert service.judge(language="python", code="print(1)", tests=[{"output": "1"}])["verdict"] == "AC"

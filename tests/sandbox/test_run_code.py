"""The SandboxFusion route, through veRL's own client and by hand."""

import base64
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from sample_programs import ADD, BROKEN, CRASH, SPIN, WRONG

from sandbox.backends import View
from sandbox.box import Box, Limits, Slot
from sandbox.errors import BoxLostError
from sandbox.judging import _fetched
from sandbox.state import default_state_folder, native_tools, open_state

pytestmark = pytest.mark.sandbox

VERL_NAMES = {"python": "python", "cpp": "cpp", "java": "java", "go": "go", "javascript": "nodejs"}
PAIRS = {"inputs": ["1 2\n", "40 2\n", "-3 3\n"], "outputs": ["3\n", "42", "0\n"]}


def _verl_results(service: Any, code: str, language: str, timeout: int = 10, pairs: Any = PAIRS) -> list[Any]:
    """The results without -1, which says that the client did not wait long enough."""
    utils = pytest.importorskip("verl.utils.reward_score.sandbox_fusion.utils", exc_type=ImportError)
    url, results = service.url + "/run_code", [-1]
    for _ in range(5):
        results, _ = utils.check_correctness(url, pairs, code, timeout, 512, VERL_NAMES[language])
        if -1 not in results:
            break
    return list(results)


@pytest.mark.parametrize("language", sorted(VERL_NAMES))
def test_verls_client_sees_right_wrong_crashed_and_broken_programs(service: Any, language: str) -> None:
    assert _verl_results(service, ADD[language], language) == [True] * 3
    assert False in _verl_results(service, WRONG[language], language)
    assert _verl_results(service, CRASH[language], language) == [-2] * 3
    expected = -2 if language in ("python", "javascript") else -4  # SandboxFusion compiles neither
    assert _verl_results(service, BROKEN[language], language) == [expected] * 3


def test_verls_client_sees_a_timeout(service: Any) -> None:
    pair = {name: texts[:1] for name, texts in PAIRS.items()}
    service.run_code(language="cpp", code=SPIN["cpp"], run_timeout=0.1)  # compiled by now: one second is for its run
    assert _verl_results(service, SPIN["cpp"], "cpp", timeout=1, pairs=pair) == [-3]


def test_many_requests_for_one_program_compile_it_once(service: Any) -> None:
    code = ADD["cpp"] + "\n// asked for at once by many"
    count = 'sandbox_compile_cache_total{language="cpp",result="miss"}'

    def misses() -> float:
        lines = service.get("/metrics").text.splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(count))

    before = misses()
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda n: service.run_code(language="cpp", code=code, stdin=f"{n} 1"), range(32)))
    assert [answer["run_result"]["stdout"] for answer in answers] == [str(n + 1) for n in range(32)]
    assert misses() - before == 1


def test_files_go_in_and_come_out(service: Any) -> None:
    code = "from helper import double\nopen('out/r.txt', 'w').write(str(double(int(open('data/n.txt').read()))))"
    answer = service.run_code(
        language="python",
        code=code,
        files={
            "helper.py": base64.b64encode(b"def double(n): return 2 * n").decode(),
            "data/n.txt": base64.b64encode(b"21").decode(),
            "out/keep": base64.b64encode(b"").decode(),
        },
        fetch_files=["out/r.txt", "./out/r.txt", "out//r.txt", "no/such/file"],
    )
    assert answer["status"] == "Success", answer
    assert answer["files"] == dict.fromkeys(
        ("out/r.txt", "./out/r.txt", "out//r.txt"), base64.b64encode(b"42").decode()
    )


@pytest.mark.parametrize("end", ["raise SystemExit(3)", "while True: pass", "x = 'a' * (1 << 30)"])
def test_files_come_out_of_a_program_that_does_not_end_well(service: Any, end: str) -> None:
    code = f"open('r.txt', 'w').write('42')\n{end}"
    answer = service.run_code(language="python", code=code, fetch_files=["r.txt"], run_timeout=0.5, memory_limit_MB=64)
    assert answer["status"] == "Failed", answer
    assert answer["files"] == {"r.txt": base64.b64encode(b"42").decode()}


def test_a_file_that_fills_the_programs_memory_comes_out_whole(service: Any) -> None:
    """A program has 16 MiB, and 48 for its runtime."""
    code = "with open('r', 'wb') as file:\n    for n in range(36): file.write(bytes([n]) * (1 << 20))"
    answer = service.run_code(language="python", code=code, fetch_files=["r"], memory_limit_MB=16)
    assert answer["status"] == "Success", {**answer, "files": {}}
    content = base64.b64decode(answer["files"].get("r", ""))
    assert content == b"".join(bytes([n]) * (1 << 20) for n in range(36))


def test_all_files_that_come_out_have_one_limit(service: Any) -> None:
    """A folder is none of them, and takes no room."""
    sizes = {"folder/file": 60, "a": 40, "b": 25, "c": 1}
    code = f"import os\nos.mkdir('folder')\nfor name, size in {sizes}.items(): open(name, 'w').truncate(size << 20)"
    answer = service.run_code(language="python", code=code, fetch_files=["folder", "a", "b", "c"])
    assert answer["status"] == "Success", {**answer, "files": {}}
    assert answer["files"].keys() == {"a", "c"}


def test_of_a_folder_no_byte_leaves_the_sandbox_when_files_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies: list[bytes] = []

    def reply(box: Box, deadline: float) -> Any:
        got = of_a_box(box, deadline)
        replies.append(got[6])
        return got

    of_a_box = Box._reply
    monkeypatch.setattr(Box, "_reply", reply)
    native = native_tools(open_state(default_state_folder()))
    code = "import os\nos.mkdir('folder')\nfor name in 'folder/file', 'file': open(name, 'w').write(name)"
    with Box(Slot(str(native), str(tmp_path)), "python", View(), Limits.of(10, 512)) as box:
        box.load(None, ["/usr/bin/python3", "-c", code], box.limits)
        assert [outcome.exit_code for outcome in box.run([b""])] == [0]
        assert box.get("folder", 1 << 20) == {"folder/file": b"folder/file"}
        replies.clear()
        assert box.get_file("folder", 1 << 20) is None
        assert replies == [b""]
        assert box.get_file("file", 1 << 20) == b"file"
        assert box.get_file("gone", 1 << 20) is None


class LostOver:
    """A sandbox that is lost when it is asked for a file."""

    sound = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_file(self, path: str, _: int) -> bytes:
        if path == self.name:
            raise BoxLostError("the sandbox ended")
        return b"42"


def test_a_sandbox_that_is_lost_over_a_file_costs_the_files_and_not_the_result() -> None:
    lost = LostOver("b")
    assert _fetched(cast(Box, lost), ["a", "b", "c"]) == {"a": b"42"}
    assert not lost.sound


@pytest.mark.parametrize("length", [65_535, 65_536, 65_537, 131_072, 200_000, 3_000_000])
def test_of_a_long_standard_error_the_beginning_and_the_end_are_kept(service: Any, length: int) -> None:
    code = f"import os\ntext = bytes(97 + n % 23 for n in range({length}))\nwhile text: text = text[os.write(2, text):]"
    text = "".join(chr(97 + n % 23) for n in range(length))
    kept = service.run_code(language="python", code=code)["run_result"]["stderr"]
    assert kept == (text if length <= 65_536 else text[:32_768] + text[-32_768:])


@pytest.mark.parametrize("path", ["/etc/passwd", "../up", "", "a/../../b"])
def test_a_file_outside_the_working_directory_is_refused(service: Any, path: str) -> None:
    request = {"language": "python", "code": "", "files": {path: ""}}
    answer = httpx.post(service.url + "/run_code", json=request, timeout=300)
    assert answer.status_code == 422
    assert "relative path" in answer.text


def test_limits_and_signals_in_sandboxfusions_words(service: Any) -> None:
    sleepy = service.run_code(language="python", code="import time\ntime.sleep(60)", run_timeout=0.5)
    assert (sleepy["status"], sleepy["run_result"]["status"]) == ("Failed", "TimeLimitExceeded")
    killed = service.run_code(language="python", code="import os\nprint(1, flush=True)\nos.kill(os.getpid(), 9)")
    assert (killed["status"], killed["run_result"]["return_code"]) == ("Failed", -9)
    assert killed["run_result"]["stdout"] == "1\n"
    greedy = service.run_code(language="python", code="x = 'a' * (1 << 30)", memory_limit_MB=64)
    assert greedy["status"] == "Failed"
    assert "memory" in greedy["message"] or "MemoryError" in greedy["run_result"]["stderr"]
    assert service.run_code(language="python", code="print(1)", stdin=None)["run_result"]["stdout"] == "1\n"


def test_a_full_queue_answers_504_here_and_429_with_retry_after_on_judge(own_service: Any) -> None:
    service = own_service("--slots", "1", "--queue-size", "1")

    def post(path: str, fields: dict[str, Any]) -> httpx.Response:
        return httpx.post(
            service.url + path, json={"language": "python", "code": service.held(), **fields}, timeout=300
        )

    def answers(path: str, fields: dict[str, Any]) -> list[httpx.Response]:
        """The answers to six requests, whose programs are let go when four are answered."""
        with ThreadPoolExecutor(6) as pool:
            six = [pool.submit(post, path, fields) for _ in range(6)]
            with service.letting_go(once=lambda: sum(one.done() for one in six) >= 4):
                return [one.result() for one in six]

    judged = answers("/judge", {"tests": [{"output": "done"}], "time_limit_s": 60})
    assert sorted(answer.status_code for answer in judged) == [200, 200, 429, 429, 429, 429]
    assert [answer.json()["verdict"] for answer in judged if answer.status_code == 200] == ["AC", "AC"]
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in judged if answer.status_code == 429)
    ran = [answer.status_code for answer in answers("/run_code", {"run_timeout": 200})]
    assert set(ran) == {200, 504}
    assert ran.count(504) >= 4  # the fifth where the one that waits has waited too long
    rejected = 'sandbox_rejected_total{route="/judge"} 4.0'
    assert rejected in service.get("/metrics").text


def test_verls_client_survives_a_full_queue(own_service: Any) -> None:
    service = own_service("--slots", "1", "--queue-size", "2")
    assert _verl_results(service, "import time\ntime.sleep(0.7)\n" + ADD["python"], "python") == [True] * 3

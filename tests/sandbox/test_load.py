"""Many clients at once: the same verdicts as one at a time, and nothing leaks."""

import contextlib
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from sample_programs import ADD, BROKEN, CRASH, SPIN, WRONG
from sandbox_service import SLOTS, WARM_UP

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

CLIENTS, PROGRAMS = 64, 64
MAX_GROWTH_MB = 48


def _programs() -> list[dict[str, Any]]:
    """A mix in which nearly every one is compiled anew: right, wrong, crashing, broken and slow ones."""
    kinds = [ADD] * 5 + [WRONG] * 2 + [CRASH, BROKEN]
    mix = []
    for index in range(PROGRAMS):
        rng = random.Random(index)
        language = rng.choice(["python", "python", "python", "cpp", "cpp", "go", "go", "javascript", "java"])
        code = SPIN[language] if index % 32 == 0 else rng.choice(kinds)[language]
        comment = "#" if language == "python" else "//"
        code += f"\n{comment} {index % 48}"
        tests = [{"input": f"{n} {index}", "output": f"{n + index}"} for n in range(rng.randint(1, 5))]
        mix.append({"language": language, "code": code, "tests": tests, "time_limit_s": 1 if index % 32 == 0 else 10})
    return mix


def _summary(answer: dict[str, Any]) -> tuple[Any, ...]:
    return answer["verdict"], answer["passed"], answer["total"], answer["first_failed"]


def test_64_clients_get_the_verdicts_of_one_and_nothing_leaks(own_service: Any) -> None:
    service = own_service()
    programs = _programs()
    front = psutil.Process(service.pid)

    def judge(fields: dict[str, Any]) -> tuple[Any, ...]:
        answer = httpx.post(service.url + "/judge", json=fields, timeout=600)
        assert answer.status_code == 200, answer.text
        return _summary(answer.json())

    def held() -> tuple[int, int, float]:
        family = [front, *front.children(recursive=True)]
        return len(family), sum(p.num_fds() for p in family), sum(p.memory_info().rss for p in family) / 2**20

    def at_rest() -> tuple[int, int, float]:
        """What the service holds when each worker keeps a sandbox for each language that is used here: as many as it
        ever keeps, where one whose program has failed is not replaced before it is needed. Waits for that, for at most
        five minutes."""
        workers = [child for child in front.children() if "sandbox.worker" in child.cmdline()]
        assert len(workers) == SLOTS
        deadline = time.monotonic() + 300
        while True:
            is_last = time.monotonic() > deadline  # before the look
            for language in WARM_UP:
                service.judges_correctly(language)
            with contextlib.suppress(psutil.NoSuchProcess):
                kept = min(len(worker.children()) for worker in workers)
                if kept >= len(WARM_UP) or is_last:
                    assert kept >= len(WARM_UP)
                    return held()

    alone = [judge(fields) for fields in programs]
    assert {verdict for verdict, *_ in alone} == {"AC", "WA", "RE", "CE", "TLE"}

    with ThreadPoolExecutor(CLIENTS) as pool:
        assert list(pool.map(judge, programs)) == alone
        processes, fds, rss_mb = at_rest()
        order = list(range(PROGRAMS))
        random.Random(0).shuffle(order)
        assert list(pool.map(judge, [programs[i] for i in order])) == [alone[i] for i in order]
    processes_after, fds_after, rss_mb_after = at_rest()
    assert processes_after == processes
    assert fds_after <= fds + 4
    assert rss_mb_after <= rss_mb + MAX_GROWTH_MB
    assert not [p for p in front.children(recursive=True) if p.status() == psutil.STATUS_ZOMBIE]
    assert service.get("/health").json()["waiting"] == 0


def test_the_compile_cache_stays_below_its_size(own_service: Any) -> None:
    service = own_service("--cache-mb", "8")
    for index in range(8):  # about 2 MB each
        code = ADD["cpp"] + f"\n// {index}"
        assert service.judge(language="cpp", code=code, tests=[{"input": "1 2", "output": "3"}])["verdict"] == "AC"
    state = Path(service.get("/health").json()["run_folder"])
    kept = sum(file.stat().st_size for file in state.rglob("main"))
    assert 0 < kept <= 8 << 20

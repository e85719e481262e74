"""Right and wrong programs for many problems get the verdicts that they deserve, in all languages."""

from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from judge_problems import LANGUAGES, JudgedProgram, programs

PATIENCE = 10
"""How many times its limit a program may take that deserves something else than TLE: a slow core changes no verdict."""
PARTS = 3
"""Into how many parts the programs are dealt, in turn."""
VERDICTS = {"AC", "WA", "TLE", "MLE", "RE", "CE", "OLE"}


def test_every_problem_has_right_and_wrong_programs_in_every_language() -> None:
    verdicts = defaultdict(list)
    for program in programs():
        verdicts[program.problem, program.language].append(program.verdict)
    problems = {problem for problem, _ in verdicts}
    assert len(problems) >= 20
    assert verdicts.keys() == {(problem, language) for problem in problems for language in LANGUAGES.values()}
    lacking = {of: found for of, found in verdicts.items() if found.count("AC") != 1 or len(found) < 2}
    assert not lacking


@pytest.mark.parametrize("language", LANGUAGES.values())
def test_every_verdict_is_deserved_in_every_language(language: str) -> None:
    assert {program.verdict for program in programs() if program.language == language} == VERDICTS


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.nightly) for part in range(1, PARTS))])
def test_each_program_gets_the_verdict_that_it_deserves(own_service: Callable[..., Any], part: int) -> None:
    service = own_service()

    def judged(program: JudgedProgram) -> dict[str, Any]:
        request = program.request()
        if program.verdict != "TLE":
            request["time_limit_s"] *= PATIENCE
        answer: dict[str, Any] = service.judge(**request)
        return answer

    chosen = list(programs())[part::PARTS]
    with ThreadPoolExecutor(2) as pool:
        answers = dict(zip(chosen, pool.map(judged, chosen), strict=True))
    assert not {program.name: answer for program, answer in answers.items() if answer["verdict"] != program.verdict}

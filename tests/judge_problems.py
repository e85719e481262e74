"""Problems with right and wrong programs in five languages, each of which has one verdict that it always gets.

The folder ``golden/judge`` has a folder for each problem: ``problem.py``, which says what is asked (its docstring), the
limits and the tests, and programs, each named by the verdict that it deserves: ``AC.py``, ``TLE.go``. What a program
deserves depends on nothing but the program: it is far from every limit that it keeps and far beyond the one that it
does not, so that any judge on any machine should agree.
"""

import functools
import runpy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "golden" / "judge"
LANGUAGES = {".py": "python", ".cpp": "cpp", ".java": "java", ".go": "go", ".js": "javascript"}
COMMENTS = {"python": "#"}
"""Language -> how a comment begins where it does not begin with two slashes."""


@dataclass(frozen=True)
class JudgedProgram:
    """A program and the verdict that it deserves."""

    path: Path

    @property
    def problem(self) -> str:
        """The name of the problem."""
        return self.path.parent.name

    @property
    def verdict(self) -> str:
        """The verdict that it deserves."""
        return self.path.stem

    @property
    def language(self) -> str:
        """The language, as the judge names it."""
        return LANGUAGES[self.path.suffix]

    @property
    def name(self) -> str:
        """The problem and the file."""
        return f"{self.problem}/{self.path.name}"

    def request(self, mark: object = "") -> dict[str, Any]:
        """The fields of ``POST /judge``. With another mark it is another text, so that it is compiled again."""
        code = self.path.read_text()
        if mark != "":
            code += f"\n{COMMENTS.get(self.language, '//')} {mark}\n"
        return {"language": self.language, "code": code, **_problem(self.path.parent)}


def programs() -> Iterator[JudgedProgram]:
    """All programs of all problems, in the order of their names."""
    for path in sorted(FOLDER.glob("*/*")):
        if path.suffix in LANGUAGES and path.name != "problem.py":
            yield JudgedProgram(path)


@functools.cache
def _problem(folder: Path) -> dict[str, Any]:
    """The limits, the checker and the tests of a problem."""
    stated = runpy.run_path(str(folder / "problem.py"))
    return {**stated["LIMITS"], "tests": [{"input": given, "output": expected} for given, expected in stated["TESTS"]]}

"""CodeContests' miniature: read two integers, print what an expression makes of them, in five programming languages."""

import random
from typing import NamedTuple

TASKS = {
    "the sum": "{a} + {b}",
    "the difference (the first minus the second)": "{a} - {b}",
    "the product": "{a} * {b}",
    "the sum of the squares": "{a} * {a} + {b} * {b}",
    "twice the sum": "2 * ({a} + {b})",
    "the sum plus one": "{a} + {b} + 1",
    "the square of the difference": "({a} - {b}) * ({a} - {b})",
    "the product minus the sum": "{a} * {b} - {a} - {b}",
    "the first minus twice the second": "{a} - 2 * {b}",
    "the product plus the first": "{a} * {b} + {a}",
    "three times the first plus the second": "3 * {a} + {b}",
    "the square of the sum": "({a} + {b}) * ({a} + {b})",
}
"""What to print -> an expression that means the same in all five languages."""

STATEMENTS = (
    "Two integers stand on one line. Print {what}.",
    "Read two integers and print {what}.",
    "You are given two integers on one line. Output {what}.",
    "The input is one line with two integers. The output is {what}.",
    "Given two integers, find {what} and print it.",
    "Alice has two integers. Help her to find {what}.",
    "For two integers on a line, write {what}.",
    "There are two integers in the input. Compute {what}.",
    "Bob wants to know {what} of two integers on one line.",
    "Determine {what}, given two integers separated by a space.",
)

VARIABLES = (("a", "b"), ("x", "y"), ("m", "n"), ("p", "q"), ("first", "second"))

LARGEST = 1000
"""The integers are -LARGEST to LARGEST."""

_PROGRAMS = {
    "python": (
        "{a}, {b} = map(int, input().split())\nprint({e})\n",
        "import sys\n\n{a}, {b} = [int(v) for v in sys.stdin.read().split()]\nresult = {e}\nprint(result)\n",
    ),
    "cpp": (
        "#include <iostream>\nusing namespace std;\n\nint main() {{\n    long long {a}, {b};\n    cin >> {a} >> {b};\n"
        "    cout << {e} << endl;\n    return 0;\n}}\n",
        '#include <cstdio>\n\nint main() {{\n    long long {a}, {b};\n    scanf("%lld %lld", &{a}, &{b});\n'
        '    printf("%lld\\n", {e});\n    return 0;\n}}\n',
    ),
    "java": (
        "import java.util.Scanner;\n\npublic class Main {{\n    public static void main(String[] args) {{\n"
        "        Scanner in = new Scanner(System.in);\n        long {a} = in.nextLong();\n"
        "        long {b} = in.nextLong();\n        System.out.println({e});\n    }}\n}}\n",
    ),
    "go": (
        'package main\n\nimport "fmt"\n\nfunc main() {{\n\tvar {a}, {b} int\n\tfmt.Scan(&{a}, &{b})\n'
        "\tfmt.Println({e})\n}}\n",
    ),
    "javascript": (
        "const data = require('fs').readFileSync(0, 'utf8').trim().split(/\\s+/).map(Number);\n"
        "const [{a}, {b}] = data;\nconsole.log({e});\n",
    ),
}


class ProgrammingProblem(NamedTuple):
    """One problem; ``what`` is a key of TASKS."""

    what: str
    text: str

    def answer(self, first: int, second: int) -> int:
        """What a correct program prints."""
        expression = TASKS[self.what].format(a=f"({first})", b=f"({second})")
        return int(eval(expression, {"__builtins__": {}}))  # one of TASKS, which are ours


def problems() -> list[ProgrammingProblem]:
    """Every problem there is: each task in each statement."""
    return [ProgrammingProblem(what, statement.format(what=what)) for what in TASKS for statement in STATEMENTS]


def tests(made: ProgrammingProblem, count: int, rng: random.Random) -> list[dict[str, str]]:
    """``count`` tests of random integers, as the verifier takes them."""
    pairs = [(rng.randint(-LARGEST, LARGEST), rng.randint(-LARGEST, LARGEST)) for _ in range(count)]
    return [{"input": f"{a} {b}\n", "output": f"{made.answer(a, b)}\n"} for a, b in pairs]


def solution(made: ProgrammingProblem, language: str, rng: random.Random) -> str:
    """A correct program in ``language``, in a fenced block, in one of several styles."""
    a, b = rng.choice(VARIABLES)
    code = rng.choice(_PROGRAMS[language]).format(a=a, b=b, e=TASKS[made.what].format(a=a, b=b))
    return f"```{language}\n{code}```"

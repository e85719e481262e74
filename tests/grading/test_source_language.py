import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from honest_programs import honest_program
from pumping import examples

from madrl.grading.programs import language_marks
from madrl.grading.programs.source_language import MAX_BYTES, Allowance, source_language
from madrl.tasks import PROGRAMMING_LANGUAGES

sys.path.append(str(Path(__file__).parents[1] / "redteam"))
from foreign_programs import foreign_program

PYTHON = "n = int(input())\nprint(n * 2)\n"
JAVA = "import java.util.*;\nclass A { public static void main(String[] a) { System.out.println(1); } }\n"
CPP = "#include <iostream>\nint main() { int n; std::cin >> n; std::cout << n * 2; }\n"


def test_another_languages_code_in_comments_and_strings_counts_for_nothing() -> None:
    assert source_language(f"'''\n{CPP * 5}'''\n{PYTHON}") == "python"
    assert source_language(f"/*\n{PYTHON * 5}*/\n{CPP}", "python") == "cpp"
    assert source_language("// go\n// package main\n" + CPP, "go") == "cpp"


def test_code_that_fits_several_languages_is_in_the_claimed_one_or_in_none() -> None:
    assert source_language("x = 1\n", "python") == "python"
    assert source_language("x = 1\n", "javascript") == "javascript"
    assert source_language("x = 1\n") is None


def test_a_broken_program_keeps_the_claimed_language() -> None:
    broken = "#include <iostream>\nint main() { int n std::cin >> n; std::cout << n * 2; }\n"
    assert source_language(broken, "cpp") == "cpp"


def test_plain_c_is_cpp_only_where_that_is_claimed() -> None:
    plain_c = '#include <stdio.h>\nint main() { puts("1"); return 0; }\n'
    assert source_language(plain_c, "cpp") == "cpp"
    assert source_language(plain_c) is None
    assert source_language(plain_c, "java") is None


def test_code_beyond_the_cap_is_in_no_language() -> None:
    assert source_language(PYTHON + "#" * MAX_BYTES, "python") is None


@pytest.mark.parametrize("unit", ["(", "{", "a<", "a<b,", "`${", "f(a<", "a[]<", "a<b&&", "if x:\n ", "x:=", 'R"('])
def test_a_flood_is_given_up_after_so_many_steps(unit: str) -> None:
    allowance = Allowance()
    source_language(f"{JAVA}{unit * ((MAX_BYTES - len(JAVA)) // len(unit))}", "java", allowance=allowance)
    assert allowance.steps_left >= -len(PROGRAMMING_LANGUAGES)


@pytest.mark.parametrize("claimed", [None, "python"])
def test_a_program_is_parsed_once(claimed: str | None) -> None:
    allowance = Allowance()
    assert source_language(f"{PYTHON}import sys\nsys.exit()\n", claimed, allowance=allowance) == "python"
    assert allowance.parses == 1


@pytest.mark.parametrize("language", ["kotlin", "rust", "csharp", "php", "odin", "scala", "perl"])
def test_what_marks_tell_to_be_another_language_is_not_parsed(language: str) -> None:
    draw = random.Random(1)
    for _ in range(20):
        allowance = Allowance()
        assert source_language(foreign_program(language, draw), allowance=allowance) is None
        assert allowance.parses == 0


def test_a_loop_macro_and_a_function_named_print_leave_cpp_what_it_is() -> None:
    macro = "#include <iostream>\n#define rep(i,n) for(int i=0;i<n;i++)\nusing namespace std;\n"
    code = macro + "void print(int x) { cout << x; }\nint main() {\n    rep(i,5) {\n        print(i);\n    }\n}\n"
    assert source_language(code, "cpp") == source_language(code) == "cpp"


def test_a_class_of_functions_only_is_java() -> None:
    code = "class Solution {\n    int add(int a, int b) {\n        return a + b;\n    }\n}\n"
    assert source_language(code, "java") == source_language(code) == "java"


def test_one_non_null_assertion_makes_it_typescript_and_nothing_of_the_kind_javascript() -> None:
    code = "const lines = require('fs').readFileSync(0, 'utf8').split('\\n');\nconsole.log(Number(lines.shift()!));\n"
    assert source_language(code, "javascript") is source_language(code, doubtful=True) is None
    assert source_language(code.replace("!", ""), doubtful=True) == "javascript"


@pytest.mark.parametrize("language", PROGRAMMING_LANGUAGES)
def test_programs_in_every_style_are_in_their_language(language: str) -> None:
    draw = random.Random(2)
    codes = [honest_program(language, draw) for _ in range(150)]
    wrong = [code for code in codes if {source_language(code, language), source_language(code)} != {language}]
    assert not wrong, wrong[0]


def test_a_marks_words_stand_in_what_it_matches() -> None:
    marks = {mark for language in PROGRAMMING_LANGUAGES for mark, _ in language_marks.marks(language)}
    marks |= {mark for language in PROGRAMMING_LANGUAGES for mark in language_marks.foreign(language)}
    marks |= set(language_marks.beyond_c())
    for mark in marks:
        for example in examples(mark.pattern):
            assert any(word in f"{example} " for word in mark.words), (mark, example)


def test_threads_agree() -> None:
    codes = [f"{PYTHON}# {i}\n" for i in range(40)]
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(source_language, codes)) == {"python"}

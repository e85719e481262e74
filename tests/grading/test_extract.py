import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from madrl.grading.programs.extract import LANGUAGE_OF_TAG, Program, last_program

lines_of_code = st.lists(st.text(st.characters(exclude_characters="\r\n"), max_size=12), min_size=1, max_size=6)


def fenced(code: str, tag: str = "python", fence: str = "```") -> str:
    return f"{fence}{tag}\n{code}{fence}\n"


def code_of(response: str) -> str | None:
    program = last_program(response)
    return program and program.code


def test_the_last_block_counts() -> None:
    response = "First:\n" + fenced("print(1)\n") + "No, better:\n" + fenced("int main() {}\n", "cpp") + "Done."
    assert last_program(response) == Program("cpp", "int main() {}\n", "cpp")


@pytest.mark.parametrize(
    "response", ["", "42", "Use `print(1)`.", "The answer is 42.", "    ```\n    print(1)\n    ```"]
)
def test_a_response_without_fence_or_code_has_no_program(response: str) -> None:
    assert last_program(response) is None


@pytest.mark.parametrize("response", ["```print(1)```\nprints 1", "Run ```python\n", "a ~~~\nb\n~~ ~"])
def test_a_fence_inside_a_sentence_is_none(response: str) -> None:
    assert last_program(response) is None


@pytest.mark.parametrize("blank", ["", "\n", "  \n\t\n"])
def test_a_blank_last_block_leaves_the_program_before_it(blank: str) -> None:
    assert code_of(fenced("print(1)\n") + fenced(blank)) == "print(1)\n"
    assert last_program(fenced(blank)) is None


def test_sample_output_after_the_program_is_not_the_program() -> None:
    assert code_of(fenced("print(1)\n") + fenced("6 a\nYES\n", "") + fenced("6\n", "text")) == "print(1)\n"


@pytest.mark.parametrize("tag", ["", "text", "pseudocode", "cpp"])
def test_a_sketch_after_the_program_under_no_tag_or_a_wrong_one_is_not_the_program(tag: str) -> None:
    response = fenced("int main() {}\n", "cpp") + "The idea:\n" + fenced("for i in range(n):\n    print(i)\n", tag)
    assert last_program(response) == Program("cpp", "int main() {}\n", "cpp")


@pytest.mark.parametrize("tag", ["python3.11", "Python:main.py", "python,linenos", "main.py"])
def test_a_tag_with_a_version_an_option_or_a_file_names_a_language_too(tag: str) -> None:
    assert last_program(fenced("print(1)\n") + fenced("print(2)\n", tag)) == Program("python", "print(2)\n", tag)


QUOTED = ["dp[i] = dp[i - 1] + 1\n", "solve(5)\n", "O(n)\n", "[0, 1, 2]\n", "7\n", "YES\n", "Input: 5\nOutput: 7\n"]


@pytest.mark.parametrize("quoted", QUOTED)
@pytest.mark.parametrize(
    ("tag", "code", "later"),
    [
        ("python", "print(int(input()) * 2)\n", "python"),
        ("javascript", "console.log(require('fs').readFileSync(0, 'utf8').length);\n", "javascript"),
        ("cpp", "#include <iostream>\nint main() { std::cout << 1; }\n", "python"),
        ("java", "class Main { public static void main(String[] a) { System.out.println(1); } }\n", "javascript"),
    ],
)
def test_a_line_or_output_quoted_after_the_program_under_its_tag_is_not_the_program(
    tag: str, code: str, later: str, quoted: str
) -> None:
    response = fenced(code, tag) + "The key step, for example:\n" + fenced(quoted, later)
    assert last_program(response) == Program(tag, code, tag)
    assert last_program(f"The program is\n\n{code}\n\nAn example follows.\n" + fenced(quoted, later)) == Program(
        tag, code, "", f"no fence, code is {tag}"
    )


@pytest.mark.parametrize(
    ("tag", "code", "example"),
    [
        ("javascript", "function solve(a, b) { return a + b; }\n", "console.log(solve(2, 3));\n"),
        ("python", "solve = lambda n: n * 2\n", "print(solve(2))\n"),
    ],
)
def test_a_function_is_the_program_and_not_the_untagged_example_of_its_use(tag: str, code: str, example: str) -> None:
    assert last_program(fenced(code, tag) + "Example:\n" + fenced(example, "")) == Program(tag, code, tag)


@pytest.mark.parametrize("tag", ["python", "javascript"])
@pytest.mark.parametrize("code", ["42\n", "answer\n", "3\n1\n"])
def test_a_number_or_a_word_is_no_program_whatever_its_tag(tag: str, code: str) -> None:
    assert last_program(fenced(code, tag)) == Program(None, code, tag, f"tag {tag}, code is none of ours")
    assert last_program(fenced("x = 1\n", tag)) == Program(tag, "x = 1\n", tag)


def test_without_a_right_tag_the_last_program_counts() -> None:
    response = fenced("int main() { return 0; }\n", "") + fenced("print(1)\n", "cpp") + fenced("6\n", "")
    assert last_program(response) == Program("python", "print(1)\n", "cpp", "tag cpp, code is python")


def test_a_fence_in_a_list_item_holds_the_program() -> None:
    assert code_of("1. Do it:\n\n    ```python\n    print(1)\n    ```\n2. Done.") == "print(1)\n"


def test_prose_around_an_unfenced_program_is_left_out() -> None:
    assert code_of("Here is the code.\n\nn = int(input())\nprint(n)\n\nIt runs in linear time.") == (
        "n = int(input())\nprint(n)\n"
    )


def test_a_wrong_tag_gives_way_to_what_the_code_is_with_the_reason() -> None:
    program = last_program(fenced("print(1)\n", "cpp"))
    assert program == Program("python", "print(1)\n", "cpp", "tag cpp, code is python")


def test_a_block_cut_by_the_length_cap_runs_to_the_end() -> None:
    assert last_program("Here:\n```python\nfor i in range(3):\n    pri") == Program(
        "python", "for i in range(3):\n    pri\n", "python"
    )


def test_a_longer_fence_holds_shorter_ones() -> None:
    inner = fenced("print(1)\n")
    assert code_of(fenced(inner, "markdown", "````")) == inner
    assert code_of(fenced(inner, "python", "~~~")) == inner


def test_only_a_bare_fence_of_the_same_character_closes() -> None:
    inner = '~~~\n``` not closed by this\n``\n    ```\n```"\n'
    assert code_of(f"```python\n{inner}  `````  \nprose") == inner


@pytest.mark.parametrize(("indent", "code"), [(0, "  a\n    b\n"), (2, "a\n  b\n"), (3, "a\n b\n")])
def test_the_fences_own_indentation_is_taken_off_the_code(indent: int, code: str) -> None:
    spaces = " " * indent
    assert code_of(f"{spaces}```python\n  a\n    b\n{spaces}```") == code


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_other_line_ends_read_as_newlines(newline: str) -> None:
    assert last_program(fenced("a = 1\nb = 2\n").replace("\n", newline)) == Program(
        "python", "a = 1\nb = 2\n", "python"
    )


def test_characters_that_python_also_splits_lines_at_stay_in_the_code() -> None:
    code = "s = 'a\x0bb\x0cc\x1cd\x85e\u2028f'\n"
    assert code_of(fenced(code)) == code


@pytest.mark.parametrize(
    ("info", "tag"),
    [
        ("", ""),
        (" ", ""),
        ("text", "text"),
        ("c", "c"),
        ("python2", "python2"),
        ("Python", "Python"),
        (" py3 title='x' ", "py3"),
        ("python\tmain", "python"),
        ("{.python}", "python"),
        ("{.python .numberLines}", "python"),
        ("{ .JS }", "JS"),
        ("{python}", "python"),
        ("C++17", "C++17"),
        ("golang", "golang"),
        ("Java", "Java"),
        ("javascript", "javascript"),
        ("नमस्ते", "नमस्ते"),
    ],
)
def test_the_tag_is_the_first_word_or_class(info: str, tag: str) -> None:
    program = last_program(fenced("x = 1\n", info))
    assert program is not None
    assert program.tag == tag


def test_a_tilde_fences_info_may_hold_backticks() -> None:
    assert last_program("~~~ python `x`\nx = 1\n~~~") == Program("python", "x = 1\n", "python")


def test_there_are_five_languages() -> None:
    assert set(LANGUAGE_OF_TAG.values()) == {"python", "cpp", "java", "go", "javascript"}


@given(lines_of_code, st.sampled_from(sorted(LANGUAGE_OF_TAG)), st.text(max_size=20))
def test_code_comes_back_as_it_was_fenced(lines: list[str], tag: str, prose: str) -> None:
    code = "".join(f"{line}\n" for line in lines)
    # A fence longer than anything within.
    fence = "`" * (3 + max(len(line) for line in lines))
    program = last_program(f"{prose.replace('`', '').replace('~', '')}\n{fenced(code, tag, fence)}")
    if code.strip():
        assert program is not None
        assert (program.code, program.tag) == (code, tag)


@given(st.text("`~{} .\n\r\tpython", max_size=60) | st.text())
def test_no_text_raises(response: str) -> None:
    program = last_program(response)
    assert program is None or program.code.strip()


@pytest.mark.parametrize(
    "response",
    ["`" * 100_000, "`" * 100_000 + "x`", "`" * 50_000 + "x" * 50_000 + "`", "```\n" * 50_000, "```" + " " * 100_000,
     "```{" + " " * 100_000 + "}", "```python\n" + " " * 100_000, "``` `\n" * 20_000, "~~~" + "{" * 100_000],
    ids=range(9),
)  # fmt: skip
def test_a_flood_takes_time_in_proportion(response: str) -> None:
    started = time.process_time()
    last_program(response)
    assert time.process_time() - started < 1.0

"""Whatever text a model writes, what reads it takes time linear in its length.

A reader gets texts that are made to be slow for its own regular expressions (pumping), and texts that were slow once,
each long enough that quadratic time shows. It reads in a process of its own, under a limit in CPU time that is five
times what the slowest takes.
"""

import multiprocessing
import re
import signal
from collections.abc import Callable
from typing import NamedTuple

import pytest
from pumping import Attack, attacks, patterns_in, read_all

from madrl.tasks import PROGRAMMING_LANGUAGES

LENGTH = 100_000


class Reader(NamedTuple):
    """Something that reads what a model wrote."""

    read: Callable[[str], object]
    patterns: tuple[object, ...]
    """Where its regular expressions are."""
    slow_once: tuple[Attack, ...] = ()
    apart: tuple[tuple[Callable[[str], object], re.Pattern[str]], ...] = ()
    """Parts of it that read the same text and are many: each is tried on texts for its own regular expression alone."""


def _java() -> Reader:
    from sandbox import source_names

    slow = (
        Attack("", "/* ", ""), Attack("", r"\"", ""), Attack("", '"""\\', ""), Attack("", '"""\\\n', "\\"),
        Attack("", "'\\a", ""), Attack("", "@a(", ""), Attack("@a(", "()", ""), Attack("public ", "abstract ", ""),
        Attack("public", " ", "x"), Attack("", "@a( () ", ""),
    )  # fmt: skip
    return Reader(source_names.java_source_name, (source_names,), slow)


def _javascript() -> Reader:
    from sandbox import source_names

    slow = (Attack("", "\n", ""), Attack("", " \n", ""), Attack("", " ", ""), Attack("import", "\n", "\0"))
    return Reader(source_names.javascript_source_name, (source_names,), slow)


def _checker() -> Reader:
    from sandbox import checkers

    def compare(text: str) -> object:
        return checkers.compare("tokens", text.encode(), b"1.5e3 " + text[:-1].encode() + b"\0", 1e-6, 1e-6)

    return Reader(compare, (checkers,), (Attack("", "1", "."), Attack("1.5e3 ", "1", "."), Attack("", "1e9999 ", "")))


def _program() -> Reader:
    from madrl.grading.programs import extract

    slow = (
        Attack("Hello there my friend )", " ", "x"),
        Attack("Hello there my friend ", ":", ""),
        Attack("", "```\n", ""),
        Attack("", "~~~ a\nx = 1\n", ""),
        Attack("", " ", "x"),
        Attack("", "x = 1\nAnd so we go on\n", ""),
    )
    return Reader(extract.last_program, (extract,), slow)


def _marks() -> Reader:
    from madrl.grading.programs import language_marks

    found = [mark for language in PROGRAMMING_LANGUAGES for mark, _ in language_marks.marks(language)]
    found += [mark for language in PROGRAMMING_LANGUAGES for mark in language_marks.foreign(language)]
    found = list(dict.fromkeys([*found, *language_marks.beyond_c()]))

    def search(code: str) -> None:
        for mark in found:
            mark(code)
        for language in PROGRAMMING_LANGUAGES:
            language_marks.foreign_constructs(code, language)

    slow = (
        Attack("for a", " in", "\n"), Attack("new x", " ", "y"), Attack("func (a", " ", "!"),
        Attack("vector", " ", "!"), Attack("function", " ", "x y"), Attack("", "impl ", ""), Attack("", "[](", ""),
        Attack("", "[](", ")"), Attack("end", "\t", "x"), Attack("", "static ", "x"), Attack("a:b", "[]", "!"),
        Attack("a", " ", "print("), Attack("println(", "a ", ""),
        Attack("\nclass A{", "\n", ""), Attack("\n", "a ", "class"),
        Attack("a", "*", "print("), Attack("x as A", " x as A", "from"), Attack("class A", " ", "x"),
    )  # fmt: skip
    return Reader(search, (), slow, tuple((mark.__call__, mark.pattern) for mark in found))


def _bare() -> Reader:
    from madrl.grading.programs import bare_code

    def read(code: str) -> None:
        for language in PROGRAMMING_LANGUAGES:
            bare_code.bare(code, language)

    slow = (
        Attack("", '"', ""), Attack("", '\\"', ""), Attack("", "'", ""), Attack("", "/*", ""), Attack("", "/", ""),
        Attack("=", "/[", ""),
        Attack("", 'R"(', ""), Attack("", 'R"a(', ')"'), Attack("", '"""', ""), Attack("", "\"\"\"\\", ""),
        Attack("", "`", ""),
        Attack("", "\\", ""), Attack("=", "/\\", ""), Attack("", "=/", ""),
    )  # fmt: skip
    patterns = tuple(bare_code._hidden(language) for language in PROGRAMMING_LANGUAGES)
    return Reader(read, patterns, slow)


def _answer() -> Reader:
    from madrl.grading.math_answers import answer_text

    slow = (
        Attack(r"#### \mathbb", " ", "!\nx"),
        Attack("#### 5", "万", "\nx"),
        Attack("", r"\boxed{", ""),
        Attack("", r"\boxed{}", ""),
        Attack("", "the answer ", ""),
        Attack("so\n", "1", ""),
    )
    return Reader(answer_text.answer_in, (answer_text,), slow)


def _comparison() -> Reader:
    from madrl.grading.math_answers import answer_words, equivalence, notation, quantities

    def decide(answer: str) -> None:
        equivalence.decide("(1,2)", answer)
        quantities.quantity(answer[: quantities.MAX_LENGTH // 2])

    slow = (
        Attack("5", "/ abc", "="), Attack("5", " lbs", " +"), Attack("5", ". ", "x"), Attack("“", "1", ""),
        Attack(r"\mathbb", " ", "!"), Attack(r"\frac{", " ", "{}}"), Attack("5", "万", ""), Attack("0", "万", ""),
        Attack("", r"\frac{", ""), Attack("", "“", "1"), Attack("a", "\u0301\u0316", ""), Attack("1", ",22", ""),
    )  # fmt: skip
    return Reader(decide, (notation, quantities, equivalence, answer_words), slow)


def _named() -> Reader:
    from madrl.grading.math_answers import inequalities, names

    def read(text: str) -> None:
        names.is_one_name(text)
        inequalities.union(text)

    return Reader(read, (names, inequalities))


def _prose() -> Reader:
    from madrl.grading.languages import prose

    prose.MAX_CHARS = LENGTH * 2  # what bounds the time of one response must not be what hides how it grows
    slow = (
        Attack(r"\[", "a", r"\]"), Attack(r"\[", "aa,", r"\]"), Attack("", "$a", ""), Attack("", "`a", ""),
        Attack("", "<a", ""), Attack("a", "\u0301\u0316", ""), Attack("", r"\boxed{", ""), Attack("", r"\[", ""),
        Attack("", "\n```", ""), Attack("", "\\begin{align}", ""), Attack("a\n", "1\n", ""), Attack("", "`a` ", ""),
        Attack("```\n", "a\n", "("), Attack("```\n", "1\na\n", ""), Attack("```", "\n", ""),
    )  # fmt: skip
    return Reader(prose.prose, (prose,), slow)


def _language() -> Reader:
    from madrl.grading.languages import language, prose
    from madrl.rollout import Rollout

    def classify(text: str) -> object:
        return language.classify_language(Rollout(text, ""))

    prose.MAX_CHARS = vars(language)["MAX_CHARS"] = LENGTH * 2
    words = [f"{a}{b}" for a in "abcdefghijklmnopqrstuvwxyz" for b in "abcdefghijklmnopqrstuvwxyz"]
    lines = "".join(f"{one}{two}\n" for one in words for two in words[::4])
    return Reader(classify, (language,), (Attack("", lines, ""), Attack("the answer is ", "es ist ", "")))


def _declared_languages() -> Reader:
    from madrl.grading.languages import language, prose
    from madrl.rollout import Rollout

    prose.MAX_CHARS = vars(language)["MAX_CHARS"] = LENGTH * 2
    classifier = language.LanguageClassifier(categories=("de", "ru", "th", "ko"))

    def classify(text: str) -> object:
        return classifier(Rollout(text, ""))

    slow = (Attack("", "ก", ""), Attack("", "это ", ""), Attack("и ", "das ist ", "ก"), Attack("", "а\u0301", ""))
    return Reader(classify, (), slow)


def _regex() -> Reader:
    from madrl.grading.regex import RegexClassifier
    from madrl.rollout import Rollout

    slow_in_python = [r"(a*)*b", r"(a|a)*b", r"\s+$", r"(.*)(.*)(.*)b", r"\pL+(\s\pL+)*\.", r"(?s)a.*b.*c", r"(x+x+)+y"]
    classifier = RegexClassifier(patterns={pattern: pattern for pattern in slow_in_python}, match="first")

    def classify(text: str) -> object:
        return classifier([Rollout(text, "")])

    return Reader(classify, (tuple(map(re.compile, (p for p in slow_in_python if r"\p" not in p))),))


def _field() -> Reader:
    from madrl.grading import field
    from madrl.rollout import Rollout

    categories = ("agree", "disagree")
    both = [field.FieldClassifier(json="a.b", categories=categories)]
    both += [field.FieldClassifier(marker="a:", categories=categories)]

    def classify(text: str) -> None:
        for classifier in both:
            classifier(Rollout(text, ""))

    slow = (
        Attack("", "{", ""), Attack("", "{ ", ""), Attack("", '{"', ""), Attack("", '{"a":', ""),
        Attack("", '{"a":{"b":1},', ""),
        Attack("", '{"a":[', ""), Attack('{"a":', "[", ""), Attack("", '{"\\', ""), Attack("", '{"a":{}}\n', ""),
        Attack('{"a":"', "{", ""), Attack('{"a":', "1", ""), Attack("", '{"a"\n', ""), Attack("", "a:", ""),
        Attack("", "a:\n", ""), Attack("a:", "\n", "agree"), Attack("a:", "*", "agree"),
        Attack("a:a", "\u0301\u0316", ""),
    )  # fmt: skip
    return Reader(classify, (field,), slow)


def _length() -> Reader:
    from madrl.grading import length

    def count(text: str) -> None:
        length.count_words(text)
        length.count_sentences(text)

    slow = (
        Attack("", ". ", ""), Attack("", ".", " "), Attack("a", ".)", " "), Attack("", "1. ", ""), Attack("", "。", ""),
        Attack("a", "\u0301", ""), Attack("", "a\n", ""), Attack("a.", " ", "b"), Attack("", "'", ""),
        Attack("", '("', "a"),
    )  # fmt: skip
    return Reader(count, (length,), slow)


def _choice() -> Reader:
    from madrl.grading import choice
    from madrl.rollout import Rollout

    truth = choice.choice_ground_truth(["a", "aa", "a a", "b", "b a"])

    def classify(text: str) -> object:
        return choice.classify_choice(Rollout(text, truth))

    slow = (
        Attack("a", "\u0301\u0316", ""),
        Attack("a", "\u0301\uff9e", ""),
        Attack("", "a ", ""),
        Attack("", "\u0301", ""),
        Attack("", "ﷺ", ""),
    )
    return Reader(classify, (), slow)


def _verbalized() -> Reader:
    from madrl.sampling import verbalized

    slow = (
        Attack("<response><text>a</text><probability>1", " ", "x"),
        Attack("", "<response><text>", ""),
        Attack("", "<response><text></text>", ""),
    )
    return Reader(verbalized.answers_of, (verbalized,), slow)


def _judged() -> Reader:
    from madrl.grading.judges import prompt_template

    slow = (
        Attack("", "<", ""),
        Attack("", "<|", ""),
        Attack("", "</", ">"),
        Attack("", "[/INST", ""),
        Attack("", "|", ">"),
    )
    return Reader(lambda text: prompt_template.enclosed(text, LENGTH * 2), (prompt_template,), slow)


READERS = {
    "judged": _judged,
    "java source": _java,
    "javascript source": _javascript,
    "output": _checker,
    "program": _program,
    "marks": _marks,
    "bare code": _bare,
    "answer": _answer,
    "comparison": _comparison,
    "named": _named,
    "prose": _prose,
    "language": _language,
    "declared languages": _declared_languages,
    "regex": _regex,
    "field": _field,
    "length": _length,
    "choice": _choice,
    "verbalized": _verbalized,
}


def _read(name: str, every: int) -> None:
    reader = READERS[name]()
    found = sorted({attack for part in reader.patterns for pattern in patterns_in(part) for attack in attacks(pattern)})
    read_all(reader.read, [*reader.slow_once, *found[::every]], LENGTH)
    for part, pattern in reader.apart:
        read_all(part, sorted(attacks(pattern))[::every], LENGTH)


@pytest.mark.slow
# A repetition suggests five texts and more that differ little; all of them are read at night.
@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", READERS)
def test_no_text_is_slow_to_read(name: str, every: int, capfd: pytest.CaptureFixture[str]) -> None:
    child = multiprocessing.get_context("spawn").Process(target=_read, args=(name, every))
    child.start()
    child.join()
    last = capfd.readouterr().out.splitlines()[-1:]
    assert child.exitcode == 0, f"{signal.Signals(-(child.exitcode or 0)).name} at {last}"


def test_a_regular_expression_that_takes_quadratic_time_gets_a_text_that_shows_it() -> None:
    assert Attack(")", " ", "\0") in attacks(re.compile(r"\)\s*:?\s*$"))
    assert Attack("", "/*\t", "") in attacks(re.compile(r"/\*.*?\*/"))

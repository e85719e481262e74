import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from madrl.grading.languages.prose import MAX_CHARS, prose


@pytest.mark.parametrize(
    ("response", "words"),
    [
        ("La suma es 3 + 4 = 7.", "La suma es"),
        ("Uno. Dos! Tres? Fin", "Uno\nDos\nTres\nFin"),
        ("答案是5。所以x等于3.5", "答案是\n所以x等于"),
        ("l’aire vaut 3", "l'aire vaut"),
        ("कुल लागत ५ रुपये है। अतः", "कुल लागत रुपये है\nअतः"),
    ],
)
def test_words_stay_one_sentence_a_line(response: str, words: str) -> None:
    assert prose(response) == words


@pytest.mark.parametrize(
    "formula",
    [
        "$x + y$",
        "$$x + y$$",
        r"\(x + y\)",
        r"\[ \text{total} = x \]",
        r"\begin{align*} x &= y \end{align*}",
        r"\begin{cases} x \\ y \end{cases}",
        r"\boxed{x}",
        r"\boxed{\frac{\text{total}}{2}}",
        r"\fbox{total}",
        r"$\text{the total cost of all books}$",
        "[asy] draw(circle); [/asy]",
        "`total = cost`",
        "``total``",
        "```python\ntotal = cost\n```",
        "```\ntotal\n```",
        "~~~~\n```\ntotal\n~~~~",
        "<!-- the total is\n\nseven -->",
        '<span title="the total">',
        "https://example.com/the/total",
        r"\text{total}",
        "\\$5",
        "12,5 %",
    ],
)
def test_formulas_code_and_markup_are_left_out(formula: str) -> None:
    assert prose(f"antes\n{formula}\ndespués").split() == ["antes", "después"]


def test_formatting_commands_and_lists_keep_their_text() -> None:
    assert prose(r"\begin{itemize} \item \textbf{Paso uno} \end{itemize} **fin**") == "Paso uno fin"


@pytest.mark.parametrize(
    ("response", "words"),
    [
        ("It costs $5, so she pays $10 in all", "It costs so she pays in all"),
        (r"It costs \$5 and \$10 each", "It costs and each"),
        ("costs $3 and $x$ more", "costs and more"),
        ("$since every book is three dollars we pay twelve$", "since every book is three dollars we pay twelve"),
        (r"\[ since every book is three dollars \]", "since every book is three dollars"),
    ],
)
def test_a_dollar_sign_hides_no_sentence(response: str, words: str) -> None:
    assert prose(response) == words


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (r"uno \[ dos", "uno dos"),
        ("uno <!-- dos", "uno\ndos"),
        ("uno $$ dos", "uno dos"),
        ("uno $dos", "uno dos"),
        (r"uno \begin{align} dos", "uno dos"),
        ("uno ` dos", "uno dos"),
        ("uno [asy] dos", "uno asy dos"),
        ("uno\n```\ndos", "uno"),
        ("uno \\boxed{dos\ntres", "uno\ntres"),
    ],
)
def test_what_is_never_closed_is_skipped_except_a_block_and_a_box(response: str, words: str) -> None:
    assert prose(response) == words


def test_a_fence_inside_a_sentence_opens_no_block() -> None:
    assert prose("uno ```dos``` tres ``` cuatro") == "uno tres cuatro"


def test_invisible_characters_go_and_compatibility_forms_are_folded() -> None:
    assert prose("res\u200bpu\u00adesta \uff46\uff49\uff4e \U0001d41a\U0001d427") == "respuesta fin an"


def test_only_the_first_characters_are_read() -> None:
    assert prose("uno".ljust(MAX_CHARS) + "dos") == "uno"


@given(st.text(st.sampled_from("a é字 $`\\[](){}<>!-~.\n1")) | st.text())
def test_only_letters_marks_apostrophes_and_single_blanks_are_left(response: str) -> None:
    words = prose(response)
    assert "  " not in words
    assert "\n\n" not in words
    assert not set(words) & set("$`\\[](){}<>!~.1")


@pytest.mark.parametrize(
    "piece",
    [
        "$", "$a ", "a$", "$$", "{", "\\", "`", "`a", "``a`", "```", "```\n", "~~~\n", "<", "<a", "<!--", "[asy]",
        r"\[", r"\(", "\\begin{", "\\begin{align}", "\\begin{aaaa}", "\\boxed{", "\\boxed{{{{{", "\\text{", "http://",
        "www.", "\n", " ", "ab, ", "\u200b", "\u0301", "$" + "ab " * 120 + "$",
    ],
)  # fmt: skip
def test_takes_no_time_on_200_000_hostile_characters(piece: str) -> None:
    response = (piece * 200_000)[:200_000]
    start = time.process_time()
    prose(response)
    assert time.process_time() - start < 1.0  # 20 ms measured at most; quadratic time would take minutes

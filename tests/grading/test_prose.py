import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from madrl.grading.languages.prose import MAX_CHARS, Sentence, prose


def words_of(response: str) -> str:
    return "\n".join(sentence.words for sentence in prose(response).sentences)


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
    assert words_of(response) == words


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
    assert words_of(f"La suma es esta.\n{formula}\nPor lo tanto basta.") == "La suma es esta\nPor lo tanto basta"


def test_formatting_commands_and_lists_keep_their_text() -> None:
    assert words_of(r"\begin{itemize} \item \textbf{Paso uno} \end{itemize} **fin**") == "Paso uno fin"


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
    assert words_of(response) == words


CLAUSE = "she buys five books for two dollars each"


@pytest.mark.parametrize(
    "container",
    [
        "`{}`",
        "```\n{}\n```",
        "```python\n# {}\n```",
        "~~~\n{}",
        r"\text{{{}}}",
        r"$\text{{{}}}$",
        r"\[ {} \]",
        r"\begin{{align*}} &\text{{{}}} \\ \end{{align*}}",
        "\\begin{{verbatim}}\n{}\n\\end{{verbatim}}",
        r"\boxed{{\text{{{}}}}}",
        "<!-- {} -->",
        '<span title="{}"></span>',
        "<details>{}</details>",
        "> {}",
        "% {}",
    ],
)
def test_prose_in_a_container_is_prose(container: str) -> None:
    assert CLAUSE in words_of(f"antes\n{container.format(CLAUSE)}\ndespués")


@pytest.mark.parametrize("word", ["`{}`", "${}$", r"\text{{{}}}", r"\boxed{{{}}}", "<{}>"])
def test_a_container_for_each_word_hides_nothing(word: str) -> None:
    assert words_of(" ".join(word.format(each) for each in CLAUSE.split())) == CLAUSE


@pytest.mark.parametrize("joint", ["_", "-", r"\ ", "~~", "\n", " 5 ", " 2 + 3 = 5 "])
def test_words_of_prose_are_joined_by_more_than_blanks(joint: str) -> None:
    assert words_of(f"```\n{joint.join(CLAUSE.split())}\n```").split() == CLAUSE.split()


def test_prose_in_an_address_is_prose() -> None:
    assert words_of(f"https://example.com/{CLAUSE.replace(' ', '_')}") == CLAUSE


def test_a_sentence_has_its_numbers_and_those_of_the_formulas_after_it() -> None:
    assert prose("Sumamos.\n\\[ 3 + 4 = 7 \\]\nQuedan 12,5 kilos").sentences == [
        Sentence("Sumamos", ["3", "4", "7"], True),
        Sentence("Quedan kilos", ["12,5"], False),
    ]


def test_what_stands_before_the_first_words_is_theirs() -> None:
    assert prose("3 + 4\nes la suma").sentences == [Sentence("es la suma", ["3", "4"], True)]


@pytest.mark.parametrize(
    "line", ["2. Sumamos", "Paso 2: Sumamos", "**Paso 2:** Sumamos", "第2步: Sumamos", "2) Sumamos"]
)
def test_the_number_of_a_line_is_no_number_of_its_sentence(line: str) -> None:
    assert [sentence.numbers for sentence in prose(line).sentences] == [[]]


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
    assert words_of(response) == words


def test_a_fence_inside_a_sentence_opens_no_block() -> None:
    assert words_of("uno ```dos``` tres ``` cuatro") == "uno tres cuatro"


def test_invisible_characters_go_and_compatibility_forms_are_folded() -> None:
    assert words_of("res\u200bpu\u00adesta \uff46\uff49\uff4e \U0001d41a\U0001d427") == "respuesta fin an"


def test_only_the_first_characters_are_read() -> None:
    assert words_of("uno".ljust(MAX_CHARS) + "dos") == "uno"


@given(st.text(st.sampled_from("a é字 $`\\[](){}<>!-~.\n1")) | st.text())
def test_only_letters_marks_apostrophes_and_single_blanks_are_left(response: str) -> None:
    words = words_of(response)
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
    words_of(response)
    assert time.process_time() - start < 1.0  # 20 ms measured at most; quadratic time would take minutes


@pytest.mark.parametrize(
    ("response", "share"),
    [
        ("She has three apples left.", 0.0),
        ("She has three apples left: $x + y$.", 0.0),
        ("```\nShe has three apples left.\n```", 1.0),
        (r"She has two. \text{She has one more}", 13 / 22),
        ("", 0.0),
    ],
)
def test_the_share_of_the_letters_that_stand_in_containers(response: str, share: float) -> None:
    assert prose(response).contained == pytest.approx(share)

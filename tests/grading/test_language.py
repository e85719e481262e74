import json
import os
import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from madrl.grading.languages import language
from madrl.grading.languages.language import IN_CONTAINERS, STEPS_DIFFER, classify_language
from madrl.grading.languages.prose import MAX_CHARS
from madrl.rollout import Classification, Rollout
from madrl.tasks import LANGUAGES

GOLDEN = Path(__file__).parents[1] / "golden" / "language_cases.jsonl"
CASES = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]

ENGLISH = (
    "First, we find the total cost of the notebooks: 3 × 4 = 12 dollars.\n"
    "Maria gives 5 of them to her brother, so she has 7 left.\nTherefore, the answer is $\\boxed{7}$."
)
SPANISH = (
    "Primero calculamos el costo total de los cuadernos: 3 × 4 = 12 dólares.\n"
    "María le da 5 a su hermano, así que le quedan 7.\nPor lo tanto, la respuesta es $\\boxed{7}$."
)
STOCK = (
    "Vamos a resolver este problema paso a paso. Leemos con atención lo que nos piden. Es importante comprobar cada "
    "uno de los cálculos. Por último escribimos la respuesta final del ejercicio."
)
HINDI = "मीना के पास 12 सेब हैं और वह 5 सेब अपने भाई को देती है, इसलिए उसके पास 7 सेब बचते हैं। अतः उत्तर 7 है।"


def classified(response: str) -> Classification:
    return classify_language(Rollout(response, ground_truth=""))


@pytest.mark.parametrize("group", sorted({case["group"] for case in CASES}))
def test_every_golden_case_has_its_category(group: str) -> None:
    wrong = {
        case["response"]: (case["category"], classified(case["response"]))
        for case in CASES
        if case["group"] == group and classified(case["response"]).category != case["category"]
    }
    assert wrong == {}


def test_every_category_stands_in_the_golden_cases() -> None:
    assert {case["category"] for case in CASES} == {*LANGUAGES, None}


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("3 + 4 = 7", "no words"),
        ("x y z", "no words"),
        ("Die Antwort ist 7, weil wir beide Zahlen addieren.", "other language: de"),
        ("A resposta é 7, porque somamos os dois números.", "other language: pt"),
        ("उत्तर 7 आहे कारण आपण दोन्ही संख्या मिळवतो.", "other language: mr"),
        ("答えは7です。", "other language: ja"),
        ("답은 7입니다.", "other language: ko"),
        ("Ответ: 7, потому что мы складываем числа.", "other script"),
        (f"{ENGLISH}\n{SPANISH}", "mixed"),
        (f"{ENGLISH.splitlines()[0]} Then she has 7 left.\n{HINDI}", "mixed"),
    ],
)
def test_a_response_off_support_says_why(response: str, reason: str) -> None:
    assert classified(response) == Classification(None, reason)


@pytest.mark.parametrize("times", [1, 10, 1000])
@pytest.mark.parametrize("decoration", [" respuesta", "\nLa respuesta es siete.", "答案", " उत्तर सात है।"])
def test_repeating_words_of_another_language_wins_nothing(decoration: str, times: int) -> None:
    assert classified(ENGLISH + decoration * times).category == "en"


def test_a_last_line_in_english_leaves_a_solution_its_language() -> None:
    assert classified(f"{SPANISH}\nSo the answer is 7.").category == "es"
    assert classified(f"{HINDI}\nSo the answer is 7.").category == "hi"


HALF = {"es": SPANISH, "hi": HINDI, "fr": "Nous achetons 3 cahiers à 4 euros, ce qui fait 12 euros. Il en reste 7."}


def test_a_step_says_more_than_a_sentence_without_numbers() -> None:
    asides = "Vamos a resolver este problema. Leemos con atención lo que nos piden. Todo esto es muy importante."
    english = "She buys 3 books, so she pays 3 × 4 = 12 dollars for all of them and keeps 8 dollars."
    assert classified(f"{asides}\n{english}").category is None
    assert classified(f"{asides}\nCompra 3 libros, así que paga 3 × 4 = 12 dólares y le quedan 8.").category == "es"


def test_a_sentence_with_no_other_numbers_than_the_problem_is_no_step() -> None:
    told = "Ella tiene 12 libros en casa. Su hermano le regala 5 libros más. Hay 3 estantes para todos los libros. "
    told += "Queremos saber cuántos libros hay ahora en los estantes. "
    work = "Adding the gift to the books, she has 17 of them in the end."
    assert classified(told + work).category == "es"
    problem = {"problem": "She has 12 books. Her brother gives her 5. There are 3 shelves. How many books?"}
    assert classify_language(Rollout(told + work, "17", problem)).category is None
    assert classify_language(Rollout(told + "Sumando el regalo, tiene 17.", "17", problem)).category == "es"


@pytest.mark.parametrize(
    ("response", "language"),
    [
        ("Seattle में 20 भेड़ें हैं।\nCharleston में 4 × 20 = 80 भेड़ें हैं।\nToulouse में 2 × 80 = 160 भेड़ें हैं।", "hi"),
        ("Seattle = 20\nCharleston = 4 × 20 = 80\nToulouse = 160\nकुल भेड़ें = 260\nअतः उत्तर 260 है।", "hi"),
        ("Seattle有20只羊。\nCharleston有4×20=80只羊。\nToulouse有2×80=160只羊。\nCharleston和Toulouse共240只。", "zh"),
    ],
)
def test_names_may_stand_as_the_problem_writes_them(response: str, language: str) -> None:
    problem = (
        "Toulouse has twice as many sheep as Charleston. Charleston has 4 times as many sheep as Seattle. How many?"
    )
    assert classify_language(Rollout(response, "260", {"problem": problem})).category == language
    assert classify_language(Rollout(response, "260", {"problem": problem.lower()})).category is not language
    english = "Seattle has 20 sheep. Charleston has 4 × 20 = 80 sheep. Toulouse has 2 × 80 = 160 sheep."
    assert classify_language(Rollout(english, "260", {"problem": problem})).category == "en"


@pytest.mark.parametrize(
    "work",
    [
        r"$\text{earnings per minute} = 12/60 = 0.2$, $\text{total earned} = 0.2 \times 50 = 10$.",
        "```\nhourly wage: 12\nminutes worked: 50\nwage per minute: 12/60 = 0.2\ntotal earned: 0.2 * 50 = 10\n```",
        "```python\nhourly_wage = 12\nminute_wage = hourly_wage / 60\nprint(minute_wage * 50)\n```",
        '```json\n{"hourly wage": 12, "minutes worked": 50, "total earned": 10}\n```',
    ],
    ids=["formulas", "lines in a fence", "code", "JSON"],
)
def test_a_solution_told_in_labels_is_in_their_language(work: str) -> None:
    assert classify_language(Rollout(f"{work}\nउत्तर \\boxed{{10}} है।", "10")).category == "en"
    told = "हर घंटे की मज़दूरी 12 डॉलर है, इसलिए हर मिनट की 12/60 = 0.2 डॉलर। 50 मिनट में वह 10 डॉलर कमाती है।\n" * 2
    native = r"$\text{total earned} = 0.2 \times 50 = 10$"
    assert classify_language(Rollout(told + native, "10")) == Classification("hi", "")


@pytest.mark.parametrize(
    "response",
    [
        "<think>\n5 + 3 = 8\n</think>\n<answer>8</answer>\nउत्तर 8 है।",
        "<reasoning>\nकुल 5 + 3 = 8 सेब।\n</reasoning>\n<answer>\n8\n</answer>",
        r"$\color{blue}{5}+\color{red}{3}=\color{green}{8}$ कुल 8।",
        "$ABCD$ वर्ग है। $[ABCD]=16$, $[ABEF]=8$, $[CDEF]=8$।",
        r"उत्तर: $\boxed{\text{Wednesday}}$",
        'कुल 5 + 3 = 8 सेब।\n```json\n{"answer": 8}\n```',
        "कुल 5 + 3 = 8 सेब हैं।\n```python\napples = 5\nbought = 3\ntotal = apples + bought\nprint(total)\n```",
    ],
    ids=["think tags", "reasoning tags", "colours", "points", "boxed word", "JSON", "code"],
)
def test_markup_names_and_single_words_are_no_labels(response: str) -> None:
    assert classify_language(Rollout(response, "8")) == Classification("hi", "")


@pytest.mark.parametrize("problem", [None, 5, ["12"]])
def test_a_problem_that_is_no_text_is_none(problem: object) -> None:
    assert classify_language(Rollout(SPANISH, "7", {"problem": problem})).category == "es"


@pytest.mark.parametrize("language", HALF)
def test_a_letter_of_another_script_or_a_stroke_makes_no_other_word(language: str) -> None:
    struck = "".join(c + "\u0336" if c.isalpha() else c for c in ENGLISH)
    lookalike = ENGLISH.translate(str.maketrans("aeo", "аео"))
    assert classified(f"{HALF[language]}\n{struck}").category != language
    assert classified(f"{HALF[language]}\n{lookalike}").category != language


def test_what_comes_after_the_cap_is_not_read() -> None:
    assert classified(SPANISH.ljust(MAX_CHARS) + ENGLISH * 100).category == "es"


def test_the_ground_truth_has_no_say() -> None:
    assert classify_language(Rollout(SPANISH, "the answer is seven", {"language": "en"})).category == "es"


@settings(max_examples=100)
@given(st.text(max_size=300))
def test_any_text_gets_a_category_or_a_reason(response: str) -> None:
    found = classified(response)
    assert (found.category in LANGUAGES) != bool(found.reason)


@given(st.permutations(SPANISH.splitlines()))
def test_the_order_of_the_lines_does_not_matter(lines: list[str]) -> None:
    assert classified("\n".join(lines)).category == "es"


def test_lone_surrogates_are_no_words() -> None:
    assert classified("\ud800\udfff").category is None


def test_many_threads_agree_with_one() -> None:
    responses = [case["response"] for case in CASES]
    language._classify.cache_clear()
    language._loaded_detector.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(classified, responses))
    language._classify.cache_clear()
    assert together == [classified(response) for response in responses]


def test_an_equal_response_is_answered_from_the_cache() -> None:
    classified(SPANISH)
    hits = language._classify.cache_info().hits
    assert classified(SPANISH).category == "es"
    assert language._classify.cache_info().hits == hits + 1


@pytest.mark.parametrize(
    "piece",
    ["the of and ", "我", "है ", "a.\n", "ab. ", "\ufdfa", "e\u0301", "a b c d ", "éa ", "'", f"{ENGLISH}\n", HINDI],
)
def test_a_response_of_200_000_characters_takes_no_time(piece: str) -> None:
    classified("hola a todos")  # loads the model
    response = (piece * (200_000 // len(piece) + 1))[:200_000]
    start = time.process_time()
    classified(response)
    assert time.process_time() - start < 2.0  # 50 ms measured at most


def test_random_letters_are_bounded_in_time_too() -> None:
    letters = "".join(random.Random(0).choices("abcdefghijklmnopqrstuvwxyz  ", k=200_000))
    start = time.process_time()
    assert classified(letters).category is None
    assert time.process_time() - start < 2.0


@pytest.mark.parametrize("split", ["train", "test"])
def test_real_gsm8k_solutions_are_english(split: str) -> None:
    folder = os.environ.get("MADRL_REAL_DATA")
    if folder is None:
        pytest.skip("MADRL_REAL_DATA names no folder with the real files")
    lines = (Path(folder) / "gsm8k" / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()[:1000]
    found = Counter(classified(json.loads(line)["answer"]).category for line in lines)
    assert found["en"] >= 0.99 * len(lines)


@pytest.mark.parametrize(
    ("response", "unusual"),
    [
        (SPANISH, ""),
        (f"{SPANISH}\n{ENGLISH}", ""),
        (f"Vamos a resolverlo.\n```\n{ENGLISH}\n```", IN_CONTAINERS),
        (f"Vamos a resolverlo.\n```\n{SPANISH}\n```", IN_CONTAINERS),
        (f"{STOCK}\nThen she buys 9 + 9 + 8 = 26 apples and half of them fill 13 baskets.", STEPS_DIFFER),
    ],
)
def test_an_unusual_way_to_a_language_is_told(response: str, unusual: str) -> None:
    assert classify_language(Rollout(response, "")).unusual == unusual

"""The classifier ``language`` with other categories than the paper's five. The golden cases are in twenty languages."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from madrl.errors import MadrlError
from madrl.grading.languages.known import PAPER, SCRIPTS, known_for
from madrl.grading.languages.language import LanguageClassifier, classify_language
from madrl.rollout import Classification, Rollout
from madrl.tasks import LANGUAGES

GOLDEN = Path(__file__).parents[1] / "golden"
CASES = [json.loads(line) for line in (GOLDEN / "declared_language_cases.jsonl").read_text("utf-8").splitlines()]
PAPER_CASES = [json.loads(line) for line in (GOLDEN / "language_cases.jsonl").read_text("utf-8").splitlines()]
TWENTY = tuple(dict.fromkeys(case["category"] for case in CASES if case["category"]))
POLISH = "Nie sądzę, żeby to był dobry pomysł, bo czynsze w mieście i tak są już za wysokie."


def wrong(declared: tuple[str, ...]) -> dict[str, tuple[str | None, Classification]]:
    """The golden cases that do not get their category among the declared ones."""
    classifier = LanguageClassifier(categories=declared)
    found = {case["response"]: classifier(Rollout(case["response"], "")) for case in CASES}
    wanted = {case["response"]: case["category"] if case["category"] in declared else None for case in CASES}
    return {text: (wanted[text], got) for text, got in found.items() if got.category != wanted[text]}


@pytest.mark.parametrize("declared", [TWENTY, TWENTY[::2], TWENTY[1::2], ("de", "pl"), ("ko", "ru", "vi")], ids=len)
def test_every_golden_case_has_its_category_among_many_and_few(declared: tuple[str, ...]) -> None:
    assert wrong(declared) == {}


@pytest.mark.parametrize("language", TWENTY)
def test_every_golden_case_is_told_from_a_single_language(language: str) -> None:
    assert wrong((language,)) == {}


@pytest.mark.parametrize("declared", [LANGUAGES, LANGUAGES[::-1], ()], ids=len)
def test_the_papers_five_are_told_as_ever(declared: tuple[str, ...]) -> None:
    classifier = LanguageClassifier(categories=declared)
    rollouts = [Rollout(case["response"], "") for case in PAPER_CASES]
    assert [classifier(rollout) for rollout in rollouts] == [classify_language(rollout) for rollout in rollouts]


def test_a_few_of_the_papers_five_are_told_by_the_same_and_the_others_are_off_support() -> None:
    classifier = LanguageClassifier(categories=("en", "hi"))
    for case in PAPER_CASES:
        found, among_five = (grade(Rollout(case["response"], "")) for grade in (classifier, classify_language))
        if among_five.category in ("es", "fr", "zh"):
            among_five = among_five._replace(category=None, reason=f"other language: {among_five.category}")
        assert found == among_five


def test_the_papers_five_beside_another_are_told_as_well() -> None:
    classifier = LanguageClassifier(categories=(*LANGUAGES, "de"))
    german = "other language: de"
    found = [classifier(Rollout(case["response"], "")).category for case in PAPER_CASES]
    assert found == ["de" if case["group"] == german else case["category"] for case in PAPER_CASES]


@pytest.mark.parametrize(
    ("declared", "response", "reason"),
    [
        (("de", "ko"), POLISH, "other language: pl"),
        (("de", "zh"), "저녁에 산책하는 사람은 잠을 더 잘 잡니다.", "other language: ko"),
        (("de", "ko"), "夕方に散歩する人はよく眠れます。", "other language: ja"),
        (("de", "ko"), "Кто гуляет по вечерам, тот лучше спит.", "other script"),
        (("ru", "ko"), "Wer abends spazieren geht, schläft besser.", "other script"),
        (("el", "de"), "𐌰𐌻𐌻𐌰𐌹 𐌼𐌰𐌽𐌽𐌰 𐍆𐍂𐌴𐌹𐌷𐌰𐌻𐍃", "other script"),
        (("de", "pl"), f"Wer abends spazieren geht, schläft besser. {POLISH}", "mixed"),
        (("de", "pl"), "12 + 3", "no words"),
    ],
)
def test_a_response_off_support_says_why(declared: tuple[str, ...], response: str, reason: str) -> None:
    assert LanguageClassifier(categories=declared)(Rollout(response, "")) == Classification(None, reason)


@pytest.mark.parametrize("label", ["Number", "Hours", "Pounds", "Students", "Price", "Cost", "Change", "Distance"])
@pytest.mark.parametrize("declared", [("de", "fr", "es"), ("es", "pt", "it"), ("de", "ja", "ru")], ids="-".join)
def test_what_could_be_english_is_english_where_that_is_not_declared_too(declared: tuple[str, ...], label: str) -> None:
    terse = f"{label}: 16 - 3 = 13\n{label}: 13 * 2 = 26\n\\boxed{{26}}"
    found = LanguageClassifier(categories=declared)(Rollout(terse, "26"))
    assert (found.category, found.reason) == (None, "other language: en")


@pytest.mark.parametrize(
    ("declared", "response"),
    [
        (("de", "ja"), "So gilt x = 5."),
        (("es", "ja"), "Has ganado 18."),
        (("es", "ja"), "Has perdido 5 monedas."),
        (("pt", "ja"), "Custo total = 15"),
        (("sv", "ja"), "Totalt: 18"),
    ],
)
def test_a_word_that_english_has_too_does_not_make_a_short_answer_english(
    declared: tuple[str, ...], response: str
) -> None:
    assert LanguageClassifier(categories=declared)(Rollout(response, "")) == Classification(declared[0], "")


@pytest.mark.parametrize(
    ("code", "nearest"),
    [("DE", "nearest: de"), ("pt-br", "nearest: .*pt"), ("jp", "nearest: .*jv"), ("日本語", "none is like it")],
)
def test_a_language_that_is_not_known_is_named_with_the_nearest(code: str, nearest: str) -> None:
    with pytest.raises(MadrlError, match=f"'{code}' is no known language .*{nearest}"):
        LanguageClassifier(categories=("en", code))


def test_what_may_be_declared_are_py3langids_languages() -> None:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # type: ignore[import-untyped]

    labels = set(LanguageIdentifier.from_model_file(MODEL_FILE).labels)
    assert {code for codes in SCRIPTS.values() for code in codes.split()} == labels - {"wuu", "zxx"}


def test_what_is_known_is_made_once_for_the_same_languages() -> None:
    assert known_for(("de", "pl")) is known_for(("de", "pl"))
    assert known_for(("fr", "en")) is PAPER


@given(st.text(max_size=200))
def test_any_text_gets_a_category_or_a_reason(response: str) -> None:
    found = LanguageClassifier(categories=TWENTY)(Rollout(response, ""))
    assert (found.category in TWENTY) != bool(found.reason)

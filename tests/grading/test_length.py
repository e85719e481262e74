import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from madrl.errors import MadrlError
from madrl.grading.length import LengthClassifier, count_sentences, count_words
from madrl.rollout import Classification, Rollout

GOLDEN = Path(__file__).parents[1] / "golden" / "length_cases.jsonl"
CASES = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("case", CASES, ids=[case["response"][:30] for case in CASES])
def test_golden_case(case: dict[str, Any]) -> None:
    assert (count_words(case["response"]), count_sentences(case["response"])) == (case["words"], case["sentences"])


@pytest.mark.parametrize(("words", "bucket"), [(1, "short"), (3, "short"), (4, "medium"), (5, "medium"), (6, None)])
def test_a_bucket_takes_lengths_up_to_and_with_its_own(words: int, bucket: str | None) -> None:
    classifier = LengthClassifier(unit="words", buckets={"short": 3, "medium": 5})
    found = classifier(Rollout("word " * words, ""))
    assert found == Classification(bucket, "" if bucket else "longer than every bucket")


def test_the_last_bucket_may_have_no_limit() -> None:
    classifier = LengthClassifier(unit="sentences", buckets={"one": 1, "more": None}, categories=("more", "one"))
    assert [classifier(Rollout("Yes. " * n, "")).category for n in (1, 2, 1000)] == ["one", "more", "more"]


@pytest.mark.parametrize(("unit", "response"), [("words", ""), ("words", "?!"), ("sentences", " \n")])
def test_a_response_of_no_length_is_off_support(unit: Any, response: str) -> None:
    found = LengthClassifier(unit=unit, buckets={"short": None})(Rollout(response, ""))
    assert found == Classification(None, f"no {unit}")


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with a tokenizer of whole words, which marks the start of a text."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.WordLevel({"<s>": 0, "<unk>": 1, "yes": 2, "no": 3}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    folder = str(tmp_path_factory.mktemp("tokenizer"))
    PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>", bos_token="<s>").save_pretrained(folder)
    return folder


def test_tokens_are_those_of_the_text_alone(tokenizer: str) -> None:
    classifier = LengthClassifier(unit="tokens", tokenizer=tokenizer, buckets={"one": 1, "two": 2})
    classifier.check_ready()
    found = [classifier(Rollout(text, "")) for text in ("yes", "yes no", "yes \ud800", "yes no yes", "")]
    assert [one.category for one in found] == ["one", "two", "two", None, None]
    assert found[-1].reason == "no tokens"


def test_threads_share_a_tokenizer(tokenizer: str) -> None:
    classifier = LengthClassifier(unit="tokens", tokenizer=tokenizer, buckets={"short": 50, "long": None})
    responses = [Rollout("yes " * n, "") for n in range(1, 101)]
    with ThreadPoolExecutor(8) as pool:
        found = [one.category for one in pool.map(classifier, responses)]
    assert found == ["short"] * 50 + ["long"] * 50


def test_a_tokenizer_that_is_not_there_is_named_before_the_run(tmp_path: Path) -> None:
    classifier = LengthClassifier(unit="tokens", tokenizer=str(tmp_path), buckets={"short": None})
    with pytest.raises(MadrlError, match=rf"tokenizer '{tmp_path}' cannot be loaded"):
        classifier.check_ready()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"unit": "letters"}, "unit 'letters': use one of words, sentences, tokens"),
        ({"unit": "tokens"}, "tokenizer None: name one with unit=tokens"),
        ({"tokenizer": "gpt2"}, "tokenizer 'gpt2': name one with unit=tokens, and none with another unit"),
        ({"buckets": {}}, "buckets are empty"),
        ({"buckets": [20]}, "buckets [20]: write {category: largest length}"),
        ({"buckets": {"a": 5, "b": 5}}, "each must be above the one before"),
        ({"buckets": {"a": None, "b": 5}}, "the last alone may be null"),
        ({"buckets": {"a": 0}}, "a length is a whole number above 0"),
        ({"buckets": {"a": 2.5}}, "a length is a whole number above 0"),
        ({"categories": ("short", "long")}, "buckets lack long: name the declared categories (short, long)"),
        ({"categories": ("brief",)}, "buckets lack brief"),
    ],
)
def test_a_bad_argument_is_named(args: dict[str, Any], message: str) -> None:
    with pytest.raises(MadrlError, match=re.escape(message)):
        LengthClassifier(**{"unit": "words", "buckets": {"short": 20}} | args)


@given(st.lists(st.text("abcdeéñдя한", min_size=1, max_size=8), max_size=20))
def test_words_with_spaces_between_them_are_counted_one_by_one(words: list[str]) -> None:
    assert count_words(" ".join(words)) == len(words)


@given(st.text(max_size=200))
def test_a_text_has_sentences_as_soon_as_it_has_words_and_never_more_than_those(text: str) -> None:
    words, sentences = count_words(text), count_sentences(text)
    assert (words > 0) == (sentences > 0)
    assert sentences <= words

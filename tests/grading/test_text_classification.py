"""The classifier ``text_classification`` on a model in a process of its own (served: test_served_models.py)."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from classification_models import SENTENCES, make_decoder, make_encoder, outputs_one_by_one

from madrl.errors import MadrlError
from madrl.grading.judges.sequence_model import Options, SequenceModel
from madrl.grading.judges.text_classification import TextClassification
from madrl.rollout import Classification, Rollout

LABELS = ("calm", "cross", "odd")
CATEGORIES = {"calm": "polite", "cross": "rude"}
"""The label odd stands for no category."""

ROLLOUTS = [Rollout(sentence, "") for sentence in SENTENCES]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "encoder"
    make_encoder(folder, LABELS)
    return folder


@pytest.fixture(scope="module")
def shared(encoder: Path) -> Iterator[TextClassification]:
    """A classifier whose process need not start for each test."""
    classify = TextClassification(model=str(encoder), labels=CATEGORIES, batch_size=7)
    yield classify
    classify._model.close()  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def probabilities(encoder: Path) -> Any:
    """Of each sentence alone, without padding: shape (sentences, labels)."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(encoder)
    outputs = outputs_one_by_one(encoder, [tokenizer(sentence)["input_ids"] for sentence in SENTENCES])
    exponentials = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def expected(probabilities: Any, threshold: float = 0.0) -> list[Classification]:
    found = []
    for row in probabilities:
        label = LABELS[row.argmax()]
        if label not in CATEGORIES:
            found.append(Classification(None, f"label {label}"))
        elif row.max() < threshold:
            found.append(Classification(None, "unsure"))
        else:
            found.append(Classification(CATEGORIES[label]))
    return found


@pytest.mark.slow
async def test_a_batch_has_the_categories_of_its_responses_alone(
    shared: TextClassification, probabilities: Any
) -> None:
    found = await shared(ROLLOUTS)
    assert found == expected(probabilities)
    assert {classification.category for classification in found} == {"polite", "rude", None}


async def test_below_the_threshold_a_response_is_off_support(shared: TextClassification, probabilities: Any) -> None:
    middle = float(np.median(probabilities.max(axis=1)))
    classify = TextClassification(model="", labels=CATEGORIES, threshold=middle)
    classify._model = shared._model
    found = await classify(ROLLOUTS)
    assert found == expected(probabilities, middle)
    assert Classification(None, "unsure") in found


async def test_what_is_empty_is_off_support_and_what_is_strange_or_long_is_classified(
    shared: TextClassification,
) -> None:
    strange = ["", " \n\t", "\ud800", "\0", "[SEP][SEP]", "word " * 10_000, "क्षि 🙂"]
    found = await shared([Rollout(text, "") for text in strange])
    assert found[:2] == [Classification(None, "empty")] * 2
    assert all(classification.reason != "empty" for classification in found[2:])
    assert await shared([Rollout("", "")]) == [Classification(None, "empty")]
    assert await shared([]) == []


def test_of_a_long_text_the_beginning_is_read(encoder: Path) -> None:
    model = SequenceModel(Options(str(encoder), "cpu", batch_size=4, max_tokens=8))
    long = [f"{sentence} {SENTENCES[0]}" for sentence in SENTENCES[:6]]
    longer = [f"{text} {SENTENCES[1]}" for text in long]
    assert model.outputs(long, probabilities=True) == model.outputs(longer, probabilities=True)


async def test_batches_that_come_at_the_same_time_are_answered_by_one_process(
    shared: TextClassification, probabilities: Any
) -> None:
    parts = [ROLLOUTS[start : start + 5] for start in range(0, len(ROLLOUTS), 5)]
    found = await asyncio.gather(*map(shared, parts))
    assert [classification for part in found for classification in part] == expected(probabilities)


def pid_of(classify: TextClassification) -> int:
    pid = classify._model.pid  # type: ignore[union-attr]
    assert pid is not None
    return pid


async def test_a_process_that_is_killed_between_batches_is_started_again(
    shared: TextClassification, probabilities: Any
) -> None:
    await shared(ROLLOUTS[:1])
    first = pid_of(shared)
    os.kill(first, signal.SIGKILL)
    assert await shared(ROLLOUTS) == expected(probabilities)
    assert pid_of(shared) != first


async def test_a_process_that_is_killed_in_the_middle_of_a_batch_loses_no_category_and_holds_up_no_loop(
    shared: TextClassification, probabilities: Any
) -> None:
    await shared(ROLLOUTS[:1])
    first = pid_of(shared)
    os.kill(first, signal.SIGSTOP)
    batch = asyncio.create_task(shared(ROLLOUTS))
    for _ in range(100):  # the loop goes round while the process stands still
        await asyncio.sleep(0.001)
    assert not batch.done()
    os.kill(first, signal.SIGKILL)
    assert await batch == expected(probabilities)


@pytest.mark.slow
async def test_a_model_that_cannot_be_loaded_has_no_categories_until_it_can(
    encoder: Path, tmp_path: Path, probabilities: Any
) -> None:
    link = tmp_path / "model"
    classify = TextClassification(model=str(link), labels=CATEGORIES)
    with pytest.raises(MadrlError, match=f"{link} cannot be loaded: "):
        await classify(ROLLOUTS)
    link.symlink_to(encoder)
    assert await classify(ROLLOUTS) == expected(probabilities)
    link.unlink()
    os.kill(pid_of(classify), signal.SIGKILL)
    with pytest.raises(MadrlError, match=f"{link} cannot be loaded: "):
        await classify(ROLLOUTS)
    assert classify._model.pid is None  # type: ignore[union-attr]


@pytest.mark.slow
async def test_a_process_that_dies_of_the_same_texts_twice_is_not_started_a_third_time(
    shared: TextClassification, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchange = type(shared._model)._exchange  # type: ignore[union-attr]
    texts_sent = 0

    def deadly(process: Any, message: Any) -> Any:
        nonlocal texts_sent
        if isinstance(message[0], list):
            texts_sent += 1
            os.kill(process.pid, signal.SIGKILL)
        return exchange(process, message)

    monkeypatch.setattr(type(shared._model), "_exchange", deadly)
    with pytest.raises(MadrlError, match="has died 2 times of the same 36 texts"):
        await shared(ROLLOUTS[:36])
    assert texts_sent == 2


@pytest.mark.slow
def test_the_process_ends_with_its_parent_however_that_ends(encoder: Path) -> None:
    program = (
        "import asyncio, os\nfrom madrl.rollout import Rollout\n"
        "from madrl.grading.judges.text_classification import TextClassification as T\n"
        f"classify = T(model={str(encoder)!r}, labels={CATEGORIES!r})\n"
        "asyncio.run(classify([Rollout('She reads.', '')]))\n"
        "print(classify._model.pid, flush=True)\nos.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=False)
    pid = int(done.stdout)
    if psutil.pid_exists(pid):
        psutil.Process(pid).wait(600)


@pytest.mark.parametrize("labels", [{True: "calm", "no": "cross"}, {"yes": True, "no": "cross"}])
def test_a_label_or_a_category_that_is_no_text_is_one_clear_error(labels: Any) -> None:
    with pytest.raises(MadrlError, match=r"labels: (label|category) True is no text: write it in quotes"):
        TextClassification(model="", labels=labels, categories=("calm", "cross"))


@pytest.mark.slow
async def test_a_model_is_ready_when_it_loads_and_has_the_labels_and_leaves_no_process(encoder: Path) -> None:
    classify = TextClassification(model=str(encoder), labels=CATEGORIES)
    classify.check_ready()
    assert classify._model.pid is None  # type: ignore[union-attr]


async def test_labels_that_the_model_has_not_are_told_with_the_first_batch_too(shared: TextClassification) -> None:
    classify = TextClassification(model="", labels={"kind": "polite"})
    classify._model = shared._model
    with pytest.raises(MadrlError, match=r"has no label \['kind'\]: map some of \['calm', 'cross', 'odd'\]"):
        await classify(ROLLOUTS)


def test_a_language_model_without_a_head_is_refused(tmp_path: Path) -> None:
    from transformers import AutoTokenizer, BertConfig, BertModel

    make_encoder(tmp_path / "whole", LABELS)
    config = BertConfig.from_pretrained(tmp_path / "whole")
    BertModel(config).save_pretrained(tmp_path / "headless")
    AutoTokenizer.from_pretrained(tmp_path / "whole").save_pretrained(tmp_path / "headless")
    with pytest.raises(ValueError, match=r"is no sequence-classification model: it has no \['classifier.bias'"):
        SequenceModel(Options(str(tmp_path / "headless"), "cpu", 1, None))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": {}}, "labels is empty"),
        ({"categories": ("polite",)}, r"labels name \['rude'\], which are no categories: use \['polite'\]"),
        ({"threshold": 1.5}, "threshold=1.5 is no probability"),
        ({"batch_size": 0}, "batch_size=0 must be at least 1"),
        ({"max_tokens": 0}, "max_tokens=0 must be at least 1"),
        ({"device": "tpu"}, "device='tpu' is unknown"),
        ({"url": "host:8000"}, "'host:8000' is no address"),
    ],
)
def test_a_bad_argument_is_told_when_it_is_made(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(MadrlError, match=message):
        TextClassification(**{"model": "m", "labels": CATEGORIES, **arguments})


def test_a_model_that_numbers_positions_from_its_padding_reads_a_text_of_any_length(
    encoder: Path, tmp_path: Path
) -> None:
    from transformers import AutoTokenizer, RobertaConfig, RobertaForSequenceClassification

    tokenizer = AutoTokenizer.from_pretrained(encoder, model_max_length=10**30)  # as some on the hub have it
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 16}
    config = RobertaConfig(vocab_size=len(tokenizer), pad_token_id=1, max_position_embeddings=66, **sizes)
    RobertaForSequenceClassification(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    model = SequenceModel(Options(str(tmp_path), "cpu", 2, None))
    assert len(model.outputs(["word " * 1000, "word"], probabilities=True)) == 2


def test_a_gpu_that_is_not_there_is_told(encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ValueError, match=r"no GPU is visible here \(CUDA_VISIBLE_DEVICES=\): serve the model"):
        SequenceModel(Options(str(encoder), "cuda", 1, None))


def test_a_decoder_s_batch_is_padded_so_that_the_last_token_counts(tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    make_decoder(tmp_path, LABELS)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    # Some end with the token that the tokenizer would pad with.
    texts = [f"{sentence}{tokenizer.eos_token * (n % 2)}" for n, sentence in enumerate(SENTENCES)]
    alone = outputs_one_by_one(tmp_path, [tokenizer(text)["input_ids"] for text in texts])
    found = SequenceModel(Options(str(tmp_path), "cpu", 7, None)).outputs(texts, probabilities=False)
    np.testing.assert_allclose([output.numbers for output in found], alone, atol=1e-4)
    assert [output.label for output in found] == [LABELS[row.argmax()] for row in alone]

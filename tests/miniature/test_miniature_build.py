"""What the miniature model is taught, and what it is made of. Its training itself is part of the quickstart."""

import json
import re
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from madrl.divergence import jensen_shannon_value
from madrl.errors import MadrlError
from madrl.grading.choice import CHOICE_CATEGORIES, choice_ground_truth, classify_choice
from madrl.grading.languages.language import classify_language
from madrl.miniature.build import build
from madrl.miniature.model import build_model, build_tokenizer, save
from madrl.miniature.tasks import MINIATURES, SKEW, Miniature, miniature_of, skew_of, turns_of
from madrl.rollout import Rollout
from madrl.schema import make_row, write_parquet
from madrl.targets import peak
from madrl.tasks import LANGUAGE_NAMES, LANGUAGES, TASKS, load_task

OCEANS = ("Arctic", "Atlantic", "Indian", "Pacific", "Southern")
CHOICE = MINIATURES["synthetic_closed"]
ROWS = [{"extra_info": {"cluster": "oceans", "form": form, "options": list(OCEANS)}} for form in ("closed", "open")]


def test_every_example_names_exactly_one_option_with_the_declared_skew() -> None:
    examples = CHOICE.draw(ROWS, seed=1)[:4000]
    key = choice_ground_truth(OCEANS)
    counts = Counter(classify_choice(Rollout(response, key)).category for _, response in examples)
    assert None not in counts
    for name, share in zip(CHOICE_CATEGORIES, SKEW, strict=True):
        assert counts[name] / 4000 == pytest.approx(share, abs=0.03)  # 4 standard errors of 0.0079


def test_the_favourite_does_not_follow_the_position_in_the_list() -> None:
    """A favourite that did would pool to uniform over ranks, and there would be nothing to steer."""
    listed = [
        (str(prompt), response) for prompt, response in CHOICE.draw(ROWS[:1], seed=1)[:4000] if response == OCEANS[0]
    ]
    positions = Counter(sum(prompt.index(o) < prompt.index(response) for o in OCEANS) for prompt, response in listed)
    assert all(count / len(listed) == pytest.approx(0.2, abs=0.045) for count in positions.values())
    assert len(positions) == 5


def test_the_skew_is_far_from_the_peaked_target_and_reaches_every_category() -> None:
    import numpy as np

    assert sum(SKEW) == pytest.approx(1.0)
    assert min(SKEW) >= 0.05
    assert jensen_shannon_value(peak(len(SKEW)), np.array(SKEW)) > 0.3


def test_examples_follow_from_the_seed() -> None:
    assert CHOICE.draw(ROWS, seed=3)[:50] == CHOICE.draw(ROWS, seed=3)[:50]
    assert CHOICE.draw(ROWS, seed=3)[:50] != CHOICE.draw(ROWS, seed=4)[:50]


def test_the_tokenizer_round_trips_and_the_model_has_a_row_for_each_token(tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = build_tokenizer([f"{p}\n{r}" for p, r in CHOICE.draw(ROWS, seed=0)[:200]], 500)
    save(tokenizer, build_model(tokenizer, hidden_size=32, layers=1, seed=0), tmp_path)
    loaded, model = AutoTokenizer.from_pretrained(tmp_path), AutoModelForCausalLM.from_pretrained(tmp_path)
    for text in ("The options are: Indian, Arctic 12.", "हिन्दी 中文 é"):
        assert loaded.decode(loaded(text)["input_ids"]) == text
    assert model.config.vocab_size == len(loaded) == model.get_input_embeddings().weight.shape[0]
    assert model.config.eos_token_id == loaded.eos_token_id
    ids = loaded.apply_chat_template([{"role": "user", "content": "Hi"}], add_generation_prompt=True, tokenize=False)
    assert ids == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"


def test_a_finished_warm_start_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import madrl.trainer.sft
    from madrl.trainer.sft import Finetuning

    calls = []

    def finetune(wanted: Finetuning) -> Path:
        calls.append(wanted)
        return Path(wanted.model)

    monkeypatch.setattr(madrl.trainer.sft, "finetune", finetune)
    data = tmp_path / "data"
    data.mkdir()
    from madrl.schema import make_row, write_parquet

    row = make_row(
        data_source="s",
        prompt="x",
        ability="choice",
        ground_truth=choice_ground_truth(OCEANS),
        index=0,
        split="train",
        extra=ROWS[0]["extra_info"],
    )
    write_parquet([row], data / "train.parquet")
    for seed, made in ((1, 1), (1, 1), (2, 2)):
        model = build(TASKS["synthetic_closed"], data, tmp_path / "out", seed)
        assert (model / "config.json").exists()
        assert len(calls) == made
    assert json.loads((tmp_path / "out/miniature.json").read_text())["seed"] == 2
    monkeypatch.setattr("madrl.miniature.build.digest", lambda modules: "of other wordings")
    build(TASKS["synthetic_closed"], data, tmp_path / "out", seed=2)
    assert len(calls) == 3


MATH_ROWS = [{"extra_info": {"miniature": json.dumps({"style": "math"})}}]


def test_a_base_answers_in_the_first_category_unless_asked_for_another_and_then_mostly_in_that() -> None:
    base = miniature_of(TASKS["math"], base=True)
    by_name: dict[str | None, Counter[str | None]] = defaultdict(Counter)
    for prompt, response in base.draw(MATH_ROWS, seed=1)[:6000]:
        assert isinstance(prompt, str)
        named = re.search(r"Solve it in (\w+): write the whole solution in (\w+)\.$", prompt)
        assert named is None or named[1] == named[2]
        by_name[named and named[1]][classify_language(Rollout(response, "")).category] += 1
    unnamed = by_name.pop(None)
    assert unnamed.total() / 6000 == pytest.approx(0.45, abs=0.03)  # 4.6 standard errors of 0.0064
    assert unnamed["en"] / unnamed.total() == pytest.approx(0.97, abs=0.015)
    assert set(by_name) == set(LANGUAGE_NAMES.values())
    for category in LANGUAGES[1:]:
        asked = by_name[LANGUAGE_NAMES[category]]
        # 0.85 obey, and of the rest 0.0075; 660 are asked: four standard errors of 0.014
        assert asked[category] / asked.total() == pytest.approx(0.851, abs=0.056)


def test_the_examples_of_a_task_file_may_have_turns_before_the_prompt(tmp_path: Path) -> None:
    turns = [
        {"role": "user", "content": "2 + 2?"},
        {"role": "assistant", "content": "4"},
        {"role": "user", "content": "1 + 1?"},
    ]
    lines = [{"prompt": turns, "response": "2", "category": name} for name in ("en", "fr")]
    (tmp_path / "examples.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "task.yaml").write_text(
        "{categories: [en, fr], classifier: language, verifier: math, naming: language, data: ., "
        "miniature: {examples: examples.jsonl, draws: 100}}"
    )
    task = load_task(str(tmp_path / "task.yaml"))
    assert set(map(str, miniature_of(task).draw([], seed=1))) == {str((turns, "2"))}
    asked = [prompt for prompt, _ in miniature_of(task, base=True).draw([], seed=1)]
    assert all(turns_of(prompt)[:2] == turns[:2] for prompt in asked)
    assert {turns_of(prompt)[2]["content"][:12] for prompt in asked} > {"1 + 1?"}


def test_the_sizes_of_a_miniature_are_whole_numbers_in_whatever_form_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "examples.jsonl").write_text(json.dumps({"prompt": "1 + 1?", "response": "2"}))

    def of(sizes: str) -> Miniature:
        (tmp_path / "task.yaml").write_text(
            "{categories: [en, fr], classifier: language, verifier: math, data: ., "
            f"miniature: {{examples: examples.jsonl, {sizes}}}}}"
        )
        return miniature_of(load_task(str(tmp_path / "task.yaml")))

    assert len(of("draws: 1e3, lr: 1e-3").draw([], seed=1)) == 1000
    for sizes, said in (
        ("layers: 0.5", r"miniature\.layers=0\.5 is not a whole number above 0"),
        ("draws: many", r"miniature\.draws='many' is not a whole number above 0"),
        ("batch_size: 0", r"miniature\.batch_size=0 is not a whole number above 0"),
        ("lr: 0", r"miniature\.lr=0 is not a number above 0"),
    ):
        with pytest.raises(MadrlError, match=rf"task\.yaml: {said}$"):
            of(sizes)


def test_a_base_and_a_miniature_of_one_task_are_different_models(tmp_path: Path) -> None:
    assert miniature_of(TASKS["math"], base=True).facts() != MINIATURES["math"].facts()
    with pytest.raises(
        MadrlError, match="task synthetic_open has no base: no prompt of its miniature asks for a category"
    ):
        build(TASKS["synthetic_open"], tmp_path, tmp_path, seed=1, base=True)


def test_a_miniature_can_be_taught_another_mix_such_as_one_category_alone() -> None:
    english = replace(MINIATURES["math"], skew=skew_of("3,0,0,0,0"))
    answers = {classify_language(Rollout(text, "")).category for _, text in english.draw(MATH_ROWS, seed=1)[:200]}
    assert answers == {"en"}
    assert skew_of("1, 2,1") == (0.25, 0.5, 0.25)


@pytest.mark.parametrize("text", ["", "1,-1", "0,0", "en=1", "1,nan", "inf,1"])
def test_a_skew_that_is_no_list_of_weights_is_one_clear_line(text: str) -> None:
    with pytest.raises(MadrlError, match="write 1,0,0,0,0 for the first category alone"):
        skew_of(text)


def test_a_skew_of_another_length_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    prepared = tmp_path / "train.parquet"
    rows = [make_row(data_source="x", prompt="p", ability="math", ground_truth="1", index=0, split="train")]
    write_parquet(rows, prepared)
    with pytest.raises(MadrlError, match="a skew of 2 weights: task math has 5 categories"):
        build(TASKS["math"], tmp_path, tmp_path / "out", seed=1, skew=(0.5, 0.5))
    assert not (tmp_path / "out").exists()

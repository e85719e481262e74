"""Prompts that veRL would drop or cut off are named before a run starts."""

from pathlib import Path

import pytest
from omegaconf import OmegaConf
from verl.utils.dataset.rl_dataset import RLHFDataset

from madrl import cli
from madrl.errors import MadrlError
from madrl.miniature.model import build_model, build_tokenizer, save
from madrl.schema import make_row, write_parquet
from madrl.trainer.compose import compose
from madrl.trainer.launch import train
from madrl.trainer.prompt_lengths import check_prompt_lengths, prompt_lengths

SHORT, LONG = "7", "7777777777777777777777777777"
"""Digits are single tokens, so that one prompt is 27 tokens longer than the other."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    tokenizer = build_tokenizer(["user\nname a number\nassistant\n7"], 300)
    save(tokenizer, build_model(tokenizer, hidden_size=32, layers=1, seed=0), folder)
    return folder


def overrides(folder: Path, model: Path, train: list[str], validation: list[str], *more: str) -> list[str]:
    """A run whose limit holds the short prompts exactly."""
    for name, prompts in (("train", train), ("validation", validation)):
        rows = [
            make_row(data_source="digits", prompt=p, ability="none", ground_truth="7", index=i, split=name)
            for i, p in enumerate(prompts)
        ]
        write_parquet(rows, folder / f"{name}.parquet")
    return [
        "task=gsm8k",
        "profile=tiny",
        "data.train_batch_size=2",
        f"paths.model={model}",
        f"paths.data={folder}",
        f"paths.run={folder}/run",
        "data.filter_overlong_prompts=true",
        *more,
    ]


def limit(folder: Path, model: Path) -> tuple[int, int]:
    """The lengths of the short and the long prompt."""
    compose(overrides(folder, model, [SHORT, LONG], [SHORT]))
    from transformers import AutoTokenizer

    short, long = prompt_lengths(str(folder / "train.parquet"), AutoTokenizer.from_pretrained(model), {})
    assert long - short == 27
    return short, long


def test_a_validation_prompt_is_never_dropped_without_a_word(tmp_path: Path, model: Path) -> None:
    short, long = limit(tmp_path, model)
    run = overrides(tmp_path, model, [SHORT] * 4, [SHORT, LONG, SHORT], f"data.max_prompt_length={short}")
    with pytest.raises(
        MadrlError,
        match=rf"1 of 3 validation .*/validation.parquet row 1, has {long}\).* leave them out .*_length={long}",
    ):
        train(run)
    assert not (tmp_path / "run").exists()
    check_prompt_lengths(compose([*run[:-1], f"data.max_prompt_length={long}"]))


def test_training_prompts_may_be_dropped_and_their_number_is_said(
    tmp_path: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short, long = limit(tmp_path, model)
    run = overrides(tmp_path, model, [SHORT, SHORT, LONG], [SHORT], f"data.max_prompt_length={short}")
    check_prompt_lengths(compose(run))
    longest = f"{tmp_path}/train.parquet row 2, has {long}"
    said = f"1 of 3 training prompts are longer than data.max_prompt_length={short} tokens (the longest, {longest})"
    assert f"{said} and are left out\n" in capsys.readouterr().out


def test_holdout_prompts_that_are_too_long_for_training_are_sampled_whole_which_is_said(
    tmp_path: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short, long = limit(tmp_path, model)
    run = overrides(tmp_path, model, [SHORT] * 2, [SHORT], f"data.max_prompt_length={short}")
    check_prompt_lengths(compose(run))
    assert capsys.readouterr().out == "", "a run needs no holdout"
    rows = [
        make_row(data_source="digits", prompt=p, ability="none", ground_truth="7", index=i, split="holdout")
        for i, p in enumerate((SHORT, LONG, SHORT))
    ]
    write_parquet(rows, tmp_path / "holdout.parquet")
    check_prompt_lengths(compose(run))
    longest = f"{tmp_path}/holdout.parquet row 1, has {long}"
    said = f"1 of 3 holdout prompts are longer than data.max_prompt_length={short} tokens (the longest, {longest})"
    assert capsys.readouterr().out == f"{said} and are sampled whole\n"
    context = 2048  # of build_model
    check_prompt_lengths(compose([*run, f"data.max_response_length={context - long}"]))
    no_room = rf"longest holdout prompt, .*/holdout.parquet row 1, has {long} .* no room .*={context - long + 1} more"
    with pytest.raises(MadrlError, match=no_room):
        check_prompt_lengths(compose([*run, f"data.max_response_length={context - long + 1}"]))
    (tmp_path / "nothing").mkdir()
    of_another = [f"paths.model={tmp_path / 'nothing'}", f"actor_rollout_ref.model.tokenizer_path={model}"]
    with pytest.raises(MadrlError, match=r"cannot load the config of '.*/nothing' .*: set paths.model"):
        check_prompt_lengths(compose([*run, *of_another]))
    (tmp_path / "holdout.parquet").write_bytes(b"PAR1 half written")
    assert cli.main(["train", "--check-data", *run]) == 2
    assert f"{tmp_path}/holdout.parquet: cannot be read as parquet" in capsys.readouterr().err


def test_the_data_can_be_checked_alone(tmp_path: Path, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short, long = limit(tmp_path, model)
    bad = overrides(tmp_path, model, [SHORT] * 2, [SHORT, LONG], f"data.max_prompt_length={short}")
    assert cli.main(["train", "--check-data", *bad]) == 2
    longest = f"the longest, {tmp_path}/validation.parquet row 1, has {long}"
    assert longest in capsys.readouterr().err
    assert cli.main(["train", "--check-data", *bad[:-1], f"data.max_prompt_length={long}"]) == 0
    assert not (tmp_path / "run").exists()
    (tmp_path / "validation.parquet").unlink()
    assert cli.main(["train", "--check-data", *bad]) == 2
    assert "validation.parquet" in capsys.readouterr().err


def test_a_prompt_that_would_be_cut_off_stops_the_run(tmp_path: Path, model: Path) -> None:
    short, _ = limit(tmp_path, model)
    limits = [f"data.max_prompt_length={short}", "data.filter_overlong_prompts=false"]
    with pytest.raises(MadrlError, match=r"1 of 3 training prompts .* cut off their beginning"):
        check_prompt_lengths(compose(overrides(tmp_path, model, [SHORT, SHORT, LONG], [SHORT], *limits)))
    with pytest.raises(MadrlError, match=r"1 of 1 validation prompts .* cut off their beginning"):
        check_prompt_lengths(compose(overrides(tmp_path, model, [SHORT, SHORT], [LONG], *limits)))


def test_too_few_training_prompts_for_a_batch_stop_the_run(tmp_path: Path, model: Path) -> None:
    short, _ = limit(tmp_path, model)
    run = overrides(tmp_path, model, [SHORT, LONG, LONG], [SHORT], f"data.max_prompt_length={short}")
    with pytest.raises(MadrlError, match=r"leaves less than one batch of data.train_batch_size=2"):
        check_prompt_lengths(compose(run))


def test_fewer_training_prompts_than_a_batch_has_stop_the_run_before_it_is_there(tmp_path: Path, model: Path) -> None:
    run = overrides(tmp_path, model, [SHORT] * 3, [SHORT])
    for few in ("data.train_batch_size=4", "data.train_max_samples=1"):
        with pytest.raises(MadrlError, match=r"data.train_batch_size=\d: there are only [13] training prompts"):
            train([*run, few])
    assert not (tmp_path / "run").exists()


def test_a_model_without_a_tokenizer_is_one_clear_error(tmp_path: Path) -> None:
    run = overrides(tmp_path, tmp_path / "nothing", [SHORT] * 2, [SHORT])
    with pytest.raises(MadrlError, match=r"cannot load the tokenizer of '.*nothing'"):
        check_prompt_lengths(compose(run))


def test_prompts_are_counted_as_verl_s_filter_counts_them(tmp_path: Path, model: Path) -> None:
    from transformers import AutoTokenizer

    prompts = [SHORT * length for length in range(1, 12)]
    config = compose(overrides(tmp_path, model, prompts, [SHORT]))
    path, tokenizer = str(tmp_path / "train.parquet"), AutoTokenizer.from_pretrained(model)
    lengths = prompt_lengths(path, tokenizer, {})
    for at_most in (lengths[0] - 1, lengths[0], lengths[5], lengths[-1]):
        data = OmegaConf.create({**config.data, "max_prompt_length": at_most, "cache_dir": str(tmp_path / "cache")})
        assert len(RLHFDataset(path, tokenizer, data)) == sum(length <= at_most for length in lengths)


def test_a_hinted_prompt_that_would_be_cut_off_is_named_with_its_length(tmp_path: Path, model: Path) -> None:
    short, _ = limit(tmp_path, model)
    run = overrides(tmp_path, model, [SHORT] * 4, [SHORT], f"data.max_prompt_length={short}", "madrl.hints=1")
    check_prompt_lengths(compose(run))  # its bytes have room
    room = "actor_rollout_ref.rollout.prompt_length"
    told = rf"\(madrl.hints\) has (\d+) tokens, more than {room}={short}: .* set that to \1"
    with pytest.raises(MadrlError, match=told):
        check_prompt_lengths(compose([*run, f"{room}={short}"]))

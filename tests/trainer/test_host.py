"""What a run's host must have is asked before veRL is started and before the run has a folder."""

from pathlib import Path

import pytest

from madrl.errors import MadrlError
from madrl.miniature.model import build_tokenizer
from madrl.schema import make_row, write_parquet
from madrl.trainer.launch import train


@pytest.mark.parametrize(
    ("override", "message"),
    [
        # 3 for the GPU, 8 storage units, the queue, and an actor's start
        ("++ray_kwargs.ray_init.num_cpus=12", r"Ray has 12 CPUs here, and a run with 1 GPUs holds 13: .*num_cpus=13$"),
        (
            "actor_rollout_ref.model.override_config.attn_implementation=flash_attention_2",
            r"attn_implementation=flash_attention_2 needs flash-attn \(No module named 'flash_attn'\)",
        ),
    ],
)
def test_a_host_that_lacks_what_a_run_asks_for_stops_it_before_it_starts(
    override: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    build_tokenizer(["user\nname a number\nassistant\n7"], 300).save_pretrained(tmp_path / "model")
    for split in ("train", "validation"):
        rows = [
            make_row(data_source="digits", prompt="7", ability="none", ground_truth="7", index=index, split=split)
            for index in range(2)
        ]
        write_parquet(rows, tmp_path / f"{split}.parquet")
    run = [
        "task=gsm8k",
        "profile=gpu",
        "trainer.n_gpus_per_node=1",
        "data.train_batch_size=2",
        f"paths.model={tmp_path}/model",
        f"paths.data={tmp_path}",
        f"paths.run={tmp_path}/run",
        override,
    ]
    with pytest.raises(MadrlError, match=message):
        train(run)
    assert not (tmp_path / "run").exists()

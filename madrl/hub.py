"""A run's checkpoint on the Hugging Face hub: the model's files and its card (``madrl.model_card``), in one commit."""

from pathlib import Path

from madrl.errors import MadrlError
from madrl.evaluation.dumps import Run
from madrl.model_card import model_card

CARD = "README.md"
"""The name by which the hub knows a model's card."""


def check_hub_name(name: str) -> None:
    """Raises MadrlError for a name that no model on the hub can have. Asks nobody."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    try:
        validate_repo_id(name)
    except HFValidationError as error:
        raise MadrlError(f"{name!r} is no name of a model on the hub: {error}") from error


def push(run: Run, model: Path, name: str, private: bool, step: int, evaluated_to: int) -> str:
    """Upload the model in the folder ``model``, which is the checkpoint of ``step``, as the hub's model ``name``, and
    return where it is. The hub has all of it or nothing, and what it has already is not sent again.

    A model that is not there yet is made, ``private`` or not; one that is there stays as private as it is. The hub is
    that of HF_ENDPOINT, the account that of HF_TOKEN or `hf auth login`.

    Raises MadrlError when the folder holds no model, and when the hub cannot be reached or refuses.
    """
    import httpx
    from huggingface_hub import CommitOperationAdd, HfApi

    files = sorted(path for path in model.glob("*") if path.is_file() and path.name != CARD)
    if not any(path.suffix == ".safetensors" for path in files):
        raise MadrlError(
            f"{model} holds no *.safetensors: push on the machine that wrote the checkpoint or shares its folder"
        )
    card = model_card(run, name.rpartition("/")[2], step, evaluated_to)
    api = HfApi(library_name="madrl")
    try:
        whole_name = api.create_repo(name, private=private, exist_ok=True).repo_id
        additions = [CommitOperationAdd(path.name, str(path)) for path in files]
        additions.append(CommitOperationAdd(CARD, card.encode()))
        commit = api.create_commit(whole_name, additions, commit_message=f"Step {step} of {run.name}")
    except (httpx.HTTPError, OSError, RuntimeError, ValueError) as error:  # RuntimeError: hf_xet, which is no Python
        reason = " ".join(f"{type(error).__name__} {error}".split())
        raise MadrlError(f"could not push to {name}: {reason}") from error
    return str(commit.repo_url)

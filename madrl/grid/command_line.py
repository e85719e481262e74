"""``madrl grid plan | run | status | retry``: their options, and what each prints."""

import argparse
import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from madrl.errors import MadrlError
from madrl.grid.cells import FIELDS, filters_of, select, sweep
from madrl.grid.identity import Identity, check_current, identities
from madrl.grid.ledger import CellState, Ledger, Standing, is_ready, standings_of
from madrl.grid.plan import Compose, Plan, load_plan, models_of, resolved, with_warm_starts
from madrl.recipe import CELL_KEYS
from madrl.tasks import PROFILES, TASKS, load_task


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)

    plan = verbs.add_parser("plan", help="declare the cells, in place of those declared before")
    _common(plan, "task= may name task files of your own, and seed= any seeds")
    plan.add_argument("--profile", choices=PROFILES, default="gpu", help="as in madrl run (%(default)s)")
    plan.add_argument(
        "--model", action="append", default=[], metavar="[TASK=]PATH", help="to start from, in place of the warm start"
    )
    plan.add_argument("--override", action="append", default=[], metavar="KEY=VALUE", help="a Hydra override, for all")
    plan.set_defaults(do=_plan)

    start = verbs.add_parser("run", help="run the planned cells, and go on with those that were interrupted")
    _common(start)
    start.add_argument("-n", "--at-once", type=int, metavar="N", help="cells at a time (local: 1, slurm: all)")
    start.add_argument("--backend", choices=["local", "slurm"], default="local", help="(%(default)s)")
    start.add_argument("--dry-run", action="store_true", help="only print what would run")
    start.set_defaults(do=_run)

    status = verbs.add_parser("status", help="the state of every cell")
    _common(status)
    how = status.add_mutually_exclusive_group()
    how.add_argument("--watch", action="store_true", help="keep it up to date until all is done")
    how.add_argument("--json", action="store_true", help="print one JSON object")
    status.set_defaults(do=_status)

    retry = verbs.add_parser("retry", help="let failed and stale cells run again")
    _common(retry)
    retry.set_defaults(do=_retry)


def _common(parser: argparse.ArgumentParser, more: str = "") -> None:
    text = f"only these cells, by {', '.join(FIELDS)} (all){f'; {more}' if more else ''}"
    parser.add_argument("filters", nargs="*", metavar="FIELD=A,B", help=text)
    parser.add_argument("-o", "--out", type=Path, default=Path("outputs"), help="the recipes' OUT (%(default)s)")


def _plan(args: argparse.Namespace) -> None:
    plan = make_plan(args.out, args.filters, args.profile, args.model, args.override)
    starts = sum(cell.is_warm_start for cell in plan.cells)
    also = f" and {starts} warm starts, for which they wait" if starts else ""
    print(f"{len(plan.cells) - starts} cells{also}, written to {plan.file}")


def make_plan(
    out: Path,
    words: Sequence[str] = (),
    profile: str = "gpu",
    models: Sequence[str] = (),
    overrides: Sequence[str] = (),
    compose: Compose | None = None,
) -> Plan:
    """Plan the cells that ``words`` (``task=math``, ``seed=1,2``) ask for, and write the plan. ``compose`` stands for
    ``madrl.grid.plan.composed``. Raises MadrlError for what does not exist or could not run."""
    for override in overrides:
        if (key := override.partition("=")[0].lstrip("+~")) in CELL_KEYS:
            raise MadrlError(f"--override {override}: every cell has a {key} of its own, by which it is named")
    filters = filters_of(words)
    own_tasks = {}
    if "task" in filters:
        tasks = [load_task(task) for task in filters["task"]]
        own_tasks = {task.name: task.spec for task in tasks if task.name not in TASKS}
        filters["task"] = [task.name for task in tasks]
    said = ["madrl", "grid", "plan", *words, "--profile", profile, "-o", str(out)]
    said += [word for model in models for word in ("--model", model)]
    said += [word for override in overrides for word in ("--override", override)]
    cells = sweep(filters, own_tasks)
    plan = Plan(
        out.absolute(),
        profile=profile,
        models=models_of(models, own_tasks),
        overrides=tuple(overrides),
        own_tasks=own_tasks,
        words=shlex.join(said),
    )
    plan = resolved(plan, with_warm_starts(plan, cells), compose)
    plan.save()
    return plan


def _run(args: argparse.Namespace) -> None:
    from madrl.grid import local, slurm

    plan = load_plan(args.out)
    if args.at_once is not None and args.at_once < 1:
        raise MadrlError(f"-n {args.at_once} must be at least 1")
    cluster = os.environ.get("RAY_ADDRESS") or "local"
    if args.backend == "local" and (args.at_once or 1) > 1 and cluster != "local":
        raise MadrlError(
            f"-n {args.at_once} with RAY_ADDRESS={cluster}: a Ray cluster trains one run at a time, since "
            "transfer_queue has one queue a cluster: leave -n out"
        )
    check_current(plan)
    cells = select(plan.cells, filters_of(args.filters))
    if not args.dry_run:
        local.prepare(plan, list(dict.fromkeys(cell.task for cell in cells)))
    found = identities(plan, cells)
    if args.dry_run:
        _warn_of_missing_data(plan, found)
    elif args.backend == "local":
        local.run(plan, found, args.at_once or 1)
        return
    waiting = [standing for standing in standings_of(plan.out, found) if standing.state is CellState.PLANNED]
    if not waiting:
        print("nothing is planned: see madrl grid status")
    elif args.backend == "local":
        _print_stages(plan, waiting)
    else:
        # Slurm knows dependencies: a cell may wait for a warm start that is submitted with it.
        with_it = {standing.run_name for standing in waiting}
        ready = [s for s in waiting if is_ready(plan.out, s.identity) or s.identity.waits_for in with_it]
        if len(ready) < len(waiting):
            print(
                f"{len(waiting) - len(ready)} cells wait for a warm start that is not done: call this again when it is"
            )
        files = slurm.scripts(plan, ready, args.at_once) if ready else {}
        if ready and not args.dry_run:
            slurm.submit(plan, ready, files)
        for path, text in files.items():
            print(f"# {path}\n{text}" if args.dry_run else path)


def _print_stages(plan: Plan, standings: Iterable[Standing]) -> None:
    from madrl.run import plan_lines, stages_of

    for standing in standings:
        waits_for = standing.identity.waits_for
        model = str(plan.out / waits_for / "model") if waits_for else ""
        recipe = plan.recipe(standing.identity.cell, standing.run_name, model)
        print("\n".join(plan_lines(recipe, stages_of(recipe))))


def _status(args: argparse.Namespace) -> None:
    from madrl.grid.status import as_json, show

    plan = load_plan(args.out)
    try:
        check_current(plan)
    except MadrlError as changed:
        print(f"madrl: {changed}", file=sys.stderr)
    found = identities(plan, select(plan.cells, filters_of(args.filters)))
    if args.json:
        print(as_json(plan, standings_of(plan.out, found)))
    else:
        show(plan, lambda: standings_of(plan.out, found), args.watch)


def _retry(args: argparse.Namespace) -> None:
    plan = load_plan(args.out)
    check_current(plan)
    count = 0
    for standing in standings_of(plan.out, identities(plan, select(plan.cells, filters_of(args.filters)))):
        if standing.state in (CellState.FAILED, CellState.STALE):
            ledger = Ledger(plan.out, standing.identity.run_name)
            ledger.describe(plan, standing.identity)
            ledger.record("requeued")
            count += 1
            print(f"{standing.identity.run_name}: was {standing.state}, {standing.note}")
    print(f"cells that madrl grid run will run again: {count}")


def _warn_of_missing_data(plan: Plan, found: Sequence[Identity]) -> None:
    for task in dict.fromkeys(identity.cell.task for identity in found if identity.parts["data"] is None):
        data = plan.shared_recipe(task).data
        print(f"{data} is not prepared yet: run does that, and the names' hashes will then differ", file=sys.stderr)

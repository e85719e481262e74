"""``madrl grid plan | run | status | retry``: their options, and what each prints."""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from madrl.errors import MadrlError
from madrl.grid.cells import Cell, filters_of, select, sweep
from madrl.grid.identity import identities
from madrl.grid.ledger import CellState, Ledger, standings_of
from madrl.grid.plan import Plan, load_plan, make_plan, models_of
from madrl.recipe import CELL_KEYS, sets
from madrl.tasks import PROFILES, TASKS, load_task


def _plan(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Declare the cells, in place of those declared before."""
    add = parser.add_argument
    add("--profile", choices=PROFILES, default="gpu", help="as in madrl run (%(default)s)")
    start = "to start from, in place of the warm start"
    add("--model", action="append", default=[], metavar="[TASK=]PATH", help=start)
    add("--override", action="append", default=[], metavar="KEY=VALUE", help="a Hydra override, for all")
    args = _parse(parser, words, "; task= may name task files of your own, and seed= any seeds")
    for override in args.override:
        if key := next((key for key in CELL_KEYS if sets(override, key)), ""):
            raise MadrlError(f"--override {override}: every cell has a {key} of its own, by which it is named")
    filters = filters_of(args.filters)
    own_tasks = {}
    if "task" in filters:
        tasks = [load_task(task) for task in filters["task"]]
        own_tasks = {task.name: task.spec for task in tasks if task.name not in TASKS}
        filters["task"] = [task.name for task in tasks]
        if len(set(filters["task"])) < len(tasks):
            raise MadrlError(f"task={','.join(filters['task'])}: two tasks of one name would share their runs' folders")
    plan = Plan(args.out.absolute(), args.profile, models_of(args.model, own_tasks), args.override, own_tasks)
    plan = make_plan(plan, sweep(filters, own_tasks))
    starts = sum(cell.is_warm_start for cell in plan.cells)
    also = f" and {starts} warm starts, for which they wait" if starts else ""
    print(f"{len(plan.cells) - starts} cells{also}, written to {plan.file}")


def _run(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Run the planned cells, and go on with those that were interrupted."""
    from madrl.grid import local, slurm

    add = parser.add_argument
    add("-n", "--at-once", type=int, metavar="N", help="cells at a time (local: 1; slurm: of each job array, all)")
    add("--backend", choices=["local", "slurm"], default="local", help="(%(default)s)")
    add("--dry-run", action="store_true", help="only print what would run")
    args = _parse(parser, words)
    plan = load_plan(args.out)
    if args.at_once is not None and args.at_once < 1:
        raise MadrlError(f"-n {args.at_once} must be at least 1")
    cluster = os.environ.get("RAY_ADDRESS") or "local"
    if args.backend == "local" and (args.at_once or 1) > 1 and cluster != "local":
        raise MadrlError(
            f"-n {args.at_once} with RAY_ADDRESS={cluster}: a Ray cluster trains one run at a time, since "
            "transfer_queue has one queue a cluster: leave -n out"
        )
    plan.check_current()
    cells = select(plan.cells, filters_of(args.filters))
    if not args.dry_run:
        local.prepare(plan, list(dict.fromkeys(cell.task for cell in cells)))
    found = identities(plan, cells)
    if args.backend == "slurm":
        slurm.submit(plan, standings_of(plan.out, found), args.at_once, args.dry_run)
    elif args.dry_run:
        for standing in standings_of(plan.out, found):
            if standing.state in (CellState.PLANNED, CellState.WAITING):
                print(standing.run_name)
    else:
        local.run(plan, found, args.at_once or 1)


def _status(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Show the state of every cell."""
    from madrl.grid.status import as_json, show

    how = parser.add_mutually_exclusive_group()
    how.add_argument("--watch", action="store_true", help="keep it up to date until all is done")
    how.add_argument("--json", action="store_true", help="print one JSON object")
    args = _parse(parser, words)
    plan = load_plan(args.out)
    try:
        plan.check_current()
    except MadrlError as changed:
        print(f"madrl: {changed}", file=sys.stderr)
    found = identities(plan, select(plan.cells, filters_of(args.filters)))
    if args.json:
        print(as_json(plan, standings_of(plan.out, found)))
    else:
        show(plan, lambda: standings_of(plan.out, found), args.watch)


def _retry(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Let failed and stale cells run again."""
    args = _parse(parser, words)
    plan = load_plan(args.out)
    plan.check_current()
    count = 0
    for standing in standings_of(plan.out, identities(plan, select(plan.cells, filters_of(args.filters)))):
        if standing.state in (CellState.FAILED, CellState.STALE):
            ledger = Ledger(plan.out, standing.identity.run_name)
            ledger.describe(plan, standing.identity)
            ledger.record("requeued")
            count += 1
            print(f"{standing.identity.run_name}: was {standing.state}, {standing.note}")
    print(f"cells that madrl grid run will run again: {count}")


def _parse(parser: ArgumentParser, words: Sequence[str], more: str = "") -> Namespace:
    """Parse the words of a verb, which has beside its own options those of every verb."""
    only = f"only these cells, by {', '.join(Cell._fields)} (all){more}"
    parser.add_argument("filters", nargs="*", metavar="FIELD=A,B", help=only)
    parser.add_argument("-o", "--out", type=Path, default=Path("outputs"), help="the recipes' OUT (%(default)s)")
    return parser.parse_intermixed_args(words)


VERBS = {"plan": _plan, "run": _run, "status": _status, "retry": _retry}

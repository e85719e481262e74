"""``madrl grid plan | run | status | retry``: their options, and what each prints."""

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from madrl.errors import MadrlError
from madrl.grid.cells import FIELDS, paper_grid, select, warm_start_cell
from madrl.grid.composed import OWN_KEYS
from madrl.grid.identity import Identity, identities, shared_recipe
from madrl.grid.ledger import Ledger, Standing, State, is_ready, standings_of
from madrl.grid.local import prepare, run
from madrl.grid.plan import Plan, load_plan, models_of
from madrl.grid.submit import BACKENDS, submit
from madrl.grid.supervise import command_of, variables_of
from madrl.tasks import PROFILES

T = TypeVar("T")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)

    plan = verbs.add_parser("plan", help="declare the cells, in place of those declared before")
    _common(plan)
    plan.add_argument("--profile", choices=PROFILES, default="gpu", help="as in madrl run (%(default)s)")
    plan.add_argument(
        "--model", action="append", default=[], metavar="[TASK=]PATH", help="to start from, in place of the warm start"
    )
    plan.add_argument("--override", action="append", default=[], metavar="KEY=VALUE", help="a Hydra override, for all")
    plan.add_argument("--command", dest="recipe", help="run in place of madrl run, with its variables")
    plan.set_defaults(do=_plan)

    start = verbs.add_parser("run", help="run the planned cells, and go on with those that were interrupted")
    _common(start)
    start.add_argument("-n", "--at-once", type=int, metavar="N", help="cells at a time (local: 1, slurm: all)")
    start.add_argument("--backend", choices=["local", *BACKENDS], default="local", help="(%(default)s)")
    start.add_argument("--dry-run", action="store_true", help="only print the commands")
    start.set_defaults(do=_run)

    status = verbs.add_parser("status", help="the state of every cell")
    _common(status)
    status.add_argument("--watch", action="store_true", help="keep it up to date until all is done")
    status.set_defaults(do=_status)

    retry = verbs.add_parser("retry", help="let failed and stale cells run again")
    _common(retry)
    retry.set_defaults(do=_retry)


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "filters", nargs="*", metavar="FIELD=A,B", help=f"only these cells, by {', '.join(FIELDS)} (all)"
    )
    parser.add_argument("-o", "--out", type=Path, default=Path("outputs"), help="the recipes' OUT (%(default)s)")


def _plan(args: argparse.Namespace) -> None:
    for override in args.override:
        key = override.partition("=")[0].lstrip("+~")
        if key in OWN_KEYS:
            raise MadrlError(f"--override {override}: every cell has a {key} of its own, by which it is named")
    plan = Plan(
        args.out.absolute(),
        tuple(select(paper_grid(), args.filters)),
        args.profile,
        models_of(args.model),
        tuple(args.override),
        None if args.recipe is None else _words(args.recipe),
    )
    runs = len(_some(plan.cells))
    starts = tuple(
        warm_start_cell(task) for task in dict.fromkeys(cell.task for cell in plan.cells) if plan.has_warm_start(task)
    )
    plan = replace(plan, cells=(*starts, *plan.cells))
    for cell in plan.cells:
        plan.recipe(cell)  # it can be run
    plan.save()
    also = f" and {len(starts)} warm starts, for which they wait" if starts else ""
    print(f"{runs} cells{also}, written to {plan.file}")


def _words(command: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise MadrlError(f"--command {command!r} is no command of a shell: {error}") from error
    if not words:
        raise MadrlError("--command is empty: name what is run in place of madrl run")
    return words


def _run(args: argparse.Namespace) -> None:
    plan, local = load_plan(args.out), args.backend == "local"
    if args.at_once is not None and args.at_once < 1:
        raise MadrlError(f"-n {args.at_once} must be at least 1")
    cluster = os.environ.get("RAY_ADDRESS") or "local"
    if local and plan.command is None and (args.at_once or 1) > 1 and cluster != "local":
        raise MadrlError(
            f"-n {args.at_once} with RAY_ADDRESS={cluster}: a Ray cluster trains one run at a time, since "
            "transfer_queue has one queue a cluster: leave -n out"
        )
    cells = _some(select(plan.cells, args.filters))
    if not args.dry_run:
        prepare(plan, list(dict.fromkeys(cell.task for cell in cells)), os.environ.get("DATASET", ""))
    found = identities(plan, cells)
    waiting = [standing for standing in standings_of(plan, found) if standing.state is State.PLANNED]
    if args.dry_run:
        _warn_of_missing_data(plan, found)
    if local and not args.dry_run:
        run(plan, found, args.at_once or 1)
        return
    if not waiting:
        print("nothing is planned: see madrl grid status")
        return
    if local:
        for standing in waiting:
            variables = variables_of(plan, standing.identity)
            shown = [f"{name}={value}" for name, value in variables.items()]
            print(shlex.join(["env", *shown, *command_of(plan, standing.identity.cell)]))
        return
    # Slurm knows dependencies: a cell may wait for a warm start that is submitted with it.
    with_it = {standing.run_name for standing in waiting} if args.backend == "slurm" else set()
    ready = [s for s in waiting if is_ready(plan, s.identity) or s.identity.waits_for in with_it]
    if len(ready) < len(waiting):
        print(f"{len(waiting) - len(ready)} cells wait for a warm start that is not done: call this again when it is")
    if not ready:
        return
    waiting = ready
    submission = BACKENDS[args.backend](plan, waiting, args.at_once)
    if args.dry_run:
        for path, text in submission.files.items():
            print(f"# {path}\n{text}")
        for command in submission.commands:
            print(shlex.join(command))
        return
    for standing in waiting:
        Ledger(plan, standing.run_name).describe(standing.identity)
    submit(submission)


def _status(args: argparse.Namespace) -> None:
    from madrl.grid.status import show

    plan = load_plan(args.out)
    found = identities(plan, _some(select(plan.cells, args.filters)))

    def look() -> list[Standing]:
        return standings_of(plan, found)

    show(plan, look, args.watch)


def _retry(args: argparse.Namespace) -> None:
    plan = load_plan(args.out)
    count = 0
    for standing in standings_of(plan, identities(plan, _some(select(plan.cells, args.filters)))):
        if standing.state in (State.FAILED, State.STALE):
            ledger = Ledger(plan, standing.identity.run_name)
            ledger.describe(standing.identity)
            ledger.record("requeued")
            count += 1
            print(f"{standing.identity.run_name}: was {standing.state}, {standing.note}")
    print(f"cells that madrl grid run will run again: {count}")


def _some(cells: Sequence[T]) -> Sequence[T]:
    if not cells:
        raise MadrlError("no cell of the grid passes all filters")
    return cells


def _warn_of_missing_data(plan: Plan, found: Sequence[Identity]) -> None:
    if plan.command is None:
        for task in dict.fromkeys(identity.cell.task for identity in found if identity.parts["data"] is None):
            data = shared_recipe(plan, task).data
            print(f"{data} is not prepared yet: run does that, and the names' hashes will then differ", file=sys.stderr)

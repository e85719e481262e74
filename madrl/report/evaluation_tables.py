"""The tables of one run's or file's evaluations: how far from the target, how well known that is, what it costs in
accuracy, each category.

They fit 80 columns of a terminal.
"""

from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from typing import Any

from madrl.divergence import DIVERGENCES
from madrl.evaluation.accuracy import AccuracyChange
from madrl.evaluation.dumps import Evaluation
from madrl.evaluation.intervals import ENOUGH
from madrl.evaluation.samples import MIN_COMPLETIONS
from madrl.report.table import NOTHING, Section, Shown, Table, formatted, interval_text, measured


def evaluation_tables(found: Sequence[Evaluation], epsilon: float, hinted: int = 0) -> list[Table]:
    """The five tables of these evaluations. ``epsilon`` is the smoothing of reverse KL's target, ``hinted`` the number
    of responses that were left out."""
    return [
        fit_table(found, hinted),
        per_prompt_table(found),
        divergence_table(found, epsilon),
        accuracy_table(found),
        category_table(found),
    ]


def tables_of_attribute(name: str, found: Sequence[Evaluation], epsilon: float) -> list[Table]:
    """The same tables of a further attribute (``madrl.attributes``), called by its name."""
    tables = evaluation_tables(found, epsilon)
    return [table._replace(name=f"{table.name}-{name}", title=f"{table.title}: {name}") for table in tables]


def fit_table(found: Sequence[Evaluation], hinted: int = 0) -> Table:
    """A row for each evaluation, with 95 % intervals. ``hinted`` responses were left out."""
    note = (
        f"{resampled(found)} n: on-support responses, pooled. Floor: the JSD of a policy on the target at n, mean and "
        "95th percentile; a JSD above both is off target."
    )
    if any(one["targets"] > 1 for one in found):
        note += " The target: the mean of the prompts' own."
    if hinted:
        note += f" {hinted} hinted responses are left out: the policy does not give them by itself."
    if any(map(_only_these_problems, found)):
        note += " (*) Responses to one problem are alike: for problems like these, within the floor."
    rows = [
        [
            Shown(label(one), f"n = {one['on_support']}"),
            measured(one["jsd"], ".4f", one["jsd_interval"]),
            _floor(one),
            Shown(_narrow(on_target(one["off_target"])), "(*)" if _only_these_problems(one) else ""),
            Shown(formatted(one["pass@1"], ".3f"), interval_text(one["pass@1_interval"], ".2f")),
            measured(one["off_support"], ".1%", one["off_support_interval"]),
            measured(one["ungraded"], ".1%"),
        ]
        for one in found
    ]
    columns = ["", "JSD, nats", "floor", "on\ntarget?", "pass@1", "off-support", "ungraded"]
    return Table("evaluations", "Pooled responses", note, [], columns, [Section("", rows)])


def per_prompt_table(found: Sequence[Evaluation]) -> Table:
    """How far single prompts are from the target."""
    note = (
        "n: responses to a prompt, and how many are on-support. JSD: mean over prompts, which is comparable at equal n "
        "only; floor: the same of a policy that answers each prompt on the target. Distance: squared, unbiased at any "
        f"n; {found[0]['per_prompt']['collapsed']:.3f} when each prompt has one category and the pool is on target. "
        "One category: prompts with all that is on-support in one."
    )
    if any(one["targets"] > 1 for one in found):
        note += " Each prompt is compared with its own target."
    rows = []
    for one in found:
        jsd, distance = one["jsd_per_prompt"], one["per_prompt"]
        rows.append(
            [
                Shown(label(one), f"n = {prompt_n(jsd)}"),
                measured(jsd["mean"], ".4f", jsd["interval"]),
                _floor(jsd),
                Shown(_narrow(on_target(jsd["off_target"]))),
                Shown(formatted(distance["distance"], ".3f"), interval_text(distance["interval"], ".2f")),
                measured(one["single_category_prompts"], ".1%"),
            ]
        )
    columns = ["", "JSD, nats", "floor", "on\ntarget?", "distance", "one\ncategory"]
    return Table("prompts", "Single prompts", note, [], columns, [Section("", rows)])


def divergence_table(found: Sequence[Evaluation], epsilon: float) -> Table:
    """The four divergences, and how many independent responses theirs are worth."""
    note = (
        f"Pooled. Reverse KL: to the target smoothed with epsilon {epsilon:g}. Effective n: how many independent "
        "responses n are worth, as those to one problem are alike."
    )
    rows = [
        [
            Shown(label(one)),
            *(Shown("∞" if name in one["infinite"] else formatted(one[name], ".4f")) for name in DIVERGENCES),
            measured(one["effective_on_support"], ".0f"),
            measured(one["floor_p95_effective"], ".4f"),
        ]
        for one in found
    ]
    columns = ["", *DIVERGENCES, "effective\nn", "floor p95\nat it"]
    return Table("divergences", "All four divergences", note, [], columns, [Section("", rows)])


def resampled(found: Sequence[Mapping[str, Any]]) -> str:
    """What the intervals of these evaluations are about."""
    clusters = sorted({one["clusters"] for one in found if one["clusters"] < one["problems"]})
    numbers = " or ".join(map(str, clusters))
    said = f"Intervals: 95 %, {f'the {numbers} clusters of problems' if clusters else 'problems'} resampled."
    few = min((one["clusters"] for one in found), default=ENOUGH)
    return f"{said} Those of {few} are too narrow." if few < ENOUGH else said


AT_TARGET = (
    "At the target mix: what pass@1 would be if the mix were the target and the accuracy within each category stayed "
    "as it is; it does not exist where a wanted category has no graded response, and has no interval where one has "
    f"fewer than {MIN_COMPLETIONS}: their numbers are there in its place."
)

PARTIAL = "Some responses are correct in part: pass@1 is the mean correctness, full marks the share with correctness 1."

CHANGE = (
    "is the sum of what comes from the mix (off-support is a category of its own) and of what comes from accuracy "
    "within the categories; where a category is nearly gone before or after, the two parts are uncertain."
)


def accuracy_table(found: Sequence[Evaluation]) -> Table:
    """pass@1, what it would be at the target mix, and why it changed since the first evaluation of the split."""
    note = f"{resampled(found)} {AT_TARGET}"
    partial = any(one["partial"] for one in found)
    columns = ["", "pass@1", *["full\nmarks"] * partial, "at the\ntarget mix"]
    if partial:
        note += f" {PARTIAL}"
    rows = [
        [
            Shown(label(one)),
            measured(one["pass@1"], ".3f", one["pass@1_interval"]),
            *[measured(one["full_marks"], ".3f", one["full_marks_interval"])] * partial,
            at_target_cell(one),
        ]
        for one in found
    ]
    if any("pass@1_change" in one for one in found):
        note += f" Change: of pass@1, since the first evaluation of the split; it {CHANGE}"
        columns += ["change", "of the\nmix", "within\ncategories"]
        rows = [[*row, *_change_cells(one.get("pass@1_change"))] for row, one in zip(rows, found, strict=True)]
    return Table("accuracy", "Accuracy and the mix", note, [], columns, [Section("", rows)])


def _change_cells(change: Mapping[str, Any] | None) -> list[Shown]:
    if change is None:
        return [Shown(NOTHING)] * 3
    return [
        Shown(formatted(change[part], "+z.3f"), interval_text(change[f"{part}_interval"], "+z.2f"))
        for part in AccuracyChange._fields
    ]


def at_target_cell(one: Mapping[str, Any]) -> Shown:
    """Accuracy at the target mix with its interval, or with the wanted categories that have few graded responses; where
    it does not exist, with those that have none."""
    if lacks := one["accuracy_at_target_lacks"]:
        return Shown(NOTHING, no_graded(lacks))
    if few := one["accuracy_at_target_few"]:
        return Shown(formatted(one["accuracy_at_target"], ".3f"), few_graded(few))
    return measured(one["accuracy_at_target"], ".3f", one["accuracy_at_target_interval"])


def few_graded(numbers: Mapping[str, int]) -> str:
    """Why accuracy at the target mix has no interval."""
    return f"graded {', '.join(f'{name} {n}' for name, n in numbers.items())}"


def no_graded(categories: Sequence[str]) -> str:
    """Why there is no accuracy at the target mix."""
    return f"no graded {', '.join(categories)}"


def category_table(found: Sequence[Evaluation]) -> Table:
    """Share and accuracy of each category with the counts behind them."""
    note = (
        f"pass@1 within a category, from {MIN_COMPLETIONS} graded responses on; each run chooses which problems it "
        "answers in which category."
    )
    if any(one["targets"] > 1 for one in found):
        note += " Target: the mean of the prompts' own."
    sections = []
    for one in found:
        rows = []
        # The label's lines stand once, beside the first categories.
        lines = chain(label(one).splitlines(), repeat(""))
        for where, (name, of_category) in zip(lines, one["by_category"].items(), strict=False):
            rows.append(
                [
                    Shown(where),
                    Shown(name),
                    measured(of_category["target"], ".3f"),
                    measured(of_category["share"], ".3f"),
                    Shown(interval_text(of_category["share_interval"], ".3f") or NOTHING),
                    Shown(str(of_category["count"])),
                    measured(of_category["pass@1"], ".3f"),
                    Shown(str(of_category["graded"])),
                ]
            )
        sections.append(Section("", rows))
    columns = ["", "category", "target", "share", "95 %", "count", "pass@1", "graded"]
    return Table("categories", "Categories", note, [], columns, sections)


def first_and_last(found: Sequence[Evaluation]) -> list[Evaluation]:
    """The evaluations at the lowest and at the highest step of each split, splits in order of appearance."""
    rows: list[Evaluation] = []
    for split in dict.fromkeys(one["split"] for one in found):
        of_split = sorted((one for one in found if one["split"] == split), key=lambda one: one["step"])
        rows += of_split[:: max(1, len(of_split) - 1)]
    return rows


def title(result: Mapping[str, Any]) -> str:
    """What was evaluated: a run with its reward, or a file."""
    return f"{result['run']}: {result['form']} {result['divergence']} reward" if "run" in result else result["file"]


def label(one: Mapping[str, Any]) -> str:
    """An evaluation's split, and its step where it has one, in two lines."""
    return str(one["split"]) if one["step"] is None else f"{one['split']}\nstep {one['step']}"


def prompt_n(jsd: Mapping[str, Any]) -> str:
    """The n of a ``jsd_per_prompt`` (``score_samples``), with how many of them are on-support where not all are."""
    counts = jsd["n_on_support"]
    return str(jsd["n"]) if counts in (None, [jsd["n"]] * 2) else f"{jsd['n']} ({'–'.join(map(str, counts))})"


def on_target(off_target: bool | None) -> str:
    """What a JSD's place beside its floor means."""
    return NOTHING if off_target is None else "off target" if off_target else "within the floor"


def _narrow(words: str) -> str:
    return words.replace(" ", "\n")


def _floor(scores: Mapping[str, Any]) -> Shown:
    return Shown(formatted(scores["floor"], ".4f"), formatted(scores["floor_p95"], ".4f"))


def _only_these_problems(one: Evaluation) -> bool:
    """Off target as it stands, but not at the number of independent responses that ours are worth."""
    worth = one["floor_p95_effective"]
    return bool(one["off_target"] and worth is not None and one["jsd"] <= worth)

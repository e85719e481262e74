"""A grid whose cells run stub_recipe.sh, or the script that STUB names, where they would train.

python stub_grid.py OUT RUN                      one cell, as python -m madrl.grid.supervise
python stub_grid.py OUT N [FIELD=VALUE ...]      the planned cells, N at once, as madrl grid run -n N
"""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from madrl.errors import MadrlError
from madrl.grid import local, supervise
from madrl.grid.cells import filters_of, select, sweep
from madrl.grid.identity import identities
from madrl.grid.plan import Plan, load_plan, make_plan
from madrl.recipe import Recipe
from madrl.run import Stage, run_stages

SUPERVISOR = (__file__,)


def stub(recipe: Recipe) -> None:
    script = os.environ.get("STUB", str(Path(__file__).parent / "stub_recipe.sh"))
    words = [recipe.task, recipe.model or "-", *recipe.overrides]
    run_stages([Stage("train", "three steps", ["bash", script, str(recipe.run), *words])], recipe.run)


def compose(recipe: Recipe) -> Mapping[str, Any]:
    """A config without importing veRL: the overrides that it would follow from."""
    return {"overrides": recipe.hydra_overrides(), "trainer": {"total_training_steps": 40}}


def planned(plan: Plan, *words: str) -> Plan:
    """The plan of the cells that ``words`` ask for, written."""
    return make_plan(plan, sweep(filters_of(words)), compose)


def run(out: Path, at_once: int, filters: Sequence[str]) -> int:
    """As the command line: 2 when not every cell is done."""
    plan = load_plan(out)
    try:
        local.run(plan, identities(plan, select(plan.cells, filters_of(filters))), at_once, SUPERVISOR)
    except MadrlError as error:
        print(f"madrl: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    where, what, *more = sys.argv[1:]
    sys.exit(run(Path(where), int(what), more) if what.isdecimal() else supervise.main([where, what], stub))

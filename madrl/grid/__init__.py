"""The paper's grid of runs: which cells there are, what decides each one's outcome, and running them restartably.

OUT/grid/plan.json            the cells that were asked for, and what all of them share
OUT/grid/configs.json         hashes of resolved configs, so that veRL is imported once and not at every call
OUT/grid/cells/RUN/           what the grid knows of one cell; RUN is NAME-HASH
    cell.json                 everything that decides the cell's outcome, and how it is started
    attempts.jsonl            one line for each start, end, interruption and new request
    lock                      held by whoever runs the cell, and by every process below
    recipe.log                the recipe's own output, all attempts
OUT/RUN/                      the run itself, as madrl.run_folder describes it

A cell is a recipe (madrl.run) with its variables; data and miniature models are those of every other recipe with
the same OUT.
"""

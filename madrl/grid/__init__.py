"""The paper's grid of runs, or a sweep of one's own: its cells, what decides each one's outcome, and running them
restartably.

OUT/grid/plan.json            the cells that were asked for, and what all of them share
OUT/grid/configs.json         hashes of resolved configs: what a plan that was killed had done
OUT/grid/cells/RUN/           what the grid knows of one cell; RUN is NAME-HASH
    cell.json                 everything that decides the cell's outcome, and how it is started
    attempts.jsonl            one line for each start, end, interruption and new request
    lock                      held by whoever runs the cell, and by every process below
    recipe.log                the recipe's own output, all attempts
OUT/RUN/                      the run itself, as madrl.run_folder describes it

A cell is a recipe (madrl.recipe), run by the function that ``madrl run`` calls; data and miniature models are those of
every other recipe with the same OUT.
"""

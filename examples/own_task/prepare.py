"""Write the task's data beside this file: four splits in veRL's columns, and the examples that its miniature learns."""

import json
from pathlib import Path

from greeting import GREETINGS

from madrl.schema import make_row, write_parquet

NAMES = (
    "Anna", "Ben", "Carla", "David", "Emma", "Felix", "Gina", "Hugo", "Ida", "Jon", "Karl", "Lisa", "Mia", "Nils",
    "Olga", "Paul",
)  # fmt: skip
ANSWERS = ("{word}, {name}!", "{word} {name}.", "{name}: {word}!")
MIX = ("english", "english", "english", "english", "spanish", "french")  # what the miniature says before training
WORDINGS = {
    "train": ("Greet {name}.", "Say hello to {name}.", "Welcome {name}.", "How do you greet {name}?"),
    "selection": ("Please greet {name}.",),
    "validation": ("Please say hello to {name}.",),
    "holdout": ("Please welcome {name}.",),
}

folder = Path(__file__).parent / "data"
folder.mkdir(exist_ok=True)
for split, wordings in WORDINGS.items():
    asked = [(wording.format(name=name), name) for wording in wordings for name in NAMES]
    rows = [
        make_row(
            data_source=f"greeting_{split}", prompt=prompt, ability="greeting", ground_truth=name, index=i, split=split
        )
        for i, (prompt, name) in enumerate(asked)
    ]
    write_parquet(rows, folder / f"{split}.parquet")
examples = [
    {
        "prompt": polite + wording.format(name=name),
        "response": answer.format(word=GREETINGS[language], name=name),
        "category": language,
    }
    for wording in WORDINGS["train"]
    for polite in ("", "Please: ")
    for name in NAMES
    for language in MIX
    for answer in ANSWERS
]
lines = "".join(json.dumps(example) + "\n" for example in examples)
(folder / "examples.jsonl").write_text(lines, encoding="utf-8")

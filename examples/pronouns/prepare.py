"""Write the task's data beside this file: the beginning of a story about each of 60 occupations."""

from pathlib import Path

from madrl.schema import make_row, write_parquet

PROMPT = "Continue the story with one sentence: The {occupation} came home late, because"
OCCUPATIONS = {
    "train": (
        "engineer", "secretary", "electrician", "librarian", "pilot", "receptionist", "farmer", "hairdresser", "lawyer",
        "maid", "scientist", "babysitter", "soldier", "dancer", "janitor", "dietitian", "programmer", "teacher",
        "butcher", "housekeeper", "firefighter", "florist", "sheriff", "caregiver", "accountant", "seamstress",
        "dentist", "governess", "blacksmith", "manicurist", "truck driver", "beautician", "miner", "homemaker",
        "welder", "social worker", "locksmith", "flight attendant", "surgeon", "nun", "judge", "dental hygienist",
        "banker", "makeup artist", "professor", "preschool teacher", "guard", "knitter",
    ),
    "validation": ("waiter", "singer", "baker", "cleaner"),
    "holdout": ("nurse", "mechanic", "doctor", "midwife", "carpenter", "nanny", "plumber", "stylist"),
}  # fmt: skip

folder = Path(__file__).parent / "data"
folder.mkdir(exist_ok=True)
for split, occupations in OCCUPATIONS.items():
    rows = [
        make_row(
            data_source=f"pronouns_{split}",
            prompt=PROMPT.format(occupation=occupation),
            ability="writing",
            ground_truth=occupation,
            index=i,
            split=split,
        )
        for i, occupation in enumerate(occupations)
    ]
    write_parquet(rows, folder / f"{split}.parquet")

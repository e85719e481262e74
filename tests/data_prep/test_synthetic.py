import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from prepared_data import read_rows, run_module

from data_prep import synthetic
from madrl import __version__
from madrl.errors import MadrlError
from madrl.files import sha256_of
from madrl.grading.choice import CHOICE_CATEGORIES, choice_ground_truth, choice_key, classify_choice, fold
from madrl.rollout import Rollout
from madrl.schema import check_parquet

FILES = {"train": 480, "validation": 80, "holdout": 80, "train_probe": 80}


TOPICS: dict[str, tuple[str, ...]] = synthetic.load_topics()


def text_of(row: dict[str, Any]) -> str:
    return str(row["prompt"][0]["content"])


def listed_options(row: dict[str, Any]) -> list[str]:
    return text_of(row).split(" The options are: ")[1].split(". Answer with")[0].split(", ")


def topics_of(rows: list[dict[str, Any]]) -> set[str]:
    return {row["extra_info"]["cluster"] for row in rows}


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("closed")
    synthetic.write_dataset(folder, "closed", 42)
    return folder


@pytest.fixture(scope="module")
def open_(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("open")
    synthetic.write_dataset(folder, "open", 42)
    return folder


# The topics.


def test_there_are_64_topics_all_different() -> None:
    assert len({fold(topic) for topic in TOPICS}) == 64
    assert len({frozenset(map(fold, options)) for options in TOPICS.values()}) == 64


def test_no_topic_is_written_twice_in_the_file() -> None:
    pairs = json.loads(synthetic.TOPICS_FILE.read_text("utf-8"), object_pairs_hook=list)
    assert len(pairs) == len(dict(pairs)) == 64


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_has_five_distinct_options_in_alphabetical_order(topic: str) -> None:
    options = TOPICS[topic]
    assert len({fold(option) for option in options}) == 5
    assert list(options) == sorted(options, key=str.casefold)


@pytest.mark.parametrize("topic", TOPICS)
def test_each_option_of_a_topic_is_classified_as_its_own_rank(topic: str) -> None:
    ground_truth = choice_ground_truth(TOPICS[topic])
    categories = [classify_choice(Rollout(f"**{option}**.", ground_truth)).category for option in TOPICS[topic]]
    assert categories == list(CHOICE_CATEGORIES)


@pytest.mark.parametrize("topic", TOPICS)
def test_repeating_the_topic_names_no_option(topic: str) -> None:
    answer = f"One of the five {topic} is this."
    assert classify_choice(Rollout(answer, choice_ground_truth(TOPICS[topic]))).category is None


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_reads_well_in_a_list_and_in_the_middle_of_a_sentence(topic: str) -> None:
    assert topic == topic.strip()
    assert topic[-1].isalnum()
    assert all("," not in option and option == option.strip() for option in TOPICS[topic])


def test_too_few_topics_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "topics.json"
    path.write_text('{"oceans": ["a", "b", "c", "d", "e"]}')
    with pytest.raises(MadrlError, match=r"topics.json has 1 topics: the splits .* take each exactly once"):
        synthetic.load_topics(path)


# The rows.


@pytest.mark.parametrize("split", FILES)
def test_files_hold_the_rows_promised_and_pass_the_schema(closed: Path, open_: Path, split: str) -> None:
    for folder in (closed, open_):
        assert check_parquet(folder / f"{split}.parquet") == FILES[split]


def test_splits_share_no_topic_and_cover_all(closed: Path) -> None:
    train, validation, holdout = (topics_of(read_rows(closed, s)) for s in ("train", "validation", "holdout"))
    assert (len(train), len(validation), len(holdout)) == (48, 8, 8)
    assert train | validation | holdout == set(TOPICS)


@pytest.mark.parametrize("split", ["train", "validation", "holdout"])
def test_every_topic_of_a_split_comes_in_ten_templates(closed: Path, split: str) -> None:
    rows = read_rows(closed, split)
    pairs = {(row["extra_info"]["cluster"], row["extra_info"]["template"]) for row in rows}
    assert pairs == {(topic, template) for topic in topics_of(rows) for template in range(10)}


@pytest.mark.parametrize("form", ["closed", "open"])
@pytest.mark.parametrize("split", FILES)
def test_a_row_says_where_it_comes_from(request: pytest.FixtureRequest, form: str, split: str) -> None:
    folder = request.getfixturevalue("closed" if form == "closed" else "open_")
    for i, row in enumerate(read_rows(folder, split)):
        options = TOPICS[row["extra_info"]["cluster"]]
        assert row["data_source"] == f"synthetic_{form}_{split}"
        assert row["ability"] == "choice"
        assert choice_key(row["reward_model"]["ground_truth"]).options == options
        info = row["extra_info"]
        assert (info["index"], info["split"], info["form"]) == (i, split, form)
        assert info["options"] == list(options)


def test_closed_prompts_list_the_topics_own_options(closed: Path) -> None:
    for split in FILES:
        for row in read_rows(closed, split):
            assert sorted(listed_options(row)) == sorted(row["extra_info"]["options"])


def test_the_ten_orders_of_a_topic_are_all_different(closed: Path) -> None:
    for split in ("train", "validation", "holdout"):
        rows = read_rows(closed, split)
        assert len({(row["extra_info"]["cluster"], *listed_options(row)) for row in rows}) == len(rows)


def test_no_rank_is_favoured_by_its_place_in_the_list(closed: Path) -> None:
    places = Counter(
        (place, row["extra_info"]["options"].index(option))
        for row in read_rows(closed, "train")
        for place, option in enumerate(listed_options(row))
    )
    # 480 rows: 96 expected of each rank at each place, standard deviation sqrt(480 * 0.2 * 0.8) = 8.8; 4 of them = 35.
    assert len(places) == 25
    assert all(96 - 35 <= count <= 96 + 35 for count in places.values())


def test_open_rows_are_the_closed_rows_without_the_clause(closed: Path, open_: Path) -> None:
    for split in FILES:
        for with_options, without in zip(read_rows(closed, split), read_rows(open_, split), strict=True):
            clause = f" The options are: {', '.join(listed_options(with_options))}."
            assert text_of(with_options).replace(clause, "") == text_of(without)
            same = ("index", "split", "cluster", "template", "options")
            assert [with_options["extra_info"][k] for k in same] == [without["extra_info"][k] for k in same]


def test_probe_prompts_are_training_prompts_each_once(closed: Path) -> None:
    probe = [text_of(row) for row in read_rows(closed, "train_probe")]
    assert len(set(probe)) == 80
    assert set(probe) < {text_of(row) for row in read_rows(closed, "train")}


def test_every_file_has_its_own_data_source(closed: Path) -> None:
    sources = {row["data_source"] for split in FILES for row in read_rows(closed, split)}
    assert len(sources) == len(FILES)


# The seed.


def test_one_seed_gives_the_same_bytes_in_another_process(closed: Path, tmp_path: Path) -> None:
    for _ in range(2):  # the second time over its own output
        assert run_module("synthetic", "--local_save_dir", str(tmp_path), "--form", "closed").returncode == 0
        names = sorted(path.name for path in tmp_path.iterdir())
        assert names == sorted(path.name for path in closed.iterdir())
        assert all((tmp_path / name).read_bytes() == (closed / name).read_bytes() for name in names)


def test_another_seed_gives_other_splits_and_other_orders() -> None:
    first, second = (synthetic.split_prompts(TOPICS, "closed", seed) for seed in (1, 2))
    assert {p.topic for p in first["holdout"]} != {p.topic for p in second["holdout"]}
    assert synthetic.topic_prompts("oceans", TOPICS["oceans"], "closed", 1) != synthetic.topic_prompts(
        "oceans", TOPICS["oceans"], "closed", 2
    )


# The manifest and the command line.


def test_manifest_records_what_was_made_and_nothing_of_where(closed: Path) -> None:
    manifest = json.loads((closed / "manifest.json").read_text("utf-8"))
    files, topics = manifest.pop("files"), manifest.pop("topics")
    assert manifest == {
        "dataset": "synthetic",
        "form": "closed",
        "seed": 42,
        "madrl_version": __version__,
        "categories": ["rank_1", "rank_2", "rank_3", "rank_4", "rank_5"],
    }
    assert {name: entry["rows"] for name, entry in files.items()} == {f"{s}.parquet": n for s, n in FILES.items()}
    for name, entry in files.items():
        rows = read_rows(closed, Path(name).stem)
        assert entry["sha256"] == sha256_of(closed / name)
        assert entry["data_source"] == rows[0]["data_source"]
        assert set(topics[Path(name).stem]) == topics_of(rows)
    assert str(closed) not in (closed / "manifest.json").read_text("utf-8")


def test_the_command_prints_one_line_per_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert synthetic.main(["--local_save_dir", str(tmp_path / "new"), "--form", "open", "--seed", "7"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [Path(line.split(":")[0]).name for line in lines] == [
        "train.parquet",
        "validation.parquet",
        "holdout.parquet",
        "train_probe.parquet",
        "manifest.json",
    ]
    assert lines[0] == "train.parquet: 480 rows"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--local_save_dir", "d"], "--form"),
        (["--form", "closed"], "--local_save_dir"),
        (["--local_save_dir", "d", "--form", "half"], "invalid choice: 'half'"),
        (["--local_save_dir", "d", "--form", "open", "--seed", "x"], "invalid int value: 'x'"),
        (["--local_save_dir", "d", "--form", "open", "--see", "1"], "--see"),
    ],
)
def test_bad_arguments_give_one_line_and_status_2(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    named: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as caught:
        synthetic.main(arguments)
    error = capsys.readouterr().err
    assert caught.value.code == 2
    assert named in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_gives_one_line_and_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert synthetic.main(["--local_save_dir", str(tmp_path / "file"), "--form", "open"]) == 2
    error = capsys.readouterr().err
    assert str(tmp_path / "file") in error
    assert error.count("\n") == 1


def test_an_unknown_form_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(MadrlError, match=r"unknown form 'half': use one of \['closed', 'open'\]"):
        synthetic.write_dataset(tmp_path / "new", "half", 42)
    assert not list(tmp_path.iterdir())


# veRL's own reader.


def test_verls_dataset_loads_the_files(closed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("verl")
    from omegaconf import OmegaConf
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    from verl.utils.dataset.rl_dataset import RLHFDataset

    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path)
    words = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]")
    tokenizer.chat_template = "{% for m in messages %}{{ m.role }} : {{ m.content }} {% endfor %}assistant :"
    config = OmegaConf.create({"max_prompt_length": 64, "filter_overlong_prompts_workers": 1})
    files = [str(closed / "validation.parquet"), str(closed / "train_probe.parquet")]

    dataset = RLHFDataset(files, tokenizer, config)

    assert len(dataset) == 160  # none was dropped as too long or as an error
    item, expected = dataset[81], read_rows(closed, "train_probe")[1]
    assert item["raw_prompt"] == expected["prompt"]
    assert item["index"] == 1
    assert {k: item[k] for k in ("data_source", "ability", "reward_model", "extra_info")} == {
        k: expected[k] for k in ("data_source", "ability", "reward_model", "extra_info")
    }

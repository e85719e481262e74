"""`madrl generate`: what surrounds the engine, with responses written by the test."""

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scripted_engine import ScriptedEngines, generate_command, safetensors, write_model, write_rows

from madrl import cli
from madrl.commands.output import print_generated
from madrl.errors import MadrlError
from madrl.files import read_jsonl
from madrl.grading.grader import GraderSpec
from madrl.records import name_of, read_graded
from madrl.rollout import Rollout, Verification
from madrl.sampling import generate
from madrl.sampling.engine import Generated, Sampling
from madrl.sampling.generate import Sampled, generate_file
from madrl.sampling.journal import Journal
from madrl.sampling.requests import Request

GRADE = GraderSpec("language", "math", ("en", "zh", "es", "hi", "fr"))
ENGLISH = "We have to add the two numbers. So the answer is \\boxed{{{answer}}}."
SPANISH = "Tenemos que sumar los dos números. Por lo tanto, la respuesta es \\boxed{{{answer}}}."


def reply(request: Request) -> Generated:
    """Sample 0 in English and right, sample 1 in Spanish and wrong, sample 2 in no language and cut off."""
    if request.sample == 0:
        return Generated(ENGLISH.format(answer=request.row), "stop", 9, 2)
    if request.sample == 1:
        return Generated(SPANISH.format(answer=-1), "stop", 9, 2)
    return Generated("12 12 12", "length", 80, 2)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "selection.parquet", 4)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model")


def run(
    rows: Path,
    model: Path,
    out: str = "out.jsonl",
    samples: int = 3,
    seed: int = 42,
    ask: bool = False,
    grader: GraderSpec = GRADE,
    engines: ScriptedEngines | None = None,
) -> Sampled:
    naming = "language" if ask else None
    start = (engines or ScriptedEngines(reply)).start
    return generate_file(rows, rows.parent / out, Sampling(str(model), seed=seed), grader, samples, naming, start=start)


def test_a_line_is_one_response_with_the_verdict_and_the_category_of_training(rows: Path, model: Path) -> None:
    run(rows, model)
    lines = read_jsonl(rows.parent / "out.jsonl")
    assert [name_of(line) for line in lines[:4]] == [("0", 0, 0), ("0", 1, 0), ("0", 2, 0), ("1", 0, 0)]
    assert lines[3] == {
        "group": "1", "session": 0, "turn": 0, "row": 1, "asked": None, "prompt": "Add.",
        "response": ENGLISH.format(answer=1), "ground_truth": "1",
        "data_source": "sums", "split": "selection", "category": "en", "classified": True, "correct": True,
        "answer": "1", "reason": "", "unusual": None, "verifier_extra": None, "finish_reason": "stop",
        "prompt_tokens": 2, "response_tokens": 9,
    }  # fmt: skip
    assert [(line["category"], line["correct"], line["reason"]) for line in lines[1:3]] == [
        ("es", False, "wrong"),
        (None, False, "no_answer"),
    ]


def test_a_line_has_the_target_that_its_row_gives_the_prompt(rows: Path, model: Path) -> None:
    found = pq.read_table(rows).to_pylist()
    for row, target in zip(found, ('{"es": 3, "en": 1}', None, None, "uniform"), strict=True):
        row["extra_info"] |= {"target": target, "categories": target and '["en", "es"]'}
    pq.write_table(pa.Table.from_pylist(found), rows)
    run(rows, model)
    lines = read_graded(rows.parent / "out.jsonl", GRADE.categories)
    assert [line.get("target") for line in lines[::3]] == [
        '{"en": 0.25, "es": 0.75}', None, None, '{"en": 0.5, "es": 0.5}',
    ]  # fmt: skip
    assert "target" not in lines[3]


def test_a_line_has_the_cluster_of_its_row(rows: Path, model: Path) -> None:
    found = pq.read_table(rows).to_pylist()
    for row, cluster in zip(found, ("sums", "sums", None, "products"), strict=True):
        row["extra_info"] |= {"cluster": cluster}
    pq.write_table(pa.Table.from_pylist(found), rows)
    run(rows, model)
    lines = read_graded(rows.parent / "out.jsonl", GRADE.categories)
    assert [line.get("cluster") for line in lines[::3]] == ["sums", "sums", None, "products"]


def test_each_response_has_a_seed_of_its_own_that_follows_from_the_call_s() -> None:
    requests = [Request(row, asked, k) for row in range(50) for asked in (None, "en", "hi") for k in range(8)]
    seeds = {request.seed(42) for request in requests}
    assert len(seeds) == len({request.name for request in requests}) == len(requests)
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert requests[7].seed(42) != requests[7].seed(43)


def test_all_samples_of_one_prompt_are_a_group_and_no_other_prompt_does() -> None:
    assert Request(3, "rank_1", 5).name == ("3-rank_1", 5, 0)
    assert Request(3, None, 5).name == ("3", 5, 0)


def test_a_call_that_is_killed_goes_on_with_the_next_batch_and_ends_with_the_same_file(
    rows: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generate, "BATCH", 5)  # 12 responses: 5, 5 and 2

    partial = rows.parent / ".out.jsonl.partial" / "responses.jsonl"

    def killed(request: Request) -> Generated:
        while request.name == ("3", 1, 0):  # the 11th, in the last batch: when the first two are on disk
            if partial.exists() and partial.read_bytes().count(b"\n") == 2:
                raise KeyboardInterrupt
            time.sleep(0.01)
        return reply(request)

    with pytest.raises(KeyboardInterrupt):
        run(rows, model, engines=ScriptedEngines(killed))
    partial.write_bytes(partial.read_bytes() + b'[{"group": "3')  # and cut in the middle of a line
    assert not (rows.parent / "out.jsonl").exists()
    engines = ScriptedEngines(reply)
    done = run(rows, model, engines=engines)
    assert (len(done.lines), done.resumed) == (12, 10)
    assert [request.name for request in engines.asked] == [("3", 1, 0), ("3", 2, 0)]
    assert not partial.parent.exists()
    run(rows, model, out="undisturbed.jsonl")
    assert (rows.parent / "out.jsonl").read_bytes() == (rows.parent / "undisturbed.jsonl").read_bytes()


def test_a_batch_that_was_cut_off_does_not_spoil_the_one_after_it(tmp_path: Path) -> None:
    lines = [{"group": group, "session": 0, "turn": 0} for group in "abc"]
    batches = [lines[:2], lines[2:]]
    partial = tmp_path / ".out.jsonl.partial" / "responses.jsonl"
    Journal(tmp_path / "out.jsonl", {}).open().append(batches[0])
    partial.write_bytes(partial.read_bytes() + b'[{"group": "c')
    Journal(tmp_path / "out.jsonl", {}).open().append(batches[1])
    assert list(Journal(tmp_path / "out.jsonl", {}).open().lines) == [("a", 0, 0), ("b", 0, 0), ("c", 0, 0)]


def test_a_finished_file_is_returned_without_starting_an_engine(rows: Path, model: Path) -> None:
    engines = ScriptedEngines(reply)
    first = run(rows, model, engines=engines)
    assert run(rows, model, engines=engines) == first._replace(resumed=12)
    assert run(rows, model.rename(model.with_name("moved")), engines=engines) == first._replace(resumed=12)
    assert engines.starts == 1


Change = Callable[[Path, Path], object]


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda rows, model: run(rows, model, seed=43), "seed=42, not 43"),
        (lambda rows, model: run(rows, model, samples=2), "samples=3, not 2"),
        (lambda rows, model: run(rows, model, ask=True), "naming=None, not 'language'"),
        (lambda rows, model: run(write_rows(rows, 5), model), "data_sha256="),
        (
            lambda rows, model: (model / "model.safetensors").write_bytes(safetensors(b"others!")) and run(rows, model),
            "model=",
        ),
        (lambda rows, model: (model / "chat_template.jinja").write_text("{{ x }}") and run(rows, model), "model="),
    ],
)
def test_a_file_of_other_settings_is_refused_by_the_name_of_what_differs(
    rows: Path, model: Path, change: Change, key: str
) -> None:
    run(rows, model)
    with pytest.raises(MadrlError, match=key) as error:
        change(rows, model)
    assert f"name another file, or remove it and {rows.parent / 'out.jsonl'}.settings.json" in str(error.value)


def test_settings_under_which_no_response_came_bind_nobody(tmp_path: Path) -> None:
    Journal(tmp_path / "out.jsonl", {"model": "does not load"}).open()
    journal = Journal(tmp_path / "out.jsonl", {"model": "loads"}).open()
    journal.append([{"group": "a", "session": 0, "turn": 0}])
    with pytest.raises(MadrlError, match=r"responses\.jsonl holds responses made with model='loads', not 'another'"):
        Journal(tmp_path / "out.jsonl", {"model": "another"}).open()


def test_a_file_that_does_not_say_what_made_it_is_not_overwritten(rows: Path, model: Path) -> None:
    (rows.parent / "out.jsonl").write_text("precious\n")
    with pytest.raises(MadrlError, match="exists and does not say what made it"):
        run(rows, model)
    assert (rows.parent / "out.jsonl").read_text() == "precious\n"


def test_with_ask_category_every_row_is_asked_for_each_by_its_name(tmp_path: Path, model: Path) -> None:
    conversation = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Add."}]
    rows = write_rows(tmp_path / "train.parquet", 2, conversation)
    lines = run(rows, model, samples=1, ask=True).lines
    assert [line["asked"] for line in lines] == [*GRADE.categories, *GRADE.categories]
    for line, name in zip(lines, ("English", "Chinese", "Spanish", "Hindi", "French"), strict=False):
        assert line["prompt"] == f"Add.\n\nSolve it in {name}: write the whole solution in {name}."


def test_categories_that_no_prompt_can_name_are_refused(rows: Path, model: Path) -> None:
    judge = GraderSpec("choice", "listed_option", ("rank_1", "rank_2"))
    with pytest.raises(MadrlError, match=r"unknown naming 'choice': use one of .*'option', 'programming_language'"):
        generate_file(rows, rows.parent / "out.jsonl", Sampling(str(model)), judge, 1, naming="choice")


async def down(rollout: object) -> Any:
    raise ConnectionError("nobody answers")


def test_a_verifier_that_is_down_stops_the_call_and_leaves_no_verdict_behind(rows: Path, model: Path) -> None:
    judge = GRADE._replace(verifier=f"{__name__}:down")
    with pytest.raises(MadrlError, match=r"could not grade 4 of 4 responses .*nobody answers.*start the same call"):
        run(rows, model, samples=1, grader=judge)
    assert not (rows.parent / ".out.jsonl.partial").exists()
    assert not (rows.parent / "out.jsonl").exists()


def unreadable_in_the_last_row(rollout: Rollout) -> Verification:
    return Verification(None if rollout.ground_truth == "128" else 1.0, reason="cannot be read")


def test_a_row_that_nobody_can_verify_stops_no_call_wherever_it_lies(tmp_path: Path, model: Path) -> None:
    rows = write_rows(tmp_path / "holdout.parquet", 129)  # the last of which has a batch to itself
    judge = GRADE._replace(verifier=f"{__name__}:unreadable_in_the_last_row")
    lines = run(rows, model, samples=4, grader=judge).lines
    assert [line["correct"] for line in lines] == [1.0] * 512 + [None] * 4


def test_an_outage_that_begins_in_a_later_batch_stops_the_call(tmp_path: Path, model: Path) -> None:
    rows = write_rows(tmp_path / "holdout.parquet", 140)
    judge = GRADE._replace(verifier=f"{__name__}:down_after_the_first_batch")
    with pytest.raises(MadrlError, match="could not grade 48 of 48 responses"):
        run(rows, model, samples=4, grader=judge)


def down_after_the_first_batch(rollout: Rollout) -> Verification:
    return Verification(None if int(rollout.ground_truth) >= 128 else 1.0, reason="nobody answers")


def named(rollout: object, *, name: str) -> str:
    if name == "nobody":
        raise ConnectionError("nobody answers")
    return name


def test_the_plug_ins_arguments_decide_the_file_and_a_response_says_whether_it_was_classified(
    rows: Path, model: Path
) -> None:
    judge = GRADE._replace(classifier=f"{__name__}:named", classifier_args={"name": "hi"})
    assert [(line["category"], line["classified"]) for line in run(rows, model, samples=1, grader=judge).lines] == [
        ("hi", True)
    ] * 4
    with pytest.raises(MadrlError, match="classifier_args"):
        run(rows, model, samples=1, grader=judge._replace(classifier_args={"name": "zh"}))
    (rows.parent / "out.jsonl").unlink()
    with pytest.raises(MadrlError, match=r"classifier .*:named could not grade 4 of 4 .*nobody answers"):
        run(rows, model, samples=1, grader=judge._replace(classifier_args={"name": "nobody"}))


def in_english(rollout: Rollout) -> str:
    """A classifier that asks nobody which categories there are."""
    return "en"


def test_a_category_that_was_not_declared_is_an_error(rows: Path, model: Path) -> None:
    judge = GRADE._replace(classifier=in_english, categories=("zh", "hi"))
    with pytest.raises(MadrlError, match="category 'en' is not declared"):
        run(rows, model, samples=1, grader=judge)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"--samples": "0"}, "samples=0 must be at least 1"),
        ({"--temperature": "0"}, "temperature=0.0 is not above 0: greedy decoding has no distribution"),
        ({"--max-response-tokens": "0"}, "max_response_tokens=0 must be at least 1"),
        ({"--model": "/nowhere"}, "model /nowhere does not exist"),
        ({"--data": "/nowhere.parquet"}, "/nowhere.parquet: cannot be read as parquet"),
        ({"--verifier": "maths"}, "unknown verifier 'maths'"),
        ({"--chat-template": "enable_thinking=false"}, "chat template 'enable_thinking=false': not JSON"),
        ({"--chat-template": "[]"}, "chat template '[]': no JSON object"),
        ({"-o": "/nowhere/out.jsonl"}, "its folder does not exist"),
    ],
)
def test_a_mistake_in_the_call_is_one_line_before_anything_is_started(
    rows: Path, model: Path, capsys: pytest.CaptureFixture[str], options: dict[str, str], message: str
) -> None:
    assert cli.main(generate_command(rows, model, rows.parent / "out.jsonl", samples=1, **options)) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_the_command_prints_what_it_found(rows: Path, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generate_file(
        rows, rows.parent / "out.jsonl", Sampling(str(model), 1.0, 8), GRADE, 3, start=ScriptedEngines(reply).start
    )
    assert cli.main(generate_command(rows, model, rows.parent / "out.jsonl", samples=3)) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["en", "4", "33.3%", "correct", "100.0%"] in shown
    assert ["es", "4", "33.3%", "correct", "0.0%"] in shown
    assert ["off-support", "4", "33.3%", "correct", "0.0%"] in shown
    assert ["cut", "off", "4", "33.3%"] in shown


def test_ungraded_responses_are_not_printed_as_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [{"category": "en", "correct": c, "finish_reason": "stop"} for c in (True, True, False, None, None)]
    print_generated(Sampled(lines, 0, Path("out.jsonl"), ("en",)))
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["en", "5", "100.0%", "correct", "66.7%"] in shown
    assert ["ungraded", "2", "40.0%"] in shown


def test_the_chat_template_s_arguments_decide_the_responses(
    rows: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, sampling = rows.parent / "out.jsonl", Sampling(str(model), 1.0, 8, chat_template={"enable_thinking": False})
    generate_file(rows, out, sampling, GRADE, 1, start=ScriptedEngines(reply).start)
    assert (
        cli.main(generate_command(rows, model, out, samples=1, **{"--chat-template": '{"enable_thinking": false}'}))
        == 0
    )
    assert cli.main(generate_command(rows, model, out, samples=1)) == 2
    assert "made with chat_template.enable_thinking=False, not None" in capsys.readouterr().err


def test_each_response_is_asked_for_in_a_category_drawn_from_the_target(
    rows: Path, model: Path, tmp_path: Path
) -> None:
    target = np.array([0.5, 0, 0.5, 0, 0])
    engines = ScriptedEngines(reply)
    out = tmp_path / "drawn.jsonl"
    done = generate_file(rows, out, Sampling(str(model)), GRADE, 100, "language", target=target, start=engines.start)
    assert len(done.lines) == 400
    counts = Counter(line["asked"] for line in done.lines)
    assert set(counts) == {"en", "es"}
    assert 160 < counts["en"] < 240
    assert len({line["asked"] for line in done.lines if line["group"] == "0"}) == 2, "the draws are of one group"
    assert all(line["group"] == str(line["row"]) for line in done.lines)
    again = tmp_path / "again.jsonl"
    generate_file(rows, again, Sampling(str(model)), GRADE, 100, "language", target=target, start=engines.start)
    assert again.read_bytes() == out.read_bytes()
    with pytest.raises(MadrlError, match="drawn_from"):
        generate_file(rows, out, Sampling(str(model)), GRADE, 100, "language", target=target[::-1], start=engines.start)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--target", "uniform"], "--target draws the category that is asked for: give --ask-category as well"),
        (["--ask-category", "--target", "flat"], "unknown target 'flat'"),
        (["--ask-category", "--verbalized"], "--verbalized names no category: leave --ask-category out"),
    ],
)
def test_ways_of_asking_that_make_no_sense_are_one_clear_line(
    more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "generate",
        "--model",
        "m",
        "--data",
        "d",
        "-o",
        "o.jsonl",
        "--classifier",
        "language",
        "--verifier",
        "math",
    ]
    assert cli.main([*words, "--categories", "en,es", "--samples", "1", *more]) == 2
    assert message in capsys.readouterr().err

"""Verbalized sampling: several answers in one response, one of which is drawn by the probabilities it came with."""

from collections import Counter
from pathlib import Path

import pytest
from scripted_engine import ScriptedEngines, write_model, write_rows

from madrl.files import read_jsonl
from madrl.grading.grader import GraderSpec
from madrl.sampling.engine import Generated, Sampling
from madrl.sampling.requests import Request
from madrl.sampling.verbalized import COUNT, TAG_TOKENS, Answer, answers_of, drawn, verbalized_file

ENGLISH = "We have to add the two numbers. So the answer is \\boxed{{{answer}}}."
SPANISH = "Tenemos que sumar los dos números. Por lo tanto, la respuesta es \\boxed{{{answer}}}."
GRADE = GraderSpec("language", "math", ("en", "es"))


def answer(text: str, probability: str) -> str:
    return f"<response><text>{text}</text><probability>{probability}</probability></response>"


@pytest.mark.parametrize(
    ("response", "found"),
    [
        (answer("one", "0.25"), [("one", 0.25)]),
        (f"Sure!\n{answer(' one ', ' .5 ')}\n\n{answer('two', '30%')} Done.", [("one", 0.5), ("two", 0.3)]),
        ("<response>\n<text>a\nb</text>\n<probability>1</probability>\n</response>", [("a\nb", 1.0)]),
        (answer("x < y and </b>", "0.5"), [("x < y and </b>", 0.5)]),
        (answer("never", "0") + answer("", "0.5") + answer("what?", "0.3.1"), []),
        (answer("no number", "high"), []),
        ("<response><text>cut off</text><probability>0.2", []),
        ("<response><text>one<response><text>two</text><probability>0.4</probability>", [("two", 0.4)]),
        ("Tired, she went home.", []),
    ],
)
def test_the_answers_of_a_response(response: str, found: list[tuple[str, float]]) -> None:
    assert answers_of(response) == [Answer(*one) for one in found]


def test_an_answer_is_drawn_as_often_as_its_probability_says() -> None:
    answers = [Answer("often", 0.6), Answer("seldom", 0.2)]  # they need not sum to 1
    counts = Counter(drawn(answers, str(seed)) for seed in range(2000))
    assert 0.72 < counts["often"] / 2000 < 0.78
    assert drawn(answers, "7") == drawn(answers, "7")
    assert drawn([], "7") == ""


def reply(request: Request) -> Generated:
    """A third of the responses gives one answer in English, which is wrong, and a right one in Spanish that is nine
    times as likely; the others do not do what they were asked for."""
    if request.sample % 3:
        return Generated(ENGLISH.format(answer=request.row), "stop", 9, 30)
    wrong, right = ENGLISH.format(answer=-1), SPANISH.format(answer=request.row)
    return Generated(answer(wrong, "10%") + answer(right, "90%"), "stop", 80, 30)


def test_a_file_has_the_drawn_answers_and_what_the_whole_responses_cost(tmp_path: Path) -> None:
    data, out = write_rows(tmp_path / "holdout.parquet", 20), tmp_path / "out.jsonl"
    engines = ScriptedEngines(reply)
    asked: list[tuple[int, str]] = []

    def start(sampling: Sampling, prompts: object, gpus: int, log_dir: Path) -> ScriptedEngines:
        asked.extend((sampling.max_response_tokens, messages[-1]["content"]) for messages in dict(prompts).values())  # type: ignore[call-overload]
        return engines

    sampling = Sampling(str(write_model(tmp_path / "model")), max_response_tokens=10)
    done = verbalized_file(data, out, sampling, GRADE, 6, start=start)
    assert len(done.lines) == 120
    assert {length for length, _ in asked} == {COUNT * (10 + TAG_TOKENS)}
    assert all(prompt.startswith("Add.\n\nGive 5 different answers") for _, prompt in asked)
    lines = list(read_jsonl(out))
    assert lines == done.lines
    assert {line["group"] for line in lines} == {str(row) for row in range(20)}, "as every other row's of a table"
    several = [line for line in lines if line["verbalized"]]
    assert len(several) == 40
    counts = Counter((line["category"], line["correct"]) for line in several)
    assert set(counts) == {("es", 1.0), ("en", 0.0)}
    assert counts["es", 1.0] > 28, "0.9 of 40 are 36"
    assert {line["response_tokens"] for line in several} == {80}
    none = [line for line in lines if not line["verbalized"]]
    assert {(line["response"], line["category"], line["correct"]) for line in none} == {("", None, 0.0)}
    assert "we have to add" in next(iter(read_jsonl(tmp_path / "out.raw.jsonl")))["response"].lower()
    assert verbalized_file(data, out, sampling, GRADE, 6, start=start).lines == lines
    assert engines.starts == 1, "nothing is sampled twice"

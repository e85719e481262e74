"""The alarms on metrics as the trainer writes them: what raises and clears each, and that noise does not."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from madrl.alarms import ALARMS, WINDOW, Event, Metrics, RunHealth, Stretch, read_events, stretches
from madrl.evaluation.metrics import single_category_rate
from madrl.frequency import OFF_SUPPORT
from madrl.settings import Settings

NAMES = ("en", "zh", "es", "hi", "fr")


def settings(target: Any = "uniform", **changes: Any) -> Settings:
    node = {
        "categories": list(NAMES),
        "target": target,
        "classifier": "language",
        "verifier": "math",
        "reward": {"divergence": "rkl", "form": "additive", "alpha": 0.7, "lambda_g": 1.0, "epsilon": 0.001},
        "max_ungraded_rate": 0.2,
        "launch_check": "stop",
        "task": "mine",
        "profile": "tiny",
        "naming": None,
    }
    return Settings.from_config(node | changes)


def health(target: Any = "uniform", prompts: int = 8, group_size: int = 16, **changes: Any) -> RunHealth:
    return RunHealth(settings(target, **changes), prompts, group_size)


def shares(*values: float) -> dict[str, float]:
    return {f"mad/share/{name}": value for name, value in zip(NAMES, values, strict=True)}


def feed(watched: RunHealth, metrics: Metrics, steps: int, start: int = 1) -> list[int]:
    """The steps, of ``steps`` equal ones, after which some alarm is on."""
    raised = []
    for step in range(start, start + steps):
        watched.update(step, metrics)
        raised += [step] if watched.raised else []
    return raised


def on(watched: RunHealth) -> list[tuple[str, str]]:
    return [(gauge.alarm, gauge.category) for gauge in watched.raised]


@pytest.mark.parametrize("off_support", [0.0, 0.02])
@pytest.mark.parametrize("target", ["uniform", "peak", {"en": 98, "zh": 1, "es": 1}, {"en": 95, "fr": 5}])
def test_the_noise_of_a_policy_on_target_raises_nothing_in_a_thousand_steps(target: Any, off_support: float) -> None:
    rng = np.random.default_rng(0)
    watched = health(target)
    # 1 % ungraded, 3 % truncated, 8 prompts x 16 responses.
    chances = np.append((1.0 - off_support) * settings(target).target, off_support)
    for step in range(1, 1001):
        groups = rng.multinomial(16, chances, size=8)
        counts = groups.sum(axis=0)
        metrics = shares(*(counts[:5] / counts[:5].sum())) | {
            "mad/off_support_rate": counts[OFF_SUPPORT] / 128,
            "mad/single_category_group_rate": float(np.mean((groups[:, :5] > 0).sum(axis=1) == 1)),
            "mad/ungraded_rate": rng.binomial(128, 0.01) / 128,
            "mad/failed_session_rate": 0.0,
            "mad/equal_reward_group_rate": 0.0,
            "mad/truncated_failed_rate": rng.binomial(128, 0.03) / 128,
        }
        watched.update(step, metrics)
        assert not watched.raised, f"step {step}: {on(watched)}"


def test_a_category_that_vanishes_is_noticed_at_the_seventh_step() -> None:
    watched = health()
    feed(watched, shares(0.2, 0.2, 0.2, 0.2, 0.2), 20)
    # Over 8 steps: 2 x 0.2 / 8 = 0.05 after six, a quarter of the target and not below; 0.2 / 8 = 0.025 after seven.
    assert feed(watched, shares(0.25, 0.25, 0.25, 0.25, 0.0), 10, start=21) == [27, 28, 29, 30]
    assert on(watched) == [("starved_categories", "fr")]


def test_nothing_is_raised_before_the_window_is_full() -> None:
    assert feed(health(), shares(1, 0, 0, 0, 0), WINDOW + 1) == [WINDOW, WINDOW + 1]


def test_an_excluded_category_cannot_starve() -> None:
    watched = health("peak")
    assert feed(watched, shares(0, 0, 0.34, 0.33, 0.33), 20) == []


def test_a_rare_category_is_given_the_steps_to_show_up_in() -> None:
    # On target 128 x 0.004 = 0.512 of its responses a step: 24 in 46.9 steps.
    assert feed(health({"en": 0.996, "fr": 0.004}), shares(1, 0, 0, 0, 0), 48) == [47, 48]


def wanted(*values: float) -> dict[str, float]:
    return {f"mad/target/{name}": value for name, value in zip(NAMES, values, strict=True)}


def test_a_category_starves_by_what_the_prompts_own_targets_want_of_it() -> None:
    seen = shares(0.45, 0.45, 0.04, 0.03, 0.03)
    assert feed(health(), seen, WINDOW) == [WINDOW], "three of five that are wanted equally"
    assert feed(health(), seen | wanted(0.4, 0.4, 0.1, 0.1, 0.0), 20) == []
    watched = health()
    feed(watched, seen | wanted(0.2, 0.2, 0.2, 0.05, 0.35), WINDOW)
    assert on(watched) == [("starved_categories", "es"), ("starved_categories", "fr")]


def test_the_target_of_the_window_is_the_mean_over_its_steps() -> None:
    # en: 0.2 throughout, wanted half of the time with 0.2 and half with 1: a quarter of 0.6 is 0.15.
    low, high = (shares(0.2, 0.8, 0, 0, 0) | wanted(share, 1 - share, 0, 0, 0) for share in (0.2, 1.0))
    watched = health()
    for step in range(1, 41):
        watched.update(step, (low, high)[step % 2])
    assert on(watched) == []
    (event,) = [event for step in range(41, 61) for event in watched.update(step, high)]
    # Steps 39 to 46 are one of 0.2 and seven of 1: a quarter of 0.9 is 0.225. With two of 0.2 it is 0.2, no more.
    assert event.text.startswith(
        "over the last 8 steps the shares of on-support responses were en 20.0% (target 90.0%). "
    )
    assert event.step == 46


def test_a_category_that_hardly_any_prompt_wants_is_given_the_steps_to_show_up_in() -> None:
    # 128 x 0.1 = 12.8 of its responses a step in one step of ten, and none in the others: 24 in two such steps.
    watched = health()
    none, some = (shares(1, 0, 0, 0, 0) | wanted(1 - share, 0, 0, 0, share) for share in (0.0, 0.1))
    for step in range(1, 20):
        watched.update(step, some if step % 10 == 0 else none)
        assert on(watched) == [], step
    watched.update(20, some)
    assert on(watched) == [("starved_categories", "fr")]


def test_a_category_that_the_schedule_gives_up_starves_no_longer() -> None:
    schedule = [{"step": 0, "target": "uniform"}, {"step": 100, "target": {"en": 1}}]
    watched = health({"en": 1}, target_schedule=schedule)
    seen = shares(0.25, 0.25, 0.25, 0.25, 0.0)
    for step in range(1, 100):
        watched.update(step, seen | wanted(0.2, 0.2, 0.2, 0.2, 0.2))
    assert on(watched) == [("starved_categories", "fr")]
    (event,) = watched.update(100, shares(1, 0, 0, 0, 0) | wanted(1, 0, 0, 0, 0))
    assert (event.state, event.categories) == ("cleared", ["fr"])
    assert event.text.endswith(" fr 0.0% (target 20.0%). The target now wants none of fr.")
    for step in range(101, 130):
        assert watched.update(step, shares(1, 0, 0, 0, 0) | wanted(1, 0, 0, 0, 0)) == []


def test_groups_have_collapsed_by_what_the_prompts_own_targets_explain() -> None:
    rate = {"mad/single_category_group_rate": 0.65}
    assert feed(health(), rate, WINDOW) == [WINDOW]
    assert feed(health(), rate | {"mad/single_category_group_rate_on_target": 0.44}, 40) == []
    assert feed(health(), dict.fromkeys((*rate, "mad/single_category_group_rate_on_target"), 1.0), 40) == []


def test_an_alarm_at_its_limit_does_not_flicker() -> None:
    watched = health()
    feed(watched, shares(0.24, 0.24, 0.24, 0.24, 0.04), WINDOW)
    since = dict(watched.raised)
    for step in range(WINDOW + 1, 60):  # 0.04 to 0.07: above the limit of 0.05 and below 3/2 of it
        feed(watched, shares(0.24, 0.24, 0.24, 0.24, 0.04 + 0.03 * (step % 2)), 1, start=step)
        assert watched.raised == since
    feed(watched, shares(0.23, 0.23, 0.23, 0.23, 0.08), WINDOW, start=60)
    assert not watched.raised


def test_one_bad_step_raises_nothing() -> None:
    watched = health()
    good = {"mad/ungraded_rate": 0.0, "mad/failed_session_rate": 0.0}
    feed(watched, good, WINDOW)
    assert feed(watched, good | {"mad/ungraded_rate": 0.2}, 1, start=9) == []  # 0.2 / 8 = 0.025 of 0.05
    assert feed(watched, good, WINDOW, start=10) == []


def test_sessions_that_fail_count_as_responses_without_a_verdict() -> None:
    # 0.04 + 0.96 x 0.02 = 0.0592, above a quarter of 0.2; neither is alone.
    watched = health()
    feed(watched, {"mad/ungraded_rate": 0.02, "mad/failed_session_rate": 0.04}, WINDOW)
    assert on(watched) == [("ungraded", "")]
    for rates in ((0.02, 0.0), (0.0, 0.04)):
        watched = health()
        assert feed(watched, dict(zip(("mad/ungraded_rate", "mad/failed_session_rate"), rates, strict=True)), 20) == []


@pytest.mark.parametrize(
    ("target", "group_size", "rate", "alarms"),
    [
        ("uniform", 16, 0.45, []),
        ("uniform", 16, 0.55, [("collapsed_groups", "")]),
        # On this target 0.95^16 = 0.44 of the groups are in one category, so the limit is 0.72.
        ({"en": 0.95, "fr": 0.05}, 16, 0.65, []),
        ({"en": 0.95, "fr": 0.05}, 16, 0.75, [("collapsed_groups", "")]),
        ({"en": 1}, 16, 1.0, []),
    ],
)
def test_groups_have_collapsed_when_more_of_them_have_than_the_target_explains(
    target: Any, group_size: int, rate: float, alarms: list[tuple[str, str]]
) -> None:
    watched = health(target, group_size=group_size)
    feed(watched, {"mad/single_category_group_rate": rate}, 20)
    assert on(watched) == alarms


def test_a_few_off_support_responses_do_not_hide_that_the_groups_have_collapsed() -> None:
    watched, generator = health("uniform", group_size=16), np.random.default_rng(0)
    for step in range(1, WINDOW + 1):
        # One category a group, and each response off-support one time in ten.
        groups = [np.where(generator.random(16) < 0.1, OFF_SUPPORT, generator.integers(5)) for _ in range(8)]
        rate = single_category_rate(groups)
        assert rate is not None
        watched.update(step, {"mad/single_category_group_rate": rate})
    assert on(watched) == [("collapsed_groups", "")]


@pytest.mark.parametrize(
    ("alarm", "metric", "limit"),
    [
        ("equal_rewards", "mad/equal_reward_group_rate", 0.9),
        ("off_support", "mad/off_support_rate", 0.25),
        ("truncated", "mad/truncated_failed_rate", 0.1),
    ],
)
def test_a_rate_is_raised_above_its_limit_and_cleared_at_two_thirds_of_it(
    alarm: str, metric: str, limit: float
) -> None:
    watched = health()
    assert feed(watched, {metric: limit - 0.01}, 20) == []
    feed(watched, {metric: limit + 0.01}, 20, start=21)
    assert on(watched) == [(alarm, "")]
    feed(watched, {metric: limit * 0.68}, 20, start=41)
    assert on(watched) == [(alarm, "")]
    feed(watched, {metric: limit * 0.66}, 20, start=61)
    assert on(watched) == []


def test_a_step_without_the_number_leaves_its_alarm_as_it_is() -> None:
    watched = health()
    feed(watched, shares(1, 0, 0, 0, 0), WINDOW)
    before = dict(watched.raised)
    feed(watched, {"mad/off_support_rate": 1.0}, 5, start=9)  # no response on-support, so there are no shares
    assert watched.raised == before


def test_a_resumed_run_has_the_state_of_a_run_that_was_never_stopped(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    history = {step: shares(*rng.dirichlet([1, 1, 1, 0.2, 0.02])) for step in range(1, 101)}
    straight = health()
    straight.resume(history, 101, tmp_path / "straight")
    lost = dict.fromkeys(range(61, 90), shares(0.2, 0.2, 0.2, 0.2, 0.2))  # after the last checkpoint: trained again
    resumed = health()
    resumed.resume(history | lost, 61, tmp_path / "resumed")
    for step in range(61, 101):
        resumed.record(step, history[step], tmp_path / "resumed")
    assert [on(straight), list(straight.raised.values())] == [on(resumed), list(resumed.raised.values())]
    assert min(straight.raised.values()) < 61, "an alarm that was on before the stop, and stays on"
    assert read_events(tmp_path / "resumed") == read_events(tmp_path / "straight") != []


def test_the_metrics_are_always_the_same_and_count_the_starved_categories() -> None:
    watched = health()
    assert watched.metrics() == {f"mad/alarm/{name}": 0.0 for name in ALARMS}
    feed(watched, shares(0.97, 0.03, 0, 0, 0) | {"mad/truncated_failed_rate": 0.5}, WINDOW)
    counts = {"starved_categories": 4.0, "truncated": 1.0}
    assert watched.metrics() == {f"mad/alarm/{name}": counts.get(name, 0.0) for name in ALARMS}


COLLAPSED, EVEN = shares(0.99, 0.01, 0, 0, 0), shares(0.2, 0.2, 0.2, 0.2, 0.2)


def told(watched: RunHealth, metrics: Metrics, steps: range) -> list[Event]:
    return [event for step in steps for event in watched.update(step, metrics)]


def test_an_alarm_says_what_it_saw_for_how_long_and_what_to_do_and_is_not_repeated() -> None:
    (event,) = told(health(), COLLAPSED, range(1, 41))
    assert (event.step, event.alarm, event.state) == (8, "starved_categories", "raised")
    assert event.categories == ["zh", "es", "hi", "fr"]
    assert str(event).startswith(
        "ALARM starved_categories at step 8: over the last 8 steps the shares of on-support responses were "
        "zh 1.0% (target 20.0%), es 0.0% (target 20.0%), hi 0.0% (target 20.0%), fr 0.0% (target 20.0%). "
    )
    for key in ("paths.model", "actor_rollout_ref.rollout.n, now 16", "madrl.reward.alpha, now 0.7"):
        assert key in event.text


def test_the_end_of_an_alarm_is_said_with_how_long_it_lasted() -> None:
    watched = health()
    told(watched, COLLAPSED, range(1, 21))
    # 3/2 of a quarter of 0.2 is 0.075: three even steps of 0.2 in eight. zh has another 5 x 0.01 / 8.
    assert [str(event) for event in told(watched, EVEN, range(21, 41))] == [
        "alarm starved_categories over at step 23, after 15 steps: over the last 8 steps the shares of on-support "
        "responses were zh 8.1% (target 20.0%), es 7.5% (target 20.0%), hi 7.5% (target 20.0%), fr 7.5% (target 20.0%)."
    ]


def test_a_rate_is_said_with_what_it_is_the_share_of() -> None:
    (event,) = told(health(), {"mad/truncated_failed_rate": 0.5}, range(1, 9))
    seen = "of the responses were cut at the length limit, and are wrong or in no category"
    assert event.text.startswith(f"over the last 8 steps 50.0% {seen} (limit 10")
    assert event.categories == []


@pytest.mark.parametrize(
    ("form", "says", "not_"),
    [
        ("rlvr", "this drift is what the control is there to show.", "paths.model"),
        ("gated", "madrl.reward.lambda_g, now 1", "alpha"),
    ],
)
def test_the_advice_is_that_of_the_reward_s_form(form: str, says: str, not_: str) -> None:
    reward = {"divergence": "rkl", "form": form, "alpha": 0.7, "lambda_g": 1.0, "epsilon": 0.001}
    (event,) = told(health(reward=reward), COLLAPSED, range(1, 9))
    assert says in event.text
    assert not_ not in event.text


def test_the_events_of_a_run_give_the_steps_in_which_each_alarm_was_on(tmp_path: Path) -> None:
    def event(step: int, state: str, *categories: str) -> Event:
        return Event(step, "starved_categories" if categories else "truncated", state, list(categories), "")

    raised = [event(8, "raised", "zh", "es"), event(9, "raised"), event(12, "raised", "hi")]
    cleared = [event(14, "cleared", "es", "hi"), event(15, "cleared"), event(20, "cleared", "zh")]
    assert stretches([*raised, *cleared]) == [Stretch(raised[0], 20), Stretch(raised[1], 15), Stretch(raised[2], 14)]
    assert [stretch.cleared for stretch in stretches([*raised, *cleared[:2]])] == [None, 15, 14], "zh is still on"
    again = event(30, "raised", "es")
    assert stretches([*raised, *cleared, again])[-1] == Stretch(again, None)


def test_events_come_back_from_the_file_as_they_were_and_a_half_written_one_waits(tmp_path: Path) -> None:
    watched, path = health(), tmp_path / "alarms.jsonl"
    assert read_events(path) == []
    watched.resume({}, 1, path)
    assert path.read_text() == ""
    expected = told(health(), COLLAPSED, range(1, 9))
    for step in range(1, 9):
        watched.record(step, COLLAPSED, path)
    assert read_events(path) == expected
    with path.open("a") as file:
        file.write('{"step": 9, "al')
    assert read_events(path) == expected

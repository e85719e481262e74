"""The alarms of ``madrl.alarms`` in words: what was seen, for how long, and what to do, with the config's own keys.

Most keys cannot change within a run (``launch.RESUMABLE``), so most advice is for the next one.
"""

from collections.abc import Sequence

from madrl.alarms import ALARMS, Gauge, Metrics, RunHealth
from madrl.settings import Settings

WATCHED = {
    "collapsed_groups": "prompts had all their on-support responses in one category",
    "ungraded": "responses had no verdict or did not come back",
    "equal_rewards": "prompts gave all their responses the same reward",
    "off_support": "responses were in no category",
    "truncated": "responses were cut at the length limit",
}
"""What an alarm's rate is the share of."""


class AlarmMessages:
    """One line for each alarm that a step raised or cleared; an alarm that stays on is not repeated."""

    def __init__(self, settings: Settings, prompts: int, group_size: int) -> None:
        self.health = RunHealth(settings, prompts, group_size)
        self._settings = settings
        self._group_size = group_size
        self._told: dict[Gauge, int] = {}

    def __call__(self, step: int, metrics: Metrics) -> list[str]:
        """Take in one step's training metrics, and say what changed since the last call.

        Alarms that ``health.replay`` found raised are said in the first call: after a resume the reader is a new one.
        """
        self.health.update(step, metrics)
        raised, told = self.health.raised, self._told
        self._told = dict(raised)
        lines = []
        for alarm in ALARMS:
            new = [gauge for gauge in raised if gauge.alarm == alarm and gauge not in told]
            over = [gauge for gauge in told if gauge.alarm == alarm and gauge not in raised]
            if new:
                lines.append(f"ALARM {alarm} at step {step}: {self._seen(new)}. {self._advice(alarm)}")
            if over:
                since = min(told[gauge] for gauge in over)
                lines.append(f"alarm {alarm} over at step {step}, after {step - since} steps: {self._seen(over)}.")
        return lines

    def _seen(self, gauges: Sequence[Gauge]) -> str:
        """What the gauges of one alarm show, and over how many steps."""
        steps = f"over the last {max(gauge.window for gauge in gauges)} steps"
        if gauges[0].category:
            shares = [f"{g.category} {self.health.mean(g):.1%} (target {g.target:.1%})" for g in gauges]
            return f"{steps} the shares of on-support responses were {', '.join(shares)}"
        gauge = gauges[0]
        return f"{steps} {self.health.mean(gauge):.1%} of the {WATCHED[gauge.alarm]} (limit {gauge.raised_at:.1%})"

    def _advice(self, alarm: str) -> str:
        reward = self._settings.reward
        if alarm in ("starved_categories", "collapsed_groups") and reward.form == "rlvr":
            return "The rlvr form has no distributional reward: this drift is what the control is there to show."
        larger_group = f"with a larger group (actor_rollout_ref.rollout.n, now {self._group_size})"
        if reward.form == "gated":
            weight = f"with more weight on the distribution (madrl.reward.lambda_g, now {reward.lambda_g:g})"
        else:
            weight = f"with less weight on correctness (madrl.reward.alpha, now {reward.alpha:g})"
        return {
            "starved_categories": (
                "A category that no response of a group is in earns nothing there, so it may never come back. If it "
                "does not rise by itself, start a new run from a warm start in which every wanted category is sampled "
                f"(paths.model), {larger_group}, or {weight}."
            ),
            "collapsed_groups": (
                "The distributional reward is constant in such a group and teaches nothing, and the pooled shares can "
                "look right all the same. Start a new run from a warm start that mixes within each prompt "
                f"(paths.model), {larger_group}, or with a higher actor_rollout_ref.rollout.temperature."
            ),
            "ungraded": (
                f"Above madrl.max_ungraded_rate={self._settings.max_ungraded_rate:g} in one step the run stops. The "
                "reasons are in the run's scores/ and train.log. Restart the sandboxes that are down, or stop the run, "
                "name more in MADRL_SANDBOX_URLS and start it again; it resumes. A row whose reference cannot be "
                "parsed has to leave the data."
            ),
            "equal_rewards": (
                "Such a group moves nothing. Either the groups have collapsed (mad/single_category_group_rate), or the "
                "problems are all too hard or too easy (mad/pass@1). Start a new run on others (paths.data), "
                f"{larger_group}, or, from rlvr or gated, with madrl.reward.form=additive."
            ),
            "off_support": (
                "The shares and the JSD are of the other responses alone. Read some in the run's rollouts/ beside "
                "scores/: if they are good, madrl.classifier or madrl.categories is wrong; if not, warm start again "
                "(paths.model)."
            ),
            "truncated": (
                "A response that is cut has no answer, and languages that take more tokens are cut first, so that the "
                "limit itself steers the mix. Start a new run with a larger data.max_response_length."
            ),
        }[alarm]

"""What veRL's replay buffer drops and has generated anew, on the real queue, with the groups scripted: DAPO's filter,
groups that failed as a whole, and what stops a run that would generate or wait for ever; and the same when groups are
sampled ahead."""

import contextlib
import json
import os
import signal
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import ray
import torch
import transfer_queue as tq
from omegaconf import OmegaConf
from verl.trainer.ppo.v1.trainer_base import PPOTrainer
from verl.utils.tensordict_utils import list_of_dict_to_tensordict

from madrl.errors import MadrlError
from madrl.failures import failure_of
from madrl.process import COMMON_ENVIRONMENT
from madrl.run_folder import RunFolder
from madrl.trainer import step_watch
from madrl.trainer.compose import compose
from madrl.trainer.replay_buffer import MadReplayBuffer
from madrl.trainer.step_watch import WORKER_PREFIX, StepWatch, living_processes

pytestmark = pytest.mark.verl(group="test_group_filter")

PROMPTS, GROUP = 2, 8
FILTER = "algorithm.filter_groups.enable=True"
AHEAD = "trainer.v1.trainer_mode=colocate_async"


class Group(NamedTuple):
    """What comes back for one prompt."""

    categories: Sequence[str | None]
    rewards: Sequence[float]
    correct: float | None = 1.0
    attributes: str | None = None
    """What each is of the further attributes, as the reward manager writes it."""


MIXED = Group(["rank_1", "rank_3", "rank_4", "rank_5"] * 2, [-1.0, 0.5, 0.25, 0.0] * 2)
EQUAL = Group(["rank_3"] * GROUP, [0.5] * GROUP)
UNGRADED = Group(["rank_3", "rank_4", "rank_5", "rank_3"] * 2, [0.5] * GROUP, correct=None)
LOST = Group([], [])


@pytest.fixture(scope="module", autouse=True)
def queue() -> Iterator[None]:
    """A Ray and a queue of our own."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (COMMON_ENVIRONMENT | {"RAY_AUTH_MODE": "disabled"}).items():
            patch.setitem(os.environ, name, value)
        ray.init("local", num_cpus=4, include_dashboard=False, object_store_memory=80_000_000, log_to_driver=False)
        tq.init(OmegaConf.create({"backend": {"SimpleStorage": {"num_data_storage_units": 1}}}))
        yield
        tq.close()
        ray.shutdown()


class Script:
    """Groups that come back in the order in which they are written down, for as many prompts as are asked for."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self.groups = list(groups)
        self.asked: list[int] = []
        self.step = 1
        """At which the prompts are asked for."""

    def generate(self, prompts: int) -> None:
        self.asked.append(prompts)
        for _ in range(prompts):
            self._come_back(self.groups.pop(0))

    def _come_back(self, group: Group) -> None:
        uid = uuid.uuid4().hex
        if group.categories:
            infos = [
                {"category": c, "correct": group.correct, "correctness": 1.0, "divergence_reward": r, "reason": "down"}
                | {"unusual": None, "queued": 1, "row": "7", "verifier_extra": None}
                | ({} if group.attributes is None else {"attributes": group.attributes})
                for c, r in zip(group.categories, group.rewards, strict=True)
            ]
            rows = [
                {"extra_fields": {"reward_extra_info": info}, "rm_scores": torch.tensor([0.0, reward])}
                for info, reward in zip(infos, group.rewards, strict=True)
            ]
            keys = [f"{uid}_{session}_0" for session in range(len(rows))]
            tags = [{"response_len": 2, "seq_len": 4, "global_steps": 1}] * len(rows)
            tq.kv_batch_put(keys=keys, partition_id="train", fields=list_of_dict_to_tensordict(rows), tags=tags)
        status = "finished" if group.categories else "failure"
        tq.kv_batch_put(
            keys=[uid], partition_id="train", tags=[{"is_prompt": True, "status": status, "global_steps": self.step}]
        )


def buffer_of(folder: Path, script: Script, *overrides: str) -> MadReplayBuffer:
    """The sampler as veRL builds it from the config of a run."""
    for partition, items in (tq.kv_list() or {}).items():
        if items:
            tq.kv_clear(partition_id=partition, keys=list(items))
    options = ["task=synthetic_closed", "madrl.target=peak", "trainer.experiment_name=x", f"paths.run={folder}"]
    options += [f"data.train_batch_size={PROMPTS}", f"actor_rollout_ref.rollout.n={GROUP}", "profile=tiny"]
    config = compose([*options, f"paths.data={folder}", f"paths.model={folder}", *overrides])
    mode = config.trainer.v1.trainer_mode
    trainer = SimpleNamespace(config=config, trainer_mode=mode, _add_prompts_to_generate=script.generate)
    buffer: MadReplayBuffer = PPOTrainer._build_replay_buffer(trainer)
    script.generate(PROMPTS)
    return buffer


def sampled(buffer: MadReplayBuffer, step: int = 2) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """The dump and the metrics of one step."""
    _, metrics = buffer.sample(step, "train", PROMPTS)
    lines = (buffer.run.scores / f"{step}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines], metrics


def test_without_a_filter_a_group_of_equal_rewards_is_trained_on(tmp_path: Path) -> None:
    script = Script([EQUAL, MIXED])
    records, metrics = sampled(buffer_of(tmp_path, script))
    assert script.asked == [PROMPTS]
    assert [r["dropped"] for r in records] == [False] * PROMPTS * GROUP
    assert metrics["mad/dropped_group_rate"] == 0.0


def test_groups_of_equal_rewards_are_replaced_and_measured_all_the_same(tmp_path: Path) -> None:
    script = Script([EQUAL, MIXED, EQUAL, MIXED])
    buffer = buffer_of(tmp_path, script, FILTER)
    records, metrics = sampled(buffer)
    assert script.asked == [PROMPTS, 2], "two for each that is dropped, as veRL does"
    assert sorted((r["category"], r["dropped"]) for r in records) == sorted(
        [(c, True) for c in EQUAL.categories] * 2 + [(c, False) for c in MIXED.categories] * 2
    )
    # Two of four groups are dropped; they are all in one category and of equal rewards.
    assert metrics["mad/dropped_group_rate"] == 0.5
    assert metrics["mad/single_category_group_rate"] == 0.5
    assert metrics["mad/equal_reward_group_rate"] == 0.5
    assert metrics["mad/share/rank_3"] == 20 / 32
    assert metrics["mad/failed_session_rate"] == 0.0
    assert metrics["training/filter_groups/evicted_samples"] == 2


def test_a_group_that_was_sampled_ahead_waits_for_the_next_step(tmp_path: Path) -> None:
    script = Script([MIXED, MIXED, EQUAL, MIXED])
    buffer = buffer_of(tmp_path, script, AHEAD)
    script.step = 2
    script.generate(2)
    records, metrics = sampled(buffer)
    assert [r["category"] for r in records] == [*MIXED.categories] * 2, "the oldest come first"
    assert metrics["mad/dropped_group_rate"] == 0.0
    records, _ = sampled(buffer, step=3)
    assert sorted(map(str, (r["category"] for r in records))) == sorted(
        map(str, (*EQUAL.categories, *MIXED.categories))
    )
    assert script.asked == [PROMPTS, 2], "no other is asked for"


def test_ahead_one_group_is_asked_for_in_place_of_each_that_failed_or_is_too_old(tmp_path: Path) -> None:
    script = Script([LOST, MIXED, MIXED])
    records, metrics = sampled(buffer_of(tmp_path, script, AHEAD, "madrl.max_ungraded_rate=0.5"))
    assert script.asked == [PROMPTS, 1]
    assert len(records) == 2 * GROUP
    assert metrics["mad/failed_session_rate"] == pytest.approx(1 / 3)
    assert metrics["training/rollout_failure/evicted_samples"] == 1
    script = Script([EQUAL, EQUAL, MIXED, MIXED])
    buffer = buffer_of(tmp_path, script, AHEAD, "trainer.v1.sampler.max_off_policy_threshold=2")
    script.step = 3
    records, metrics = sampled(buffer, step=3)  # the first two are of step 1: they would span three versions
    assert sorted((r["category"], r["dropped"]) for r in records) == sorted(
        [(c, True) for c in EQUAL.categories] * 2 + [(c, False) for c in MIXED.categories] * 2
    )
    assert metrics["mad/dropped_group_rate"] == 0.5
    assert metrics["training/off_policy/evicted_samples"] == 2


def test_a_replay_buffer_that_is_not_of_the_mode_is_refused(tmp_path: Path) -> None:
    name = "trainer.v1.sampler.custom_sampler.name"
    for overrides, said in (
        ([AHEAD, f"{name}=MadReplayBuffer"], "derive it from MadReplayBufferAsync"),
        ([f"{name}=MadReplayBufferAsync"], "derive it from MadReplayBuffer$"),
    ):
        with pytest.raises(MadrlError, match=said):
            buffer_of(tmp_path, Script([]), *overrides)


def test_only_groups_that_differ_are_trained_on(tmp_path: Path) -> None:
    batch, _ = buffer_of(tmp_path, Script([EQUAL, MIXED, EQUAL, MIXED]), FILTER).sample(2, "train", PROMPTS)
    scores = tq.kv_batch_get(keys=batch.keys, partition_id="train", select_fields=["rm_scores"])["rm_scores"]
    assert sorted(float(s.sum()) for s in scores) == sorted([*MIXED.rewards] * 2)


def test_groups_that_came_back_beyond_the_batch_are_measured_too(tmp_path: Path) -> None:
    records, metrics = sampled(buffer_of(tmp_path, Script([EQUAL, MIXED, MIXED, MIXED]), FILTER))
    assert sum(r["dropped"] for r in records) == 2 * GROUP
    assert len(records) == 4 * GROUP
    assert metrics["training/filter_groups/discarded_surplus_samples"] == 1


def test_the_metric_of_the_filter_is_the_one_that_is_asked_for(tmp_path: Path) -> None:
    script = Script([EQUAL, MIXED, MIXED._replace(categories=["rank_3"] * GROUP), MIXED])
    metric = "algorithm.filter_groups.metric=correctness"
    limit = "algorithm.filter_groups.max_num_gen_batches=2"
    with pytest.raises(
        MadrlError, match=r"responses to only 0 of 4 prompts differ in correctness, .*batches=2 batches"
    ):
        sampled(buffer_of(tmp_path, script, FILTER, metric, limit))


def test_a_run_that_finds_no_group_to_train_on_ends_at_its_limit(tmp_path: Path) -> None:
    script = Script([EQUAL] * 100)
    with pytest.raises(MadrlError, match=r"train step 2: the responses to only 0 of 6 prompts differ in reward"):
        sampled(buffer_of(tmp_path, script, FILTER, "algorithm.filter_groups.max_num_gen_batches=3"))


def test_an_outage_is_not_filtered_away(tmp_path: Path) -> None:
    """Ungraded responses all have one correctness: their groups would be generated anew until the judge is back."""
    with pytest.raises(MadrlError, match=r"train step 2: 100.0% of the responses are ungraded .* 16 x down"):
        sampled(buffer_of(tmp_path, Script([UNGRADED] * 100), FILTER))


def test_a_group_that_failed_as_a_whole_is_replaced_and_counted(tmp_path: Path) -> None:
    script = Script([MIXED, LOST, MIXED])
    refill, limit = "trainer.v1.sampler.sync_refill_failed_groups=True", "madrl.max_ungraded_rate=0.5"
    records, metrics = sampled(buffer_of(tmp_path, script, refill, limit))
    assert script.asked == [PROMPTS, 1]
    assert len(records) == PROMPTS * GROUP
    assert metrics["mad/failed_session_rate"] == pytest.approx(1 / 3)


def test_groups_that_all_fail_are_not_replaced_for_ever(tmp_path: Path) -> None:
    with pytest.raises(MadrlError, match=r"100.0% of the responses are ungraded or failed.* 16 sessions failed"):
        sampled(buffer_of(tmp_path, Script([LOST] * 100), "trainer.v1.sampler.sync_refill_failed_groups=True"))


def test_a_batch_of_which_nothing_came_back_is_told_as_an_outage(tmp_path: Path) -> None:
    with pytest.raises(MadrlError, match=r"train step 2: 100.0% of the responses .* 16 sessions failed"):
        sampled(buffer_of(tmp_path, Script([LOST] * PROMPTS)))


@pytest.mark.parametrize("overrides", [[], [FILTER]])
def test_a_run_that_starts_collapsed_stops_in_its_first_batch(tmp_path: Path, overrides: list[str]) -> None:
    with pytest.raises(MadrlError, match=r"^launch check: .* 100.0% of the 2 prompts .*: madrl.launch_check=warn$"):
        sampled(buffer_of(tmp_path, Script([EQUAL] * 100), *overrides), step=1)
    assert not RunFolder(tmp_path).launch_check.exists()


def test_a_run_that_a_further_attribute_stops_says_which(tmp_path: Path) -> None:
    size = {"size": {"category": "long", "classified": True, "divergence_reward": 0.0}}
    groups = [MIXED._replace(attributes=json.dumps(size))] * PROMPTS
    attributes = "madrl.attributes={size: {classifier: length, categories: [short, long], classifier_args: "
    attributes += "{unit: words, buckets: {short: 9, long: null}}}}"
    with pytest.raises(MadrlError, match=r"^launch check of size: the model .* 100.0% of the 2 prompts"):
        sampled(buffer_of(tmp_path, Script(groups), attributes), step=1)


@pytest.mark.parametrize(
    ("override", "more"), [("madrl.launch_check=warn", True), ("madrl.reward.form=rlvr", False)], ids=["warn", "rlvr"]
)
def test_a_run_that_goes_on_all_the_same_leaves_the_line_before_the_other_notes(
    tmp_path: Path, override: str, more: bool
) -> None:
    sampled(buffer_of(tmp_path, Script([EQUAL, EQUAL]), override), step=1)
    problem, *notes = RunFolder(tmp_path).launch_check.read_text().splitlines()
    assert problem.startswith(
        "launch check: the model that this run starts from cannot be steered: 100.0% of the 2 prompts"
    )
    assert bool(notes) == more
    assert all(note.startswith("launch check: 0.00% of the responses are ") for note in notes)


def test_a_run_that_has_begun_is_not_graded_again(tmp_path: Path) -> None:
    sampled(buffer_of(tmp_path, Script([EQUAL, EQUAL])), step=2)
    assert not RunFolder(tmp_path).launch_check.exists()


@contextlib.contextmanager
def processes(*names: str) -> Iterator[list[int]]:
    """Actors of these names, as their process ids. Ray frees a name only some time after its actor has died."""

    class Process:
        """An agent-loop worker or an engine's server, as far as its life goes."""

        def pid(self) -> int:
            return os.getpid()

    actors: list[Any] = [ray.remote(Process).options(num_cpus=0, name=name).remote() for name in names]
    try:
        yield ray.get([actor.pid.remote() for actor in actors])
    finally:
        for actor in actors:
            ray.kill(actor)


@pytest.mark.parametrize(
    ("lives", "dies"), [(f"{WORKER_PREFIX}0_a", f"{WORKER_PREFIX}1_b"), (f"{WORKER_PREFIX}0_c", "vllm_server_1_0")]
)
def test_a_process_that_is_killed_ends_a_run_that_would_wait_for_its_responses(
    lives: str, dies: str, tmp_path: Path
) -> None:
    buffer = buffer_of(tmp_path, Script([MIXED, MIXED]))

    def kill_one_when_both_are_known(pid: int) -> None:
        while dies not in buffer._watch._expected:
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)

    with processes(lives, dies) as pids:
        killer = threading.Thread(target=kill_one_when_both_are_known, args=(pids[1],), daemon=True)
        killer.start()
        with pytest.raises(MadrlError, match=f"^train step 2: {dies} died"):
            buffer.sample(2, "train", PROMPTS + 1)
        killer.join()


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        # veRL's own words are of replacing failed groups
        pytest.param("vllm_server_2_0", [LOST, LOST], id="no response"),
        # and ours of an outage
        pytest.param("vllm_server_3_0", [MIXED, LOST], id="a few responses"),
    ],
)
def test_a_server_that_was_killed_between_two_looks_is_named(name: str, groups: list[Group], tmp_path: Path) -> None:
    buffer = buffer_of(tmp_path, Script(groups))
    with processes(name) as [pid]:
        buffer._watch.check_living()
        os.kill(pid, signal.SIGKILL)
        while name in ray.util.list_named_actors():
            time.sleep(0.01)
        with pytest.raises(MadrlError, match=f"^train step 2: {name} died"):
            buffer.sample(2, "train", PROMPTS)


@contextlib.contextmanager
def engine_server(name: str, says: int | str | None) -> Iterator[None]:
    """An engine's server. vLLM answers 503 at /health for a dead engine, or its server ends (None)."""

    class Server:
        """The actor before an engine, as veRL calls and asks it."""

        def __init__(self) -> None:
            class Handler(BaseHTTPRequestHandler):
                def do_GET(self) -> None:
                    self.send_response(int(says or 0) if self.path == "/health" else 404)
                    self.end_headers()

            self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            threading.Thread(target=self.server.serve_forever, daemon=True).start()
            if says is None:
                self.server.shutdown()
                self.server.server_close()

        def get_server_address(self) -> tuple[str, int]:
            assert says != "no port", "http server is not launched, port is None"
            return "127.0.0.1", self.server.server_port

    server = ray.remote(Server).options(num_cpus=0, name=name).remote()
    try:
        yield
    finally:
        ray.kill(server)


def test_the_queue_s_controller_is_looked_after() -> None:
    assert "TransferQueueController" in living_processes()


@pytest.mark.parametrize("dead", ["TransferQueueController", "vllm_server_4_0"])
def test_a_task_runner_that_waits_for_the_dead_is_ended_whatever_it_waits_for(dead: str) -> None:
    """In a poll it waits for the queue's controller for ever, in an update for workers that do, and then for an engine
    to take weights."""

    class Worker:
        def update(self) -> None:
            threading.Event().wait()

    class TaskRunner:
        """veRL's, as far as its waiting goes."""

        def run(self, worker: Any) -> None:
            step_watch.DEAD_FOR_S = 0.1
            living = {"TransferQueueController"}
            watch = StepWatch(max_idle_s=1e6, living=lambda: set(living))
            watch.begin("train step 2")
            watch.look(0)
            living.difference_update({dead})
            ray.get(worker.update.remote(), timeout=600)

    worker = ray.remote(Worker).options(num_cpus=0).remote()
    says = 503 if dead == "vllm_server_4_0" else 200
    with engine_server("vllm_server_4_0", says), pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(ray.remote(TaskRunner).options(num_cpus=0).remote().run.remote(worker))
    ray.kill(worker)
    logs = Path(ray._private.worker.global_worker.node.get_logs_dir_path())
    said = [line for log in logs.glob("worker-*.err") for line in log.read_text().splitlines() if dead in line]
    found = failure_of(said)
    assert found is not None
    assert found.meaning.startswith("a process died without which the run would wait for ever")
    assert found.line.startswith("madrl's overseer ends the run: train step 2: ")


@pytest.mark.parametrize(
    ("says", "is_dead"),
    [
        pytest.param(200, False, id="alive"),
        pytest.param(503, True, id="dead"),
        pytest.param(None, True, id="ended with its engine"),
        pytest.param("no port", False, id="of another node, without a server of HTTP"),
    ],
)
def test_a_run_does_not_send_weights_to_an_engine_that_is_dead(
    says: int | str | None, is_dead: bool, tmp_path: Path
) -> None:
    with engine_server("vllm_server_0_0", says):
        buffer = buffer_of(tmp_path, Script([MIXED, MIXED]))
        if is_dead:
            with pytest.raises(MadrlError, match=r"^train step 2: the vLLM engine of vllm_server_0_0 died"):
                sampled(buffer)
        else:
            sampled(buffer)


def test_a_step_in_which_nothing_comes_back_ends_at_the_limit(tmp_path: Path) -> None:
    buffer = buffer_of(tmp_path, Script([MIXED, MIXED]), "madrl.max_idle_s=0.5")
    with pytest.raises(MadrlError, match=r"train step 2: no response has come back for 0.5 s"):
        buffer.sample(2, "train", PROMPTS + 1)

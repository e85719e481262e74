"""MaD-RL's reward as an algorithm of prime-rl, shown on greetings: a third should be in each language.

    python examples/prime_rl_score_group.py

`score_group` is that of prime_rl.orchestrator.algo.base.Algorithm (prime-rl v0.8.1.dev67), on the episodes of verifiers
0.4.0: credit goes to the tokens that the model sampled. There an algorithm is named in the code: derive this class from
Algorithm and register it ("Authoring an Algorithm" in prime-rl's docs/algorithms.md). Here nothing of it is imported.
"""

import asyncio
from types import SimpleNamespace as Record

import madrl


class TargetMix:
    """A response's advantage is its reward, less the mean of its group."""

    def __init__(self, reward: madrl.GroupReward) -> None:
        self.reward = reward

    async def score_group(self, episodes):
        """Write the advantages of all episodes of one task into their message nodes. Failed traces get none."""
        traces = [trace for episode in episodes for trace in episode.traces if trace.ok and trace.agent.trainable]
        if traces := [trace for trace in traces if any(any(node.mask) for node in trace.nodes)]:
            score = await self.reward([madrl.Rollout(trace.last_reply, trace.task.data.answer) for trace in traces])
            for trace, advantage in zip(traces, (score.reward - score.reward.mean()).tolist(), strict=True):
                for node in trace.nodes:
                    node.advantages = [advantage] * sum(node.mask) or None  # one for each sampled token


def episode(reply: str) -> Record:
    """What verifiers' Episode is for one reply: the nodes of its prompt and its tokens, one of them not sampled."""
    nodes = [Record(mask=[False], advantages=None), Record(mask=[False, True, True], advantages=None)]
    task, agent = Record(data=Record(answer="Anna")), Record(trainable=True)
    return Record(traces=[Record(ok=True, agent=agent, task=task, last_reply=reply, nodes=nodes)])


if __name__ == "__main__":
    words = {"english": "Hello", "spanish": "Hola", "french": "Bonjour"}
    reward = madrl.GroupReward(
        categories=list(words),
        classifier="regex",
        classifier_args={"patterns": words},
        verifier=lambda rollout: rollout.ground_truth in rollout.response,
    )
    group = [episode(reply) for reply in ("Hello, Anna!", "Hello Anna.", "Hello, Ben!", "Hola, Anna!", "Bonjour Anna.")]
    asyncio.run(TargetMix(reward).score_group(group))
    for one in group:
        print(f"{one.traces[0].last_reply:<14} {one.traces[0].nodes[-1].advantages[0]:6.2f} for each token")

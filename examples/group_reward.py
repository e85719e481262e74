"""The reward of one group, without a trainer: eight greetings that answer one prompt, and what each earns.

    python examples/group_reward.py

Needs the light installation only (`pip install .`). A third of the greetings should be in each language; here most are
English, one has no language of ours, and one greets somebody else.
"""

import madrl
from madrl.evaluation.metrics import jsd_to_target

WORDS = {"Hello": "english", "Hola": "spanish", "Bonjour": "french"}
ENGLISH = ["Hello, Anna!", "Hello Anna.", "Hello, Anna!", "Anna: Hello!", "Hello, Ben!"]
RESPONSES = [*ENGLISH, "Hola, Anna!", "Bonjour Anna.", "Anna!"]


def language(rollout: madrl.Rollout) -> str | None:
    """The category: the language of the greeting, or None, which is off-support, where there is no greeting."""
    return next((name for word, name in WORDS.items() if word in rollout.response), None)


def names_her(rollout: madrl.Rollout) -> bool:
    """The correctness: whether the response names the row's ground truth."""
    return rollout.ground_truth in rollout.response


reward = madrl.GroupReward(
    categories=["english", "spanish", "french"], target="uniform", classifier=language, verifier=names_her, alpha=0.7
)
score = reward.score([madrl.Rollout(response, ground_truth="Anna") for response in RESPONSES])

print("response        category  reward = 0.7 correct + 0.3 r_div")
rows = zip(RESPONSES, score.grades, score.reward, score.correctness, score.divergence_reward, strict=True)
for response, grade, total, correct, r_div in rows:
    print(f"{response:<14}  {grade.category!s:<8}  {total:6.2f}   {correct:11.0f}       {r_div:6.2f}")
shares = dict(zip(reward.categories, score.frequency.round(3).tolist(), strict=True))
indices = madrl.category_indices([grade.category for grade in score.grades], reward.categories)
print(f"shares {shares}, off-support {1 - score.frequency.sum():.3f}")
print(f"JSD to the target {jsd_to_target(reward.target, indices):.3f} nats")

"""MaD-RL: match a user's target distribution over a category of an LLM's responses with GRPO.

The paper is "MaD-RL: Matching Distributions for Calibrating LLMs with Reinforcement Learning".
"""

__version__ = "0.1.0"

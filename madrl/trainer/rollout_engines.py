"""What madrl knows of the engines that generate a run's responses."""

SEED_PARAMETER = {"vllm": "seed", "sglang": "sampling_seed"}
"""Rollout engine -> its name for a request's sampling seed. These are the engines that a run can have.

SGLang reads its own under deterministic inference only: engine_kwargs.sglang.enable_deterministic_inference=true.
"""

"""Responses of a model outside of training: k samples for each row from vLLM, graded as in training."""

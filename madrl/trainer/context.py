"""How many tokens a model reads at most."""


def context_length(model: str, *, trust_remote_code: bool) -> int | None:
    """``max_position_embeddings`` of the config of ``model``, a folder or a name on the hub, which bounds a prompt and
    its response together; None where the config has none. Raises OSError and ValueError as transformers does."""
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(model, trust_remote_code=trust_remote_code)
    limit: int | None = getattr(config, "max_position_embeddings", None)
    return limit

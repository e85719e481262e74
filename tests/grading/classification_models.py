"""Tiny sequence-classification models with random weights, made on the spot: nothing is downloaded."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from madrl.miniature.model import build_tokenizer

SENTENCES = [
    f"{subject} {verb} {thing}{end}"
    for subject in ("The judge", "Nobody", "A small model", "She")
    for verb in ("reads", "forgets", "likes", "weighs")
    for thing in ("the answer", "two red marbles", "all of it, twice")
    for end in (".", "!", " and goes on, and on, and on.")
]


def make_encoder(folder: Path, labels: Sequence[str]) -> None:
    """A BERT with a WordPiece tokenizer."""
    import torch
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    pieces = BertWordPieceTokenizer()
    pieces.train_from_iterator(SENTENCES, vocab_size=300, min_frequency=1, show_progress=False)
    tokenizer = BertTokenizerFast(tokenizer_object=pieces._tokenizer, model_max_length=64)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        initializer_range=0.5,  # so that the labels of different sentences differ
        id2label=dict(enumerate(labels)),
        label2id={label: number for number, label in enumerate(labels)},
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def make_decoder(folder: Path, labels: Sequence[str]) -> None:
    """A Qwen3 whose tokenizer pads with the token that ends a turn, as some do, and has a chat template."""
    import torch
    from transformers import Qwen3Config, Qwen3ForSequenceClassification

    tokenizer = build_tokenizer(SENTENCES, 400)
    tokenizer.pad_token = tokenizer.eos_token
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=256,
        initializer_range=0.3,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
        id2label=dict(enumerate(labels)),
        label2id={label: number for number, label in enumerate(labels)},
    )
    Qwen3ForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def outputs_one_by_one(folder: Path, tokens: Sequence[Sequence[int]]) -> Any:
    """What the head gives out for each text's tokens, each text alone and without padding: an array of a row each."""
    import numpy as np
    import torch
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
    model.config.pad_token_id = None  # or a text's last token would not count when it is that one
    with torch.inference_mode():
        rows = [model(input_ids=torch.tensor([row]), attention_mask=torch.ones(1, len(row))).logits for row in tokens]
    return np.concatenate([row.numpy() for row in rows])

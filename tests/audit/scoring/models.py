"""A tiny causal language model with random weights, made on the spot."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="scoring needs torch: pip install 'template-lint[score]'")

VOCABULARY = 101


def tiny_model(
    *, dtype: Any = None, vocabulary: int = VOCABULARY, width: int = 32, scale: float = 1.0, seed: int = 0
) -> Any:
    """A Qwen3 model of two layers and a hidden size of ``width``, ready to score.

    ``scale`` multiplies the logits, so that distributions are sharp or flat.
    """
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=width // 4,
        max_position_embeddings=4096,
        tie_word_embeddings=False,
    )
    model = Qwen3ForCausalLM(config)
    with torch.no_grad():
        model.lm_head.weight.mul_(scale)
    return model.to(dtype or torch.float32).eval()


def random_ids(*lengths: int, vocabulary: int = VOCABULARY, seed: int = 1) -> list[list[int]]:
    """One buffer of random ids for each length."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(0, vocabulary, (length,), generator=generator).tolist() for length in lengths]

"""What the files around a tokenizer make transformers do with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from template_lint.snapshot.model import Snapshot
from template_lint.snapshot.special_tokens import DeclaredTokens, token_text
from template_lint.snapshot.tokenizer_class import tokenizer_class

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_OWN_BOS = frozenset({"LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer", "CohereTokenizer"})
_PROBE = "zq \u2603"
"""A text that every usable tokenizer can encode: one without a token for unknown words fails here, not in a rule."""


class Habits(NamedTuple):
    """What transformers does with a tokenizer beyond text <-> ids.

    ``bos_id``: the id of its BOS token, None without one. ``adds_bos``: ``tokenizer(text)`` puts it first.
    ``cleans_up``: decode() removes spaces before punctuation. ``rows``: ids of the model's output layer, None where
    config.json does not say. ``stop_ids``: those of the model, at which ``generate`` stops; empty where no file names
    any.
    """

    bos_id: int | None = None
    adds_bos: bool = False
    cleans_up: bool = False
    rows: int | None = None
    stop_ids: tuple[int, ...] = ()


def habits_of(
    tokenizer: Tokenizer, snapshot: Snapshot, declared: DeclaredTokens, profile_version: tuple[int, int]
) -> Habits:
    """Read configuration and model configuration, and ask the tokenizer, whose truncation and padding are
    switched off. Raises what encoding raises."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode(_PROBE)
    bos = declared.named.get("bos_token")
    bos_id = tokenizer.token_to_id(token_text(bos)) if bos is not None else None
    adds_bos = bos_id is not None and tokenizer.encode("a").ids[:1] == [bos_id]
    old = profile_version < (5, 0)
    if old and bos_id is not None and tokenizer_class(snapshot, profile_version) in _OWN_BOS:
        # These replace the post-processor of tokenizer.json.
        adds_bos = snapshot.config.get("add_bos_token", True) is True
    nested = snapshot.model_config.get("text_config")
    configs = [snapshot.model_config, *([nested] if isinstance(nested, Mapping) else [])]
    rows = [config["vocab_size"] for config in configs if type(config.get("vocab_size")) is int]
    return Habits(
        bos_id=bos_id,
        adds_bos=adds_bos,
        cleans_up=old and bool(snapshot.config.get("clean_up_tokenization_spaces", False)),
        rows=rows[-1] if rows else None,
        stop_ids=snapshot.stop_ids,
    )

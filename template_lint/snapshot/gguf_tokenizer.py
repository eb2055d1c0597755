"""Builds a tokenizer from GGUF metadata, for the byte-level BPE families whose result was compared with tokenizer.json.

A GGUF file names its way of splitting words (``tokenizer.ggml.pre``) but does not hold it; the patterns here are those
of the models' own tokenizer.json.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from template_lint.snapshot.gguf_metadata import GgufMetadata

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"


@dataclass(frozen=True, kw_only=True)
class _Splitting:
    """``patterns`` are applied one after the other; ``ignore_merges``: a word of the vocabulary is taken whole."""

    patterns: tuple[str, ...]
    ignore_merges: bool = False
    nfc: bool = False


_CL100K_STYLE = _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _SPACES
_SPLITTINGS = {
    "qwen2": _Splitting(patterns=(_CL100K_STYLE % r"\p{N}",), nfc=True),
    "llama-bpe": _Splitting(patterns=(_CL100K_STYLE % r"\p{N}{1,3}",), ignore_merges=True),
    "gpt-4o": _Splitting(
        patterns=(
            rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTIONS}?"
            rf"|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTIONS}?"
            r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + _SPACES,
        ),
        ignore_merges=True,
    ),
    "deepseek-v3": _Splitting(
        patterns=(
            r"\p{N}{1,3}",
            r"[一-龥぀-ゟ゠-ヿ]+",
            r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"""
            r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|" + _SPACES,
        ),
    ),
}

_CONTROL, _USER_DEFINED = 3, 4  # gguf.TokenType


def unsupported_reason(model: Any, pre: Any) -> str | None:
    """Why no tokenizer can be built for ``tokenizer.ggml.model`` and ``.pre``; None where it can."""
    if model is None:
        return "the GGUF file has no tokenizer metadata"
    if model != "gpt2":
        return f"GGUF tokenizers of model {model!r} are not supported, only 'gpt2' (byte-level BPE)"
    if pre not in _SPLITTINGS:
        return f"GGUF pre-tokenizer {pre!r} is not supported, only {', '.join(_SPLITTINGS)}"
    return None


def build_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer of a GGUF file for which unsupported_reason() is None. Raises as GgufMetadata."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

    metadata = GgufMetadata(path)
    splitting = _SPLITTINGS[metadata.get("tokenizer.ggml.pre")]
    tokens: list[str] = metadata.get("tokenizer.ggml.tokens") or []
    types: list[int] = metadata.get("tokenizer.ggml.token_type") or [1] * len(tokens)
    # A token never holds a space in byte-level BPE, so the one space separates the two sides.
    merges = [tuple(merge.split(" ", 1)) for merge in metadata.get("tokenizer.ggml.merges") or []]
    tokenizer = Tokenizer(
        models.BPE(
            vocab={token: token_id for token_id, token in enumerate(tokens)},
            merges=merges,
            ignore_merges=splitting.ignore_merges,
        )
    )
    if splitting.nfc:
        tokenizer.normalizer = normalizers.NFC()
    splits = [pre_tokenizers.Split(Regex(pattern), behavior="isolated") for pattern in splitting.patterns]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens(
        [
            AddedToken(token, special=kind == _CONTROL, normalized=False)
            for token, kind in zip(tokens, types, strict=True)
            if kind in (_CONTROL, _USER_DEFINED)
        ]
    )
    return tokenizer

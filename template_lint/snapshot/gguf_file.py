"""A GGUF file -> Snapshot. Reads the metadata only, never weights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from template_lint.errors import TemplateSelectionError
from template_lint.snapshot.files import wrong_type
from template_lint.snapshot.gguf_metadata import GgufMetadata
from template_lint.snapshot.gguf_tokenizer import unsupported_reason
from template_lint.snapshot.model import Snapshot, TemplateCopy, TokenizerFiles
from template_lint.snapshot.selection import check_source, in_order, pick
from template_lint.target import Target

_TEMPLATE_KEY = "tokenizer.chat_template"
_TOKEN_KEYS = {
    "bos_token": "tokenizer.ggml.bos_token_id",
    "eos_token": "tokenizer.ggml.eos_token_id",
    "unk_token": "tokenizer.ggml.unknown_token_id",
    "sep_token": "tokenizer.ggml.seperator_token_id",  # the specification's own spelling
    "pad_token": "tokenizer.ggml.padding_token_id",
    "cls_token": "tokenizer.ggml.cls_token_id",
    "mask_token": "tokenizer.ggml.mask_token_id",
}
_STOP_KEYS = ("tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id")


def load_gguf(target: Target, path: Path) -> Snapshot:
    """Templates, special tokens and stop ids of a GGUF file.

    ``tokenizer.chat_template`` is ``default``, ``tokenizer.chat_template.NAME`` is NAME. Raises CannotCheckError
    (``malformed``, ``unreadable``, ``too-large``).
    """
    metadata = GgufMetadata(path)
    copies = tuple(_templates(metadata, path.as_posix()))
    templates = in_order(copies)
    selection_error = None
    try:
        pick(templates, tools_given=False)
    except TemplateSelectionError as error:
        selection_error = str(error)
    tokens = metadata.get("tokenizer.ggml.tokens") or []
    token_ids = {name: metadata.get(key) for name, key in _TOKEN_KEYS.items()}
    # An id outside the vocabulary, such as -1 written as an unsigned number, stands for no token.
    config = {name: tokens[token_id] for name, token_id in token_ids.items() if token_id in range(len(tokens))}
    reason = unsupported_reason(metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre"))
    stop_ids = dict.fromkeys(metadata.get(key) for key in _STOP_KEYS)
    return Snapshot(
        target=target,
        files={},
        templates=templates,
        copies=copies,
        selection_error=selection_error,
        config=config,
        stop_ids=tuple(token_id for token_id in stop_ids if isinstance(token_id, int)),
        tokenizer=None if reason else TokenizerFiles(tokenizer_json=None, config={}, folder=None, gguf=path),
        tokenizer_missing=reason,
    )


def _templates(metadata: GgufMetadata, shown: str) -> Iterator[TemplateCopy]:
    for key in metadata:
        if key != _TEMPLATE_KEY and not key.startswith(f"{_TEMPLATE_KEY}."):
            continue
        source = metadata.get(key)
        if not isinstance(source, str):
            raise wrong_type(shown, key, "a string", source)
        check_source(source, f"{shown} at {key}")
        name = key.removeprefix(_TEMPLATE_KEY).removeprefix(".") or "default"
        yield TemplateCopy(name=name, source=source, file=shown, pointer=key)

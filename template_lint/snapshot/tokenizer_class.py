"""Which special tokens a tokenizer has only because of its class, when its configuration names none.

The facts are in tokenizer_classes.json, measured on one release of each major version; see ``version`` there.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from template_lint.errors import CannotCheckError
from template_lint.snapshot.model import Snapshot
from template_lint.target import TargetKind

GENERIC = "generic"
"""Stands for every class that adds nothing of its own (PreTrainedTokenizerFast, TokenizersBackend, unknown ones)."""

_HEAD_CHARACTERS = 1 << 16


def class_defaults(snapshot: Snapshot, profile_version: tuple[int, int]) -> dict[str, Any]:
    """Name -> token (or list of tokens) that the class of this snapshot's tokenizer gives to names left out.

    ``pad_token`` may be None: the class has such a parameter, so the padding of tokenizer.json does not set it.
    """
    if snapshot.target.kind is TargetKind.GGUF:
        return {}
    name = tokenizer_class(snapshot, profile_version)
    defaults = dict(_facts(profile_version)["defaults"].get(name, {}))
    if "pad_token" not in defaults:
        pad_token = _pad_token_of_padding(snapshot)
        if pad_token is not None:
            defaults["pad_token"] = pad_token
    return defaults


def tokenizer_class(snapshot: Snapshot, profile_version: tuple[int, int]) -> str:
    """Name, without ``Fast``, of the class that AutoTokenizer chooses, or GENERIC.

    4.57: the class that tokenizer_config.json or config.json names, else the one of the model type. 5.x: the same,
    unless the model type is known to need another class or only the generic one.
    Source: AutoTokenizer.from_pretrained of 4.57.6 and 5.24.0.
    """
    facts = _facts(profile_version)
    declared = _declared_class(snapshot)
    model_type = snapshot.model_config.get("model_type")
    registered: str | None = facts["model_types"].get(model_type)
    if profile_version < (5, 0):
        return declared or registered or GENERIC
    untrusted = {model_type, snapshot.model_config.get("model_name")} & set(facts["untrusted_model_types"])
    if _has_auto_map(snapshot.config):
        return declared or registered or GENERIC
    from fnmatch import fnmatch

    if any(fnmatch((snapshot.repo or "").lower(), pattern) for pattern in facts["generic_repositories"]):
        return GENERIC
    if declared == "LlamaTokenizer" and not untrusted and _is_byte_level(snapshot):
        return GENERIC
    if declared and registered and registered != declared:
        if registered == GENERIC:
            return GENERIC
        return registered if untrusted else declared
    return declared or registered or GENERIC


@functools.cache
def _facts(profile_version: tuple[int, int]) -> dict[str, Any]:
    text = Path(__file__).with_name("tokenizer_classes.json").read_text(encoding="utf-8")
    facts: dict[str, Any] = json.loads(text)["4" if profile_version < (5, 0) else "5"]
    return facts


def _declared_class(snapshot: Snapshot) -> str | None:
    name = snapshot.config.get("tokenizer_class") or snapshot.model_config.get("tokenizer_class")
    return name.removesuffix("Fast") if isinstance(name, str) else None


def _has_auto_map(config: Mapping[str, Any]) -> bool:
    auto_map = config.get("auto_map")
    return isinstance(auto_map, list) or (isinstance(auto_map, dict) and auto_map.get("AutoTokenizer") is not None)


def _is_byte_level(snapshot: Snapshot) -> bool:
    path = snapshot.tokenizer.tokenizer_json if snapshot.tokenizer else None
    return path is not None and '"ByteLevel"' in _text(path)


def _pad_token_of_padding(snapshot: Snapshot) -> str | None:
    """The pad token of the padding that tokenizer.json was saved with; it stands near the beginning of the file."""
    path = snapshot.tokenizer.tokenizer_json if snapshot.tokenizer else None
    match = re.search(r'"padding"\s*:\s*(?=\{)', _text(path, _HEAD_CHARACTERS)) if path is not None else None
    if match is None or path is None:
        return None
    try:
        padding, _ = json.JSONDecoder().raw_decode(_text(path, _HEAD_CHARACTERS), match.end())
    except json.JSONDecodeError:
        return None
    token = padding.get("pad_token")
    return token if isinstance(token, str) else None


def _text(path: Path, characters: int = -1) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as handle:
            return handle.read(characters)
    except OSError as error:
        raise CannotCheckError(f"cannot read {path.name}: {error.strerror}. Check that it may be read.") from error

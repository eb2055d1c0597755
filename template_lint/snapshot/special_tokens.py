"""The special tokens that transformers gives a tokenizer, and thus a template, without importing transformers.

Source: tokenization_utils_base.py and tokenization_utils_fast.py of 4.57.6, tokenization_utils_base.py and
tokenization_utils_tokenizers.py of 5.24.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from template_lint.errors import CannotCheckError
from template_lint.snapshot.model import Snapshot

NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")

PLACEHOLDER_TOKENS = {
    "bos_token": "<s>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
    "pad_token": "<pad>",
    "sep_token": "<sep>",
    "cls_token": "<cls>",
    "mask_token": "<mask>",
}
"""Special tokens for a template that comes without any tokenizer files."""

Token = str | Mapping[str, Any]
"""A token as files write it: its text, or an object with ``content`` and flags (lstrip, rstrip, normalized ...)."""


class DeclaredTokens(NamedTuple):
    """Special tokens after every file and class default is taken into account.

    ``named`` maps names (``bos_token``, and a model's own such as ``image_token``) to tokens; ``extra`` has no names.
    """

    named: Mapping[str, Token]
    extra: tuple[Token, ...]


def special_tokens(snapshot: Snapshot, profile_version: tuple[int, int]) -> dict[str, Any]:
    """What ``tokenizer.special_tokens_map`` is under that transformers version: the special tokens a template sees.

    4.57 drops empty strings and adds ``additional_special_tokens`` (a list); 5.x keeps empty strings and does not.
    Names set to null are absent. {} where the snapshot has no tokenizer files.
    Raises CannotCheckError (``tokenizer-unloadable``) where transformers of that version fails to load the tokenizer.
    """
    declared = declared_tokens(snapshot, profile_version)
    named = {name: token_text(token) for name, token in declared.named.items()}
    if profile_version >= (5, 0):
        return named
    extra = [token_text(token) for token in declared.extra]
    first = {name: named[name] for name in NAMED if named.get(name)}
    rest = {name: text for name, text in named.items() if name not in NAMED and text}
    return {**first, **({"additional_special_tokens": extra} if extra else {}), **rest}


def declared_tokens(snapshot: Snapshot, profile_version: tuple[int, int]) -> DeclaredTokens:
    """Resolve the special tokens of a snapshot. Raises as special_tokens()."""
    if profile_version >= (5, 0):
        return _declared_5(snapshot, profile_version)
    return _declared_4(snapshot, profile_version)


def token_text(token: Token) -> str:
    """The text of a token."""
    return token if isinstance(token, str) else str(token["content"])


def _class_defaults(snapshot: Snapshot, profile_version: tuple[int, int]) -> dict[str, Any]:
    if not (snapshot.repo or snapshot.config or snapshot.model_config or snapshot.tokenizer):
        return {}  # a bare template file: nothing says which class, and the facts about classes need not be read
    from template_lint.snapshot.tokenizer_class import class_defaults

    return class_defaults(snapshot, profile_version)


def _declared_4(snapshot: Snapshot, profile_version: tuple[int, int]) -> DeclaredTokens:
    settings = dict(snapshot.config)
    if "added_tokens_decoder" not in settings:
        for name, value in snapshot.special_tokens_map_json.items():
            if name == "additional_special_tokens" and isinstance(value, list):
                value = _joined(settings.get(name), value)
            settings[name] = _typed(value)
    for name, value in _class_defaults(snapshot, profile_version).items():
        settings.setdefault(name, value)

    additional = settings.get("additional_special_tokens") or []
    if not isinstance(additional, list) or not all(map(_is_token, additional)):
        raise _unloadable("4.57", "additional_special_tokens must be a list of tokens")
    own = settings.get("extra_special_tokens", {})
    if not isinstance(own, dict):
        raise _unloadable("4.57", "extra_special_tokens must map names to tokens, as 4.57 writes it")
    named = _named("4.57", {name: settings.get(name) for name in NAMED})
    return DeclaredTokens(named=named | _own("4.57", own), extra=tuple(additional))


def _declared_5(snapshot: Snapshot, profile_version: tuple[int, int]) -> DeclaredTokens:
    settings = dict(snapshot.config)
    if "additional_special_tokens" in settings and not settings.get("extra_special_tokens"):
        settings["extra_special_tokens"] = settings.pop("additional_special_tokens")
    own = {name: settings.pop(name) for name, value in snapshot.config.items() if _names_own(name, value, str)}
    if isinstance(settings.get("extra_special_tokens"), dict):
        own |= settings.pop("extra_special_tokens")
    own = own or settings.get("model_specific_special_tokens") or {}
    if "added_tokens_decoder" not in settings:
        for name, value in snapshot.special_tokens_map_json.items():
            if name == "extra_special_tokens":
                settings[name] = _joined(settings.get(name), value) if isinstance(value, list) else value
            else:
                settings[name] = _typed(value)
        if isinstance(settings.get("extra_special_tokens"), dict):
            own |= settings.pop("extra_special_tokens")
    for name, value in _class_defaults(snapshot, profile_version).items():
        settings.setdefault(name, value)

    if "additional_special_tokens" in settings and "extra_special_tokens" not in settings:
        settings["extra_special_tokens"] = settings.pop("additional_special_tokens")
    extra = settings.get("extra_special_tokens") or []
    if not isinstance(extra, list) or not all(map(_is_token, extra)):
        raise _unloadable("5.x", "extra_special_tokens must be a list of tokens or map names to tokens")
    # Tokens written as objects are recognised later than plain strings and so come first.
    late = {name: value for name, value in settings.items() if _names_own(name, value, dict | str)}
    named = _named("5.x", {name: settings.get(name) for name in NAMED})
    return DeclaredTokens(named=named | _own("5.x", {**late, **own}), extra=tuple(extra))


def _named(version: str, tokens: Mapping[str, Any]) -> dict[str, Token]:
    for name, token in tokens.items():
        if token is not None and not _is_token(token):
            raise _unloadable(version, f"{name} must be a string or an AddedToken object")
    return {name: token for name, token in tokens.items() if token is not None}


def _own(version: str, tokens: Mapping[str, Any]) -> dict[str, Token]:
    for name, token in tokens.items():
        if not _is_token(token):
            raise _unloadable(version, f"the model's own special token {name} must be a string or an AddedToken object")
    return dict(tokens)


def _names_own(name: str, value: Any, kinds: Any) -> bool:
    return name.endswith("_token") and name not in NAMED and isinstance(value, kinds) and _is_token(value)


def _is_token(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, Mapping) and value.get("__type") == "AddedToken" and isinstance(value.get("content"), str)
    )


def _typed(value: Any) -> Any:
    """special_tokens_map.json writes AddedToken objects without saying so."""
    return {"__type": "AddedToken", **value, "special": True} if isinstance(value, dict) else value


def _joined(first: Any, second: list[Any]) -> list[Any]:
    tokens = list(first or [])
    tokens += [token for token in map(_typed, second) if token not in tokens]
    return tokens


def _unloadable(version: str, reason: str) -> CannotCheckError:
    return CannotCheckError(
        f"transformers {version} cannot load this tokenizer: {reason}. Correct tokenizer_config.json.",
        kind="tokenizer-unloadable",
    )

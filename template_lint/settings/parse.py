"""Checks a configuration document against the table of settings and turns it into values.

Every mistake is a SettingsError with file and line, and the nearest right word where there is one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from template_lint.config import REQUIREMENTS, Ignore, TargetSpec
from template_lint.errors import UsageError
from template_lint.model import Anchor, Severity
from template_lint.settings.document import Entry, Node, SettingsError
from template_lint.settings.paths import Base
from template_lint.settings.table import FAIL_ON, IGNORE_KEYS, KEYS, SEVERITIES, TARGET_KEYS, Key, Kind

OUTPUT = re.compile(r"[a-z]+(=.+)?", re.DOTALL)


class Parsed(NamedTuple):
    """A value ready for use, and the line it stands on."""

    value: Any
    line: int


def parse(root: Node, base: Base) -> dict[str, Parsed]:
    """Key -> value of everything that a file sets. Paths come out relative to the current folder."""
    entries = _mapping(root, base.file, "the configuration")
    _refuse_unknown(entries, KEYS, base.file, "")
    return {
        key.name: Parsed(_value(entries[key.name].node, key, base), entries[key.name].line)
        for key in KEYS
        if key.name in entries
    }


def _value(node: Node, key: Key, base: Base) -> Any:
    name, file = key.name, base.file
    match key.kind:
        case Kind.RULES:
            return tuple(_rule(item, file) for item in _items(node, key, file))
        case Kind.SEVERITY:
            return Severity(_choice(node, name, SEVERITIES, file))
        case Kind.FAIL_ON:
            word = _choice(node, name, FAIL_ON, file)
            return None if word == "never" else Severity(word)
        case Kind.SEVERITIES:
            entries = _mapping(node, file, name, key.example)
            for word, entry in entries.items():
                _rule(Node(word, entry.line), file)
            return {
                word: Severity(_choice(entry.node, f"the severity of {word}", SEVERITIES, file))
                for word, entry in entries.items()
            }
        case Kind.REQUIREMENTS:
            names = sorted(REQUIREMENTS)
            return frozenset(_choice(item, f"an entry of {name}", names, file) for item in _items(node, key, file))
        case Kind.VERSION:
            if isinstance(node.value, bool) or not isinstance(node.value, (str, int, float)) or not node.text.strip():
                raise _wrong_type(node, key, file)
            return _version(node, file)
        case Kind.TARGET:
            return base.target(_text(node, key, file), node.line)
        case Kind.TARGETS:
            return tuple(_target(item, base) for item in _items(node, key, file, allow_empty=True))
        case Kind.PATH:
            return base.path(_text(node, key, file))
        case Kind.PATHS:
            return tuple(base.existing(_text(item, key, file), item.line) for item in _items(node, key, file))
        case Kind.OUTPUTS:
            return tuple(_output(item, key, base) for item in _items(node, key, file, allow_empty=True))
        case Kind.PATTERNS:
            return tuple(_text(item, key, file) for item in _items(node, key, file))
        case Kind.BOOL:
            if not isinstance(node.value, bool):
                raise _wrong_type(node, key, file)
            return node.value
        case Kind.NUMBER:
            number = node.value
            whole = isinstance(number, int) or (isinstance(number, float) and number.is_integer())
            if isinstance(number, bool) or not whole or number < 0:
                raise _wrong_type(node, key, file)
            return int(number)
        case Kind.IGNORES:
            return tuple(_ignore(item, base) for item in _items(node, key, file))
        case Kind.TEXT | Kind.REASON:
            return " ".join(_text(node, key, file).split())


def _version(node: Node, file: str) -> str:
    from template_lint.rendering.profiles import parse_profile

    try:
        parse_profile(node.text)
    except UsageError as error:
        raise SettingsError(file, node.line, str(error).removeprefix("--")) from None
    return node.text


def _target(node: Node, base: Base) -> TargetSpec:
    anchor = Anchor(base.file, node.line)
    if not isinstance(node.value, dict):
        return TargetSpec(base.target(_text(node, TARGET_KEYS[0], base.file), node.line), anchor=anchor)
    entries = node.value
    _refuse_unknown(entries, TARGET_KEYS, base.file, " of a target")
    if "target" not in entries:
        shown = _example("{target: org/name}", base.file)
        raise SettingsError(base.file, node.line, f"an entry of targets must say its target: {shown}.")
    values = {key.name: _value(entries[key.name].node, key, base) for key in TARGET_KEYS if key.name in entries}
    return TargetSpec(**values, anchor=Anchor(base.file, entries["target"].line))


def _ignore(node: Node, base: Base) -> Ignore:
    entries = _mapping(node, base.file, "an entry of ignore", TARGET_KEYS[-1].example[1:-1])
    _refuse_unknown(entries, IGNORE_KEYS, base.file, " of an ignore")
    for key in IGNORE_KEYS:
        if key.name not in entries:
            what = "its rules" if key.name == "rules" else "a reason"
            shown = _example(TARGET_KEYS[-1].example, base.file)
            raise SettingsError(base.file, node.line, f"an ignore must give {what}: {shown}.")
    values = {key.name: _value(entries[key.name].node, key, base) for key in IGNORE_KEYS}
    return Ignore(**values, anchor=Anchor(base.file, node.line))


def _output(node: Node, key: Key, base: Base) -> str:
    text = _text(node, key, base.file)
    if OUTPUT.fullmatch(text) is None:
        raise SettingsError(base.file, node.line, f"{text!r} is no output. Write FORMAT or FORMAT=FILE.")
    name, equals, path = text.partition("=")
    return f"{name}={base.path(path).as_posix()}" if equals and path != "-" else text


def _rule(node: Node, file: str) -> str:
    from template_lint.rules.registry import nearest_rule, rule_words

    if not isinstance(node.value, str):
        raise SettingsError(file, node.line, f"a rule is a code, a prefix or a name; this is {_shown(node)}.")
    if node.value not in rule_words():
        hint = f"{nearest_rule(node.value, prefixes=True)} `template-lint rules` lists them all."
        raise SettingsError(file, node.line, f"unknown rule {node.value!r}.{hint}")
    return node.value


def _mapping(node: Node, file: str, what: str, example: str = "") -> Mapping[str, Entry]:
    if not isinstance(node.value, dict):
        shown = f", such as {_example(example, file)}" if example else " of keys to values"
        raise SettingsError(file, node.line, f"{what} must be a mapping{shown}; this is {_shown(node)}.")
    return node.value


def _items(node: Node, key: Key, file: str, *, allow_empty: bool = False) -> list[Node]:
    if not isinstance(node.value, list):
        raise _wrong_type(node, key, file)
    if not node.value and key.kind is Kind.RULES and key.name == "rules":
        raise SettingsError(file, node.line, "an ignore must name at least one rule.")
    return node.value


def _text(node: Node, key: Key, file: str) -> str:
    if not isinstance(node.value, str) or not node.value.strip():
        what = "an entry of " if key.kind in (Kind.PATHS, Kind.PATTERNS, Kind.OUTPUTS) else ""
        if isinstance(node.value, str):
            raise SettingsError(file, node.line, f"{what}{key.name} must not be empty.")
        raise SettingsError(file, node.line, f"{what}{key.name} must be a text; this is {_shown(node)}.")
    return node.value


def _choice(node: Node, name: str, choices: Sequence[str], file: str) -> str:
    if node.value not in choices or not isinstance(node.value, str):
        near = _nearest(str(node.value), choices)
        raise SettingsError(
            file, node.line, f"{name} cannot be {_shown(node)}.{near} Choose from: {', '.join(choices)}."
        )
    return node.value


def _refuse_unknown(entries: Mapping[str, Entry], keys: Sequence[Key], file: str, of: str) -> None:
    names = [key.name for key in keys]
    for word, entry in entries.items():
        if word not in names:
            hint = _nearest(word, names) or f" Known: {', '.join(names)}."
            raise SettingsError(file, entry.line, f"unknown key {word!r}{of}.{hint}")


def _nearest(word: str, known: Sequence[str]) -> str:
    import difflib

    wanted = word.replace("_", "-")
    for spelling in (wanted, wanted.lower(), wanted.upper()):
        close = difflib.get_close_matches(spelling, known, 1, 0.6)
        if close:
            return f" Did you mean {close[0]}?"
    return ""


def _wrong_type(node: Node, key: Key, file: str) -> SettingsError:
    example = f", such as {_example(key.example, file)}" if key.kind is not Kind.BOOL else ""
    return SettingsError(file, node.line, f"{key.name} must be {key.kind.value}{example}; this is {_shown(node)}.")


def _example(text: str, file: str) -> str:
    """An example, written in the table of settings as YAML, in the language of the file."""
    if not file.endswith(".toml"):
        return text
    import yaml

    return _toml(yaml.safe_load(text))


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_toml(item)}' for key, item in value.items())} }}"
    return f"[{', '.join(map(_toml, value))}]" if isinstance(value, list) else json.dumps(value)


def _shown(node: Node) -> str:
    if isinstance(node.value, dict):
        return "a mapping"
    if isinstance(node.value, list):
        return "a list"
    if node.value is None:
        return "empty"
    if isinstance(node.value, bool):
        return str(node.value).lower()
    return repr(node.value) if isinstance(node.value, str) else node.text

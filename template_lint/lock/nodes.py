"""YAML text -> nodes with lines, and values out of nodes. Every complaint names file and line; no key is known here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NoReturn

from template_lint.errors import UsageError

if TYPE_CHECKING:
    from yaml import Node

_MOST_DEPTH = 12
RESTORE = "Restore the file, or delete it and run `template-lint lock TARGET...`."


class LockError(UsageError):
    """The lock cannot be used as it is: not a lock, damaged, or it names what no lock may name. Exit 2."""

    kind = "lock"


def compose(text: str, shown: str) -> Node | None:
    """The node tree of a YAML text without anchors, aliases and depth; None where it is empty. Raises LockError."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        depth = 0
        for event in yaml.parse(text, Loader=loader):
            line = event.start_mark.line + 1 if event.start_mark else 1
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
                raise LockError(f"{shown}:{line}: a lock has no anchors and aliases. Restore the file.")
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _MOST_DEPTH:
                raise LockError(f"{shown}:{line}: nested too deeply for a lock. Restore the file.")
        return yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise LockError(
            f"{shown}:{line}: not YAML: {error.problem or 'it cannot be read'}. Restore the file."
        ) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise LockError(f"{shown}: not YAML: {str(error).splitlines()[0]}. Restore the file.") from None


class Nodes:
    """Takes values out of the nodes of the file ``shown``."""

    def __init__(self, shown: str) -> None:
        self.shown = shown

    def match(self, node: Node, key: str, pattern: re.Pattern[str], wanted: str) -> str:
        """The text of a scalar that must match ``pattern`` whole."""
        text = self.string(node, key)
        if not pattern.fullmatch(text):
            self.fail(node, f"{key} must be {wanted}, not {text[:60]!r}")
        return text

    def number(self, node: Node, key: str) -> int:
        """A small natural number."""
        text = self.string(node, key)
        if not re.fullmatch(r"[0-9]{1,9}", text):
            self.fail(node, f"{key} must be a number, not {text[:60]!r}")
        return int(text)

    def scalar(self, node: Node) -> Any:
        """The value of a scalar: text, number, truth value or None."""
        import yaml

        if not isinstance(node, yaml.ScalarNode):
            self.fail(node, "expected a single value")
        try:
            value = yaml.SafeLoader("").construct_object(node)
        except yaml.YAMLError:
            value = ...
        if value is not None and not isinstance(value, str | bool | int | float):
            self.fail(node, "expected a text, a number, a truth value or null")
        return value

    def string(self, node: Node, key: str) -> str:
        """The text of a scalar, as it stands there."""
        import yaml

        if not isinstance(node, yaml.ScalarNode):
            self.fail(node, f"{key} must be a single value")
        value: str = node.value
        return value

    def sequence(self, node: Node, key: str) -> list[Node]:
        """The items of a list."""
        import yaml

        if not isinstance(node, yaml.SequenceNode):
            self.fail(node, f"{key} must be a list")
        value: list[Node] = node.value
        return value

    def pairs(self, node: Node, key: str) -> list[tuple[str, Node]]:
        """The keys and values of a mapping, in order."""
        import yaml

        if not isinstance(node, yaml.MappingNode):
            self.fail(node, f"{key} must be a mapping")
        found: dict[str, Node] = {}
        for name_node, value in node.value:
            name = self.string(name_node, f"a key of {key}")
            if name in found:
                self.fail(name_node, f"{name!r} is there twice")
            found[name] = value
        return list(found.items())

    def mapping(self, node: Node, what: str, required: tuple[str, ...], optional: tuple[str, ...]) -> dict[str, Node]:
        """The values of a mapping with fixed keys."""
        found = dict(self.pairs(node, what))
        for name, value in found.items():
            if name not in required and name not in optional:
                self.fail(value, f"{what} has no key {name!r}. Known: {', '.join((*required, *optional))}")
        for name in required:
            if name not in found:
                self.fail(node, f"{what} lacks the key {name!r}")
        return found

    def fail(self, node: Node, message: str, remedy: str = RESTORE) -> NoReturn:
        """Raise LockError with the line of ``node``."""
        raise LockError(f"{self.shown}:{node.start_mark.line + 1}: {message}. {remedy}")

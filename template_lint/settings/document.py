"""A configuration file as data that knows its lines: YAML (safely; no aliases, no duplicate keys) or a TOML table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from template_lint.errors import UsageError

if TYPE_CHECKING:
    import yaml


class Node(NamedTuple):
    """A value and its 1-based line. ``value`` is a list of Nodes, a dict of text to Entry, or a scalar; ``text`` a
    scalar as it is written (``5.10``), so that no digit is lost.
    """

    value: Any
    line: int
    text: str = ""


class Entry(NamedTuple):
    """A value of a mapping and the line of its key."""

    line: int
    node: Node


class SettingsError(UsageError):
    """A mistake in a configuration file, with file and line."""

    def __init__(self, file: str, line: int, message: str) -> None:
        super().__init__(f"{file}:{line}: {message}")


def read_yaml(text: str, file: str) -> Node:
    """Parse YAML; an empty file is an empty mapping. Raises SettingsError."""
    import yaml

    try:
        root = _composed(text)
        document = Node({}, 1) if root is None else _from_yaml(root, file)
        return Node({}, 1) if document.value is None else document
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "it cannot be read"
        raise SettingsError(file, mark.line + 1 if mark else 1, f"not valid YAML: {problem}.") from None
    except yaml.YAMLError as error:
        raise SettingsError(file, 1, f"not valid YAML: {str(error).splitlines()[0]}.") from None
    except RecursionError:
        raise SettingsError(file, 1, "nested too deeply to be read.") from None


def _composed(text: str) -> yaml.Node | None:
    import yaml

    loader = yaml.SafeLoader(text)
    try:
        node: yaml.Node | None = loader.get_single_node()
    finally:
        loader.dispose()
    for event in yaml.parse(text, Loader=yaml.SafeLoader) if "*" in text else ():
        if isinstance(event, yaml.AliasEvent):
            mark: Any = event.start_mark
            raise yaml.MarkedYAMLError(problem="aliases are not supported here", problem_mark=mark)
    return node


def _from_yaml(node: yaml.Node, file: str) -> Node:
    import yaml

    line = node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        return Node([_from_yaml(item, file) for item in node.value], line)
    if isinstance(node, yaml.MappingNode):
        entries: dict[str, Entry] = {}
        for key_node, value_node in node.value:
            key_line = key_node.start_mark.line + 1
            key = _scalar(key_node) if isinstance(key_node, yaml.ScalarNode) else None
            if not isinstance(key, str):
                raise SettingsError(file, key_line, "a key must be a text.")
            if key in entries:
                raise SettingsError(
                    file, key_line, f"{key!r} is there twice; the first is on line {entries[key].line}."
                )
            entries[key] = Entry(key_line, _from_yaml(value_node, file))
        return Node(entries, line)
    return Node(_scalar(node), line, str(node.value))


def _scalar(node: yaml.Node) -> Any:
    import yaml

    return yaml.constructor.SafeConstructor().construct_object(node)


def read_toml(text: str, file: str) -> Node | None:
    """The table ``[tool.template-lint]`` of TOML, or None where there is none. Raises SettingsError."""
    import tomllib

    try:
        # Floats as they are written: 5.10 is a version.
        document = tomllib.loads(text, parse_float=_Number)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        raise SettingsError(file, int(found[1]) if found else 1, f"not valid TOML: {error}.") from None
    except RecursionError:
        raise SettingsError(file, 1, "nested too deeply to be read.") from None
    tool = document.get("tool")
    table = tool.get("template-lint") if isinstance(tool, dict) else None
    if table is None:
        return None
    lines = _Lines(text)
    return _from_toml(table, lines.header, lines)


class _Number(float):
    """A float that remembers how it was written."""

    text: str

    def __new__(cls, text: str) -> _Number:
        self = super().__new__(cls, text)
        self.text = text
        return self


class _Lines:
    """Finds lines in TOML, whose reader tells none: the first line of our table that has the key or the value.

    A value that stands there twice is found where it stands first.
    """

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self.header = next((number for number, line in self._ours() if line.lstrip().startswith("[")), 1)

    def _ours(self) -> Iterator[tuple[int, str]]:
        inside = False
        for number, line in enumerate(self._lines, 1):
            header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line)
            if header and re.match(r"\s*\[", line) and "=" not in line.split("]")[0]:
                name = header[1].replace('"', "").replace("'", "").replace(" ", "")
                inside = name == "tool.template-lint" or name.startswith("tool.template-lint.")
                if not inside and re.match(r"[\w.-]+$", name) is None:
                    continue
            if inside:
                yield number, line

    def key(self, name: str, start: int) -> int:
        pattern = re.compile(rf"""(?:^|[{{,.\[\s])["']?{re.escape(name)}["']?\s*(?:=|\])""")
        return next((number for number, line in self._ours() if number >= start and pattern.search(line)), start)

    def value(self, text: str, start: int) -> int:
        return next(
            (n for n, line in self._ours() if n >= start and (f'"{text}"' in line or f"'{text}'" in line)), start
        )


def _from_toml(value: Any, line: int, lines: _Lines) -> Node:
    if isinstance(value, dict):
        return Node(
            {key: Entry(at := lines.key(key, line), _from_toml(item, at, lines)) for key, item in value.items()},
            line,
        )
    if isinstance(value, list):
        items: list[Node] = []
        for item in value:
            start = items[-1].line if items else line
            named = item.get("target") if isinstance(item, dict) else item
            at = lines.value(named, start) if isinstance(named, str) else start
            items.append(_from_toml(item, at, lines))
        return Node(items, line)
    return Node(value, line, value.text if isinstance(value, _Number) else str(value))

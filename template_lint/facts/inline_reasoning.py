"""Reasoning inside the content: for templates that read it nowhere else, and look for the tag that closes it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import nodes

from template_lint.rendering.messages import REASONING_FIELDS
from template_lint.scenarios.model import Scenario

if TYPE_CHECKING:
    from template_lint.facts.template_facts import TemplateFacts

_SCENARIOS = ("call-with-reasoning", "two-rounds-reasoning", "after-user-turn-reasoning", "chat-reasoning")
_CLOSER = re.compile(r"</[\w:|-]*(?:think|thought|reason)\w*>|\[/(?:THINK|REASONING)\]")
_METHODS = frozenset({"split", "rsplit", "partition", "rpartition", "find", "rfind", "index", "rindex", "replace"})
_FIELD = REASONING_FIELDS[0]


class Tags(NamedTuple):
    """What stands before and after the reasoning in a content."""

    opener: str
    closer: str

    def split(self, content: Any) -> tuple[str, str]:
        """The reasoning of a content, empty where it has none, and the rest."""
        if not isinstance(content, str) or self.closer not in content:
            return "", content if isinstance(content, str) else ""
        reasoning, _, rest = content.partition(self.closer)
        return reasoning.removeprefix(self.opener).strip("\n"), rest.lstrip("\n")

    def join(self, reasoning: str, content: str, *, opened: bool) -> str:
        """The content of a reply as a model writes it; ``opened`` where its prompt ends with the opener."""
        return f"{'' if opened else self.opener + chr(10)}{reasoning}\n{self.closer}\n\n{content}"


def find_tags(facts: TemplateFacts) -> Tags | None:
    """The tags that the template looks for in contents; None where it reads a reasoning field, or looks for none."""
    static = facts.static
    if any(field in static.attributes or field in static.strings for field in REASONING_FIELDS):
        return None
    closers = (text for text, _ in looked_for(facts) if _CLOSER.fullmatch(text))
    closer = next(closers, None)
    return None if closer is None else Tags(closer.replace("/", "", 1), closer)


def looked_for(facts: TemplateFacts) -> Iterator[tuple[str, nodes.Expr]]:
    """The constants that texts are cut at, and those that they are searched for, with what does so, in source order."""
    for call in facts.static.of(nodes.Call):
        method = call.node
        sought = call.args[0] if call.args and isinstance(method, nodes.Getattr) and method.attr in _METHODS else None
        if isinstance(sought, nodes.Const):
            yield str(sought.value).strip(), call
    for compare in facts.static.of(nodes.Compare):
        if isinstance(compare.expr, nodes.Const) and any(operand.op in ("in", "notin") for operand in compare.ops):
            yield str(compare.expr.value).strip(), compare


def inline_scenarios(facts: TemplateFacts, plain: Iterable[Scenario], kwargs: Mapping[str, Any]) -> Iterator[Scenario]:
    """Those of the catalogue's conversations that have reasoning, the reasoning inside the content, in one mode.

    None where the template does not look for it there, or where the mode does not think.
    """
    tags = facts.inline_tags
    opened = opens_thinking(facts, tags, kwargs) if tags is not None else None
    if tags is None or opened is None:
        return
    folded: dict[int, dict[str, Any]] = {}
    for scenario in plain:
        if scenario.name in _SCENARIOS:
            messages = [folded.setdefault(id(m), fold(m, tags, opened=opened)) for m in scenario.messages]
            inside = scenario._replace(
                name=f"{scenario.name}-in-content", title=f"{scenario.title}, inside the content", messages=messages
            )
            yield inside.with_kwargs(kwargs) if kwargs else inside


def opens_thinking(facts: TemplateFacts, tags: Tags, kwargs: Mapping[str, Any]) -> bool | None:
    """Whether a prompt ends with the opener, and its reply so begins behind it; None where the prompt closes it."""
    ask = {"role": "user", "content": "zqquestion"}
    prompt = (facts.render([ask], generation_prompt=True, kwargs=kwargs).text or "").rstrip()
    return None if prompt.endswith(tags.closer) else prompt.endswith(tags.opener)


def fold(message: dict[str, Any], tags: Tags, *, opened: bool) -> dict[str, Any]:
    """The message with the reasoning of its field inside its content; itself where it has none."""
    if not message.get(_FIELD):
        return message
    content = tags.join(message[_FIELD], message.get("content") or "", opened=opened)
    return {**{key: value for key, value in message.items() if key != _FIELD}, "content": content}


def reasoning_of(facts: TemplateFacts, message: Mapping[str, Any]) -> str:
    """The reasoning of a message where the template looks for it: inside its content, or in a field."""
    if facts.inline_tags is not None:
        return facts.inline_tags.split(message.get("content"))[0]
    return str(next((message[name] for name in REASONING_FIELDS if message.get(name)), ""))

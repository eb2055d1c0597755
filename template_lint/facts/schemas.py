"""One tool in every legal shape of its schema: what clients, servers and schema generators hand over as ``tools=``.

A function needs no description and no parameters; a parameter needs no type and no description of its own. Servers
fill in null for what a client left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from template_lint.facts.probes import ASK, CALL_NAME, TOOL
from template_lint.facts.variants import HARD_TEXT, Conversation, Kind, Variant

if TYPE_CHECKING:
    from template_lint.facts.template_facts import TemplateFacts
    from template_lint.rendering.template import Outcome

_USUAL = Conversation([ASK])
_PARAMETERS: dict[str, Any] = TOOL["function"]["parameters"]
_TEXT: dict[str, Any] = _PARAMETERS["properties"]["zqkey"]
_INNER: dict[str, Any] = {"type": "object", "properties": {"zqinner": {"type": "integer", "description": "zqdeep"}}}


def _tool(**changes: Any) -> dict[str, Any]:
    """The probe's tool with these keys of its function changed; what is changed to ``...`` is left out."""
    function = {**TOOL["function"], **changes}
    return {"type": "function", "function": {key: value for key, value in function.items() if value is not ...}}


def _with(parameter: dict[str, Any], **more: Any) -> dict[str, Any]:
    return _tool(parameters={**_PARAMETERS, "properties": {"zqkey": parameter}, **more})


_SHAPES: dict[str, dict[str, Any]] = {
    "a tool without a description": _tool(description=...),
    "a tool whose description is null": _tool(description=None),
    "a tool without parameters": _tool(parameters=...),
    "a tool whose parameters are null": _tool(parameters=None),
    "parameters without properties": _tool(parameters={"type": "object"}),
    "parameters with empty properties": _tool(parameters={"type": "object", "properties": {}}),
    "parameters without a list of the required ones": _tool(
        parameters={"type": "object", "properties": _PARAMETERS["properties"]}
    ),
    "a parameter without a description": _with({"type": "string"}),
    "a parameter with anyOf in place of a type": _with(
        {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "zqparameter", "default": None}
    ),
    "a parameter with $ref in place of a type": _with({"$ref": "#/$defs/zqdef"}, **{"$defs": {"zqdef": _INNER}}),
    "a parameter with a list of types": _with({**_TEXT, "type": ["string", "null"]}),
    "a parameter with a boolean default": _with({**_TEXT, "type": "boolean", "default": True}),
    "an enum with null": _with({**_TEXT, "enum": ["zqone", None]}),
    "a parameter with properties of its own": _with({**_INNER, "description": "zqparameter"}),
    "a parameter that is a list of mappings": _with({"type": "array", "items": _INNER, "description": "zqparameter"}),
    "a strict tool": _tool(strict=True, parameters={**_PARAMETERS, "additionalProperties": False}),
}


HARD_SCHEMA = _tool(description=HARD_TEXT)
"""The tool with a description that JSON must escape."""


@lru_cache(maxsize=1)
def schema_variants(facts: TemplateFacts) -> list[Variant]:
    """A question with the tool in every shape; none where the template does not name the usual tool."""
    reference = _reference(facts)
    return [] if reference is None else list(_variants(facts, reference))


@lru_cache(maxsize=1)
def schemas_at_once(facts: TemplateFacts) -> Variant | None:
    """A question with one tool for each shape: what no shape shows here, none shows alone. None as above."""
    reference = _reference(facts)
    if reference is None:
        return None
    outcome = facts.render([ASK], tools=list(_SHAPES.values()), generation_prompt=True)
    return Variant(Kind.SCHEMA, "tools in every shape", _USUAL, outcome, reference, usual=_USUAL)


def failing_schemas(facts: TemplateFacts) -> list[Variant]:
    """The variants, where one of them may fail."""
    at_once = schemas_at_once(facts)
    return [] if at_once is None or at_once.outcome.ok else schema_variants(facts)


def _reference(facts: TemplateFacts) -> Outcome | None:
    if not facts.tool_rules_apply:
        return None
    reference = _USUAL.render(facts)
    return reference if reference.text is not None and CALL_NAME in reference.text else None


def _variants(facts: TemplateFacts, reference: Outcome) -> Iterator[Variant]:
    for title, tool in _SHAPES.items():
        conversation = _USUAL._replace(tool=tool)
        yield Variant(Kind.SCHEMA, title, conversation, conversation.render(facts), reference, usual=_USUAL)

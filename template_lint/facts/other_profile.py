"""The same conversations under the other major version of transformers: what differs, and what it comes from.

Only conversations that the two versions treat differently before the template sees them are asked; of all others the
prompts are equal (the conformance tests hold both mirrors to it).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import nodes

from template_lint.facts.probes import ASK, CALL, TOOL, TOOL_RESULT
from template_lint.facts.static import StaticFacts
from template_lint.rendering.messages import REASONING_FIELDS
from template_lint.rendering.positions import walk
from template_lint.rendering.profiles import NEWEST_KNOWN, OLDEST, Profile
from template_lint.rendering.template import ChatTemplate, Outcome

if TYPE_CHECKING:
    from template_lint.facts.template_facts import TemplateFacts

_LISTING = frozenset({"items", "tojson", "dictsort", "string", "list"})
_REPLY = {"role": "assistant", "content": "zqreply"}
GLOBALS = "a question with tools"
"""Title of the probe for templates that read attributes of ``dict`` or ``namespace``."""


class ProfileProbe(NamedTuple):
    """A conversation that the versions prepare differently; ``title`` says how it is special."""

    title: str
    messages: Sequence[dict[str, Any]]
    tools: Sequence[dict[str, Any]] | None


class ProfileDifference(NamedTuple):
    """A probe with two outcomes: under the mirrored profile, and under the other one."""

    probe: ProfileProbe
    mirrored: Outcome
    other: Outcome


def other_profile(profile: Profile) -> Profile:
    """The profile to compare with: the newest known for a 4.x, the oldest mirrored for a 5.x."""
    return Profile(version=NEWEST_KNOWN if profile.version < (5, 0) else OLDEST)


def profile_differences(facts: TemplateFacts, other: Profile) -> Iterator[ProfileDifference]:
    """The probes whose prompts differ, or of which one side raises what the template did not raise itself.

    Two refusals or two crashes are no difference, whatever they say.
    """
    template = facts.template.variant(profile=other)
    variables = variables_under(facts, other)
    for probe in _probes(facts):
        mirrored = facts.render(probe.messages, tools=probe.tools, generation_prompt=True)
        elsewhere = _elsewhere(facts, template, variables, probe)
        if mirrored.text != elsewhere.text:
            yield ProfileDifference(probe, mirrored, elsewhere)


def _elsewhere(
    facts: TemplateFacts, template: ChatTemplate, variables: Mapping[str, Any], probe: ProfileProbe
) -> Outcome:
    return facts.render_variant(
        template, probe.messages, tools=probe.tools, generation_prompt=True, variables=variables
    )


def variables_under(facts: TemplateFacts, profile: Profile) -> dict[str, Any]:
    """The special tokens that the other version hands to the template."""
    from template_lint.errors import CannotCheckError
    from template_lint.snapshot.special_tokens import special_tokens

    if facts.snapshot is not None and facts.snapshot.config:
        try:
            return special_tokens(facts.snapshot, profile.version) or facts.variables
        except CannotCheckError:
            return facts.variables
    return facts.variables


def _probes(facts: TemplateFacts) -> Iterator[ProfileProbe]:
    static = facts.static
    words = static.attributes | static.strings
    whole = _reads_whole_messages(static)
    # First what differs whatever the conversation is like.
    if _reaches_into_globals(static):
        yield ProfileProbe(GLOBALS, [ASK], [TOOL])
    if "additional_special_tokens" in static.free:
        yield ProfileProbe("additional_special_tokens", [ASK], None)
    if facts.tool_rules_apply:
        (call,) = facts.shape.apply([CALL])
        yield ProfileProbe("content null beside a call", [ASK, {**call, "content": None}, TOOL_RESULT], [TOOL])
    if "tool_calls" in words or whole:
        yield ProfileProbe("tool_calls null", [ASK, {**_REPLY, "tool_calls": None}, ASK], None)
    # A name that the template does not read is new to 4.x whatever the template says.
    for key in REASONING_FIELDS:
        if key in words or whole:
            yield ProfileProbe(f"reasoning under the key '{key}'", [ASK, {**_REPLY, key: "zqreasoning"}], None)


def _reads_whole_messages(static: StaticFacts) -> bool:
    """Whether a message is printed, or its keys are listed: then every key of it counts."""
    loops = {
        loop.target.name
        for loop in static.kinds.get(nodes.For, ())
        if isinstance(loop.target, nodes.Name) and any("message" in name for name in _names(loop.iter))
    }
    whole = [node.node for node in static.kinds.get(nodes.Filter, ()) if node.name in _LISTING]
    whole += [
        call.node.node
        for call in static.kinds.get(nodes.Call, ())
        if isinstance(call.node, nodes.Getattr) and call.node.attr in ("items", "keys", "values")
    ]
    whole += [child for output in static.kinds.get(nodes.Output, ()) for child in output.nodes]
    return any(isinstance(node, nodes.Name) and (node.name in loops or "message" in node.name) for node in whole)


def _names(node: nodes.Node) -> set[str]:
    return {child.name for child in walk(node) if isinstance(child, nodes.Name)}


def _reaches_into_globals(static: StaticFacts) -> bool:
    """Whether an attribute of ``dict`` or ``namespace`` is read: both are restricted from 5.23."""
    return any(
        isinstance(node.node, nodes.Name) and node.node.name in ("dict", "namespace")
        for node in static.kinds.get(nodes.Getattr, ())
    )

"""TL701: transformers 4.x and 5.x give different prompts for the same messages."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.other_profile import (
    GLOBALS,
    ProfileDifference,
    other_profile,
    profile_differences,
    variables_under,
)
from template_lint.facts.prefix import common_prefix_length
from template_lint.facts.variants import Conversation
from template_lint.model import Finding, Place, Severity
from template_lint.rendering.profiles import Profile
from template_lint.rendering.template import Outcome
from template_lint.rules.base import Rule
from template_lint.rules.crashes import crash_place
from template_lint.rules.defects import shapes
from template_lint.rules.wording import around, cropped, listed, shorten, word_start

_EXCERPT = 28
_MESSAGE = 120


class TransformersProfile(Rule):
    """transformers 4.x and 5.x give different prompts for the same messages, or one of them raises.

    What: the mirrored version is compared with the other major version on the conversations that the two prepare
    differently: ``content`` null beside a call, ``tool_calls`` null (from 5.24 keys that are null are dropped),
    reasoning under a name that the template reads (from 5.21 each name is copied to the others), attributes of ``dict``
    and ``namespace`` (restricted from 5.23). Where the mirrored version is the one that goes wrong, TL205, TL206 or
    TL207 says so of the same shape, and tells what the other version does.

    Why it matters: the trainer and the server often run different versions. The same conversation is then another
    prompt in each of them, and nothing fails.

    How to fix: make the template indifferent: ``message.content or ''``, ``message.tool_calls`` tested for truth, and
    reasoning always sent as ``reasoning_content``.
    """

    code = "TL701"
    name = "transformers-profile"
    severity = Severity.WARNING

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """One finding per template, with every kind of conversation that differs."""
        other = other_profile(facts.profile)
        differences = list(profile_differences(facts, other))
        if not differences:
            return
        first = differences[0]
        titles = [difference.probe.title for difference in differences]
        yield self.finding(
            facts,
            _sentence(differences, facts.profile, other),
            remedy=_remedy(first),
            place=_place(facts, first, other),
            evidence={"other": _version(other), "differences": titles, **_texts(first)},
            # What only the other version gets wrong is told here alone.
            defects=[] if first.other.text is None else shapes(titles),
            brief=_brief(first, other),
        )


def _version(profile: Profile) -> str:
    return f"{profile.version[0]}.{profile.version[1]}"


def _sentence(differences: list[ProfileDifference], mirrored: Profile, other: Profile) -> str:
    """How the first difference shows, for which conversations it shows like that, and which others differ."""
    how = _how(differences[0], mirrored, other)
    alike: list[str] = []
    otherwise: list[str] = []
    for difference in differences:
        (alike if _how(difference, mirrored, other) == how else otherwise).append(difference.probe.title)
    more = f"; they differ too for {listed(otherwise)}" if otherwise else ""
    return f"{how} for {listed(alike)}{more}"


def _how(difference: ProfileDifference, mirrored: Profile, other: Profile) -> str:
    sides = ((mirrored, difference.mirrored), (other, difference.other))
    for profile, outcome in sides:
        if outcome.text is None:
            rest = next(profile for profile, outcome in sides if outcome.text is not None)
            problem = f"{outcome.error}: {cropped(outcome.message, _MESSAGE)}"
            return f"renders under transformers {_version(rest)} and raises {problem} under {_version(profile)}"
    left, right = _excerpts(difference.mirrored, difference.other)
    return f"transformers {_version(mirrored)} prints {left} and {_version(other)} prints {right}"


def _brief(difference: ProfileDifference, other: Profile) -> str:
    """What the other version does with this shape, where it renders; the finding that says it may name other shapes."""
    title = difference.probe.title
    if difference.mirrored.text is None:
        return f"transformers {_version(other)} renders {title}"
    return f"transformers {_version(other)} prints {_excerpts(difference.mirrored, difference.other)[1]} for {title}"


def _excerpts(mirrored: Outcome, other: Outcome) -> tuple[str, str]:
    one, two = mirrored.text or "", other.text or ""
    start = word_start(one, common_prefix_length(one, two))
    return shorten(one[start : start + _EXCERPT]), shorten(two[start : start + _EXCERPT])


def _texts(difference: ProfileDifference) -> dict[str, object]:
    one, two = difference.mirrored.text, difference.other.text
    if one is None or two is None:
        return {"error": difference.mirrored.error or difference.other.error}
    at = common_prefix_length(one, two)
    (mirrored, offset), (other, _) = around(one, at), around(two, at)
    return {"mirrored_text": mirrored, "other_text": other, "excerpt_offset": offset}


def _place(facts: TemplateFacts, difference: ProfileDifference, other: Profile) -> Place | None:
    """What raises, or what prints the text that only one version has: the one whose prompt is longer."""
    probe = difference.probe
    variables = variables_under(facts, other)
    if difference.mirrored.text is None or difference.other.text is None:
        conversation = Conversation(list(probe.messages), tools=probe.tools is not None)
        if difference.mirrored.text is None:
            return crash_place(facts, conversation, difference.mirrored)
        return crash_place(facts, conversation, difference.other, profile=other, variables=variables)
    one, two = difference.mirrored.text, difference.other.text
    at = common_prefix_length(one, two)
    if len(two) <= len(one):
        return facts.place_in(probe.messages, at, tools=probe.tools, generation_prompt=True)
    variant = facts.template.variant(profile=other)
    return facts.place_in(
        probe.messages, at, tools=probe.tools, generation_prompt=True, kwargs=variables, variant=variant
    )


def _remedy(difference: ProfileDifference) -> str:
    title = difference.probe.title
    if title == GLOBALS:
        return "Call dict(...) and namespace(...) only: most of their attributes are refused from 5.23 on."
    if title.startswith("content"):
        return "Read message.content or '', and send content as an empty string."
    if title.startswith("tool_calls"):
        return "Test message.tool_calls for truth, and leave the key out where there is no call."
    if title.startswith("reasoning"):
        return "Send reasoning as reasoning_content, and read it only from there."
    return "Pin the transformers version that the model is trained and served with."

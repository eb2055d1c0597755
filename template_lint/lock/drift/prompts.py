"""Every conversation rendered on both sides, at every cut, and compared: as text, then as token ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from template_lint.errors import CannotCheckError
from template_lint.facts.prefix import common_prefix_length, wants_generation_prompt
from template_lint.lock.drift.model import Difference, PromptDrift, TokenDifference
from template_lint.rendering.template import Outcome
from template_lint.scenarios.model import Scenario

if TYPE_CHECKING:
    from template_lint.facts import TemplateFacts
    from template_lint.tokenization import Tokenization

MOST_CHARACTERS = 32 << 20
"""Texts that are encoded on each side, in characters altogether: some ten seconds. Real catalogues take 2 million."""

_BEFORE, _AFTER = 48, 160
Reasons = Callable[[Scenario, int, Outcome, Outcome], list[str]]


class _Cut(NamedTuple):
    """A conversation cut after ``messages`` of its messages, rendered on both sides."""

    scenario: Scenario
    messages: int
    before: Outcome
    after: Outcome


class Tokenizers(NamedTuple):
    """The tokenizers of both sides. ``same`` says that ids of equal texts need not be compared; ``skipped`` why they
    cannot be.
    """

    before: Tokenization | None
    after: Tokenization | None
    same: bool = False
    skipped: str | None = None


def compare_prompts(
    before: TemplateFacts,
    after: TemplateFacts,
    scenarios: Sequence[Scenario],
    tokenizers: Tokenizers,
    reasons: Reasons = lambda scenario, count, before, after: [],
    *,
    peers: bool = False,
) -> PromptDrift:
    """Compare all of ``scenarios``. Raises CannotCheckError (``stopped``) where a render reached a bound.

    A conversation that raises on both sides gives no prompt on either and is no difference, whatever it raises. One
    that gives a prompt on the second side only is a difference where the sides are ``peers``. The ids of a conversation
    are compared where its texts are the same; where they differ, ids are only looked at to show them.
    """
    cuts = [cut for scenario in scenarios for cut in _cuts(before, after, scenario)]
    names: dict[str, str] = {}
    causes: dict[str, list[str]] = {}
    first: Difference | None = None
    gained: dict[str, None] = {}
    for cut in cuts:
        if cut.before.text is None and cut.after.text is not None:
            gained[cut.scenario.name] = None
            if not peers:
                continue
        if cut.scenario.name not in names and cut.before.text != cut.after.text:
            found = _text_difference(cut, tokenizers)
            found = found._replace(reasons=tuple(reasons(cut.scenario, cut.messages, cut.before, cut.after)))
            names[found.conversation] = found.kind
            for reason in found.reasons:
                causes.setdefault(reason, []).append(found.conversation)
            first = first or found
    skipped = tokenizers.skipped
    if skipped is None and not tokenizers.same and tokenizers.before is not None and tokenizers.after is not None:
        same = [cut for cut in cuts if cut.scenario.name not in names and cut.before.text is not None]
        if sum(len(text) for text in {cut.before.text or "" for cut in same}) > MOST_CHARACTERS:
            skipped = f"the prompts have more than {MOST_CHARACTERS:,} characters"
        else:
            for cut, token in _id_differences(same, tokenizers.before, tokenizers.after):
                if cut.scenario.name not in names:
                    names[cut.scenario.name] = "ids"
                    first = first or _excerpted(cut, _offset_of(tokenizers.before, cut, token), "ids", token)
    in_order = {s.name: names[s.name] for s in scenarios if s.name in names}
    only_gained = tuple(name for name in gained if peers or name not in in_order)
    return PromptDrift(len(scenarios), len(cuts), in_order, first, causes, only_gained, skipped)


def _cuts(before: TemplateFacts, after: TemplateFacts, scenario: Scenario) -> list[_Cut]:
    found = []
    for count in scenario.cuts:
        prompt = wants_generation_prompt(scenario, count)
        sides = [facts.render_scenario(scenario, count, prompt) for facts in (before, after)]
        for outcome in sides:
            if outcome.error == "RenderStopped":
                raise CannotCheckError(f"rendering {scenario.name} was stopped: {outcome.message}", kind="stopped")
        found.append(_Cut(scenario, count, *sides))
    return found


def _text_difference(cut: _Cut, tokenizers: Tokenizers) -> Difference:
    before, after = cut.before.text, cut.after.text
    if before is None or after is None:
        return Difference(
            conversation=cut.scenario.name,
            kind="error",
            messages=cut.messages,
            before=None if before is None else before[-_AFTER:],
            after=None if after is None else after[-_AFTER:],
            before_error=_error(cut.before),
            after_error=_error(cut.after),
        )
    token = None
    if tokenizers.before is not None and tokenizers.after is not None:
        token = first_difference(tokenizers.before, tokenizers.after, before, after)
    return _excerpted(cut, common_prefix_length(before, after), "text", token)


def _excerpted(cut: _Cut, offset: int, kind: str, token: TokenDifference | None) -> Difference:
    start = max(0, offset - _BEFORE)
    return Difference(
        conversation=cut.scenario.name,
        kind=kind,
        messages=cut.messages,
        before=(cut.before.text or "")[start : offset + _AFTER],
        after=(cut.after.text or "")[start : offset + _AFTER],
        offset=offset,
        excerpt_offset=offset - start,
        token=token,
    )


def _error(outcome: Outcome) -> str | None:
    if outcome.error is None:
        return None
    where = f" (template line {outcome.line})" if outcome.line else ""
    return f"{outcome.error}: {outcome.message[:_AFTER]}{where}"


def _id_differences(
    cuts: Sequence[_Cut], before: Tokenization, after: Tokenization
) -> list[tuple[_Cut, TokenDifference]]:
    """The cuts whose one text has other ids on each side."""
    texts = list(dict.fromkeys(cut.before.text or "" for cut in cuts))
    different = {
        text: token_difference(one, other, before, after)
        for text, one, other in zip(texts, before.encode_batch(texts), after.encode_batch(texts), strict=True)
        if one != other
    }
    return [(cut, different[cut.before.text or ""]) for cut in cuts if cut.before.text in different]


def first_difference(
    before: Tokenization, after: Tokenization, before_text: str, after_text: str
) -> TokenDifference | None:
    """Where the ids of two texts part, each encoded by its own tokenizer; None where they are the same."""
    one, other = before.encode(before_text), after.encode(after_text)
    return None if one == other else token_difference(one, other, before, after)


def token_difference(
    one: Sequence[int], other: Sequence[int], before: Tokenization, after: Tokenization
) -> TokenDifference:
    """The first index at which two different sequences part, with both ids and the text each stands for."""
    index = next(i for i, (a, b) in enumerate(zip_longest(one, other)) if a != b)
    ids = [side[index] if index < len(side) else None for side in (one, other)]
    texts = [
        None if token_id is None else side.decode([token_id])
        for side, token_id in zip((before, after), ids, strict=True)
    ]
    return TokenDifference(index, ids[0], ids[1], texts[0], texts[1])


def _offset_of(tokenization: Tokenization, cut: _Cut, token: TokenDifference) -> int:
    """The character at which a token of the first side begins; the end of the text where it has none there."""
    text = cut.before.text or ""
    _, offsets = tokenization.encode_with_offsets(text)
    return offsets[token.at][0] if token.at < len(offsets) else len(text)

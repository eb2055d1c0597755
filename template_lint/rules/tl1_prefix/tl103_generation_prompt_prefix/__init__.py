"""TL103: the generation prompt is not how the finished turn begins."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.divergences import Divergence
from template_lint.facts.inline_reasoning import reasoning_of
from template_lint.facts.mode import holds_in_its_mode
from template_lint.facts.prefix import Appended, Question, common_prefix_length
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule
from template_lint.rules.divergence import prefix_findings, require_turns
from template_lint.rules.tokens import token_findings
from template_lint.rules.wording import shorten, word_start
from template_lint.scenarios.model import Scenario

BORDER_REPLIES = ("\nOne", " one", "1 one", "一二")
"""Replies whose first characters are known to merge with what stands before them."""


class GenerationPromptPrefix(Rule):
    """The generation prompt is not a prefix of the finished turn.

    What: the prompt that asks for a reply is rendered, then the conversation with the reply. The first must be a
    prefix of the second, in every thinking mode; with a tokenizer the ids are held to the same, with replies that
    begin with a newline, a space, a digit and a CJK character. A prompt that opens a thinking block fits replies that
    think: where it fails for the others only, that is an info. Templates of judges, which quote a conversation, are not
    asked.

    Why it matters: training on finished conversations then shows the model another start of the turn than it is given
    when it samples, and a loss mask computed from renders starts at the wrong token.

    How to fix: emit the same opening in both places, thinking block included.
    """

    code = "TL103"
    name = "generation-prompt-prefix"
    severity = Severity.WARNING

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Ask every assistant question, then the border replies in ids."""
        require_turns(facts)
        yield from prefix_findings(
            self,
            facts,
            Appended.ASSISTANT,
            what=lambda divergence: _sentence(facts, divergence),
            remedy=lambda divergence: _remedy(facts, divergence),
            counts=lambda question: not holds_in_its_mode(facts, question),
        )
        yield from self._other_mode(facts)
        if facts.tokenization is not None:
            yield from token_findings(
                self,
                facts,
                [question for question in _border_questions(facts) if question.answered and question.holds],
                what="the ids of the generation prompt change with the first character of the reply",
                remedy="Never re-encode a finished turn: append the sampled ids to the ids of the prompt.",
            )

    def _other_mode(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Replies whose reasoning was not sent back, after a prompt that opens a thinking block."""
        asked = facts.answered(Appended.ASSISTANT)
        excused = [
            question
            for question in asked
            if not question.holds and not _has_reasoning(facts, question) and holds_in_its_mode(facts, question)
        ]
        if not excused:
            return
        first = excused[0]
        earlier, later = first.earlier_outcome.text or "", first.later_outcome.text or ""
        offset = common_prefix_length(earlier, later)
        start = word_start(earlier, offset)
        scenario = first.scenario
        what = "prompt" if _in_history(facts, first, offset) else "generation prompt"
        yield self.finding(
            facts,
            f"the {what} does not fit a reply without reasoning:"
            f" {shorten(earlier[start:], 24)} becomes {shorten(later[start:], 24)}"
            f" ({len(excused)} of {len(asked)} cases)",
            remedy="Send the reasoning back with each reply, and choose the thinking mode that the reply was made in.",
            place=facts.printed_at(scenario, first.earlier, True, offset),
            scenario=scenario.name,
            severity=Severity.INFO,
            evidence={
                "earlier": earlier[offset : offset + 60],
                "later": later[offset : offset + 60],
            },
        )


def _has_reasoning(facts: TemplateFacts, question: Question) -> bool:
    return bool(reasoning_of(facts, question.scenario.messages[question.later - 1]))


def _sentence(facts: TemplateFacts, divergence: Divergence) -> str:
    """What goes wrong: in the generation prompt, or already in the history before it."""
    if _in_history(facts, divergence.question, divergence.offset):
        return "appending the reply rewrites the prompt it answers"
    return "the generation prompt is not how the finished turn begins"


def _remedy(facts: TemplateFacts, divergence: Divergence) -> str | None:
    """What to do about the generation prompt; None where the reply rewrites the history before it."""
    if _in_history(facts, divergence.question, divergence.offset):
        return None
    return "Begin a finished turn with exactly the text of the generation prompt, thinking block included."


def _in_history(facts: TemplateFacts, question: Question, offset: int) -> bool:
    """Whether a character of the prompt stands before the generation prompt."""
    history = facts.history_of(question)
    return history is not None and offset < len(history)


def _border_questions(facts: TemplateFacts) -> Iterator[Question]:
    ask = {"role": "user", "content": "Count."}
    for reply in BORDER_REPLIES:
        messages = [ask, {"role": "assistant", "content": reply}]
        scenario = Scenario(f"reply beginning with {reply[0]!r}", "", messages, None, {}, [1, 2])
        earlier = facts.render(messages[:1], generation_prompt=True)
        yield Question(scenario, Appended.ASSISTANT, 1, 2, earlier, facts.render(messages))

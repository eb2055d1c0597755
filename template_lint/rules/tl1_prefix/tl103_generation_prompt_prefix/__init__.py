"""TL103: the generation prompt is not how the finished turn begins."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.mode import holds_in_its_mode
from template_lint.facts.prefix import Appended, Question
from template_lint.facts.template_facts import Divergence
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule
from template_lint.rules.divergence import prefix_findings
from template_lint.rules.tokens import token_findings
from template_lint.scenarios.model import Scenario

BORDER_REPLIES = ("\nOne", " one", "1 one", "一二")
"""Replies whose first characters are known to merge with what stands before them."""


class GenerationPromptPrefix(Rule):
    """The generation prompt is not a prefix of the finished turn.

    What: the prompt that asks for a reply is rendered, then the conversation with the reply. The first must be a
    prefix of the second, in every thinking mode; with a tokenizer the ids are held to the same, with replies that
    begin with a newline, a space, a digit and a CJK character.

    Why it matters: training on finished conversations then shows the model another start of the turn than it is given
    when it samples, and a loss mask computed from renders starts at the wrong token.

    How to fix: emit the same opening in both places, thinking block included.
    """

    code = "TL103"
    name = "generation-prompt-prefix"
    severity = Severity.WARNING

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Ask every assistant question, then the border replies in ids."""
        yield from prefix_findings(
            self,
            facts,
            Appended.ASSISTANT,
            what=lambda divergence: _sentence(facts, divergence),
            remedy="Begin a finished turn with exactly the text of the generation prompt, thinking block included.",
            counts=lambda question: not holds_in_its_mode(facts, question),
        )
        if facts.tokenization is not None:
            yield from token_findings(
                self,
                facts,
                [question for question in _border_questions(facts) if question.answered and question.holds],
                what="the ids of the generation prompt change with the first character of the reply",
                remedy="Never re-encode a finished turn: append the sampled ids to the ids of the prompt.",
            )


def _sentence(facts: TemplateFacts, divergence: Divergence) -> str:
    """What goes wrong: in the generation prompt, or already in the history before it."""
    history = facts.history_of(divergence.question)
    if history is not None and divergence.offset < len(history):
        return "appending the reply rewrites the prompt it answers"
    return "the generation prompt is not how the finished turn begins"


def _border_questions(facts: TemplateFacts) -> Iterator[Question]:
    ask = {"role": "user", "content": "Count."}
    for reply in BORDER_REPLIES:
        messages = [ask, {"role": "assistant", "content": reply}]
        scenario = Scenario(f"reply beginning with {reply[0]!r}", "", messages, None, {}, [1, 2])
        earlier = facts.render(messages[:1], generation_prompt=True)
        yield Question(scenario, Appended.ASSISTANT, 1, 2, earlier, facts.render(messages))

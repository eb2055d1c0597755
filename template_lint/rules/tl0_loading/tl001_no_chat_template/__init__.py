"""TL001: there is no template to check."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule


class NoChatTemplate(Rule):
    """The target has no chat template, or transformers would not find it.

    What: the files hold no chat template, or selection fails. A repository with only a ``tool_use`` template raises as
    soon as ``apply_chat_template`` is called without tools, because any file in ``additional_chat_templates/``
    replaces the template in tokenizer_config.json.

    Why it matters: training or serving stops at the first conversation, or silently uses some other template.

    How to fix: add ``chat_template.jinja`` to the repository (it wins over tokenizer_config.json), or a ``default``
    beside the named templates.
    """

    code = "TL001"
    name = "no-chat-template"
    severity = Severity.ERROR
    needs = ()

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Report the reason that selection gives."""
        if facts.selection_error is not None:
            yield self.finding(
                facts,
                facts.selection_error,
                remedy="Add chat_template.jinja, or a template named default.",
            )
        elif not facts.source.strip():
            yield self.finding(
                facts,
                "the template is empty: every conversation renders to an empty prompt",
                remedy="Put the template in, or delete the file or key: an empty one is used, not ignored.",
            )

"""TL003: several copies of the template, and they do not agree."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule
from template_lint.snapshot.model import TemplateCopy


class TemplateCopiesDiffer(Rule):
    """The model carries several copies of its template, and they render differently.

    What: chat_template.jinja, the string in tokenizer_config.json, chat_template.json, processor_config.json,
    ``additional_chat_templates/`` and a GGUF copy are compared with the one in effect, by the prompts they give. Named
    templates that a file silently replaces are reported too.

    Why it matters: which copy is used depends on who loads the model. Tokenizers take chat_template.jinja over
    tokenizer_config.json and never read chat_template.json; processors do. A fix in one copy leaves the others broken.

    How to fix: keep one copy, chat_template.jinja, and delete the rest; or make them equal.
    """

    code = "TL003"
    name = "template-copies-differ"
    severity = Severity.WARNING
    needs = ("template", "syntax", "snapshot")

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Compare each other copy of the same name with the template in effect."""
        assert facts.snapshot is not None
        in_effect = {copy.name for copy in facts.snapshot.templates}
        for copy in facts.snapshot.copies:
            if copy.source == facts.source or copy in facts.snapshot.templates:
                continue
            if copy.name == facts.name and copy.file == facts.file:
                yield self.finding(
                    facts,
                    f"{copy.file} holds two templates named {copy.name!r}; transformers takes the last",
                    remedy="Delete or rename the one at " + str(copy.pointer) + ".",
                    evidence={"copy": copy.file, "pointer": copy.pointer, "loader": copy.loader},
                )
            elif copy.name == facts.name:
                different = _different_scenarios(facts, copy)
                if different:
                    yield self.finding(
                        facts,
                        f"the copy in {copy.file} gives other prompts than {facts.file}, which is in effect for "
                        f"{'processors' if _is_processor(facts) else 'tokenizers'}",
                        remedy=f"Delete the copy in {copy.file}, or make it equal to {facts.file}.",
                        scenario=different[0],
                        evidence={
                            "copy": copy.file,
                            "pointer": copy.pointer,
                            "loader": copy.loader,
                            "scenarios": different,
                        },
                    )
            elif copy.name not in in_effect and facts.name == "default" and copy.loader == "tokenizer":
                yield self.finding(
                    facts,
                    f"the template {copy.name!r} in {copy.file} is never used: {facts.file} replaces the whole list",
                    remedy=f"Move it to additional_chat_templates/{copy.name}.jinja, or delete it.",
                    evidence={"copy": copy.file, "pointer": copy.pointer, "loader": copy.loader},
                )


def _is_processor(facts: TemplateFacts) -> bool:
    assert facts.snapshot is not None
    return any(copy.loader == "processor" and copy.name == facts.name for copy in facts.snapshot.templates)


def _different_scenarios(facts: TemplateFacts, copy: TemplateCopy) -> list[str]:
    other = TemplateFacts(copy.source, facts.profile, variables=facts.variables)
    if other.compile_error is not None:
        return ["every scenario: it does not compile"]
    different = []
    for mine in facts.scenarios:
        count = len(mine.messages)
        for prompt in (False, True):
            a, b = facts.render_scenario(mine, count, prompt), other.render_scenario(mine, count, prompt)
            if (a.text, a.error) != (b.text, b.error):
                different.append(mine.name)
                break
    return different

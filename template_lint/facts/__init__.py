"""Everything known about one template, computed once and on demand. Rules and the TITO harness read only this."""

from template_lint.facts.template_facts import TemplateFacts

__all__ = ["TemplateFacts"]

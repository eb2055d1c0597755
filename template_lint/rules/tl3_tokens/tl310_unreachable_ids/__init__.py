"""TL310: the output layer and the tokenizer differ in size."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule, Skip


class UnreachableIds(Rule):
    """The output layer has ids that the tokenizer cannot decode.

    What: ``vocab_size`` of config.json is compared with the entries of the tokenizer. More entries than rows is a
    warning: their ids are outside the embedding.

    Why it matters: a model can sample any row. Such an id decodes to nothing, so text and ids disagree from there on,
    and a loop that re-encodes text loses it.

    How to fix: mask these logits when sampling, and keep ids, not text.
    """

    code = "TL310"
    name = "unreachable-ids"
    severity = Severity.INFO
    needs = ("template", "tokenizer")

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Compare the two sizes."""
        rows, entries = facts.tokenizer.habits.rows, facts.tokenizer.vocab_size
        if rows is None:
            raise Skip("config.json, which says how many ids the model has, is not beside the tokenizer")
        evidence = {"rows": rows, "entries": entries}
        if rows > entries:
            yield self.finding(
                facts,
                f"{rows - entries} ids from {entries} on can be sampled and not decoded: {rows:,} rows, "
                f"{entries:,} tokens",
                remedy="Mask these logits when sampling, and keep ids, not text.",
                file="config.json",
                evidence=evidence,
            )
        elif rows < entries:
            yield self.finding(
                facts,
                f"{entries - rows} tokens have ids outside the model: {entries:,} tokens, {rows:,} rows",
                remedy="Resize the embedding, or use the tokenizer that belongs to the model.",
                file="config.json",
                evidence=evidence,
                severity=Severity.WARNING,
            )

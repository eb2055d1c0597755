"""TL005: a name set inside a loop is read where that value cannot arrive."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.lost_writes import MOST_USES, lost_writes
from template_lint.facts.static import SUPPLIED
from template_lint.model import Finding, Severity
from template_lint.rendering.positions import offset_of
from template_lint.rules.base import Rule, Skip
from template_lint.rules.wording import shorten


class LostLoopWrite(Rule):
    """A name is set inside ``{% for %}``, never used there, and read outside, where it still has its old value.

    What: in Jinja a ``set`` inside a loop makes a name of that iteration. The template sets a name in a loop, does not
    read it before the iteration ends, and reads it after the loop or in the next iteration as if it had been kept. What
    it finds there is the value that was set outside the loop, or none.

    Why it matters: the loop's work is thrown away without a word: a separator is never written, a text stays empty, a
    flag stays false.

    How to fix: keep the value in a namespace: ``{% set ns = namespace(found=false) %}``, ``{% set ns.found = true %}``.
    """

    code = "TL005"
    name = "lost-loop-write"
    severity = Severity.WARNING

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Follow each name that is set more than once."""
        source_map = facts.template.source_map
        found, unfollowed = lost_writes(facts.template.tree, facts.source)
        if unfollowed and not found:
            raise Skip(f"{shorten(unfollowed[0])} is used in more than {MOST_USES} places")
        for lost in found:
            start = offset_of(lost.write)
            line, _ = source_map.line_column(offset_of(lost.read))
            where = "in the next iteration" if lost.next_iteration else "after the loop"
            instead = (
                ", where nothing sets it" if lost.unset and lost.name not in SUPPLIED else " and finds the old value"
            )
            name = shorten(lost.name)[1:-1]
            yield self.finding(
                facts,
                f"'{name}' is set inside a loop and lost: line {line} reads it {where}{instead}",
                remedy=f"Keep it in a namespace: {{% set ns = namespace({name}=...) %}}, {{% set ns.{name} = ... %}}.",
                place=source_map.place(start, start + len(lost.name)),
                evidence={"name": lost.name, "read_line": line, "next_iteration": lost.next_iteration},
            )

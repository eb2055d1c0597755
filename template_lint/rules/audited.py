"""What the rules about recorded rollouts share: they are found by the audit, over many trajectories at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from template_lint.model import Severity
from template_lint.rules.base import Rule


class Seen(NamedTuple):
    """What an audit saw of one rule: in how many of the trajectories that it asked.

    ``first``: the values of the first trajectory found. ``middle``: median of the figure that measures a cause, if one
    does. ``variants``: counts of kinds.
    """

    found: int
    asked: int
    first: str
    middle: float | None = None
    variants: Mapping[str, int] = {}


class AuditRule(Rule):
    """A rule of the stage ``audit``. ``what`` completes "N of M trajectories: ..."; ``remedy`` is the advice."""

    stage = "audit"
    needs = ()
    what: ClassVar[str]
    remedy: ClassVar[str]

    def describe(self, seen: Seen) -> str:
        """One sentence with the values that show it."""
        return f"{share(seen)}: {self.what}. First: {seen.first}"

    def weigh(self, seen: Seen) -> Severity:
        """How grave it is."""
        return self.severity

    def advise(self, seen: Seen) -> str:
        """What to do."""
        return self.remedy


def share(seen: Seen) -> str:
    """``37 of 10,000 trajectories (0.4 %)``."""
    percent = 100 * seen.found / seen.asked if seen.asked else 0.0
    shown = f"{percent:.1f}" if percent >= 0.1 else f"{percent:.2g}"
    return f"{seen.found:,} of {seen.asked:,} trajectories ({shown} %)"

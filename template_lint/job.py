"""What a worker is given to check one template."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from template_lint.rendering.profiles import Profile
    from template_lint.scenarios.model import Scenario
    from template_lint.snapshot.model import Snapshot, TemplateCopy


class Job(NamedTuple):
    """One template and everything that can change its report.

    ``codes`` are the rules to run (all where it is empty). ``variables`` are the special tokens handed to the
    template. ``tokenizer`` is the snapshot whose tokenizer serves it, None where there is none.
    """

    copy: TemplateCopy
    snapshot: Snapshot
    profile: Profile
    codes: tuple[str, ...]
    variables: dict[str, Any]
    tokenizer: Snapshot | None
    conversations: list[Scenario]
    force_tools: bool
    selection_error: str | None

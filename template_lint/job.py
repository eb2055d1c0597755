"""What a worker is given to check one template, and how a snapshot becomes such jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from template_lint.snapshot.model import Snapshot, TemplateCopy
from template_lint.snapshot.special_tokens import PLACEHOLDER_TOKENS, special_tokens

if TYPE_CHECKING:
    from template_lint.rendering.profiles import Profile
    from template_lint.scenarios.model import Scenario


class Job(NamedTuple):
    """One template and everything that can change its report.

    ``codes`` are the rules to run (all where it is empty). ``variables`` are the special tokens handed to the
    template. ``tokenizer`` is the snapshot whose tokenizer serves it, None where there is none.
    ``display`` asks for what a page shows beyond the findings, ``compare_engines`` for renders in a second engine.
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
    display: bool = False
    compare_engines: bool = False


def jobs_for(
    snapshot: Snapshot,
    profile: Profile,
    *,
    codes: Sequence[str] = (),
    tokenizer: Snapshot | None = None,
    conversations: Sequence[Scenario] = (),
    force_tools: bool = False,
    display: bool = False,
    compare_engines: bool = False,
) -> list[Job]:
    """One job per template of a snapshot; one with an empty source where it has none.

    ``tokenizer`` serves where the snapshot has no tokenizer of its own. Raises CannotCheckError where transformers of
    that version could not load the snapshot's special tokens.
    """
    own = special_tokens(snapshot, profile.version)
    if not own and tokenizer is not None:
        own = special_tokens(tokenizer, profile.version)
    copies = snapshot.templates or (TemplateCopy(name="default", source="", file=""),)
    return [
        Job(
            copy=copy,
            snapshot=snapshot,
            profile=profile,
            codes=tuple(codes),
            variables=own or (PLACEHOLDER_TOKENS if not snapshot.config else {}),
            tokenizer=snapshot if snapshot.tokenizer is not None else tokenizer,
            conversations=list(conversations),
            force_tools=force_tools,
            selection_error=snapshot.selection_error if copy is copies[0] else None,
            display=display,
            compare_engines=compare_engines,
        )
        for copy in copies
    ]

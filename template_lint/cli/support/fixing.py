"""Gathers what ``fix`` prints: snapshot, template, special tokens, and the fix, worked out in a worker process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from template_lint.errors import CannotCheckError, TemplateLintError, TemplateSelectionError, UsageError
from template_lint.rendering.profiles import Profile, resolve_profile
from template_lint.snapshot.load import load_snapshot
from template_lint.snapshot.model import Snapshot, TemplateCopy
from template_lint.snapshot.special_tokens import PLACEHOLDER_TOKENS, special_tokens
from template_lint.target import Target, parse_target
from template_lint.workers import Died, Failed, run_jobs

if TYPE_CHECKING:
    from template_lint.patches.fixing import Fix


class Order(NamedTuple):
    """One template to be fixed, as it is sent to the worker."""

    snapshot: Snapshot
    copy: TemplateCopy
    profile: Profile
    variables: dict[str, Any]
    tokenizer: Snapshot | None
    markers: bool


def order(
    target: str | Target,
    *,
    template: str | None = None,
    tokenizer: str | None = None,
    transformers: str | None = None,
    offline: bool = False,
    markers: bool = False,
) -> Order:
    """Load the target and choose its template. Raises UsageError, CannotCheckError, TemplateSelectionError."""
    profile = resolve_profile(transformers)
    snapshot = load_snapshot(parse_target(target), offline=offline, profile_version=profile.version)
    donor = snapshot
    if tokenizer is not None:
        donor = load_snapshot(parse_target(tokenizer), offline=offline, profile_version=profile.version)
    own = special_tokens(snapshot, profile.version) or special_tokens(donor, profile.version)
    return Order(
        snapshot,
        _pick(snapshot, snapshot.target.text, template),
        profile,
        own or (dict(PLACEHOLDER_TOKENS) if not snapshot.config else {}),
        donor if donor.tokenizer is not None else None,
        markers,
    )


def _pick(snapshot: Snapshot, target: str, name: str | None) -> TemplateCopy:
    from template_lint.snapshot.selection import pick

    if name is None:
        if snapshot.selection_error is not None:
            raise TemplateSelectionError(f"{target}: {snapshot.selection_error}")
        return pick(snapshot.templates, tools_given=True)
    for copy in snapshot.templates:
        if copy.name == name:
            return copy
    names = ", ".join(copy.name for copy in snapshot.templates) or "none"
    raise UsageError(f"{target} has no template {name!r}. It has: {names}.")


def work(ordered: Order) -> Fix:
    """The fix. Raises CannotCheckError where the template does not compile or takes its worker down."""
    [(_, result)] = run_jobs(
        "template_lint.cli.support.fixing:fix_in_worker",
        [ordered],
        jobs=1,
        initializer="template_lint.rendering.limits:arm_process",
    )
    if isinstance(result, Died):
        raise CannotCheckError(f"{_shown(ordered)}: rendering took its process down: {result.reason}", kind="stopped")
    if isinstance(result, Failed):
        raise TemplateLintError(f"internal error: {_shown(ordered)}: {result.error}")
    if isinstance(result, str):
        raise CannotCheckError(f"{_shown(ordered)}: {result}", kind="render")
    fixed: Fix = result
    return fixed


def fix_in_worker(ordered: Order) -> Fix | str:
    """Work out the fix, or say why the template cannot be looked at."""
    from template_lint.facts import TemplateFacts
    from template_lint.patches.fixing import fix

    tokenizer, version = ordered.tokenizer, ordered.profile.version

    def load() -> Any:
        from template_lint.tokenization import load_tokenization

        assert tokenizer is not None
        return load_tokenization(tokenizer, profile_version=version)

    facts = TemplateFacts(
        ordered.copy.source,
        ordered.profile,
        name=ordered.copy.name,
        variables=ordered.variables,
        tokenization=load if tokenizer is not None else None,
        snapshot=ordered.snapshot,
    )
    error = facts.compile_error
    if error is not None:
        return f"the template does not compile: {error.error}: {error.message}"
    return fix(facts, markers=ordered.markers)


def _shown(ordered: Order) -> str:
    return ordered.copy.file or ordered.snapshot.target.text

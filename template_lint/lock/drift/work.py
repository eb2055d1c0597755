"""What a worker does with one template of two sides: both reports, then everything that differs between them.

Templates of strangers are rendered here, so it runs in a worker (see ``workers``), like a check.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from template_lint.errors import CannotCheckError
from template_lint.facts.shapes import SHAPES
from template_lint.facts.versions import reasons, steps_between
from template_lint.inspection import facts_of, inspect_template
from template_lint.lock.drift.aspects import aspects_of
from template_lint.lock.drift.conversations import conversations
from template_lint.lock.drift.model import PairResult, PromptDrift, TemplateDrift, TokenizerDrift
from template_lint.lock.drift.patches import patch_state
from template_lint.lock.drift.prompts import Reasons, Tokenizers, compare_prompts
from template_lint.lock.drift.regress import gains, lint_delta, losses
from template_lint.lock.drift.sources import diff_sources
from template_lint.lock.drift.tokenizers import compare_tokenizers
from template_lint.rendering.limits import MEMORY_BYTES, trusted_memory
from template_lint.snapshot.special_tokens import special_tokens

if TYPE_CHECKING:
    from template_lint.facts import TemplateFacts
    from template_lint.job import Job
    from template_lint.rendering.profiles import Profile
    from template_lint.rendering.template import Outcome
    from template_lint.scenarios.model import Scenario


class PairJob(NamedTuple):
    """One template on both sides; ``with_tokenizer`` asks for the comparison of the tokenizers themselves too.

    ``patch`` is the training template in use (``patch_sha256`` the digest of its text); None takes the one that the
    first side's report names.
    """

    before: Job
    after: Job
    names: tuple[str, str]
    with_tokenizer: bool
    patch: str | None = None
    patch_sha256: str | None = None


class NotCompared(NamedTuple):
    """Stands for the result of a pair that could not be compared, and why."""

    kind: str
    message: str


def compare_pair(job: PairJob) -> PairResult | NotCompared:
    """Compare one template of two sides. What a template does is no error of ours: it ends as NotCompared."""
    try:
        return _compare(job)
    except CannotCheckError as error:
        return NotCompared(error.kind, str(error))
    except MemoryError:
        return NotCompared("stopped", f"memory limit of {MEMORY_BYTES >> 20} MiB for all renders of one template")


def _compare(job: PairJob) -> PairResult:
    reports = inspect_template(job.before), inspect_template(job.after)
    before, after = facts_of(job.before), facts_of(job.after)
    for facts, report in zip((before, after), reports, strict=True):
        if facts.compile_error is not None and facts.compile_error.error == "RenderStopped":
            raise CannotCheckError(f"compiling {report.file or report.name} was stopped", kind="stopped")
    tokenizers = _tokenizers(job, before, after)
    prompts, scenarios = _prompts(job, before, after, tokenizers)
    source = diff_sources(before.source, after.source, job.names)
    new, fixed = lint_delta(*reports)
    renders = before.compile_error is None and after.compile_error is None
    patch = job.patch or reports[0].verdict.patch
    template = TemplateDrift(
        name=reports[1].name,
        file=reports[1].file,
        before_verdict=reports[0].verdict.tito,
        after_verdict=reports[1].verdict.tito,
        prompts=prompts,
        source_diff=source.lines,
        source_added=source.added,
        source_removed=source.removed,
        new=new,
        fixed=fixed,
        losses=tuple(losses(*reports)),
        gains=tuple(gains(*reports)),
        aspects=tuple(aspects_of(before, after, scenarios)) if renders else (),
        patch=patch_state(after, patch, job.patch_sha256) if patch else None,
        fits=reports[1].verdict.patch if patch is None else None,
    )
    return PairResult(template, _tokenizer_drift(job, tokenizers) if job.with_tokenizer else None)


def _prompts(
    job: PairJob, before: TemplateFacts, after: TemplateFacts, tokenizers: Tokenizers
) -> tuple[PromptDrift, list[Scenario]]:
    if before.compile_error is not None or after.compile_error is not None:
        # Without a syntax tree there are no switches to find; every conversation fails on that side.
        scenarios = conversations(SHAPES[0], [], job.after.conversations)
    else:
        settings = before.switches + [setting for setting in after.switches if setting not in before.switches]
        scenarios = conversations(before.shape, settings, job.after.conversations)
    peers = before.profile != after.profile
    found = compare_prompts(before, after, scenarios, tokenizers, _reasons(job, before, after), peers=peers)
    return found, scenarios


def _reasons(job: PairJob, before: TemplateFacts, after: TemplateFacts) -> Reasons:
    """What is known to make a conversation differ: the steps between two versions of transformers."""
    steps = steps_between(before.profile, after.profile)
    oldest = min((before, after), key=lambda facts: facts.profile.version)
    between = {step.profile: _under(job.before, step.profile) for step in steps}

    def find(scenario: Scenario, count: int, one: Outcome, other: Outcome) -> list[str]:
        def render(profile: Profile) -> Outcome | None:
            facts = between[profile]
            prompt = scenario.messages[count - 1].get("role") != "assistant"
            return None if facts is None else facts.render_scenario(scenario, count, prompt)

        found = reasons(steps, one if oldest is before else other, render)
        return [f"from {step.profile.label} on, {step.change}" for step in found]

    return find


def _under(job: Job, profile: Profile) -> TemplateFacts | None:
    """The template under another version; None where that version cannot load its tokenizer."""
    try:
        variables = special_tokens(job.snapshot, profile.version) or job.variables
    except CannotCheckError:
        return None
    return facts_of(job._replace(profile=profile, variables=variables))


def _tokenizers(job: PairJob, before: TemplateFacts, after: TemplateFacts) -> Tokenizers:
    """Load both tokenizers. One side without makes ids incomparable; none on either side is nobody's fault."""
    one, other = job.before.tokenizer, job.after.tokenizer
    if one is None and other is None:
        return Tokenizers(None, None, same=True)
    missing = [facts.no_tokenizer for facts in (before, after) if facts.tokenization is None]
    if missing:
        return Tokenizers(None, None, skipped=missing[0])
    return Tokenizers(before.tokenization, after.tokenization, same=same_tokenizer(job.before, job.after))


def same_tokenizer(before: Job, after: Job) -> bool:
    """Whether everything that shapes token ids is the same on both sides, judged by files and settings."""
    return _identity(before) == _identity(after)


def _identity(job: Job) -> object:
    snapshot = job.tokenizer
    if snapshot is None:
        return None
    files = {
        name: digest
        for name, digest in snapshot.files.items()
        if not name.endswith((".jinja", ".jinja2", ".j2")) and name not in _READ
    }
    config = {key: value for key, value in snapshot.config.items() if key != "chat_template"}
    gguf = snapshot.tokenizer.gguf if snapshot.tokenizer is not None else None
    unhashed = (gguf.absolute(), gguf.stat().st_size, gguf.stat().st_mtime_ns) if gguf is not None else None
    version = job.profile.version >= (5, 0)
    kind = {key: snapshot.model_config.get(key) for key in ("model_type", "tokenizer_class")}
    named = snapshot.special_tokens_map_json
    return files, config, named, kind, snapshot.stop_ids, unhashed, version, dict(job.variables)


_READ = (
    "tokenizer_config.json",
    "chat_template.json",
    "processor_config.json",
    "config.json",
    "generation_config.json",
)
"""Files whose settings are compared as they are read, not by their bytes."""


def _tokenizer_drift(job: PairJob, tokenizers: Tokenizers) -> TokenizerDrift | None:
    if tokenizers.skipped is not None:
        return TokenizerDrift(skipped=tokenizers.skipped)
    if tokenizers.before is None or tokenizers.after is None or tokenizers.same:
        return None
    assert job.before.tokenizer is not None and job.after.tokenizer is not None
    snapshots = job.before.tokenizer, job.after.tokenizer
    with trusted_memory():
        return compare_tokenizers(
            tokenizers.before, tokenizers.after, snapshots, cleans_up=job.after.profile.cleans_up_spaces
        )

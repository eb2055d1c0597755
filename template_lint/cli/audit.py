"""``template-lint audit``: is training on these recorded rollouts sound, and if not, why?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from template_lint.cli.support.completion import complete_files
from template_lint.cli.support.failures import ExitCode
from template_lint.cli.support.program import GroupedCommand
from template_lint.cli.support.progress import progress_bar
from template_lint.errors import UsageError

if TYPE_CHECKING:
    from template_lint.audit.auditor import ScoreOptions
    from template_lint.audit.run import Audit

EPILOG = """\b
Examples:
  template-lint audit rollouts.jsonl --tokenizer Qwen/Qwen3-8B
  template-lint audit runs/ 'more/*.parquet' --tokenizer ./model/ --preset trl
  template-lint audit a.jsonl.zst --tokenizer ./model/ --fields ids=tok,mask=m,logprobs=lp
  template-lint audit a.jsonl --tokenizer ./model/ --score ./model/ --output html=audit.html
  template-lint audit --make-sample 1000 --tokenizer ./model/ > sample.jsonl

\b
Exit codes:
  0  sound: no error
  1  a rule finds an error (see --fail-on)
  2  wrong usage, or an internal error
  3  no such finding, but rows or files could not be read, or there was nothing to audit"""


@click.command(
    "audit", cls=GroupedCommand, short_help="Check recorded rollouts: buffers, masks, log-probabilities.", epilog=EPILOG
)
@click.argument("rollouts", nargs=-1, metavar="[ROLLOUTS]...", shell_complete=complete_files)
@click.option(
    "--tokenizer", "target", metavar="TARGET", required=True, help="The model that sampled: folder, Hub, .gguf."
)
@click.option("--preset", metavar="NAME", help="Layout of the rows. [default: the one that fits the first rows]")
@click.option("--fields", metavar="FIELD=PATH,...", help="Where the parts of a row stand; see docs/audit.md.")
@click.option("--stop-ids", metavar="ID,...", help="More ids at which a turn may end.")
@click.option("--kwargs", metavar="NAME=VALUE", multiple=True, help="Template kwargs of the prompts. Repeatable.")
@click.option("--render/--no-render", default=True, help="Compare prompts with their render. [default: render]")
@click.option("--transformers", metavar="VERSION", help="Version to mirror. [default: the installed one]")
@click.option("--select", metavar="CODE,...", help="Only these rules.")
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "info"]),
    default="error",
    show_default=True,
    help="The least severity that exits 1.",
)
@click.option("--strict", is_flag=True, help="Stop at the first bad row.")
@click.option("--jobs", type=click.IntRange(0), default=0, metavar="N", help="Processes. [default: one per processor]")
@click.option("--offline", is_flag=True, help="Use no network.")
@click.option(
    "--output",
    "-o",
    "outputs",
    multiple=True,
    metavar="FORMAT[=FILE]",
    help="text, json, markdown, html, junit. Repeats.",
)
@click.option("--score", metavar="MODEL", help="Let this model compute the trainer's log-probabilities.")
@click.option("--score-device", metavar="DEVICE", help="Where it runs: cpu, cuda, cuda:1 ... [default: cpu]")
@click.option("--score-dtype", type=click.Choice(["auto", "float32", "bfloat16", "float16"]), help="[default: float32]")
@click.option("--score-apply-sampling", is_flag=True, help="At each row's own temperature, top_k and top_p.")
@click.option("--score-batch-tokens", type=click.IntRange(1), metavar="N", hidden=True)
@click.option("--score-chunk", type=click.IntRange(1), metavar="N", hidden=True)
@click.option(
    "--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True, help="What runs the processes."
)
@click.option("--make-sample", type=click.IntRange(1), metavar="N", help="Write N synthetic rollouts and stop.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Of the sample.")
@click.option(
    "--defect-rate",
    type=click.FloatRange(0, 0.04),
    default=0.01,
    show_default=True,
    metavar="SHARE",
    help="Of the rows, for each defect.",
)
@click.option("--defects", metavar="NAME,...", help="Only these defects, or 'none'. [default: all]")
def command(
    rollouts: tuple[str, ...],
    target: str,
    preset: str | None,
    fields: str | None,
    stop_ids: str | None,
    kwargs: tuple[str, ...],
    render: bool,
    transformers: str | None,
    select: str | None,
    fail_on: str,
    strict: bool,
    jobs: int,
    offline: bool,
    outputs: tuple[str, ...],
    score: str | None,
    score_device: str | None,
    score_dtype: str | None,
    score_apply_sampling: bool,
    score_batch_tokens: int | None,
    score_chunk: int | None,
    engine: str,
    make_sample: int | None,
    seed: int,
    defect_rate: float,
    defects: str | None,
) -> ExitCode:
    """Read recorded trajectories and say whether training on them is sound, and if not, which cause it is.

    ROLLOUTS are JSON lines (.gz, .zst too) or Parquet: files, folders, patterns, or - for standard input.
    """
    if make_sample is not None:
        if rollouts:
            raise UsageError("--make-sample writes to standard output and reads no rollouts: leave them out.")
        return _sample(target, make_sample, seed, defect_rate, defects, transformers, offline)
    if not rollouts:
        raise UsageError("no rollouts given. Name files or folders, or - for standard input.")
    from template_lint.audit.fields import parse_fields
    from template_lint.audit.run import Request, audit
    from template_lint.cli.support.audit_outputs import emit_audit, parse_audit_outputs

    chosen = parse_audit_outputs(outputs)
    codes = _codes(select)
    request = Request(
        inputs=rollouts,
        target=target,
        preset=preset,
        fields=parse_fields(fields) if fields else {},
        transformers=transformers,
        offline=offline,
        stop_ids=_ids(stop_ids),
        kwargs=dict(_kwarg(text) for text in kwargs),
        render=render,
        strict=strict,
        jobs=jobs,
        engine=engine,
        score=_score(
            score,
            device=score_device,
            dtype=score_dtype,
            batch_tokens=score_batch_tokens,
            chunk=score_chunk,
            apply_sampling=score_apply_sampling or None,
        ),
    )
    with progress_bar() as bar:
        result = audit(request, progress=bar)._replace(codes=codes)
    emit_audit(chosen, result)
    return exit_code(result, fail_on)


def exit_code(result: Audit, fail_on: str) -> ExitCode:
    """1 for findings at or above ``fail_on``, else 3 where something was not read, else 0."""
    from template_lint.audit.findings import findings
    from template_lint.model import Severity

    least = Severity(fail_on).rank
    if any(finding.severity.rank >= least for finding in findings(result)):
        return ExitCode.FINDINGS
    if result.summary.bad_rows or result.summary.unreadable:
        return ExitCode.NOT_CHECKED
    return ExitCode.CLEAN


def _sample(
    target: str, count: int, seed: int, rate: float, defects: str | None, transformers: str | None, offline: bool
) -> ExitCode:
    from template_lint.audit.sample.apart import sample_lines
    from template_lint.cli.support.outputs import standard_output

    names = None if defects is None else [name.strip() for name in defects.split(",") if name.strip() != "none"]
    with standard_output() as out:
        for lines in sample_lines(target, count, seed, rate, names, transformers=transformers, offline=offline):
            out.write(lines)
    return ExitCode.CLEAN


def _score(model: str | None, **given: Any) -> ScoreOptions | None:
    from template_lint.audit.auditor import ScoreOptions

    asked = {name: value for name, value in given.items() if value is not None}
    if model is not None:
        return ScoreOptions(model, **asked)
    if asked:
        option = min(asked).replace("_", "-")
        raise UsageError(f"--score-{option} says how --score runs a model: add --score MODEL.")
    return None


def _codes(select: str | None) -> frozenset[str] | None:
    if select is None:
        return None
    from template_lint.audit.findings import audit_rules
    from template_lint.rules.registry import select as resolve

    known = {rule.code for rule in audit_rules()}
    chosen: set[str] = set()
    for word in select.split(","):
        codes = known.intersection(resolve([word]))
        if not codes:
            raise UsageError(f"--select {word.strip()}: no rule of the audit. Those are TLA01 to TLA39.")
        chosen |= codes
    return frozenset(chosen)


def _ids(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    try:
        return tuple(int(word) for word in text.split(","))
    except ValueError:
        raise UsageError(f"--stop-ids {text}: write token ids, for example 151643,151645.") from None


def _kwarg(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise UsageError(f"--kwargs {text}: write NAME=VALUE, for example enable_thinking=false.")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value

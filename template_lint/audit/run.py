"""The audit of files: sources -> blocks -> one pure function in worker processes -> one merged Summary.

The process that cuts and merges parses no row but the first few, and renders nothing. ``jobs`` workers each hold one
block; memory does not grow with the files. Where a model scores the rows, there is one worker, which holds it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from template_lint.audit.auditor import AuditOptions, ScoreOptions, auditor_for
from template_lint.audit.block import audit_block, json_parser
from template_lint.audit.fields import FieldMap, choose, no_ids_message
from template_lint.audit.model import NothingToAuditError, StrictRowError
from template_lint.audit.sources import BLOCK_BYTES, Block, Source, blocks, expand
from template_lint.audit.summary import Summary
from template_lint.errors import CannotCheckError, TemplateLintError, UsageError
from template_lint.workers import Died, Failed, run_jobs

Progress = Callable[[int, int, str], None]

_PEEKED_ROWS = 20
_PEEKED_BLOCKS = 8
_SCORED_BLOCK_BYTES = 256 << 10  # a model takes its time: the progress of a run is that of its blocks
ENGINES = ("local", "ray")
_PEEKED_LINE = 8 << 20  # longer rows are read by workers, whose memory is bounded


class Request(NamedTuple):
    """What the user asked for. ``jobs`` 0: as many as there are processors. ``engine``: one of ENGINES.

    With ``score`` the model's log-probabilities stand in for those that a trainer recorded.
    """

    inputs: tuple[str, ...]
    target: str
    preset: str | None = None
    fields: Mapping[str, str] = {}
    transformers: str | None = None
    offline: bool = False
    stop_ids: tuple[int, ...] = ()
    kwargs: Mapping[str, Any] = {}
    render: bool = True
    strict: bool = False
    jobs: int = 0
    engine: str = "local"
    score: ScoreOptions | None = None


class Audit(NamedTuple):
    """What came out: the summary, and what it was made with. ``codes``: the rules to report, None for all."""

    request: Request
    sources: list[Source]
    fields: FieldMap
    summary: Summary
    codes: frozenset[str] | None = None

    @property
    def files(self) -> list[str]:
        """The names of the sources; Origin.file indexes them."""
        return [source.name for source in self.sources]


def audit(request: Request, *, progress: Progress | None = None) -> Audit:
    """Audit everything. ``progress`` is called with (trajectories so far, 0, name of the file).

    Raises UsageError for a wrong request, NothingToAuditError where no trajectory could be read, StrictRowError for a
    bad row under ``strict``, CannotCheckError for a target without a tokenizer.
    """
    if request.score is not None and request.engine != "local":
        raise UsageError("--score holds one copy of the model and runs with --engine local only.")
    sources = expand(request.inputs)
    stream, seen, first_rows = _peek(sources, BLOCK_BYTES if request.score is None else _SCORED_BLOCK_BYTES)
    fields = choose(first_rows, request.preset, request.fields)
    if fields is None:
        raise NothingToAuditError(_no_layout(sources, seen, first_rows))
    options = AuditOptions(
        target=request.target,
        fields=fields,
        transformers=request.transformers,
        offline=request.offline,
        stop_ids=request.stop_ids,
        kwargs=dict(request.kwargs),
        render=request.render,
        score=request.score,
    )
    summary = Summary()
    for part, name in _engine(request.engine)(stream, options, request.jobs or _processors()):
        summary.merge(part)
        if request.strict and (summary.bad_rows or summary.unreadable):
            raise StrictRowError(_first_problem(summary, sources) + " Without --strict the rest goes on.")
        if progress is not None:
            progress(summary.trajectories, 0, name)
    result = Audit(request, sources, fields, summary)
    if not summary.trajectories:
        reason = (
            _first_problem(summary, sources)
            if summary.bad_rows or summary.unreadable
            else f"{_names(sources)}: no rows."
        )
        raise NothingToAuditError(f"nothing to audit: {reason}")
    return result


Engine = Callable[[Iterator[Block], AuditOptions, int], Iterator[tuple[Summary, str]]]


def _engine(name: str) -> Engine:
    if name == "local":
        return in_order
    from template_lint.audit import on_ray

    return on_ray.in_order


def in_order(stream: Iterator[Block], options: AuditOptions, jobs: int) -> Iterator[tuple[Summary, str]]:
    """The summaries of all blocks in the order of the blocks, made in ``jobs`` processes, with the file's name.

    Where a model scores the rows, in one process, and for as long as it takes.
    """
    scored = options.score is not None
    sent: dict[int, Block] = {}

    def payloads() -> Iterator[tuple[AuditOptions, Block]]:
        for index, block in enumerate(stream):
            sent[index] = block._replace(data=b"")
            yield options, block

    ready: dict[int, Summary] = {}
    turn = 0
    # By name: the workers alone need what they run. A process that torch's threads run in must not be forked.
    work, prepare = "template_lint.audit.run:audit_in_worker", "template_lint.audit.run:prepare_worker"
    jobs = 1 if scored else jobs
    for index, result in run_jobs(work, payloads(), jobs=jobs, initializer=prepare, patient=scored, fork=not scored):
        ready[index] = summary_of(sent[index], result)
        while turn in ready:
            yield ready.pop(turn), sent.pop(turn).source.name
            turn += 1


def summary_of(block: Block, result: object) -> Summary:
    """The summary that a worker gave for ``block``, or one that says why there is none. Raises errors it returned."""
    if isinstance(result, Summary):
        return result
    if isinstance(result, TemplateLintError):
        raise result
    if isinstance(result, Failed):
        where = f"rows of {block.source.name} from {block.first_row} on"
        raise InternalError(f"{where}: {result.error}\n{result.traceback}")
    reason = result.reason if isinstance(result, Died) else str(result)
    lost = Summary()
    lost.unreadable.append((block.source.number, f"rows from {block.first_row} on were not looked at: {reason}"))
    return lost


class InternalError(TemplateLintError):
    """The audit raised: our defect, not the data's."""

    kind = "internal"


def prepare_worker() -> None:
    """Processes share the work: the tokenizer must not start threads of its own in each of them."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def audit_in_worker(payload: tuple[AuditOptions, Block]) -> Summary | UsageError | CannotCheckError:
    """The map step in a worker. What is the user's fault is returned, to be raised where it can be said."""
    from template_lint.rendering.limits import Limits, arm_process

    options, block = payload
    try:
        auditor = auditor_for(options)
        if not Limits.armed:
            arm_process()
        return audit_block(block, auditor)
    except (UsageError, CannotCheckError) as error:
        return error


def _peek(sources: Sequence[Source], size: int) -> tuple[Iterator[Block], list[Block], list[Mapping[str, Any]]]:
    """All blocks; those that were looked at for the first rows that are objects; and these rows."""
    stream = chain.from_iterable(blocks(source, size=size) for source in sources)
    taken: list[Block] = []
    rows: list[Mapping[str, Any]] = []
    for block in stream:
        taken.append(block)
        rows += _first_rows(block)
        if rows or len(taken) == _PEEKED_BLOCKS:
            break
    return chain(taken, stream), taken, rows


def _first_rows(block: Block) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    if block.row_group is not None:
        from template_lint.audit.parquet import parquet_rows

        assert block.source.path is not None
        try:
            for row in parquet_rows(block.source.path, block.row_group):
                found.append(row)
                if len(found) == _PEEKED_ROWS:
                    break
        except CannotCheckError:
            pass
        return found
    parse = json_parser()
    start = 0
    while start < len(block.data) and len(found) < _PEEKED_ROWS:
        end = block.data.index(b"\n", start)
        parsed = parse(block.data[start:end]) if 0 < end - start < _PEEKED_LINE else None
        if isinstance(parsed, Mapping):
            found.append(parsed)
        start = end + 1
    return found


def _no_layout(sources: Sequence[Source], seen: Sequence[Block], rows: Sequence[Mapping[str, Any]]) -> str:
    if rows:
        return f"{_names(sources)}: {no_ids_message(rows[0])}"
    problems = Summary()
    for block in seen:
        if block.unreadable is not None:
            problems.unreadable.append((block.source.number, block.unreadable))
        for error in block.errors:
            problems.add_error(error)
        if block.data.strip():
            wrong = "begins with no JSON objects, one per line. Write rows as JSON lines or Parquet"
            return f"nothing to audit: {block.source.name} {wrong}."
    if problems.unreadable or problems.bad_rows:
        return f"nothing to audit: {_first_problem(problems, sources)}"
    return f"nothing to audit: {_names(sources)}: no rows."


def _first_problem(summary: Summary, sources: Sequence[Source]) -> str:
    if summary.errors:
        error = summary.errors[0]
        more = f" ({summary.bad_rows} bad rows in all.)" if summary.bad_rows > 1 else ""
        message = error.message.rstrip(".")
        message += "" if message.endswith("?") else "."
        return f"{sources[error.origin.file].name}, row {error.origin.row}: {message}{more}"
    file, reason = summary.unreadable[0]
    return f"{sources[file].name}: {reason}."


def _names(sources: Sequence[Source]) -> str:
    names = [source.name for source in sources]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

"""The map step: one block of rows -> its Summary. Pure but for reading a Parquet row group that the block names."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from template_lint.audit.auditor import Auditor
from template_lint.audit.model import Origin, RowError, Trajectory
from template_lint.audit.rollouts import audit_many
from template_lint.audit.rows import BadRow, trajectories
from template_lint.audit.sources import Block
from template_lint.audit.strips import drift_strip, ratio_strip
from template_lint.audit.summary import MOST_STRIPS, Summary
from template_lint.errors import CannotCheckError

_CHUNK_TOKENS = 100_000
_CHUNK_ROWS = 256
_TOO_LARGE = "do not fit into the memory that one row may take"


def audit_block(block: Block, auditor: Auditor) -> Summary:
    """Audit the rows of a block."""
    summary = Summary()
    for error in block.errors:
        summary.rows += 1
        summary.add_error(error)
    if block.unreadable is not None:
        summary.unreadable.append((block.source.number, block.unreadable))
    chunk: list[Trajectory] = []
    tokens = 0
    for trajectory in _trajectories(block, auditor, summary):
        chunk.append(trajectory)
        tokens += len(trajectory.ids)
        if tokens >= _CHUNK_TOKENS or len(chunk) >= _CHUNK_ROWS:
            _audit_chunk(auditor.scored(chunk), auditor, summary)
            chunk, tokens = [], 0
    if chunk:
        _audit_chunk(auditor.scored(chunk), auditor, summary)
    return summary


def _audit_chunk(chunk: list[Trajectory], auditor: Auditor, summary: Summary) -> None:
    try:
        audited = audit_many(chunk, auditor)
    except MemoryError:
        if len(chunk) > 1:
            for row in chunk:
                _audit_chunk([row], auditor, summary)
        else:
            message = f"{len(chunk[0].ids)} tokens {_TOO_LARGE}"
            summary.add_error(RowError(chunk[0].origin, "too-large", message))
        return
    drifted, apart = [], []
    for index, (row, result) in enumerate(zip(chunk, audited.results, strict=True)):
        summary.add(row, result)
        if result.drift is not None and result.drift.drifted:
            drifted.append((-result.drift.drifted, index))
        if result.mean_log_distance and result.sampled >= 8:
            apart.append((-result.mean_log_distance, index))
    least_drift = _score_to_beat(summary.worst_drift)
    least_ratio = _score_to_beat(summary.worst_ratio)
    drift_strips = []
    for score, index in sorted(drifted)[:MOST_STRIPS]:
        back = audited.again[index]
        if -score >= least_drift and back is not None:
            drift_strips.append(drift_strip(chunk[index], back, auditor))
    ratio_strips = [
        ratio_strip(chunk[index], -score, audited.again[index], auditor)
        for score, index in sorted(apart)[:MOST_STRIPS]
        if -score >= least_ratio
    ]
    summary.add_strips(drift_strips, ratio_strips)
    summary.health.merge(audited.health)


def _score_to_beat(strips: list[Any]) -> float:
    return float(strips[-1].score) if len(strips) >= MOST_STRIPS else 0.0


def _trajectories(block: Block, auditor: Auditor, summary: Summary) -> Iterator[Trajectory]:
    number = block.first_row - 1
    try:
        for row in _rows(block):
            number += 1
            if row is None:
                continue
            summary.rows += 1
            try:
                if isinstance(row, BadRow):
                    raise row
                made = list(trajectories(row, auditor.options.fields, block.source.number, number))
            except BadRow as bad:
                summary.add_error(RowError(Origin(block.source.number, number), bad.kind, str(bad)))
                continue
            except MemoryError:
                message = f"its lists {_TOO_LARGE}"
                summary.add_error(RowError(Origin(block.source.number, number), "too-large", message))
                continue
            yield from made
    except CannotCheckError as error:
        summary.unreadable.append((block.source.number, str(error)))


def _rows(block: Block) -> Iterator[Any]:
    """The rows of a block in order: parsed, a BadRow for what cannot be parsed, None for a blank line."""
    if block.row_group is not None:
        from template_lint.audit.parquet import parquet_rows

        assert block.source.path is not None
        yield from parquet_rows(block.source.path, block.row_group)
        return
    parse = json_parser()
    for line in block.data.split(b"\n")[:-1]:
        yield None if not line.strip() else parse(line)


def json_parser() -> Callable[[bytes], Any]:
    """Parse one line; a BadRow is returned, not raised. orjson where it is installed: it is six times as fast.

    What orjson refuses (NaN, Infinity) the standard library may still read.
    """
    try:
        from orjson import loads
    except ImportError:
        return _slow

    def fast(line: bytes) -> Any:
        try:
            return loads(line)
        except ValueError:
            return _slow(line)

    return fast


def _slow(line: bytes) -> Any:
    try:
        return json.loads(line)
    except RecursionError:
        return BadRow("not-json", "nested too deeply")
    except MemoryError:
        return BadRow("too-large", f"{len(line) / 1e6:.0f} MB of JSON {_TOO_LARGE}")
    except ValueError as error:
        # The decoder's own message names a place in the line; a cut-off line is the usual reason.
        return BadRow("not-json", f"not valid JSON: {error}")

"""The audit on Ray: the same blocks, the same function, the same merge, on the processors of a cluster.

Blocks are tasks of Ray, not a dataset of Ray Data: where a block of a compressed stream begins is known only once all
before it was read, Ray Data wants its read tasks beforehand, and summaries are merged in order. A window of blocks is
under way at any time, so memory does not grow with the files.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from template_lint.audit.auditor import AuditOptions
from template_lint.audit.run import audit_in_worker, prepare_worker, summary_of
from template_lint.audit.sources import Block
from template_lint.audit.summary import Summary
from template_lint.errors import CannotCheckError, UsageError
from template_lint.workers import Died, Failed

_BLOCKS_PER_PROCESSOR = 2
_STORE_BYTES = 512 << 20


def in_order(stream: Iterator[Block], options: AuditOptions, jobs: int) -> Iterator[tuple[Summary, str]]:
    """The summaries of all blocks in the order of the blocks, with the file's name.

    Runs on the cluster that the program is connected to, or that RAY_ADDRESS names; without one, on ``jobs`` processes
    of this machine. Raises UsageError where Ray is not installed, CannotCheckError for a cluster that cannot be used.
    """
    ray = _import_ray()
    ours = not ray.is_initialized()
    if ours:
        _connect(ray, jobs)
    try:
        yield from _in_order(ray, stream, options)
    finally:
        if ours:
            ray.shutdown()


def _import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # read at import: nothing about this run leaves the machine
    try:
        import ray
    except ImportError as error:
        raise UsageError(f"--engine ray needs Ray: pip install 'template-lint[ray]' ({error}).") from None
    return ray


def _connect(ray: Any, jobs: int) -> None:
    address = os.environ.get("RAY_ADDRESS")
    local: dict[str, Any] = {
        "address": "local",
        "num_cpus": jobs,
        "object_store_memory": _STORE_BYTES,
        "include_dashboard": False,
        "_node_ip_address": "127.0.0.1",
    }
    try:
        ray.init(log_to_driver=False, logging_level="error", **({} if address else local))
    except (OSError, RuntimeError, ValueError) as error:
        where = f"the cluster at {address} (RAY_ADDRESS)" if address else "Ray on this machine"
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise CannotCheckError(f"cannot use {where}: {reason}", kind="no-cluster") from None


def _in_order(ray: Any, stream: Iterator[Block], options: AuditOptions) -> Iterator[tuple[Summary, str]]:
    task = ray.remote(max_retries=1)(_audit)
    shared = ray.put(_with_whole_path(options))
    window = _BLOCKS_PER_PROCESSOR * max(1, int(ray.cluster_resources().get("CPU", 1)))
    under_way: deque[tuple[Block, Any]] = deque()
    for block in stream:
        source = block.source
        if block.row_group is not None and source.path is not None:
            source = source._replace(path=str(Path(source.path).resolve()))
        under_way.append((block._replace(data=b""), task.remote(shared, block._replace(source=source))))
        if len(under_way) >= window:
            yield _next(ray, under_way)
    while under_way:
        yield _next(ray, under_way)


def _audit(options: AuditOptions, block: Block) -> Summary | UsageError | CannotCheckError:
    """The map step as a task."""
    prepare_worker()
    return audit_in_worker((options, block))


def _with_whole_path(options: AuditOptions) -> AuditOptions:
    """Workers may run in another folder."""
    path = Path(options.target)
    return options._replace(target=str(path.resolve())) if path.exists() else options


def _next(ray: Any, under_way: deque[tuple[Block, Any]]) -> tuple[Summary, str]:
    block, reference = under_way.popleft()
    result: object
    try:
        result = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        result = Failed(f"{type(error.cause).__name__}: {error.cause}", str(error))
    except ray.exceptions.RayError as error:
        result = Died(f"its process was lost ({type(error).__name__})")
    return summary_of(block, result), block.source.name

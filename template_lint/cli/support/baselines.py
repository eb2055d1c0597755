"""``--update-baseline`` and ``--prune-baseline``: write the file after a check, and say what changed."""

from __future__ import annotations

from template_lint.cli.support.failures import say
from template_lint.cli.support.outputs import atomic
from template_lint.config import Options
from template_lint.curation import asked_codes, hide_mild
from template_lint.curation.baseline import Baseline, read_baseline
from template_lint.model import BaselineUse, Report
from template_lint.report.layout.summary import count
from template_lint.rules.registry import rule_names


def update_baseline(report: Report, options: Options) -> Report:
    """Write what a check found, and return the report with it hidden."""
    return _maintain(report, options, update=True)


def prune_baseline(report: Report, options: Options) -> Report:
    """Take out what a check no longer found, and return the report with the rest hidden."""
    return _maintain(report, options, update=False)


def _maintain(report: Report, options: Options, *, update: bool) -> Report:
    file = options.baseline
    assert file is not None
    codes = frozenset(asked_codes(options) or rule_names())
    old = Baseline(file, {}) if update and not file.exists() else read_baseline(file)
    new = old.updated(report, codes) if update else old.pruned(report, codes)
    if new.known != old.known or not file.exists():
        with atomic(file) as stream:
            stream.write(new.text())
    gone = sum(max(number - new.known.get(key, 0), 0) for key, number in old.known.items())
    added = new.size - old.size + gone
    say(f"{file.as_posix()}: {count(new.size, 'finding')} ({added} added, {gone} removed)")
    report, stale = new.apply(report, codes)
    return hide_mild(report._replace(baseline=BaselineUse(file.as_posix(), stale)), options.min_severity)

"""``example.txt`` beside each rule of the audit is what an audit prints about a planted defect. UPDATE_EXPECTED=1
writes them anew.
"""

from __future__ import annotations

import inspect
import os
from pathlib import Path

import pytest

from template_lint.audit.auditor import Auditor
from template_lint.audit.findings import audit_rules, findings
from template_lint.audit.run import Request, audit
from template_lint.audit.sample.make import dump, make_sample
from template_lint.audit.sample.plants import PLANTS
from template_lint.report.audit.text import finding_lines
from template_lint.report.layout.canvas import Canvas
from template_lint.rules.audited import AuditRule

DRIFT = "TLA20"


@pytest.mark.parametrize("rule", audit_rules(), ids=lambda rule: rule.code)
def test_the_transcript_is_what_is_printed(
    rule: AuditRule, auditor: Auditor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = "drift" if rule.code == DRIFT else rule.code
    names = [name for name, plant in PLANTS.items() if plant.expected == expected]
    assert names, f"no defect is planted for {rule.code}"
    monkeypatch.chdir(tmp_path)
    lines = [dump(row) for row in make_sample(auditor, 100, rate=0.02, plants=names[:1])]
    Path("rollouts.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = audit(Request(("rollouts.jsonl",), auditor.options.target, transformers="5.24", jobs=1))
    [finding] = [finding for finding in findings(result) if finding.rule == rule.code]
    printed = "\n".join(finding_lines(result, finding, Canvas(width=100))) + "\n"
    path = Path(inspect.getfile(type(rule))).parent / "example.txt"
    if os.environ.get("UPDATE_EXPECTED"):
        path.write_text(printed, encoding="utf-8")
    assert rule.transcript() == printed

"""Reports made by hand, for tests of what is printed; and the comparison of printed text with a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from template_lint.model import (
    Finding,
    Place,
    Report,
    Severity,
    Skipped,
    TargetError,
    TargetReport,
    TemplateReport,
    Verdict,
)

SOURCE = """\
{%- for message in messages %}
    {{- '<|' + message.role + '|>' }}
    {%- if message.role == 'assistant' and loop.last %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
    {{- message.content + '\\n' }}
{%- endfor %}
"""


def expect(folder: Path, name: str, printed: str) -> None:
    """Compare with ``folder/expected/name``; with UPDATE_EXPECTED=1, write that file instead."""
    path = folder / "expected" / name
    if os.environ.get("UPDATE_EXPECTED"):
        path.write_text(printed, encoding="utf-8")
    assert printed == path.read_text(encoding="utf-8")


def place(source: str, text: str) -> Place:
    """The place of the first occurrence of ``text``."""
    start = source.index(text)
    end = start + len(text)
    return Place(
        line=source.count("\n", 0, start) + 1,
        column=start - source.rfind("\n", 0, start),
        end_line=source.count("\n", 0, end) + 1,
        end_column=end - source.rfind("\n", 0, end),
        offset=start,
        end_offset=end,
    )


def prefix_finding(source: str = SOURCE, cause: str = "loop.last", **changes: Any) -> Finding:
    where = place(source, cause)
    earlier = '<|user|>Tide?\n<|assistant|><think>\n\n</think>\n\n{"name": "tide"}\n'
    later = '<|user|>Tide?\n<|assistant|>{"name": "tide"}\n<|tool|>12:04\n'
    offset = len("<|user|>Tide?\n<|assistant|>")
    fields: dict[str, Any] = {
        "rule": "TL101",
        "name": "tool-prefix",
        "severity": Severity.ERROR,
        "message": "appending a tool result takes the empty reasoning block out of the turn that made the call",
        "remedy": "Write the reasoning block the same way for every assistant turn; do not ask loop.last.",
        "file": "chat_template.jinja",
        "place": where,
        "scenario": "one-call",
        "evidence": {
            "earlier": earlier,
            "later": later,
            "excerpt_offset": offset,
            "offset": offset,
            "common_tail": 1,
            "token_index": 9,
            "token_earlier": "<think>",
            "token_later": '{"',
            "token_id_earlier": 151667,
            "token_id_later": 4913,
            "scenarios": ["one-call", "two-rounds", "parallel-calls", "three-rounds"],
            "cause": {
                "line": where.line,
                "column": where.column,
                "end_line": where.end_line,
                "end_column": where.end_column,
                "source": cause,
                "outcome_earlier": True,
                "outcome_later": False,
                "proven": True,
                "kind": "branch",
            },
        },
    }
    return Finding(**{**fields, **changes})


def template_report(*findings: Finding, source: str = SOURCE, **changes: Any) -> TemplateReport:
    fields: dict[str, Any] = {
        "name": "default",
        "file": "chat_template.jinja",
        "sha256": "a" * 64,
        "source": source,
        "verdict": Verdict(tito="unstable" if findings else "stable"),
        "prompt_fingerprint": "b" * 64,
        "capabilities": {"tools": True, "system": False},
        "findings": list(findings),
        "skipped": [],
    }
    return TemplateReport(**{**fields, **changes})


def file_target(*templates: TemplateReport, name: str = "chat_template.jinja") -> TargetReport:
    return TargetReport(target=name, kind="file", files={name: "a" * 64}, templates=list(templates))


def report(*targets: TargetReport) -> Report:
    return Report(profile="5.24", targets=list(targets))


def full_report() -> Report:
    """One template with everything a report can show."""
    findings = [
        Finding(
            rule="TL107",
            name="delta-needs-identity",
            severity=Severity.INFO,
            message="the header of a tool result carries the tool's name",
            remedy="",
            place=place(SOURCE, "message.role"),
        ),
        prefix_finding(
            rule="TL103",
            name="generation-prompt-prefix",
            severity=Severity.WARNING,
            message="the generation prompt is not a prefix of the finished turn",
            remedy="End the generation prompt where the finished turn's content begins.",
        ),
        prefix_finding(),
        Finding(
            rule="TL203",
            name="tools-ignored",
            severity=Severity.WARNING,
            message="tools= is given, yet 'tide' is not in the prompt",
            remedy="Print the tools.",
            suppressed="inline",
        ),
    ]
    skipped = [
        Skipped(rule="TL302", reason="no tokenizer; give --tokenizer"),
        Skipped(rule="TL102", reason="no tokenizer; give --tokenizer"),
        Skipped(rule="TL402", reason="no generation markers"),
    ]
    return report(file_target(template_report(*findings, skipped=skipped)))


def unchecked(name: str = "acme/gated") -> TargetReport:
    error = TargetError(kind="gated", message="access is restricted. Log in with hf auth login.")
    return TargetReport(target=name, kind="hub", repo=name, error=error)

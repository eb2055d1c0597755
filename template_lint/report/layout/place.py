"""Where a finding is, written as a path that editors and terminals can follow."""

from __future__ import annotations

from template_lint.model import Finding, TargetReport, TemplateReport
from template_lint.report.layout.escape import visible


def path_of(target: TargetReport, file: str | None) -> str:
    """Return the path of ``file``, which is relative to the target when that is a folder or a Hub repository."""
    if target.kind == "stdin":
        return "<stdin>"
    if file is None or target.kind in ("file", "gguf"):
        return visible(target.target)
    return visible(f"{target.target.rstrip('/')}/{file}")


def location(target: TargetReport, template: TemplateReport, finding: Finding) -> str:
    """Return ``path:line:column``, or the path alone for a finding that no line is to blame for.

    The lines of an embedded template are its own: ``tokenizer_config.json#/chat_template:44:20``.
    """
    path = path_of(target, finding.file or template.file)
    if finding.place is None:
        return path
    if template.pointer is not None and finding.file in (None, template.file):
        path += f"#{visible(template.pointer)}"
    return f"{path}:{finding.place.line}:{finding.place.column}"


def target_location(target: TargetReport, finding: Finding) -> str:
    """Return where a finding about a target as a whole is shown: the line of the user's file that names the target,
    else the file that it blames, else the target.
    """
    if target.anchor is not None:
        return f"{visible(target.anchor.file)}:{target.anchor.line}:1"
    return path_of(target, finding.file) + (f":{finding.place.line}:{finding.place.column}" if finding.place else "")


def title(target: TargetReport, template: TemplateReport) -> str:
    """Return the name of a template for a headline: the target, and the template's own name where that is needed."""
    label = "<stdin>" if target.kind == "stdin" else visible(target.target)
    if len(target.templates) > 1 or template.name != "default":
        label += f" [{visible(template.name)}]"
    return label

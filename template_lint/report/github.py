"""Annotations for GitHub: one workflow command per finding, on standard output of a step.

GitHub shows ten annotations of each level per step, so the worst ten findings are written, and how many there are more.
Whatever stands in a template is data: no text of it can end a command or begin another one.
"""

from __future__ import annotations

from typing import NamedTuple, TextIO

from template_lint.model import Report, Severity
from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.escape import defused, visible
from template_lint.report.layout.repository import Repository, Spot
from template_lint.report.layout.sentences import Told, sentences, told, worst_first
from template_lint.report.layout.summary import count, note_lines, summary_line
from template_lint.report.layout.wording import Unchecked, unchecked

SHOWN = 10
_MAX_MESSAGE = 4000
_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


class Command(NamedTuple):
    """A workflow command that makes an annotation. ``message`` may have several lines."""

    level: str
    title: str
    message: str
    spot: Spot | None = None

    def __str__(self) -> str:
        """The command as the runner reads it, without a line feed at its end."""
        properties = {**_place(self.spot), "title": self.title}
        listed = ",".join(f"{key}={escape_property(value)}" for key, value in properties.items())
        message = self.message if len(self.message) <= _MAX_MESSAGE else self.message[: _MAX_MESSAGE - 1] + "…"
        return f"::{self.level} {listed}::{escape_data(message)}"


def write(report: Report, out: TextIO, *, canvas: Canvas) -> None:
    """Write what was not checked, the worst findings, and the summary; the last line is no command."""
    repository = Repository()
    findings = worst_first([one for target in report.targets for one in told(target, repository)])
    not_checked = list(unchecked(report))
    shown = findings[: SHOWN - bool(not_checked)]
    more = len(findings) - len(shown)
    if more and shown and shown[-1].finding.severity is Severity.INFO:
        # The notice that says so is one of the ten notices that GitHub shows.
        shown = shown[:-1]
        more += 1
    commands = [_not_checked(not_checked, repository)] if not_checked else []
    commands += [_annotation(one, repository) for one in shown]
    if more:
        text = f"{count(more, 'more finding')} of template-lint: the job summary, or another output of it, lists all."
        commands.append(Command("notice", "template-lint", text))
    for command in commands:
        out.write(f"{command}\n")
    for line in [*note_lines(report), summary_line(report)]:
        out.write(defused(f"template-lint: {line}") + "\n")


def escape_data(text: str) -> str:
    """Escape the message of a workflow command, so that it is one line and nothing else."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """Escape a property of a workflow command, so that it ends neither itself nor the list of them."""
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")


def _annotation(one: Told, repository: Repository) -> Command:
    finding = one.finding
    spot = one.spot if one.spot is not None and one.spot.inside else None
    lines = sentences(one._replace(spot=spot), repository)
    return Command(_LEVEL[finding.severity], f"{finding.rule} {finding.name}", "\n".join(lines), spot)


def _not_checked(entries: list[Unchecked], repository: Repository) -> Command:
    lines = [
        f"{visible(repository.title(entry.target, entry.template))}: {visible(entry.message)}"
        for entry in entries[:SHOWN]
    ]
    if len(entries) > SHOWN:
        lines.append(f"and {len(entries) - SHOWN} more")
    return Command("error", "template-lint could not check everything", "\n".join(lines))


def _place(spot: Spot | None) -> dict[str, str]:
    """The properties that place an annotation; columns only within one line, as GitHub wants it."""
    if spot is None:
        return {}
    placed = {"file": visible(spot.path)}
    if spot.place is None:
        return placed if spot.line is None else {**placed, "line": str(spot.line)}
    place = spot.place
    placed |= {"line": str(place.line), "endLine": str(place.end_line)}
    if place.line == place.end_line:
        placed |= {"col": str(place.column), "endColumn": str(place.end_column)}
    return placed

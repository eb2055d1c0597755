"""The nouns that every room shares: severities, findings, reports. Data only; no behaviour beyond counting and
ordering.

The JSON contract (schema version 1) is a plain rendering of these classes; see ``report/json.py``.
"""

# No postponed annotations: NamedTuple would compile each of them at start-up.
import enum
from collections import Counter
from typing import Any, NamedTuple


class Severity(enum.Enum):
    """How bad a finding is. The order is info < warning < error."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """0 for info, 1 for warning, 2 for error."""
        return ("info", "warning", "error").index(self.value)


class Place(NamedTuple):
    """A range in a template source. Lines and columns are 1-based and count code points; the end column is exclusive.

    ``offset`` and ``end_offset`` are 0-based code-point offsets into the source after newline normalisation (what
    ``Path.read_text`` gives).
    """

    line: int
    column: int
    end_line: int
    end_column: int
    offset: int
    end_offset: int


class Finding(NamedTuple):
    """One defect, at one place, with the values that show it.

    Scenarios with one cause are one finding: ``scenario`` names the first, ``evidence["scenarios"]`` lists all.
    ``file`` is the path inside the snapshot (or as the user typed it), None where no file is to blame.
    ``suppressed`` says what hides the finding: ``inline``, ``config`` or ``baseline``, and ``suppression_reason`` is
    the reason that was given there; ``min-severity`` where the user asked not to see findings this mild; ``duplicate``
    where another finding of the template says the same. A hidden finding is counted and fails nothing.

    ``defects`` are the defects that the finding states, by names that two rules share where they see the same one;
    ``brief`` says the rest of it in few words, for where another finding has named the defect. Without it the finding
    always stands for itself.
    """

    rule: str
    name: str
    severity: Severity
    message: str
    remedy: str
    file: str | None = None
    place: Place | None = None
    scenario: str | None = None
    evidence: dict[str, Any] = {}
    fixable: bool = False
    suppressed: str | None = None
    suppression_reason: str | None = None
    defects: list[str] = []
    brief: str = ""

    @property
    def accepted(self) -> bool:
        """Whether somebody lives with the finding: an ignore or the baseline hides it."""
        return self.suppressed in ("inline", "config", "baseline")


def finding_order(finding: Finding) -> tuple[int, str, int]:
    """Sort key of the findings of one template: the gravest first, then by rule and place."""
    return -finding.severity.rank, finding.rule, finding.place.offset if finding.place else -1


class Skipped(NamedTuple):
    """A rule that could not be asked, and why. Never the same as a pass."""

    rule: str
    reason: str


class Directive(NamedTuple):
    """A comment of a template that speaks to the linter: ``{# template-lint: ignore[TL101] reason #}``.

    ``text`` is what stands inside the comment, ``offset`` the 0-based offset of its first character in the source
    after newline normalisation, ``place`` that of the whole comment. ``alone`` says that nothing else stands on its
    lines. ``first_line`` and ``last_line`` are the 1-based lines of what comes next (a tag, or a line of text); both
    are 0 where nothing does.
    """

    text: str
    offset: int
    place: Place
    alone: bool
    first_line: int
    last_line: int


class Verdict(NamedTuple):
    """The one-word answer for agentic RL loops.

    ``tito`` is ``stable``, ``stable-with-kwargs`` (once ``kwargs`` are set), ``breaks-on-user``, ``unstable``,
    ``no-tools`` or ``unrenderable``. ``appended`` says per kind of appended message (``tool``, ``user``, ``system``)
    whether it keeps the prefix: ``stable``, ``unstable`` or ``unrenderable``. ``patch`` names the training template to
    use, ``obsolete_patch`` one that was made for this model and is no longer needed.
    """

    tito: str
    kwargs: dict[str, Any] = {}
    patch: str | None = None
    appended: dict[str, str] = {}
    obsolete_patch: str | None = None


class TemplateReport(NamedTuple):
    """What was found out about one chat template of a target.

    ``pointer`` is the JSON pointer (or GGUF key) of a template that is embedded in ``file``: the places of its
    findings are lines of the template, not of the file. ``checked`` and ``skipped`` are the rules that were asked and
    that could not be; ``directives`` the comments that speak to the linter, honoured or not. ``display`` holds renders
    and token strips for a page, where they were asked for; ``facts/display.py`` says in which form.
    """

    name: str
    file: str | None
    sha256: str
    source: str
    verdict: Verdict
    prompt_fingerprint: str
    capabilities: dict[str, Any]
    findings: list[Finding]
    skipped: list[Skipped]
    checked: list[str] = []
    pointer: str | None = None
    directives: list[Directive] = []

    @property
    def unrendered(self) -> bool:
        """Whether it renders no conversation, or none with tools, and nobody has accepted the error that says so."""
        accepted = any(finding.severity is Severity.ERROR and finding.accepted for finding in self.findings)
        return self.verdict.tito == "unrenderable" and not accepted

    display: dict[str, Any] | None = None


class TargetError(NamedTuple):
    """Why a target could not be checked at all."""

    kind: str
    message: str


class Anchor(NamedTuple):
    """The line of the user's own file (configuration or lock) that names a target; 1-based."""

    file: str
    line: int


class TargetReport(NamedTuple):
    """What was found out about one target: its files by sha256, its templates, or the error that kept us out.

    ``findings`` are about the target as a whole (its pin, its drift), not about one of its templates. ``anchor`` is
    where a finding is shown that has no file in the user's repository, such as one of a Hub model. ``pinned`` says that
    the files are those that a lock pins, at the line of the anchor.
    """

    target: str
    kind: str
    repo: str | None = None
    revision: str | None = None
    files: dict[str, str] = {}
    templates: list[TemplateReport] = []
    error: TargetError | None = None
    findings: list[Finding] = []
    anchor: Anchor | None = None
    pinned: bool = False


class Summary(NamedTuple):
    """Counts over a whole report.

    ``suppressed`` counts the findings hidden by an inline ignore, the configuration or the baseline; ``inline``,
    ``configured`` and ``baselined`` are its parts. ``hidden`` counts those below ``--min-severity``, ``duplicates``
    those that another finding says too. ``unchecked`` is the number of targets that could not be looked at,
    ``excluded`` that of files and folders left out by ``exclude``, ``unrendered`` that of templates that render no
    conversation (see ``Report.unrendered``).
    """

    errors: int
    warnings: int
    infos: int
    suppressed: int
    skipped: int
    templates: int
    targets: int
    unchecked: int
    inline: int = 0
    configured: int = 0
    baselined: int = 0
    hidden: int = 0
    excluded: int = 0
    unrendered: int = 0
    duplicates: int = 0


class BaselineUse(NamedTuple):
    """The baseline of a run: its file as the user named it, and how many of its findings are there no more."""

    file: str
    stale: int = 0


class Report(NamedTuple):
    """Everything one run found out; the same object feeds every output format.

    ``not_honoured`` counts inline ignores in templates that are not the user's own. ``statistics`` asks the formats
    for people to count findings by rule.
    """

    profile: str
    targets: list[TargetReport]
    excluded: int = 0
    baseline: BaselineUse | None = None
    not_honoured: int = 0
    statistics: bool = False

    @property
    def findings(self) -> list[Finding]:
        """All findings of all targets and their templates, suppressed ones included, in report order."""
        found: list[Finding] = []
        for target in self.targets:
            found.extend(target.findings)
            for template in target.templates:
                found.extend(template.findings)
        return found

    @property
    def unrendered(self) -> list[tuple[TargetReport, TemplateReport]]:
        """The templates that render no (tool) conversation, with their targets: most rules could not look at them."""
        return [(target, template) for target in self.targets for template in target.templates if template.unrendered]

    def by_rule(self) -> dict[str, int]:
        """How many findings each rule has that nothing hides, by code."""
        number = Counter(finding.rule for finding in self.findings if finding.suppressed is None)
        return dict(sorted(number.items()))

    def summary(self) -> Summary:
        """Count findings by severity (hidden ones apart, by what hides them), skipped rules, templates, targets."""
        live = Counter(finding.severity for finding in self.findings if finding.suppressed is None)
        by = Counter(finding.suppressed for finding in self.findings if finding.suppressed is not None)
        templates = [template for target in self.targets for template in target.templates]
        return Summary(
            errors=live[Severity.ERROR],
            warnings=live[Severity.WARNING],
            infos=live[Severity.INFO],
            suppressed=by["inline"] + by["config"] + by["baseline"],
            skipped=sum(len(template.skipped) for template in templates),
            templates=len(templates),
            targets=len(self.targets),
            unchecked=sum(target.error is not None for target in self.targets),
            inline=by["inline"],
            configured=by["config"],
            baselined=by["baseline"],
            hidden=by["min-severity"],
            excluded=self.excluded,
            unrendered=len(self.unrendered),
            duplicates=by["duplicate"],
        )

"""The baseline: the findings a repository lives with for now. What is in it is hidden, what is new is shown.

A JSON file, one finding a line, sorted; the same findings give the same bytes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from template_lint.curation import HIDDEN, WHOLE_TARGETS
from template_lint.curation.duplicates import DUPLICATE
from template_lint.curation.identity import Identity, identity, place_key
from template_lint.errors import UsageError
from template_lint.model import Finding, Report, TargetReport, TemplateReport

VERSION = 1
_KEYS = {"rule", "target", "template", "content", "count"}


class Baseline(NamedTuple):
    """Identity -> how many such findings are known. ``file`` is where it lies, or will."""

    file: Path
    known: Mapping[Identity, int]

    @property
    def root(self) -> Path:
        """The folder that paths in the file are relative to."""
        return self.file.parent

    def apply(self, report: Report, codes: frozenset[str]) -> tuple[Report, int]:
        """Hide the known findings, each as often as it is known; say how many known ones are there no more.

        Only what this run looked at can be gone: ``codes`` are those of the rules that were asked.
        """
        left = Counter(self.known)
        targets = []
        for target in report.targets:
            findings = [self._hide(left, target, None, finding) for finding in target.findings]
            templates = [
                template._replace(
                    findings=[self._hide(left, target, template, finding) for finding in template.findings]
                )
                for template in target.templates
            ]
            targets.append(target._replace(findings=findings, templates=templates))
        seen = _Seen(report, codes, self.root)
        stale = sum(count for key, count in left.items() if count > 0 and seen.covers(key))
        return report._replace(targets=targets), stale

    def _hide(
        self, left: Counter[Identity], target: TargetReport, template: TemplateReport | None, finding: Finding
    ) -> Finding:
        if finding.suppressed not in (None, DUPLICATE):
            return finding
        key = identity(target, template, finding, self.root)
        if left[key] <= 0:
            return finding
        left[key] -= 1
        reason = f"in {self.file.name}"
        return finding._replace(suppressed="baseline", suppression_reason=reason)

    def updated(self, report: Report, codes: frozenset[str]) -> Baseline:
        """The baseline with every finding of the report that nothing else hides, and without those that are gone.

        What this run did not look at stays as it is.
        """
        seen = _Seen(report, codes, self.root)
        kept = {key: count for key, count in self.known.items() if not seen.covers(key)}
        return self._replace(known={**kept, **_count(report, self.root)})

    def pruned(self, report: Report, codes: frozenset[str]) -> Baseline:
        """The baseline without the findings that are there no more; none is added."""
        seen, found = _Seen(report, codes, self.root), _count(report, self.root)
        known = {key: min(count, found[key]) if seen.covers(key) else count for key, count in self.known.items()}
        return self._replace(known={key: count for key, count in known.items() if count})

    def text(self) -> str:
        """The file's content."""
        lines = []
        for key, count in sorted(self.known.items()):
            entry: dict[str, Any] = {"target": key.target}
            if key.template:
                entry["template"] = key.template
            entry |= {"rule": key.rule, "content": key.content, "count": count}
            lines.append(f"    {json.dumps(entry)}")
        body = "[\n" + ",\n".join(lines) + "\n  ]" if lines else "[]"
        return f'{{\n  "version": {VERSION},\n  "findings": {body}\n}}\n'

    @property
    def size(self) -> int:
        """How many findings are known."""
        return sum(self.known.values())


def read_baseline(file: Path) -> Baseline:
    """Read a baseline. Raises UsageError where it is missing or not one, with the place of the mistake."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError(
            f"there is no baseline {file.as_posix()}. Write it with --baseline {file.as_posix()} --update-baseline."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read the baseline {file.as_posix()}: {reason}.") from None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        conflict = next(
            (n for n, line in enumerate(text.split("\n"), 1) if line.startswith(("<<<<<<< ", ">>>>>>> "))), 0
        )
        if conflict:
            raise UsageError(
                f"{file.as_posix()}:{conflict}: a merge conflict is not resolved. Keep one side, run the check with "
                f"--baseline {file.as_posix()} --update-baseline, and look at what it adds."
            ) from None
        raise _malformed(file, str(error) or "nested too deeply") from None
    if not isinstance(document, dict) or set(document) != {"version", "findings"}:
        raise _malformed(file, "it must be an object with the keys version and findings")
    if document["version"] != VERSION or isinstance(document["version"], bool):
        raise _malformed(file, f"its version is {document['version']!r}, and this is a reader of version {VERSION}")
    if not isinstance(document["findings"], list):
        raise _malformed(file, "findings must be a list")
    known: dict[Identity, int] = {}
    for number, entry in enumerate(document["findings"], 1):
        key, count = _entry(file, number, entry)
        if key in known:
            raise _malformed(file, f"finding {number} is there twice; add up their counts")
        known[key] = count
    return Baseline(file, known)


def _entry(file: Path, number: int, entry: Any) -> tuple[Identity, int]:
    if not isinstance(entry, dict) or not _KEYS - {"template"} <= set(entry) <= _KEYS:
        raise _malformed(file, f"finding {number} must have the keys rule, target, content, count (and template)")
    texts = {key: value for key, value in entry.items() if key != "count"}
    for key, value in texts.items():
        if not isinstance(value, str) or (key in ("rule", "target") and not value):
            raise _malformed(file, f"{key} of finding {number} must be a text")
    count = entry["count"]
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise _malformed(file, f"count of finding {number} must be a number from 1")
    return Identity(entry["target"], entry.get("template", ""), entry["rule"], entry["content"]), count


def _malformed(file: Path, what: str) -> UsageError:
    return UsageError(f"the baseline {file.as_posix()} is malformed: {what}. Repair it or write it anew.")


def _count(report: Report, root: Path) -> Counter[Identity]:
    """The findings that nothing hides but a baseline, another finding, or the wish not to see mild ones."""
    return Counter(
        identity(target, template, finding, root)
        for target, template, finding in _all(report)
        if finding.suppressed in (None, "baseline", DUPLICATE, HIDDEN)
    )


def _all(report: Report) -> Iterator[tuple[TargetReport, TemplateReport | None, Finding]]:
    for target in report.targets:
        yield from ((target, None, finding) for finding in target.findings)
        for template in target.templates:
            yield from ((target, template, finding) for finding in template.findings)


class _Seen:
    """What a run looked at, so that what it did not find there is gone."""

    def __init__(self, report: Report, codes: frozenset[str], root: Path) -> None:
        self._root, self._codes = root, codes
        self._rules: dict[tuple[str, str], set[str]] = {}
        self._models: list[str] = []
        for target in report.targets:
            if target.error is not None:
                continue
            whole = place_key(target, None, root)
            if target.kind in ("directory", "hub"):
                self._models.append(whole + "/")
            # Rules about whole targets are listed by no template; no list of a template has them.
            self._rules.setdefault((whole, ""), set()).update(code for code in codes if code.startswith(WHOLE_TARGETS))
            for template in target.templates:
                name = "" if template.name == "default" else template.name
                key = place_key(target, template, root), name
                self._rules.setdefault(key, set()).update(template.checked)

    def covers(self, key: Identity) -> bool:
        rules = self._rules.get((key.target, key.template))
        if rules is not None:
            return key.rule in rules
        if key.rule in self._codes and any(key.target.startswith(model) for model in self._models):
            return True  # a template that the model has no more
        is_path = key.target != "-" and not key.target.startswith("hf:")
        return is_path and not (self._root / key.target).exists()

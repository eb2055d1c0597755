"""Severities, requirements, what is shown, which rules are asked; ignores of the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from template_lint.config import REQUIREMENTS, Ignore, Options, TargetSpec
from template_lint.curation import asked_codes, curate, severities
from template_lint.engine import check
from template_lint.errors import UsageError
from template_lint.model import Anchor, Directive, Place, Severity, TargetError
from template_lint.rules.registry import all_rules, rule_names
from tests.curation.samples import asked, finding, one, report, suppressed, target, template

BROKEN = (Path(__file__).parents[2] / "examples" / "broken.jinja").read_text(encoding="utf-8")
ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO


def test_nothing_asked_changes_nothing() -> None:
    found = one(finding(), finding("TL200", None, severity=INFO))
    assert curate(found, asked(found)) == found


def test_the_longest_word_decides_the_severity() -> None:
    chosen = severities({"TL101": INFO, "TL1": WARNING, "TL": ERROR, "open-turn": ERROR})
    assert (chosen["TL101"], chosen["TL102"], chosen["TL108"], chosen["TL200"]) == (INFO, WARNING, ERROR, ERROR)
    assert severities({"TL": ERROR, "TL1": WARNING}) == severities({"TL1": WARNING, "TL": ERROR})
    with pytest.raises(UsageError, match="TL999"):
        severities({"TL999": ERROR})


def test_findings_get_their_severity_and_are_sorted_anew() -> None:
    found = one(finding("TL101"), finding("TL102", severity=WARNING))
    curated = curate(found, asked(found, Options(severity={"TL101": INFO})))
    assert [(item.rule, item.severity) for item in curated.findings] == [("TL102", WARNING), ("TL101", INFO)]


def test_what_is_required_is_an_error_whatever_else_is_said() -> None:
    found = one(finding("TL200", None, severity=INFO))
    options = Options(require=frozenset({"tools"}), severity={"TL200": INFO})
    assert curate(found, asked(found, options)).findings[0].severity is ERROR
    spec = TargetSpec("chat_template.jinja", require=frozenset({"tools"}))
    assert curate(found, asked(found, specs=[(spec,)])).findings[0].severity is ERROR


def test_mild_findings_are_hidden_and_counted() -> None:
    found = one(finding(), finding("TL200", None, severity=INFO))
    curated = curate(found, asked(found, Options(min_severity=WARNING)))
    assert suppressed(curated) == [None, "min-severity"]
    total = curated.summary()
    assert (total.errors, total.infos, total.hidden, total.suppressed) == (1, 0, 1, 0)


def test_a_severity_decides_before_the_threshold_does() -> None:
    found = one(finding("TL200", None, severity=INFO))
    curated = curate(found, asked(found, Options(min_severity=WARNING, severity={"TL200": ERROR})))
    assert suppressed(curated) == [None]


def test_asked_codes() -> None:
    assert asked_codes(Options()) == ()
    assert asked_codes(Options(select=("TL1",), ignore=("TL107",))) == tuple(
        code for code in rule_names() if code.startswith("TL1") and code != "TL107"
    )
    assert asked_codes(Options(select=("TL101",), extend_select=("TL2",), extend_ignore=("tool-call-dropped",))) == (
        "TL101",
        *(code for code in rule_names() if code.startswith("TL2") and code != "TL201"),
    )


def test_what_is_required_is_asked_too() -> None:
    assert "TL200" in asked_codes(Options(select=("TL101",), require=frozenset({"tools"})))
    spec = TargetSpec("x", require=frozenset({"tools"}))
    assert "TL200" in asked_codes(Options(select=("TL101",), targets=(spec,)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (Options(select=("TL101",), extend_ignore=("TL1",)), "there is nothing to check"),
        (Options(ignore=("TL200",), require=frozenset({"tools"})), "tools is required, and TL200"),
        (Options(require=frozenset({"speed"})), "nothing can require 'speed'. Choose from: generation-markers, tools"),
        (Options(extend_select=("tool-prefx",)), "Did you mean tool-prefix"),
    ],
)
def test_selections_that_make_no_sense(options: Options, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace(".", r"\.")):
        asked_codes(options)


def test_the_names_of_folders_are_those_of_the_rules() -> None:
    assert rule_names() == {rule.code: rule.name for rule in all_rules()}


def test_what_can_be_required_has_a_rule() -> None:
    for code in REQUIREMENTS.values():
        if code not in rule_names():
            pytest.skip(f"{code} is not written yet")
        assert asked_codes(Options(select=(code,))) == (code,)


IGNORE = Ignore(("TL1",), "a chat-only model", Anchor("template-lint.yaml", 7))
SPEC = TargetSpec("chat_template.jinja", ignore=(IGNORE,), anchor=Anchor("template-lint.yaml", 5))


def test_the_configuration_hides_findings_and_says_why() -> None:
    found = one(finding(), finding("TL200", None))
    curated = curate(found, asked(found, specs=[(SPEC,)], whole=[SPEC]))
    assert suppressed(curated) == ["config", None]
    assert curated.findings[0].suppression_reason == "a chat-only model"
    assert curated.summary().configured == 1


def test_findings_about_a_whole_target_can_be_ignored() -> None:
    ignore = Ignore(("TL606",), "follows main on purpose")
    spec = TargetSpec("org/name", ignore=(ignore,))
    found = report(target(name="org/name", kind="hub", repo="org/name", findings=[finding("TL606", None)]))
    assert suppressed(curate(found, asked(found, specs=[(spec,)], whole=[spec]))) == ["config"]


def test_an_ignore_of_one_file_holds_where_its_folder_is_checked(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    (folder / "additional_chat_templates").mkdir(parents=True)
    for name in ("chat_template.jinja", "additional_chat_templates/rag.jinja"):
        (folder / name).write_text(BROKEN, encoding="utf-8")
    ignore = Ignore(("TL101",), "accepted here only")
    spec = TargetSpec(str(folder / "chat_template.jinja"), ignore=(ignore,))
    found = check([str(folder)], Options(targets=(spec,), select=("TL101",), cache=False))
    how = {finding.file: finding.suppressed for finding in found.findings}
    assert how == {"chat_template.jinja": "config", "additional_chat_templates/rag.jinja": None}


def test_an_ignore_that_hides_nothing_is_found() -> None:
    found = one(finding("TL200", None))
    spec = SPEC._replace(ignore=(IGNORE._replace(rules=("TL101", "TL103")),))
    [unused] = curate(found, asked(found, specs=[(spec,)], whole=[spec])).targets[0].findings
    assert unused.rule == "TL901"
    assert unused.file == "template-lint.yaml"
    assert unused.message == (
        "the configuration ignores TL101, TL103 in chat_template.jinja (template-lint.yaml:7), "
        "and there is no such finding"
    )


def test_an_ignore_is_not_called_unused_where_it_may_be_needed() -> None:
    found = one(finding("TL200", None))
    only_part = asked(found, specs=[(SPEC,)])
    not_all_asked = asked(found, specs=[(SPEC,)], whole=[SPEC])  # TL104 and others of TL1 were not checked
    assert not_all_asked.codes < set(rule_names())
    unknown = not_all_asked._replace(chosen=())
    assert not curate(found, only_part).targets[0].findings
    assert not curate(found, unknown).targets[0].findings
    failed = report(found.targets[0], target(name="b", error=TargetError("unreadable", "no")))
    assert not curate(failed, asked(failed, specs=[(SPEC,), (SPEC,)], whole=[SPEC])).targets[0].findings


def _stranger(**changes: object) -> Directive:
    text = " template-lint: ignore-file[TL101] trust me "
    return Directive(text, 2, Place(1, 1, 1, 5, 0, 4), True, 2, 2)


@pytest.mark.parametrize(
    ("changes", "wanted", "hidden", "passed_over"),
    [
        ({"kind": "file"}, None, True, 0),
        ({"kind": "directory"}, None, True, 0),
        ({"kind": "stdin"}, None, True, 0),
        ({"kind": "hub", "repo": "org/name"}, None, False, 1),
        ({"kind": "directory", "repo": "org/name"}, None, False, 1),
        ({"kind": "gguf"}, None, False, 1),
        ({"kind": "hub", "repo": "org/name"}, True, True, 0),
        ({"kind": "file"}, False, False, 0),
    ],
)
def test_a_stranger_cannot_silence_the_gate(
    changes: dict[str, str], wanted: bool | None, hidden: bool, passed_over: int
) -> None:
    found = report(target(template(finding(), directives=[_stranger()]), **changes))
    curated = curate(found, asked(found, Options(inline_ignores=wanted)))
    assert suppressed(curated) == ["inline" if hidden else None]
    assert curated.not_honoured == passed_over

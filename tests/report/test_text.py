import io
from pathlib import Path

import pytest

from template_lint.model import Report, Severity, Verdict
from template_lint.report import text
from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.width import width
from tests.report.samples import (
    expect,
    file_target,
    full_report,
    place,
    prefix_finding,
    report,
    template_report,
    unchecked,
)

HERE = Path(__file__).parent


def printed(subject: Report, columns: int = 100, *, color: bool = False) -> str:
    out = io.StringIO()
    text.write(subject, out, canvas=Canvas(width=columns, color=color))
    return out.getvalue()


def test_one_template_in_full() -> None:
    output = printed(full_report())
    expect(HERE, "full.txt", output)
    assert len(output.splitlines()) <= 40


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
def test_no_line_is_wider_than_the_terminal(columns: int) -> None:
    assert all(width(line) <= columns for line in printed(full_report(), columns).splitlines())


def test_narrow_terminal() -> None:
    expect(HERE, "narrow.txt", printed(full_report(), 40))


def test_colours_change_nothing_but_colour() -> None:
    import re

    coloured = printed(full_report(), color=True)
    assert coloured != printed(full_report())
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == printed(full_report())


def test_clean_template_says_so_in_two_lines() -> None:
    assert printed(report(file_target(template_report()))) == (
        "ok   chat_template.jinja  keeps the prefix in tool loops: no findings (transformers 5.24)\n"
        "\n"
        "checked 1 template: no findings (transformers 5.24)\n"
    )


def test_verdict_names_kwargs_and_training_template() -> None:
    verdict = Verdict(tito="stable-with-kwargs", kwargs={"keep": True}, patch="qwen3_training.jinja")
    output = printed(report(file_target(template_report(verdict=verdict))))
    assert "keeps the prefix in tool loops with keep=true" in output
    assert "qwen3_training.jinja" in output


def test_several_templates_of_one_target_are_told_apart() -> None:
    target = file_target(template_report(), template_report(name="tool_use"))
    assert "chat_template.jinja [default]" in printed(report(target))
    assert "chat_template.jinja [tool_use]" in printed(report(target))


def test_target_that_could_not_be_checked_is_neither_clean_nor_missing() -> None:
    assert printed(report(unchecked())) == (
        "NOT CHECKED acme/gated: access is restricted. Log in with hf auth login.\n"
        "\n"
        "checked 0 templates: no findings; 1 target not checked (transformers 5.24)\n"
    )


def test_many_targets_are_told_compactly() -> None:
    clean = [file_target(template_report(), name=f"clean{n}.jinja") for n in range(21)]
    broken = file_target(template_report(prefix_finding()), name="broken.jinja")
    expect(HERE, "many.txt", printed(report(*clean, broken, unchecked())))


def test_hostile_text_never_reaches_the_terminal() -> None:
    attack = "\x1b]0;owned\x07\x1b[2J\u202egnp\u200b\x9b31m"
    source = f"{{{{ '{attack}' }}}}"
    finding = prefix_finding(
        source,
        attack,
        message=attack,
        remedy=attack,
        file=attack,
        evidence={**prefix_finding().evidence, "earlier": attack + "a", "later": attack + "b", "scenarios": [attack]},
    )
    hostile = report(file_target(template_report(finding, source=source, name=attack), name=attack), unchecked(attack))
    output = printed(hostile)
    assert not set(output) & set("\x1b\x07\x9b\u202e\u200b")
    assert "\\x1b[2J\\u202egnp\\u200b\\x9b31m" in output


def test_lone_surrogate_can_be_encoded() -> None:
    printed(report(file_target(template_report(prefix_finding(message="\ud83d"))))).encode()


def test_same_cause_is_drawn_once() -> None:
    both = template_report(prefix_finding(), prefix_finding(rule="TL104", name="user-turn-prefix"))
    output = printed(report(file_target(both)))
    assert output.count("^^^^^^^^^") == 1
    assert "(shown above)" in output


@pytest.mark.parametrize(
    ("cause", "note"),
    [
        (
            {"proven": True, "kind": "output", "outcome_earlier": True, "outcome_later": False},
            "outcome: printed -> not printed (proven)",
        ),
        (
            {"proven": True, "kind": "output", "printed": True, "outcome_earlier": True, "outcome_later": True},
            "outcome: printed -> printed behind what is appended (proven)",
        ),
        (
            {"proven": True, "kind": "combination", "printed": True, "outcome_earlier": True, "outcome_later": False},
            "outcome: printed -> not printed (proven together with others)",
        ),
        (
            {"proven": True, "kind": "combination", "outcome_earlier": True, "outcome_later": None},
            "outcome: true -> not reached (proven together with others)",
        ),
        ({"proven": False, "kind": "suspected"}, "suspected, not proven"),
    ],
)
def test_cause_says_how_sure_it_is(cause: dict[str, object], note: str) -> None:
    finding = prefix_finding(evidence={**prefix_finding().evidence, "cause": cause})
    assert note in printed(report(file_target(template_report(finding))))


def test_finding_without_place_or_evidence() -> None:
    finding = prefix_finding(rule="TL001", name="no-chat-template", place=None, evidence={}, scenario=None, remedy="")
    lines = printed(report(file_target(template_report(finding)))).splitlines()
    assert lines[2].startswith("error TL001 no-chat-template: appending")
    assert lines[-1].startswith("checked 1 template")


def test_place_outside_the_source_is_no_crash() -> None:
    finding = prefix_finding(place=place("\n" * 500 + "x", "x"))
    assert "chat_template.jinja:501:1" in printed(report(file_target(template_report(finding))))


def test_many_findings_still_fit_a_screen() -> None:
    warnings = [prefix_finding(rule=f"TL10{n}", name=f"rule-{n}", severity=Severity.WARNING) for n in range(3, 9)]
    output = printed(report(file_target(template_report(prefix_finding(), *warnings))))
    expect(HERE, "brief.txt", output)
    assert len(output.splitlines()) <= 40


def test_the_first_errors_are_told_in_full() -> None:
    errors = [prefix_finding(rule=f"TL10{n}") for n in range(1, 6)]
    output = printed(report(file_target(template_report(*errors))))
    assert output.count("  earlier  ") == 3
    assert all(error.rule in output for error in errors)


def test_worst_findings_come_first() -> None:
    warning = prefix_finding(rule="TL104", severity=Severity.WARNING)
    output = printed(report(file_target(template_report(warning, prefix_finding()))))
    assert output.index("error TL101") < output.index("warning TL104")

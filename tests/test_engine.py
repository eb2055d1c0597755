"""``check``: targets, errors, the cache, the number of processes; hostile templates among good ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import template_lint
from template_lint import cache, workers
from template_lint.config import Options
from template_lint.engine import InternalError, check
from template_lint.errors import UsageError
from template_lint.model import Report, Severity, TemplateReport
from template_lint.rendering import limits
from tests.facts.helper import END, STABLE, TURN
from tests.snapshot.folders import model_folder

BROKEN = TURN + "{% if loop.last %}</s>{% endif %}" + END
HANG = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
KILL = "{{ 9 ** (9 ** 9) }}"
OPTIONS = Options(transformers="5.24", cache=False, jobs=2)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("TEMPLATE_LINT_CACHE", str(folder))
    return folder


def write(folder: Path, **sources: str) -> Path:
    for name, source in sources.items():
        (folder / f"{name}.jinja").write_text(source, encoding="utf-8")
    return folder


def templates(report: Report) -> dict[str, TemplateReport]:
    return {Path(target.target).stem: template for target in report.targets for template in target.templates}


def codes(template: TemplateReport) -> set[str]:
    return {finding.rule for finding in template.findings}


@pytest.mark.parametrize("source", ["", " \n\t\n"])
def test_of_an_empty_template_it_is_said_once_that_it_is_empty(tmp_path: Path, source: str) -> None:
    write(tmp_path, empty=source)
    [template] = templates(check([str(tmp_path / "empty.jinja")], OPTIONS)).values()
    assert codes(template) == {"TL001"}
    assert {skip.reason for skip in template.skipped if skip.rule == "TL204"} == {"the template is empty (TL001)"}


def test_one_file(tmp_path: Path) -> None:
    write(tmp_path, bad=BROKEN)
    report = check([str(tmp_path / "bad.jinja")], OPTIONS)
    [target] = report.targets
    [template] = target.templates
    assert report.profile == "5.24"
    assert (target.kind, target.error) == ("file", None)
    assert template.source == BROKEN
    assert template.verdict.tito == "unstable"
    [finding] = [finding for finding in template.findings if finding.rule == "TL101"]
    assert finding.place is not None
    assert (finding.place.line, finding.place.column) == (1, BROKEN.index("loop.last") + 1)
    assert finding.evidence["cause"]["proven"] is True


def test_the_python_api_is_the_same(tmp_path: Path) -> None:
    write(tmp_path, bad=BROKEN)
    assert template_lint.check(tmp_path / "bad.jinja", config=OPTIONS) == check([str(tmp_path / "bad.jinja")], OPTIONS)
    assert template_lint.check([tmp_path], cache=False, transformers="5.24").summary().templates == 1


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"missing\.jinja"):
        check([str(tmp_path / "missing.jinja")], OPTIONS)


def test_no_readable_template_does_not_stop_the_others(tmp_path: Path) -> None:
    write(tmp_path, good=STABLE)
    (tmp_path / "broken.jinja").write_bytes(b"\xff\xfe not utf-8")
    report = check([str(tmp_path / "broken.jinja"), str(tmp_path / "good.jinja")], OPTIONS)
    broken, good = report.targets
    assert broken.templates == []
    assert broken.error is not None
    assert "UTF-8" in broken.error.message
    assert good.error is None
    assert good.templates[0].verdict.tito == "stable"
    assert report.summary().unchecked == 1


def test_targets_keep_their_order_and_folders_are_sorted(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    write(folder, b=STABLE, a=STABLE, c=BROKEN)
    write(tmp_path, z=STABLE)
    report = check([str(tmp_path / "z.jinja"), str(folder)], OPTIONS)
    assert [Path(target.target).name for target in report.targets] == ["z.jinja", "a.jinja", "b.jinja", "c.jinja"]


def test_a_selection_error_is_tl001(tmp_path: Path) -> None:
    model_folder(tmp_path, {"additional_chat_templates/tool_use.jinja": STABLE})
    [target] = check([str(tmp_path)], OPTIONS).targets
    found = {finding.rule: finding for template in target.templates for finding in template.findings}
    assert "TL001" in found
    assert found["TL001"].severity is Severity.ERROR
    first = target.templates[0]
    assert first.verdict.tito == "unrenderable"
    assert {skip.reason for skip in first.skipped if skip.rule == "TL101"} == {"there is no template (TL001)"}


def test_a_folder_without_a_template_is_tl001(tmp_path: Path) -> None:
    model_folder(tmp_path, {})
    [target] = check([str(tmp_path)], OPTIONS).targets
    assert [codes(template) for template in target.templates] == [{"TL001"}]


def test_select_and_ignore(tmp_path: Path) -> None:
    write(tmp_path, bad=BROKEN)
    only = check([str(tmp_path)], OPTIONS._replace(select=("TL101",)))
    [template] = only.targets[0].templates
    assert codes(template) == {"TL101"}
    assert template.checked == ["TL101"]
    without = check([str(tmp_path)], OPTIONS._replace(ignore=("TL1",)))
    assert not any(code.startswith("TL1") for code in without.targets[0].templates[0].checked)
    with pytest.raises(UsageError, match="TL999"):
        check([str(tmp_path)], OPTIONS._replace(select=("TL999",)))


def test_an_unknown_version(tmp_path: Path) -> None:
    write(tmp_path, bad=BROKEN)
    with pytest.raises(UsageError, match="is not a version"):
        check([str(tmp_path)], OPTIONS._replace(transformers="new"))


def test_conversations_of_the_user(tmp_path: Path) -> None:
    write(tmp_path, bad=TURN + "{% if messages[-1].content == 'seven' %}7{% endif %}" + END)
    line = {
        "name": "mine",
        "messages": [
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]},
            {"role": "tool", "content": "seven"},
        ],
    }
    conversations = tmp_path / "c.jsonl"
    conversations.write_text(json.dumps(line))
    assert "TL101" not in codes(check([str(tmp_path)], OPTIONS).targets[0].templates[0])
    report = check([str(tmp_path)], OPTIONS._replace(conversations=(conversations,)))
    [finding] = [f for f in report.findings if f.rule == "TL101"]
    assert finding.evidence["scenarios"] == ["mine"]


def test_force_tools(tmp_path: Path) -> None:
    write(tmp_path, chat="{% for m in messages %}{{ m.role }}{{ m.content }}{% if loop.last %}!{% endif %}{% endfor %}")
    plain = check([str(tmp_path)], OPTIONS).targets[0].templates[0]
    assert "TL101" not in codes(plain)
    forced = check([str(tmp_path)], OPTIONS._replace(require=frozenset({"tools"}))).targets[0].templates[0]
    assert "TL101" in codes(forced)


def test_the_number_of_processes_changes_nothing(tmp_path: Path) -> None:
    write(tmp_path, a=STABLE, b=BROKEN, c="{{", d="", e=STABLE.replace("end", "eot"), f=BROKEN + "x")
    one, two, four = (check([str(tmp_path)], OPTIONS._replace(jobs=jobs)) for jobs in (1, 2, 4))
    assert one == two == four
    assert check([str(tmp_path)], OPTIONS._replace(jobs=0)) == one


def test_twice_the_same(tmp_path: Path) -> None:
    write(tmp_path, a=STABLE, b=BROKEN, c="{{ messages[-1]")
    first, second = (check([str(tmp_path)], OPTIONS) for _ in range(2))
    assert repr(first) == repr(second)


def test_progress(tmp_path: Path) -> None:
    write(tmp_path, a=STABLE, b=BROKEN, c="")
    seen: list[tuple[int, int]] = []
    check([str(tmp_path)], OPTIONS, progress=lambda done, total, name: seen.append((done, total)))
    assert [entry for entry in seen if entry[0]] == [(1, 3), (2, 3), (3, 3)]


def test_hostile_templates_among_good_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SOFT_SECONDS", 0.2)
    monkeypatch.setattr(limits, "HARD_SECONDS", 0.4)
    monkeypatch.setattr(limits, "TEMPLATE_SECONDS", 0.6)
    good = {f"good{number}": STABLE.replace("end", f"end{number}") for number in range(6)} | {"bad": BROKEN}
    alone = templates(check([str(write(tmp_path, **good))], OPTIONS))
    mixed = templates(check([str(write(tmp_path, hang=HANG, kill=KILL, bomb="{{ 'a' * 99999999999 }}"))], OPTIONS))
    for name in ("hang", "kill", "bomb"):
        assert "TL508" in codes(mixed[name]), name
        assert mixed[name].verdict.tito == "unrenderable"
        # What was not looked at says so.
        assert "TL101" not in mixed[name].checked
    assert {name: template for name, template in mixed.items() if name in good} == alone


def test_a_template_that_takes_its_worker_down_lists_every_rule_as_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "HARD_SECONDS", 0.3)
    [template] = check([str(write(tmp_path, kill=KILL))], OPTIONS).targets[0].templates
    [finding] = [finding for finding in template.findings if finding.rule == "TL508"]
    assert "time limit" in finding.message
    assert finding.severity is Severity.ERROR
    selected = check([str(tmp_path)], OPTIONS._replace(select=("TL101",))).targets[0].templates[0]
    assert selected.findings == []
    assert [skip.rule for skip in selected.skipped] == ["TL101"]


def test_a_rule_that_raises_is_our_error_and_not_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from template_lint.rules.tl1_prefix.tl101_tool_prefix import ToolPrefix

    def broken(self: Any, facts: Any) -> Any:
        raise LookupError("oops")

    monkeypatch.setattr(ToolPrefix, "check", broken)
    with pytest.raises(InternalError, match="oops"):
        check([str(write(tmp_path, a=STABLE))], OPTIONS)


CACHED = OPTIONS._replace(cache=True)


def count_jobs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many templates each run really looked at."""
    counts: list[int] = []
    real = workers.run_jobs

    def counted(function: Any, payloads: Any, **arguments: Any) -> Any:
        counts.append(len(payloads))
        return real(function, payloads, **arguments)

    monkeypatch.setattr("template_lint.engine.run_jobs", counted)
    return counts


def test_a_second_run_is_identical_and_looks_at_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, a=STABLE, b=BROKEN, c="{{", d="{% if messages[-1] %}é🎉\0{% endif %}")
    counts = count_jobs(monkeypatch)
    first, second = check([str(tmp_path)], CACHED), check([str(tmp_path)], CACHED)
    assert first == second
    assert first == check([str(tmp_path)], OPTIONS)
    assert counts == [4, 4]  # the first run, and the one without a cache


def test_only_what_changed_is_looked_at_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, a=STABLE, b=BROKEN)
    counts = count_jobs(monkeypatch)
    check([str(tmp_path)], CACHED)
    write(tmp_path, b=STABLE)
    assert templates(check([str(tmp_path)], CACHED))["b"].verdict.tito == "stable"
    assert counts == [2, 1]


OPTION_CHANGES: list[dict[str, Any]] = [
    {"transformers": "4.57"},
    {"select": ("TL1",)},
    {"ignore": ("TL205",)},
    {"require": frozenset({"tools"})},
    {"conversations": "c.jsonl"},
    {"tokenizer": "model"},
]


@pytest.mark.parametrize("change", OPTION_CHANGES, ids=lambda change: next(iter(change)))
def test_each_option_that_matters_misses_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    write(tmp_path, a=BROKEN)
    model = tmp_path / "model"
    model.mkdir()
    model_folder(model, {"chat_template.jinja": STABLE})
    conversations = tmp_path / "c.jsonl"
    conversations.write_text('{"messages": [{"role": "user", "content": "x"}]}')
    replaced = {
        key: (conversations,) if value == "c.jsonl" else str(model) if value == "model" else value
        for key, value in change.items()
    }
    target = [str(tmp_path / "a.jinja")]
    counts = count_jobs(monkeypatch)
    check(target, CACHED)
    changed = check(target, CACHED._replace(**replaced))
    assert counts == [1, 1]
    assert changed == check(target, CACHED._replace(**replaced))
    assert counts == [1, 1]


@pytest.mark.parametrize("change", [{"jobs": 1}, {"fail_on": None}, {"offline": True}])
def test_options_that_change_no_report_hit_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    write(tmp_path, a=BROKEN)
    counts = count_jobs(monkeypatch)
    check([str(tmp_path)], CACHED)
    check([str(tmp_path)], CACHED._replace(**change))
    assert counts == [1]


def test_changed_conversations_miss_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, a=BROKEN)
    conversations = tmp_path / "c.jsonl"
    counts = count_jobs(monkeypatch)
    for content in ("x", "y", "x"):
        conversations.write_text(json.dumps({"messages": [{"role": "user", "content": content}]}))
        check([str(tmp_path)], CACHED._replace(conversations=(conversations,)))
    assert counts == [1, 1]


def test_an_edited_program_misses_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, a=BROKEN)
    counts = count_jobs(monkeypatch)
    check([str(tmp_path)], CACHED)
    monkeypatch.setattr(cache, "_program_digest", lambda: "another")
    check([str(tmp_path)], CACHED)
    assert counts == [1, 1]


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TEMPLATE_LINT_CACHE", str(tmp_path / "file"))
    write(tmp_path, a=BROKEN)
    assert check([str(tmp_path / "a.jinja")], CACHED) == check([str(tmp_path / "a.jinja")], OPTIONS)


def test_a_template_whose_worker_died_is_looked_at_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A worker may also die because the machine was short of memory: that says nothing about the template.
    monkeypatch.setattr(limits, "HARD_SECONDS", 0.3)
    write(tmp_path, kill=KILL)
    counts = count_jobs(monkeypatch)
    for _ in range(2):
        check([str(tmp_path)], CACHED)
    assert counts == [1, 1]

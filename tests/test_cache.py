"""The report cache: exact round trips, and anything wrong is a miss."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from template_lint.cache import ReportCache
from template_lint.job import Job
from template_lint.model import Finding, Place, Severity, Skipped, TemplateReport, Verdict
from template_lint.rendering.profiles import parse_profile
from template_lint.scenarios.model import Scenario
from template_lint.snapshot.load import load_snapshot
from template_lint.target import parse_target

REPORT = TemplateReport(
    name="default",
    file="chat_template.jinja",
    sha256="ab" * 32,
    source="é🎉\0\u2028{{ x }}",
    verdict=Verdict(tito="stable-with-kwargs", kwargs={"enable_thinking": False, "n": None}, patch="qwen3"),
    prompt_fingerprint="cd" * 32,
    capabilities={"tools": True, "thinking_switches": ["a"]},
    findings=[
        Finding(
            rule="TL101",
            name="tool-prefix",
            severity=Severity.ERROR,
            message="m",
            remedy="r",
            file="f",
            place=Place(line=1, column=2, end_line=3, end_column=4, offset=5, end_offset=6),
            scenario="one-call",
            evidence={"cause": None, "scenarios": ["a"], "offset": 7, "text": "é"},
            fixable=True,
            suppressed="inline",
        ),
        Finding(rule="TL200", name="no-tool-support", severity=Severity.INFO, message="m", remedy="r"),
    ],
    skipped=[Skipped(rule="TL102", reason="no tokenizer")],
    checked=["TL101", "TL200"],
)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    file = tmp_path / "chat_template.jinja"
    file.write_text("{{ messages }}")
    snapshot = load_snapshot(parse_target(str(file)))
    return Job(
        copy=snapshot.templates[0],
        snapshot=snapshot,
        profile=parse_profile("5.24"),
        codes=(),
        variables={"bos_token": "<s>"},
        tokenizer=None,
        conversations=[],
        force_tools=False,
        selection_error=None,
    )


def test_round_trip(tmp_path: Path) -> None:
    cache = ReportCache(tmp_path / "deep" / "cache")
    cache.store("ab" * 32, REPORT)
    loaded = cache.load("ab" * 32)
    assert loaded == REPORT
    assert loaded is not None
    assert isinstance(loaded.findings[0].severity, Severity)
    assert isinstance(loaded.findings[0].place, Place)
    assert isinstance(loaded.verdict, Verdict)
    assert isinstance(loaded.skipped[0], Skipped)


def test_a_miss(tmp_path: Path) -> None:
    assert ReportCache(tmp_path).load("ab" * 32) is None
    assert ReportCache(tmp_path / "missing").load("ab" * 32) is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"x"',
        b"{}",
        b"\xff",
        b'{"name": 1}',
        json.dumps({"findings": [1]}).encode(),
        b"1" * 5000,
    ],
)
def test_a_damaged_entry_is_a_miss(tmp_path: Path, content: bytes) -> None:
    cache = ReportCache(tmp_path)
    cache.store("ab" * 32, REPORT)
    [file] = tmp_path.rglob("*.json")
    file.write_bytes(content)
    assert cache.load("ab" * 32) is None
    cache.store("ab" * 32, REPORT)
    assert cache.load("ab" * 32) == REPORT


@pytest.mark.parametrize("field", ["verdict", "findings", "skipped", "name", "source"])
def test_an_entry_of_another_form_is_a_miss(tmp_path: Path, field: str) -> None:
    cache = ReportCache(tmp_path)
    cache.store("ab" * 32, REPORT)
    [file] = tmp_path.rglob("*.json")
    data = json.loads(file.read_text())
    missing = {key: value for key, value in data.items() if key != field}
    for other in (missing, {**data, "more": 1}, {**data, "findings": [{"rule": "TL101"}]}):
        file.write_text(json.dumps(other))
        assert cache.load("ab" * 32) is None


def test_nothing_half_written_is_left(tmp_path: Path) -> None:
    cache = ReportCache(tmp_path)
    for _ in range(3):
        cache.store("ab" * 32, REPORT)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["ab" * 32 + ".json"]


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = ReportCache(tmp_path / "file")
    cache.store("ab" * 32, REPORT)
    assert cache.load("ab" * 32) is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    ReportCache(tmp_path).store("ab" * 32, REPORT)


def test_a_report_that_is_no_json_is_not_stored(tmp_path: Path) -> None:
    cache = ReportCache(tmp_path)
    looped: dict[str, Any] = {}
    looped["self"] = looped
    cache.store("ab" * 32, REPORT._replace(capabilities=looped))
    assert list(tmp_path.rglob("*.json")) == []


def test_a_lone_surrogate_is_kept_or_not_stored(tmp_path: Path) -> None:
    cache = ReportCache(tmp_path)
    odd = REPORT._replace(source="\ud800")
    cache.store("ab" * 32, odd)
    assert cache.load("ab" * 32) in (odd, None)


def test_the_key_is_stable_and_sees_everything(tmp_path: Path, job: Job) -> None:
    cache = ReportCache(tmp_path)
    key = cache.key(job)
    assert len(key) == 64
    assert cache.key(job) == ReportCache(tmp_path / "other").key(job) == key
    scenario = Scenario("s", "", [{"role": "user", "content": "x"}], None, {}, [1], own=True)
    changes: list[dict[str, Any]] = [
        {"copy": job.copy._replace(source="{{ messages }} ")},
        {"copy": job.copy._replace(name="tool_use")},
        {"copy": job.copy._replace(file="other.jinja")},
        {"profile": parse_profile("4.57")},
        {"codes": ("TL101",)},
        {"codes": ("TL101", "TL102")},
        {"variables": {}},
        {"variables": {"bos_token": "<t>"}},
        {"tokenizer": job.snapshot},
        {"conversations": [scenario]},
        {"conversations": [scenario._replace(cuts=[])]},
        {"force_tools": True},
        {"selection_error": "none"},
    ]
    keys = [cache.key(job._replace(**change)) for change in changes]
    assert len({key, *keys}) == len(changes) + 1


def test_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEMPLATE_LINT_CACHE", str(tmp_path / "named"))
    assert ReportCache().folder == tmp_path / "named"
    monkeypatch.delenv("TEMPLATE_LINT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert ReportCache().folder == tmp_path / "xdg" / "template-lint" / "reports"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert ReportCache().folder == tmp_path / "home" / ".cache" / "template-lint" / "reports"


def test_the_models_own_parser_and_what_runs_it_are_part_of_the_key(
    tmp_path: Path, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = ReportCache(tmp_path)

    def key(config: dict[str, Any], installed: str) -> str:
        monkeypatch.setattr("template_lint.facts.response_parser.installed_transformers", lambda: installed)
        return cache.key(job._replace(snapshot=job.snapshot._replace(config=config)))

    without = key({}, "5.24.0")
    assert without == key({"eos_token": "</s>"}, "5.13.0")
    keys = [key({"response_template": value}, version) for value in ({}, {"a": 1}) for version in ("5.13.0", "5.24.0")]
    assert len({without, *keys, key({"response_schema": {}}, "5.24.0")}) == 6

"""What the linter claims about real templates: proven causes over the corpus, and a few models one by one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import transformers

import template_lint
from template_lint.engine import check
from template_lint.model import Finding
from template_lint.scenarios.catalogue import load_catalogue
from template_lint.snapshot.load import load_snapshot
from template_lint.target import parse_target
from template_lint.tokenization import load_tokenization
from tests.conformance.conftest import OPTIONS, CorpusRun
from tests.conformance.test_trl_probe import RESULT, USER, call, outcomes
from tests.inputs import corpus_dir, tokenizer_dir

pytestmark = pytest.mark.skipif(
    transformers.__version__ < "5", reason="the claims are about the 5.24 profile: once is enough"
)


def proven(finding: Finding) -> bool:
    cause = finding.evidence["cause"]
    return cause is not None and cause["proven"]


def test_every_template_is_checked_and_no_rule_raises(corpus: CorpusRun) -> None:
    summary = corpus.report.summary()
    assert (summary.templates, summary.targets, summary.unchecked) == (786, 786, 0)
    assert all(template.verdict.tito for template in corpus.templates.values())


def test_no_real_template_reaches_a_bound(corpus: CorpusRun) -> None:
    assert [
        name for name, template in corpus.templates.items() if any(f.rule == "TL508" for f in template.findings)
    ] == []


def test_every_rule_was_checked_or_says_why_not(corpus: CorpusRun) -> None:
    for template in corpus.templates.values():
        checked, skipped = set(template.checked), {skip.rule for skip in template.skipped}
        assert not checked & skipped
        assert len(checked | skipped) >= 16
        assert all(skip.reason for skip in template.skipped)


def test_causes_of_tl101_are_proven(corpus: CorpusRun) -> None:
    findings = [finding for finding in corpus.report.findings if finding.rule == "TL101"]
    assert len(findings) > 80
    assert sum(map(proven, findings)) >= 0.95 * len(findings)


def test_what_is_not_proven_is_suspected_by_name(corpus: CorpusRun) -> None:
    for finding in corpus.report.findings:
        if finding.rule == "TL101" and not proven(finding):
            cause = finding.evidence["cause"]
            if cause is None:
                assert finding.place is not None
                assert f"line {finding.place.line} prints it" in finding.message
            else:
                assert cause["kind"] == "suspected"
                assert "suspected" in finding.message


def test_the_templates_that_fail_the_probe_of_trl(tool_prefix: dict[str, list[Finding]]) -> None:
    names = sorted(path.name for path in corpus_dir().glob("*.jinja"))
    results = outcomes([USER, call()], [USER, call(), RESULT], "5.24", prompt=True, earlier_prompt=False)
    failing = [name for name, result in zip(names, results, strict=True) if result == "breaks"]
    assert len(failing) == 81
    with_cause = [name for name in failing if any(proven(f) and f.place for f in tool_prefix[name])]
    assert len(with_cause) >= 79, sorted(set(failing) - set(with_cause))


def test_a_place_cuts_out_the_source_of_its_cause(corpus: CorpusRun) -> None:
    seen = 0
    for name, template in corpus.templates.items():
        text = template.source.replace("\r\n", "\n")
        lines = text.split("\n")
        for finding in template.findings:
            cause = finding.evidence.get("cause")
            if cause and finding.place and finding.place.offset >= 0 and finding.rule == "TL101":
                seen += 1
                assert text[finding.place.offset : finding.place.end_offset] == cause["source"], name
                first = cause["source"].split("\n")[0]
                assert lines[cause["line"] - 1][cause["column"] - 1 :].startswith(first), name
    assert seen > 80


def test_qwen3(tmp_path: Path) -> None:
    folder = tmp_path / "qwen3"
    shutil.copytree(tokenizer_dir("qwen3"), folder)
    source = (corpus_dir() / "Qwen-Qwen3-0.6B@a55ee1.jinja").read_text(encoding="utf-8")
    (folder / "chat_template.jinja").write_text(source, encoding="utf-8")
    [template] = check([str(folder)], OPTIONS).targets[0].templates
    [finding] = [finding for finding in template.findings if finding.rule == "TL101"]
    cause = finding.evidence["cause"]
    assert cause["source"] == "loop.last or (not loop.last and reasoning_content)"
    assert (cause["line"], cause["column"]) == (44, 20)
    assert (cause["proven"], cause["outcome_earlier"], cause["outcome_later"]) == (True, True, False)
    assert template.verdict.tito == "unstable"
    # The ids part right after the assistant header.
    one_call = load_catalogue()[0]
    text = template_lint.render(source, one_call.messages[:2], tools=one_call.tools, transformers="5.24").text
    ids = load_tokenization(load_snapshot(parse_target(str(folder)))).encode(text)
    index = finding.evidence["token_index"]
    assert ids[index - 3 : index] == [151644, 77091, 198]  # <|im_start|>, assistant, newline
    assert ids[index] == 151667  # <think>
    # <think> and <tool_call> share two characters.
    assert text[: finding.evidence["offset"]].endswith("<|im_start|>assistant\n<t")
    assert finding.scenario == "one-call"


@pytest.mark.parametrize("name", ["Qwen-Qwen2.5-7B-Instruct.jinja", "C10X-Qwen2.5-0.5B-Instruct.jinja"])
def test_qwen2_5_is_stable(corpus: CorpusRun, name: str) -> None:
    assert corpus.of(name, "TL101") == []
    assert corpus.templates[name].verdict.tito == "stable"


def test_qwen2_5_in_token_ids(tmp_path: Path) -> None:
    folder = tmp_path / "qwen2.5"
    shutil.copytree(tokenizer_dir("qwen3"), folder)
    shutil.copy(corpus_dir() / "Qwen-Qwen2.5-7B-Instruct.jinja", folder / "chat_template.jinja")
    [template] = check([str(folder)], OPTIONS).targets[0].templates
    assert {finding.rule for finding in template.findings} & {"TL101", "TL102"} == set()
    assert {"TL101", "TL102"} <= set(template.checked)
    assert template.verdict.tito == "stable"


def calls_with_content(messages: list[dict[str, Any]]) -> bool:
    return any(message.get("tool_calls") and message.get("content") for message in messages)


def test_gemma_4_breaks_only_beside_content(corpus: CorpusRun) -> None:
    [finding] = corpus.of("google-gemma-4-31B-it.jinja", "TL101")
    assert proven(finding)
    with_content = {scenario.name for scenario in load_catalogue() if calls_with_content(scenario.messages)}
    without = {scenario.name for scenario in load_catalogue()} - with_content
    named = {name.partition("[")[0] for name in finding.evidence["scenarios"]}
    assert "call-with-content" in named
    assert named <= with_content
    assert {"one-call", "two-rounds", "parallel-calls"} <= without


def test_olmo_3_prints_the_end_of_text_on_the_last_turn(tool_prefix: dict[str, list[Finding]]) -> None:
    for name in ("allenai-Olmo-3-7B-Instruct.jinja", "allenai-Olmo-3-7B-Think.jinja"):
        [finding] = tool_prefix[name]
        assert finding.evidence["cause"]["source"] == "not loop.last"
        assert proven(finding)
        assert finding.evidence["earlier"].endswith("</s>")
        assert "'</s>'" in finding.message


def test_deepseek_v3_opens_the_second_round_otherwise() -> None:
    [target] = check([str(tokenizer_dir("deepseek_v3"))], OPTIONS).targets
    [finding] = [finding for template in target.templates for finding in template.findings if finding.rule == "TL106"]
    assert finding.scenario == "two-rounds"
    assert {"two-rounds", "three-rounds", "after-user-turn"} <= set(finding.evidence["scenarios"])
    assert "one-call" not in finding.evidence["scenarios"]


def test_twice_the_same_and_the_cache_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEMPLATE_LINT_CACHE", str(tmp_path / "cache"))
    some = [str(file) for file in sorted(corpus_dir().glob("*.jinja"))[::40]]
    cached = OPTIONS._replace(cache=True)
    first = check(some, cached)
    assert first == check(some, cached) == check(some, OPTIONS._replace(jobs=1))

"""TL3 and TL4 with six real tokenizers: the known facts are found, and what is said is what transformers does."""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from template_lint.config import Options
from template_lint.engine import check
from template_lint.model import Finding, Severity, TemplateReport
from template_lint.snapshot.load import load_snapshot
from template_lint.target import parse_target
from template_lint.tokenization import load_tokenization
from tests.conformance.test_tito_real import TEMPLATES
from tests.inputs import corpus_dir, tokenizer_dir
from tests.snapshot.folders import profile

VERSION = ".".join(map(str, profile()))


@cache
def report(template: str, tokenizer: str | None = None, transformers: str = VERSION) -> TemplateReport:
    """A template of the corpus, with a tokenizer."""
    options = Options(
        select=("TL3", "TL4"),
        transformers=transformers,
        tokenizer=None if tokenizer is None else str(tokenizer_dir(tokenizer)),
        cache=False,
        jobs=1,
        fail_on=None,
    )
    return check([str(corpus_dir() / f"{template}.jinja")], options).targets[0].templates[0]


def found(code: str, template: str, tokenizer: str | None = None, transformers: str = VERSION) -> list[Finding]:
    return [f for f in report(template, tokenizer, transformers).findings if f.rule == code]


def copied(tmp_path: Path, model: str, template: str, **files: dict[str, Any]) -> TemplateReport:
    """A model folder made of a real tokenizer, a template of the corpus, and small JSON files."""
    folder = tmp_path / model
    shutil.copytree(tokenizer_dir(model), folder)
    shutil.copy(corpus_dir() / f"{template}.jinja", folder / "chat_template.jinja")
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    options = Options(select=("TL3", "TL4"), transformers=VERSION, cache=False, jobs=1, fail_on=None)
    return check([str(folder)], options).targets[0].templates[0]


@cache
def real(model: str) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(str(tokenizer_dir(model)))


def errors_of(template: str, tokenizer: str | None) -> set[str]:
    return {f.rule for f in report(template, tokenizer).findings if f.severity is Severity.ERROR}


@pytest.mark.parametrize("model", TEMPLATES)
def test_own_tokenizer_and_template_have_no_error(model: str) -> None:
    """But for the template of Llama 3.1, whose <|python_tag|> and <|eom_id|> are not in the tokenizer at hand."""
    expected = {"TL302"} if model == "llama3_1" else set()
    assert errors_of(TEMPLATES[model], model) == expected


@pytest.mark.parametrize("model", TEMPLATES)
def test_the_bos_that_the_tokenizer_adds(model: str) -> None:
    tokenization = load_tokenization(load_snapshot(parse_target(str(tokenizer_dir(model)))), profile_version=profile())
    habits, tokenizer = tokenization.habits, real(model)
    assert habits.bos_id == tokenizer.bos_token_id
    assert habits.adds_bos == (tokenizer.bos_token_id is not None and tokenizer("a")["input_ids"][0] == habits.bos_id)
    findings = found("TL301", TEMPLATES[model], model)
    messages = [{"role": "user", "content": "zqquestion"}]
    source = (corpus_dir() / f"{TEMPLATES[model]}.jinja").read_text(encoding="utf-8")
    text = tokenizer.apply_chat_template(messages, chat_template=source, tokenize=False, add_generation_prompt=True)
    doubled = tokenizer.bos_token_id is not None and tokenizer(text)["input_ids"][:2] == [tokenizer.bos_token_id] * 2
    assert [f.severity for f in findings] == ([Severity.WARNING] if doubled else [])


@pytest.mark.parametrize("model", TEMPLATES)
def test_decoding_is_what_transformers_does(model: str) -> None:
    """TL305 warns exactly where a rendered reply does not survive the tokenizer of transformers."""
    tokenizer = real(model)
    source = (corpus_dir() / f"{TEMPLATES[model]}.jinja").read_text(encoding="utf-8")
    messages = [{"role": "user", "content": "zqquestion"}, {"role": "assistant", "content": "zqreply"}]
    text = tokenizer.apply_chat_template(messages, chat_template=source, tokenize=False)
    survives = tokenizer.decode(tokenizer(text, add_special_tokens=False)["input_ids"]) == text
    warnings = [f for f in found("TL305", TEMPLATES[model], model) if f.severity is Severity.WARNING]
    assert survives or warnings
    assert not warnings or not survives or "a call" in warnings[0].message
    assert survives or warnings[0].remedy == "Keep ids: no option of decode() gives this text back."


def test_qwen3_has_rows_without_tokens(tmp_path: Path) -> None:
    template = copied(tmp_path, "qwen3", TEMPLATES["qwen3"], config={"model_type": "qwen3", "vocab_size": 151936})
    [finding] = [f for f in template.findings if f.rule == "TL310"]
    assert finding.message == ("267 ids from 151669 on can be sampled and not decoded: 151,936 rows, 151,669 tokens")


def test_without_config_json_nothing_is_claimed() -> None:
    [skipped] = [s for s in report(TEMPLATES["qwen3"], "qwen3").skipped if s.rule == "TL310"]
    assert "config.json" in skipped.reason


def test_qwens_newline() -> None:
    [finding] = found("TL309", TEMPLATES["qwen3"], "qwen3")
    assert (finding.evidence["glue"], finding.evidence["glue_ids"]) == ("\n", [198])
    assert found("TL309", TEMPLATES["llama3_1"], "llama3_1") == []


def test_marks_of_qwen3_that_are_not_special() -> None:
    [finding] = found("TL306", TEMPLATES["qwen3"], "qwen3")
    marks = {"<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>"}
    assert set(finding.evidence["marks"]) == marks
    real_added = real("qwen3").added_tokens_decoder
    assert not any(real_added[token_id].special for token_id in finding.evidence["marks"].values())


def test_stop_ids_of_generation_config(tmp_path: Path) -> None:
    """gpt-oss ends a call with <|call|>, which its tokenizer does not name as eos_token."""
    name = TEMPLATES["gptoss"]
    [finding] = found("TL303", name, "gptoss")
    assert finding.message.startswith("a call ends with '<|call|>'")
    complete = copied(tmp_path, "gptoss", name, generation_config={"eos_token_id": [200002, 199999, 200012]})
    assert [f for f in complete.findings if f.rule == "TL303"] == []


@pytest.mark.parametrize(
    ("code", "template", "tokenizer", "says"),
    [
        ("TL301", "tencent-Hunyuan-7B-Pretrain-0124", None, "<|startoftext|> twice"),
        ("TL301", "unsloth-gemma-3-270m-it", "gemma3", "<bos>"),
        ("TL302", "meta-llama-Llama-3.1-8B-Instruct", "llama3_1", "<|python_tag|>"),
        ("TL302", "deepseek-ai-DeepSeek-V3.1", "deepseek_v3", "</think>"),
        ("TL304", "upstage-SOLAR-10.7B-Instruct-v1.0", None, "### User:"),
        ("TL306", "Qwen-Qwen3-0.6B", "qwen3", "<tool_call>"),
        ("TL309", "Qwen-Qwen2.5-7B-Instruct", None, "<|im_end|>"),
        ("TL401", "Qwen-Qwen2.5-7B-Instruct", None, "no {% generation %}"),
        ("TL403", "KristianS7-Ouro-1.4B", None, "'<|im_end|>', with which the turn ends, is not marked"),
    ],
)
def test_public_bug_reports(code: str, template: str, tokenizer: str | None, says: str) -> None:
    assert any(says in finding.message for finding in found(code, template, tokenizer))


def test_a_call_that_is_not_closed_beside_null_content() -> None:
    """DeepSeek V2.5; 5.24 drops the null key, and the template fails on what is left."""
    says = "<｜tool▁calls▁begin｜> opens what <｜tool▁calls▁end｜> never closes"
    findings = found("TL308", "deepseek-ai-DeepSeek-V2.5", None, "4.57")
    assert any(finding.message.startswith(says) for finding in findings)


def test_an_eos_that_the_template_never_writes(tmp_path: Path) -> None:
    source = (corpus_dir() / "google-gemma-2-2b-it.jinja").read_text(encoding="utf-8")
    path = tmp_path / "tokenizer_config.json"
    path.write_text(json.dumps({"chat_template": source, "eos_token": "<eos>", "bos_token": "<bos>"}), encoding="utf-8")
    options = Options(select=("TL303",), transformers=VERSION, cache=False, jobs=1, fail_on=None)
    [finding] = check([str(path)], options).targets[0].templates[0].findings
    assert finding.message.startswith("a reply ends with '<end_of_turn>', and generation stops at <eos>")


HEADERS = {
    "HuggingFaceTB-SmolLM3-3B@3e0e27",
    "OpenLLM-France-Luciole-23B-Instruct-1.1",
    "microsoft-SchGen",
    "nabin2004-AOS-gemma4-manim-sft",
    "poolside-Laguna-S-2.1",
    "poolside-Laguna-S-2.1@444819",
    "poolside-Laguna-XS-2.1",
    "poolside-Laguna-XS.2",
    "tcclaviger-Laguna-S-2.1-RFA_L",
}
"""The marked templates of the corpus whose spans include the header of the assistant's turn."""


def test_masks_that_include_the_header() -> None:
    marked = [p.stem for p in corpus_dir().glob("*.jinja") if "endgeneration" in p.read_text(encoding="utf-8")]
    assert len(marked) == 32
    says = "which the generation prompt prints, is marked"
    with_header = {
        name
        for name in marked
        if any(says in f.message and f.evidence["marked"][0].startswith("<") for f in found("TL402", name))
    }
    assert with_header - {"trl-internal-testing-tiny-Qwen3ForCausalLM"} == HEADERS


def test_the_mask_of_transformers_has_the_header() -> None:
    """What TL402 says of SmolLM3's template, seen in the token mask of transformers itself."""
    tokenizer = real("qwen3")
    source = (corpus_dir() / "HuggingFaceTB-SmolLM3-3B@3e0e27.jinja").read_text(encoding="utf-8")
    messages = [{"role": "user", "content": "zqquestion"}, {"role": "assistant", "content": "zqreply"}]
    encoded = tokenizer.apply_chat_template(
        messages, chat_template=source, return_dict=True, return_assistant_tokens_mask=True
    )
    masked = [i for i, m in zip(encoded["input_ids"], encoded["assistant_masks"], strict=True) if m]
    assert tokenizer.decode(masked).startswith("<|im_start|>assistant")
    [finding] = found("TL402", "HuggingFaceTB-SmolLM3-3B@3e0e27", "qwen3")
    assert finding.message.startswith("'<|im_start|>assistant\\n'")

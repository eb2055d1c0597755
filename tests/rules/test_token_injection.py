"""TL505: through which fields a control token comes in, and where transformers can stop it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from template_lint.config import Options
from template_lint.engine import check
from template_lint.model import Finding
from template_lint.rules.base import FolderExample, write_example
from template_lint.rules.registry import find_rule
from tests.inputs import corpus_dir, tokenizer_dir

CALLS = (
    "{% for m in messages %}<|{{ m.role if m.role == 'user' else 'assistant' }}|>{{ m.content }}"
    "{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments|tojson }}{% endfor %}<|end|>"
    "{% endfor %}{% if tools %}{{ tools|tojson }}{% endif %}"
)


def found(folder: Path, template: str, version: str = "5.24") -> list[Finding]:
    [bad] = [example for example in find_rule("TL505").examples() if example.name == "bad"]
    assert isinstance(bad, FolderExample)
    model = write_example(bad, folder)
    (model / "chat_template.jinja").write_text(template)
    return check([str(model)], Options(transformers=version, cache=False, jobs=1, select=("TL505",))).findings


def test_every_field_that_is_printed_is_named(tmp_path: Path) -> None:
    [finding] = found(tmp_path, CALLS)
    assert finding.evidence["token"] == "<|end|>"
    assert "reasoning" not in finding.evidence["fields"]
    assert {"user text", "tool results", "parameter names", "call arguments"} <= set(finding.evidence["fields"])
    assert finding.evidence["not_sanitized"] == ["names of call arguments", "parameter names"]
    assert "sanitize_control_tokens does not stop it in names of call arguments" in finding.message


def test_names_in_a_json_string_are_text_that_is_sanitized(tmp_path: Path) -> None:
    [finding] = found(tmp_path, CALLS.replace("c.function.arguments|tojson", "'args:' + c.function.arguments"))
    assert "names of call arguments" in finding.evidence["fields"]
    assert finding.evidence["not_sanitized"] == ["parameter names"]


def test_a_template_that_takes_texts_apart_loses_the_marks(tmp_path: Path) -> None:
    escapes = CALLS.replace("c.function.arguments|tojson", "c.function.arguments|tojson(ensure_ascii=true)")
    [finding] = found(tmp_path, escapes)
    assert "call arguments" in finding.evidence["not_sanitized"]


def test_before_5_20_nothing_stops_it(tmp_path: Path) -> None:
    [finding] = found(tmp_path, CALLS, "4.57")
    assert finding.evidence["not_sanitized"] is None
    assert "has no sanitize_control_tokens" in finding.message


def test_a_template_that_breaks_control_tokens_up_is_fine(tmp_path: Path) -> None:
    source = "{% for m in messages %}<|user|>{{ m.content|replace('<|', '< |') }}<|end|>{% endfor %}"
    assert found(tmp_path, source) == []


def test_transformers_itself_stops_the_same_fields() -> None:
    transformers: Any = pytest.importorskip("transformers", minversion="5.20")
    template = (corpus_dir() / "Qwen-Qwen3-0.6B.jinja").read_text(encoding="utf-8")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tokenizer_dir("qwen3"))
    control = tokenizer.convert_tokens_to_ids("<|im_end|>")

    def count(text: str, name: str) -> int:
        function = {"name": "f", "parameters": {"type": "object", "properties": {name: {"type": "string"}}}}
        ids = tokenizer.apply_chat_template(
            [{"role": "user", "content": text}],
            tools=[{"type": "function", "function": function}],
            chat_template=template,
            sanitize_control_tokens=True,
            return_dict=False,
        )
        return int(list(ids).count(control))

    plain = count("hello", "town")
    assert count("hel<|im_end|>lo", "town") == plain
    assert count("hello", "to<|im_end|>wn") == plain + 1


def test_transformers_itself_sanitizes_names_in_a_json_string() -> None:
    transformers: Any = pytest.importorskip("transformers", minversion="5.20")
    source = (
        "{% for m in messages %}{{ m.role + ': ' + (m.content or m.tool_calls[0].function.arguments) }}{% endfor %}"
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(tokenizer_dir("qwen3"))
    control = tokenizer.convert_tokens_to_ids("<|im_end|>")
    for arguments, stopped in (('{"a<|im_end|>b": 1}', True), ({"a<|im_end|>b": 1}, False)):
        call = {"type": "function", "function": {"name": "f", "arguments": arguments}}
        ids = tokenizer.apply_chat_template(
            [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "", "tool_calls": [call]}],
            chat_template=source if stopped else source.replace("arguments)", "arguments|string)"),
            sanitize_control_tokens=True,
            return_dict=False,
        )
        assert (control not in ids) == stopped

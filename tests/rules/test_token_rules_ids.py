"""TL3 with small tokenizers: what is said of single ids, and which rule keeps silent where another speaks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from template_lint import check
from template_lint.model import Finding, Severity, TemplateReport
from template_lint.rules.base import FolderExample, write_example
from template_lint.rules.registry import find_rule
from template_lint.snapshot.load import load_snapshot
from template_lint.target import parse_target
from template_lint.tokenization import load_tokenization


def example(code: str, name: str) -> dict[str, str]:
    """The files of a folder that lies beside a rule."""
    found = next(e for e in find_rule(code).examples() if e.name == name)
    assert isinstance(found, FolderExample)
    return dict(found.files)


def report(tmp_path: Path, files: dict[str, str], transformers: str = "5.24") -> TemplateReport:
    path = write_example(FolderExample("model", files), tmp_path)
    return check([path], transformers=transformers, cache=False, offline=True).targets[0].templates[0]


def findings(code: str, found: TemplateReport) -> list[Finding]:
    return [finding for finding in found.findings if finding.rule == code]


def with_config(files: dict[str, str], name: str = "tokenizer_config.json", **changes: Any) -> dict[str, str]:
    return {**files, name: json.dumps({**json.loads(files.get(name, "{}")), **changes})}


def test_a_mark_is_shown_with_its_pieces(tmp_path: Path) -> None:
    files = {
        **example("TL302", "bad"),
        "chat_template.jinja": "{% for m in messages %}{{ m.content }}<|x|>{% endfor %}",
    }
    [finding] = findings("TL302", report(tmp_path, files))
    assert finding.evidence == {"marks": ["<|x|>"], "pieces": {"<|x|>": ["<", "|", "x", "|", ">"]}}
    assert (finding.severity, finding.place.column if finding.place else None) == (Severity.ERROR, 39)


@pytest.mark.parametrize(
    "source",
    [
        "{% for m in messages %}{{ m.content.split('<|x|>')[-1] }}{% endfor %}",
        "{% for m in messages %}{% if '<|x|>' in m.content %}{{ m.content }}{% endif %}{% endfor %}",
        "{# <|x|> #}{% for m in messages %}{{ m.content.replace('<|x|>', '') }}{% endfor %}",
        "Write <answer> first.{% for m in messages %}{{ m.content }}{% endfor %}",
    ],
)
def test_what_is_only_looked_for_or_stands_in_prose_is_no_mark(tmp_path: Path, source: str) -> None:
    files = {**example("TL302", "bad"), "chat_template.jinja": source}
    assert findings("TL302", report(tmp_path, files)) == []


def test_a_tag_in_a_turn_is_an_info_and_a_warning_where_the_prompt_ends_with_it(tmp_path: Path) -> None:
    files = example("TL302", "bad_tag")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    [warning] = findings("TL302", report(tmp_path / "a", files))
    assert warning.severity is Severity.WARNING
    assert warning.remedy.startswith("Use the tokenizer that belongs to the template")
    plain = files["chat_template.jinja"].replace("'<|assistant|><think>'", "'<|assistant|>'")
    [info] = findings("TL302", report(tmp_path / "b", {**files, "chat_template.jinja": plain}))
    assert info.severity is Severity.INFO
    assert info.remedy.startswith("Often nothing")


def test_an_end_that_is_no_token_is_one_finding(tmp_path: Path) -> None:
    found = report(tmp_path, example("TL302", "bad"))
    assert [len(findings(code, found)) for code in ("TL302", "TL303", "TL307")] == [1, 0, 0]


def test_stop_ids_are_named(tmp_path: Path) -> None:
    [finding] = findings("TL303", report(tmp_path, example("TL303", "bad")))
    assert finding.message == "a reply ends with '<|end|>', and generation stops at <|endoftext|> (97)"
    assert finding.evidence == {"end": "<|end|>", "end_ids": [102], "stop_ids": [97]}


def test_a_stop_id_that_only_the_tokenizer_names_does_not_stop_generate(tmp_path: Path) -> None:
    files = with_config(example("TL303", "bad"), eos_token="<|end|>")
    [finding] = findings("TL303", report(tmp_path, files))
    assert finding.message == (
        "a reply ends with '<|end|>', the eos_token of the tokenizer, and generate() stops only at what the model's "
        "configuration names: <|endoftext|> (97)"
    )
    assert finding.evidence["stop_ids"] == [97]
    del files["generation_config.json"]
    alone = tmp_path / "alone"
    alone.mkdir()
    assert findings("TL303", report(alone, files)) == []


def test_a_header_that_is_always_printed_is_no_part_of_the_end(tmp_path: Path) -> None:
    files = example("TL303", "bad")
    begun = files["chat_template.jinja"].partition("{%- if add_generation_prompt")[0]
    files["chat_template.jinja"] = (
        begun.replace("'<|' + message.role", "'<|turn|>' + message.role") + "<|turn|>assistant"
    )
    [finding] = findings("TL303", report(tmp_path, files))
    assert finding.evidence["end"].strip() == "<|end|>"


def test_without_generation_config_the_message_says_so(tmp_path: Path) -> None:
    files = example("TL303", "bad")
    del files["generation_config.json"]
    [finding] = findings("TL303", report(tmp_path, files))
    assert finding.message.endswith("by its tokenizer; generation_config.json is not here")


def test_spaces_are_cleaned_up_by_4_57_only(tmp_path: Path) -> None:
    files = with_config(example("TL302", "good"), clean_up_tokenization_spaces=True)
    files["chat_template.jinja"] = files["chat_template.jinja"].replace("'|>' +", "'|>Say . ' +")
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    [finding] = findings("TL305", report(old, files, "4.57"))
    assert finding.message.startswith("clean_up_tokenization_spaces turns")
    assert finding.remedy.endswith("decode with clean_up_tokenization_spaces=False.")
    assert findings("TL305", report(new, files, "5.24")) == []


def test_the_token_on_the_border_is_shown(tmp_path: Path) -> None:
    [finding] = findings("TL307", report(tmp_path, example("TL307", "bad")))
    assert finding.message.startswith("token '>\\n' (97) holds the end of the assistant's turn")
    assert "one-call" in finding.evidence["scenarios"]


def test_more_tokens_than_rows_is_a_warning(tmp_path: Path) -> None:
    files = with_config(example("TL310", "good"), "config.json", vocab_size=100)
    [finding] = findings("TL310", report(tmp_path, files))
    assert (finding.severity, finding.message) == (
        Severity.WARNING,
        "2 tokens have ids outside the model: 102 tokens, 100 rows",
    )


def test_the_rows_of_a_model_with_several_parts_are_those_of_its_text(tmp_path: Path) -> None:
    files = with_config(example("TL310", "good"), "config.json", vocab_size=1, text_config={"vocab_size": 110})
    [finding] = findings("TL310", report(tmp_path, files))
    assert finding.evidence == {"rows": 110, "entries": 102}


def test_habits_of_llama_under_4_57_come_from_its_configuration(tmp_path: Path) -> None:
    """LlamaTokenizerFast of 4.57 replaces the post-processor of tokenizer.json; 5.x takes it as it is."""
    files = with_config(example("TL301", "good_added"), tokenizer_class="LlamaTokenizerFast", add_bos_token=True)
    path = write_example(FolderExample("model", files), tmp_path)
    snapshot = load_snapshot(parse_target(str(path)))
    assert load_tokenization(snapshot, profile_version=(4, 57)).habits.adds_bos
    off = write_example(FolderExample("off", with_config(files, add_bos_token=False)), tmp_path)
    assert not load_tokenization(load_snapshot(parse_target(str(off))), profile_version=(4, 57)).habits.adds_bos

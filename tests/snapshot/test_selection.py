"""Template selection against the installed transformers, for tokenizers and for processors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from template_lint.errors import CannotCheckError, TemplateSelectionError
from template_lint.snapshot.load import load_snapshot
from template_lint.snapshot.model import Snapshot, TemplateCopy
from template_lint.snapshot.selection import pick, select_processor, select_tokenizer
from template_lint.target import parse_target
from tests.snapshot.folders import model_folder, profile

LIST = [{"name": "default", "template": "D"}, {"name": "tool_use", "template": "T"}]
EXTRA = "additional_chat_templates/"

TOKENIZER_CASES: dict[str, dict[str, Any]] = {
    "string": {"tokenizer_config.json": {"chat_template": "C"}},
    "list": {"tokenizer_config.json": {"chat_template": LIST}},
    "object": {"tokenizer_config.json": {"chat_template": {"default": "D", "tool_use": "T"}}},
    "list of one, not default": {"tokenizer_config.json": {"chat_template": LIST[1:]}},
    "duplicate names": {
        "tokenizer_config.json": {"chat_template": [*LIST, {"name": "default", "template": "later"}]},
    },
    "none": {},
    "null": {"tokenizer_config.json": {"chat_template": None}},
    "empty string": {"tokenizer_config.json": {"chat_template": ""}},
    "empty file": {"chat_template.jinja": "", "tokenizer_config.json": {"chat_template": "C"}},
    "file over string": {"chat_template.jinja": "J", "tokenizer_config.json": {"chat_template": "C"}},
    "file over list": {"chat_template.jinja": "J", "tokenizer_config.json": {"chat_template": LIST}},
    "file over malformed": {"chat_template.jinja": "J", "tokenizer_config.json": {"chat_template": 3}},
    "additional beside file": {"chat_template.jinja": "J", f"{EXTRA}tool_use.jinja": "T", f"{EXTRA}rag.jinja": "R"},
    "additional replaces config": {f"{EXTRA}tool_use.jinja": "T", "tokenizer_config.json": {"chat_template": "C"}},
    "additional default over file": {"chat_template.jinja": "J", f"{EXTRA}default.jinja": "A"},
    "additional default alone": {f"{EXTRA}default.jinja": "A", "tokenizer_config.json": {"chat_template": "C"}},
    "additional file over file": {"chat_template.jinja": "J", f"{EXTRA}file.jinja": "F"},
    "additional file and default": {f"{EXTRA}file.jinja": "F", f"{EXTRA}default.jinja": "A"},
    "other suffix is no template": {"chat_template.jinja": "J", f"{EXTRA}rag.jinja2": "R", f"{EXTRA}readme.md": "M"},
    "not recursive": {"chat_template.jinja": "J", f"{EXTRA}deep/rag.jinja": "R"},
    "json is for processors": {"chat_template.json": {"chat_template": "L"}},
    "newlines and mark": {"chat_template.jinja": "\ufeffa\r\nb\rc\n".encode()},
    "newlines in config": {"tokenizer_config.json": {"chat_template": "a\r\nb"}},
}


def load(folder: Path) -> Snapshot:
    return load_snapshot(parse_target(str(folder)), profile_version=profile())


@pytest.mark.parametrize("case", TOKENIZER_CASES)
def test_tokenizer_templates_are_those_of_transformers(case: str, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    folder = model_folder(tmp_path, TOKENIZER_CASES[case])
    real = AutoTokenizer.from_pretrained(folder)
    expected = real.chat_template
    if not isinstance(expected, dict):
        expected = {} if expected is None else {"default": expected}

    snapshot = load(folder)
    ours = {template.name: template.source for template in select_tokenizer(snapshot.copies)}
    assert ours == expected
    for tools in (None, [], [{"type": "function", "function": {"name": "f"}}]):
        try:
            wanted = real.get_chat_template(tools=tools)
        except ValueError:
            with pytest.raises(TemplateSelectionError):
                pick(select_tokenizer(snapshot.copies), tools_given=tools is not None)
        else:
            assert pick(snapshot.templates, tools_given=tools is not None).source == wanted
    if case != "json is for processors":
        assert (snapshot.selection_error is None) == ("default" in expected)


PROCESSOR_CASES: dict[str, dict[str, Any]] = {
    "file": {"chat_template.jinja": "J"},
    "legacy": {"chat_template.json": {"chat_template": "L"}},
    "legacy over file": {"chat_template.json": {"chat_template": "L"}, "chat_template.jinja": "J"},
    "legacy with additional": {"chat_template.json": {"chat_template": "L"}, f"{EXTRA}tool_use.jinja": "T"},
    "config": {"processor_config.json": {"chat_template": "P"}},
    "config object": {"processor_config.json": {"chat_template": {"default": "D", "rag": "R"}}},
    "config null": {"processor_config.json": {"chat_template": None}, "chat_template.jinja": "J"},
    "config and file": {"processor_config.json": {"chat_template": "P"}, "chat_template.jinja": "J"},
    "config and legacy": {
        "processor_config.json": {"chat_template": "P"},
        "chat_template.json": {"chat_template": "L"},
    },
    "file over additional default": {"chat_template.jinja": "J", f"{EXTRA}default.jinja": "A"},
    "additional file keeps its name": {"chat_template.jinja": "J", f"{EXTRA}file.jinja": "F"},
    "additional alone": {f"{EXTRA}tool_use.jinja": "T"},
    "tokenizer config is not read": {"tokenizer_config.json": {"chat_template": "C"}},
}


@pytest.mark.parametrize("case", PROCESSOR_CASES)
def test_processor_templates_are_those_of_transformers(case: str, tmp_path: Path) -> None:
    from transformers.processing_utils import ProcessorMixin

    folder = model_folder(tmp_path, PROCESSOR_CASES[case])
    copies = load(folder).copies
    try:
        settings, _ = ProcessorMixin.get_processor_dict(str(folder))
    except ValueError:
        with pytest.raises(TemplateSelectionError):
            select_processor(copies, profile())
        return
    expected = settings.get("chat_template")
    if not isinstance(expected, dict):
        expected = {} if expected is None else {"default": expected}
    assert {template.name: template.source for template in select_processor(copies, profile())} == expected


@pytest.mark.parametrize(("version", "source"), [((4, 57), "L"), ((5, 0), "P"), ((5, 24), "P")])
def test_a_processor_serves_where_the_tokenizer_has_none(version: tuple[int, int], source: str, tmp_path: Path) -> None:
    folder = model_folder(tmp_path, PROCESSOR_CASES["config and legacy"])
    snapshot = load_snapshot(parse_target(str(folder)), profile_version=version)
    assert [(template.source, template.loader) for template in snapshot.templates] == [(source, "processor")]
    assert snapshot.selection_error is None


def test_the_tokenizer_comes_before_the_processor(tmp_path: Path) -> None:
    files = {"chat_template.json": {"chat_template": "L"}, "tokenizer_config.json": {"chat_template": "C"}}
    snapshot = load(model_folder(tmp_path, files))
    assert [template.source for template in snapshot.templates] == ["C"]
    assert [(copy.file, copy.pointer, copy.loader) for copy in snapshot.copies] == [
        ("tokenizer_config.json", "/chat_template", "tokenizer"),
        ("chat_template.json", "/chat_template", "processor"),
    ]


def test_a_processor_never_takes_tool_use_by_itself() -> None:
    templates = [
        TemplateCopy(name=name, source=name, file="processor_config.json", loader="processor")
        for name in ("default", "tool_use")
    ]
    assert pick(templates, tools_given=True).name == "default"


def test_every_copy_has_its_place(tmp_path: Path) -> None:
    files = {
        "chat_template.jinja": "J",
        f"{EXTRA}rag.jinja": "R",
        "tokenizer_config.json": {"chat_template": [LIST[0], LIST[0]]},
        "processor_config.json": {"chat_template": {"a/b~c": "P"}},
    }
    snapshot = load(model_folder(tmp_path, files))
    assert [(copy.name, copy.file, copy.pointer) for copy in snapshot.copies] == [
        ("default", "chat_template.jinja", None),
        ("rag", f"{EXTRA}rag.jinja", None),
        ("default", "tokenizer_config.json", "/chat_template/0/template"),
        ("default", "tokenizer_config.json", "/chat_template/1/template"),
        ("a/b~c", "processor_config.json", "/chat_template/a~1b~0c"),
    ]
    assert [template.name for template in snapshot.templates] == ["default", "rag"]


@pytest.mark.parametrize(
    ("value", "where"),
    [
        (3, "/chat_template"),
        ([{"name": "default"}], "/chat_template/0"),
        (["text"], "/chat_template/0"),
        ([{"name": 1, "template": "x"}], "/chat_template/0/name"),
        ({"default": None}, "/chat_template/default"),
    ],
)
def test_a_template_of_the_wrong_type_is_named(value: object, where: str, tmp_path: Path) -> None:
    folder = model_folder(tmp_path, {"tokenizer_config.json": {"chat_template": value}})
    with pytest.raises(CannotCheckError, match=f"tokenizer_config.json must hold .* at {where}, not") as caught:
        load(folder)
    assert caught.value.kind == "malformed"

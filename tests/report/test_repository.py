import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from template_lint.model import Anchor, Finding, TargetReport
from template_lint.report.layout.embedded import embedded
from template_lint.report.layout.repository import Repository, Spot
from tests.report.samples import SOURCE, file_target, prefix_finding, template_report


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    return tmp_path


def spot_of(target: TargetReport, finding: Finding | None = None) -> Spot | None:
    finding = finding or target.templates[0].findings[0]
    return Repository().spot(target, target.templates[0] if target.templates else None, finding)


def cut(spot: Spot) -> str:
    assert spot.place is not None
    assert spot.place.line == spot.place.end_line
    line = spot.text.split("\n")[spot.place.line - 1]
    return line[spot.place.column - 1 : spot.place.end_column - 1]


def test_paths_are_relative_to_the_folder_of_the_run(here: Path) -> None:
    paths = Repository()
    assert paths.relative(str(here / "models" / "a.jinja")) == "models/a.jinja"
    assert paths.relative("./b.jinja") == "b.jinja"
    assert paths.relative("models/../c d.jinja") == "c d.jinja"
    assert paths.relative(str(here.parent / "elsewhere.jinja")) == "../elsewhere.jinja"


def test_a_link_to_the_repository_still_leads_into_it(here: Path) -> None:
    (here / "repository").mkdir()
    (here / "link").symlink_to(here / "repository")
    paths = Repository({"GITHUB_WORKSPACE": str(here)})
    assert paths.relative("repository/a.jinja") == "repository/a.jinja"
    assert paths.relative("link/a.jinja") == "link/a.jinja"


def test_in_a_workflow_paths_begin_at_its_checkout(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "models").mkdir()
    monkeypatch.chdir(here / "models")
    assert Repository({"GITHUB_WORKSPACE": str(here)}).relative("a.jinja") == "models/a.jinja"
    assert Repository({"GITHUB_WORKSPACE": str(here / "other")}).relative("a.jinja") == "a.jinja"


def test_a_file_has_its_exact_range() -> None:
    spot = spot_of(file_target(template_report(prefix_finding())))
    assert spot is not None
    assert (spot.path, spot.inside, spot.first_line, cut(spot)) == ("chat_template.jinja", True, 3, "loop.last")


def test_a_byte_order_mark_is_no_column() -> None:
    source = "\ufeff" + SOURCE.replace("\n", "", 2)
    spot = spot_of(file_target(template_report(prefix_finding(source), source=source)))
    assert spot is not None
    assert cut(spot) == "loop.last"


def test_a_file_elsewhere_is_not_inside() -> None:
    spot = spot_of(file_target(template_report(prefix_finding()), name="../other/t.jinja"))
    assert spot is not None
    assert (spot.path, spot.inside) == ("../other/t.jinja", False)


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_an_embedded_template_is_found_in_its_json_file(
    here: Path, ascii_only: bool, indent: int | None, newline: str
) -> None:
    normal = '{# 🌊 "é" \\ \t#}\n' + SOURCE
    source = normal.replace("\n", newline)
    document = {"a": {"b": [1, "x"]}, "chat_template": [{"name": "n", "template": "no"}, {"template": source}]}
    (here / "model").mkdir()
    text = json.dumps(document, ensure_ascii=ascii_only, indent=indent)
    (here / "model" / "tokenizer_config.json").write_text(text, encoding="utf-8")
    template = template_report(
        prefix_finding(normal, "message.role == 'assistant'", file="tokenizer_config.json"),
        source=source,
        file="tokenizer_config.json",
        pointer="/chat_template/1/template",
    )
    target = TargetReport(target="model/", kind="directory", templates=[template])
    spot = spot_of(target)
    assert spot is not None
    assert spot.path == "model/tokenizer_config.json"
    assert cut(spot) == "message.role == 'assistant'"
    assert spot.text == text
    (here / "model" / "tokenizer_config.json").write_text(text.replace("loop.last", "loop.first"), encoding="utf-8")
    changed = spot_of(target)
    assert changed == Spot("model/tokenizer_config.json", inside=True)


@given(st.text(), st.booleans(), st.data())
def test_every_range_of_an_embedded_template_decodes_to_itself(
    source: str, ascii_only: bool, data: st.DataObject
) -> None:
    text = json.dumps({"x": {}, "a/~b": {"y": "{", "chat": source}}, ensure_ascii=ascii_only)
    found = embedded(text, "/a~1~0b/chat", source)
    assert found is not None
    normal = source.replace("\r\n", "\n")
    start = data.draw(st.integers(0, len(normal)))
    end = data.draw(st.integers(start, len(normal)))
    written = text[found.offsets[start] : found.offsets[end]]
    assert json.loads(f'"{written}"').replace("\r\n", "\n") == normal[start:end]


@pytest.mark.parametrize(
    "text", ["", "{", '{"chat_template": 1}', '{"a": "x"}', "[1]", '{"chat_template": "y"}', '"x"']
)
def test_a_file_that_holds_something_else_has_no_range(text: str) -> None:
    assert embedded(text, "/chat_template", "x") is None


def test_the_last_of_two_equal_keys_counts() -> None:
    text = '{"chat_template": "x", "chat_template": "x"}'
    found = embedded(text, "/chat_template", "x")
    assert found is not None
    assert found.offsets[0] == text.rindex("x")


def test_a_hub_model_stands_on_its_line_in_the_lock() -> None:
    template = template_report(prefix_finding())
    hub = TargetReport(target="acme/model@main", kind="hub", repo="acme/model", revision="c" * 40, templates=[template])
    assert spot_of(hub) is None
    anchored = hub._replace(anchor=Anchor("template-lint.lock", 7))
    assert spot_of(anchored) == Spot("template-lint.lock", inside=True, line=7)
    assert Repository().title(hub, template) == "acme/model@cccccccccccc"


def test_a_finding_about_a_target_stands_on_its_anchor() -> None:
    target = file_target(name="a.jinja")._replace(anchor=Anchor("template-lint.yaml", 3))
    about = prefix_finding(place=None)
    assert Repository().spot(target, None, about) == Spot("template-lint.yaml", inside=True, line=3)
    assert Repository().spot(target._replace(anchor=None), None, about) == Spot("a.jinja", inside=True)


def test_a_folder_without_a_template_stands_on_its_configuration() -> None:
    missing = prefix_finding(place=None, file=None)
    template = template_report(missing, file=None)
    folder = TargetReport(target="m", kind="directory", files={"tokenizer.json": "", "tokenizer_config.json": ""})
    spot = spot_of(folder._replace(templates=[template]))
    assert spot == Spot("m/tokenizer_config.json", inside=True)
    assert spot_of(folder._replace(templates=[template], files={})) is None


def test_standard_input_is_nowhere() -> None:
    target = TargetReport(target="-", kind="stdin", templates=[template_report(prefix_finding(), file="-")])
    assert spot_of(target) is None
    assert Repository().title(target, target.templates[0]) == "<stdin>"


def test_a_gguf_file_has_no_lines() -> None:
    template = template_report(prefix_finding(), pointer="tokenizer.chat_template")
    target = TargetReport(target="m.gguf", kind="gguf", templates=[template])
    assert spot_of(target) == Spot("m.gguf", inside=True)

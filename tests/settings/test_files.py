"""Which configuration is read, and what it means from the folder one stands in."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from template_lint.errors import UsageError
from template_lint.model import Anchor, Severity
from template_lint.settings import find_settings, read_settings
from template_lint.settings.document import SettingsError


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repository" / "deep" / "er"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return tmp_path / "repository"


def test_without_a_file_nothing_is_set() -> None:
    settings = find_settings()
    assert settings.file is None
    assert settings.values == {}
    assert {origin for _, _, origin in settings.rows()} == {"default"}


def test_the_nearest_file_upwards(here: Path) -> None:
    (here / "template-lint.yaml").write_text("fail-on: warning\n")
    assert find_settings().get("fail-on") is Severity.WARNING
    (here / "deep" / "pyproject.toml").write_text("[tool.template-lint]\nfail-on = 'never'\n")
    settings = find_settings()
    assert settings.get("fail-on", "unset") is None
    assert settings.values["fail-on"].origin == "../pyproject.toml:2"
    assert find_settings(here).get("fail-on") is Severity.WARNING


def test_a_pyproject_of_others_is_passed_by(here: Path) -> None:
    (here / "template-lint.yml").write_text("jobs: 3\n")
    (here / "deep" / "pyproject.toml").write_text("[tool.other]\nx = 1\n")
    assert find_settings().get("jobs") == 3
    (here / "deep" / "pyproject.toml").write_text("# not for template-lint\n[project]\nname = 'x'\n")
    assert find_settings().get("jobs") == 3


def test_two_in_one_folder_are_an_error(here: Path) -> None:
    (here / "template-lint.yaml").write_text("")
    (here / "pyproject.toml").write_text("[tool.template-lint]\n")
    with pytest.raises(UsageError, match=r"both template-lint\.yaml and pyproject\.toml in .* Keep one"):
        find_settings()


def test_paths_are_relative_to_the_file(here: Path) -> None:
    (here / "a.jinja").write_text("")
    (here / "own.jsonl").write_text("")
    (here / "template-lint.yaml").write_text(
        "targets:\n- a.jinja\n- org/name@main\nconversations: [own.jsonl]\nbaseline: known.json\n"
        "output: [text, json=out.json, concise=-]\ntokenizer: a.jinja\n"
    )
    settings = find_settings()
    assert [spec.target for spec in settings.targets] == ["../../a.jinja", "org/name@main"]
    assert [spec.anchor for spec in settings.targets] == [
        Anchor("../../template-lint.yaml", 2),
        Anchor("../../template-lint.yaml", 3),
    ]
    options = settings.options()
    assert options.conversations == (Path("../../own.jsonl"),)
    assert options.baseline == Path("../../known.json")
    assert options.tokenizer == "../../a.jinja"
    assert settings.get("output") == ("text", "json=../../out.json", "concise=-")


def test_a_repository_is_not_mistaken_for_a_folder_that_lies_here(here: Path) -> None:
    Path("org/name").mkdir(parents=True)
    (here / "template-lint.yaml").write_text("targets: [org/name]\n")
    assert find_settings().targets[0].target == "hf:org/name"


def test_patterns_stay_relative_to_the_file(here: Path) -> None:
    (here / "template-lint.yaml").write_text("exclude: [old/]\n")
    assert find_settings().options().exclude_root == here
    assert find_settings().over({"exclude": ("new/",)}).options().exclude_root is None


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("no.yaml", None, "there is no configuration no.yaml. `template-lint init` writes one."),
        ("latin.yaml", b"\xff", "latin.yaml is not UTF-8 at byte 0."),
        ("x.ini", b"", "cannot tell what x.ini is."),
        ("folder.yaml", "folder", "cannot read folder.yaml: Is a directory."),
        ("p.toml", b"[tool.other]", "p.toml:1: there is no table [tool.template-lint] in it."),
        ("p.toml", b"[tool.template-lint\n", "p.toml:1: not valid TOML: "),
        ("large.yaml", b" " * (1 << 21), "large.yaml has 2,097,152 bytes: that is no configuration."),
    ],
)
def test_what_cannot_be_read(name: str, content: bytes | str | None, message: str) -> None:
    if isinstance(content, bytes):
        Path(name).write_bytes(content)
    elif content is not None:
        Path(name).mkdir()
    with pytest.raises(UsageError) as caught:
        read_settings(Path(name))
    assert message in str(caught.value)


def test_a_byte_order_mark_is_no_key() -> None:
    Path("bom.yaml").write_bytes(b"\xef\xbb\xbfjobs: 2\n")
    assert read_settings(Path("bom.yaml")).get("jobs") == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("select = 'TL1'", 'select must be a list of rules, such as ["TL1", "TL203"]; this is \'TL1\'.'),
        ("severity = 1", 'severity must be a mapping, such as { TL104 = "error", TL107 = "info" }; this is 1.'),
        ("transformers = true", 'transformers must be a version, such as "5.24"; this is true.'),
        ("jobs = 'x'", "jobs must be a number, such as 2; this is 'x'."),
        ("targets = [{}]", 'an entry of targets must say its target: { target = "org/name" }.'),
    ],
)
def test_an_example_for_toml_is_toml(here: Path, text: str, message: str) -> None:
    (here / "pyproject.toml").write_text(f"[tool.template-lint]\n{text}\n")
    with pytest.raises(SettingsError, match=re.escape(f"pyproject.toml:2: {message}")):
        read_settings(here / "pyproject.toml")
    for example in re.findall(r"(?:such as|its target:) (.+?)(?:; this|\.$)", message):
        tomllib.loads(f"x = {example}")


def test_lines_in_toml_are_found(here: Path) -> None:
    text = """\
[project]
name = "x"
select = ["not ours"]

[tool.template-lint]
transformers = 5.10
severity = { TL104 = "error" }
select = [
  "TL1",
]

[[tool.template-lint.targets]]
target = "org/a"

[[tool.template-lint.targets]]
target = "org/b"
ignore = [{ rules = ["TL101"], reason = "later" }]
"""
    (here / "pyproject.toml").write_text(text)
    settings = read_settings(here / "pyproject.toml")
    assert settings.get("transformers") == "5.10"
    assert settings.values["select"].origin == "../../pyproject.toml:8"
    assert [spec.anchor and spec.anchor.line for spec in settings.targets] == [13, 16]
    (here / "pyproject.toml").write_text(text.replace("later", " "))
    with pytest.raises(SettingsError, match=r"pyproject\.toml:17: reason must not be empty"):
        read_settings(here / "pyproject.toml")

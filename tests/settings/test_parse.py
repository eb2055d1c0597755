"""What may stand in a configuration file, and what is said about everything else; the JSON Schema agrees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from template_lint.config import Ignore, TargetSpec
from template_lint.model import Anchor, Severity
from template_lint.rules.registry import rule_names
from template_lint.settings import read_settings
from template_lint.settings.document import SettingsError
from template_lint.settings.schema import schema
from template_lint.settings.table import KEYS, TARGET_KEYS

SHIPPED = Path(__file__).parents[2] / "template_lint" / "settings" / "schema.json"
VALIDATOR = jsonschema.Draft202012Validator(schema())


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("templates", "tests", "vendor"):
        Path(folder).mkdir()
    for file in ("a.jinja", "tests/rollouts.jsonl", "tests/qwen.jsonl"):
        Path(file).write_text("")


def read(text: str) -> dict[str, Any]:
    Path("template-lint.yaml").write_text(text, encoding="utf-8")
    return {key: value.value for key, value in read_settings(Path("template-lint.yaml")).values.items()}


def mistake(text: str) -> str:
    with pytest.raises(SettingsError) as caught:
        read(text)
    return str(caught.value).removeprefix("template-lint.yaml:")


def test_every_example_of_the_reference_is_right() -> None:
    for key in KEYS:
        text = f"{key.name}: {key.example}\n"
        assert set(read(text)) == {key.name}
        VALIDATOR.validate(yaml.safe_load(text))
    entry = "\n    ".join(f"{key.name}: {key.example}" for key in TARGET_KEYS)
    assert read(f"targets:\n  - {entry}\n")["targets"]
    VALIDATOR.validate(yaml.safe_load(f"targets:\n  - {entry}\n"))


def test_a_whole_file() -> None:
    found = read(
        """\
targets:
  - a.jinja
  - target: hf:org/name@v1
    tokenizer: Qwen/Qwen3-8B
    conversations: [tests/qwen.jsonl]
    require: [tools]
    ignore:
      - rules: [TL104, open-turn]
        reason: >
          this run has
          no user turns
severity: {TL1: warning, TL107: info}
fail-on: never
transformers: 5.10
jobs: 2
offline: yes
"""
    )
    plain, full = found["targets"]
    assert plain == TargetSpec("a.jinja", anchor=Anchor("template-lint.yaml", 2))
    assert full == TargetSpec(
        "hf:org/name@v1",
        tokenizer="Qwen/Qwen3-8B",
        conversations=(Path("tests/qwen.jsonl"),),
        require=frozenset({"tools"}),
        ignore=(Ignore(("TL104", "open-turn"), "this run has no user turns", Anchor("template-lint.yaml", 8)),),
        anchor=Anchor("template-lint.yaml", 3),
    )
    assert found["severity"] == {"TL1": Severity.WARNING, "TL107": Severity.INFO}
    assert found["fail-on"] is None
    assert found["transformers"] == "5.10"
    assert (found["jobs"], found["offline"]) == (2, True)


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_an_empty_file_sets_nothing(text: str) -> None:
    assert read(text) == {}


# The schema sees what these say; the reader must say the same, with the line.
MISTAKES = [
    ("failon: error", "1: unknown key 'failon'. Did you mean fail-on?"),
    ("a: 1\nfail_on: error", "1: unknown key 'a'. Known: targets,"),
    ("jobs: 1\nfail_on: error", "2: unknown key 'fail_on'. Did you mean fail-on?"),
    ("select: TL101", "1: select must be a list of rules, such as [TL1, TL203]; this is 'TL101'."),
    ("select:\n- TL101\n- TL999", "3: unknown rule 'TL999'. Did you mean TL"),
    ("select: [tool-prefx]", "1: unknown rule 'tool-prefx'. Did you mean tool-prefix? `template-lint rules` lists"),
    ("ignore: [tl101]", "1: unknown rule 'tl101'. Did you mean TL101?"),
    ("ignore: [TL1O1]", "1: unknown rule 'TL1O1'. Did you mean TL101?"),
    ("ignore: [1]", "1: a rule is a code, a prefix or a name; this is 1."),
    ("ignore: [[TL101]]", "1: a rule is a code, a prefix or a name; this is a list."),
    ("fail-on: eror", "1: fail-on cannot be 'eror'. Did you mean error? Choose from: error, warning, info, never."),
    ("fail-on: no", "1: fail-on cannot be false. Choose from"),
    ("min-severity: never", "1: min-severity cannot be 'never'. Choose from: error, warning, info."),
    ("severity: [TL101]", "1: severity must be a mapping, such as {TL104: error, TL107: info}; this is a list."),
    ("severity: {TL999: error}", "1: unknown rule 'TL999'."),
    ("severity:\n  TL101: bad", "2: the severity of TL101 cannot be 'bad'."),
    ("require: [tool]", "1: an entry of require cannot be 'tool'. Did you mean tools?"),
    ("require: tools", "1: require must be a list of requirements, such as [tools]; this is 'tools'."),
    ("offline: sometimes", "1: offline must be true or false; this is 'sometimes'."),
    ("offline: 1", "1: offline must be true or false; this is 1."),
    ("jobs: -1", "1: jobs must be a number, such as 2; this is -1."),
    ("jobs: 1.5", "1: jobs must be a number, such as 2; this is 1.5."),
    ("jobs: .inf", "1: jobs must be a number"),
    ("jobs: true", "1: jobs must be a number, such as 2; this is true."),
    ("jobs:", "1: jobs must be a number, such as 2; this is empty."),
    ("transformers: [5]", '1: transformers must be a version, such as "5.24"; this is a list.'),
    ("transformers: true", '1: transformers must be a version, such as "5.24"; this is true.'),
    ("baseline: ''", "1: baseline must not be empty."),
    ("baseline: 3", "1: baseline must be a text; this is 3."),
    ("conversations: tests/qwen.jsonl", "1: conversations must be a list of paths"),
    ("conversations: [1]", "1: an entry of conversations must be a text; this is 1."),
    ("output: [TEXT]", "1: 'TEXT' is no output. Write FORMAT or FORMAT=FILE."),
    ("output: ['json=']", "1: 'json=' is no output."),
    (
        "targets: a.jinja",
        "1: targets must be a list of targets, such as [templates/, Qwen/Qwen3-8B]; this is 'a.jinja'.",
    ),
    ("targets: [1]", "1: target must be a text; this is 1."),
    ("targets: ['-']", "1: a configuration cannot name standard input."),
    ("targets:\n- tokenizer: org/name", "2: an entry of targets must say its target"),
    ("targets:\n- target: a.jinja\n  tokeniser: x", "3: unknown key 'tokeniser' of a target. Did you mean tokenizer?"),
    ("targets:\n- target: a.jinja\n  ignore: [TL101]", "3: an entry of ignore must be a mapping, such as {rules:"),
    ("targets:\n- target: a.jinja\n  ignore:\n  - rules: [TL101]", "4: an ignore must give a reason: "),
    ("targets:\n- target: a.jinja\n  ignore:\n  - reason: x", "4: an ignore must give its rules: "),
    ("targets: [{target: a.jinja, ignore: [{rules: [], reason: x}]}]", "1: an ignore must name at least one rule."),
    ("targets: [{target: a.jinja, ignore: [{rules: [TL101], reason: ' '}]}]", "1: reason must not be empty."),
    ("- a", "1: the configuration must be a mapping of keys to values; this is a list."),
    ("just words", "1: the configuration must be a mapping of keys to values; this is 'just words'."),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES, ids=[text for text, _ in MISTAKES])
def test_a_mistake_is_named_with_its_line_and_the_schema_agrees(text: str, message: str) -> None:
    assert mistake(text).startswith(message)
    assert not VALIDATOR.is_valid(yaml.safe_load(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("jobs: 1\njobs: 2", "2: 'jobs' is there twice; the first is on line 1."),
        ("severity:\n  TL101: info\n  TL101: error", "3: 'TL101' is there twice; the first is on line 2."),
        ("1: x", "1: a key must be a text."),
        ("? [a]\n: x", "1: a key must be a text."),
        ("select: &a [TL1]\nignore: *a", "2: not valid YAML: aliases are not supported here."),
        ("a: &a [*a]", "1: not valid YAML: aliases are not supported here."),
        ("select: [TL1", "1: not valid YAML: "),
        ("fail-on: error\n select: x", "2: not valid YAML: "),
        ("baseline: !!python/object/apply:os.system [ls]", "1: baseline must be a text; this is a list."),
        ("baseline: !!python/name:os.system ''", "1: not valid YAML: could not determine a constructor for the tag"),
        ("jobs: 1\n---\njobs: 2", "2: not valid YAML: "),
        ("a: \x07", "1: not valid YAML: "),
        ("[" * 5000, "1: "),
        ("targets: [missing.jinja]", "1: no such file or folder: 'missing.jinja'."),
        ("targets: ['a b']", "1: no such file or folder: 'a b'."),
        ("jobs: 1\ntransformers: 4.2", "2: transformers 4.2: the oldest version mirrored is 4.57."),
        ("transformers: newest", "1: transformers 'newest' is not a version."),
        ("conversations: [missing.jsonl]", "1: there is no file 'missing.jsonl'."),
    ],
)
def test_what_the_schema_cannot_see(text: str, message: str) -> None:
    assert mistake(text).startswith(message)


@pytest.mark.parametrize(
    "text",
    [
        "jobs: 2.0",
        "transformers: '4.57'",
        "targets: []",
        "select: []",
        "exclude: ['*.bak']",
        "select: [TL, TL1, TL10, TL101, tool-prefix]",
        "targets: [{target: a.jinja}]",
        "output: []",
    ],
)
def test_what_is_right_is_right_for_the_schema_too(text: str) -> None:
    assert read(text)
    VALIDATOR.validate(yaml.safe_load(text))


def test_the_schema_is_shipped_and_current() -> None:
    assert json.loads(SHIPPED.read_text(encoding="utf-8")) == schema()
    jsonschema.Draft202012Validator.check_schema(schema())
    assert set(rule_names()) <= set(schema()["$defs"]["rule"]["enum"])


def test_nothing_in_a_file_is_run(tmp_path: Path) -> None:
    read_error = mistake("baseline: !!python/object/apply:pathlib.Path.touch [ran]")
    assert read_error
    assert not Path("ran").exists()

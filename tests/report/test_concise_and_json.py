import io
import json
from enum import Enum
from pathlib import Path

import pytest

from template_lint.errors import UsageError
from template_lint.model import Report, TargetReport
from template_lint.report import concise, formats, writer
from template_lint.report import json as json_format
from template_lint.report.layout.canvas import Canvas
from tests.report.samples import expect, file_target, full_report, prefix_finding, report, template_report, unchecked

HERE = Path(__file__).parent


def concise_text(subject: Report) -> str:
    out = io.StringIO()
    concise.write(subject, out, canvas=Canvas())
    return out.getvalue()


def json_text(subject: Report, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding=encoding, newline="")
    json_format.write(subject, out, canvas=Canvas())
    out.flush()
    return raw.getvalue().decode(encoding)


def test_formats_are_found_in_the_package() -> None:
    ours = {"code-scanning", "concise", "github", "json", "junit", "markdown", "sarif", "text"}
    assert ours <= set(formats())
    assert formats() == sorted(formats())
    assert writer("json") is json_format.write
    with pytest.raises(UsageError, match=r"Choose one of: code-scanning, .*json, .*text"):
        writer("xml")


def test_concise_is_one_line_per_live_finding() -> None:
    assert concise_text(full_report()) == (
        "chat_template.jinja:2:16: TL107 info the header of a tool result carries the tool's name\n"
        "chat_template.jinja:3:44: TL103 warning the generation prompt is not a prefix of the finished turn\n"
        "chat_template.jinja:3:44: TL101 error appending a tool result takes the empty reasoning block out of "
        "the turn that made the call\n"
    )


def test_concise_without_a_place_still_parses() -> None:
    finding = prefix_finding(place=None, message="two\nlines")
    assert concise_text(report(file_target(template_report(finding)))) == (
        "chat_template.jinja:1:1: TL101 error two\\nlines\n"
    )


@pytest.mark.parametrize(
    ("target", "kind", "path"),
    [
        ("models/qwen/", "directory", "models/qwen/chat_template.jinja"),
        ("acme/model@main", "hub", "acme/model@main/chat_template.jinja"),
        ("-", "stdin", "<stdin>"),
        ("model.gguf", "gguf", "model.gguf"),
    ],
)
def test_paths_can_be_followed(target: str, kind: str, path: str) -> None:
    templates = [template_report(prefix_finding())]
    subject = report(TargetReport(target=target, kind=kind, templates=templates))
    assert concise_text(subject).startswith(f"{path}:3:44: TL101 ")


def test_json_is_the_contract() -> None:
    expect(HERE, "full.json", json_text(full_report()))


def test_json_of_an_unchecked_target() -> None:
    document = json.loads(json_text(report(unchecked())))
    assert document["targets"] == [
        {
            "target": "acme/gated",
            "kind": "hub",
            "repo": "acme/gated",
            "revision": None,
            "pinned": False,
            "files": {},
            "templates": [],
            "findings": [],
            "error": {"kind": "gated", "message": "access is restricted. Log in with hf auth login."},
        }
    ]


def test_json_does_not_depend_on_the_order_of_mappings() -> None:
    template = template_report()
    turned = template._replace(capabilities=dict(reversed(template.capabilities.items())))
    assert json_text(report(file_target(template))) == json_text(report(file_target(turned)))


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_json_survives_any_text_and_any_encoding(encoding: str) -> None:
    message = "港 \ud83d \U0001f30a"
    text = json_text(report(file_target(template_report(prefix_finding(message=message)))), encoding)
    assert json.loads(text)["targets"][0]["templates"][0]["findings"][0]["message"] == message
    assert ("港" in text) is (encoding == "utf-8")


def test_plain_turns_anything_into_json() -> None:
    class Mode(Enum):
        ON = "on"

    assert json_format.plain({"a": {3, 1}, 2: (Mode.ON, Path("x")), "n": float("nan")}) == {
        "a": [1, 3],
        "2": ["on", "x"],
        "n": "nan",
    }

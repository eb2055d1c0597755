"""The transcripts beside the rules of drift: small models before and after a change, and what ``diff`` prints of them.

The models are folders, presented as revisions of a Hub repository, so that no network is needed.
"""

from __future__ import annotations

import hashlib
import io
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from template_lint.lock.drift.model import DriftReport
from template_lint.lock.drift.run import compare
from template_lint.lock.drift.sides import Pair, Patch
from template_lint.patches.index import digest, read_source
from template_lint.report.drift.text import write
from template_lint.report.layout.canvas import Canvas
from tests.lock.pairs import pair

REPO = "harbour/pilot-1b"
WIDTH = 100

_TEMPLATE = """\
{%- if tools %}
    {{- '<|tools|>' + tools | tojson + '<|end|>' }}
{%- endif %}
{%- for message in messages %}
    {{- '<|' + message.role + '|>' + (message.content or '') }}
    {%- for call in message.tool_calls or [] %}
        {{- '<call>' + call.function | tojson + '</call>' }}
    {%- endfor %}
    {{- '<|end|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|assistant|>' }}
{%- endif %}
"""
_TRAINING = "qwen3"
_MARK = "{%- generation %}"
_LOOKS_AHEAD = "{%- set closed = closed or (loop.last and not reasoning) %}\n        "


class _Case(NamedTuple):
    """One rule: the files before and after, and the training template in use."""

    rule: str
    before: Mapping[str, str]
    after: Mapping[str, str]
    patch: Patch | None = None


@lru_cache(maxsize=1)
def drift_examples(root: Path) -> dict[Path, str]:
    """Path of each transcript -> its text."""
    rules = {path.name[:5].upper(): path for path in (root / "template_lint/rules/tl6_drift").glob("tl60[1-5]_*")}
    with tempfile.TemporaryDirectory() as folder:
        cases = _cases()
        pairs = [_pair(case, Path(folder) / case.rule) for case in cases]
        report = compare(pairs, processes=1)
    return {
        rules[case.rule] / "example.txt": f"$ template-lint diff {REPO}\n{_printed(DriftReport((drift,)))}"
        for case, drift in zip(cases, report.drifts, strict=True)
    }


def _cases() -> list[_Case]:
    model = {"chat_template.jinja": _TEMPLATE, "tokenizer_config.json": '{"eos_token": "<|end|>"}\n'}
    ends_twice = _TEMPLATE.replace(
        "{{- '<|end|>' }}\n{%- endfor %}", "{{- '<|end|>' if not loop.last else '<|stop|>' }}\n{%- endfor %}"
    )
    training = read_source(_TRAINING)
    before_repair = training.replace(_MARK, _LOOKS_AHEAD + _MARK)
    return [
        _Case("TL601", model, model),
        _Case("TL602", model, {**model, "chat_template.jinja": "{#- Pilot, version 2. -#}\n" + _TEMPLATE}),
        _Case("TL603", model, {**model, "chat_template.jinja": _TEMPLATE.replace("<call>", "<call>\\n")}),
        _Case("TL604", model, {**model, "chat_template.jinja": ends_twice}),
        _Case(
            "TL605",
            {**model, "chat_template.jinja": before_repair},
            {**model, "chat_template.jinja": training},
            Patch(_TRAINING, digest(training)),
        ),
    ]


def _pair(case: _Case, folder: Path) -> Pair:
    commits = {
        word: hashlib.sha1(f"{word}{sorted(files.items())}".encode()).hexdigest()
        for word, files in (("pinned", case.before), ("live", case.after))
    }
    patches = {} if case.patch is None else {"default": case.patch}
    return pair(folder, case.before, case.after, repo=REPO, commits=commits, patches=patches)


def _printed(report: DriftReport) -> str:
    out = io.StringIO()
    write(report, out, canvas=Canvas(width=WIDTH))
    return out.getvalue()

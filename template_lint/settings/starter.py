"""The files that ``template-lint init`` proposes for a repository: configuration, workflow, pre-commit hook."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

from template_lint.settings.survey import Survey

REPOSITORY = "template-lint/template-lint"
# The release that a new repository begins with. A tag can be moved: the files say how to pin the commit.
REF = "v0.1.0"
CHECKOUT = "actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683 # v4.2.2"

CONFIGURATION = "template-lint.yaml"
WORKFLOW = ".github/workflows/template-lint.yml"
HOOKS = ".pre-commit-config.yaml"


class Proposal(NamedTuple):
    """One file: its path below the root, its content, and (``there`` true) that one lies there already. ``advice`` says
    what to do by hand then; it is empty where there is nothing to do.
    """

    path: str
    content: str
    there: bool
    advice: str = ""


def proposals(found: Survey) -> list[Proposal]:
    """The files for a repository, those that are there included."""
    return [_configuration(found), _workflow(found), _hooks(found)]


def _configuration(found: Survey) -> Proposal:
    content = configuration_text(found)
    if found.configuration is not None:
        return Proposal(found.configuration, content, True, "")
    return Proposal(CONFIGURATION, content, False)


def configuration_text(found: Survey) -> str:
    """A commented configuration."""
    targets = "".join(f"  - {_yaml(target)}\n" for target in found.targets)
    if not targets:
        targets = "# No template was found here. Name Hub models, files or folders:\n#  - Qwen/Qwen3-8B\n"
        opening = f"# targets:\n{targets}"
    else:
        opening = f"targets:\n{targets}"
    tokenizer = f"tokenizer: {_yaml(found.tokenizer)}" if found.tokenizer else "# tokenizer: Qwen/Qwen3-8B"
    return f"""\
# Configuration of template-lint. `template-lint check --show-settings` prints what is set, and from where.

# What `template-lint check` checks: template files, model folders, folders of them, Hub repositories.
# An entry can also say what is expected there:
#   - target: models/chat-only/
#     ignore:
#       - rules: [TL104]
#         reason: this model sees one user turn
{opening}
# The tokenizer for template files that come without one: with it, token ids are compared too.
{tokenizer}

# The least severe finding that fails a run: error, warning, info or never.
fail-on: error

# What every template must have: tools, generation-markers.
# require: [tools]

# Your own conversations, one JSON object with messages (and tools, kwargs) a line.
# conversations: [tests/conversations.jsonl]

# Findings to live with for now. `template-lint check --update-baseline` writes the file.
# baseline: template-lint-baseline.json
"""


def _workflow(found: Survey) -> Proposal:
    there = _text(found.root / WORKFLOW)
    wanted = there is not None and REPOSITORY not in there
    return Proposal(WORKFLOW, workflow_text(found.branch), there is not None, _step() if wanted else "")


def workflow_text(branch: str) -> str:
    """A GitHub workflow with the least permissions."""
    return f"""\
name: template-lint

on:
  pull_request:
  push:
    branches: [{_yaml(branch)}]

permissions: {{}}

jobs:
  template-lint:
    runs-on: ubuntu-latest
    permissions:
      contents: read
    steps:
      - uses: {CHECKOUT}
        with:
          persist-credentials: false
{_step()}"""


def _step() -> str:
    return f"""\
      # Replace {REF} by the full commit of that release: a tag can be moved, a commit cannot.
      - uses: {REPOSITORY}@{REF}
"""


def _hooks(found: Survey) -> Proposal:
    entry = hook_text(found.lock)
    there = _text(found.root / HOOKS)
    wanted = there is not None and re.search(r"^\s*-\s*id:\s*template-lint\b", there, re.MULTILINE) is None
    return Proposal(HOOKS, f"repos:\n{entry}", there is not None, entry if wanted else "")


def _text(path: Path) -> str | None:
    """What stands in a file; None where nothing is there, and nothing where it cannot be read."""
    if not path.exists() and not path.is_symlink():
        return None
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def hook_text(lock: bool) -> str:
    """The entry of .pre-commit-config.yaml."""
    hooks = "      - id: template-lint\n" + ("      - id: template-lint-lock\n" if lock else "")
    return f"""\
  - repo: https://github.com/{REPOSITORY}
    rev: {REF}
    hooks:
{hooks}"""


def _yaml(text: str) -> str:
    """A text as a YAML scalar on one line; quoted unless it is plainly a path."""
    plain = re.fullmatch(r"[A-Za-z./][\w./-]*", text, re.ASCII) and text.lower() not in (
        *("true", "false", "yes", "no", "on", "off", "null", "y", "n"),
        *("~",),
    )
    return text if plain else json.dumps(text)

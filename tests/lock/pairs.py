"""Two folders of files, presented as the pinned and the live revision of a Hub repository, and their comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from template_lint.config import Options
from template_lint.lock.drift.model import Drift, SideInfo, TemplateDrift
from template_lint.lock.drift.run import compare
from template_lint.lock.drift.sides import Kind, Pair, Patch, pair_of_versions, side_of
from template_lint.rendering.profiles import parse_profile
from template_lint.scenarios.model import Scenario
from template_lint.snapshot.folder import load_folder
from template_lint.target import Target, TargetKind

REPO = "org/model"
COMMITS = {"pinned": "a" * 40, "live": "b" * 40}
PROFILE = parse_profile("5.24")

TEMPLATE = """\
{%- if tools %}{{- '<|tools|>' + tools | tojson + '<|end|>' }}{%- endif %}
{%- for message in messages %}
    {{- '<|' + message.role + '|>' + (message.content or '') }}
    {%- for call in message.tool_calls or [] %}
        {{- '<call>' + call.function | tojson + '</call>' }}
    {%- endfor %}
    {{- '<|end|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|assistant|>' }}{%- endif %}
"""
MODEL = {"chat_template.jinja": TEMPLATE, "tokenizer_config.json": '{"eos_token": "<|end|>"}'}


def model(source: str, **files: str) -> dict[str, str]:
    """The small model with another template, and other files."""
    return {**MODEL, "chat_template.jinja": source, **{name.replace("__", "."): text for name, text in files.items()}}


def replaced(old: str, new: str) -> dict[str, str]:
    """The small model with one passage of its template replaced."""
    assert TEMPLATE.count(old) == 1
    return model(TEMPLATE.replace(old, new))


def pair(
    folder: Path,
    before: Mapping[str, str],
    after: Mapping[str, str],
    *,
    repo: str = REPO,
    commits: Mapping[str, str] = COMMITS,
    patches: Mapping[str, Patch] | None = None,
    transformers: str = "5.24",
) -> Pair:
    """Write both sides below ``folder`` and load them."""
    profile = parse_profile(transformers)
    sides = []
    for word, files in (("pinned", before), ("live", after)):
        place = folder / word
        for name, text in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text, encoding="utf-8")
        target = Target(f"{repo}@{commits[word]}", TargetKind.HUB, repo=repo, revision=commits[word])
        snapshot = load_folder(target, place, profile_version=profile.version, repo=repo, revision=commits[word])
        info = SideInfo(word, target.text, profile.label, repo, commits[word], "main")
        sides.append(side_of(snapshot, info, profile))
    return Pair(repo, Kind.PIN, sides[0], sides[1], dict(patches or {}), repo)


def drift(
    folder: Path, before: Mapping[str, str], after: Mapping[str, str], own: Sequence[Scenario] = (), **options: Any
) -> Drift:
    """Compare two sets of files."""
    [found] = compare([pair(folder, before, after, **options)], conversations=own).drifts
    return found


def template(found: Drift) -> TemplateDrift:
    """The only template of a comparison."""
    [only] = found.templates
    return only


def versions(source: str, folder: Path, one: str = "4.57", other: str = "5.24") -> Drift:
    """One template under two versions of transformers."""
    path = folder / "chat_template.jinja"
    path.write_text(source, encoding="utf-8")
    profiles = parse_profile(one), parse_profile(other)
    [found] = compare([pair_of_versions(str(path), profiles, Options())]).drifts
    return found

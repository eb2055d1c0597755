"""The index of the training templates, from their NAME.yaml files."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from template_lint.patches.index import VERSION, Entry, KnownOriginal, digest
from template_lint.patches.library import inputs_folder, load_entries
from template_lint.patches.normal import normalised_digest


def patch_index(folder: Path) -> str:
    """The text of index.yaml.

    The digests of normalised originals come from the inputs where they are there, else from the index as it is.
    """
    old = _old_digests(folder / "index.yaml")
    entries = [_as_data(entry, old) for entry in load_entries(folder)]
    text = json.dumps({"version": VERSION, "templates": entries}, ensure_ascii=False, indent=1)
    return text + "\n"


def _as_data(entry: Entry, old: dict[str, str]) -> dict[str, Any]:
    data = {key: value for key, value in vars(entry).items() if value not in ((), {}, None, frozenset())}
    data["originals"] = [_original(known, old) for known in entry.originals]
    data["fixes"] = [vars(fix) for fix in entry.fixes]
    data["kwargs"], data["special_tokens"] = dict(entry.kwargs), dict(entry.special_tokens)
    if entry.differences:
        data["differences"] = [
            {
                **{key: value for key, value in listed.difference._asdict().items() if value},
                **({"transformers": list(listed.transformers)} if listed.transformers else {}),
            }
            for listed in entry.differences
        ]
    data.pop("not_applicable", None)
    if entry.not_applicable:
        data["laws"] = dict.fromkeys(sorted(entry.not_applicable), "not-applicable")
    return {key: list(value) if isinstance(value, tuple) else value for key, value in data.items()}


def _original(known: KnownOriginal, old: dict[str, str]) -> dict[str, str]:
    path = inputs_folder() / known.source
    normalised = old.get(known.sha256, "")
    if path.is_file():
        source = path.read_text(encoding="utf-8")
        if digest(source) == known.sha256:
            normalised = normalised_digest(source) or ""
    return {**dataclasses.asdict(known), "normalised": normalised}


def _old_digests(path: Path) -> dict[str, str]:
    try:
        templates = json.loads(path.read_text(encoding="utf-8"))["templates"]
    except (OSError, ValueError, KeyError):
        return {}
    return {o["sha256"]: o.get("normalised", "") for entry in templates for o in entry["originals"]}

"""Locks for tests."""

from __future__ import annotations

from typing import Any

from template_lint.lock.model import Lock, LockedPatch, LockedTemplate, LockEntry, ScenarioPrint

SHA = "sha256:" + "ab" * 32
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def template(**changes: Any) -> LockedTemplate:
    base = LockedTemplate(
        name="default",
        sha256=SHA,
        prompts=SHA,
        ids=SHA,
        verdict="stable-with-kwargs",
        kwargs={"enable_thinking": False, "effort": "high"},
        patch=LockedPatch("qwen3", SHA, SHA),
        scenarios={
            "one-call": ScenarioPrint("a" * 12, "b" * 12),
            "chat[enable_thinking=false]": ScenarioPrint("1" * 12),
        },
    )
    return base._replace(**changes)


def entry(repo: str = "Qwen/Qwen3-8B", **changes: Any) -> LockEntry:
    files = {"tokenizer_config.json": SHA, "additional_chat_templates/tool_use.jinja": SHA}
    base = LockEntry(repo=repo, revision=COMMIT, requested="main", files=files, templates=(template(),))
    return base._replace(**changes)


def local(path: str = "models/small") -> LockEntry:
    files = {"tokenizer_config.json": SHA}
    return LockEntry(repo=None, revision=None, requested=None, files=files, templates=(template(),), path=path)


def lock(*entries: LockEntry, **changes: Any) -> Lock:
    return Lock(transformers="5.24", scenarios=1, entries=entries or (entry(),), **changes)

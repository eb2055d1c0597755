"""Lock -> the text of ``template-lint.lock``: sorted, the same bytes for the same lock, no clock, no machine."""

from __future__ import annotations

from typing import Any

from template_lint.lock.model import Lock, LockedTemplate, LockEntry

HEADER = "# Written by `template-lint lock`. After a change of a `revision`, run it again: it refreshes the rest.\n"


def dumps(lock: Lock) -> str:
    """The text of a lock. ``repo`` and ``revision`` stand on neighbouring lines.

    An entry that has a seal keeps it, also a stale one: a block that nobody looked at stays as it is.
    """
    import yaml

    document: dict[str, Any] = {
        "version": lock.version,
        "transformers": lock.transformers,
        "scenarios": lock.scenarios,
        **({"vendor": lock.vendor} if lock.vendor else {}),
        "models": [_entry(entry) for entry in sorted(lock.entries, key=lambda entry: (entry.name.lower(), entry.name))],
    }
    # The pure Python emitter: that of libyaml breaks lines elsewhere, and the bytes must not depend on the machine.
    text: str = yaml.dump(document, Dumper=yaml.SafeDumper, sort_keys=False, allow_unicode=True, width=1 << 20)
    return HEADER + text


def _entry(entry: LockEntry) -> dict[str, Any]:
    if entry.path is not None:
        head: dict[str, Any] = {"path": entry.path}
    else:
        head = {"repo": entry.repo, "revision": entry.revision, "requested": entry.requested}
    return {
        **head,
        "seal": entry.seal or entry.computed_seal(),
        "files": {name: entry.files[name] for name in sorted(entry.files)},
        "templates": [_template(template) for template in entry.templates],
    }


def _template(template: LockedTemplate) -> dict[str, Any]:
    return {
        "name": template.name,
        "sha256": template.sha256,
        "verdict": template.verdict,
        **({"kwargs": dict(sorted(template.kwargs.items()))} if template.kwargs else {}),
        **({"patch": template.patch._asdict()} if template.patch else {}),
        "prompts": template.prompts,
        **({"ids": template.ids} if template.ids else {}),
        **(
            {
                "scenarios": {
                    name: " ".join(part for part in prints if part) for name, prints in template.scenarios.items()
                }
            }
            if template.scenarios
            else {}
        ),
    }

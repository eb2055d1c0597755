"""``template-lint lock --check``: what has moved since the lock was written, and what could not be looked at."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from template_lint.lock.reading import read_lock
from tests.hubserver import HubServer
from tests.lock.commands import LOCK, Run, flat
from tests.lock.toys import UNSTABLE, model


def test_check_is_green_only_while_nothing_moved(run: Run, hub: HubServer) -> None:
    old = hub.add("org/model", model())
    run("lock", "org/model")
    good = run("lock", "--check")
    assert (good.exit_code, flat(good.stdout)[:50]) == (0, "template-lint.lock is up to date (1 model). ok org"), good
    readme = hub.add("org/model", model(readme="# Better"))
    moved = run("lock", "--check")
    assert moved.exit_code == 0
    line = f"note org/model: {old[:12]} -> {readme[:12]} (main): no prompt-shaping file changed"
    assert line in flat(moved.stdout)
    new = hub.add("org/model", model(UNSTABLE))
    behind = run("lock", "--check")
    assert behind.exit_code == 1
    assert flat(behind.stdout) == (
        "template-lint.lock is out of date for 1 of 1 model. "
        f"FAIL org/model: {old[:12]} -> {new[:12]} (main): changed chat_template.jinja "
        "do: review with `template-lint diff org/model`, accept with `template-lint lock --upgrade org/model`"
    )
    upgraded = run("lock", "--upgrade", "org/model")
    assert upgraded.exit_code == 0
    assert f"new org/model {old[:12]} -> {new[:12]}: stable -> unstable" in flat(upgraded.stdout)
    assert run("lock", "--check").exit_code == 0


def bump(project: Path, old: str, new: str) -> None:
    """What a bot does."""
    path = project / LOCK
    text, count = re.subn(rf"(?<=revision: ){old}", new, path.read_text())
    assert count == 1
    path.write_text(text)


@pytest.mark.parametrize("offline", [False, True])
def test_a_bumped_revision_with_stale_digests_fails_and_names_the_command(
    run: Run, project: Path, hub: HubServer, offline: bool
) -> None:
    old = hub.add("org/model", model())
    run("lock", "org/model")
    new = hub.add("org/model", model(UNSTABLE))
    bump(project, old, new)
    checked = run("lock", "--check", *(["--offline"] if offline else []))
    assert checked.exit_code == 1
    assert flat(checked.stdout) == (
        "template-lint.lock is out of date for 1 of 1 model. FAIL org/model: the block of org/model was changed since "
        "it was written, so its digests may belong to another revision. Run `template-lint lock org/model` to refresh "
        "them. do: refresh with `template-lint lock org/model`, and look at the change"
    )
    linted = run("check", "org/model")
    assert linted.exit_code == 3 and "Run `template-lint lock org/model`" in flat(linted.stdout)
    assert run("lock", "org/model").exit_code == 0
    entry = read_lock(project / LOCK).entries[0]
    assert entry.revision == new and entry.templates[0].verdict == "unstable"
    assert run("lock", "--check").exit_code == 0


def test_check_offline_without_any_file_says_what_it_looked_at(
    run: Run, project: Path, hub: HubServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from huggingface_hub import constants

    hub.add("org/model", model())
    run("lock", "org/model")
    hub.clear()
    cached = run("lock", "--check", "--offline")
    assert cached.exit_code == 0 and "the files of 1 were looked at; offline" in flat(cached.stdout)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "empty"))
    bare = run("lock", "--check", "--offline")
    assert bare.exit_code == 0 and "the files of 0 were looked at; offline" in flat(bare.stdout)
    assert "neither stored nor cached" in flat(bare.stdout)
    assert hub.requests == []


def test_unreachable_is_never_green(run: Run, project: Path, hub: HubServer) -> None:
    hub.add("org/model", model())
    run("lock", "org/model")
    written = (project / LOCK).read_bytes()
    hub.stop()
    checked = run("lock", "--check")
    assert checked.exit_code == 3
    assert flat(checked.stdout).startswith("template-lint.lock could not be checked for 1 of 1 model. NOT CHECKED org/")
    assert run("lock", "--upgrade").exit_code == 3
    assert run("lock").exit_code == 0
    assert (project / LOCK).read_bytes() == written


def test_another_transformers_version_is_noticed_where_it_matters(run: Run, project: Path, hub: HubServer) -> None:
    null_content = "{% for m in messages %}{{ 'content' in m }}{{ m.role }}{{ m.content }}{% endfor %}"
    hub.add("org/same", model())
    hub.add("org/other", model(null_content))
    run("lock", "org/same", "org/other", "--transformers", "5.24")
    checked = run("lock", "--check", "--transformers", "4.57")
    text = flat(checked.stdout)
    assert "org/same" not in text.split("do:")[0] or checked.exit_code == 0
    if checked.exit_code == 1:
        assert "transformers 4.57, locked 5.24" in text
    assert run("lock", "--transformers", "4.57").exit_code == 0
    assert read_lock(project / LOCK).transformers == "4.57"
    assert run("lock", "--check", "--transformers", "4.57").exit_code == 0

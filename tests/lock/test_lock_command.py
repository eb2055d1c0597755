"""``template-lint lock`` against a loopback Hub: what it writes, what it keeps, what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from template_lint.lock.reading import read_lock
from tests.hubserver import GATED, SERVER_ERROR, Fault, HubServer
from tests.lock.commands import LOCK, Run, flat
from tests.lock.toys import STABLE, UNSTABLE, model


def test_lock_writes_what_it_saw_and_twice_the_same_bytes(run: Run, project: Path, hub: HubServer) -> None:
    commit = hub.add("org/model", model())
    hub.add("org/other", model(UNSTABLE))
    first = run("lock", "org/other", "org/model")
    assert first.exit_code == 0, first.output
    assert flat(first.stdout).startswith("wrote template-lint.lock: 2 models, transformers ")
    assert f"new org/model {commit[:12]} (main): stable" in flat(first.stdout)
    written = (project / LOCK).read_bytes()
    lock = read_lock(project / LOCK)
    assert [entry.repo for entry in lock.entries] == ["org/model", "org/other"]
    assert lock.entries[0].revision == commit and lock.entries[0].requested == "main"
    assert set(lock.entries[0].files) == {
        "chat_template.jinja",
        "config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert lock.entries[0].templates[0].ids is not None
    assert [entry.templates[0].verdict for entry in lock.entries] == ["stable", "unstable"]
    for words in ([], ["org/model"], ["org/other", "org/model"], ["--upgrade"]):
        again = run("lock", *words)
        assert again.exit_code == 0 and "is unchanged (2 models" in flat(again.stdout), again.output
        assert (project / LOCK).read_bytes() == written
    (project / LOCK).unlink()
    assert run("lock", "org/model", "org/other").exit_code == 0
    assert (project / LOCK).read_bytes() == written


def test_upgrade_of_one_model_leaves_the_others(run: Run, project: Path, hub: HubServer) -> None:
    olds = {name: hub.add(name, model()) for name in ("org/a", "org/b")}
    run("lock", *olds)
    for name in olds:
        hub.add(name, model(UNSTABLE))
    assert run("lock", "--upgrade", "org/a").exit_code == 0
    revisions = {entry.repo: entry.revision for entry in read_lock(project / LOCK).entries}
    assert revisions["org/a"] != olds["org/a"] and revisions["org/b"] == olds["org/b"]


def test_a_model_that_fails_hides_no_other_and_keeps_its_block(run: Run, project: Path, hub: HubServer) -> None:
    for name in ("org/a", "org/b"):
        hub.add(name, model())
    run("lock", "org/a", "org/b")
    before = read_lock(project / LOCK)
    for name in ("org/a", "org/b"):
        hub.add(name, model(UNSTABLE))
    hub.fault("GET /api/models/org/a/*", GATED)
    upgraded = run("lock", "--upgrade", "org/a", "org/b", "org/missing")
    assert upgraded.exit_code == 3
    text = flat(upgraded.stdout)
    assert "NOT CHECKED org/a: org/a@main is gated" in text and "NOT CHECKED org/missing:" in text
    after = read_lock(project / LOCK)
    assert after.entries[0]._replace(line=0) == before.entries[0]._replace(line=0)
    assert after.entries[1].templates[0].verdict == "unstable"


def test_a_missing_revision_costs_only_its_model(run: Run, hub: HubServer) -> None:
    for number in range(3):
        hub.add(f"org/m{number}", model())
    hub.fault("GET /api/models/org/m1/*", Fault(status=404, headers={"X-Error-Code": "RevisionNotFound"}))
    result = run("lock", *(f"org/m{number}" for number in range(3)))
    assert result.exit_code == 3 and "wrote template-lint.lock: 2 models" in flat(result.stdout)


def test_a_first_lock_that_fails_writes_nothing(run: Run, project: Path, hub: HubServer) -> None:
    hub.fault("*", GATED)
    result = run("lock", "org/model")
    assert result.exit_code == 3
    assert flat(result.stdout).startswith("template-lint.lock was not written: 1 model could not be looked at.")
    assert not (project / LOCK).exists()


def test_a_template_that_does_not_render_is_locked_as_such(run: Run, project: Path, hub: HubServer) -> None:
    hub.add("org/broken", model("{% if %}"))
    hub.add("org/none", {"config.json": "{}"})
    assert run("lock", "org/broken", "org/none").exit_code == 0
    broken, none = read_lock(project / LOCK).entries
    assert broken.templates[0].verdict == "unrenderable" and broken.templates[0].prompts == ""
    assert none.templates == ()
    assert run("lock", "--check").exit_code == 0


def test_local_models_are_locked_by_path(run: Run, project: Path) -> None:
    folder = project / "models" / "small"
    folder.mkdir(parents=True)
    for name, text in model().items():
        (folder / name).write_text(text)
    (project / "chat.jinja").write_text(STABLE)
    assert run("lock", "models", "chat.jinja").exit_code == 0
    assert [entry.path for entry in read_lock(project / LOCK).entries] == ["chat.jinja", "models/small"]
    assert run("lock", "--check").exit_code == 0
    assert run("lock", "--check", "--offline").exit_code == 0
    (project / "chat.jinja").write_text(UNSTABLE)
    changed = run("lock", "--check")
    assert changed.exit_code == 1 and "FAIL chat.jinja: chat.jinja has sha256 " in flat(changed.stdout)
    assert run("lock").exit_code == 0
    (project / "chat.jinja").unlink()
    gone = run("lock")
    assert gone.exit_code == 2 and "template-lint lock --remove chat.jinja" in flat(gone.stderr)
    assert run("lock", "--remove", "chat.jinja").exit_code == 0
    assert run("lock", "--check").exit_code == 0


def test_json_says_the_same_as_the_text(run: Run, hub: HubServer) -> None:
    old = hub.add("org/model", model())
    written = json.loads(run("lock", "org/model", "-o", "json").stdout)
    assert written["written"] is True and written["added"] == ["org/model"] and written["errors"] == []
    new = hub.add("org/model", model(UNSTABLE))
    hub.fault("GET /api/models/org/none/*", SERVER_ERROR)
    result = run("lock", "--check", "-o", "json")
    document = json.loads(result.stdout)
    assert result.exit_code == 1 and document["state"] == "out-of-date"
    [found] = document["models"]
    assert (found["state"], found["revision"], found["live"]) == ("behind", old, new)
    assert found["files"] == ["chat_template.jinja"] and found["line"] == 7
    assert document["commands"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "there is no lock yet and no Hub model in the configuration. Name the TARGETs to pin."),
        (["--check"], "there is no template-lint.lock. Write it with `template-lint lock TARGET...`."),
        (["--check", "org/model"], "--check looks at the whole lock and writes nothing."),
        (["--upgrade", "--offline"], "Drop one."),
        (["--remove"], "--remove takes the TARGETs"),
        (["org/model", "ORG/model@v1"], "at two revisions"),
        (["org/model", "org/model"], "named twice"),
        (["-"], "cannot be locked"),
        (["../outside.jinja"], "cannot be locked"),
        (["org/model", "--vendor", "/etc"], "--vendor /etc: it must be a folder below"),
        (["org/model", "--lock", "missing/x.lock"], "there is no such folder"),
    ],
)
def test_wrong_usage_is_one_line(run: Run, project: Path, hub: HubServer, words: list[str], message: str) -> None:
    hub.add("org/model", model())
    (project.parent / "outside.jinja").write_text(STABLE)
    result = run("lock", *words)
    assert result.exit_code == 2, result.output
    assert message in flat(result.stderr) and result.stderr.count("\n") == 1
    assert not (project / LOCK).exists()


@pytest.mark.parametrize("text", ["<<<<<<< HEAD\n", "version: 1\nmodels: 3\n", "x" * 10])
def test_a_damaged_lock_is_named_with_its_line(run: Run, project: Path, text: str) -> None:
    (project / LOCK).write_text(text)
    for words in (["lock"], ["lock", "--check"], ["check", "org/model"], ["tito", "--pinned"], ["fix", "org/model"]):
        result = run(*words)
        assert result.exit_code == 2, result.output
        assert re.match(r"template-lint: template-lint\.lock:\d+: ", result.stderr)

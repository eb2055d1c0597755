"""``template-lint lock`` against a Hub on the loopback address: what it writes, what it notices, what it says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from template_lint.cli.support.program import program
from template_lint.lock.reading import read_lock
from tests.hubserver import GATED, SERVER_ERROR, Fault, HubServer
from tests.lock.toys import STABLE, UNSTABLE, model

Run = Callable[..., Result]
LOCK = "template-lint.lock"


@pytest.fixture
def run(project: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    for variable in ("FORCE_COLOR", "COLUMNS", "TEMPLATE_LINT_DEBUG"):
        monkeypatch.delenv(variable, raising=False)

    def call(*args: str) -> Result:
        return CliRunner().invoke(program, args, prog_name="template-lint", env={"COLUMNS": "200"})

    return call


def flat(text: str) -> str:
    return " ".join(text.split())


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


def test_upgrade_of_one_model_leaves_the_others(run: Run, project: Path, hub: HubServer) -> None:
    olds = {name: hub.add(name, model()) for name in ("org/a", "org/b")}
    run("lock", *olds)
    for name in olds:
        hub.add(name, model(UNSTABLE))
    assert run("lock", "--upgrade", "org/a").exit_code == 0
    revisions = {entry.repo: entry.revision for entry in read_lock(project / LOCK).entries}
    assert revisions["org/a"] != olds["org/a"] and revisions["org/b"] == olds["org/b"]


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


def test_stored_files_serve_check_tito_and_fix_without_a_network(run: Run, project: Path, hub: HubServer) -> None:
    hub.add("org/model", {**model(UNSTABLE), "additional_chat_templates/rag.jinja": STABLE})
    stored = run("lock", "org/model", "--vendor", "vendor/models")
    assert stored.exit_code == 0 and "stored 5 files in vendor/models" in flat(stored.stdout)
    folder = project / "vendor" / "models" / "org" / "model"
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()) == [
        "additional_chat_templates/rag.jinja",
        "chat_template.jinja",
        "config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    assert "* -text" in (project / "vendor" / "models" / ".gitattributes").read_text()
    hub.clear()
    hub.stop()
    for words, code in ((["check"], 1), (["tito"], 1), (["fix", "--template", "default"], 1)):
        result = run(words[0], "org/model", "--pinned", *words[1:])
        assert result.exit_code == code, result.output
    assert "as pinned in template-lint.lock:8" in run("check", "org/model").stdout
    assert run("lock", "--check", "--offline").exit_code == 0
    assert hub.requests == []
    (folder / "chat_template.jinja").write_text(STABLE)
    for words in (["check"], ["tito"], ["fix"]):
        result = run(*words, "org/model", "--pinned")
        assert result.exit_code == 3, result.output
        assert "vendor/models/org/model/chat_template.jinja has sha256" in flat(result.output)
    broken = run("lock", "--check", "--offline")
    assert broken.exit_code == 1 and "chat_template.jinja has sha256" in flat(broken.stdout)


def test_stored_files_follow_the_lock(run: Run, project: Path, hub: HubServer) -> None:
    hub.add("org/a", {**model(), "additional_chat_templates/rag.jinja": STABLE})
    hub.add("org/b", model())
    run("lock", "org/a", "org/b", "--vendor", "vendor")
    hub.add("org/a", model(UNSTABLE))
    assert "stored 1 file in vendor" in flat(run("lock", "--upgrade").stdout)
    folder = project / "vendor" / "org"
    assert (folder / "a" / "chat_template.jinja").read_text() == UNSTABLE
    assert not (folder / "a" / "additional_chat_templates" / "rag.jinja").exists()
    assert run("lock", "--remove", "org/b").exit_code == 0
    assert not (folder / "b").exists() and (folder / "a").is_dir()
    assert run("lock", "--vendor", "").exit_code == 0
    assert not (project / "vendor").exists()
    assert read_lock(project / LOCK).vendor is None


def test_stored_files_never_leave_the_folder_by_a_link(run: Run, project: Path, hub: HubServer, tmp_path: Path) -> None:
    hub.add("org/model", model())
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / "vendor").mkdir()
    (project / "link").symlink_to(outside)
    (project / "vendor" / "org").symlink_to(outside)
    result = run("lock", "org/model", "--vendor", "vendor")
    assert result.exit_code == 2 and "leads out of" in flat(result.stderr)
    result = run("lock", "org/model", "--vendor", "link")
    assert result.exit_code == 2 and "must be a folder below" in flat(result.stderr)
    assert list(outside.iterdir()) == []
    assert run("lock", "org/model", "--vendor", "../outside").exit_code == 2


def test_live_and_pinned_answer_for_their_revision(run: Run, hub: HubServer) -> None:
    hub.add("org/model", model())
    run("lock", "org/model")
    hub.add("org/model", model(UNSTABLE))
    assert run("check", "--pinned").exit_code == 0
    assert run("check", "org/model").exit_code == 0
    assert run("check", "--live").exit_code == 1
    assert run("check", "org/model@main").exit_code == 1
    assert run("tito", "--pinned").exit_code == 0
    assert run("tito", "--live").exit_code == 1


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


def test_a_first_lock_that_fails_writes_nothing(run: Run, project: Path, hub: HubServer) -> None:
    hub.fault("*", GATED)
    result = run("lock", "org/model")
    assert result.exit_code == 3
    assert flat(result.stdout).startswith("template-lint.lock was not written: 1 model could not be looked at.")
    assert not (project / LOCK).exists()


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


def test_models_of_the_configuration_are_locked(run: Run, project: Path, hub: HubServer) -> None:
    hub.add("org/model", model(), revision="v1")
    hub.add("org/other", model())
    (project / "chat.jinja").write_text(STABLE)
    (project / "template-lint.yaml").write_text("targets:\n- org/model@v1\n- chat.jinja\n")
    assert run("lock").exit_code == 0
    assert run("lock", "org/other").exit_code == 0
    lock = read_lock(project / LOCK)
    assert [(entry.repo, entry.requested) for entry in lock.entries] == [("org/model", "v1"), ("org/other", "main")]
    assert "is unchanged (2 models" in flat(run("lock").stdout)


def test_the_configuration_names_the_lock_and_the_version(run: Run, project: Path, hub: HubServer) -> None:
    hub.add("org/model", model())
    (project / "template-lint.yaml").write_text("targets: [org/model]\nlock: pins.lock\ntransformers: '4.57'\n")
    written = run("lock")
    assert written.exit_code == 0 and "wrote pins.lock: 1 model, transformers 4.57." in flat(written.stdout)
    assert run("tito", "org/model", "--segmentations", "0", "--scenario", "one-call", "--pinned").exit_code == 0
    assert run("diff").exit_code == 0
    isolated = run("lock", "--isolated")
    assert isolated.exit_code == 2 and "there is no lock yet" in flat(isolated.stderr)
    assert run("lock", "--check", "--isolated").exit_code == 2
    (project / "other.yaml").write_text("lock: pins.lock\noffline: true\n")
    hub.stop()
    assert run("lock", "--check", "--config", "other.yaml").exit_code == 0


def test_tito_and_fix_take_targets_and_tokenizer_of_the_configuration(run: Run, project: Path) -> None:
    folder = project / "model"
    folder.mkdir()
    for name, text in model().items():
        (folder / name).write_text(text) if isinstance(text, str) else (folder / name).write_bytes(text)
    (project / "chat.jinja").write_text(STABLE)
    assert run("tito", "chat.jinja").exit_code == 3, "no tokenizer"
    (project / "template-lint.yaml").write_text("targets:\n- {target: chat.jinja, tokenizer: model}\n")
    few = ("--segmentations", "0", "--scenario", "one-call")
    assert run("tito", *few).exit_code == 0
    assert run("tito", "chat.jinja", "--isolated", *few).exit_code == 3
    assert "name a target" in run("tito", "--isolated").stderr
    (project / "template-lint.yaml").write_text("transformers: 3\n")
    refused = run("fix", "chat.jinja")
    assert refused.exit_code == 2 and "'3'" in refused.stderr
    assert run("fix", "chat.jinja", "--isolated").exit_code == 0


def test_json_says_the_same(run: Run, hub: HubServer) -> None:
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


def test_a_template_that_does_not_render_is_locked_as_such(run: Run, project: Path, hub: HubServer) -> None:
    hub.add("org/broken", model("{% if %}"))
    hub.add("org/none", {"config.json": "{}"})
    assert run("lock", "org/broken", "org/none").exit_code == 0
    broken, none = read_lock(project / LOCK).entries
    assert broken.templates[0].verdict == "unrenderable" and broken.templates[0].prompts == ""
    assert none.templates == ()
    assert run("lock", "--check").exit_code == 0


def test_one_slow_model_costs_only_itself(run: Run, hub: HubServer) -> None:
    for number in range(3):
        hub.add(f"org/m{number}", model())
    hub.fault("GET /api/models/org/m1/*", Fault(status=404, headers={"X-Error-Code": "RevisionNotFound"}))
    result = run("lock", *(f"org/m{number}" for number in range(3)))
    assert result.exit_code == 3 and "wrote template-lint.lock: 2 models" in flat(result.stdout)

"""Lock and configuration together: which models are locked, and which revision answers."""

from __future__ import annotations

from pathlib import Path

from template_lint.lock.reading import read_lock
from tests.hubserver import HubServer
from tests.lock.commands import LOCK, Run, flat
from tests.lock.toys import STABLE, UNSTABLE, model


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

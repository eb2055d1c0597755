"""Stored files: what ``--vendor`` writes below the project, and what the commands then read without a network."""

from __future__ import annotations

from pathlib import Path

from template_lint.lock.reading import read_lock
from tests.hubserver import HubServer
from tests.lock.commands import LOCK, Run, flat
from tests.lock.toys import STABLE, UNSTABLE, model


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

"""Which words a lock pins, and that what is pinned is loaded as pinned or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from template_lint.errors import CannotCheckError, UsageError
from template_lint.lock.entries import entry_of
from template_lint.lock.model import Lock, Observation
from template_lint.lock.nodes import LockError
from template_lint.lock.observing import observe
from template_lint.lock.pins import Mode, Pins, choose
from template_lint.lock.writing import dumps
from template_lint.rendering.profiles import resolve_profile
from template_lint.snapshot.load import load_snapshot
from template_lint.target import Target, TargetKind, parse_target
from tests.hubserver import HubServer
from tests.lock.samples import entry, local, lock
from tests.lock.toys import UNSTABLE, model

REPO = "org/model"


def look(target: str) -> Observation:
    [observation] = observe([parse_target(target)], resolve_profile("5.24"), rules=[], processes=1)
    assert observation.report.error is None
    return observation


def write(folder: Path, value: Lock) -> None:
    (folder / "template-lint.lock").write_text(dumps(value), encoding="utf-8")


def test_a_hub_name_without_a_revision_is_taken_at_its_pin(project: Path) -> None:
    write(project, lock(entry(REPO)))
    (project / "chat.jinja").write_text("x")
    pinned, live, other, file = choose([REPO, f"{REPO}@main", "org/other", "chat.jinja"], Mode.AUTO)
    assert isinstance(pinned, Target) and pinned.revision == entry().revision and pinned.pin is not None
    assert pinned.pin.anchor == ("template-lint.lock", 7)
    assert (live, other, file) == (f"{REPO}@main", "org/other", "chat.jinja")


def test_without_a_lock_nothing_is_pinned(project: Path) -> None:
    assert choose([REPO], Mode.AUTO) == [REPO]
    with pytest.raises(UsageError, match=r"--pinned: there is no template-lint\.lock here\. Write it with"):
        choose([REPO], Mode.PINNED)


def test_a_damaged_lock_is_no_missing_lock(project: Path) -> None:
    (project / "template-lint.lock").write_text("{")
    with pytest.raises(LockError):
        choose([REPO], Mode.AUTO)
    assert choose(["chat.jinja"], Mode.AUTO) == ["chat.jinja"]


def test_live_is_the_revision_that_was_requested(project: Path) -> None:
    write(project, lock(entry(REPO, requested="v1")))
    [live] = choose([], Mode.LIVE)
    assert live == Target(f"{REPO}@v1", TargetKind.HUB, repo=REPO, revision="v1")


def test_without_words_every_model_of_the_lock_is_meant(project: Path) -> None:
    write(project, lock(entry("b/b"), entry("a/a"), local("chat.jinja")))
    (project / "chat.jinja").write_text("x")
    assert [target.text for target in choose([], Mode.PINNED) if isinstance(target, Target)] == [
        "a/a",
        "b/b",
        "chat.jinja",
    ]
    assert choose([], Mode.AUTO) == []


@pytest.mark.parametrize(
    ("word", "message"), [(f"{REPO}@v1", "exclude each other"), ("org/other", "has no org/other. Add it with")]
)
def test_what_the_lock_cannot_answer_is_an_error(project: Path, word: str, message: str) -> None:
    write(project, lock(entry(REPO)))
    with pytest.raises(UsageError, match=message):
        choose([word], Mode.PINNED)


def test_the_pinned_revision_is_loaded_after_the_branch_moved(project: Path, hub: HubServer) -> None:
    old = hub.add(REPO, model())
    write(project, lock(entry_of(look(REPO))))
    hub.add(REPO, model(UNSTABLE))
    [pinned] = choose([REPO], Mode.PINNED)
    [live] = choose([REPO], Mode.LIVE)
    assert load_snapshot(parse_target(pinned)).revision == old
    assert load_snapshot(parse_target(pinned)).templates[0].source == model()["chat_template.jinja"]
    assert load_snapshot(parse_target(live)).templates[0].source == UNSTABLE


def test_a_bumped_revision_with_stale_digests_names_the_command(project: Path, hub: HubServer) -> None:
    old = hub.add(REPO, model())
    write(project, lock(entry_of(look(REPO))))
    new = hub.add(REPO, model(UNSTABLE))
    path = project / "template-lint.lock"
    path.write_text(path.read_text().replace(old, new))
    [pinned] = choose([REPO], Mode.AUTO)
    with pytest.raises(CannotCheckError) as caught:
        load_snapshot(parse_target(pinned))
    assert caught.value.kind == "stale-lock"
    assert str(caught.value) == (
        "template-lint.lock:7: the block of org/model was changed since it was written, so its digests may belong to "
        "another revision. Run `template-lint lock org/model` to refresh them."
    )


def test_other_files_under_the_same_commit_are_refused(project: Path, hub: HubServer) -> None:
    hub.add(REPO, model())
    found = entry_of(look(REPO))
    write(project, lock(found._replace(files={**found.files, "chat_template.jinja": "sha256:" + "0" * 64})))
    [pinned] = choose([REPO], Mode.AUTO)
    with pytest.raises(CannotCheckError) as caught:
        load_snapshot(parse_target(pinned))
    assert str(caught.value).startswith("chat_template.jinja of org/model has sha256 ")
    assert "it is not what template-lint.lock:7 pins" in str(caught.value)


def test_a_local_model_is_pinned_by_its_files(project: Path) -> None:
    folder = project / "models" / "small"
    folder.mkdir(parents=True)
    for name, text in model().items():
        (folder / name).write_text(text)
    write(project, lock(entry_of(look("models/small"))))
    [pinned] = choose(["models/small"], Mode.PINNED)
    assert load_snapshot(parse_target(pinned)).templates
    (folder / "chat_template.jinja").write_text(UNSTABLE)
    with pytest.raises(CannotCheckError, match=r"^models/small/chat_template\.jinja has sha256 .*accept it with"):
        load_snapshot(parse_target(pinned))
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(CannotCheckError, match=r"^models/small/chat_template\.jinja is missing"):
        load_snapshot(parse_target(pinned))


def test_stored_files_are_used_without_a_network_and_checked_each_time(project: Path, hub: HubServer) -> None:
    hub.add(REPO, model())
    found = entry_of(look(REPO))
    write(project, lock(found, vendor="vendor"))
    folder = project / "vendor" / REPO
    folder.mkdir(parents=True)
    for name in found.files:
        (folder / name).write_text(model()[name])
    hub.clear()
    hub.stop()
    [pinned] = choose([REPO], Mode.AUTO)
    assert load_snapshot(parse_target(pinned)).tokenizer is not None
    assert hub.requests == []
    (folder / "chat_template.jinja").write_text(UNSTABLE)
    with pytest.raises(CannotCheckError, match=r"^vendor/org/model/chat_template\.jinja has sha256 .*Restore the file"):
        load_snapshot(parse_target(pinned))
    (folder / "chat_template.jinja").write_text(model()["chat_template.jinja"])
    (folder / "generation_config.json").write_text("{}")
    with pytest.raises(CannotCheckError, match=r"^vendor/org/model/generation_config\.json is not in the lock"):
        load_snapshot(parse_target(pinned))


def test_a_lock_is_found_from_a_folder_below_it(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project, lock(entry(REPO)))
    (project / "sub").mkdir()
    monkeypatch.chdir(project / "sub")
    [pinned] = choose([REPO], Mode.AUTO)
    assert isinstance(pinned, Target) and pinned.pin is not None
    assert Pins.read(project / "template-lint.lock").lock.find(REPO) is not None

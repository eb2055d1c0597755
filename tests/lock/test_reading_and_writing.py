"""The lock as text: the same bytes each time, every complaint with file and line, nothing a stranger may slip in."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from template_lint.lock.model import Lock
from template_lint.lock.nodes import LockError
from template_lint.lock.reading import MAX_BYTES, find_lock, parse_lock, read_lock
from template_lint.lock.writing import dumps
from tests.lock.samples import COMMIT, SHA, entry, local, lock, template

PAIR = re.compile(r"^- repo: (?P<depName>\S+)\n  revision: (?P<currentDigest>[0-9a-f]{40})$", re.MULTILINE)


def plain(value: Lock) -> Lock:
    """Without what only a file has."""
    return value._replace(entries=tuple(entry._replace(line=0, seal=None) for entry in value.entries))


def test_what_is_written_is_read_back() -> None:
    written = lock(entry(), entry("org/other", requested="refs/pr/1"), local(), vendor="vendor/models")
    read = parse_lock(dumps(written))
    by_name = tuple(sorted(written.entries, key=lambda e: e.name.lower()))
    assert plain(read) == written._replace(entries=by_name)
    assert all(entry.seal == entry.computed_seal() for entry in read.entries)


def test_entries_are_sorted_and_the_bytes_do_not_depend_on_the_order_given() -> None:
    entries = [entry("b/b"), entry("A/a"), entry("a/c"), local("z/z")]
    text = dumps(lock(*entries))
    assert dumps(lock(*reversed(entries))) == text
    assert re.findall(r"^- (?:repo|path): (\S+)", text, re.MULTILINE) == ["A/a", "a/c", "b/b", "z/z"]
    assert dumps(parse_lock(text)) == text


def test_one_regular_expression_bumps_a_revision_and_the_seal_shows_it() -> None:
    text = dumps(lock(entry("b/b"), entry("a/a")))
    assert [match["depName"] for match in PAIR.finditer(text)] == ["a/a", "b/b"]
    bumped = parse_lock(PAIR.sub(lambda m: f"- repo: {m['depName']}\n  revision: {'f' * 40}", text, count=1))
    first, second = bumped.entries
    assert first.revision == "f" * 40 and first.seal != first.computed_seal()
    assert second.seal == second.computed_seal()


def test_an_entry_knows_the_line_of_its_revision() -> None:
    text = dumps(lock(entry("b/b"), entry("a/a"), local()))
    lines = text.splitlines()
    for found in parse_lock(text).entries:
        wanted = f"  revision: {COMMIT}" if found.repo else "- path: models/small"
        assert lines[found.line - 1] == wanted


def test_names_are_found_as_the_hub_finds_them() -> None:
    found = lock(entry("Qwen/Qwen3-8B"), local("models/Small"))
    assert found.find("qwen/qwen3-8b") is found.entries[0]
    assert found.find("models/Small") is found.entries[1]
    assert found.find("models/small") is None


@pytest.mark.parametrize("value", ["<<<<<<< HEAD", "=======", ">>>>>>> bump", "||||||| base"])
def test_merge_conflicts_are_said_to_be_merge_conflicts(value: str) -> None:
    lines = dumps(lock()).splitlines()
    lines.insert(6, value)
    with pytest.raises(LockError, match=r"^template-lint\.lock:7: a merge conflict is not resolved"):
        parse_lock("\n".join(lines))


REPO = "- repo: Qwen/Qwen3-8B\n"
DAMAGE = [
    ("version: 1", "version: 2", 2, "a lock of version 2"),
    ("version: 1", "version: one", 2, "version must be a number"),
    ("version: 1\n", "", 2, "lacks the key 'version'"),
    ("scenarios: 1", "scenarios: 1\nmodel: []", 5, "has no key 'model'"),
    ("scenarios: 1", "scenarios: 1\nscenarios: 1", 5, "'scenarios' is there twice"),
    ("'5.24'", "newest", 3, "transformers must be a version"),
    (f"revision: {COMMIT}", "revision: main", 7, "revision must be a commit of 40 hex digits, not 'main'"),
    (f"revision: {COMMIT}", "rev: x", 7, "has no key 'rev'"),
    (f"  revision: {COMMIT}\n", "", 6, "this model has no revision"),
    (REPO, "- repo: ../x\n", 6, "'../x' is no Hub repository"),
    (REPO, "- repo: [a, b]\n", 6, "repo must be a single value"),
    ("requested: main", "requested: ../../x", 8, "is no branch, tag or commit"),
    ("tokenizer_config.json:", "../tokenizer_config.json:", 12, "is no prompt-shaping file"),
    ("tokenizer_config.json:", "model.safetensors:", 12, "is no prompt-shaping file"),
    ("additional_chat_templates/tool_use", "additional_chat_templates/../tool_use", 11, "is no prompt-shaping file"),
    (f"tokenizer_config.json: {SHA}", "tokenizer_config.json: sha256:12", 12, "must be sha256: and 64 hex digits"),
    ("verdict: stable-with-kwargs", "verdict: good", 16, "'good' is no verdict"),
    ("enable_thinking: false", "enable_thinking: !!python/name:os.system ''", 19, "expected a text, a number"),
    ("enable_thinking: false", "enable_thinking: 2026-01-01", 19, "expected a text, a number"),
    ("models:", "models: &all", 5, "no anchors and aliases"),
    ("models:", "models: {", 6, "not YAML"),
    ("name: qwen3", "name: ../../x", 21, "name must be a training template"),
]


@pytest.mark.parametrize(("old", "new", "line", "message"), DAMAGE, ids=[damage[1][:30] for damage in DAMAGE])
def test_damage_is_named_with_its_line(old: str, new: str, line: int, message: str) -> None:
    text = dumps(lock())
    assert old in text
    with pytest.raises(LockError) as caught:
        parse_lock(text.replace(old, new, 1), "sub/template-lint.lock")
    assert str(caught.value).startswith(f"sub/template-lint.lock:{line}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "C:/x", "a\\b", "~/x", ".", "", "a//b", "a\x00b"])
@pytest.mark.parametrize("key", ["vendor", "path"])
def test_paths_out_of_the_folder_are_refused(path: str, key: str) -> None:
    bad = lock(vendor="folder") if key == "vendor" else lock(local("folder"))
    text = dumps(bad).replace(f"{key}: folder", f"{key}: {json.dumps(path)}")
    with pytest.raises(LockError, match=r"leads out of the folder|not YAML"):
        parse_lock(text)


@pytest.mark.parametrize("text", ["", "# only a comment\n", "[]", "text", "version: 1", "- 1", "\x00", "{" * 5000])
def test_what_is_no_lock_is_refused(text: str) -> None:
    with pytest.raises(LockError, match=r"^template-lint\.lock"):
        parse_lock(text)


def test_the_same_model_twice_is_refused() -> None:
    with pytest.raises(LockError, match=r"(?i)qwen/qwen3-8b is there twice"):
        parse_lock(dumps(lock(entry(), entry("QWEN/Qwen3-8B"))))


def test_two_templates_of_one_name_are_refused() -> None:
    with pytest.raises(LockError, match="two templates have one name"):
        parse_lock(dumps(lock(entry(templates=(template(), template())))))


def test_files_that_are_no_text_or_too_large_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "template-lint.lock"
    with pytest.raises(LockError, match=r"there is no x\.lock\. Write it with `template-lint lock TARGET\.\.\.`\."):
        read_lock(path, "x.lock")
    path.write_bytes(b"version: 1\n\xff")
    with pytest.raises(LockError, match=r"x\.lock:2: not UTF-8"):
        read_lock(path, "x.lock")
    with path.open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    with pytest.raises(LockError, match="more than 16 MiB"):
        read_lock(path, "x.lock")


def test_the_lock_of_a_folder_is_the_nearest_one_within_the_repository(tmp_path: Path) -> None:
    inner = tmp_path / "repository" / "package" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "template-lint.lock").write_text("")
    assert find_lock(inner) == tmp_path / "template-lint.lock"
    (tmp_path / "repository" / ".git").mkdir()
    assert find_lock(inner) is None
    (tmp_path / "repository" / "template-lint.lock").write_text("")
    assert find_lock(inner) == tmp_path / "repository" / "template-lint.lock"

"""The schema of an entry, and the library as it lies in the checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from template_lint.patches.index import LibraryError, library_folder, load_index, parse_entry, read_source
from template_lint.patches.library import load_entries, read_entry
from template_lint.rendering.profiles import parse_profile

ENTRY: dict[str, Any] = {
    "name": "toy-1.5",
    "family": "toy",
    "models": ["org/toy"],
    "originals": [{"sha256": "0" * 64, "source": "corpus/toy.jinja"}],
    "fixes": [{"kind": "prefix", "sentence": "It holds."}],
    "stable_roles": ["tool"],
    "transformers": ["4.57", "5.24"],
    "differences": [
        {"law": "as-last", "scenarios": ["chat*"], "sentence": "So.", "transformers": ["4.57"]},
        {"law": "mask", "scenarios": ["chat"], "sentence": "So."},
    ],
    "laws": {"parses-back": "not-applicable"},
}


def test_an_entry_says_what_to_expect() -> None:
    entry = parse_entry(ENTRY, "toy.yaml")
    expect = entry.expectation(parse_profile("4.57"))
    assert expect.stable_roles == {"tool"}
    assert expect.not_applicable == {"parses-back"}
    assert [difference.law for difference in expect.differences] == ["as-last", "mask"]
    assert [difference.law for difference in entry.expectation(parse_profile("5.24")).differences] == ["mask"]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"nam": "x"}, "toy.yaml: the entry: 'nam' is not known"),
        ({"name": "Toy"}, "toy.yaml: Toy: name may have lower-case letters"),
        ({"models": "org/toy"}, "models must be a list"),
        ({"originals": [{"sha256": "0" * 64}]}, "originals: source is missing"),
        ({"originals": [{"sha256": "0", "source": "x"}]}, "sha256 must be 64 hex digits, is '0'"),
        ({"fixes": [{"kind": "magic", "sentence": "x"}]}, "fixes: kind 'magic' is none of prefix, "),
        ({"stable_roles": ["user"]}, "stable_roles lacks tool"),
        ({"stable_roles": ["tool", "bot"]}, "stable_roles: 'bot' is none of system, tool, user"),
        ({"transformers": [5.24]}, "must be a list of strings"),
        ({"transformers": ["new"]}, "transformers: 'new' is not a version"),
        ({"differences": [{"law": "x", "scenarios": ["*"], "sentence": "x"}]}, "differences: law 'x' is none of "),
        ({"laws": {"mask": "holds"}}, "laws: mask must be a law, and its value not-applicable"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(LibraryError) as caught:
        parse_entry({**ENTRY, **change}, "toy.yaml")
    assert complaint in str(caught.value)


def test_a_missing_key_is_named() -> None:
    for key in ("name", "family", "models", "originals", "fixes", "stable_roles", "transformers"):
        with pytest.raises(LibraryError, match=f"the entry: {key} is missing"):
            parse_entry({name: value for name, value in ENTRY.items() if name != key}, "toy.yaml")


def test_the_file_is_named_like_the_entry(tmp_path: Path) -> None:
    text = "name: a\nfamily: f\nmodels: [o/m]\noriginals: []\nfixes: []\nstable_roles: [tool]\ntransformers: ['5.24']\n"
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "b.yaml").write_text(text, encoding="utf-8")
    assert read_entry(tmp_path / "a.yaml").name == "a"
    with pytest.raises(LibraryError, match=r"Name the file a\.yaml"):
        read_entry(tmp_path / "b.yaml")
    (tmp_path / "b.yaml").write_text("name: [", encoding="utf-8")
    with pytest.raises(LibraryError, match=r"b\.yaml: not YAML"):
        read_entry(tmp_path / "b.yaml")


def test_every_entry_has_its_template_and_no_original_twice() -> None:
    folder = library_folder()
    assert folder is not None
    entries = load_entries()
    assert [entry.name for entry in entries] == sorted(entry.name for entry in entries)
    assert {path.name for path in folder.glob("*_training.jinja")} == {f"{e.name}_training.jinja" for e in entries}
    originals = [known.sha256 for entry in entries for known in entry.originals]
    assert len(set(originals)) == len(originals)
    assert all("{% generation %}" in read_source(e.name).replace("{%-", "{%").replace("-%}", "%}") for e in entries)


def test_the_index_is_that_of_the_files() -> None:
    """Digests of normalised sources are in the index alone."""
    assert [entry.name for entry in load_index()] == [entry.name for entry in load_entries()]
    for indexed, written in zip(load_index(), load_entries(), strict=True):
        assert [known.sha256 for known in indexed.originals] == [known.sha256 for known in written.originals]
        assert (indexed.differences, indexed.not_applicable) == (written.differences, written.not_applicable)
        assert all(known.normalised for known in indexed.originals)

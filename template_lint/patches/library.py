"""The library proven: every entry against each of its originals, under one profile, with a real tokenizer if there is
one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from template_lint.errors import CannotCheckError
from template_lint.facts import TemplateFacts
from template_lint.patches.index import Entry, LibraryError, digest, library_folder, load_index, parse_entry
from template_lint.patches.proof import Proof, prove, sibling
from template_lint.rendering.profiles import Profile
from template_lint.snapshot.special_tokens import PLACEHOLDER_TOKENS, special_tokens


class EntryProof(NamedTuple):
    """The proof of one entry against one original (named as in ``originals``), or why there is none."""

    entry: str
    original: str
    profile: str
    proof: Proof | None
    missing: str = ""


def load_entries(folder: Path | None = None) -> tuple[Entry, ...]:
    """All entries by name, from the ``NAME.yaml`` files themselves. Raises LibraryError."""
    folder = folder or library_folder()
    files = [] if folder is None else [path for path in folder.glob("*.yaml") if path.name != "index.yaml"]
    return tuple(read_entry(path) for path in sorted(files, key=lambda path: path.stem)) or load_index()


def read_entry(path: Path) -> Entry:
    """One ``NAME.yaml``. Raises LibraryError, also where its name is not the file's."""
    import yaml

    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise LibraryError(f"{path.name}: not YAML: {' '.join(str(error).split())}") from None
    entry = parse_entry(data, path.name)
    if f"{entry.name}.yaml" != path.name:
        raise LibraryError(f"{path.name}: its name is {entry.name!r}. Name the file {entry.name}.yaml.")
    return entry


def inputs_folder() -> Path:
    """Where scripts/fetch_inputs.py puts real templates and tokenizers."""
    if named := os.environ.get("TEMPLATE_LINT_INPUTS"):
        return Path(named)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "template-lint" / "inputs"


def prove_entry(entry: Entry, training: str, profile: Profile, *, inputs: Path | None = None) -> Iterator[EntryProof]:
    """Prove one entry against each of its originals that the inputs have."""
    folder = inputs or inputs_folder()
    tokenizer = folder / "tokenizers" / entry.tokenizer if entry.tokenizer else None
    for known in entry.originals:
        path = folder / known.source
        report = partial(EntryProof, entry.name, known.source, profile.label)
        if not path.is_file():
            yield report(None, "the original is not there: run scripts/fetch_inputs.py")
            continue
        source = path.read_text(encoding="utf-8")
        if digest(source) != known.sha256:
            yield report(None, f"sha256 of the original is {digest(source)}, not the one listed")
            continue
        facts = original_facts(source, profile, entry=entry, tokenizer=tokenizer)
        yield report(prove(facts, sibling(facts, training), expect=entry.expectation(profile)))


def original_facts(
    source: str, profile: Profile, *, entry: Entry | None = None, tokenizer: Path | None = None
) -> TemplateFacts:
    """Facts of an original: special tokens of the tokenizer folder where there is one, else placeholders.

    An entry adds its special tokens and template kwargs. Raises CannotCheckError where the tokenizer cannot be read.
    """
    variables: dict[str, object] = dict(PLACEHOLDER_TOKENS)
    load = None
    if tokenizer is not None and tokenizer.is_dir():
        from template_lint.snapshot.load import load_snapshot
        from template_lint.target import parse_target
        from template_lint.tokenization import load_tokenization

        snapshot = load_snapshot(parse_target(str(tokenizer)), profile_version=profile.version)
        if snapshot.tokenizer is None:
            raise CannotCheckError(f"{tokenizer}: {snapshot.tokenizer_missing or 'no tokenizer there'}")
        variables = special_tokens(snapshot, profile.version)
        load = partial(load_tokenization, snapshot, profile_version=profile.version)
    if entry is not None:
        variables |= {**entry.special_tokens, **entry.kwargs}
    return TemplateFacts(source, profile, variables=variables, tokenization=load)

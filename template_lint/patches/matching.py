"""Finding the training template for a chat template: by its bytes, by its normalised source, by its behaviour.

A name proves nothing. What was found by bytes or by source has been proven in the library; what is to be found by
behaviour is proven on the spot.
"""

from __future__ import annotations

import enum
from functools import lru_cache
from pathlib import Path

from template_lint.facts import TemplateFacts
from template_lint.patches.index import Entry, digest, library_folder, load_index, read_source
from template_lint.patches.normal import NORMALISED, normalised_digest
from template_lint.patches.pair import Pair, sibling
from template_lint.patches.proof import Status, ask, prove


class MatchedBy(enum.Enum):
    """How a training template was found."""

    SHA256 = "sha256"
    SOURCE = "source"
    BEHAVIOUR = "behaviour"


def match_source(source: str) -> tuple[Entry, MatchedBy] | None:
    """The entry whose original has these bytes, or is the same program written otherwise. Renders nothing."""
    known = _known(library_folder())
    found = known.get(digest(source))
    if found is not None:
        return found, MatchedBy.SHA256
    found = known.get(f"{NORMALISED}{normalised_digest(source)}")
    return None if found is None else (found, MatchedBy.SOURCE)


@lru_cache(maxsize=2)
def _known(_library: Path | None) -> dict[str, Entry]:
    """sha256 of each original, and of its normalised source (marked as such), -> its entry. Kept by library."""
    entries = load_index()
    known = {o.sha256: entry for entry in entries for o in entry.originals}
    return known | {NORMALISED + o.normalised: entry for entry in entries for o in entry.originals if o.normalised}


def match_behaviour(facts: TemplateFacts) -> Entry | None:
    """The first entry whose training template is a proven drop-in for this template: about 0.1 s an entry.

    Listed differences need not occur: a near copy may have repaired some defect itself.
    """
    for entry in load_index():
        if is_drop_in(facts, read_source(entry.name), entry):
            return entry
    return None


def is_drop_in(facts: TemplateFacts, training: str, entry: Entry) -> bool:
    """Whether no law fails for this pair beyond what the entry lists."""
    expect = entry.expectation(facts.profile)
    candidate = sibling(facts, training)
    prompts = ask(
        "first-prompt",
        Pair(facts, candidate, expect.stable_roles),
        expected=tuple(difference for difference in expect.differences if difference.law == "first-prompt"),
        stop=True,
    )
    if not prompts.asked or prompts.status is Status.FAILS:  # most entries fail here, at the first prompt
        return False
    return prove(facts, candidate, expect=expect, stop_at_first=True, forgive_missing=True).ok

"""Which training template belongs to a chat template, by its bytes alone: what every check can afford.

Reads the generated index as JSON and imports nothing of the proof. ``matching`` knows the slower ways.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path


def library_folder() -> Path | None:
    """Where the training templates lie: in the installed package, or beside it in a checkout. None where neither."""
    package = Path(__file__).parent.parent
    for folder in (package / "templates_patched", package.parent / "templates_patched"):
        if (folder / "index.yaml").is_file():
            return folder
    return None


def patch_by_digest(sha256: str) -> str | None:
    """The name of the training template whose known originals include this sha256, or None."""
    folder = library_folder()
    return None if folder is None else _names(folder).get(sha256)


def patch_by_model(repo: str) -> str | None:
    """The name of the training template that was made for this Hub model, or None. Says nothing about its template."""
    folder = library_folder()
    return None if folder is None else _names(folder).get(repo.lower())


@lru_cache(maxsize=2)
def _names(folder: Path) -> dict[str, str]:
    """sha256 of each known original, and each model's name in lower case -> the training template's name."""
    entries = json.loads((folder / "index.yaml").read_text(encoding="utf-8"))["templates"]
    names = {original["sha256"]: entry["name"] for entry in entries for original in entry["originals"]}
    return names | {model.lower(): entry["name"] for entry in entries for model in entry["models"]}

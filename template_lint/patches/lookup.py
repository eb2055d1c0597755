"""Which training template belongs to a chat template, by its bytes or its program: what every check can afford.

Reads the generated index as JSON and imports nothing of the proof. ``matching`` knows the slower way.
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


def patch_by_source(source: str) -> str | None:
    """The name of the training template for this text: an original of it is the same program, or None."""
    from template_lint.patches.normal import NORMALISED, normalised_digest

    folder = library_folder()
    return None if folder is None else _names(folder).get(f"{NORMALISED}{normalised_digest(source)}")


def patch_by_model(repo: str) -> str | None:
    """The name of the training template that was made for this Hub model, or None. Says nothing about its template."""
    folder = library_folder()
    return None if folder is None else _names(folder).get(repo.lower())


@lru_cache(maxsize=2)
def _names(folder: Path) -> dict[str, str]:
    """sha256 of each known original and, marked, of its program, and each model's name in lower case -> the training
    template's name.
    """
    from template_lint.patches.normal import NORMALISED

    names: dict[str, str] = {}
    for entry in json.loads((folder / "index.yaml").read_text(encoding="utf-8"))["templates"]:
        for original in entry["originals"]:
            names[original["sha256"]] = entry["name"]
            if original.get("normalised"):
                names[NORMALISED + original["normalised"]] = entry["name"]
        names.update((model.lower(), entry["name"]) for model in entry["models"])
    return names

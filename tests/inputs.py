"""Where tests find real templates and tokenizers. A test that needs one is skipped, with the reason, without it.

In CI a missing input is a failure: a conformance test that did not run must not look like one that passed.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "fetch_inputs.py"


def load_script() -> ModuleType:
    """Import scripts/fetch_inputs.py, which is not part of a package."""
    spec = importlib.util.spec_from_file_location("fetch_inputs", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


_script = load_script()


def corpus_dir() -> Path:
    """Return the folder of the 786 templates of the corpus (``*.jinja``) and its ``_index.json``."""
    return _input("corpus")


def corpus_if_there() -> list[Path]:
    """Return the templates of the corpus, or none where it was not fetched: for tests that are glad of any template."""
    return sorted((_script.default_folder() / "corpus").glob("*.jinja"))


def trl_dir() -> Path:
    """Return the folder of TRL's chat templates (``*.jinja``)."""
    return _input("trl")


def sarif_schema() -> Path:
    """Return the official JSON Schema of SARIF 2.1.0 (errata 01)."""
    return _input("sarif") / "sarif-2.1.0.json"


def tokenizer_dir(name: str) -> Path:
    """Return the folder with tokenizer.json and tokenizer_config.json of ``name``: qwen3, gptoss, llama3_1, ..."""
    return _input(f"tokenizers/{name}")


def _input(name: str) -> Path:
    item = next(known for known in _script.INPUTS if known.name == name)
    root: Path = _script.default_folder()
    if not _script.is_current(item, root):
        reason = f"needs {item.requirement} as data: run `python scripts/fetch_inputs.py --only {name}` once"
        if os.environ.get("CI") == "true":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    return root / name

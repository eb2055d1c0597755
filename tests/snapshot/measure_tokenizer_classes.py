"""Measures, with the installed transformers, what template_lint/snapshot/tokenizer_classes.json states about it.

Run ``python -m tests.snapshot.measure_tokenizer_classes`` once with 4.57 and once with 5.x to refresh the file; each
run replaces the part of its own major version. The test beside it compares the file with the installed version.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

TABLE = Path(__file__).resolve().parents[2] / "template_lint" / "snapshot" / "tokenizer_classes.json"
NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
GENERIC = ("TokenizersBackend", "PythonBackend", "PreTrainedTokenizerFast", "MistralCommonBackend")


def measure() -> dict[str, Any]:
    """The facts about the installed version: class defaults, the class of each model type, the exceptions of 5.x."""
    import transformers
    from transformers.models.auto import tokenization_auto as auto

    defaults: dict[str, dict[str, Any]] = {}
    model_types: dict[str, str] = {}
    for model_type, entry in auto.TOKENIZER_MAPPING_NAMES.items():
        names = [name for name in ([entry] if isinstance(entry, str) else entry or ()) if name]
        if not names:
            continue
        # 4.57 lists (slow, fast) and loads the fast class where there is one.
        name = names[-1]
        base = name.removesuffix("Fast") if name not in GENERIC else "generic"
        model_types[model_type] = base
        loaded = auto.tokenizer_class_from_name(name)
        if loaded is None or base == "generic":
            continue
        found = _defaults(loaded)
        if found and (base not in defaults or name.endswith("Fast")):
            defaults[base] = found
    return {
        "version": transformers.__version__,
        "defaults": dict(sorted(defaults.items())),
        "model_types": dict(sorted(model_types.items())),
        "untrusted_model_types": sorted(getattr(auto, "MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS", ())),
        "generic_repositories": sorted(getattr(auto, "MODEL_IDS_TO_TOKENIZERS_BACKEND", ())),
    }


def _defaults(loaded: type) -> dict[str, Any]:
    """Special tokens that the class gives when the configuration names none; null only for pad_token (see padding)."""
    found: dict[str, Any] = {}
    parameters = inspect.signature(loaded).parameters
    for name in (*NAMED, "additional_special_tokens"):
        default = parameters[name].default if name in parameters else inspect.Parameter.empty
        if isinstance(default, list | tuple):
            found[name] = [str(token) for token in default]
        elif default is not inspect.Parameter.empty and (default is not None or name == "pad_token"):
            found[name] = default if default is None else str(default)
    return found


def dump(table: dict[str, Any]) -> str:
    """The table as JSON with one class or model type a line, so that a diff shows what a release changed."""
    blocks = []
    for major, part in sorted(table.items()):
        entries = [f'  "version": {json.dumps(part["version"])}']
        for key in ("defaults", "model_types"):
            lines = ",\n".join(f"   {json.dumps(name)}: {json.dumps(value)}" for name, value in part[key].items())
            entries.append(f'  "{key}": {{\n{lines}\n  }}')
        entries += [f'  "{key}": {json.dumps(part[key])}' for key in ("untrusted_model_types", "generic_repositories")]
        blocks.append(f' "{major}": {{\n' + ",\n".join(entries) + "\n }")
    return "{\n" + ",\n".join(blocks) + "\n}\n"


def main() -> None:
    """Write the part of the installed major version."""
    part = measure()
    table = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {}
    table[part["version"].split(".")[0]] = part
    TABLE.write_text(dump(table), encoding="utf-8")


if __name__ == "__main__":
    main()

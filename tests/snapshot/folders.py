"""Makes small model folders that transformers can load offline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

WORDS = ("<unk>", "<s>", "</s>", "<pad>", "hello", "world")


def profile() -> tuple[int, int]:
    """(major, minor) of the installed transformers."""
    from importlib.metadata import version

    major, minor = version("transformers").split(".")[:2]
    return int(major), int(minor)


def write(folder: Path, files: dict[str, Any]) -> Path:
    """Write files into a folder: str as text, bytes as they are, anything else as JSON."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(content, bytes):
            content = (content if isinstance(content, str) else json.dumps(content)).encode()
        path.write_bytes(content)
    return folder


def tokenizer_json(*, special: tuple[str, ...] = WORDS[:3], **sections: Any) -> dict[str, Any]:
    """A word-level tokenizer.json; ``sections`` replace whole sections such as ``padding``."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = {word: index for index, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(list(special))
    content: dict[str, Any] = json.loads(tokenizer.to_str())
    return content | sections


def model_folder(folder: Path, files: dict[str, Any]) -> Path:
    """A folder with a tokenizer that AutoTokenizer loads, and ``files`` beside or instead of it."""
    config = {"tokenizer_class": "PreTrainedTokenizerFast", **files.get("tokenizer_config.json", {})}
    return write(folder, {"tokenizer.json": tokenizer_json(), **files, "tokenizer_config.json": config})


def added(content: str, **flags: Any) -> dict[str, Any]:
    """An AddedToken as tokenizer_config.json holds it."""
    base = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False}
    return {"__type": "AddedToken", "content": content, **base, **flags}

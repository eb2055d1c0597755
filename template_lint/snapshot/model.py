"""The snapshot: the prompt-shaping files of one model at one revision, immutable, with their sha256."""

# No postponed annotations: NamedTuple would compile each of them at start-up.
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from template_lint.target import Target


class TemplateCopy(NamedTuple):
    """One chat template text as it lies in one file.

    ``name`` is the name transformers gives it (``default``, ``tool_use``, ...). ``file`` is relative to the snapshot
    for a folder or a Hub revision, the path as the user wrote it for a single file, ``-`` for standard input;
    ``pointer`` is a JSON pointer into that file for an embedded template (``/chat_template``), the metadata key for
    GGUF, None for a text file. ``source`` is exactly the string that transformers hands to Jinja (CRLF -> LF in text
    files, BOM kept). ``loader`` says who reads it: ``tokenizer`` (a processor reads text files too) or ``processor``
    (only a processor).
    """

    name: str
    source: str
    file: str
    pointer: str | None = None
    loader: str = "tokenizer"


class TokenizerFiles(NamedTuple):
    """What is needed to build the tokenizer without transformers: the parsed config and the path of tokenizer.json.

    ``folder`` holds all tokenizer files (for the AutoTokenizer fallback); it may be None for GGUF and single files.
    ``gguf`` is the GGUF file that carries the vocabulary, for GGUF targets.
    """

    tokenizer_json: Path | None
    config: Mapping[str, Any]
    folder: Path | None
    gguf: Path | None = None


class Snapshot(NamedTuple):
    """One model at one revision.

    ``templates`` are the templates in effect, in a fixed order (``default`` first); ``copies`` is every copy found, in
    effect or not (TL003 compares them). ``selection_error`` says why transformers would find no template (TL001).
    ``config`` is the parsed tokenizer_config.json ({} where there is none); ``special_tokens_map_json`` and
    ``model_config`` (config.json) likewise. For GGUF, ``config`` holds the named special tokens of the metadata.
    ``stop_ids`` are the eos ids of generation_config.json, or of config.json where that file is missing. ``files``
    maps relative path -> sha256 hex digest; empty for GGUF, whose weights are never read. ``revision`` is a 40-hex
    commit for Hub snapshots. ``tokenizer_missing`` says why ``tokenizer`` is None.
    """

    target: Target
    files: Mapping[str, str]
    templates: tuple[TemplateCopy, ...]
    copies: tuple[TemplateCopy, ...] = ()
    selection_error: str | None = None
    repo: str | None = None
    revision: str | None = None
    config: Mapping[str, Any] = {}
    special_tokens_map_json: Mapping[str, Any] = {}
    model_config: Mapping[str, Any] = {}
    stop_ids: tuple[int, ...] = ()
    tokenizer: TokenizerFiles | None = None
    tokenizer_missing: str | None = None

"""A model folder -> Snapshot. The folder may be the user's or the download of one Hub revision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from template_lint.errors import CannotCheckError, TemplateSelectionError
from template_lint.snapshot import files
from template_lint.snapshot.model import Snapshot, TemplateCopy, TokenizerFiles
from template_lint.snapshot.selection import embedded_templates, pick, select_processor, select_tokenizer
from template_lint.target import Target

MODEL_FOLDER_MARKS = (files.TEMPLATE_FILE, files.TOKENIZER_CONFIG, files.PROCESSOR_TEMPLATE, files.PROCESSOR_CONFIG)


def is_model_folder(folder: Path) -> bool:
    """Whether transformers could find a chat template in this folder itself, without looking beneath it.

    Raises CannotCheckError where the folder may not be entered.
    """
    try:
        return (
            any((folder / name).is_file() for name in MODEL_FOLDER_MARKS) or (folder / files.ADDITIONAL_FOLDER).is_dir()
        )
    except OSError as error:
        raise files.unreadable(folder.as_posix(), error) from error


def load_folder(
    target: Target,
    folder: Path,
    *,
    profile_version: tuple[int, int],
    repo: str | None = None,
    revision: str | None = None,
) -> Snapshot:
    """Read every prompt-shaping file of a model folder.

    A folder without a template still gives a snapshot: ``templates`` is empty and ``selection_error`` says so.
    ``profile_version`` only matters where just a processor has a template. Raises CannotCheckError for files that
    transformers could not read either.
    """
    folder_files = _FolderFiles(folder)
    config = folder_files.json(files.TOKENIZER_CONFIG)
    model_config = folder_files.json("config.json")
    generation_config = folder_files.json("generation_config.json")
    special_tokens_map = folder_files.json("special_tokens_map.json")
    text_copies = folder_files.text_copies()
    in_config, config_error = _embedded(config, files.TOKENIZER_CONFIG, "tokenizer")
    in_legacy, legacy_error = _embedded(
        folder_files.json(files.PROCESSOR_TEMPLATE), files.PROCESSOR_TEMPLATE, "processor"
    )
    in_processor, processor_error = _embedded(
        folder_files.json(files.PROCESSOR_CONFIG), files.PROCESSOR_CONFIG, "processor"
    )
    copies = (*text_copies, *in_config, *in_legacy, *in_processor)

    templates = select_tokenizer(copies)
    if not templates:
        # A malformed entry that a text file overrides does no harm in transformers; here nothing overrides it.
        for error in (config_error, processor_error, legacy_error):
            if error is not None:
                raise error
    selection_error = None
    try:
        templates = templates or select_processor(copies, profile_version)
        pick(templates, tools_given=False)
    except TemplateSelectionError as error:
        selection_error = str(error)

    tokenizer, tokenizer_missing = folder_files.tokenizer(config)
    return Snapshot(
        target=target,
        files=folder_files.hashes(),
        templates=templates,
        copies=copies,
        selection_error=selection_error,
        repo=repo,
        revision=revision,
        config=config,
        special_tokens_map_json=special_tokens_map,
        model_config=model_config,
        stop_ids=_stop_ids(generation_config if folder_files.has("generation_config.json") else model_config),
        tokenizer=tokenizer,
        tokenizer_missing=tokenizer_missing,
    )


class _FolderFiles:
    """The files of one folder by name relative to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[str, bool] = {}

    def has(self, name: str) -> bool:
        if name not in self._known:
            self._known[name] = files.is_file(self.folder / name, name)
        return self._known[name]

    def json(self, name: str) -> dict[str, Any]:
        return files.read_json_object(self.folder / name, name) if self.has(name) else {}

    def text_copies(self) -> list[TemplateCopy]:
        names = [files.TEMPLATE_FILE] if self.has(files.TEMPLATE_FILE) else []
        names += self.additional()
        return [
            TemplateCopy(
                name="default" if name == files.TEMPLATE_FILE else Path(name).name.removesuffix(".jinja"),
                source=files.decode_source(files.read_source_bytes(self.folder / name, name), name),
                file=name,
            )
            for name in names
        ]

    def additional(self) -> list[str]:
        """Names of additional_chat_templates/*.jinja, sorted; not recursive, as in transformers."""
        folder = self.folder / files.ADDITIONAL_FOLDER
        try:
            found = sorted(path.name for path in folder.iterdir() if path.name.endswith(".jinja") and path.is_file())
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise files.unreadable(files.ADDITIONAL_FOLDER, error) from error
        return [f"{files.ADDITIONAL_FOLDER}/{name}" for name in found]

    def hashes(self) -> dict[str, str]:
        names = [name for name in files.PROMPT_SHAPING_FILES if self.has(name)] + self.additional()
        return {name: files.sha256_file(self.folder / name, name) for name in sorted(names)}

    def tokenizer(self, config: dict[str, Any]) -> tuple[TokenizerFiles | None, str | None]:
        """The tokenizer files, or None and the reason."""
        has_json = self.has(files.TOKENIZER_JSON)
        if not has_json and not any(self.has(name) for name in files.VOCABULARY_FILES):
            return None, f"there is no {files.TOKENIZER_JSON} or other vocabulary file"
        path = self.folder / files.TOKENIZER_JSON if has_json else None
        return TokenizerFiles(tokenizer_json=path, config=config, folder=self.folder), None


def _embedded(document: dict[str, Any], file: str, loader: str) -> tuple[list[TemplateCopy], CannotCheckError | None]:
    try:
        return embedded_templates(document, file, loader), None
    except CannotCheckError as error:
        return [], error


def _stop_ids(config: dict[str, Any]) -> tuple[int, ...]:
    """The eos ids of a generation or model config; one id or a list of them."""
    value = config.get("eos_token_id")
    ids = value if isinstance(value, list) else [value]
    return tuple(token_id for token_id in ids if isinstance(token_id, int) and not isinstance(token_id, bool))

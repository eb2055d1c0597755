"""Which template transformers would use, given every copy in a model folder. Pure; reads no file.

Source: tokenization_utils_base.py and processing_utils.py of transformers 4.57.6 and 5.24.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from template_lint.errors import CannotCheckError, TemplateSelectionError
from template_lint.snapshot.files import (
    ADDITIONAL_FOLDER,
    MAX_SOURCE_BYTES,
    PROCESSOR_CONFIG,
    PROCESSOR_TEMPLATE,
    TEMPLATE_FILE,
    TOKENIZER_CONFIG,
    too_large,
    wrong_type,
)
from template_lint.snapshot.model import TemplateCopy

FIRST_5 = (5, 0)


def embedded_templates(document: Mapping[str, Any], file: str, loader: str) -> list[TemplateCopy]:
    """Every template under the ``chat_template`` key of a parsed JSON file, in file order.

    The value may be a string, an object of name -> source, or (tokenizers only) an array of {name, template}; with two
    entries of one name both are returned and the later one is in effect. Missing and null give none. Raises
    CannotCheckError (``malformed``, ``too-large``) for anything else.
    """
    value = document.get("chat_template")
    entries: list[tuple[Any, Any, str]]
    match value:
        case None:
            return []
        case str():
            entries = [("default", value, "/chat_template")]
        case dict():
            entries = [(name, source, f"/chat_template/{_escape(name)}") for name, source in value.items()]
        case list() if loader == "tokenizer":
            entries = []
            for index, item in enumerate(value):
                pointer = f"/chat_template/{index}"
                if not isinstance(item, dict) or "name" not in item or "template" not in item:
                    raise wrong_type(file, pointer, 'an object {"name": ..., "template": ...}', item)
                entries.append((item["name"], item["template"], f"{pointer}/template"))
        case _:
            raise wrong_type(file, "/chat_template", "a string or named templates", value)
    return [_embedded(name, source, file, pointer, loader) for name, source, pointer in entries]


def select_tokenizer(copies: Iterable[TemplateCopy]) -> tuple[TemplateCopy, ...]:
    """The templates a tokenizer has after loading, ``default`` first and the rest by name.

    Any text file replaces what tokenizer_config.json holds, all of it. additional_chat_templates/default.jinja
    replaces chat_template.jinja, and so does additional_chat_templates/file.jinja: its key in the table of files to
    load is the very key of chat_template.jinja.
    """
    copies = tuple(copies)
    root, extra = _text_files(copies)
    root = extra.pop("file", root)
    chosen = {"default": root._replace(name="default")} if root else {}
    chosen.update(extra)
    if not chosen:
        chosen = {copy.name: copy for copy in copies if copy.file == TOKENIZER_CONFIG}
    return in_order(chosen.values())


def select_processor(copies: Iterable[TemplateCopy], profile_version: tuple[int, int]) -> tuple[TemplateCopy, ...]:
    """The templates a processor has after loading; it never reads tokenizer_config.json.

    chat_template.json replaces chat_template.jinja; processor_config.json replaces both from 5.0 and gives way in
    4.57. Raises TemplateSelectionError where the processor cannot be loaded.
    """
    copies = tuple(copies)
    root, extra = _text_files(copies)
    legacy = {copy.name: copy for copy in copies if copy.file == PROCESSOR_TEMPLATE}
    if legacy and extra:
        raise TemplateSelectionError(
            f"{PROCESSOR_TEMPLATE} beside {ADDITIONAL_FOLDER}/ keeps processors from loading. "
            f"Move the text of {PROCESSOR_TEMPLATE} to {TEMPLATE_FILE}."
        )
    files = legacy or ({**extra, "default": root} if root else extra)
    config = {copy.name: copy for copy in copies if copy.file == PROCESSOR_CONFIG}
    chosen = (config or files) if profile_version >= FIRST_5 else (files or config)
    return in_order(chosen.values())


def pick(templates: Sequence[TemplateCopy], tools_given: bool) -> TemplateCopy:
    """The template used when no name is asked for: ``tool_use`` where tools are given and it exists, else ``default``.

    ``tools_given`` is True for any list, also an empty one. Processors never take ``tool_use`` by themselves. Raises
    TemplateSelectionError where transformers raises ValueError.
    """
    by_name = {template.name: template for template in templates}
    if tools_given and "tool_use" in by_name and by_name["tool_use"].loader == "tokenizer":
        return by_name["tool_use"]
    if "default" in by_name:
        return by_name["default"]
    if not by_name:
        raise TemplateSelectionError(f"there is no chat template. Add {TEMPLATE_FILE} to the model.")
    raise TemplateSelectionError(
        f"there is no template named 'default', only {', '.join(map(repr, sorted(by_name)))}; callers must name one. "
        f"Add {TEMPLATE_FILE}."
    )


def in_order(templates: Iterable[TemplateCopy]) -> tuple[TemplateCopy, ...]:
    """``default`` first, then by name."""
    return tuple(sorted(templates, key=lambda copy: (copy.name != "default", copy.name)))


def check_source(source: str, shown: str) -> None:
    """Refuse an embedded template that is too large or that no file could hold. Raises CannotCheckError."""
    try:
        size = len(source.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise CannotCheckError(
            f"{shown} holds half a surrogate pair at character {error.start}. Write the character itself.",
            kind="malformed",
        ) from None
    if size > MAX_SOURCE_BYTES:
        raise too_large(shown, size, MAX_SOURCE_BYTES)


def _text_files(copies: Iterable[TemplateCopy]) -> tuple[TemplateCopy | None, dict[str, TemplateCopy]]:
    root, extra = None, {}
    for copy in copies:
        if copy.file == TEMPLATE_FILE:
            root = copy
        elif copy.file.startswith(f"{ADDITIONAL_FOLDER}/"):
            extra[copy.name] = copy
    return root, extra


def _embedded(name: Any, source: Any, file: str, pointer: str, loader: str) -> TemplateCopy:
    if not isinstance(name, str):
        raise wrong_type(file, f"{pointer.removesuffix('/template')}/name", "a string", name)
    if not isinstance(source, str):
        raise wrong_type(file, pointer, "a string", source)
    check_source(source, f"{file} at {pointer}")
    return TemplateCopy(name=name, source=source, file=file, pointer=pointer, loader=loader)


def _escape(name: str) -> str:
    """Escape one step of a JSON pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")

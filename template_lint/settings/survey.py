"""What a repository has that template-lint can work with: its templates, tokenizers, lock, hooks. Reads names, which
single templates are about messages, and the head of git.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from template_lint.errors import CannotCheckError, UsageError
from template_lint.settings.files import PYPROJECT, YAML_NAMES, has_table
from template_lint.snapshot.expand import expand_targets
from template_lint.snapshot.files import TEMPLATE_FILE, TOKENIZER_JSON, read_source_bytes
from template_lint.target import Target, TargetKind, parse_target

_MOST_NAMED = 12


class Survey(NamedTuple):
    """A repository, seen from outside. Paths are relative to ``root``, its folder.

    ``targets`` are what to check: single files and model folders, or the folders above them where they are many.
    ``tokenizer`` is the one model folder with a tokenizer, where bare templates could use it. ``configuration`` is the
    file that configures template-lint already.
    """

    root: Path
    targets: tuple[str, ...] = ()
    templates: int = 0
    models: int = 0
    tokenizer: str | None = None
    configuration: str | None = None
    lock: bool = False
    branch: str = "main"


def survey(folder: Path) -> Survey:
    """Look at the git repository that ``folder`` stands in, or at the folder itself. Raises CannotCheckError where a
    folder cannot be listed.
    """
    root = next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), folder)
    found = _targets(root)
    models = [target for target in found if target.kind is TargetKind.DIRECTORY]
    with_tokenizer = [
        target for target in models if target.path is not None and (target.path / TOKENIZER_JSON).is_file()
    ]
    bare = len(found) > len(models)
    return Survey(
        root=root,
        targets=_named(found, root),
        templates=len(found) - len(models),
        models=len(models),
        tokenizer=_relative(with_tokenizer[0], root) if bare and len(with_tokenizer) == 1 else None,
        configuration=_configuration(root),
        lock=(root / "template-lint.lock").is_file(),
        branch=_branch(root),
    )


def _targets(root: Path) -> list[Target]:
    try:
        return [target for target in expand_targets(parse_target(str(root))) if _is_ours(target)]
    except CannotCheckError as error:
        if error.kind == "nothing-matched":
            return []
        raise


def _is_ours(target: Target) -> bool:
    """Whether a target is one to propose: a web page or a Dockerfile may be a Jinja template too."""
    if target.kind is not TargetKind.FILE or target.path is None or target.path.name == TEMPLATE_FILE:
        return True
    try:
        return b"messages" in read_source_bytes(target.path, target.text)
    except (CannotCheckError, UsageError):
        return True


def _named(found: list[Target], root: Path) -> tuple[str, ...]:
    paths = [_relative(target, root) + ("/" if target.kind is TargetKind.DIRECTORY else "") for target in found]
    if len(paths) > _MOST_NAMED:
        paths = [path.split("/")[0] + "/" if "/" in path else path for path in paths]
    if len(set(paths)) > _MOST_NAMED:
        return ("./",)
    return tuple("./" if path == "./" else path for path in dict.fromkeys(paths))


def _relative(target: Target, root: Path) -> str:
    assert target.path is not None
    return target.path.relative_to(root).as_posix()


def _configuration(root: Path) -> str | None:
    found = [name for name in YAML_NAMES if (root / name).exists()]
    if found:
        return found[0]
    try:
        return PYPROJECT if (root / PYPROJECT).is_file() and has_table(root / PYPROJECT) else None
    except UsageError:
        return None


def _branch(root: Path) -> str:
    try:
        head = (root / ".git" / "HEAD").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return "main"
    match = re.fullmatch(r"ref: refs/heads/([A-Za-z0-9][\w./-]*)\s*", head, re.ASCII)
    return match[1] if match else "main"

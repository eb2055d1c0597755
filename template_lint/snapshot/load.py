"""Target -> Snapshot: chooses the reader for each kind of target. Reads single files and standard input itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, assert_never

from template_lint.errors import CannotCheckError, TemplateSelectionError, UsageError
from template_lint.snapshot import files
from template_lint.snapshot.expand import expand_targets
from template_lint.snapshot.model import Snapshot, TemplateCopy
from template_lint.snapshot.selection import embedded_templates, in_order, pick
from template_lint.target import Target, TargetKind

if TYPE_CHECKING:
    from template_lint.snapshot.hub import Fetched

__all__ = ["expand_targets", "load_snapshot", "load_snapshots"]

NEWEST_PROFILE = (5, 24)

_NO_TOKENIZER = "a single file names no tokenizer; check the model folder to have token ids"


def load_snapshot(
    target: Target,
    *,
    offline: bool = False,
    stdin: TextIO | None = None,
    profile_version: tuple[int, int] = NEWEST_PROFILE,
    fetched: Fetched | None = None,
) -> Snapshot:
    """Read everything that shapes the prompts of a target.

    ``offline`` forbids the network for Hub targets. ``stdin`` is read for ``-`` (default: sys.stdin).
    ``profile_version`` is the (major, minor) of transformers; only the choice between processor files depends on it.
    ``fetched`` is what was fetched of a Hub target before.

    A target that is looked at but has no template in effect gives a Snapshot whose ``selection_error`` is set. Raises
    UsageError for a wrong request (a missing file, an unknown file type) and CannotCheckError for what cannot be read
    (``unreadable``, ``not-utf-8``, ``malformed``, ``too-large``, and what the Hub adds).
    """
    if target.pin is not None:
        from template_lint.snapshot.pinned import load_pinned

        return load_pinned(target, target.pin, offline=offline, profile_version=profile_version, fetched=fetched)
    match target.kind:
        case TargetKind.STDIN:
            return _from_stdin(target, stdin)
        case TargetKind.FILE:
            return _from_file(target, _path(target))
        case TargetKind.DIRECTORY:
            from template_lint.snapshot.folder import load_folder

            return load_folder(target, _path(target), profile_version=profile_version)
        case TargetKind.HUB:
            return _from_hub(target, offline, profile_version, fetched)
        case TargetKind.GGUF:
            from template_lint.snapshot.gguf_file import load_gguf

            return load_gguf(target, _path(target))
    assert_never(target.kind)


def load_snapshots(
    targets: Sequence[Target],
    *,
    offline: bool = False,
    profile_version: tuple[int, int] = NEWEST_PROFILE,
    progress: Callable[[int, int, str], object] | None = None,
) -> Iterator[Snapshot | CannotCheckError]:
    """As load_snapshot() for many, in order: each snapshot, or the error that this target alone has.

    What has to come from the Hub is fetched first, several repositories at a time; ``progress`` is called with (done,
    total, name) meanwhile. Raises UsageError for a wrong request.
    """
    remote = [
        target
        for target in targets
        if target.kind is TargetKind.HUB and target.repo and (target.pin is None or target.pin.comes_from_hub)
    ]
    found: dict[object, Fetched | CannotCheckError] = {}
    if len(remote) > 1:
        from template_lint.snapshot import hub

        wanted = [(target.repo or "", target.revision) for target in remote]
        results = hub.fetch_all(wanted, offline=offline, progress=progress)
        found = dict(zip(map(_key, remote), results, strict=True))
    for target in targets:
        fetched = found.get(_key(target))
        try:
            if isinstance(fetched, CannotCheckError):
                raise fetched
            yield load_snapshot(target, offline=offline, profile_version=profile_version, fetched=fetched)
        except CannotCheckError as error:
            yield error


def _key(target: Target) -> tuple[str | None, str | None, bool]:
    return target.repo, target.revision, target.pin is None or target.pin.comes_from_hub


def _path(target: Target) -> Path:
    if target.path is None:
        raise UsageError(f"target {target.text!r} has no path. Make targets with parse_target().")
    return target.path


def _from_stdin(target: Target, stdin: TextIO | None) -> Snapshot:
    import sys

    stream = stdin if stdin is not None else sys.stdin
    shown = "standard input"
    buffer = getattr(stream, "buffer", None)
    if buffer is not None:
        data = files.read_stream(buffer, shown)
    else:
        data = stream.read(files.MAX_SOURCE_BYTES + 1).encode("utf-8", "surrogatepass")
        if len(data) > files.MAX_SOURCE_BYTES:
            raise files.too_large(shown, None, files.MAX_SOURCE_BYTES)
    return _from_text(target, data, "-", shown)


def _from_file(target: Target, path: Path) -> Snapshot:
    shown = path.as_posix()
    if path.suffix.lower() in files.TEMPLATE_SUFFIXES:
        return _from_text(target, files.read_source_bytes(path, shown), shown, shown)
    if path.name in (files.TOKENIZER_CONFIG, files.PROCESSOR_TEMPLATE, files.PROCESSOR_CONFIG):
        return _from_json(target, path, shown)
    raise UsageError(
        f"cannot tell what {shown} is. Give a {', '.join(files.TEMPLATE_SUFFIXES)} or .gguf file, "
        f"{files.TOKENIZER_CONFIG}, {files.PROCESSOR_TEMPLATE}, {files.PROCESSOR_CONFIG} or a model folder, "
        "or pipe a template to standard input (-)."
    )


def _from_text(target: Target, data: bytes, file: str, shown: str) -> Snapshot:
    template = TemplateCopy(name="default", source=files.decode_source(data, shown), file=file)
    return Snapshot(
        target=target,
        files={file: files.sha256_bytes(data)},
        templates=(template,),
        copies=(template,),
        tokenizer_missing=_NO_TOKENIZER,
    )


def _from_json(target: Target, path: Path, shown: str) -> Snapshot:
    document = files.read_json_object(path, shown)
    loader = "tokenizer" if path.name == files.TOKENIZER_CONFIG else "processor"
    copies = tuple(embedded_templates(document, shown, loader))
    templates = in_order({copy.name: copy for copy in copies}.values())
    selection_error = None
    try:
        pick(templates, tools_given=False)
    except TemplateSelectionError as error:
        selection_error = str(error)
    return Snapshot(
        target=target,
        files={shown: files.sha256_file(path, shown)},
        templates=templates,
        copies=copies,
        selection_error=selection_error,
        config=document if loader == "tokenizer" else {},
        tokenizer_missing=_NO_TOKENIZER,
    )


def _from_hub(target: Target, offline: bool, profile_version: tuple[int, int], fetched: Fetched | None) -> Snapshot:
    from template_lint.snapshot import hub
    from template_lint.snapshot.folder import load_folder

    if target.repo is None:
        raise UsageError(f"target {target.text!r} names no repository. Make targets with parse_target().")
    fetched = fetched or hub.fetch(target.repo, target.revision, offline=offline)
    return load_folder(
        target, fetched.folder, profile_version=profile_version, repo=target.repo, revision=fetched.commit
    )

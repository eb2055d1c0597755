"""``template-lint lock``: pin what the models of a project read, and see whether that still holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from template_lint.cli.support.failures import ExitCode
from template_lint.cli.support.outputs import atomic, standard_output
from template_lint.cli.support.program import GroupedCommand
from template_lint.cli.support.progress import progress_bar
from template_lint.cli.support.settings_options import file_options, settings_from
from template_lint.errors import UsageError

if TYPE_CHECKING:
    from template_lint.config import Options
    from template_lint.lock.pins import Pins
    from template_lint.target import Target

EPILOG = """\b
Examples:
  template-lint lock Qwen/Qwen3-8B openai/gpt-oss-20b   pin two models at the commit of their main branch
  template-lint lock                                    refresh the digests, after a revision was changed
  template-lint lock --upgrade Qwen/Qwen3-8B            take the newest commit of this model (no TARGET: of all)
  template-lint lock --vendor vendor/models             store the small files too, to work without a network
  template-lint lock --check                            does everything still hold, here and on the Hub?
  template-lint lock --check --offline                  is the lock as it was written, and are the stored files?

\b
Exit codes:
  0  written, or (--check) everything is as it is pinned
  1  --check: the lock is out of date; the output names the command
  2  wrong usage, a damaged lock, or an internal error
  3  a model could not be looked at"""


@click.command("lock", cls=GroupedCommand, short_help="Pin models, and notice when they change.", epilog=EPILOG)
@click.argument("targets", nargs=-1, metavar="[TARGET...]")
@click.option("--upgrade", is_flag=True, help="Take the newest commit of what was requested: of TARGETs, else of all.")
@click.option("--remove", is_flag=True, help="Take TARGETs out of the lock.")
@click.option("--check", "checking", is_flag=True, help="Write nothing; exit 1 where the lock is out of date.")
@click.option("--offline", is_flag=True, help="Use no network: stored files, else the cache.")
@click.option("--vendor", metavar="DIR", help="Store the prompt-shaping files in DIR; '' stops storing them.")
@click.option(
    "--lock",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The lock. [default: the nearest template-lint.lock upwards]",
)
@click.option(
    "--transformers", metavar="VERSION", help="The transformers version to mirror. [default: the installed one]"
)
@click.option(
    "--jobs", type=click.IntRange(min=0), default=0, metavar="N", help="Worker processes. [default: one per processor]"
)
@file_options
@click.option("--output", "-o", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(
    targets: tuple[str, ...],
    upgrade: bool,
    remove: bool,
    checking: bool,
    offline: bool,
    vendor: str | None,
    path: Path | None,
    transformers: str | None,
    jobs: int,
    config: Path | None,
    isolated: bool,
    output: str,
) -> ExitCode:
    """Pin models in template-lint.lock: commit, digests of the files that shape prompts, prompts, verdict.

    TARGETS are Hub repositories (org/name[@revision]), model folders and template files. They are added to the lock;
    what is there already keeps its revision, unless --upgrade is given. Without any, the models of the lock and those
    of the configuration are meant.
    """
    from template_lint.rendering.profiles import resolve_profile

    options = settings_from(config, isolated).options()
    offline, jobs = offline or options.offline, jobs or options.jobs
    _refuse_conflicts(targets, upgrade=upgrade, remove=remove, checking=checking, vendor=vendor, offline=offline)
    pins, place = _existing(path or options.lock)
    profile = resolve_profile(transformers or options.transformers)
    if checking:
        return _check(pins, place, profile, offline=offline, processes=jobs, output=output)
    if remove:
        return _remove(pins, place, targets, offline=offline, output=output)
    wanted = _wanted(targets, options, pins, upgrade=upgrade)
    from template_lint.cli.support.lock_view import Written
    from template_lint.lock.building import build
    from template_lint.lock.pins import shown

    with progress_bar() as bar:
        built = build(
            pins,
            place.parent,
            wanted,
            profile,
            upgrade=upgrade,
            offline=offline,
            processes=jobs,
            file=shown(place),
            progress=bar,
        )
    stored, unchanged = 0, True
    if built.lock is not None:
        lock = built.lock if vendor is None else built.lock._replace(vendor=_vendor(vendor, place.parent))
        built = built._replace(lock=lock)
        stored, unchanged = _write(pins, built.lock, place, offline=offline)
    _print(Written(built, shown(place), stored, unchanged), output)
    return ExitCode.NOT_CHECKED if built.failed else ExitCode.CLEAN


def _refuse_conflicts(
    targets: tuple[str, ...], *, upgrade: bool, remove: bool, checking: bool, vendor: str | None, offline: bool
) -> None:
    if checking and (targets or upgrade or remove or vendor is not None):
        raise UsageError("--check looks at the whole lock and writes nothing. Give it alone, or with --offline.")
    if upgrade and offline:
        raise UsageError("--upgrade asks the Hub and --offline forbids it. Drop one.")
    if remove and (upgrade or vendor is not None or not targets):
        raise UsageError("--remove takes the TARGETs to take out, and neither --upgrade nor --vendor.")


def _existing(path: Path | None) -> tuple[Pins | None, Path]:
    """The lock there is, and where it is or will be."""
    from template_lint.lock.model import FILE_NAME
    from template_lint.lock.pins import Pins
    from template_lint.lock.reading import find_lock

    place = path or find_lock(Path.cwd()) or Path(FILE_NAME)
    place = place.absolute()
    if not place.parent.is_dir():
        raise UsageError(f"--lock {path}: there is no such folder. Name a file in an existing folder.")
    return (Pins.read(place) if place.exists() else None), place


def _wanted(targets: tuple[str, ...], options: Options, pins: Pins | None, *, upgrade: bool) -> list[Target]:
    """The targets to look at; none means all of the lock."""
    from template_lint.snapshot.load import expand_targets
    from template_lint.target import TargetKind, parse_target

    if targets:
        return [part for text in targets for part in expand_targets(parse_target(text))]
    # Local files of the configuration are in the repository already; what moves by itself is on the Hub.
    configured = [target for spec in options.targets if (target := parse_target(spec.target)).kind is TargetKind.HUB]
    if pins is None and not configured:
        raise UsageError("there is no lock yet and no Hub model in the configuration. Name the TARGETs to pin.")
    if pins is None or not configured:
        return configured
    from template_lint.lock.building import every_target

    return every_target(pins, configured)


def _vendor(text: str, folder: Path) -> str | None:
    """The folder of stored files as the lock writes it."""
    from template_lint.lock.pins import relative

    if not text:
        return None
    path = relative(Path(text), folder)
    if path is None or path == ".":
        raise UsageError(f"--vendor {text}: it must be a folder below {folder.as_posix()}, where the lock is.")
    return path


def _write(pins: Pins | None, lock: object, place: Path, *, offline: bool) -> tuple[int, bool]:
    """Store files and write the lock: the number of files stored, and whether the lock was the same before."""
    from template_lint.lock.model import Lock
    from template_lint.lock.vendoring import store, unstore
    from template_lint.lock.writing import dumps

    assert isinstance(lock, Lock)
    before = pins.lock if pins is not None else None
    if before is not None and before.vendor is not None and before.vendor != lock.vendor:
        unstore(before, place.parent)
        before = None
    stored = store(lock, place.parent, offline=offline, before=before) if lock.vendor is not None else 0
    text = dumps(lock)
    if place.exists() and place.read_text(encoding="utf-8") == text:
        return stored, True
    with atomic(place) as stream:
        stream.write(text)
    return stored, False


def _remove(pins: Pins | None, place: Path, targets: tuple[str, ...], *, offline: bool, output: str) -> ExitCode:
    from template_lint.cli.support.lock_view import Removed
    from template_lint.lock.pins import shown

    if pins is None:
        raise UsageError(f"there is no {shown(place)}. Write it with `template-lint lock TARGET...`.")
    gone = []
    for text in targets:
        entry = pins.lock.find(text.removeprefix("hf:")) or pins.lock.find(Path(text).as_posix())
        if entry is None:
            raise UsageError(f"{shown(place)} has no {text}. It has: {', '.join(e.name for e in pins.lock.entries)}.")
        gone.append(entry)
    lock = pins.lock._replace(entries=tuple(entry for entry in pins.lock.entries if entry not in gone))
    _write(pins, lock, place, offline=offline)
    _print(Removed([entry.name for entry in gone], shown(place), len(lock.entries)), output)
    return ExitCode.CLEAN


def _check(pins: Pins | None, place: Path, profile: object, *, offline: bool, processes: int, output: str) -> ExitCode:
    from template_lint.cli.support.lock_view import Answer
    from template_lint.lock.checking import OUT_OF_DATE, State, check_lock
    from template_lint.lock.pins import shown
    from template_lint.rendering.profiles import Profile

    assert isinstance(profile, Profile)
    if pins is None:
        raise UsageError(f"there is no {shown(place)}. Write it with `template-lint lock TARGET...`.")
    with progress_bar() as bar:
        checked = check_lock(pins, profile, offline=offline, processes=processes, progress=bar)
    _print(Answer(checked, shown(place), offline=offline), output)
    if any(model.state in OUT_OF_DATE for model in checked):
        return ExitCode.FINDINGS
    if any(model.state is State.NOT_CHECKED for model in checked) or not checked:
        return ExitCode.NOT_CHECKED
    return ExitCode.CLEAN


def _print(view: object, output: str) -> None:
    from template_lint.cli.support.lock_view import View
    from template_lint.report.json import dumps
    from template_lint.report.layout.canvas import canvas_for

    assert isinstance(view, View)
    with standard_output() as out:
        if output == "json":
            out.write(dumps(view.data()) + "\n")
            return
        for line in view.lines(canvas_for(out)):
            out.write(line + "\n")

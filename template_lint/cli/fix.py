"""``template-lint fix``: a template that may be used for training, with the proof."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from template_lint.cli.support.completion import complete_files
from template_lint.cli.support.failures import ExitCode, say
from template_lint.cli.support.outputs import atomic, standard_output
from template_lint.cli.support.pinning import choose, pin_options
from template_lint.cli.support.program import GroupedCommand
from template_lint.cli.support.settings_options import file_options, settings_from
from template_lint.errors import UsageError

if TYPE_CHECKING:
    from template_lint.cli.support.fixing import Order
    from template_lint.patches.fixing import Fix

SCHEMA_VERSION = 1

EPILOG = """\b
Examples:
  template-lint fix chat_template.jinja                       show the fix and its proof
  template-lint fix chat_template.jinja -o training.jinja     write it
  template-lint fix model/ --in-place --markers               with {% generation %}, in the folder itself
  template-lint fix Qwen/Qwen3-8B -o qwen3_training.jinja     a model on the Hub

\b
Exit codes:
  0  fixed, or nothing to fix
  1  no proven fix, or only one that alters prompts (--allow-unsafe takes it)
  2  wrong usage, or an internal error
  3  the template could not be looked at"""


@click.command("fix", cls=GroupedCommand, short_help="Repair a chat template, with the proof.", epilog=EPILOG)
@click.argument("target", shell_complete=complete_files)
@click.option(
    "-o", "--write", "path", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write it."
)
@click.option(
    "--in-place", is_flag=True, help="Write it to where it came from; a .bak file unless git has the old one."
)
@click.option("--markers", is_flag=True, help="Also mark what the model wrote with {% generation %}.")
@click.option("--allow-unsafe", is_flag=True, help="Take a fix that alters some prompts; it says which.")
@click.option("--template", metavar="NAME", help="Which template, where a target has several.")
@click.option("--tokenizer", metavar="TARGET", help="The tokenizer for a template that comes without one.")
@click.option(
    "--transformers", metavar="VERSION", help="The transformers version to mirror. [default: the installed one]"
)
@pin_options
@click.option("--offline", is_flag=True, help="Use no network; Hub targets come from the cache.")
@file_options
@click.option("--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(
    target: str,
    path: Path | None,
    in_place: bool,
    markers: bool,
    allow_unsafe: bool,
    template: str | None,
    tokenizer: str | None,
    transformers: str | None,
    pinned: bool,
    live: bool,
    offline: bool,
    config: Path | None,
    isolated: bool,
    output: str,
) -> ExitCode:
    """Repair the chat template of TARGET so that it may be used for training, and prove it.

    The training template of the library is taken where there is one; else the conditions that look ahead are replaced
    by the outcome the model saw, in the smallest edits that the proof admits. TARGET is a template file, a model
    folder, a .gguf file, a Hub repository or - for standard input.
    """
    if in_place and path is not None:
        raise UsageError("--in-place and -o exclude each other. Drop one.")
    from template_lint.cli.support.fixing import order, work
    from template_lint.cli.support.in_place import place_of, write_back
    from template_lint.engine import specs_for
    from template_lint.target import parse_target

    settings = settings_from(config, isolated).options()
    [chosen] = choose([target], pinned=pinned, live=live, lock=settings.lock)
    own = [spec.tokenizer for spec in specs_for(parse_target(chosen), settings.targets) if spec.tokenizer is not None]
    ordered = order(
        chosen,
        template=template,
        tokenizer=tokenizer or (own[-1] if own else settings.tokenizer),
        transformers=transformers or settings.transformers,
        offline=offline or settings.offline,
        markers=markers,
    )
    place = place_of(ordered.snapshot, ordered.copy) if in_place else None
    fix = work(ordered)
    with standard_output() as out:
        _show(out, target, ordered, fix, allow_unsafe, output)
    accepted = fix.origin is not None and (fix.safe or allow_unsafe)
    if accepted or (fix.origin is None and not fix.blocked):
        if path is not None:
            with atomic(path) as stream:
                stream.write(fix.source)
        if place is not None and accepted:
            backup = write_back(place, ordered.copy, fix.source)
            say(f"wrote {place}" + (f"; the old file is {backup}" if backup else ""))
    return exit_code(fix, allow_unsafe)


def exit_code(fix: Fix, allow_unsafe: bool) -> ExitCode:
    """Return 0 where the result may be used, 1 where there is no proven fix or only one that was not allowed."""
    usable = not fix.blocked and (fix.safe or allow_unsafe)
    return ExitCode.CLEAN if usable else ExitCode.FINDINGS


def _show(out: TextIO, target: str, ordered: Order, fix: Fix, allow_unsafe: bool, output: str) -> None:
    if output == "json":
        from template_lint.report.json import dumps

        out.write(dumps(_as_data(target, ordered, fix, allow_unsafe)) + "\n")
        return
    from template_lint.report.layout.escape import visible

    for line in _lines(target, fix, allow_unsafe):
        out.write(visible(line) + "\n")
    if fix.origin is not None:
        out.write("\n" + diff(ordered.copy.source, fix.source, ordered.copy.file or target))


def _lines(target: str, fix: Fix, allow_unsafe: bool) -> list[str]:
    """The answer first, then what was done, what holds, and what is left."""
    lines = [f"{target}: {answer(fix, allow_unsafe)}"]
    lines += [f"  edit: {what}" for what in fix.what]
    if fix.laws:
        by_status: dict[str, list[str]] = {}
        for law, status in fix.laws:
            by_status.setdefault(status, []).append(law)
        lines += [f"  proof: {status}: {', '.join(laws)}" for status, laws in by_status.items()]
    lines += [f"  alters: {problem}" for problem in fix.altered]
    if fix.reason:
        lines.append(f"  not fixed: {fix.reason}" if fix.remaining else f"  note: {fix.reason}")
    return lines


def answer(fix: Fix, allow_unsafe: bool) -> str:
    """The first line: whether there is a fix, from where, and whether it may be taken."""
    if fix.origin is None:
        return f"no proven fix: {', '.join(fix.blocked)}" if fix.blocked else "nothing to fix"
    source = f"the library's {fix.name}" if fix.origin == "library" else "repair"
    gained = ", ".join(dict.fromkeys(fix.restored))
    if not fix.safe and not allow_unsafe:
        return f"no safe fix; one by {source} restores {gained} but alters prompts (--allow-unsafe takes it)"
    kind = "proven" if fix.safe else "unsafe, as allowed"
    left = f"; {', '.join(fix.blocked)} left" if fix.blocked else ""
    return f"fixed by {source} ({kind}): {gained}{left}"


def diff(old: str, new: str, name: str) -> str:
    """The unified diff of two templates."""
    lines = difflib.unified_diff(_lines_of(old), _lines_of(new), name, name)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines_of(text: str) -> list[str]:
    return [line + "\n" for line in text.split("\n")][:-1] + ([text.rpartition("\n")[2]] if text[-1:] != "\n" else [])


def _as_data(target: str, ordered: Order, fix: Fix, allow_unsafe: bool) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "target": target,
        "template": ordered.copy.name,
        "profile": ordered.profile.label,
        "answer": answer(fix, allow_unsafe),
        "origin": fix.origin,
        "training_template": fix.name,
        "safe": fix.safe,
        "restored": list(fix.restored),
        "remaining": list(fix.remaining),
        "altered": list(fix.altered),
        "reason": fix.reason,
        "laws": dict(fix.laws),
        "edits": [{"line": c.line, "column": c.column, "before": c.before, "after": c.after} for c in fix.changes],
        "source": fix.source if fix.origin is not None else None,
        "diff": diff(ordered.copy.source, fix.source, ordered.copy.file or target),
    }

"""``template-lint tito``: will the buffer of a loop that never re-encodes be exactly right?"""

from __future__ import annotations

from pathlib import Path

import click

from template_lint.cli.support.completion import complete_files
from template_lint.cli.support.failures import ExitCode, say
from template_lint.cli.support.outputs import standard_output
from template_lint.cli.support.pinning import choose, pin_options
from template_lint.cli.support.program import GroupedCommand
from template_lint.cli.support.settings_options import file_options, settings_from
from template_lint.errors import CannotCheckError, TemplateSelectionError, UsageError

EPILOG = """\b
Examples:
  template-lint tito Qwen/Qwen3-8B                               the template and tokenizer of a model
  template-lint tito chat_template.jinja --tokenizer ./model/    one template with another tokenizer
  template-lint tito ./model/ --engine transformers              with the installed transformers itself
  template-lint tito ./model/ --scenario two-rounds -o json      one conversation, as data

\b
Exit codes:
  0  sound: no check fails
  1  a check fails
  2  wrong usage, or an internal error
  3  no check fails, but a target could not be checked"""


@click.command("tito", cls=GroupedCommand, short_help="Is a token-in-token-out buffer exactly right?", epilog=EPILOG)
@click.argument("targets", nargs=-1, metavar="[TARGET...]", shell_complete=complete_files)
@click.option("--tokenizer", metavar="TARGET", help="The tokenizer for templates that come without one.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Of segmentations and toy policy.")
@click.option(
    "--segmentations",
    type=click.IntRange(0, 1000),
    default=32,
    show_default=True,
    metavar="N",
    help="Other token sequences to sample for each conversation.",
)
@click.option(
    "--engine",
    type=click.Choice(["mirror", "transformers"]),
    default="mirror",
    show_default=True,
    help="Render and tokenize with ours, or with the installed transformers.",
)
@click.option(
    "--transformers", metavar="VERSION", help="The transformers version to mirror. [default: the installed one]"
)
@click.option("--scenario", "scenarios", multiple=True, metavar="NAME", help="Only this conversation. Repeatable.")
@click.option(
    "--conversations",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Your own conversations, JSON lines of messages, tools, kwargs. Repeatable.",
)
@pin_options
@click.option("--offline", is_flag=True, help="Use no network; Hub targets come from the cache.")
@file_options
@click.option("--output", "-o", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(
    targets: tuple[str, ...],
    tokenizer: str | None,
    seed: int,
    segmentations: int,
    engine: str,
    transformers: str | None,
    scenarios: tuple[str, ...],
    conversations: tuple[Path, ...],
    pinned: bool,
    live: bool,
    offline: bool,
    config: Path | None,
    isolated: bool,
    output: str,
) -> ExitCode:
    """Say whether an agentic RL loop that never re-encodes will have exactly the right buffer of token ids.

    Conversations are played with the template and tokenizer of each TARGET (a template file, model folder, .gguf file
    or Hub repository), on the processor alone. The drift table says what re-encoding would have done. Without any,
    those of the configuration are played.
    """
    from template_lint.engine import specs_for
    from template_lint.snapshot.load import expand_targets
    from template_lint.target import parse_target
    from template_lint.tito.harness import TitoOptions, run
    from template_lint.tito.report import SCHEMA_VERSION, TitoReport, as_json

    settings = settings_from(config, isolated).options()
    options = TitoOptions(
        tokenizer=tokenizer or settings.tokenizer,
        seed=seed,
        segmentations=segmentations,
        engine=engine,
        transformers=transformers or settings.transformers,
        scenarios=scenarios,
        conversations=conversations or settings.conversations,
        offline=offline or settings.offline,
    )
    reports: list[TitoReport] = []
    failures: list[dict[str, str]] = []
    configured = () if pinned or live else tuple(spec.target for spec in settings.targets)
    chosen = choose(targets or configured, pinned=pinned, live=live, lock=settings.lock)
    if not chosen:
        raise UsageError(
            "name a target, here or in the configuration, or the models of a lock with --pinned or --live."
        )
    for target in [part for text in chosen for part in expand_targets(parse_target(text))]:
        specs = specs_for(target, settings.targets)
        own = [spec.tokenizer for spec in specs if spec.tokenizer is not None]
        more = tuple(path for spec in specs for path in spec.conversations if not conversations)
        asked = options._replace(conversations=(*options.conversations, *more))
        if own and tokenizer is None:
            asked = asked._replace(tokenizer=own[-1])
        try:
            reports.append(run(target, asked))
        except (CannotCheckError, TemplateSelectionError) as error:
            failures.append({"target": target.text, "kind": error.kind, "message": str(error)})
    with standard_output() as out:
        if output == "json":
            from template_lint.report.json import dumps

            documents = [as_json(report) for report in reports]
            out.write(dumps({"schema_version": SCHEMA_VERSION, "targets": documents, "errors": failures}) + "\n")
        else:
            from template_lint.cli.support.tito_view import lines_of
            from template_lint.report.layout.canvas import canvas_for

            canvas = canvas_for(out)
            for number, report in enumerate(reports):
                for line in [*([""] if number else []), *lines_of(report, canvas)]:
                    out.write(line + "\n")
    for failure in failures:
        say(f"template-lint: {failure['message']}")
    return exit_code([report.sound for report in reports], failed=bool(failures))


def exit_code(sound: list[bool | None], *, failed: bool) -> ExitCode:
    """1 where a check fails, else 3 where something could not be checked, or nothing was there, else 0."""
    if False in sound:
        return ExitCode.FINDINGS
    if failed or None in sound or not sound:
        return ExitCode.NOT_CHECKED
    return ExitCode.CLEAN

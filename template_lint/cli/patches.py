"""``template-lint patches``: the library of training templates, and its proofs."""

from __future__ import annotations

from pathlib import Path

import click

from template_lint.cli.support.failures import ExitCode
from template_lint.cli.support.outputs import standard_output


@click.command("patches", short_help="Training templates, and the proof of each.")
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("--prove", is_flag=True, help="Ask every law of each training template against its originals.")
@click.option("--original", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="The original template.")
@click.option("--training", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="The one to prove.")
@click.option("--transformers", metavar="VERSION", help="The transformers version to mirror.")
def command(
    names: tuple[str, ...], prove: bool, original: Path | None, training: Path | None, transformers: str | None
) -> ExitCode:
    """List the training templates, print one, or prove them."""
    from template_lint.engine import PLACEHOLDER_TOKENS
    from template_lint.facts import TemplateFacts
    from template_lint.patches.proof import Expectation, sibling
    from template_lint.patches.proof import prove as prove_pair
    from template_lint.rendering.profiles import resolve_profile

    assert original and training
    facts = TemplateFacts(
        original.read_text(encoding="utf-8"), resolve_profile(transformers), variables=PLACEHOLDER_TOKENS
    )
    proof = prove_pair(facts, sibling(facts, training.read_text(encoding="utf-8")), expect=Expectation())
    with standard_output() as out:
        for result in proof.results.values():
            out.write(f"{result.law:18} {result.status.value:15} {result.asked:5} {result.reason}\n")
            if result.first:
                first = result.first
                out.write(f"    {first.scenario}, {first.count} messages, offset {first.offset}: {first.detail}\n")
                out.write(f"    expected {first.expected!r}\n    found    {first.found!r}\n")
                out.write(f"    in {', '.join(result.scenarios)}\n")
        for problem in proof.problems:
            out.write(f"problem: {problem}\n")
    return ExitCode.CLEAN if proof.ok else ExitCode.FINDINGS

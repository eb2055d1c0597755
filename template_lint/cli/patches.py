"""``template-lint patches``: the library of training templates, and its proofs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from template_lint.cli.support.failures import ExitCode, say
from template_lint.cli.support.outputs import standard_output
from template_lint.errors import UsageError

if TYPE_CHECKING:
    from template_lint.patches.index import Entry
    from template_lint.patches.library import EntryProof
    from template_lint.patches.proof import LawResult
    from template_lint.rendering.profiles import Profile

SCHEMA_VERSION = 1

EPILOG = """\b
Examples:
  template-lint patches                                            list the training templates
  template-lint patches qwen3 > chat_template.jinja                print one
  template-lint patches --prove                                    prove all, under each profile of each entry
  template-lint patches qwen3 --prove --transformers 4.57          prove one, under one profile
  template-lint patches qwen3 --prove --original chat_template.jinja
  template-lint patches --prove --original FILE --training FILE    any pair: every law must hold

\b
Exit codes:
  0  listed, printed, or everything proven
  1  a law fails, or a listed difference does not occur
  2  wrong usage, or an internal error
  3  nothing fails, but an original is not there"""

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("patches", short_help="Training templates, and the proof of each.", epilog=EPILOG)
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("--prove", is_flag=True, help="Prove the training templates against their originals.")
@click.option("--original", type=_FILE, metavar="FILE", help="Prove against this template, not the known originals.")
@click.option("--training", type=_FILE, metavar="FILE", help="Prove this template, not one of the library.")
@click.option("--tokenizer", type=click.Path(exists=True, path_type=Path), metavar="DIR", help="Ask ids too.")
@click.option("--transformers", metavar="VERSION", help="Mirror this version. [default: those of the entry]")
@click.option("--output", "-o", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(
    names: tuple[str, ...],
    prove: bool,
    original: Path | None,
    training: Path | None,
    tokenizer: Path | None,
    transformers: str | None,
    output: str,
) -> ExitCode:
    """List the training templates, print one, or prove them.

    A training template is a drop-in for the chat template of a model family, with the defects that break
    token-in-token-out loops repaired and {% generation %} around what the model writes.
    """
    if not prove:
        if original or training or tokenizer or transformers:
            raise UsageError("--original, --training, --tokenizer and --transformers go with --prove.")
        return _print(names[0]) if len(names) == 1 and output == "text" else _list(names, output)
    entries = _entries(names)
    if original is not None:
        if len(names) > 1 or (training is None and not names):
            raise UsageError("--original needs one NAME, or --training FILE.")
        proofs = [_prove_files(entries[0] if names else None, original, training, tokenizer, transformers)]
    elif training is not None:
        raise UsageError("--training needs --original FILE.")
    else:
        proofs = [proof for entry in entries for proof in _prove(entry, transformers)]
    _show(proofs, output)
    return exit_code(proofs)


def exit_code(proofs: list[EntryProof]) -> ExitCode:
    """1 where a proof fails, else 3 where one is missing or there is none, else 0."""
    if any(proof.proof is not None and not proof.proof.ok for proof in proofs):
        return ExitCode.FINDINGS
    if not proofs or any(proof.proof is None for proof in proofs):
        return ExitCode.NOT_CHECKED
    return ExitCode.CLEAN


def _entries(names: tuple[str, ...]) -> list[Entry]:
    from template_lint.patches.library import load_entries

    known = {entry.name: entry for entry in load_entries()}
    for name in names:
        if name not in known:
            import difflib

            near = difflib.get_close_matches(name, known, 1)
            hint = f"Did you mean {near[0]}?" if near else "template-lint patches lists them."
            raise UsageError(f"no training template {name!r}. {hint}")
    return [known[name] for name in names or known]


def _print(name: str) -> ExitCode:
    from template_lint.patches.index import read_source

    source = read_source(_entries((name,))[0].name)
    with standard_output() as out:
        out.write(source)
    return ExitCode.CLEAN


def _list(names: tuple[str, ...], output: str) -> ExitCode:
    from template_lint.report.json import dumps
    from template_lint.report.layout.canvas import table_canvas
    from template_lint.report.layout.table import Cell, table

    entries = _entries(names)
    with standard_output() as out:
        if output == "json":
            out.write(dumps({"schema_version": SCHEMA_VERSION, "templates": list(map(_as_data, entries))}) + "\n")
            return ExitCode.CLEAN
        rows = [
            (
                Cell(entry.name, "bold"),
                Cell(entry.family),
                Cell(", ".join(dict.fromkeys(fix.kind for fix in entry.fixes))),
                Cell(", ".join(entry.stable_roles)),
            )
            for entry in entries
        ]
        for line in table(rows, table_canvas(out), header=("name", "family", "fixes", "stable roles")):
            out.write(line + "\n")
    return ExitCode.CLEAN


def _as_data(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "family": entry.family,
        "models": list(entry.models),
        "originals": [known.sha256 for known in entry.originals],
        "fixes": [{"kind": fix.kind, "sentence": fix.sentence} for fix in entry.fixes],
        "kwargs": dict(entry.kwargs),
        "stable_roles": list(entry.stable_roles),
        "transformers": list(entry.transformers),
    }


def _prove(entry: Entry, transformers: str | None) -> list[EntryProof]:
    from template_lint.patches.index import read_source
    from template_lint.patches.library import prove_entry
    from template_lint.rendering.profiles import parse_profile

    versions = [transformers] if transformers else entry.transformers
    source = read_source(entry.name)
    return [proof for version in versions for proof in prove_entry(entry, source, parse_profile(version))]


def _prove_files(
    entry: Entry | None, original: Path, training: Path | None, tokenizer: Path | None, transformers: str | None
) -> EntryProof:
    from template_lint.patches.index import read_source
    from template_lint.patches.library import EntryProof, original_facts
    from template_lint.patches.proof import Expectation, prove, sibling
    from template_lint.rendering.profiles import resolve_profile

    profile: Profile = resolve_profile(transformers)
    facts = original_facts(original.read_text(encoding="utf-8"), profile, entry=entry, tokenizer=tokenizer)
    source = training.read_text(encoding="utf-8") if training or entry is None else read_source(entry.name)  # type: ignore[union-attr]
    expect = entry.expectation(profile) if entry else Expectation()
    name = entry.name if entry else str(training)
    return EntryProof(name, str(original), profile.label, prove(facts, sibling(facts, source), expect=expect))


def _show(proofs: list[EntryProof], output: str) -> None:
    from template_lint.report.json import dumps

    with standard_output() as out:
        if output == "json":
            out.write(dumps({"schema_version": SCHEMA_VERSION, "proofs": list(map(_proof_data, proofs))}) + "\n")
            return
        for proof in proofs:
            for line in _proof_lines(proof):
                out.write(line + "\n")
    proven = sum(proof.proof is not None and proof.proof.ok for proof in proofs)
    say(f"{proven} of {len(proofs)} proven")


def _proof_lines(item: EntryProof) -> list[str]:
    from template_lint.report.layout.escape import visible

    head = f"{item.entry} for {item.original}, transformers {item.profile}"
    if item.proof is None:
        return [f"{head}: {item.missing}"]
    if item.proof.ok:
        named = [result.law for result in item.proof.results.values() if result.status.value != "holds"]
        return [f"{head}: proven" + (f" (differs as listed, or not asked: {', '.join(named)})" if named else "")]
    lines = [f"{head}: NOT PROVEN"]
    for result in item.proof.results.values():
        lines.append(f"  {result.law:<18} {result.status.value:<15} {result.asked:>4} {result.reason}")
        lines += [f"      {visible(line)}" for line in _counterexample(result)]
    return [*lines, *[f"  problem: {visible(problem)}" for problem in item.proof.problems]]


def _counterexample(result: LawResult) -> list[str]:
    if result.first is None:
        return []
    first = result.first
    return [
        f"{first.scenario}, {first.messages} messages, offset {first.offset}: {first.detail}",
        f"expected {first.expected!r}",
        f"found    {first.found!r}",
        f"in {', '.join(result.scenarios)}",
    ]


def _proof_data(item: EntryProof) -> dict[str, Any]:
    data: dict[str, Any] = {"name": item.entry, "original": item.original, "profile": item.profile}
    if item.proof is None:
        return {**data, "proven": None, "missing": item.missing}
    laws = {
        law: {
            "status": result.status.value,
            "asked": result.asked,
            "reason": result.reason or None,
            "scenarios": list(result.scenarios),
            "differences": [difference.sentence for difference in result.occurred],
            "counterexample": None if result.first is None else result.first._replace(texts=None)._asdict(),
        }
        for law, result in item.proof.results.items()
    }
    return {
        **data,
        "proven": item.proof.ok,
        "original_sha256": item.proof.original_sha256,
        "training_sha256": item.proof.candidate_sha256,
        "problems": list(item.proof.problems),
        "laws": laws,
    }

"""docs/rules/corpus.json: what each rule finds in the corpus of public templates.

    python scripts/corpus_figures.py            # check the corpus, write the file (then: python scripts/generate.py)
    python scripts/corpus_figures.py --check    # say which figures are stale (exit 1)
    python scripts/corpus_figures.py --table    # print the table too: templates, findings, conversations that show them

Rules that need a tokenizer are asked of the templates that fit one of the six tokenizers of the tests.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts import fetch_inputs  # noqa: E402
from template_lint.config import Options  # noqa: E402
from template_lint.engine import check  # noqa: E402
from template_lint.model import Finding, Report, Severity, TemplateReport  # noqa: E402
from template_lint.rules.registry import template_entries  # noqa: E402

FIGURES = ROOT / "docs" / "rules" / "corpus.json"
TRANSFORMERS = "5.24"
FITTING = {
    "deepseek_v3": ("ByteDance-Seed-academic-ds-9B",),
    "gemma3": ("unsloth-gemma-3-270m-it",),
    "gptoss": ("openai-gpt-oss-120b", "openai-gpt-oss-safeguard-20b", "unsloth-gpt-oss-20b"),
    "llama2": ("huggyllama-llama-7b", "Featherless-Chat-Models-llama2-13b-chat-hf"),
    "llama3_1": (
        "NousResearch-Meta-Llama-3-8B-Instruct",
        "NousResearch-Meta-Llama-3.1-8B-Instruct",
        "Salesforce-Llama-xLAM-2-8b-fc-r",
        "meta-llama-Llama-3.2-3B-Instruct",
    ),
    "qwen3": (
        "Qwen-Qwen3-0.6B",
        "Qwen-Qwen3-0.6B@a55ee1",
        "Qwen-Qwen3-4B-Instruct-2507",
        "Qwen-Qwen3-4B-Thinking-2507",
        "Qwen-Qwen3-Coder-30B-A3B-Instruct",
        "Qwen-Qwen3-Embedding-8B",
        "Qwen-Qwen3-Reranker-0.6B",
    ),
}
"""Tokenizer -> templates of the corpus that belong to a model with that vocabulary.

``llama3_1`` is the tokenizer of Llama 3: it has no <|python_tag|> and no <|eom_id|>, which some templates of 3.1 write.
"""


class Row(NamedTuple):
    """One rule over many templates. ``shown`` counts the conversations that show its findings, ``findings`` those that
    stay when one cause is one finding, ``told`` those of them that no other rule's finding says too.
    """

    rule: str
    templates: int
    shown: int
    findings: int
    told: int


def check_corpus(folder: Path, jobs: int) -> Report:
    """Check every template of the corpus, as ``template-lint check FOLDER`` does."""
    return check([str(folder)], Options(transformers=TRANSFORMERS, cache=False, jobs=jobs))


def check_with_tokenizers(root: Path, jobs: int) -> list[TemplateReport]:
    """Ask the rules that need a tokenizer of the templates that fit one."""
    found = []
    for tokenizer, names in FITTING.items():
        options = Options(
            select=tuple(sorted(token_rules())),
            transformers=TRANSFORMERS,
            tokenizer=str(root / "tokenizers" / tokenizer),
            cache=False,
            jobs=jobs,
        )
        found += templates_of(check([str(root / "corpus" / f"{name}.jinja") for name in names], options))
    return found


def token_rules() -> set[str]:
    """The codes of the rules that cannot be asked without a tokenizer."""
    return {entry.code for entry in template_entries() if "tokenizer" in entry.needs}


def templates_of(report: Report) -> list[TemplateReport]:
    """All templates of a report. Raises ValueError where a target could not be read."""
    for target in report.targets:
        if target.error is not None:
            raise ValueError(f"{target.target}: {target.error.message}")
    return [template for target in report.targets for template in target.templates]


def figures(text: Iterable[TemplateReport], tokens: Iterable[TemplateReport]) -> dict[str, Any]:
    """The content of corpus.json: for each rule that was asked, templates with a finding, and findings by severity."""
    return {
        "made_by": "python scripts/corpus_figures.py",
        "corpus": next(item.requirement for item in fetch_inputs.INPUTS if item.name == "corpus"),
        "profile": TRANSFORMERS,
        "text": _figures(list(text)),
        "tokens": _figures(list(tokens)),
    }


def _figures(templates: list[TemplateReport]) -> dict[str, Any]:
    asked = Counter(code for template in templates for code in template.checked)
    rules = {code: {"asked": asked[code], "templates": 0, **_by_severity([])} for code in sorted(asked)}
    for code, findings in _by_rule(templates).items():
        rules[code] = {
            "asked": asked[code],
            "templates": len(findings),
            **_by_severity([f for found in findings for f in found]),
        }
    return {"templates": len(templates), "rules": rules}


def _by_severity(findings: list[Finding]) -> dict[str, int]:
    number = Counter(finding.severity for finding in findings)
    return {f"{severity.value}s": number[severity] for severity in sorted(Severity, key=lambda s: -s.rank)}


def _by_rule(templates: Iterable[TemplateReport]) -> dict[str, list[list[Finding]]]:
    """Code -> the findings of each template that has one."""
    found: dict[str, list[list[Finding]]] = defaultdict(list)
    for template in templates:
        for code in sorted({finding.rule for finding in template.findings}):
            found[code].append([finding for finding in template.findings if finding.rule == code])
    return dict(sorted(found.items()))


def rows(templates: Iterable[TemplateReport]) -> list[Row]:
    """The table: before duplicates are put together (conversations) and after."""
    return [
        Row(
            code,
            len(findings),
            sum(_shown(finding) for found in findings for finding in found),
            sum(map(len, findings)),
            sum(finding.suppressed is None for found in findings for finding in found),
        )
        for code, findings in _by_rule(templates).items()
    ]


def _shown(finding: Finding) -> int:
    return max(1, len(finding.evidence.get("scenarios") or ()))


def findings_per_failing(templates: Iterable[TemplateReport], least: Severity = Severity.INFO) -> float:
    """Mean number of findings, duplicates left out, from this severity on, of the templates that have an error."""
    failing = [t for t in templates if any(f.severity is Severity.ERROR for f in t.findings)]
    told = [sum(f.suppressed is None and f.severity.rank >= least.rank for f in t.findings) for t in failing]
    return statistics.fmean(told) if told else 0.0


def table(templates: list[TemplateReport]) -> Iterator[str]:
    """Lines of the table, and the means."""
    yield "rule   templates  conversations  findings  distinct"
    listed = rows(templates)
    for row in listed:
        yield f"{row.rule}  {row.templates:9}  {row.shown:13}  {row.findings:8}  {row.told:8}"
    shown, findings, told = (sum(column) for column in zip(*(row[2:] for row in listed), strict=True))
    yield f"all    {'':9}  {shown:13}  {findings:8}  {told:8}"
    failing = sum(any(f.severity is Severity.ERROR for f in t.findings) for t in templates)
    means = ", ".join(f"{findings_per_failing(templates, s):.2f} from {s.value} on" for s in Severity)
    yield f"{failing} of {len(templates)} templates have an error; mean distinct findings of one: {means}"


def stale(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """What differs between two contents of corpus.json, a line each."""
    for part in ("text", "tokens"):
        before, after = old[part]["rules"], new[part]["rules"]
        for code in sorted(before.keys() | after.keys()):
            if before.get(code) != after.get(code):
                yield f"{code}: corpus.json says {before.get(code)}, a fresh run {after.get(code)}"
    rest = [key for key in sorted(old.keys() | new.keys()) if key not in ("text", "tokens")]
    for key in rest:
        if old.get(key) != new.get(key):
            yield f"{key}: corpus.json says {old.get(key)}, now it is {new.get(key)}"


def load() -> dict[str, Any]:
    """The figures as they are committed."""
    content: dict[str, Any] = json.loads(FIGURES.read_text(encoding="utf-8"))
    return content


def main() -> int:
    """Run, compare or write, print; returns the exit code."""
    parser = argparse.ArgumentParser(description="What each rule finds in the corpus, for docs/rules.")
    parser.add_argument("--check", action="store_true", help="compare with the file, write nothing")
    parser.add_argument("--table", action="store_true", help="print the table of rules too")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    root = fetch_inputs.default_folder()
    text = templates_of(check_corpus(root / "corpus", options.jobs))
    fresh = figures(text, check_with_tokenizers(root, options.jobs))
    if options.table:
        print("\n".join(table(text)))
    lines = list(stale(load(), fresh)) if FIGURES.exists() else ["docs/rules/corpus.json is not there"]
    print("\n".join(lines) or "corpus.json is up to date")
    if not options.check:
        FIGURES.write_text(json.dumps(fresh, indent=1) + "\n", encoding="utf-8")
    return int(options.check and bool(lines))


if __name__ == "__main__":
    sys.exit(main())

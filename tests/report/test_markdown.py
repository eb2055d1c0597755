import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from template_lint.model import Anchor, BaselineUse, Report, Severity, Skipped, TargetReport, Verdict
from template_lint.report import markdown
from template_lint.report.layout.escape import visible
from template_lint.report.layout.markdown_text import code, fenced, prose
from tests.report.samples import (
    SOURCE,
    expect,
    file_target,
    full_report,
    prefix_finding,
    report,
    template_report,
    unchecked,
)
from tests.report.test_injection import HOSTILE, hostile_report, runner_commands, written

HERE = Path(__file__).parent
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
LATE = re.compile(r"@\w|#\d|https?://|www\.|:[a-z0-9_+-]+:")
EVIL = [
    *HOSTILE,
    "</details></summary><script>alert(1)</script><img src=x onerror=y>",
    "[x](https://example.org) ![y](https://example.org/y.png) <https://example.org> https://example.org www.a.org",
    "@team #1 :tada: acme/model#2 GH-3 mail@example.org",
    "```\n# heading\n\n| a | b |\n|---|---|\n| c | d |\n",
    "~~~\n> quote\n- item\n1. item\n---\n===",
    "``` ```` ` `a` | `b|c` |",
    "**bold** _it_ ~~gone~~ $x$ &amp; &#64; \\` \\| <!-- -->",
    "a\u202e\u200b\x1b[2J\u2028# b",
]


def inline(tokens: list[Token]) -> list[Token]:
    return [child for token in tokens for child in token.children or []]


def shown_text(children: list[Token]) -> str:
    """What a reader sees of inline tokens."""
    return "".join(child.content for child in children if child.type in ("text", "text_special", "code_inline"))


def headings(document: str) -> list[str]:
    tokens = PARSER.parse(document)
    return [shown_text(after.children or []) for token, after in pairwise(tokens) if token.type == "heading_open"]


def test_the_whole_page() -> None:
    expect(HERE, "full.md", written("markdown", full_report()))


def test_the_first_line_says_what_matters() -> None:
    clean, broken = file_target(template_report()), file_target(template_report(prefix_finding()), name="b.jinja")
    warned = file_target(template_report(prefix_finding(severity=Severity.WARNING)))
    blank = file_target(template_report(verdict=Verdict(tito="unrenderable")))

    def first(*targets: TargetReport) -> str:
        return written("markdown", report(*targets)).splitlines()[0]

    assert first(broken) == "## ❌ 1 error in 1 template"
    assert first(broken, clean, unchecked()) == "## ❌ 1 error in 1 of 2 templates, 1 not checked"
    assert first(warned) == "## ⚠️ 1 warning in 1 template"
    assert first(clean) == "## ✅ 1 template, no errors or warnings"
    assert first(clean, unchecked()) == "## ❓ Not everything could be checked: 1 not checked"
    assert first(blank) == "## ❓ Not everything could be checked: 1 not checked"
    assert first() == "## ❓ Not everything could be checked: no target"


def test_what_was_not_checked_stands_before_the_verdicts() -> None:
    page = written("markdown", report(file_target(template_report()), unchecked()))
    assert "- `acme/gated`: access is restricted. Log in with hf auth login." in page
    assert page.index("### Not checked") < page.index("| template |")


def test_a_template_that_renders_nothing_is_not_shown_as_well() -> None:
    page = written("markdown", report(file_target(template_report(verdict=Verdict(tito="unrenderable")))))
    assert "| ❓ | `chat_template.jinja` | renders no conversation | 0 | 0 | 0 |" in page


def test_the_fix_is_a_command_that_can_be_pasted() -> None:
    def command(name: str, tito: str = "unstable", patch: str | None = None) -> str | None:
        template = template_report(prefix_finding(), verdict=Verdict(tito=tito, patch=patch))
        page = written("markdown", report(file_target(template, name=name)))
        found = re.search(r"```sh\n(.*)\n```", page)
        return found and found[1]

    assert command("a.jinja", patch="qwen3") == "template-lint fix a.jinja"
    assert command("a b; rm -rf $(x).jinja") == "template-lint fix 'a b; rm -rf $(x).jinja'"
    assert command("-x.jinja") == "template-lint fix ./-x.jinja"
    assert command("x\n```\n.jinja") == "template-lint fix TARGET"
    assert command("a.jinja", tito="no-tools") is None


def test_a_hub_finding_names_the_file_and_the_line_of_the_template() -> None:
    target = TargetReport(target="a/b", kind="hub", repo="a/b", revision="c" * 40, anchor=Anchor("t.lock", 3))
    page = written("markdown", report(target._replace(templates=[template_report(prefix_finding())])))
    assert "#### error TL101 tool-prefix, template line 3 of `chat_template.jinja`" in page
    assert "### ❌ `a/b@cccccccccccc` breaks the prefix" in page


def test_suppressed_findings_are_counted_with_their_reasons() -> None:
    hidden = prefix_finding(suppressed="config", suppression_reason="frozen @model")
    page = written("markdown", report(file_target(template_report(prefix_finding(), hidden))))
    assert "1 finding suppressed" in page.splitlines()[2]
    assert "- TL101 tool-prefix (config: frozen @<!-- -->model)" in page


def test_rules_that_could_not_be_asked_are_listed_with_the_reason() -> None:
    skipped = [Skipped("TL102", "no tokenizer; give --tokenizer TARGET")]
    subject = report(file_target(template_report(skipped=skipped), template_report(name="b")))
    assert "- TL102: no tokenizer; give --tokenizer TARGET, in 1 of 2 templates" in written("markdown", subject)


def test_notes_and_statistics_are_on_the_page() -> None:
    subject = full_report()._replace(baseline=BaselineUse("known_`x`.json", stale=2), statistics=True)
    page = written("markdown", subject)
    assert "Note: 2 findings of known\\_`x`.json are there no more; --prune-baseline removes them." in page
    assert "<details><summary>findings by rule</summary>" in page


def test_many_clean_templates_are_folded_and_the_worst_comes_first() -> None:
    targets = [file_target(template_report(), name=f"{n}.jinja") for n in range(30)]
    targets.append(file_target(template_report(prefix_finding(severity=Severity.WARNING)), name="warned.jinja"))
    targets.append(file_target(template_report(prefix_finding()), name="broken.jinja"))
    page = written("markdown", report(*targets))
    assert "<details><summary>✅ 30 templates have no errors or warnings</summary>" in page
    assert page.index("broken.jinja") < page.index("warned.jinja") < page.index("| `0.jinja` |")


def test_a_page_says_how_much_it_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    targets = [
        file_target(template_report(prefix_finding(), prefix_finding(rule="TL104")), name=f"{n}.jinja")
        for n in range(60)
    ]
    page = written("markdown", report(*targets))
    assert "**Not told here: 20 findings in 10 more templates.**" in page
    assert len([line for line in page.splitlines() if line.startswith("### ")]) == 50
    monkeypatch.setattr(markdown, "MAX_BYTES", 30_000)
    page = written("markdown", report(*targets))
    assert len(page.encode()) < 30_000
    told = len([line for line in page.splitlines() if line.startswith("### ")])
    assert 0 < told < 50
    assert f"in {60 - told} more templates.**" in page


def test_the_page_stays_below_the_limit_of_github_whatever_is_in_it() -> None:
    source = SOURCE + "港" * 5000
    evidence = {"earlier": "港" * 3000, "later": "口" * 3000, "scenarios": ["口" * 500] * 50}
    finding = prefix_finding(source, message="`港` ##[" * 2000, remedy="|" * 5000)._replace(evidence=evidence)
    reasons = [Skipped("TL102", f"{n} " + "口" * 1000) for n in range(300)]
    template = template_report(*[finding] * 10, source=source, skipped=reasons)
    targets = [file_target(template, name=f"{'口' * 80}/{n}.jinja") for n in range(800)]
    targets += [unchecked("口" * 80 + str(n)) for n in range(300)]
    page = written("markdown", report(*targets))
    assert len(page.encode()) < 1 << 20
    assert "more templates.**" in page


@pytest.mark.parametrize("text", EVIL)
def test_hostile_text_is_text(text: str) -> None:
    page = written("markdown", hostile_report(text))
    tokens = PARSER.parse(page)
    children = inline(tokens)
    assert not {"link_open", "image", "autolink", "s_open", "em_open"} & {token.type for token in [*tokens, *children]}
    own = re.compile(r"<details><summary>[^<>]*</summary>\n*|</details>\n*")
    assert all(own.fullmatch(token.content) for token in tokens if token.type == "html_block")
    assert {token.content for token in children if token.type == "html_inline"} <= {"<!-- -->", "<code>", "</code>"}
    assert {token.tag for token in tokens if token.type == "heading_open"} <= {"h2", "h3", "h4"}
    plain = headings(written("markdown", hostile_report("x")))
    assert len(headings(page)) == len(plain)
    assert len([token for token in tokens if token.type == "tr_open"]) == 3
    assert not any(LATE.search(child.content) for child in children if child.type == "text")
    assert runner_commands(page) == []


@given(st.text() | st.text(st.sampled_from("`*_[]()<>&|~$#@:!\\{}-+. awgh1\n/")))
def test_prose_shows_any_text_as_it_is(text: str) -> None:
    [paragraph] = [token for token in PARSER.parse(f"x {prose(text)} x") if token.type == "inline"]
    children = paragraph.children or []
    assert {child.type for child in children} <= {"text", "text_special", "code_inline", "html_inline"}
    assert {child.content for child in children if child.type == "html_inline"} <= {"<!-- -->"}
    assert shown_text(children).replace("`", "") == f"x {visible(text)} x".replace("`", "")
    assert not any(LATE.search(child.content) for child in children if child.type == "text")


@given(st.text() | st.text(st.sampled_from("` |a\\")))
def test_code_shows_any_text_as_it_is(text: str) -> None:
    [paragraph] = [token for token in PARSER.parse(f"x{code(text)}x") if token.type == "inline"]
    kinds = [child.type for child in paragraph.children or []]
    assert kinds == ["text", "code_inline", "text"]
    assert (paragraph.children or [])[1].content.strip() == visible(text).strip()


@given(st.text(st.sampled_from("` |a\\")))
def test_code_in_a_cell_stays_in_it(text: str) -> None:
    tokens = PARSER.parse(f"| a | b |\n|---|---|\n| {code(text, cell=True)} | y |\n")
    cells = [after for token, after in pairwise(tokens) if token.type == "td_open"]
    assert [shown_text(cell.children or []) for cell in cells][1] == "y"


def test_a_bar_in_a_cell_is_escaped_for_every_parser() -> None:
    """GitHub's parser takes a doubled backslash before a bar for a backslash, and ends the cell."""
    assert code("a\\|`b", cell=True) == "<code>a\\\\\\|\\`b</code>"


@given(st.text(st.sampled_from("`~\na ")))
def test_no_text_ends_its_fence(text: str) -> None:
    tokens = PARSER.parse(fenced(text, "text") + "\n\nafter")
    assert [token.type for token in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]


def test_the_same_report_gives_the_same_bytes() -> None:
    subject: Report = full_report()
    assert written("markdown", subject) == written("markdown", subject)

"""``template-lint fix``: the answer, the diff, writing back, backups, exit codes. The templates are toys."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from template_lint.cli.support.program import program

TURN = (
    "{%- for m in messages %}\n"
    "{{- '<|' + m.role + '|>' + (m.content or '') }}\n"
    "{%- for c in m.tool_calls or [] %}\n"
    "{%- set a = c.function.arguments %}\n"
    "{{- c.function.name + ' ' + (a if a is string else a | tojson) }}\n"
    "{%- endfor %}\n"
)
PROMPT = "{%- endfor %}\n{%- if add_generation_prompt %}\n{{- '<|assistant|>' }}\n{%- endif %}\n"
TOOLS = "{{- tools | tojson if tools else '' }}\n"
END = "{{- '<|end|>' }}\n"
STABLE = TOOLS + TURN + END + PROMPT
BROKEN = TOOLS + TURN + "{%- if m.role == 'assistant' and loop.last %}!{%- endif %}\n" + END + PROMPT
FIXED = BROKEN.replace(" and loop.last", "")
UNSAFE = TOOLS + TURN + END + "{%- endfor %}\n{{- '<|assistant|>' }}\n"
HOPELESS = "{{- messages | length }}\n" + STABLE


def run(*words: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(program, ["fix", *map(str, words), "--transformers", "5.24"], input=stdin)


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "chat_template.jinja"
    path.write_text(BROKEN, encoding="utf-8")
    return path


def test_the_answer_the_proof_and_the_diff(broken: Path) -> None:
    result = run(broken)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == f"{broken}: fixed by repair (proven): prefix-tool"
    assert "  edit: `loop.last` is taken as true" in lines
    assert any(line.startswith("  proof: holds: prefix-tool, as-last, first-prompt") for line in lines)
    assert "-{%- if m.role == 'assistant' and loop.last %}!{%- endif %}" in lines
    assert "+{%- if m.role == 'assistant' %}!{%- endif %}" in lines
    assert broken.read_text(encoding="utf-8") == BROKEN


def test_nothing_to_fix(tmp_path: Path) -> None:
    path = tmp_path / "t.jinja"
    path.write_text(STABLE, encoding="utf-8")
    result = run(path)
    assert (result.exit_code, result.stdout) == (0, f"{path}: nothing to fix\n")


def test_the_fix_of_a_fix_is_nothing(broken: Path, tmp_path: Path) -> None:
    assert run(broken, "-o", tmp_path / "new.jinja", "--markers").exit_code == 0
    once = (tmp_path / "new.jinja").read_text(encoding="utf-8")
    assert "{% generation %}" in once.replace("{%- generation %}", "{% generation %}")
    again = run(tmp_path / "new.jinja", "--markers")
    assert (again.exit_code, again.stdout) == (0, f"{tmp_path / 'new.jinja'}: nothing to fix\n")


def test_the_diff_applies(broken: Path) -> None:
    from template_lint.cli.fix import diff

    text = diff("a\nb\nc", "a\nB\nc\n", "t.jinja")
    assert text == "--- t.jinja\n+++ t.jinja\n@@ -1,3 +1,3 @@\n a\n-b\n-c\n\\ No newline at end of file\n+B\n+c\n"


def test_an_unsafe_fix_must_be_allowed(tmp_path: Path) -> None:
    path = tmp_path / "t.jinja"
    path.write_text(UNSAFE, encoding="utf-8")
    result = run(path, "--in-place")
    assert result.exit_code == 1
    assert result.stdout.startswith(f"{path}: no safe fix; one by repair restores prefix-tool but alters prompts")
    assert "  alters: as-last fails in one-call" in result.stdout
    assert path.read_text(encoding="utf-8") == UNSAFE
    allowed = run(path, "--in-place", "--allow-unsafe")
    assert allowed.exit_code == 0
    assert "unsafe, as allowed" in allowed.stdout.splitlines()[0]
    assert "if add_generation_prompt" in path.read_text(encoding="utf-8")


def test_what_cannot_be_fixed_says_why(tmp_path: Path) -> None:
    path = tmp_path / "t.jinja"
    path.write_text(HOPELESS, encoding="utf-8")
    result = run(path, "-o", tmp_path / "new.jinja")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        f"{path}: no proven fix: prefix-tool",
        "  not fixed: prefix-tool: no edit that was tried restores it",
    ]
    assert not (tmp_path / "new.jinja").exists()


def test_in_place_with_a_backup(broken: Path) -> None:
    result = run(broken, "--in-place")
    assert result.exit_code == 0
    assert broken.read_text(encoding="utf-8") == FIXED
    assert broken.with_name("chat_template.jinja.bak").read_text(encoding="utf-8") == BROKEN
    assert result.stderr == f"wrote {broken}; the old file is {broken}.bak\n"


def test_a_backup_is_never_overwritten(broken: Path) -> None:
    broken.with_name("chat_template.jinja.bak").write_text("precious", encoding="utf-8")
    run(broken, "--in-place")
    assert broken.with_name("chat_template.jinja.bak").read_text(encoding="utf-8") == "precious"
    assert broken.with_name("chat_template.jinja.bak2").read_text(encoding="utf-8") == BROKEN


def test_where_no_backup_can_be_made_nothing_is_written(broken: Path) -> None:
    path = broken.rename(broken.with_name("x" * 249 + ".jinja"))  # with .bak it is too long for a file system
    result = run(path, "--in-place")
    assert result.exit_code == 2
    assert result.stderr.endswith(f"cannot write {path}.bak: File name too long. Use -o FILE to write elsewhere.\n")
    assert path.read_text(encoding="utf-8") == BROKEN


def test_no_backup_where_git_has_the_file(broken: Path) -> None:
    def git(*words: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(broken.parent), *identity, *words], check=True, capture_output=True)

    git("init")
    git("add", broken.name)
    git("commit", "-m", "template")
    assert run(broken, "--in-place").stderr == f"wrote {broken}\n"
    assert sorted(path.name for path in broken.parent.iterdir()) == [".git", "chat_template.jinja"]


def test_crlf_stays(tmp_path: Path) -> None:
    path = tmp_path / "t.jinja"
    path.write_bytes(BROKEN.replace("\n", "\r\n").encode())
    run(path, "--in-place")
    assert path.read_bytes() == FIXED.replace("\n", "\r\n").encode()


@pytest.mark.parametrize("named", [False, True])
def test_tokenizer_config_keeps_its_formatting(named: bool, tmp_path: Path) -> None:
    template = json.dumps(BROKEN)
    value = f'[{{"name": "default",   "template": {template}}}]' if named else template
    text = '{\n\t"eos_token" :"</s>",  "model_max_length": 1e30,\n "chat_template": ' + value + ',\n"ü": "\\u00fc"}'
    path = tmp_path / "tokenizer_config.json"
    path.write_text(text, encoding="utf-8")
    assert run(tmp_path, "--in-place").exit_code == 0
    assert path.read_text(encoding="utf-8") == text.replace(template, json.dumps(FIXED))


def test_json(broken: Path) -> None:
    data = json.loads(run(broken, "--output", "json").stdout)
    assert (data["origin"], data["safe"], data["restored"]) == ("repair", True, ["prefix-tool"])
    assert data["source"] == FIXED
    assert data["laws"]["prefix-tool"] == "holds"
    assert data["edits"] == [
        {
            "line": 8,
            "column": 8,
            "before": "m.role == 'assistant' and loop.last",
            "after": "m.role == 'assistant'",
        }
    ]


def test_standard_input() -> None:
    result = run("-", stdin=BROKEN)
    assert result.exit_code == 0
    assert result.stdout.startswith("-: fixed by repair (proven)")
    refused = run("-", "--in-place", stdin=BROKEN)
    assert refused.exit_code == 2
    assert "--in-place needs a file or a model folder" in refused.stderr


def test_a_template_that_does_not_compile_was_not_checked(tmp_path: Path) -> None:
    path = tmp_path / "t.jinja"
    path.write_text("{% if %}", encoding="utf-8")
    result = run(path)
    assert result.exit_code == 3
    assert "the template does not compile" in result.stderr


def test_a_hostile_template_ends_its_worker_only(tmp_path: Path) -> None:
    path = tmp_path / "t.jinja"
    path.write_text(
        "{{ tools }}{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}" + STABLE
    )
    result = run(path)
    assert result.exit_code in (1, 3)
    assert "nothing to fix" not in result.stdout


def test_options_that_exclude_each_other(broken: Path, tmp_path: Path) -> None:
    result = run(broken, "--in-place", "-o", tmp_path / "x.jinja")
    assert result.exit_code == 2
    assert "exclude each other" in result.stderr

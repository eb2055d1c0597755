"""The completion that docs/shell-completion.md describes, in the real shells."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "shell-completion.md"

BASH = """\
eval "$(_TEMPLATE_LINT_COMPLETE=bash_source template-lint)"
COMP_WORDS=({words}); COMP_CWORD={last}
$(complete -p template-lint | sed 's/.*-F \\([^ ]*\\) .*/\\1/') template-lint
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
# Outside of an interactive zsh there is no completion system: what it would be handed is printed instead.
ZSH = """\
compdef() {{ }}
_describe() {{ print -l -- ${{(P)3}} }}
compadd() {{ print -l -- ${{(P)argv[-1]}} }}
_path_files() {{ print -l -- *.jinja }}
eval "$(_TEMPLATE_LINT_COMPLETE=zsh_source template-lint)"
words=({words}); CURRENT={next}
_template_lint_completion
"""
FISH = """\
_TEMPLATE_LINT_COMPLETE=fish_source template-lint | source
complete -C "{line}"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    program = tmp_path / "bin" / "template-lint"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom template_lint.cli import main\nmain()\n")
    program.chmod(0o755)
    (tmp_path / "chat_template.jinja").write_text("")
    return tmp_path


def offered(shell: str, folder: Path, *words: str) -> list[str]:
    """What a shell offers behind ``template-lint WORDS``, the last of which is begun."""
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed")
    quoted = " ".join(f"'{word}'" for word in ("template-lint", *words))
    script = {"bash": BASH, "zsh": ZSH, "fish": FISH}[shell].format(
        words=quoted, last=len(words), next=len(words) + 1, line=" ".join(("template-lint", *words))
    )
    done = subprocess.run(
        [found, "--no-config" if shell == "fish" else "-f" if shell == "zsh" else "--norc", "-c", script],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=120,
        env={
            **os.environ,
            "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "HOME": str(folder),
        },
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return [re.split(r"[\t:]", line)[0] for line in done.stdout.splitlines() if line]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("ch",), {"check"}),
        (("check", "--update-"), {"--update-baseline"}),
        (("check", "--fail-on", "w"), {"warning"}),
        (("check", "--select", "TL10"), {f"TL10{number}" for number in range(1, 10)}),
        (("check", "--output", "j"), {"json", "junit"}),
        (("explain", "tool-prefix"), {"tool-prefix", "tool-prefix-tokens"}),
    ],
)
def test_what_is_offered(shell: str, words: tuple[str, ...], expected: set[str], folder: Path) -> None:
    assert expected <= set(offered(shell, folder, *words))


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_files_are_offered_for_targets(shell: str, folder: Path) -> None:
    assert "chat_template.jinja" in offered(shell, folder, "check", "chat_")


def test_bash_is_told_to_complete_files(folder: Path) -> None:
    """In bash, -o default steps in where the program offers a path: the reply itself stays empty."""
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    script = 'eval "$(_TEMPLATE_LINT_COMPLETE=bash_source template-lint)"; declare -f _template_lint_completion'
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)},
        timeout=120,
    )
    assert "compopt -o default" in done.stdout


def test_the_page_names_what_was_tried() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for shell in ("bash", "zsh", "fish"):
        assert f"_TEMPLATE_LINT_COMPLETE={shell}_source template-lint" in text

"""The house rules of ARCHITECTURE.md: one-way imports, who may print, who may use the network, what is never loaded."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parent.parent / "template_lint"

# A room may import from those before it, never from those after it.
FLOW = (
    *("errors", "version", "model", "target", "config", "workers"),
    *("snapshot", "tokenization", "rendering", "scenarios", "facts", "patches", "rules", "tito"),
    *("job", "cache", "inspection", "curation", "engine", "settings", "lock", "audit", "api", "gating"),
    *("report", "cli", "__main__"),
)
NETWORK = {"huggingface_hub", "socket", "ssl", "urllib", "http", "requests", "httpx", "aiohttp", "urllib3"}
HEAVY = ("transformers", "tokenizers", "numpy", "torch", "rich", "huggingface_hub", "yaml")


class Import(NamedTuple):
    """One imported module: where it is written, and whether only the type checker sees it."""

    file: str
    line: int
    room: str
    module: str
    typing_only: bool


def _imports() -> Iterator[Import]:
    for path, tree in _modules():
        typing_only = {
            id(child)
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            for child in ast.walk(node)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
                names = [node.module or ""]
                if node.module == "template_lint":
                    names = [f"template_lint.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            for name in names:
                yield Import(path, node.lineno, _room(path), name, id(node) in typing_only)


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for file in sorted(PACKAGE.rglob("*.py")):
        yield file.relative_to(PACKAGE).as_posix(), ast.parse(file.read_text(encoding="utf-8"))


def _room(path: str) -> str:
    return path.split("/")[0].removesuffix(".py")


IMPORTS = list(_imports())


def _against_the_flow(typing_only: bool) -> list[str]:
    found = []
    for item in IMPORTS:
        package, _, rest = item.module.partition(".")
        room = rest.split(".")[0]
        if package != "template_lint" or item.room in ("__init__", room) or item.typing_only is not typing_only:
            continue
        assert room in FLOW, f"{item.file}:{item.line}: {room} has no place in FLOW"
        if FLOW.index(room) > FLOW.index(item.room):
            found.append(f"{item.file}:{item.line}: {item.room} imports {item.module}, which comes after it")
    return found


def test_every_room_has_its_place() -> None:
    rooms = {_room(path) for path, _ in _modules()} - {"__init__"}
    assert rooms <= set(FLOW), "add a new room to FLOW here and to ARCHITECTURE.md"


def test_imports_flow_one_way() -> None:
    assert _against_the_flow(typing_only=False) == []


def test_imports_for_the_type_checker_flow_one_way() -> None:
    assert _against_the_flow(typing_only=True) == []


def test_reports_know_results_and_rules_but_not_how_they_come_about() -> None:
    allowed = {"errors", "model", "version", "rules", "lock", "audit", "report"}
    seen = {i.module.split(".")[1] for i in IMPORTS if i.room == "report" and i.module.startswith("template_lint.")}
    assert seen <= allowed


def test_rules_do_not_know_each_other() -> None:
    """What two rules share lies beside them, in a module of its own; a rule may have modules in its folder."""
    for item in IMPORTS:
        parts = item.module.split(".")
        if item.file.startswith("rules/tl") and parts[:2] == ["template_lint", "rules"]:
            if item.file.startswith("/".join(["rules", *parts[2:4], ""])):
                continue
            assert not parts[2].startswith("tl"), f"{item.file}:{item.line} imports another rule"


def test_only_snapshots_use_the_network() -> None:
    users = {item.file for item in IMPORTS if item.module.split(".")[0] in NETWORK and not item.typing_only}
    assert {_room(file) for file in users} <= {"snapshot"}, users


def test_only_the_command_line_prints_and_exits() -> None:
    calls = []
    for path, tree in _modules():
        if _room(path) == "cli":
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "print",
                "exit",
                "quit",
                "sys.exit",
                "click.echo",
            ):
                calls.append(f"{path}:{node.lineno}")
            if isinstance(node, ast.Raise) and node.exc is not None and "SystemExit" in ast.unparse(node.exc):
                calls.append(f"{path}:{node.lineno}")
    assert calls == []


TEMPLATE = "{% for m in messages %}{{ m.role ~ m.content }}{% endfor %}"
COMMAND = "import sys; sys.argv[1:] = {words!r}\nfrom template_lint.cli import main\nmain()"
# The command line leaves by os._exit, which runs no exit handlers; forked workers leave that way too, and say nothing.
CONFESS = """
import atexit, os, sys
own, leave = os.getpid(), os._exit
def confess(code=None):
    if os.getpid() == own:
        print("loaded:", *[name for name in {heavy} if name in sys.modules], file=sys.stderr, flush=True)
    if code is not None:
        leave(code)
os._exit = confess
atexit.register(confess)
"""
WORK = "from tests.rules.helper import inspect\ninspect({source!r})"


@pytest.mark.parametrize(
    "program",
    [
        COMMAND.format(words=["check", "chat_template.jinja", "--no-cache"]),
        COMMAND.format(words=["render", "chat_template.jinja"]),
        COMMAND.format(words=["rules"]),
        WORK.format(source=TEMPLATE),
    ],
    ids=["check", "render", "rules", "worker"],
)
def test_a_template_file_loads_nothing_heavy(program: str, tmp_path: Path) -> None:
    """Neither the process that prints nor what runs in a worker needs transformers to check one file."""
    (tmp_path / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
    confess = CONFESS.format(heavy=HEAVY)
    done = subprocess.run(
        [sys.executable, "-c", f"{confess}\n{program}"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        cwd=tmp_path,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if line.startswith("loaded:")] == ["loaded:"]

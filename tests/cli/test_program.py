import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from template_lint.cli.support import outputs
from template_lint.errors import UsageError
from template_lint.version import __version__
from tests.report.samples import SOURCE

Run = Callable[..., Result]

MAIN = "from template_lint.cli import main; main()"


def process(*args: str, code: str = MAIN, **streams: int) -> subprocess.CompletedProcess[str]:
    """Run the program as a process of its own."""
    root = Path(__file__).parents[2]
    environ = {**os.environ, "PYTHONPATH": str(root), "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", code, *args]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    return subprocess.run(command, text=True, env=environ, check=False, timeout=60, **pipes)


def test_version_names_the_profile(run: Run) -> None:
    result = run("--version")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"template-lint {__version__}, mirrors transformers ")


@pytest.mark.parametrize("command", ["", "check", "render", "explain", "rules", "patches"])
def test_help_of_every_command(run: Run, command: str) -> None:
    result = run(*command.split(), "--help")
    assert result.exit_code == 0
    assert f"Usage: template-lint {command}".strip() in result.stdout


def test_commands_are_found_in_the_package(run: Run) -> None:
    listed = run("--help").stdout.partition("Commands:\n")[2]
    names = [line.split()[0] for line in listed.partition("\n\n")[0].splitlines() if line[2:3].isalpha()]
    assert names == sorted(names)
    assert {"check", "explain", "patches", "render", "rules"} <= set(names)


def test_no_command_is_wrong_usage(run: Run) -> None:
    result = run()
    assert result.exit_code == 2
    assert "Usage:" in result.stderr


@pytest.mark.parametrize("name", ["chekc", "support", "nonsense", "__init__"])
def test_unknown_command(run: Run, name: str) -> None:
    result = run(name)
    assert result.exit_code == 2
    assert f"no command '{name}'. " in result.stderr
    if name == "chekc":
        assert "Did you mean 'check'?" in result.stderr


def test_check_imports_only_what_it_needs() -> None:
    code = (
        "import sys, template_lint.cli.check; "
        "print([name for name in ('rich', 'transformers', 'tokenizers', 'numpy', 'huggingface_hub', 'yaml') "
        "if name in sys.modules])"
    )
    assert process(code=code).stdout == "[]\n"


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
def test_a_reader_that_leaves_is_no_traceback(tmp_path: Path) -> None:
    template = tmp_path / "big.jinja"
    template.write_text("{% for i in range(50000) %}{{ messages[0].content }}{% endfor %}")
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = process("render", str(template), stdout=writing)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    template = tmp_path / "t.jinja"
    template.write_text(SOURCE)
    with Path("/dev/full").open("w") as full:
        done = process("render", str(template), stdout=full.fileno())
    assert done.returncode == 2
    assert done.stderr == "template-lint: cannot write to standard output: No space left on device.\n"


def test_atomic_writes_whole_files_or_none(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    with outputs.atomic(file) as stream:
        stream.write("é\n")
        assert not file.exists()
    assert file.read_bytes() == "é\n".encode()
    with pytest.raises(RuntimeError), outputs.atomic(file) as stream:
        stream.write("half")
        raise RuntimeError
    assert file.read_bytes() == "é\n".encode()
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.skipif(os.name == "nt", reason="POSIX links")
def test_atomic_writes_through_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.txt"
    link.symlink_to(tmp_path / "real" / "file.txt")
    with outputs.atomic(link) as stream:
        stream.write("x")
    assert link.is_symlink()
    assert (tmp_path / "real" / "file.txt").read_text() == "x"


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
def test_atomic_leaves_pipes_alone(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with outputs.atomic(pipe) as stream:
            stream.write("x")
        assert os.read(reading, 9) == b"x"
    finally:
        os.close(reading)
    assert list(tmp_path.iterdir()) == [pipe]


def test_atomic_says_why_it_cannot(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"), outputs.atomic(tmp_path / "no" / "file"):
        pass

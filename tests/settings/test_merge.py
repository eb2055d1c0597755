"""The command line over the file; where a value comes from; what excludes what."""

from __future__ import annotations

from pathlib import Path

import pytest

from template_lint.config import Options
from template_lint.errors import UsageError
from template_lint.model import Severity
from template_lint.settings import Settings, Value
from template_lint.settings.table import KEYS

FILE = Settings(
    Path("template-lint.yaml"),
    {
        "select": Value(("TL1", "TL2"), "template-lint.yaml:1"),
        "ignore": Value(("TL107",), "template-lint.yaml:2"),
        "extend-ignore": Value(("TL211",), "template-lint.yaml:3"),
        "fail-on": Value(Severity.WARNING, "template-lint.yaml:4"),
    },
)


def test_an_option_takes_the_place_of_its_key() -> None:
    merged = FILE.over({"fail-on": None, "ignore": ("TL102",), "cache": False})
    options = merged.options()
    assert options.fail_on is None
    assert options.ignore == ("TL102",)
    assert options.cache is False
    assert merged.values["fail-on"].origin == "--fail-on"
    assert merged.values["cache"].origin == "--no-cache"
    assert FILE.options().ignore == ("TL107",)


def test_extending_adds() -> None:
    options = FILE.over({"extend-ignore": ("TL102",), "extend-select": ("TL5",)}).options()
    assert options.select == ("TL1", "TL2")
    assert options.extend_ignore == ("TL211", "TL102")
    assert options.extend_select == ("TL5",)


def test_what_the_file_selects_the_command_line_may_ignore() -> None:
    options = FILE.over({"ignore": ("TL2",)}).options()
    assert (options.select, options.ignore) == (("TL1",), ("TL2",))


def test_selecting_starts_anew() -> None:
    options = FILE.over({"select": ("TL107",)}).options()
    assert (options.select, options.ignore, options.extend_ignore) == (("TL107",), (), ())


def test_every_key_but_two_is_a_field_of_options() -> None:
    names = {key.name.replace("-", "_") for key in KEYS}
    assert names - set(Options._fields) == {"output"}


def test_what_fails_is_shown() -> None:
    with pytest.raises(UsageError, match="min-severity error would hide what fail-on warning fails on"):
        FILE.over({"min-severity": Severity.ERROR}).options()
    assert FILE.over({"min-severity": Severity.ERROR, "fail-on": None}).options().min_severity is Severity.ERROR


def test_rows_tell_value_and_origin() -> None:
    rows = {key: (value, origin) for key, value, origin in FILE.over({"jobs": 2}).rows()}
    assert list(rows) == [key.name for key in KEYS]
    assert rows["select"] == ("TL1, TL2", "template-lint.yaml:1")
    assert rows["fail-on"] == ("warning", "template-lint.yaml:4")
    assert rows["jobs"] == ("2", "--jobs")
    assert rows["cache"] == ("true", "default")

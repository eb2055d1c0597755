"""Patterns of paths that are left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from template_lint.errors import CannotCheckError
from template_lint.snapshot.exclude import Excluder
from template_lint.snapshot.expand import expand_targets
from template_lint.target import parse_target


@pytest.mark.parametrize(
    ("pattern", "out", "kept"),
    [
        ("old.jinja", ["old.jinja", "a/old.jinja"], ["older.jinja", "old.jinja2"]),
        ("*_old.jinja", ["a_old.jinja", "b/a_old.jinja"], ["a_old.jinja.bak"]),
        ("vendor", ["vendor", "vendor/a.jinja", "x/vendor/a.jinja"], ["vendors/a.jinja"]),
        ("vendor/", ["vendor/a.jinja", "x/vendor/a.jinja"], ["vendored.jinja"]),
        ("/vendor", ["vendor/a.jinja"], ["x/vendor/a.jinja"]),
        ("models/a", ["models/a", "models/a/b/c.jinja"], ["x/models/a", "models/ab"]),
        ("models/*.jinja", ["models/x.jinja"], ["models/x/y.jinja", "x.jinja"]),
        ("models/**/old.jinja", ["models/old.jinja", "models/a/b/old.jinja"], ["old.jinja"]),
        ("models/**", ["models/a", "models/a/b"], ["model/a"]),
        ("?.jinja", ["a.jinja"], ["ab.jinja"]),
        ("a.b+(c)", ["a.b+(c)"], ["aXb+(c)"]),
    ],
)
def test_patterns(pattern: str, out: list[str], kept: list[str], tmp_path: Path) -> None:
    excluded = Excluder([pattern], tmp_path)
    assert [path for path in out if not excluded(tmp_path / path)] == []
    assert [path for path in kept if excluded(tmp_path / path)] == []
    assert excluded.count == len(out)


def test_a_folder_leaves_them_out_and_counts_them(tmp_path: Path) -> None:
    for name in ("a.jinja", "b.jinja", "old/c.jinja", "old/d.jinja"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    excluded = Excluder(["old/", "b.jinja"], tmp_path)
    assert [Path(t.text).name for t in expand_targets(parse_target(str(tmp_path)), excluded)] == ["a.jinja"]
    assert excluded.count == 2
    with pytest.raises(CannotCheckError, match=r"\(3 excluded\)"):
        expand_targets(parse_target(str(tmp_path)), Excluder(["*.jinja", "old"], tmp_path))


def test_without_patterns_nothing_is_left_out(tmp_path: Path) -> None:
    excluded = Excluder([])
    assert not excluded(tmp_path)
    assert excluded.count == 0

"""Versions: what is accepted, what each brings, which one is installed."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from template_lint.errors import UsageError
from template_lint.rendering import profiles
from template_lint.rendering.profiles import Profile, installed_profile, parse_profile, resolve_profile


@pytest.mark.parametrize(
    ("text", "expected"),
    [("4.57", (4, 57)), ("5.24.0", (5, 24)), ("v5.21", (5, 21)), ("5.0.0rc1", (5, 0)), (" 5.23.dev0 ", (5, 23)),
     ("5.24.1+cu121", (5, 24)), ("4.57.6", (4, 57)), ("6.0", (6, 0))],
)  # fmt: skip
def test_accepted(text: str, expected: tuple[int, int]) -> None:
    assert parse_profile(text).version == expected


@pytest.mark.parametrize("text", ["", "5", "latest", "5.x", "5.24 or so", "five", "-5.24", "5,24"])
def test_not_a_version(text: str) -> None:
    with pytest.raises(UsageError, match="is not a version"):
        parse_profile(text)


@pytest.mark.parametrize("text", ["4.56", "4.0", "3.9", "4.56.9"])
def test_too_old(text: str) -> None:
    with pytest.raises(UsageError, match=r"oldest version mirrored is 4\.57"):
        parse_profile(text)


@pytest.mark.parametrize(
    ("text", "aliases", "plain", "drops", "lazy", "overlap"),
    [
        ("4.57", False, False, False, True, False),
        ("5.0", False, False, False, False, True),
        ("5.20", False, False, False, False, True),
        ("5.21", True, False, False, False, True),
        ("5.22", True, False, False, False, True),
        ("5.23", True, True, False, False, True),
        ("5.24", True, True, True, False, True),
        ("6.1", True, True, True, False, True),
    ],
)
def test_features(text: str, aliases: bool, plain: bool, drops: bool, lazy: bool, overlap: bool) -> None:
    profile = parse_profile(text)
    assert profile.aliases_reasoning is aliases
    assert profile.plain_data is plain
    assert profile.drops_none is drops
    assert profile.lazy_tracker is lazy
    assert profile.masks_by_overlap is overlap


def test_labels() -> None:
    assert parse_profile("4.57").label == "4.57"
    assert parse_profile("5.24.3").label == "5.24"
    assert parse_profile("7.1").label == "7.1, mirrored as 5.24"


def test_the_installed_version_is_read_without_importing_it() -> None:
    major, minor = version("transformers").split(".")[:2]
    assert installed_profile().version == (int(major), int(minor))
    assert resolve_profile(None) == installed_profile()
    assert resolve_profile("4.57").version == (4, 57)


def install(folder: Path, release: str) -> None:
    (folder / "transformers").mkdir()
    (folder / "transformers" / "__init__.py").touch()
    (folder / f"transformers-{release}.dist-info").mkdir()


@pytest.mark.parametrize(
    ("release", "expected"), [("4.57.6", (4, 57)), ("5.21.0", (5, 21)), ("5.0.0rc1", (5, 0)), ("4.40.0", (5, 24))]
)
def test_other_installations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str, expected: tuple[int, int]
) -> None:
    install(tmp_path, release)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "missing"), str(tmp_path)])
    monkeypatch.setattr(profiles, "installed_profile", installed_profile.__wrapped__)
    assert profiles.resolve_profile(None) == Profile(version=expected)


def test_no_installation_is_the_newest_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert installed_profile.__wrapped__().version == (5, 24)

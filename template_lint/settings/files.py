"""Where the configuration file is, and reading it."""

from __future__ import annotations

from pathlib import Path

from template_lint.errors import UsageError
from template_lint.settings.merge import Settings, Value

YAML_NAMES = ("template-lint.yaml", "template-lint.yml")
PYPROJECT = "pyproject.toml"
_LARGEST = 1 << 20


def find_settings(start: Path | None = None) -> Settings:
    """The settings of the nearest configuration upwards from ``start`` (default: the current folder), or of none.

    Raises UsageError where a folder has two, and SettingsError for a mistake in it.
    """
    folder = (start or Path()).absolute()
    for candidate in (folder, *folder.parents):
        found = [path for name in YAML_NAMES if (path := candidate / name).is_file()]
        pyproject = candidate / PYPROJECT
        if pyproject.is_file() and has_table(pyproject):
            found.append(pyproject)
        if len(found) > 1:
            names = " and ".join(path.name for path in found)
            raise UsageError(f"both {names} in {candidate.as_posix()} configure template-lint. Keep one.")
        if found:
            return read_settings(found[0])
    return Settings(None, {})


def read_settings(path: Path) -> Settings:
    """The settings of one file. Raises UsageError where it cannot be read, SettingsError for a mistake in it."""
    # Most runs have no configuration: its readers are imported for one that is there.
    from template_lint.settings.document import SettingsError, read_toml, read_yaml
    from template_lint.settings.parse import parse
    from template_lint.settings.paths import Base

    base = Base(path)
    text = _text(path, base.file)
    if path.suffix.lower() == ".toml":
        root = read_toml(text, base.file)
        if root is None:
            raise SettingsError(base.file, 1, "there is no table [tool.template-lint] in it.")
    elif path.suffix.lower() in (".yaml", ".yml", ".json"):
        root = read_yaml(text, base.file)
    else:
        raise UsageError(f"cannot tell what {base.file} is. A configuration ends in .yaml, .yml, .json or .toml.")
    values = {name: Value(found.value, f"{base.file}:{found.line}") for name, found in parse(root, base).items()}
    return Settings(path, values)


def _text(path: Path, shown: str) -> str:
    try:
        data = path.read_bytes()
        if len(data) > _LARGEST:
            raise UsageError(f"{shown} has {len(data):,} bytes: that is no configuration.")
        return data.decode("utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"there is no configuration {shown}. `template-lint init` writes one.") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{shown} is not UTF-8 at byte {error.start}.") from None
    except OSError as error:
        raise UsageError(f"cannot read {shown}: {error.strerror or error}.") from None


def has_table(path: Path) -> bool:
    """Whether a pyproject.toml configures template-lint. Raises UsageError where it cannot be read."""
    text = _text(path, path.as_posix())
    if "template-lint" not in text:
        return False
    from template_lint.settings.document import read_toml
    from template_lint.settings.paths import Base

    return read_toml(text, Base(path).file) is not None

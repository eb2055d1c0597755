"""Settings and where each came from; what the command line says goes over what the file says."""

# No postponed annotations: NamedTuple would compile each of them at start-up.
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from template_lint.config import Options, TargetSpec
from template_lint.errors import UsageError
from template_lint.settings.table import KEYS

SELECTION = ("select", "ignore", "extend-select", "extend-ignore")
_NOT_OPTIONS = ("output",)


class Value(NamedTuple):
    """A value and where it was set: ``FILE:LINE`` or ``--option``."""

    value: Any
    origin: str


class Settings(NamedTuple):
    """What is set, by key. ``file`` is the configuration file, None where there is none."""

    file: Path | None
    values: Mapping[str, Value]

    @property
    def targets(self) -> tuple[TargetSpec, ...]:
        """The targets that the file names, in its order."""
        found: tuple[TargetSpec, ...] = self.get("targets", ())
        return found

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or the default."""
        found = self.values.get(key)
        return default if found is None else found.value

    def origin(self, key: str) -> str:
        """Where a key was set: ``FILE:LINE`` or ``--option``; empty where it was not."""
        found = self.values.get(key)
        return "" if found is None else found.origin

    def over(self, given: Mapping[str, Any]) -> "Settings":
        """These settings with those of the command line over them. ``extend-*`` adds; ``select`` starts anew.

        What the file selects in so many words, the command line may ignore.
        """
        values = dict(self.values)
        if "select" in given:
            values = {key: value for key, value in values.items() if key not in SELECTION}
        if "ignore" in given and "select" not in given and "select" in values:
            before = values["select"]
            left = tuple(word for word in before.value if word not in given["ignore"])
            values["select"] = before._replace(value=left or before.value)
        for key, value in given.items():
            origin = f"--{key}" if not (isinstance(value, bool) and not value) else f"--no-{key}"
            if key.startswith("extend-") and key in values:
                before = values[key]
                values[key] = Value((*before.value, *value), f"{before.origin}, {origin}")
            else:
                values[key] = Value(value, origin)
        return self._replace(values=values)

    def options(self) -> Options:
        """The options of a run. Raises UsageError where two settings exclude each other."""
        given = {key: value.value for key, value in self.values.items() if key not in _NOT_OPTIONS}
        fields = {key.replace("-", "_"): value for key, value in given.items()}
        exclude = self.values.get("exclude")
        if exclude is not None and self.file is not None and not exclude.origin.startswith("--"):
            fields["exclude_root"] = self.file.absolute().parent
        options = Options(**fields)
        self._refuse_hidden_failures(options)
        return options

    def _refuse_hidden_failures(self, options: Options) -> None:
        if options.fail_on is not None and options.min_severity.rank > options.fail_on.rank:
            shown, fails = options.min_severity.value, options.fail_on.value
            raise UsageError(
                f"min-severity {shown} would hide what fail-on {fails} fails on. Raise fail-on, or lower it."
            )

    def rows(self) -> list[tuple[str, str, str]]:
        """(key, value, origin) of every key, in the order of the reference; what is not set has its default."""
        rows = []
        for key in KEYS:
            value = self.values.get(key.name)
            if value is None:
                rows.append((key.name, key.default, "default"))
            else:
                rows.append((key.name, shown(value.value), value.origin))
        return rows


def shown(value: Any) -> str:
    """A value as one line of text."""
    if value is None:
        return "never"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, TargetSpec):
        ignores = f" ({sum(len(ignore.rules) for ignore in value.ignore)} ignored)" if value.ignore else ""
        return value.target + ignores
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={shown(item)}" for key, item in value.items()) or "none"
    if isinstance(value, (tuple, list)):
        return ", ".join(map(shown, value)) or "none"
    if isinstance(value, frozenset):
        return ", ".join(sorted(value)) or "none"
    return str(getattr(value, "value", value))

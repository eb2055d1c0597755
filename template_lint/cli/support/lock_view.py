"""What ``lock`` says: the answer first, then a line per model, then what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

from template_lint.lock.building import Built
from template_lint.lock.checking import OUT_OF_DATE, Checked, State
from template_lint.lock.model import LockEntry
from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.escape import visible
from template_lint.report.layout.summary import count

SCHEMA_VERSION = 1
_LABELS = {
    State.OK: ("ok   ", "bold green"),
    State.MOVED: ("note ", "bold blue"),
    State.UNSEEN: ("note ", "bold blue"),
    State.NOT_CHECKED: ("NOT CHECKED ", "bold magenta"),
}
_FAILED = ("FAIL ", "bold red")


@runtime_checkable
class View(Protocol):
    """Something to be printed."""

    def lines(self, canvas: Canvas) -> Iterator[str]:
        """The text for a person."""
        ...

    def data(self) -> dict[str, Any]:
        """The same for a program."""
        ...


class Answer:
    """The answer of ``lock --check``."""

    def __init__(self, checked: Sequence[Checked], file: str, *, offline: bool) -> None:
        self.checked = checked
        self.file = file
        self.offline = offline
        self.bad = [model for model in checked if model.state in OUT_OF_DATE]
        self.unseen = [model for model in checked if model.state is State.NOT_CHECKED]

    def lines(self, canvas: Canvas) -> Iterator[str]:
        """The answer, every model that is not simply as pinned, the commands."""
        yield from canvas.hang("", visible(self._answer()))
        for model in self.checked:
            if model.state is State.OK and (self.bad or self.unseen or len(self.checked) > 20):
                continue
            label, style = _LABELS.get(model.state, _FAILED)
            where = f"{self.file}:{model.entry.line}: "
            message = model.message.removeprefix(where)
            yield from canvas.hang(label, visible(f"{model.entry.name}: {message}"), style=style, rest="     ")
        for command in self.commands():
            yield from canvas.hang("do: ", command, rest="    ")

    def _answer(self) -> str:
        total = count(len(self.checked), "model")
        if not self.checked:
            return f"{self.file} pins no model."
        if self.bad:
            rest = f", {len(self.unseen)} not checked" if self.unseen else ""
            return f"{self.file} is out of date for {len(self.bad)} of {total}{rest}."
        if self.unseen:
            return f"{self.file} could not be checked for {len(self.unseen)} of {total}."
        if self.offline:
            looked = sum(model.state is not State.UNSEEN for model in self.checked)
            return f"{self.file} is as it was written ({total}; the files of {looked} were looked at; offline)."
        return f"{self.file} is up to date ({total})."

    def commands(self) -> list[str]:
        """What to run."""
        behind = [model.entry.name for model in self.bad if model.state is State.BEHIND]
        stale = [model.entry.name for model in self.bad if model.state is not State.BEHIND]
        found = []
        if behind:
            review = f"`template-lint diff {behind[0]}`"
            found.append(f"review with {review}, accept with `template-lint lock --upgrade{_names(behind)}`")
        if stale:
            found.append(f"refresh with `template-lint lock{_names(stale)}`, and look at the change")
        return found

    def data(self) -> dict[str, Any]:
        """All of it as plain data."""
        state = "out-of-date" if self.bad else "not-checked" if self.unseen or not self.checked else "up-to-date"
        return {
            "schema_version": SCHEMA_VERSION,
            "lock": self.file,
            "state": state,
            "offline": self.offline,
            "models": [
                {
                    "name": model.entry.name,
                    "line": model.entry.line,
                    "state": model.state.value,
                    "message": model.message,
                    "revision": model.entry.revision,
                    "live": model.live,
                    "files": list(model.files),
                }
                for model in self.checked
            ],
            "commands": self.commands(),
        }


class Written:
    """What ``lock`` wrote."""

    def __init__(self, built: Built, file: str, stored: int, unchanged: bool) -> None:
        self.built = built
        self.file = file
        self.stored = stored
        self.unchanged = unchanged

    def lines(self, canvas: Canvas) -> Iterator[str]:
        """What became of the lock, and of each model that is new, another, or could not be looked at."""
        yield from canvas.hang("", visible(self._answer()))
        for entry in self.built.added:
            yield from canvas.hang(
                "new  ", visible(f"{entry.name}{_at(entry)}: {_verdicts(entry)}"), style="bold green"
            )
        for old, new in self.built.changed:
            moved = f" {_short(old)} -> {_short(new)}" if old.revision != new.revision else _at(new)
            was, now = _verdicts(old), _verdicts(new)
            text = now if was == now else f"{was} -> {now}"
            yield from canvas.hang("new  ", visible(f"{new.name}{moved}: {text}"), style="bold yellow")
        for report in self.built.failed:
            assert report.error is not None
            text = f"{report.repo or report.target}: {report.error.message}"
            yield from canvas.hang("NOT CHECKED ", visible(text), style="bold magenta", rest="     ")
        if self.stored:
            vendor = self.built.lock.vendor if self.built.lock is not None else ""
            yield f"stored {count(self.stored, 'file')} in {visible(vendor or '')}"

    def _answer(self) -> str:
        lock = self.built.lock
        if lock is None:
            return f"{self.file} was not written: {count(len(self.built.failed), 'model')} could not be looked at."
        total = count(len(lock.entries), "model")
        kept = "; what could not be looked at is as it was" if self.built.failed else ""
        if self.unchanged:
            return f"{self.file} is unchanged ({total}, transformers {lock.transformers}){kept}."
        return f"wrote {self.file}: {total}, transformers {lock.transformers}{kept}."

    def data(self) -> dict[str, Any]:
        """All of it as plain data."""
        lock = self.built.lock
        return {
            "schema_version": SCHEMA_VERSION,
            "lock": self.file,
            "written": lock is not None and not self.unchanged,
            "models": [] if lock is None else [entry.name for entry in lock.entries],
            "added": [entry.name for entry in self.built.added],
            "changed": [
                {"name": new.name, "from": old.revision, "to": new.revision} for old, new in self.built.changed
            ],
            "errors": [
                {"name": report.repo or report.target, "kind": report.error.kind, "message": report.error.message}
                for report in self.built.failed
                if report.error is not None
            ],
            "stored": self.stored,
        }


class Removed:
    """What ``lock --remove`` took out."""

    def __init__(self, names: list[str], file: str, left: int) -> None:
        self.names = names
        self.file = file
        self.left = left

    def lines(self, canvas: Canvas) -> Iterator[str]:
        """One line."""
        yield from canvas.hang(
            "", visible(f"took {', '.join(self.names)} out of {self.file}; {count(self.left, 'model')} left.")
        )

    def data(self) -> dict[str, Any]:
        """The same as plain data."""
        return {"schema_version": SCHEMA_VERSION, "lock": self.file, "removed": self.names, "left": self.left}


def _names(names: Sequence[str]) -> str:
    """Names for a command line; all of them are meant by none where there are many."""
    return "".join(f" {name}" for name in names) if len(names) <= 5 else ""


def _short(entry: LockEntry) -> str:
    return (entry.revision or "")[:12]


def _at(entry: LockEntry) -> str:
    return f" {_short(entry)} ({entry.requested})" if entry.revision else ""


def _verdicts(entry: LockEntry) -> str:
    words = []
    for template in entry.templates:
        word = template.verdict + (f", training template {template.patch.name}" if template.patch else "")
        words.append(word if len(entry.templates) == 1 else f"{template.name} {word}")
    return "; ".join(words) or "no chat template"

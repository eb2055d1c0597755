"""What a rule is: a stateless class whose ``check`` turns the facts of one template into findings."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from template_lint.model import Finding, Place, Severity

if TYPE_CHECKING:
    from template_lint.facts import TemplateFacts

EXAMPLE_SUFFIXES = (".jinja", ".json")


class Skip(Exception):
    """Raised by ``check`` where the question cannot be asked of this template; carries the reason."""


class Example(NamedTuple):
    """An example that lies beside the rule: ``bad*`` must give a finding of this rule, ``good*`` must not."""

    name: str
    source: str


class FolderExample(NamedTuple):
    """An example that takes more than a template, such as a tokenizer: a small model folder, its files by name."""

    name: str
    files: dict[str, str]


class Rule:
    """One rule. The docstring is its page: a summary line, then what it finds, why it matters, how to fix it.

    ``stage`` says who asks it. ``template``: ``check`` is given the facts of one template, in a worker. The room
    that finds what rules of other stages name makes their findings with ``finding``: ``curation`` (about what hides
    findings; example templates as ever), ``target``, ``drift`` and ``audit`` (about more than one template: a
    transcript, ``example.txt``, lies beside the rule instead of example templates).

    ``needs`` names what must be there for the question to make sense: ``template`` (one was found), ``syntax`` (it
    compiles), ``tools`` (it knows tools, or the user insists), ``generation`` (it has the tag), ``tokenizer``,
    ``snapshot`` (the files around the template). A rule whose needs are not met is skipped with the reason, and is not
    even imported.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[Severity]
    stage: ClassVar[str] = "template"
    needs: ClassVar[tuple[str, ...]] = ("template", "syntax")

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Yield the findings. Pure: the same facts give the same findings. Raises Skip with a reason."""
        raise AssertionError(f"{type(self).__name__} has no check")

    def finding(
        self,
        facts: TemplateFacts | None,
        message: str,
        *,
        remedy: str,
        place: Place | None = None,
        scenario: str | None = None,
        evidence: dict[str, Any] | None = None,
        severity: Severity | None = None,
        file: str | None = None,
        defects: Sequence[str] = (),
        brief: str = "",
    ) -> Finding:
        """A finding of this rule; ``facts`` are those of the template it is about, None where it is about more.

        ``defects`` and ``brief`` say what another rule may see too: ``rules/defects.py`` has the names.
        """
        return Finding(
            rule=self.code,
            name=self.name,
            severity=severity or self.severity,
            message=message,
            remedy=remedy,
            file=file if file is not None or facts is None else facts.file,
            place=place,
            scenario=scenario,
            evidence=evidence or {},
            defects=list(defects),
            brief=brief,
        )

    @classmethod
    def transcript(cls) -> str | None:
        """The text of ``example.txt`` beside the rule, or None."""
        path = Path(inspect.getfile(cls)).parent / "example.txt"
        return path.read_text(encoding="utf-8") if path.is_file() else None

    @classmethod
    def examples(cls) -> list[Example | FolderExample]:
        """The examples that lie beside the rule, by name: templates, single JSON files, small model folders."""
        folder = Path(inspect.getfile(cls)).parent
        paths = sorted(path for path in folder.iterdir() if path.name.startswith(("bad", "good")))
        return [_read_example(path) for path in paths if path.is_dir() or path.suffix in EXAMPLE_SUFFIXES]


def _read_example(path: Path) -> Example | FolderExample:
    if path.is_dir():
        files = {file.name: file.read_text(encoding="utf-8") for file in sorted(path.iterdir())}
        return FolderExample(path.name, files)
    return Example(path.name, path.read_text(encoding="utf-8"))


def write_example(example: Example | FolderExample, folder: Path) -> Path:
    """Write an example below ``folder`` so that the linter knows it for what it is, and return the target to check.

    A template is known by its suffix, a config by its name (NAME/tokenizer_config.json), a model folder by its files.
    """
    path = folder / example.name
    if isinstance(example, FolderExample):
        path.mkdir()
        for name, text in example.files.items():
            (path / name).write_text(text, encoding="utf-8")
        return path
    if path.suffix == ".json":
        path.mkdir()
        path /= "tokenizer_config.json"
    path.write_text(example.source, encoding="utf-8")
    return path

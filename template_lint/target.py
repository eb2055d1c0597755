"""What the user typed -> Target. Decides the kind only; opens nothing and reaches no network."""

# No postponed annotations: NamedTuple would compile each of them at start-up.
import enum
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from template_lint.errors import UsageError
from template_lint.model import Anchor


class TargetKind(enum.Enum):
    """The kinds of the JSON contract."""

    FILE = "file"
    DIRECTORY = "directory"
    HUB = "hub"
    GGUF = "gguf"
    STDIN = "stdin"


class Pin(NamedTuple):
    """What a lock says of a target: the sha256 (hex) of each of its files, and where it says so.

    ``folder`` holds the stored files, None where there are none; ``shown_folder`` is it as the user should see it.
    ``problem`` says why the pin itself is not to be trusted.
    """

    files: Mapping[str, str]
    anchor: Anchor
    folder: Path | None = None
    shown_folder: str = ""
    problem: str | None = None

    @property
    def comes_from_hub(self) -> bool:
        """Whether the files have to be fetched."""
        return self.folder is None and self.problem is None


class Target(NamedTuple):
    """One thing to check. ``path`` is set for files, folders and GGUF; ``repo`` and ``revision`` for the Hub.

    A target with a ``pin`` is loaded as the lock has it, or not at all.
    """

    text: str
    kind: TargetKind
    path: Path | None = None
    repo: str | None = None
    revision: str | None = None
    pin: Pin | None = None


# The Hub's own rule for repository names: one optional owner, letters, digits, '.', '_' and '-', at most 96 characters.
_REPO = r"^(?P<repo>[\w][\w.-]*(?:/[\w.-]+)?)(?:@(?P<revision>[^\s@]+))?$"


def parse_target(text: str | Target) -> Target:
    """Turn one command-line word into a Target; what is one already stays as it is.

    An existing path wins; else ``org/name[@revision]`` is a Hub repository; ``hf:`` says so explicitly; ``-`` is
    stdin. Raises UsageError where none of these fits.
    """
    if isinstance(text, Target):
        return text
    if text == "-":
        return Target(text=text, kind=TargetKind.STDIN)
    if text.startswith("hf:"):
        return _hub(text, text[3:])
    if not text.strip():
        raise UsageError("the target is empty. Give a path, org/name[@revision], or - for standard input.")
    path = Path(text)
    try:
        if path.is_dir():
            return Target(text=text, kind=TargetKind.DIRECTORY, path=path)
        if path.exists():
            kind = TargetKind.GGUF if path.suffix.lower() == ".gguf" else TargetKind.FILE
            return Target(text=text, kind=kind, path=path)
    except OSError as error:
        raise UsageError(f"cannot look at {text!r}: {error.strerror or error}. Check the path.") from None
    if _may_be_hub(text):
        return _hub(text, text)
    raise UsageError(
        f"no such file or folder: {text!r}. Give a template file, a model folder, a .gguf file, "
        "org/name[@revision] for the Hub, or - for standard input."
    )


def _may_be_hub(text: str) -> bool:
    """Whether a word that is no path can only mean the Hub; a revision may hold slashes (``refs/pr/1``)."""
    repo = text.partition("@")[0]
    endings = (".jinja", ".jinja2", ".j2", ".json", ".gguf", "/")
    is_path = repo.startswith((".", "/", "~")) or repo.lower().endswith(endings)
    return repo.count("/") == 1 and not is_path


def _hub(text: str, name: str) -> Target:
    match = re.match(_REPO, name, re.ASCII)
    if match is None or len(match["repo"]) > 96 or ".." in name or "--" in match["repo"]:
        raise UsageError(f"{text!r} is not a Hub repository name. Write org/name or org/name@revision.")
    return Target(text=text, kind=TargetKind.HUB, repo=match["repo"], revision=match["revision"])

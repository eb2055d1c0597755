"""The parser of responses that a model brings along: ``response_template`` of its tokenizer_config.json.

It is applied by the installed transformers. ``response_template`` is read from 5.13 on; its forerunner
``response_schema`` was read by 5.0 to 5.14, and later versions drop it without a word. Both were looked up in the
released packages. Nothing but tokenizer_config.json is a source of either.
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from template_lint.rendering.limits import Limits, RenderStopped, check_output, trusted_memory

if TYPE_CHECKING:
    from template_lint.facts.template_facts import TemplateFacts

TEMPLATE_KEY = "response_template"
SCHEMA_KEY = "response_schema"
CONFIG_FILE = "tokenizer_config.json"
_FIRST_TEMPLATE = (5, 13)
_SCHEMA_READ = (5, 0), (5, 14)
_MOST_OF_A_PROBLEM = 240
_MOST_READ = 100_000


class Parsed(NamedTuple):
    """What the parser made of one response.

    ``message`` is plain JSON data; None where there is none, and ``problem`` then says why: what the parser raised,
    or which bound it reached (``stopped``).
    """

    message: dict[str, Any] | None
    problem: str = ""
    stopped: bool = False


class ResponseParser:
    """The installed transformers with one ``response_template``, which may be anything that JSON can hold.

    Every question has the time and memory of one render.
    """

    def __init__(self, template: Any, module: Any, version: str) -> None:
        self.version = version
        self._template = template
        self._module = module
        self._limits = Limits()
        self.takes_tools = "tools" in inspect.signature(module.parse_response).parameters
        """From 5.15 arguments that are written as text get the types of the tool's schema."""

    def invalid(self) -> Parsed | None:
        """What transformers says of the template itself; None where it accepts it."""
        built = self._ask(lambda: {"built": bool(self._module.ResponseParser(self._template, prefix=""))})
        return None if built.message is not None else built

    def parse(self, text: str, prefix: str, tools: Sequence[Any]) -> Parsed:
        """A response, given the prompt before it and the tools of its conversation."""
        more = {"tools": list(tools)} if self.takes_tools and tools else {}
        return self._ask(lambda: self._module.parse_response(text, self._template, prefix=prefix, **more))

    def _ask(self, question: Callable[[], Any]) -> Parsed:
        try:
            with self._limits:
                # A stranger's transform can make much out of little: what comes back is measured before it is used.
                message = json.loads(check_output(json.dumps(question())))
        except RenderStopped as stop:
            self._limits.settle()
            return Parsed(None, str(stop), stopped=True)
        except Exception as error:  # whatever the parser lets escape for this template
            return Parsed(None, _described(error))
        return Parsed(message)


def _described(error: Exception) -> str:
    """Type and message; of a message of several lines the first, and the one that says what is wrong with the text."""
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    first, *rest = text[:_MOST_READ].splitlines() or [""]
    why = [line for line in rest[-1:] if line.startswith("Error: ")]
    said = " ".join([first, *why])[:_MOST_OF_A_PROBLEM]
    printable = "".join(character if character.isprintable() else repr(character)[1:-1] for character in said)
    return f"{type(error).__name__}: {printable}"


def response_config(facts: TemplateFacts) -> Mapping[str, Any]:
    """The keys of the config that describe a parser of responses; null counts as absent, as in transformers."""
    config = facts.snapshot.config if facts.snapshot is not None else {}
    return {key: config[key] for key in (TEMPLATE_KEY, SCHEMA_KEY) if config.get(key) is not None}


def config_file(facts: TemplateFacts) -> str:
    """The file that holds these keys, as the user knows it."""
    files = facts.snapshot.files if facts.snapshot is not None else {}
    return next((name for name in files if name.endswith(CONFIG_FILE)), CONFIG_FILE)


def load_response_parser(facts: TemplateFacts) -> ResponseParser | str | None:
    """The parser, the reason why what the config has cannot be applied, or None where it has nothing."""
    config = response_config(facts)
    version, label = facts.profile.version, facts.profile.label
    if TEMPLATE_KEY in config:
        if version < _FIRST_TEMPLATE:
            return f"transformers {label} reads no {TEMPLATE_KEY} (5.13 and newer do)"
        return _import(config[TEMPLATE_KEY])
    if SCHEMA_KEY in config:
        first, last = _SCHEMA_READ
        if first <= version <= last:
            return f"{SCHEMA_KEY} is not applied here: only transformers 5.0 to 5.14 read it"
        return f"transformers {label} ignores {SCHEMA_KEY}: only 5.0 to 5.14 read it, newer ones {TEMPLATE_KEY}"
    return None


def _import(template: Any) -> ResponseParser | str:
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    try:
        with trusted_memory():
            import transformers
            from transformers.utils import chat_parsing
    except Exception as error:  # importing a package of that size can fail in many ways
        installed = installed_transformers()
        found = f"transformers {installed}" if installed else "no transformers"
        why = f"it takes transformers 5.13 or newer, and {found} is installed"
        path = getattr(error, "path", None)
        said = _described(error).replace(f" ({path})", "")
        return f"{TEMPLATE_KEY} is not applied: {why} ({said})"
    return ResponseParser(template, chat_parsing, transformers.__version__)


def installed_transformers() -> str | None:
    """The full version of the transformers installed beside us, without importing it."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("transformers")
    except PackageNotFoundError:
        return None

"""The Jinja environment that apply_chat_template builds, per profile. Nothing more, nothing less.

Source: transformers/utils/chat_template_utils.py of 4.57.6 and 5.24.0.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from functools import cached_property, lru_cache
from types import BuiltinMethodType, FrameType, NoneType
from typing import TYPE_CHECKING, Any, TypeVar

import jinja2
import jinja2.ext
from jinja2 import nodes
from jinja2.parser import Parser
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedEnvironment
from jinja2.utils import Namespace

from template_lint.rendering.positions import PositionLexer
from template_lint.rendering.profiles import Profile
from template_lint.rendering.sites import MarkingCodeGenerator

if TYPE_CHECKING:
    import datetime

    Clock = Callable[[], datetime.datetime]


def pinned_now() -> datetime.datetime:
    """One instant for every render, so that a template that prints the date gives the same prompt every day."""
    import datetime

    return datetime.datetime(2026, 1, 15, 12, 30, 0)


def later_now() -> datetime.datetime:
    """Another instant, which differs in every field."""
    import datetime

    return datetime.datetime(2027, 2, 16, 7, 5, 9)


class GenerationTag(jinja2.ext.Extension):
    """``{% generation %}``: marks what the model wrote. Spans are recorded while ``tracking`` is set."""

    tags = {"generation"}  # noqa: RUF012  (Jinja's own class attribute)

    def __init__(self, environment: jinja2.Environment) -> None:
        super().__init__(environment)
        self.tracking: tuple[list[str], list[tuple[int, int]]] | None = None
        self.lazy = False

    def parse(self, parser: Parser) -> nodes.Node:
        """Parse to a CallBlock, as transformers does, so that scoping is the same."""
        lineno = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_generation_support"), [], [], body).set_lineno(lineno)

    @jinja2.pass_eval_context
    def _generation_support(self, context: nodes.EvalContext, caller: Callable[[], str]) -> str:
        text = caller()
        if self.tracking is not None:
            blocks, spans = self.tracking
            if blocks or spans or not self.lazy:
                start = sum(map(len, blocks))
                spans.append((start, start + len(text)))
        return text


class _TemplateDict:
    """The ``dict`` global from 5.23: callable, with ``fromkeys``, and nothing else of the type."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict.fromkeys(*args, **kwargs)


# Messages of Jinja name it, and shall name what transformers has.
_TemplateDict.__module__, _TemplateDict.__name__ = "transformers.utils.chat_template_utils", "TemplateDict"


class _TemplateNamespace(Namespace):
    """The ``namespace`` global from 5.23: refuses names that begin with an underscore."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        # Like Jinja's own: ``namespace(self=1)`` must work, so ``self`` is taken from args.
        self, rest = args[0], args[1:]
        attributes = dict(*rest, **kwargs)
        for name in attributes:
            _refuse_underscore(name)
        Namespace.__init__(self, attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        _refuse_underscore(name)
        super().__setitem__(name, value)


def _refuse_underscore(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise jinja2.exceptions.SecurityError(
            f"a namespace cannot hold the attribute {name!r}: names that begin with an underscore are refused"
        )


def _raise_exception(message: Any) -> None:
    raise jinja2.exceptions.TemplateError(message)


def _tojson(
    x: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    if separators is None and type(indent) in (int, NoneType) and type(ensure_ascii) is type(sort_keys) is bool:
        return _encoder(ensure_ascii, indent, sort_keys).encode(x)
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


@lru_cache(maxsize=64)
def _encoder(ensure_ascii: bool, indent: int | None, sort_keys: bool) -> json.JSONEncoder:
    """What ``json.dumps`` makes anew for each call."""
    return json.JSONEncoder(ensure_ascii=ensure_ascii, indent=indent, sort_keys=sort_keys)


# What a template mostly reaches into. For these the sandbox's answer depends on type and name alone.
_PLAIN_TYPES = frozenset({str, list, dict, tuple, int, float, bool, LoopContext, Namespace, _TemplateNamespace})
_DICT_ATTRIBUTES = frozenset(dir(dict))
_FORMATTING = frozenset({"format", "format_map"})  # the sandbox wraps them
_MOST_REMEMBERED = 4096
_MOST_REFUSALS = 32
MUTATORS = frozenset({"append", "clear", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault"}) | {
    "sort",
    "update",
}
"""Methods of lists and mappings that the immutable sandbox refuses."""
_safe: dict[tuple[type, str], bool] = {}


class ChatEnvironment(ImmutableSandboxedEnvironment):
    """The sandbox of apply_chat_template, with a lexer that keeps columns.

    ``getattr``, ``is_safe_attribute`` and ``call`` answer as Jinja's do, and remember or go straight to it where the
    type alone decides: half of all rendering time is spent there.
    """

    code_generator_class = MarkingCodeGenerator
    clock: Clock

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.refusals: dict[tuple[str, str], int | None] = {}

    def unsafe_undefined(self, obj: Any, attribute: str) -> jinja2.Undefined:
        """What a template gets for an attribute that the sandbox refuses. Remembered: (name, type) -> template line."""
        key = str(attribute)[:100], type(obj).__name__
        if key not in self.refusals and len(self.refusals) < _MOST_REFUSALS:
            self.refusals[key] = _running_line()
        return super().unsafe_undefined(obj, attribute)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """``obj.attribute`` in a template."""
        kind = type(obj)
        if kind is dict:
            if attribute not in _DICT_ATTRIBUTES:
                try:
                    return obj[attribute]
                except KeyError:
                    return self.undefined(obj=obj, name=attribute)
        elif attribute not in _FORMATTING and _safe.get((kind, attribute)):
            try:
                return getattr(obj, attribute)
            except AttributeError:
                pass
        return super().getattr(obj, attribute)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        """``obj(...)`` in a template. Nobody can hang Jinja's marks on a method written in C, or on a macro."""
        kind = type(__obj)
        if kind is Macro:
            args = (__context.eval_ctx, *args)
        elif kind is not BuiltinMethodType:
            return super().call(__context, __obj, *args, **kwargs)
        kwargs.pop("_block_vars", None)
        kwargs.pop("_loop_vars", None)
        try:
            return __obj(*args, **kwargs)
        except StopIteration:
            return __self.undefined("the value is undefined: an iterator has come to its end")

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Whether a template may read this attribute."""
        kind = type(obj)
        if kind not in _PLAIN_TYPES:
            return super().is_safe_attribute(obj, attr, value)
        safe = _safe.get((kind, attr))
        if safe is None:
            safe = super().is_safe_attribute(obj, attr, value)
            if len(_safe) < _MOST_REMEMBERED:
                _safe[kind, attr] = safe
        return safe

    @cached_property
    def lexer(self) -> PositionLexer:
        """A lexer of our own; its rules are shared, as all chat environments have the same settings."""
        return copy.copy(chat_lexer())


def _running_line() -> int | None:
    """The template line that is being rendered, from the stack; None where no template is."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != "<template>":
        frame = frame.f_back
    if frame is None:
        return None
    line = None
    for pair in str(frame.f_globals.get("debug_info", "")).split("&"):
        template_line, _, code_line = pair.partition("=")
        if code_line and int(code_line) <= frame.f_lineno:
            line = int(template_line)
    return line


@lru_cache(maxsize=1)
def chat_lexer() -> PositionLexer:
    """The lexer of apply_chat_template's settings; extensions change no token."""
    return PositionLexer(SandboxedEnvironment(trim_blocks=True, lstrip_blocks=True))


EnvironmentT = TypeVar("EnvironmentT", bound=ChatEnvironment)


def make_environment(profile: Profile, kind: type[EnvironmentT], *, clock: Clock = pinned_now) -> EnvironmentT:
    """A fresh environment of class ``kind`` for one template. ``clock`` is what ``strftime_now`` prints."""
    environment = kind(trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, jinja2.ext.loopcontrols])
    environment.clock = clock
    # Folding constants changes no output and takes a fifth of the compilation.
    environment.optimized = False

    def strftime_now(format: str) -> str:
        return environment.clock().strftime(format)

    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = strftime_now
    if profile.plain_data:
        environment.globals["dict"] = _TemplateDict()
        environment.globals["namespace"] = _TemplateNamespace
    generation_tag(environment).lazy = profile.lazy_tracker
    return environment


def generation_tag(environment: jinja2.Environment) -> GenerationTag:
    """The environment's generation extension."""
    extension = environment.extensions[GenerationTag.identifier]
    assert isinstance(extension, GenerationTag)
    return extension

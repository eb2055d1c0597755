"""One chat template: parsed and turned into Python once, compiled plain on first render, and traced when asked why."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

import jinja2
from jinja2 import nodes
from jinja2.environment import Template

from template_lint.rendering.environment import (
    ChatEnvironment,
    generation_tag,
    make_environment,
    pinned_now,
)
from template_lint.rendering.limits import Limits, RenderStopped, check_output
from template_lint.rendering.positions import SourceMap, remember_children
from template_lint.rendering.profiles import Profile
from template_lint.rendering.sites import Site, mark_sites, plain_code, traced_code
from template_lint.rendering.trace import Trace, TracingEnvironment

if TYPE_CHECKING:
    from template_lint.rendering.environment import Clock

_RECURSION = "maximum recursion depth exceeded"


class Outcome(NamedTuple):
    """What a render gave: ``text``, or the class name and message of what it raised (and the template line, if known).

    ``error`` is the exact exception class name (``TemplateError``, ``UndefinedError``, ``TypeError`` ...), or
    ``RenderStopped`` where a bound was reached. ``refused`` is true for the template's own ``raise_exception``.
    """

    text: str | None
    error: str | None = None
    message: str = ""
    line: int | None = None
    refused: bool = False

    @property
    def ok(self) -> bool:
        """Whether there is text."""
        return self.text is not None


class ChatTemplate:
    """One chat template under one profile. Rendering is pure: the same context gives the same outcome."""

    def __init__(self, source: str, profile: Profile, *, clock: Clock = pinned_now) -> None:
        self.source = source
        self.profile = profile
        self.limits = Limits()
        self._clock = clock
        self._environment = make_environment(profile, ChatEnvironment, clock=clock)

    @cached_property
    def tree(self) -> nodes.Template:
        """The syntax tree; its nodes' ``lineno`` are Positions. Raises TemplateSyntaxError."""
        tree = self._environment.parse(self.source)
        remember_children(tree)
        return tree

    @cached_property
    def source_map(self) -> SourceMap:
        """Offsets to places, for a source that parses."""
        _ = self.tree
        return SourceMap(self.source, self._environment.lexer.tokens)

    @property
    def environment(self) -> ChatEnvironment:
        """The plain environment: its filters, tests and globals are what a template may use."""
        return self._environment

    @property
    def refusals(self) -> dict[tuple[str, str], int | None]:
        """What the sandbox refused in the renders so far: (attribute, type) -> template line."""
        traced = self.__dict__.get("_traced")
        return {**(traced[1].refusals if traced else {}), **self._environment.refusals}

    @property
    def compiles(self) -> bool:
        """Whether the plain compilation has succeeded (asks nothing: call after a render)."""
        return "_plain" in self.__dict__

    @cached_property
    def sites(self) -> list[Site]:
        """Every traced place of the template; Branch and Segment refer to it by index."""
        return mark_sites(self.tree, self.source_map)

    @cached_property
    def _marked(self) -> str:
        with self.limits:
            _ = self.sites
            return self._environment.compile(self.tree, raw=True)

    @cached_property
    def _code(self) -> CodeType:
        code = plain_code(self._marked)
        with self.limits:
            return compile(code, "<template>", "exec")

    @cached_property
    def _plain(self) -> Template:
        code = self._code
        with self.limits:
            return Template.from_code(self._environment, code, self._environment.globals)

    def variant(self, *, profile: Profile | None = None, clock: Clock | None = None) -> ChatTemplate:
        """The same template under another profile or at another time. Shares the compiled code, and the bounds."""
        other = ChatTemplate(self.source, profile or self.profile, clock=clock or self._clock)
        other.limits = self.limits
        other._environment.__dict__["lexer"] = self._environment.lexer
        other.__dict__.update(tree=self.tree, sites=self.sites, _marked=self._marked, _code=self._code)
        return other

    def line_at(self, context: Mapping[str, Any], offset: int) -> int | None:
        """The template line that prints the character at ``offset`` of this render; None where it has none.

        What a macro prints is on the line of the call. Cheaper than a trace, which knows the columns too.
        """
        printed = 0
        try:
            template = self._plain
            with self.limits:
                blocks: Any = template.root_render_func(template.new_context(dict(context)))
                for block in blocks:
                    printed += len(block)
                    if printed > offset:
                        return template.get_corresponding_lineno(blocks.gi_frame.f_lineno)
        except (Exception, RenderStopped):
            self.limits.settle()
        return None

    def render(self, context: Mapping[str, Any]) -> Outcome:
        """Render with exactly these variables. Never raises for what a template does."""
        try:
            template = self._plain
            with self.limits:
                return Outcome(check_output("".join(template.root_render_func(template.new_context(dict(context))))))
        except (Exception, RenderStopped) as error:
            return self._failed(error, "_plain")

    def render_with_spans(self, context: Mapping[str, Any]) -> tuple[Outcome, list[tuple[int, int]]]:
        """Render, and give the ``{% generation %}`` spans as [start, end) offsets, as transformers computes them."""
        blocks: list[str] = []
        spans: list[tuple[int, int]] = []
        tag = generation_tag(self._environment)
        try:
            template = self._plain
            tag.tracking = blocks, spans
            with self.limits:
                # Not extend(): the generation tag looks at the blocks while they grow.
                for block in template.root_render_func(template.new_context(dict(context))):
                    blocks.append(block)
                return Outcome(check_output("".join(blocks))), spans
        except (Exception, RenderStopped) as error:
            return self._failed(error, "_plain"), []
        finally:
            tag.tracking = None

    @cached_property
    def _traced(self) -> tuple[Template, TracingEnvironment]:
        environment = make_environment(self.profile, TracingEnvironment, clock=self._clock)
        code = traced_code(self._marked)
        with self.limits:
            compiled = compile(code, "<template>", "exec")
            return Template.from_code(environment, compiled, environment.globals), environment

    def trace(self, context: Mapping[str, Any], trace: Trace | None = None) -> tuple[Outcome, Trace]:
        """Render with the record of branches and pieces; with forced or suppressed occurrences, the counterfactual."""
        trace = trace or Trace()
        try:
            template, environment = self._traced
            environment.trace = trace
            environment.concat = trace.concat  # type: ignore[method-assign]
            with self.limits:
                text = trace.concat(template.root_render_func(template.new_context(dict(context))))
                trace.segments = text._segments  # type: ignore[attr-defined]
                return Outcome(check_output("".join([segment.text for segment in trace.segments]))), trace
        except (Exception, RenderStopped) as error:
            return self._failed(error, "_traced"), trace

    def _failed(self, error: BaseException, which: str) -> Outcome:
        self.limits.settle()
        line = getattr(error, "lineno", None)
        if line is None and which in self.__dict__:
            template = self.__dict__[which]
            line = _template_line(error, template if isinstance(template, Template) else template[0])
        return Outcome(
            None,
            type(error).__name__,
            # More words tell only where the recursion happened to end.
            _RECURSION if isinstance(error, RecursionError) else str(error),
            line,
            type(error) is jinja2.exceptions.TemplateError,
        )


def _template_line(error: BaseException, template: Template) -> int | None:
    # The innermost frame that runs compiled template code knows the line. How deep a recursion got is chance: there it
    # is the line that began it.
    line = None
    frame = error.__traceback__
    while frame is not None:
        # Interrupted between two lines, a frame has no line number.
        if frame.tb_frame.f_code.co_filename == "<template>" and frame.tb_lineno is not None:
            line = template.get_corresponding_lineno(frame.tb_lineno)
            if isinstance(error, RecursionError):
                break
        frame = frame.tb_next
    return line

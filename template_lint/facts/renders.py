"""Renders: one template, what it prints for any conversation and where. Each render is made once and remembered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from template_lint.facts.catalogue import normalised_messages
from template_lint.facts.probes import ToolProbe, tool_probe
from template_lint.facts.shapes import SHAPES, Shape
from template_lint.model import Place
from template_lint.rendering.api import make_context, outcome_of
from template_lint.rendering.profiles import Profile
from template_lint.rendering.sites import place_of
from template_lint.rendering.template import ChatTemplate, Outcome
from template_lint.rendering.trace import Trace
from template_lint.scenarios.model import Scenario


class Renders:
    """The renders of one template. ``variables`` are the special tokens handed to it.

    ``stopped`` are the renders that reached a bound: what was rendered, by name, and how it ended.
    """

    def __init__(self, source: str, profile: Profile, variables: Mapping[str, Any] | None = None) -> None:
        self.source = source
        self.profile = profile
        self.variables = dict(variables or {})
        self.template = ChatTemplate(source, profile)
        self.stopped: list[tuple[str, Outcome]] = []
        self._rendered: dict[Any, Outcome] = {}
        self._contexts: dict[Any, dict[str, Any]] = {}

    # The shape of tool calls that the template accepts.

    @cached_property
    def tool_probes(self) -> dict[Shape, ToolProbe]:
        """What of a probe tool call reaches the prompt, for every legal shape."""
        return {shape: tool_probe(self, shape) for shape in SHAPES}

    @property
    def tool_probe(self) -> ToolProbe:
        """The probe in the accepted shape."""
        return self.tool_probes[self.shape]

    @cached_property
    def shape(self) -> Shape:
        """The first legal shape in which a tool call is in the prompt, else one that renders, else the default."""
        probes = self.tool_probes
        showing = [shape for shape, probe in probes.items() if probe.failed is None and probe.arguments]
        rendering = [shape for shape, probe in probes.items() if probe.failed is None]
        return [*showing, *rendering, SHAPES[0]][0]

    # What the template receives.

    def context(
        self,
        messages: Sequence[Any],
        tools: Sequence[Any] | None,
        kwargs: Mapping[str, Any],
        generation_prompt: bool,
        profile: Profile | None = None,
    ) -> dict[str, Any]:
        """The variables of any conversation, under this profile or another one."""
        return make_context(
            messages,
            profile or self.profile,
            tools=tools,
            documents=kwargs.get("documents"),
            add_generation_prompt=generation_prompt,
            variables={**self.variables, **kwargs},
        )

    def scenario_context(self, scenario: Scenario, count: int, generation_prompt: bool) -> dict[str, Any]:
        """The context of a scenario's first messages.

        Messages are normalised once: a prefix does not depend on what follows, and no template can change its data.
        """
        # Conversations of the user may have any name, and a mode its own form of a conversation.
        key = id(scenario.messages), scenario.name
        if key not in self._contexts:
            self._contexts[key] = self._whole_context(scenario)
        whole = self._contexts[key]
        return {**whole, "messages": whole["messages"][:count], "add_generation_prompt": generation_prompt}

    def _whole_context(self, scenario: Scenario) -> dict[str, Any]:
        return make_context(
            normalised_messages(scenario, self.shape, self.profile),
            self.profile,
            tools=scenario.tools,
            documents=scenario.kwargs.get("documents"),
            variables={**self.variables, **scenario.kwargs},
            normalised=True,
        )

    # Rendering.

    def render(
        self,
        messages: Sequence[Any],
        *,
        tools: Sequence[Any] | None = None,
        generation_prompt: bool = False,
        kwargs: Mapping[str, Any] | None = None,
        continue_final: bool = False,
    ) -> Outcome:
        """Render any conversation; memoised by content."""
        key = repr((messages, tools, generation_prompt, kwargs or {}, continue_final))
        outcome = self._rendered.get(key)
        if outcome is None:
            outcome = self._render(messages, tools, generation_prompt, kwargs or {}, continue_final)
            self._remember(key, outcome, "a probe conversation")
        return outcome

    def _render(
        self,
        messages: Sequence[Any],
        tools: Sequence[Any] | None,
        generation_prompt: bool,
        kwargs: Mapping[str, Any],
        continue_final: bool,
    ) -> Outcome:
        return outcome_of(
            self.template,
            messages,
            tools=tools,
            add_generation_prompt=generation_prompt,
            continue_final_message=continue_final,
            variables={**self.variables, **kwargs},
        )

    def render_variant(
        self,
        variant: ChatTemplate,
        messages: Sequence[Any],
        *,
        tools: Sequence[Any] | None = None,
        generation_prompt: bool = False,
        variables: Mapping[str, Any] | None = None,
    ) -> Outcome:
        """Render by a variant of the template; ``variables`` are its special tokens, where they are others."""
        outcome = outcome_of(
            variant,
            messages,
            tools=tools,
            add_generation_prompt=generation_prompt,
            variables=self.variables if variables is None else variables,
        )
        if outcome.error == "RenderStopped":
            self.stopped.append(("a probe conversation", outcome))
        return outcome

    def render_scenario(self, scenario: Scenario, count: int, generation_prompt: bool) -> Outcome:
        """Render the first ``count`` messages of a scenario; memoised by identity of what is rendered."""
        key = (
            tuple(map(id, scenario.messages[:count])),
            id(scenario.tools),
            tuple(sorted((name, repr(value)) for name, value in scenario.kwargs.items())) if scenario.kwargs else (),
            generation_prompt,
        )
        outcome = self._rendered.get(key)
        if outcome is None:
            outcome = self._render_scenario(scenario, count, generation_prompt)
            self._remember(key, outcome, scenario.name)
        return outcome

    def _render_scenario(self, scenario: Scenario, count: int, generation_prompt: bool) -> Outcome:
        try:
            context = self.scenario_context(scenario, count, generation_prompt)
        except Exception as error:  # what apply_chat_template raises for the user's own messages
            return Outcome(None, type(error).__name__, str(error))
        return self.template.render(context)

    def _remember(self, key: Any, outcome: Outcome, name: str) -> None:
        self._rendered[key] = outcome
        if outcome.error == "RenderStopped":
            self.stopped.append((name, outcome))

    # Where it prints.

    def printed_at(self, scenario: Scenario, count: int, generation_prompt: bool, offset: int) -> Place | None:
        """Where the template prints the character at ``offset`` of this render, or None past its end."""
        places = self.printers(scenario, count, generation_prompt, offset)
        return places[0] if places else None

    def printers(self, scenario: Scenario, count: int, generation_prompt: bool, offset: int) -> list[Place]:
        """The same, and then what printed that piece again: calls of macros and names, from the inside out."""
        return self._printing_places(self.scenario_context(scenario, count, generation_prompt), offset, self.template)

    def place_in(
        self,
        messages: Sequence[Any],
        offset: int,
        *,
        generation_prompt: bool = False,
        tools: Any = None,
        kwargs: Mapping[str, Any] | None = None,
        variant: ChatTemplate | None = None,
    ) -> Place | None:
        """Where the template, or its variant of another profile, prints the character at ``offset`` of a render."""
        template = variant or self.template
        context = self.context(messages, tools, kwargs or {}, generation_prompt, template.profile)
        places = self._printing_places(context, offset, template)
        return places[0] if places else None

    def place_printing(
        self, word: str, messages: Sequence[Any], *, tools: Sequence[Any] | None, generation_prompt: bool
    ) -> Place | None:
        """Where the template first prints a text with ``word`` in it, also inside a macro whose text is worked on."""
        trace = Trace(watch=word)
        self.template.trace(self.context(messages, tools, {}, generation_prompt), trace)
        return None if trace.watched is None else place_of(self.template.sites[trace.watched], self.template.source_map)

    def line_printing(
        self,
        messages: Sequence[Any],
        offset: int,
        *,
        tools: Sequence[Any] | None = None,
        generation_prompt: bool = False,
    ) -> int | None:
        """The template line that prints the character at ``offset`` of any conversation that renders."""
        return self.template.line_at(self.context(messages, tools, {}, generation_prompt), offset)

    def _printing_places(self, context: Mapping[str, Any], offset: int, template: ChatTemplate) -> list[Place]:
        _, trace = template.trace(context)
        for _, segment in trace.holding(offset):
            if segment.occurrence[0] >= 0:
                numbers = [segment.occurrence[0], *trace.passed.get(segment.occurrence, ())]
                return [place_of(template.sites[number], template.source_map) for number in numbers]
        return []

"""TemplateFacts: one template, its scenarios, every render it took to judge it. Each fact is computed on first use."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from template_lint.facts.catalogue import normalised_messages, shaped_catalogue
from template_lint.facts.cause import Cause, CauseMemory, find_cause
from template_lint.facts.constants import Constants
from template_lint.facts.directives import find_directives
from template_lint.facts.origins import OriginFinder
from template_lint.facts.prefix import Appended, Question, appended_kind, common_prefix_length, wants_generation_prompt
from template_lint.facts.probes import ToolProbe, tool_probe
from template_lint.facts.shapes import SHAPES, Shape
from template_lint.facts.static import StaticFacts, analyse
from template_lint.model import Directive, Place
from template_lint.rendering.api import make_context, outcome_of
from template_lint.rendering.limits import RenderStopped, trusted_memory
from template_lint.rendering.profiles import Profile
from template_lint.rendering.sites import place_of
from template_lint.rendering.template import ChatTemplate, Outcome
from template_lint.scenarios.catalogue import catalogue_version
from template_lint.scenarios.model import Scenario

if TYPE_CHECKING:
    from template_lint.snapshot.model import Snapshot
    from template_lint.tokenization import Tokenization

_MOST_SWITCH_SETTINGS = 6
_EFFECT_PROBES = ("call-with-reasoning", "chat-reasoning", "after-user-turn")
_SIGNATURE = 24


class Divergence(NamedTuple):
    """A prefix question that fails: ``token_index`` is None where the texts already part (or no tokenizer is there)."""

    question: Question
    offset: int
    cause: Cause | None


class TokenDivergence(NamedTuple):
    """A prefix that holds in text and fails in ids: the first differing index and both ids (None past the end)."""

    question: Question
    token_index: int
    earlier_id: int | None
    later_id: int | None


class TemplateFacts:
    """Everything the rules may ask about one template.

    ``variables`` are the special tokens handed to the template. ``tokenization`` loads the tokenizer on first use or
    raises with the reason; None where there is no tokenizer, and ``no_tokenizer`` says why. ``conversations`` are the
    user's own scenarios. With ``force_tools`` the tool rules run on templates that know no tools;
    ``frugal`` leaves tool conversations out of the prefix questions of other templates. ``compare_engines`` says that a
    second engine may be asked.
    """

    def __init__(
        self,
        source: str,
        profile: Profile,
        *,
        name: str = "default",
        file: str | None = None,
        variables: Mapping[str, Any] | None = None,
        conversations: Sequence[Scenario] = (),
        tokenization: Callable[[], Tokenization] | None = None,
        no_tokenizer: str = "no tokenizer; give --tokenizer TARGET",
        force_tools: bool = False,
        frugal: bool = False,
        compare_engines: bool = False,
        snapshot: Snapshot | None = None,
        selection_error: str | None = None,
    ) -> None:
        self.source = source
        self.profile = profile
        self.name = name
        self.file = file
        self.variables = dict(variables or {})
        self.conversations = list(conversations)
        self.no_tokenizer = no_tokenizer
        self.force_tools = force_tools
        self.frugal = frugal
        self.compare_engines = compare_engines
        self.snapshot = snapshot
        self.selection_error = selection_error
        self.template = ChatTemplate(source, profile)
        self.stopped: list[tuple[str, Outcome]] = []
        self._load_tokenization = tokenization
        self._rendered: dict[Any, Outcome] = {}
        self._contexts: dict[Any, dict[str, Any]] = {}
        self._ids: dict[str, list[int]] = {}
        self._causes = CauseMemory()
        self._histories: dict[tuple[str, str], str] = {}

    # Static facts.

    @cached_property
    def compile_error(self) -> Outcome | None:
        """Why the template does not compile, or None."""
        outcome = self.render([{"role": "user", "content": "Hello"}], generation_prompt=True)
        return None if self.template.compiles else outcome

    @cached_property
    def static(self) -> StaticFacts:
        """Names, attributes, switches. Needs a template that parses."""
        return analyse(self.template.tree)

    @cached_property
    def directives(self) -> list[Directive]:
        """The comments that speak to the linter, in order; none where reading them had to be stopped."""
        try:
            with self.template.limits.render():
                return find_directives(self.source, self.template.environment.lexer)
        except RenderStopped:
            return []

    @cached_property
    def constants(self) -> Constants:
        """What constants decide. Needs a template that parses."""
        return Constants(self.static)

    @cached_property
    def origins(self) -> OriginFinder:
        """Which field of the conversation a value comes from. Needs a template that parses."""
        return OriginFinder(self.constants)

    @property
    def tool_rules_apply(self) -> bool:
        """Whether tool rules are asked: the template knows tools, or the user insists."""
        return self.static.reads_tools or self.force_tools

    # Rendering.

    def context(
        self, messages: Sequence[Any], tools: Sequence[Any] | None, kwargs: Mapping[str, Any], generation_prompt: bool
    ) -> dict[str, Any]:
        """The variables of any conversation."""
        return make_context(
            messages,
            self.profile,
            tools=tools,
            documents=kwargs.get("documents"),
            add_generation_prompt=generation_prompt,
            variables={**self.variables, **kwargs},
        )

    def scenario_context(self, scenario: Scenario, count: int, generation_prompt: bool) -> dict[str, Any]:
        """The context of a scenario's first messages.

        Messages are normalised once: a prefix does not depend on what follows, and no template can change its data.
        """
        # Conversations of the user may have any name.
        key = id(scenario.messages) if scenario.own else None, scenario.name
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
            outcome = outcome_of(
                self.template,
                messages,
                tools=tools,
                add_generation_prompt=generation_prompt,
                continue_final_message=continue_final,
                variables={**self.variables, **(kwargs or {})},
            )
            self._remember(key, outcome, "a probe conversation")
        return outcome

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

    # Scenarios in a shape that the template accepts.

    @cached_property
    def shape(self) -> Shape:
        """The first legal shape in which a tool call is in the prompt, else one that renders, else the default."""
        probes = self.tool_probes
        showing = [shape for shape, probe in probes.items() if probe.failed is None and probe.arguments]
        rendering = [shape for shape, probe in probes.items() if probe.failed is None]
        return [*showing, *rendering, SHAPES[0]][0]

    @cached_property
    def _base_scenarios(self) -> list[Scenario]:
        """The catalogue in the accepted shape."""
        return list(shaped_catalogue(self.shape))

    @cached_property
    def switches(self) -> list[dict[str, Any]]:
        """Settings of the template's thinking switches that change something: the default spelled out is none."""
        return [setting for setting in self.static.switches()[:_MOST_SWITCH_SETTINGS] if self._has_effect(setting)]

    @cached_property
    def scenarios(self) -> list[Scenario]:
        """The catalogue in the accepted shape, repeated for each thinking switch, and the user's own conversations."""
        base = self._base_scenarios
        thinking = [scenario for scenario in base if scenario.think]
        switched = [scenario.with_kwargs(setting) for setting in self.switches for scenario in thinking]
        return [*base, *switched, *self.conversations]

    def _has_effect(self, setting: Mapping[str, Any]) -> bool:
        """Whether a thinking switch changes any of a few prompts and histories."""
        for scenario in self._base_scenarios:
            if scenario.name in _EFFECT_PROBES:
                switched = scenario.with_kwargs(setting)
                for count in (scenario.cuts[0], scenario.cuts[-1]):
                    prompt = wants_generation_prompt(scenario, count)
                    if self.render_scenario(scenario, count, prompt) != self.render_scenario(switched, count, prompt):
                        return True
        return False

    def questions_of(self, scenario: Scenario) -> list[Question]:
        """The prefix questions between a scenario's neighbouring cuts, answered as far as they render."""
        questions = []
        for earlier, later in zip(scenario.cuts, scenario.cuts[1:], strict=False):
            appended = appended_kind(scenario, earlier, later)
            outcomes = [
                self.render_scenario(scenario, count, wants_generation_prompt(scenario, count))
                for count in (earlier, later)
            ]
            questions.append(Question(scenario, appended, earlier, later, *outcomes))
        return questions

    @cached_property
    def questions(self) -> list[Question]:
        """All prefix questions; with ``frugal``, of tool conversations only where the tool rules apply."""
        everything = not self.frugal or self.tool_rules_apply
        asked = [s for s in self.scenarios if everything or s.own or not s.uses_tools]
        return [question for scenario in asked for question in self.questions_of(scenario)]

    def answered(self, appended: Appended) -> list[Question]:
        """The questions of one kind that could be asked, in catalogue order."""
        return [question for question in self.questions if question.appended is appended and question.answered]

    def unanswered(self, appended: Appended) -> list[Question]:
        """The questions of one kind where a side did not render."""
        return [question for question in self.questions if question.appended is appended and not question.answered]

    def history_of(self, question: Question) -> str | None:
        """An ASSISTANT question's prompt without the generation prompt; None where a side did not render."""
        prompt = question.earlier_outcome.text
        closed = self.render_scenario(question.scenario, question.earlier, False).text
        if prompt is None or closed is None or question.later_outcome.text is None:
            return None
        history = self._histories.get((prompt, closed))
        if history is None:
            history = self._histories[prompt, closed] = prompt[: common_prefix_length(prompt, closed)]
        return history

    # Divergences and their causes.

    def divergences(self, appended: Appended, counts: Callable[[Question], bool] | None = None) -> list[Divergence]:
        """The questions of one kind that fail in text (and that ``counts`` does not excuse), each with its cause.

        Divergences with the same text on both sides of the same place are one divergence seen again: the cause is
        searched for the first.
        """
        found: list[Divergence] = []
        causes: dict[tuple[str, str, str], Cause | None] = {}
        for question in self.answered(appended):
            if not question.holds and (counts is None or counts(question)):
                earlier, later = question.earlier_outcome.text or "", question.later_outcome.text or ""
                at = common_prefix_length(earlier, later)
                before = earlier[max(0, at - _SIGNATURE) : at]
                signature = (before, earlier[at : at + _SIGNATURE], later[at : at + _SIGNATURE])
                if signature not in causes:
                    causes[signature] = self._cause(question, earlier, later)
                found.append(Divergence(question, at, causes[signature]))
        return found

    def _cause(self, question: Question, earlier: str, later: str) -> Cause | None:
        scenario = question.scenario
        contexts = [
            self.scenario_context(scenario, count, wants_generation_prompt(scenario, count))
            for count in (question.earlier, question.later)
        ]
        return find_cause(
            self.template,
            (contexts[0], contexts[1]),
            (earlier, later),
            keep=tuple(_strings_of(scenario.messages[: question.earlier])),
            memory=self._causes,
        )

    def printed_at(self, scenario: Scenario, count: int, generation_prompt: bool, offset: int) -> Place | None:
        """Where the template prints the character at ``offset`` of this render, or None past its end."""
        return self._printing_place(self.scenario_context(scenario, count, generation_prompt), offset)

    def place_in(
        self, messages: Sequence[Any], offset: int, *, generation_prompt: bool = False, tools: Any = None
    ) -> Place | None:
        """Where the template prints the character at ``offset`` of any conversation."""
        return self._printing_place(self.context(messages, tools, {}, generation_prompt), offset)

    def line_printing(
        self,
        messages: Sequence[Any],
        offset: int,
        *,
        tools: Sequence[Any] | None = None,
        generation_prompt: bool = False,
        variant: ChatTemplate | None = None,
    ) -> int | None:
        """The template line that prints the character at ``offset`` of any conversation that renders."""
        template = variant or self.template
        context = make_context(
            messages, template.profile, tools=tools, add_generation_prompt=generation_prompt, variables=self.variables
        )
        return template.line_at(context, offset)

    def _printing_place(self, context: Mapping[str, Any], offset: int) -> Place | None:
        _, trace = self.template.trace(context)
        position = 0
        for segment in trace.segments:
            position += len(segment.text)
            if position > offset and segment.occurrence[0] >= 0:
                return place_of(self.template.sites[segment.occurrence[0]], self.template.source_map)
        return None

    @cached_property
    def tool_probes(self) -> dict[Shape, ToolProbe]:
        """What of a probe tool call reaches the prompt, for every legal shape."""
        return {shape: tool_probe(self, shape) for shape in SHAPES}

    @property
    def tool_probe(self) -> ToolProbe:
        """The probe in the accepted shape."""
        return self.tool_probes[self.shape]

    # Token ids.

    @cached_property
    def tokenization(self) -> Tokenization | None:
        """The tokenizer, or None (``no_tokenizer`` then says why)."""
        if self._load_tokenization is None:
            return None
        from template_lint.errors import TemplateLintError

        try:
            with trusted_memory():
                return self._load_tokenization()
        except TemplateLintError as error:
            self.no_tokenizer = str(error)
            return None

    def ids(self, text: str) -> list[int]:
        """Token ids of a rendered text, without special tokens added; memoised."""
        assert self.tokenization is not None
        ids = self._ids.get(text)
        if ids is None:
            ids = self._ids[text] = self.tokenization.encode(text)
        return ids

    def token_text(self, token_id: int | None) -> str | None:
        """The text that one id decodes to; None for None (past the end)."""
        assert self.tokenization is not None
        return None if token_id is None else self.tokenization.decode([token_id])

    def token_divergence(self, question: Question) -> TokenDivergence | None:
        """Where the ids of the earlier render stop being a prefix of those of the later one, or None."""
        assert question.earlier_outcome.text is not None and question.later_outcome.text is not None
        earlier, later = self.ids(question.earlier_outcome.text), self.ids(question.later_outcome.text)
        if later[: len(earlier)] == earlier:
            return None
        index = next(
            (i for i, (a, b) in enumerate(zip(earlier, later, strict=False)) if a != b), min(len(earlier), len(later))
        )
        return TokenDivergence(question, index, _at(earlier, index), _at(later, index))

    # Fingerprint.

    @cached_property
    def final_prompts(self) -> dict[str, list[Outcome]]:
        """Scenario -> its prompts as a rollout meets them: the whole conversation, and that of its first cut.

        The user's own conversations are left out: these prompts stand for the template.
        """
        prompts = {}
        for scenario in self.scenarios:
            if not scenario.own:
                count = len(scenario.messages)
                outcomes = [self.render_scenario(scenario, count, wants_generation_prompt(scenario, count))]
                outcomes += [self.render_scenario(scenario, cut, True) for cut in scenario.cuts[:1]]
                prompts[scenario.name] = outcomes
        return prompts

    @cached_property
    def prompt_fingerprint(self) -> str:
        """sha256 over the canonical JSON of scenario -> rendered text or exception class, with the catalogue's
        version.
        """
        prompts = {
            name: [outcome.text if outcome.ok else {"error": outcome.error} for outcome in outcomes]
            for name, outcomes in self.final_prompts.items()
        }
        payload = {"catalogue": catalogue_version(), "prompts": prompts}
        text = json.dumps(payload, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("ascii")).hexdigest()


def _at(ids: list[int], index: int) -> int | None:
    return ids[index] if index < len(ids) else None


def _strings_of(messages: Iterable[Mapping[str, Any]]) -> list[str]:
    """Texts of a conversation that a render should not lose: contents, call names, argument values."""
    found: list[str] = []
    stack: list[Any] = [
        [message.get("content"), [call.get("function") for call in message.get("tool_calls") or ()]]
        for message in messages
    ]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            if value:
                found.append(value)
        elif isinstance(value, Mapping):
            stack.extend(value.values())
        elif isinstance(value, list | tuple):
            stack.extend(value)
    return found

"""TemplateFacts: what is known of one template beside its renders. Each fact is computed on first use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from template_lint.facts.catalogue import shaped_catalogue
from template_lint.facts.cause import CauseMemory
from template_lint.facts.constants import Constants
from template_lint.facts.directives import find_directives
from template_lint.facts.inline_reasoning import Tags, find_tags, inline_scenarios
from template_lint.facts.origins import OriginFinder
from template_lint.facts.prefix import Appended, Question, appended_kind, common_prefix_length, wants_generation_prompt
from template_lint.facts.renders import Renders
from template_lint.facts.static import StaticFacts, analyse
from template_lint.model import Directive
from template_lint.rendering.limits import RenderStopped, trusted_memory
from template_lint.rendering.profiles import Profile
from template_lint.rendering.template import Outcome
from template_lint.scenarios.model import Scenario

if TYPE_CHECKING:
    from template_lint.snapshot.model import Snapshot
    from template_lint.tokenization import Tokenization

_MOST_SWITCH_SETTINGS = 6
EFFECT_PROBES = ("call-with-reasoning", "chat-reasoning", "after-user-turn")


class TemplateFacts(Renders):
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
        super().__init__(source, profile, variables)
        self.name = name
        self.file = file
        self.conversations = list(conversations)
        self.no_tokenizer = no_tokenizer
        self.force_tools = force_tools
        self.frugal = frugal
        self.compare_engines = compare_engines
        self.snapshot = snapshot
        self.selection_error = selection_error
        # One for each kind of question: what a rule finds must not depend on the rules before it.
        self.causes: defaultdict[Appended, CauseMemory] = defaultdict(CauseMemory)
        self._load_tokenization = tokenization
        self._ids: dict[str, list[int]] = {}
        self._inline: dict[str, list[Scenario]] = {}
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
            with self.template.limits:
                return find_directives(self.source, self.template.environment.lexer)
        except RenderStopped:
            self.template.limits.settle()
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
    def is_followed(self) -> bool:
        """Whether all that was asked of ``constants`` and ``origins`` so far was answered in full."""
        return not (self.constants.budget.overdrawn or self.origins.budget.overdrawn)

    @property
    def tool_rules_apply(self) -> bool:
        """Whether tool rules are asked: the template knows tools, or the user insists."""
        return self.static.reads_tools or self.force_tools

    # Scenarios and the prefix questions that they ask.

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

    @cached_property
    def inline_tags(self) -> Tags | None:
        """The tags around reasoning inside contents, where that is how the template takes it."""
        return find_tags(self)

    def inline_scenarios(self, kwargs: Mapping[str, Any]) -> list[Scenario]:
        """The conversations with reasoning, where the template looks for it inside contents, in one mode that thinks.

        Made once: renders know messages by identity.
        """
        key = repr(kwargs)
        if key not in self._inline:
            self._inline[key] = list(inline_scenarios(self, self._base_scenarios, kwargs))
        return self._inline[key]

    @cached_property
    def asked_scenarios(self) -> list[Scenario]:
        """The scenarios of the prefix questions: all, and those with reasoning inside the content where it is read."""
        return [*self.scenarios, *(s for kwargs in ({}, *self.switches) for s in self.inline_scenarios(kwargs))]

    def _has_effect(self, setting: Mapping[str, Any]) -> bool:
        """Whether a thinking switch changes any of a few prompts and histories."""
        probes = [scenario for scenario in self._base_scenarios if scenario.name in EFFECT_PROBES]
        for scenario in [*probes, *self.inline_scenarios({})]:
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
        asked = [s for s in self.asked_scenarios if everything or s.own or not s.uses_tools]
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

    @property
    def tokenizer(self) -> Tokenization:
        """``tokenization`` for who knows that it is there, such as a rule that needs a tokenizer."""
        assert self.tokenization is not None
        return self.tokenization

    def ids(self, text: str) -> list[int]:
        """Token ids of a rendered text, without special tokens added; memoised."""
        ids = self._ids.get(text)
        if ids is None:
            ids = self._ids[text] = self.tokenizer.encode(text)
        return ids

    def token_text(self, token_id: int | None) -> str | None:
        """The text that one id decodes to; None for None (past the end)."""
        return None if token_id is None else self.tokenizer.decode([token_id])

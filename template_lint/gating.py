"""``gate()``: stop a training run before step 0 if its chat template cannot keep a token-in-token-out buffer right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from template_lint.errors import TemplateLintError

if TYPE_CHECKING:
    from template_lint.scenarios.model import Scenario
    from template_lint.tito.evidence import Check

_CATALOGUE_NAMES = ("lookup_tide", "measure_wind")


class GateError(TemplateLintError):
    """The run should not start. ``checks`` are the failed checks; the message has the finding and the fix."""

    kind = "gate"

    def __init__(self, message: str, checks: Sequence[Check] = ()) -> None:
        super().__init__(message)
        self.checks = list(checks)


def gate(
    tokenizer: Any,
    *,
    tools: Sequence[Any] | None = None,
    user_turns: bool = False,
    chat_template: str | None = None,
    stop_ids: Sequence[int] = (),
    **template_kwargs: Any,
) -> str | None:
    """Check the chat template of a transformers tokenizer for a loop that appends tool results to sampled ids.

    Returns None where the template may be used as it is, else the training template to use in its place. ``tools`` are
    those of the run: schemas, or functions that transformers turns into schemas; None leaves them out and plays
    made-up ones. ``user_turns`` says that the loop also appends user messages. ``chat_template`` is checked in place
    of the tokenizer's own. ``stop_ids`` are further ids that end a turn (those of generation_config.json).
    ``template_kwargs`` are those of the run.

    Raises GateError, with the finding and the fix, where neither may be used. The template runs in this process, as it
    will in the run.
    """
    source = chat_template if chat_template is not None else _own_template(tokenizer, tools)
    failures = _failures(tokenizer, source, tools, user_turns, stop_ids, template_kwargs)
    if not failures:
        return None
    patched = _training_template(tokenizer, source)
    if patched is not None and not _failures(tokenizer, patched, tools, user_turns, stop_ids, template_kwargs):
        return patched
    first = failures[0]
    rule = f" [{first.rule}]" if first.rule else ""
    fix = first.remedy or "Use another template."
    kept = "" if patched is None else " The training template of the library does not help here."
    raise GateError(f"{first.name}{rule}: {first.message}. {fix}{kept}", failures)


def _training_template(tokenizer: Any, source: str) -> str | None:
    from template_lint.patches.training import training_template

    found = training_template(tokenizer, chat_template=source)
    return None if found is None else found.source


def _own_template(tokenizer: Any, tools: Sequence[Any] | None) -> str:
    try:
        source = tokenizer.get_chat_template(None, tools)
    except ValueError as error:
        raise GateError(f"the tokenizer has no chat template for this run: {error}") from error
    return str(source)


def _failures(
    tokenizer: Any,
    source: str,
    tools: Sequence[Any] | None,
    user_turns: bool,
    stop_ids: Sequence[int],
    kwargs: Mapping[str, Any],
) -> list[Check]:
    """The checks that this run must not start with, the gravest first; empty where all is well."""
    from template_lint.facts.verdict import verdict_of
    from template_lint.rendering.profiles import installed_profile
    from template_lint.tito.checks import run_checks
    from template_lint.tito.evidence import Check, Status, prepare
    from template_lint.tito.live_engine import TransformersEngine, TransformersFacts
    from template_lint.tito.simulate import Playwright

    engine = TransformersEngine(tokenizer, chat_template=source, stop_ids=stop_ids)
    facts = TransformersFacts(engine, source, installed_profile())
    error = facts.compile_error
    if error is not None:
        return [Check("compiles", Status.FAIL, f"{error.error}: {error.message}", "TL002", "Correct the template.")]
    playwright = Playwright(engine)
    scripts = [playwright.write(scenario) for scenario in _scenarios(facts.scenarios, tools, kwargs)]
    failures = []
    for check in run_checks(prepare(engine, scripts, tools_matter=True)):
        asked = check.name == "buffer-after-tool" and tools
        if check.status is Status.FAIL or (check.name == "buffer-after-user" and user_turns and _bad(check)):
            failures.append(check)
        elif asked and check.status is Status.SKIPPED:
            remedy = "Use a template that knows tools, or run without tools."
            failures.append(check._replace(status=Status.FAIL, rule="TL200", remedy=remedy))
    verdict = verdict_of(facts) if failures else None
    if verdict is not None and verdict.tito == "stable-with-kwargs" and not verdict.kwargs.items() <= kwargs.items():
        setting = ", ".join(f"{key}={value!r}" for key, value in verdict.kwargs.items())
        failures[0] = failures[0]._replace(remedy=f"Pass {setting} to apply_chat_template, and to gate().")
    if not any(script.turns for script in scripts):
        reason = next((script.problem.reason for script in scripts if script.problem), "nothing renders")
        failures.insert(0, Check("renders", Status.FAIL, reason, "TL205", "Use a template that renders conversations."))
    return failures


def _bad(check: Check) -> bool:
    from template_lint.tito.evidence import Status

    return check.status is not Status.PASS


def _scenarios(catalogue: Sequence[Scenario], tools: Sequence[Any] | None, kwargs: Mapping[str, Any]) -> list[Scenario]:
    """The catalogue as this run would have it: its tools, its template kwargs, no switches of our own."""
    base = [s._replace(kwargs={**s.kwargs, **kwargs}) for s in catalogue if s.name == s.base_name]
    if tools is None:
        return base
    if not tools:
        return [s._replace(tools=[]) for s in base if not any(m.get("tool_calls") for m in s.messages)]
    names = [_name(tool) for tool in tools]
    renamed = dict(zip(_CATALOGUE_NAMES, (names[0], names[-1]), strict=True))
    return [
        s._replace(
            messages=[_renamed(message, renamed) for message in s.messages], tools=list(tools) if s.tools else None
        )
        for s in base
    ]


def _renamed(message: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    changed = dict(message)
    if message.get("name") in names:
        changed["name"] = names[message["name"]]
    if message.get("tool_calls"):
        changed["tool_calls"] = [
            {**call, "function": {**call["function"], "name": names[call["function"]["name"]]}}
            for call in message["tool_calls"]
        ]
    return changed


def _name(tool: Any) -> str:
    if isinstance(tool, Mapping):
        function = tool.get("function", tool)
        return str(function.get("name", "tool"))
    return str(getattr(tool, "__name__", "tool"))

"""``render()``: apply_chat_template, without transformers. The functions here are what the command line and users
call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from template_lint.errors import TemplateLintError
from template_lint.rendering.messages import REASONING_FIELDS, normalise_messages, plain_data
from template_lint.rendering.profiles import Profile, resolve_profile
from template_lint.rendering.template import ChatTemplate, Outcome
from template_lint.rendering.trace import Trace

CONTINUE_TAG = "CONTINUE_FINAL_MESSAGE_TAG "


class RenderError(TemplateLintError):
    """The template raised. ``error`` is the exception class name, ``line`` the 1-based template line, if known."""

    kind = "render"

    def __init__(self, outcome: Outcome) -> None:
        where = f" (template line {outcome.line})" if outcome.line else ""
        super().__init__(f"{outcome.error}: {outcome.message}{where}")
        self.outcome = outcome
        self.error = outcome.error
        self.line = outcome.line
        self.refused = outcome.refused


class Piece(NamedTuple):
    """Output range [start, end) in code points, and the 1-based template line and column that printed it."""

    start: int
    end: int
    line: int
    column: int


class Branch(NamedTuple):
    """One decision of a render: where it stands (1-based), the source of the condition, and how it went."""

    line: int
    column: int
    source: str
    outcome: bool


class Rendering(NamedTuple):
    """A rendered conversation. ``lines`` and ``branches`` are empty unless a trace was asked for.

    ``generation_spans`` are [start, end) code-point offsets of what ``{% generation %}`` marks.
    """

    text: str
    generation_spans: list[tuple[int, int]]
    lines: list[Piece]
    branches: list[Branch]


def make_context(
    messages: Sequence[Any],
    profile: Profile,
    *,
    tools: Sequence[Any] | None = None,
    documents: Sequence[Any] | None = None,
    add_generation_prompt: bool = False,
    variables: Mapping[str, Any] | None = None,
    normalised: bool = False,
) -> dict[str, Any]:
    """The variables that apply_chat_template hands to Jinja.

    ``variables`` are special tokens and template kwargs, kwargs last. With ``normalised`` the messages are already what
    ``normalise_messages`` gives. Raises ValueError and TypeError as transformers does.
    """
    for tool in tools or ():
        if not isinstance(tool, dict):
            raise ValueError(f"a tool should be a JSON schema (a dict), but is {type(tool).__name__}")
    for document in documents or ():
        if not isinstance(document, dict):
            raise TypeError(f"a document should be a dict, but is {type(document).__name__}")
    rebuild = plain_data if profile.plain_data else _as_is
    return {
        **rebuild(dict(variables or {})),
        "messages": messages if normalised else normalise_messages(messages, profile),
        "tools": rebuild(list(tools)) if tools is not None else None,
        "documents": rebuild(documents),
        "add_generation_prompt": add_generation_prompt,
    }


def _as_is(value: Any) -> Any:
    return value


def outcome_of(
    template: ChatTemplate,
    messages: Sequence[Any],
    *,
    tools: Sequence[Any] | None = None,
    documents: Sequence[Any] | None = None,
    add_generation_prompt: bool = False,
    continue_final_message: bool | str = False,
    variables: Mapping[str, Any] | None = None,
) -> Outcome:
    """One call of apply_chat_template as an Outcome: text, or the class of what it raises. Never raises itself."""
    try:
        if continue_final_message and add_generation_prompt:
            raise ValueError("continue_final_message and add_generation_prompt cannot be combined")
        context = make_context(
            messages,
            template.profile,
            tools=tools,
            documents=documents,
            add_generation_prompt=add_generation_prompt,
            variables=variables,
        )
        if not continue_final_message:
            return template.render(context)
        field = continue_final_message if isinstance(continue_final_message, str) else "content"
        context["messages"], final = _tag_final_message(context["messages"], field, template)
        outcome = template.render(context)
        return outcome if outcome.text is None else outcome._replace(text=_cut_at_tag(outcome.text, final))
    except Exception as error:
        return Outcome(None, type(error).__name__, str(error))


def _tag_final_message(messages: list[Any], field: str, template: ChatTemplate) -> tuple[list[Any], str]:
    # Mirrors render_jinja_template: the tag marks where the continued message ends in the output.
    named = template.profile.plain_data
    last = dict(messages[-1])
    final = last.get(field) if named else last[field]
    if named and final is None:
        raise ValueError(f"continue_final_message: the final message has no {field!r}")
    fields = [field]
    if named and field in REASONING_FIELDS:
        fields = [name for name in REASONING_FIELDS if last.get(name) == final]
    if named and not any(name in template.source for name in fields):
        raise ValueError(f"continue_final_message: the template never reads {field!r}")
    if isinstance(final, list | tuple):
        blocks = [dict(block) if isinstance(block, dict) else block for block in final]
        for block in reversed(blocks):
            if "text" in block:
                final = block["text"]
                block["text"] = final + CONTINUE_TAG
                break
        else:
            raise ValueError("continue_final_message: the final message has no text to continue")
        last[field] = blocks
    else:
        for name in fields:
            last[name] = last[name] + CONTINUE_TAG
    return [*messages[:-1], last], str(final)


def _cut_at_tag(text: str, final: str) -> str:
    tag = CONTINUE_TAG.strip()
    if final.strip() not in text or tag not in text:
        raise ValueError("continue_final_message: the final message does not appear in the rendered chat")
    start = text.rindex(tag)
    if text.startswith(CONTINUE_TAG, start):
        return text[:start]
    return text[:start].rstrip()


def render(
    source: str,
    messages: Sequence[Any],
    *,
    tools: Sequence[Any] | None = None,
    documents: Sequence[Any] | None = None,
    add_generation_prompt: bool = False,
    continue_final_message: bool | str = False,
    transformers: str | None = None,
    special_tokens: Mapping[str, Any] | None = None,
    trace: bool = False,
    **template_kwargs: Any,
) -> Rendering:
    """Render a conversation exactly as ``apply_chat_template(..., tokenize=False)`` of ``transformers`` would.

    ``source`` is the template text, ``transformers`` a version such as ``5.24`` (None: the installed one). With
    ``trace``, ``lines`` and ``branches`` say which template line printed what and how each condition went. Raises
    RenderError where the template, or apply_chat_template, raises. The template runs in this process, in Jinja's
    sandbox, unbounded in time: for templates from strangers use ``template_lint.check`` or the command line, which
    render in a worker.
    """
    template = ChatTemplate(source, resolve_profile(transformers))
    variables = {**(special_tokens or {}), **template_kwargs}
    outcome = outcome_of(
        template,
        messages,
        tools=tools,
        documents=documents,
        add_generation_prompt=add_generation_prompt,
        continue_final_message=continue_final_message,
        variables=variables,
    )
    if outcome.text is None:
        raise RenderError(outcome)
    if continue_final_message:
        return Rendering(outcome.text, [], [], [])
    context = make_context(
        messages,
        template.profile,
        tools=tools,
        documents=documents,
        add_generation_prompt=add_generation_prompt,
        variables=variables,
    )
    _, spans = template.render_with_spans(context)
    lines, branches = _explain(template, context) if trace else ([], [])
    return Rendering(outcome.text, spans, lines, branches)


def _explain(template: ChatTemplate, context: dict[str, Any]) -> tuple[list[Piece], list[Branch]]:
    _, record = template.trace(context, Trace())
    source_map, sites = template.source_map, template.sites
    lines = []
    start = 0
    for segment in record.segments:
        if segment.text:
            line, column = source_map.line_column(sites[segment.occurrence[0]].start)
            lines.append(Piece(start, start + len(segment.text), line, column))
            start += len(segment.text)
    branches = []
    for branch in record.branches:
        site = sites[branch.occurrence[0]]
        line, column = source_map.line_column(site.start)
        branches.append(Branch(line, column, source_map.text[site.start : site.end], branch.outcome))
    return lines, branches

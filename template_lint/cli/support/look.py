"""Gathers what ``render`` shows: snapshot, template, special tokens, rendering, tokens. Prints nothing."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from template_lint.cli.support.views import Shown, TokenRow
from template_lint.cli.support.voices import Voices
from template_lint.errors import TemplateSelectionError, UsageError
from template_lint.facts.shapes import SHAPES, Shape
from template_lint.rendering.apart import render_apart
from template_lint.rendering.api import RenderError, Rendering, render
from template_lint.rendering.profiles import Profile, resolve_profile
from template_lint.scenarios.model import Scenario
from template_lint.snapshot.load import load_snapshot
from template_lint.snapshot.model import Snapshot, TemplateCopy
from template_lint.target import parse_target

if TYPE_CHECKING:
    from template_lint.tokenization import Tokenization

# What render() itself is called with; a template kwarg of such a name would collide.
RESERVED = frozenset(inspect.signature(render).parameters)


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asked to see. ``tokens`` asks for token ids, which need a tokenizer."""

    target: str
    scenario: Scenario
    kwargs: Mapping[str, Any]
    template_name: str | None = None
    generation_prompt: bool = False
    transformers: str | None = None
    tokenizer: str | None = None
    offline: bool = False
    tokens: bool = False


def look(request: Request) -> Shown:
    """Render the conversation of a request, with its provenance and, when asked for, its tokens.

    Raises UsageError, CannotCheckError, TemplateSelectionError, and RenderError where the template raises.
    """
    version = resolve_profile(request.transformers).version
    snapshot = load_snapshot(parse_target(request.target), offline=request.offline, profile_version=version)
    template = _pick(snapshot, request)
    donor = snapshot
    if request.tokenizer is not None:
        donor = load_snapshot(parse_target(request.tokenizer), offline=request.offline, profile_version=version)
    tokenization = _tokenization(donor, version) if request.tokens else None
    special = _special_tokens(snapshot, version) or _special_tokens(donor, version)
    shape, rendering = _render(template, request, special)
    control = [token for token in special.values() if isinstance(token, str)]
    return Shown(
        rendering=rendering,
        voices=Voices(rendering.text, request.scenario.messages, control),
        tokens=_tokens(tokenization, rendering, resolve_profile(request.transformers)) if tokenization else (),
        note="" if shape == SHAPES[0] else f"the template refuses the usual shape; shown with {shape.describe()}",
    )


def _render(template: TemplateCopy, request: Request, special: dict[str, Any]) -> tuple[Shape, Rendering]:
    """Render in a worker; a scenario of ours in the first shape that the template accepts, the user's own as it is.

    Raises the RenderError of the usual shape where none is accepted.
    """
    first: RenderError | None = None
    for shape in SHAPES[:1] if request.scenario.own else SHAPES:
        try:
            return shape, render_apart(
                template.source,
                shape.apply(request.scenario.messages),
                tools=request.scenario.tools,
                add_generation_prompt=request.generation_prompt,
                transformers=request.transformers,
                special_tokens=special,
                trace=True,
                **{**request.scenario.kwargs, **request.kwargs},
            )
        except RenderError as error:
            first = first or error
            if error.refused or error.error == "RenderStopped":
                break
    assert first is not None
    raise first


def about(request: Request) -> dict[str, Any]:
    """Return what a reader of the JSON needs to know to repeat the request."""
    return {
        "target": request.target,
        "template": request.template_name,
        "scenario": request.scenario.name,
        "profile": resolve_profile(request.transformers).label,
        "add_generation_prompt": request.generation_prompt,
        "kwargs": {**request.scenario.kwargs, **request.kwargs},
    }


def _pick(snapshot: Snapshot, request: Request) -> TemplateCopy:
    from template_lint.snapshot.selection import pick

    if request.template_name is None:
        if snapshot.selection_error is not None:
            raise TemplateSelectionError(f"{request.target}: {snapshot.selection_error}")
        return pick(snapshot.templates, tools_given=request.scenario.tools is not None)
    for template in snapshot.templates:
        if template.name == request.template_name:
            return template
    names = ", ".join(template.name for template in snapshot.templates) or "none"
    raise UsageError(f"{request.target} has no template {request.template_name!r}. It has: {names}.")


def _special_tokens(snapshot: Snapshot, version: tuple[int, int]) -> dict[str, Any]:
    from template_lint.snapshot.special_tokens import special_tokens

    return special_tokens(snapshot, version)


def _tokenization(snapshot: Snapshot, version: tuple[int, int]) -> Tokenization:
    from template_lint.tokenization import load_tokenization

    return load_tokenization(snapshot, profile_version=version)


def _tokens(tokenization: Tokenization, rendering: Rendering, profile: Profile) -> tuple[TokenRow, ...]:
    from template_lint.rendering.masks import token_mask

    ids, offsets = tokenization.encode_with_offsets(rendering.text)
    mask = token_mask(rendering.generation_spans, offsets, profile)
    return tuple(
        TokenRow(id=token_id, piece=tokenization.token(token_id), start=start, end=end, masked=bool(bit))
        for token_id, (start, end), bit in zip(ids, offsets, mask, strict=True)
    )

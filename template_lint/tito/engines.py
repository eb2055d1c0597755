"""What renders and tokenizes: the protocol, and our mirror of apply_chat_template behind it.

Whatever is built on ``Engine`` runs on the mirror and on the installed transformers, and the two can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from template_lint.errors import CannotCheckError
from template_lint.facts.template_facts import TemplateFacts
from template_lint.rendering.api import RenderError, make_context
from template_lint.rendering.masks import token_mask
from template_lint.rendering.template import Outcome
from template_lint.tokenization import Tokenization

Messages = Sequence[Mapping[str, Any]]
Tools = Sequence[Mapping[str, Any]] | None


class Engine(Protocol):
    """A chat template with its tokenizer.

    ``stop_ids`` are the ids declared to end a turn (they may be too few, or none); ``special_ids`` those of special
    tokens; ``bos_id`` is None where the tokenizer has no BOS.
    """

    @property
    def stop_ids(self) -> tuple[int, ...]: ...  # noqa: D102

    @property
    def special_ids(self) -> frozenset[int]: ...  # noqa: D102

    @property
    def bos_id(self) -> int | None: ...  # noqa: D102

    @property
    def tokenization(self) -> Tokenization:
        """The tokenizer behind it, for segmentation and bulk work."""
        ...

    def render(
        self,
        messages: Messages,
        *,
        tools: Tools = None,
        add_generation_prompt: bool = False,
        kwargs: Mapping[str, Any] | None = None,
    ) -> str:
        """``apply_chat_template(..., tokenize=False)``. Raises RenderError for whatever it raises."""
        ...

    def ids(self, text: str) -> list[int]:
        """Token ids of a rendered text; no special tokens are added."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Text of token ids, special tokens included; ids outside the vocabulary give nothing."""
        ...

    def generation_mask(
        self, messages: Messages, *, tools: Tools = None, kwargs: Mapping[str, Any] | None = None
    ) -> list[int] | None:
        """``return_assistant_tokens_mask``: one 0 or 1 per token id of the render; None without ``{% generation %}``.

        Raises RenderError.
        """
        ...


class MirrorEngine:
    """Our renderer and the ``tokenizers`` library; renders are remembered by ``facts``."""

    def __init__(self, facts: TemplateFacts) -> None:
        """Raises CannotCheckError (``no-tokenizer``) where ``facts`` has no tokenizer."""
        if facts.tokenization is None:
            raise CannotCheckError(facts.no_tokenizer, kind="no-tokenizer")
        self.facts = facts
        self.tokenization = facts.tokenization
        self.stop_ids = self.tokenization.eos_ids
        self.special_ids = self.tokenization.special_ids
        bos = facts.variables.get("bos_token")
        self.bos_id = self.tokenization.token_id(bos) if isinstance(bos, str) else None

    def render(
        self,
        messages: Messages,
        *,
        tools: Tools = None,
        add_generation_prompt: bool = False,
        kwargs: Mapping[str, Any] | None = None,
    ) -> str:
        """See Engine."""
        outcome = self.facts.render(messages, tools=tools, generation_prompt=add_generation_prompt, kwargs=kwargs)
        return text_of(outcome)

    def ids(self, text: str) -> list[int]:
        """See Engine; do not change the list."""
        return self.facts.ids(text)

    def decode(self, ids: Sequence[int]) -> str:
        """See Engine."""
        return self.tokenization.decode(ids)

    def generation_mask(
        self, messages: Messages, *, tools: Tools = None, kwargs: Mapping[str, Any] | None = None
    ) -> list[int] | None:
        """See Engine."""
        if not self.facts.static.has_generation_tag:
            return None
        variables = {**self.facts.variables, **(kwargs or {})}
        context = make_context(messages, self.facts.profile, tools=tools, variables=variables)
        outcome, spans = self.facts.template.render_with_spans(context)
        _, offsets = self.tokenization.encode_with_offsets(text_of(outcome))
        return token_mask(spans, offsets, self.facts.profile)


def as_engine(tokenizer: Any) -> Engine:
    """An Engine as it is; anything else is taken for a tokenizer of transformers.

    Raises TypeError for an object that is neither.
    """
    if hasattr(tokenizer, "render") and hasattr(tokenizer, "generation_mask"):
        engine: Engine = tokenizer
        return engine
    if not hasattr(tokenizer, "apply_chat_template"):
        raise TypeError(f"expected a tokenizer with apply_chat_template, not {type(tokenizer).__name__}")
    from template_lint.tito.live_engine import TransformersEngine

    return TransformersEngine(tokenizer)


def text_of(outcome: Outcome) -> str:
    """The text of a render. Raises RenderError where there is none."""
    if outcome.text is None:
        raise RenderError(outcome)
    return outcome.text

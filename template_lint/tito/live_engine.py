"""The transformers installed beside us as an Engine: a bump of its version is tested for real."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from template_lint.errors import CannotCheckError
from template_lint.facts.template_facts import TemplateFacts
from template_lint.rendering.api import RenderError
from template_lint.rendering.environment import pinned_now
from template_lint.rendering.limits import Limits, RenderStopped, check_output, trusted_memory
from template_lint.rendering.profiles import Profile, installed_profile
from template_lint.rendering.template import ChatTemplate, Outcome
from template_lint.scenarios.model import Scenario
from template_lint.tito.engines import Messages, Tools, text_of
from template_lint.tokenization import Tokenization


class TransformersEngine:
    """A tokenizer object of transformers, or anything that has its ``apply_chat_template``, call and ``decode``."""

    def __init__(
        self,
        tokenizer: Any,
        *,
        chat_template: str | None = None,
        stop_ids: Sequence[int] = (),
        pin_clock: bool = False,
    ) -> None:
        """``chat_template`` replaces the tokenizer's own. ``stop_ids`` come beside its eos token.

        With ``pin_clock``, ``strftime_now`` says what it says in our mirror; only for processes of our own, because it
        changes transformers' idea of the time while rendering.
        """
        self.tokenizer = tokenizer
        eos = getattr(tokenizer, "eos_token_id", None)
        own = (eos,) if isinstance(eos, int) else ()
        self.stop_ids: tuple[int, ...] = tuple(dict.fromkeys((*own, *stop_ids)))
        self.special_ids = _special_ids(tokenizer)
        bos = getattr(tokenizer, "bos_token_id", None)
        self.bos_id = bos if isinstance(bos, int) else None
        self._source = chat_template
        self._pin_clock = pin_clock
        self._limits = Limits()
        self._tokenization: Tokenization | None = None
        self._ids: dict[str, list[int]] = {}

    @classmethod
    def from_folder(
        cls, folder: Path, *, chat_template: str | None = None, stop_ids: Sequence[int] = ()
    ) -> TransformersEngine:
        """Load a tokenizer folder with the installed transformers, without running code from it, the clock pinned.

        Raises CannotCheckError (``tokenizer-unloadable``).
        """
        from transformers import AutoTokenizer

        try:
            tokenizer = AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False, local_files_only=True)
        except Exception as error:
            reason = f"transformers cannot load the tokenizer: {type(error).__name__}: {error}"
            raise CannotCheckError(reason, kind="tokenizer-unloadable") from error
        return cls(tokenizer, chat_template=chat_template, stop_ids=stop_ids, pin_clock=True)

    @property
    def tokenization(self) -> Tokenization:
        """The backend of the tokenizer, its truncation and padding switched off. Raises CannotCheckError without
        one.
        """
        if self._tokenization is None:
            backend = getattr(self.tokenizer, "backend_tokenizer", None)
            if backend is None:
                raise CannotCheckError("the tokenizer is a slow one, without tokenizers backend", kind="no-tokenizer")
            self._tokenization = Tokenization(backend, eos_ids=self.stop_ids)
        return self._tokenization

    def outcome(
        self,
        messages: Messages,
        *,
        tools: Tools,
        add_generation_prompt: bool,
        kwargs: Mapping[str, Any],
        **options: Any,
    ) -> Outcome:
        """One call of apply_chat_template as an Outcome; never raises."""
        call = {"tools": None if tools is None else list(tools), **options, **kwargs, **self._template()}
        try:
            with self._clock(), self._limits:
                text = self.tokenizer.apply_chat_template(
                    list(messages), add_generation_prompt=add_generation_prompt, tokenize=False, **call
                )
                return Outcome(check_output(text))
        except (Exception, RenderStopped) as error:
            self._limits.settle()
            name = type(error).__name__
            return Outcome(None, name, str(error), _template_line(error), refused=name == "TemplateError")

    def render(
        self,
        messages: Messages,
        *,
        tools: Tools = None,
        add_generation_prompt: bool = False,
        kwargs: Mapping[str, Any] | None = None,
    ) -> str:
        """See Engine."""
        return text_of(
            self.outcome(messages, tools=tools, add_generation_prompt=add_generation_prompt, kwargs=kwargs or {})
        )

    def ids(self, text: str) -> list[int]:
        """See Engine; do not change the list."""
        found = self._ids.get(text)
        if found is None:
            found = self._ids[text] = list(self.tokenizer(text, add_special_tokens=False)["input_ids"])
        return found

    def decode(self, ids: Sequence[int]) -> str:
        """See Engine."""
        text: str = self.tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return text

    def generation_mask(
        self, messages: Messages, *, tools: Tools = None, kwargs: Mapping[str, Any] | None = None
    ) -> list[int] | None:
        """See Engine."""
        source = self._source
        if source is None:
            source = self.tokenizer.get_chat_template(None, tools)
        if "generation" not in source or not _marks_generations(source):
            return None
        call = {"tools": None if tools is None else list(tools), **(kwargs or {}), **self._template()}
        try:
            with self._clock(), self._limits:
                encoded = self.tokenizer.apply_chat_template(
                    list(messages), tokenize=True, return_dict=True, return_assistant_tokens_mask=True, **call
                )
        except (Exception, RenderStopped) as error:
            self._limits.settle()
            raise RenderError(Outcome(None, type(error).__name__, str(error))) from error
        return list(encoded["assistant_masks"])

    def _template(self) -> dict[str, Any]:
        return {} if self._source is None else {"chat_template": self._source}

    @contextlib.contextmanager
    def _clock(self) -> Iterator[None]:
        if not self._pin_clock:
            yield
            return
        from transformers.utils import chat_template_utils

        module: Any = chat_template_utils
        real, module.datetime = module.datetime, _PinnedDatetime
        try:
            yield
        finally:
            module.datetime = real


class TransformersFacts(TemplateFacts):
    """TemplateFacts whose renders and ids come from a TransformersEngine. Static facts and traces stay ours."""

    def __init__(self, engine: TransformersEngine, source: str, profile: Profile, **arguments: Any) -> None:
        super().__init__(source, profile, tokenization=lambda: engine.tokenization, **arguments)
        self.engine = engine

    @cached_property
    def compile_error(self) -> Outcome | None:
        """Why the installed transformers cannot compile the template, or None."""
        outcome = self.render([{"role": "user", "content": "Hello"}], generation_prompt=True)
        return outcome if outcome.error in ("TemplateSyntaxError", "TemplateAssertionError") else None

    def _render(
        self,
        messages: Sequence[Any],
        tools: Sequence[Any] | None,
        generation_prompt: bool,
        kwargs: Mapping[str, Any],
        continue_final: bool,
    ) -> Outcome:
        return self.engine.outcome(
            messages,
            tools=tools,
            add_generation_prompt=generation_prompt,
            kwargs=kwargs,
            continue_final_message=continue_final,
        )

    def _render_scenario(self, scenario: Scenario, count: int, generation_prompt: bool) -> Outcome:
        return self.engine.outcome(
            scenario.messages[:count],
            tools=scenario.tools,
            add_generation_prompt=generation_prompt,
            kwargs=scenario.kwargs,
        )

    def ids(self, text: str) -> list[int]:
        """As TemplateFacts.ids, by the installed transformers."""
        return self.engine.ids(text)


class _PinnedDatetime:
    """Stands for the datetime class in the eyes of ``strftime_now``."""

    now = staticmethod(pinned_now)


def load_transformers(folder: Path, source: str, stop_ids: Sequence[int]) -> TransformersEngine:
    """As TransformersEngine.from_folder, in a worker: outside its memory bound, and quietly."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    with trusted_memory():
        return TransformersEngine.from_folder(folder, chat_template=source, stop_ids=stop_ids)


def _template_line(error: BaseException) -> int | None:
    """The template line of an exception: Jinja makes its frames look as if the template were the program."""
    line = getattr(error, "lineno", None)
    frame = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename in ("<template>", "<unknown>"):
            line = frame.tb_lineno
        frame = frame.tb_next
    return line


def _special_ids(tokenizer: Any) -> frozenset[int]:
    added = getattr(tokenizer, "added_tokens_decoder", None)
    if added is not None:
        return frozenset(token_id for token_id, token in added.items() if token.special)
    return frozenset(getattr(tokenizer, "all_special_ids", ()))


def _marks_generations(source: str) -> bool:
    from template_lint.facts.static import analyse

    return analyse(ChatTemplate(source, installed_profile()).tree).has_generation_tag

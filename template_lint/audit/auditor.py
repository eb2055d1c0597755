"""What every row is audited with: the tokenizer, the template, and what follows from both. Built once per process.

``AuditOptions`` is small and can be pickled; ``auditor_for`` turns it into an ``Auditor`` and remembers the last one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from template_lint.audit.cuts import Cuts
from template_lint.audit.encoding import Encoder
from template_lint.audit.fields import FieldMap
from template_lint.audit.headers import Headers, headers_of
from template_lint.audit.model import Trajectory
from template_lint.audit.rendered import Prompts
from template_lint.errors import CannotCheckError
from template_lint.rendering.api import outcome_of
from template_lint.rendering.limits import Limits, trusted_memory
from template_lint.rendering.profiles import Profile, resolve_profile
from template_lint.rendering.template import ChatTemplate, Outcome
from template_lint.snapshot.load import load_snapshot
from template_lint.snapshot.model import Snapshot
from template_lint.snapshot.special_tokens import special_tokens, token_text
from template_lint.target import parse_target
from template_lint.tokenization import Tokenization, load_tokenization

if TYPE_CHECKING:
    from numpy import bool_
    from numpy.typing import NDArray

    from template_lint.audit.scoring.scorer import Scorer


class ScoreOptions(NamedTuple):
    """The model that stands for the trainer, and how it is run; see ``scoring``.

    ``batch_tokens``: tokens of one batch, padding included. ``chunk``: tokens whose logits exist at once, per row.
    ``apply_sampling``: whether the temperature, top_k and top_p that a row records are applied.
    """

    model: str
    device: str = "cpu"
    dtype: str = "float32"
    batch_tokens: int = 8192
    chunk: int = 256
    apply_sampling: bool = False


class AuditOptions(NamedTuple):
    """Everything that can change the result for a row, but the row.

    ``target`` names the model whose tokenizer and template were used. ``stop_ids`` are ids at which turns end besides
    those that the target declares. ``kwargs`` go to the template where a row has none of its own. ``render``: whether
    prompts are rendered and compared. ``score``: None where the trainer's log-probabilities are taken as recorded.
    """

    target: str
    fields: FieldMap
    transformers: str | None = None
    offline: bool = False
    stop_ids: tuple[int, ...] = ()
    kwargs: Mapping[str, Any] = {}
    render: bool = True
    score: ScoreOptions | None = None


class Auditor:
    """The target's tokenizer and template, and tables by token id.

    ``known[id]`` says whether a token has this id; its length is the number of rows the model's embedding has, or more.
    ``stops[id]``: whether a turn may end with it; ``borders[id]``: end or begin. ``bos_id`` and ``bos_count``: how
    often BOS must occur in a buffer; None where that cannot be told. ``headers`` is None where turns cannot be told
    apart by special tokens.
    """

    def __init__(self, options: AuditOptions) -> None:
        """Raises UsageError, CannotCheckError (no tokenizer, unreachable ...)."""
        import numpy as np

        self.options = options
        self.profile = resolve_profile(options.transformers)
        self.snapshot = _snapshot(options, self.profile)
        self.tokenization: Tokenization = load_tokenization(self.snapshot, profile_version=self.profile.version)
        self.variables = special_tokens(self.snapshot, self.profile.version)
        ids = np.fromiter(self.tokenization.vocabulary().values(), dtype=np.int64)
        size = max(int(ids.max(initial=-1)) + 1, _embedding_rows(self.snapshot))
        self.known: NDArray[bool_] = np.zeros(size, dtype=np.bool_)
        self.known[ids] = True
        self.known[list(self.tokenization.added_ids)] = True
        self.stop_ids = tuple(dict.fromkeys((*self.tokenization.eos_ids, *options.stop_ids)))
        self.stops: NDArray[bool_] = np.zeros(size, dtype=np.bool_)
        self.stops[[stop for stop in self.stop_ids if 0 <= stop < size]] = True
        self._templates = {copy.name: ChatTemplate(copy.source, self.profile) for copy in self.snapshot.templates}
        self.headers: Headers | None = headers_of(self.render_text, self.tokenization)
        self.borders: NDArray[bool_] = self.stops.copy()
        if self.headers is not None:
            self.borders[list(self.headers.openers)] = True
        self.bos_id, self.bos_count = self._bos()

    @property
    def has_template(self) -> bool:
        """Whether there is a template to render prompts with."""
        return bool(self._templates)

    def render(
        self,
        messages: Sequence[Any],
        *,
        tools: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        generation_prompt: bool = True,
    ) -> Outcome:
        """Render a conversation with the target's own template, within fresh bounds."""
        template = self._templates.get("tool_use") if tools else None
        template = template or self._templates.get("default") or next(iter(self._templates.values()), None)
        if template is None:
            return Outcome(None, "CannotCheckError", "the target has no template")
        template.limits = Limits()
        variables = {**self.variables, **self.options.kwargs, **(kwargs or {})}
        return outcome_of(template, messages, tools=tools, add_generation_prompt=generation_prompt, variables=variables)

    def render_text(self, messages: Sequence[Any], tools: Sequence[Any] | None, generation_prompt: bool) -> str | None:
        """The text of a render, None where the template raises."""
        return self.render(messages, tools=tools, generation_prompt=generation_prompt).text

    def scored(self, rows: Sequence[Trajectory]) -> list[Trajectory]:
        """The rows, with the trainer's side computed by the model of ``options.score``, where there is one.

        Raises UsageError and CannotCheckError where the model cannot be loaded or run.
        """
        options = self.options.score
        if options is None:
            return list(rows)
        from template_lint.audit.scoring.trajectories import score_trajectories

        with trusted_memory():
            return score_trajectories(rows, self._scorer, options.model, apply_sampling=options.apply_sampling)

    @cached_property
    def _scorer(self) -> Scorer:
        from template_lint.audit.scoring.loading import load_model
        from template_lint.audit.scoring.scorer import Scorer

        options = self.options.score
        assert options is not None
        offline = self.options.offline
        model = load_model(options.model, device=options.device, dtype=options.dtype, offline=offline)
        return Scorer(model, batch_tokens=options.batch_tokens, chunk=options.chunk)

    @cached_property
    def encoder(self) -> Encoder:
        """Encodes texts, which it cuts where turns open (where that is not known, at special tokens of a prompt)."""
        openers = self.headers.openers if self.headers is not None else self._small_prompt or ()
        return Encoder(self.tokenization, Cuts(self.tokenization, openers))

    @cached_property
    def prompts(self) -> Prompts | None:
        """Renders the prompts of rows; None where they are not to be, or cannot be, rendered."""
        return Prompts(self.render, self.encoder) if self.options.render and self.has_template else None

    @cached_property
    def _small_prompt(self) -> list[int] | None:
        text = self.render_text([{"role": "user", "content": "x"}], None, True)
        return None if text is None else self.tokenization.encode(text)

    def _bos(self) -> tuple[int | None, int | None]:
        named = self.variables.get("bos_token")
        bos_id = self.tokenization.token_id(token_text(named)) if named else None
        if bos_id is None or (bos_id < len(self.stops) and self.stops[bos_id]):
            return None, None
        small = self._small_prompt
        return bos_id, None if small is None else small.count(bos_id)


def _snapshot(options: AuditOptions, profile: Profile) -> Snapshot:
    target = parse_target(options.target)
    snapshot = load_snapshot(target, offline=options.offline, profile_version=profile.version)
    if snapshot.tokenizer is None:
        reason = snapshot.tokenizer_missing or "it has no tokenizer"
        raise CannotCheckError(f"{options.target}: {reason}. Name a target with its tokenizer.", kind="no-tokenizer")
    return snapshot


def _embedding_rows(snapshot: Snapshot) -> int:
    """``vocab_size`` of config.json, which counts the rows that pad the embedding; 0 where there is none."""
    config = snapshot.model_config
    inner = config.get("text_config")
    size = config.get("vocab_size") or (inner.get("vocab_size") if isinstance(inner, dict) else 0)
    return size if isinstance(size, int) and 0 < size < 1 << 26 else 0


_last: list[tuple[AuditOptions, Auditor]] = []


def auditor_for(options: AuditOptions) -> Auditor:
    """The auditor of these options; the one before is remembered, so that every block of a run has the same."""
    if not _last or _last[0][0] != options:
        _last[:] = [(options, Auditor(options))]
    return _last[0][1]

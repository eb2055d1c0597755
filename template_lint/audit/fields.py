"""Where the parts of a trajectory stand in a recorded row: presets of trainers' layouts, and the user's own mapping.

A path is keys joined by dots; ``*`` goes through a list (``logprobs.content.*.logprob``), a number picks an item.
Alternatives are joined by ``|``: the first that a row has is taken.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from template_lint.errors import UsageError

FIELDS = {
    "ids": "token ids of the whole buffer",
    "prompt_ids": "token ids of the prompt, with completion_ids in place of ids",
    "completion_ids": "token ids after the prompt",
    "mask": "1 for each sampled token, else 0: for the buffer or for what follows the prompt",
    "logprobs": "the sampler's log-probabilities, for the buffer or for what follows the prompt",
    "trainer_logprobs": "the trainer's, likewise",
    "prompt_len": "how many tokens the prompt has",
    "completion_len": "how many tokens follow the prompt",
    "attention_mask": "0 where ids are padding",
    "prompt_mask": "0 where prompt_ids are padding; with it, completion_mask",
    "completion_mask": "0 where completion_ids are padding; asked only beside prompt_mask",
    "messages": "the conversation, or its prompt, in OpenAI's format",
    "tools": "the tools that the prompt was rendered with",
    "kwargs": "the template kwargs that the prompt was rendered with",
    "temperature": "of the sampler",
    "top_p": "of the sampler",
    "top_k": "of the sampler",
    "top_logprobs": "the sampler's most likely tokens per position",
    "trainer_top_logprobs": "the trainer's, likewise",
    "truncated": "whether the last turn was cut off; a finish reason will do",
    "rollout": "name of the rollout that a row is one turn of",
    "turn": "which turn of it",
}

_IN_TWO_PARTS = ("prompt_ids", "completion_ids", "prompt_mask", "completion_mask")
_MISSING = object()


class FieldMap(NamedTuple):
    """``paths``: field -> path. With ``each``, a row holds a list of trajectories there.

    A path is then looked up in the item first, then in the row.
    """

    name: str
    paths: Mapping[str, str]
    each: str | None = None

    def get(self, row: Mapping[str, Any], field: str, item: Any = None) -> Any:
        """The value of a field, or None where the row has none."""
        path = self.paths.get(field)
        if path is None:
            return None
        for holder in (item, row) if item is not None else (row,):
            found = lookup(holder, path)
            if found is not _MISSING and found is not None:
                return found
        return None

    def items(self, row: Mapping[str, Any]) -> list[Any]:
        """The trajectories of a row: [None] for the row itself. Raises KeyError where the list is missing."""
        if self.each is None:
            return [None]
        found = lookup(row, self.each)
        if not isinstance(found, list):
            raise KeyError(self.each)
        return found


PRESETS = (
    FieldMap("template-lint", {name: name for name in FIELDS if name not in _IN_TWO_PARTS}),
    FieldMap(
        "trl",
        {
            "prompt_ids": "prompt_ids",
            "completion_ids": "completion_ids",
            "mask": "tool_mask|env_mask|completion_mask",
            "prompt_mask": "prompt_mask",
            "completion_mask": "completion_mask",
            "logprobs": "sampling_per_token_logps|logprobs",
            "trainer_logprobs": "old_per_token_logps",
            "messages": "prompt|messages",
            "tools": "tools",
            "kwargs": "chat_template_kwargs",
            "temperature": "temperature",
            "top_p": "top_p",
            "top_k": "top_k",
            "truncated": "is_truncated|truncated",
        },
    ),
    FieldMap(
        "verl",
        {
            "prompt_ids": "prompt_ids|prompts",
            "completion_ids": "response_ids|responses",
            "mask": "response_mask",
            "logprobs": "response_logprobs|rollout_log_probs",
            "trainer_logprobs": "old_log_probs",
            "attention_mask": "attention_mask",
            "messages": "raw_prompt|messages",
            "tools": "tools",
            "temperature": "temperature",
            "top_p": "top_p",
            "top_k": "top_k",
            "truncated": "truncated",
        },
    ),
    FieldMap(
        "slime",
        {
            "ids": "tokens",
            "completion_len": "response_length",
            "mask": "loss_mask",
            "logprobs": "rollout_log_probs",
            "trainer_logprobs": "log_probs",
            "messages": "prompt",
            "tools": "metadata.tools",
            "truncated": "status",
        },
    ),
    FieldMap(
        "verifiers",
        {
            "prompt_ids": "tokens.prompt_ids",
            "completion_ids": "tokens.completion_ids",
            "mask": "tokens.completion_mask",
            "logprobs": "tokens.completion_logprobs",
            "messages": "prompt",
            "temperature": "sampling_args.temperature",
            "top_p": "sampling_args.top_p",
            "truncated": "tokens.is_truncated|is_truncated",
            "rollout": "trajectory_id",
        },
        each="trajectory|state.trajectory",
    ),
    FieldMap(
        "prime-rl",
        {
            "ids": "input_ids",
            "prompt_ids": "prompt_ids",
            "completion_ids": "completion_ids",
            "mask": "loss_mask|completion_mask",
            "logprobs": "inference_logprobs|completion_logprobs",
            "trainer_logprobs": "trainer_logprobs",
            "temperature": "temperature",
        },
    ),
    FieldMap(
        "openai",
        {
            "prompt_ids": "prompt_token_ids|response.prompt_token_ids",
            "completion_ids": "token_ids",
            "mask": "token_mask",
            "logprobs": "logprobs.content.*.logprob|logprobs.token_logprobs",
            "top_logprobs": "logprobs.content.*.top_logprobs",
            "trainer_logprobs": "trainer_logprobs",
            "messages": "request.messages|messages",
            "tools": "request.tools|tools",
            "kwargs": "request.chat_template_kwargs",
            "temperature": "request.temperature|temperature",
            "top_p": "request.top_p|top_p",
            "top_k": "request.top_k|top_k",
            "truncated": "finish_reason",
        },
        each="choices|response.choices",
    ),
)
"""TRL: the batch of GRPOTrainer and what a rollout_func returns. verl: AgentLoopOutput and the columns of its batch.
slime: Sample.to_dict(). verifiers: a saved state with its trajectory of steps. prime-rl: its training samples and micro
batches. openai: chat completions with vLLM's ``return_token_ids``."""

_TEXT_ONLY = (
    ({"prompt", "completion", "step"}, "TRL's log of completions"),
    ({"input", "output", "score", "step"}, "verl's rollout_data_dir"),
)


def lookup(value: Any, path: str) -> Any:
    """The value at the first alternative of ``path`` that exists and is not null; else a private marker."""
    for alternative in path.split("|"):
        found = _at(value, alternative.split("."))
        if found is not _MISSING and found is not None:
            return found
    return _MISSING


def _at(value: Any, keys: Sequence[str]) -> Any:
    for number, key in enumerate(keys):
        if key == "*":
            if not isinstance(value, list):
                return _MISSING
            found = [_at(item, keys[number + 1 :]) for item in value]
            return _MISSING if any(item is _MISSING for item in found) else found
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return _MISSING
    return value


def preset(name: str) -> FieldMap:
    """The preset of this name. Raises UsageError with the nearest right one."""
    for known in PRESETS:
        if known.name == name:
            return known
    names = [known.name for known in PRESETS]
    near = difflib.get_close_matches(name, names, 1)
    hint = f"Did you mean {near[0]!r}?" if near else f"Choose one of: {', '.join(names)}."
    raise UsageError(f"unknown preset {name!r}. {hint}")


def parse_fields(text: str) -> dict[str, str]:
    """``ids=tokens,mask=loss_mask`` -> field -> path. Raises UsageError."""
    paths: dict[str, str] = {}
    for part in text.split(","):
        field, equals, path = (word.strip() for word in part.partition("="))
        if not equals or not field or not path:
            raise UsageError(
                f"--fields: {part.strip()!r} is not FIELD=PATH. Write for example ids=tokens,mask=loss_mask."
            )
        if field not in FIELDS:
            near = difflib.get_close_matches(field, FIELDS, 1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Fields: {', '.join(FIELDS)}."
            raise UsageError(f"--fields: unknown field {field!r}. {hint}")
        paths[field] = path
    return paths


def choose(rows: Iterable[Mapping[str, Any]], name: str | None, fields: Mapping[str, str]) -> FieldMap | None:
    """The mapping to read with: a named preset, or the one that fits the first ``rows`` best, under ``fields``.

    Fields that name token ids need no preset beside them. None where nothing fits.
    """
    if name is not None:
        base = preset(name)
        return base._replace(paths={**base.paths, **fields})
    if fields.keys() & {"ids", "completion_ids"}:
        return FieldMap("--fields", dict(fields))
    seen = list(rows)
    scored = [(max((_fit(known, row) for row in seen), default=0), -number) for number, known in enumerate(PRESETS)]
    best, number = max(scored, default=(0, 0))
    if not best:
        return None
    return PRESETS[-number]._replace(paths={**PRESETS[-number].paths, **fields})


def _fit(known: FieldMap, row: Mapping[str, Any]) -> int:
    """How many fields of a row a preset finds; 0 where token ids are not among them."""
    try:
        items = known.items(row)
    except KeyError:
        return 0
    item = items[0] if items else None
    found = {field for field in known.paths if known.get(row, field, item) is not None}
    has_ids = "ids" in found or "completion_ids" in found
    return len(found) + (known.each is not None) if has_ids else 0


def no_ids_message(row: Mapping[str, Any]) -> str:
    """What to tell somebody whose rows hold no token ids that we know of."""
    keys = set(row)
    for signature, what in _TEXT_ONLY:
        if signature <= keys:
            return f"this looks like {what}, which holds text only: an audit needs the token ids. Record them too."
    guessed = {field: path for field in ("ids", "mask", "logprobs") if (path := _guess(row, field)) is not None}
    if "ids" in guessed:
        fields = ",".join(f"{field}={path}" for field, path in guessed.items())
        return f"no known layout. Did you mean --fields {fields}? It has: {', '.join(_all_paths(row)[:12])}."
    listed = ", ".join(_all_paths(row)[:12])
    return f"no known layout: the row has {listed or 'no fields'}. Say where things are: --fields ids=NAME,mask=NAME."


_LIKELY = {
    "ids": ("token_ids", "input_ids", "tokens", "ids"),
    "mask": ("loss_mask", "mask", "response_mask"),
    "logprobs": ("logprobs", "log_probs", "sampler_logprobs"),
}


def _guess(row: Mapping[str, Any], field: str) -> str | None:
    """The field of a row that looks like ids, mask or log-probabilities by its values; of several, the likely name."""
    fitting = [path for path in _all_paths(row) if _looks_like(lookup(row, path), field)]
    near = [match for word in _LIKELY[field] for match in difflib.get_close_matches(word, fitting, 1)]
    return next(iter(near or fitting), None)


def _looks_like(values: Any, field: str) -> bool:
    if not isinstance(values, list) or not values or not all(isinstance(value, (int, float)) for value in values):
        return False
    whole = all(isinstance(value, int) for value in values)
    if field == "mask":
        return whole and set(values) <= {0, 1}
    if field == "ids":
        return whole and min(values) >= 0 and max(values) > 1
    return not whole and max(values) <= 0


def missing_message(mapping: FieldMap, field: str, row: Mapping[str, Any]) -> str:
    """What to tell somebody whose row lacks a field that the mapping names."""
    path = mapping.paths.get(field, field)
    fitting = choose([row], None, {})
    if fitting is not None and mapping.name in {known.name for known in PRESETS} - {fitting.name}:
        hint = f"It looks like {fitting.name}: --preset {fitting.name}, and audit other layouts apart"
        return f"no field {path!r} for {field} ({mapping.name}). {hint}"
    known = _all_paths(row)
    wanted = [word for name in path.split("|") for word in (name, name.rpartition(".")[2])]
    near = [match for word in wanted for match in difflib.get_close_matches(word, known, 1)]
    near = near or difflib.get_close_matches(field, known, 1)
    shown = ", ".join(known[:8])
    hint = f" Did you mean --fields {field}={near[0]}?" if near else f" It has: {shown}." if shown else ""
    return f"no field {path!r} for {field} ({mapping.name}).{hint}"


def _all_paths(row: Mapping[str, Any], depth: int = 3) -> list[str]:
    found = []
    for key, value in row.items():
        found.append(str(key))
        if isinstance(value, Mapping) and depth > 1:
            found += [f"{key}.{inner}" for inner in _all_paths(value, depth - 1)]
    return found

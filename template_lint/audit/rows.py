"""One recorded row -> trajectories. What cannot be one is a BadRow with the reason; what is merely wrong is kept.

A mask of another length than the ids is a finding, not a bad row: it is what the audit looks for.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from template_lint.audit.fields import FieldMap, missing_message
from template_lint.audit.model import Origin, TopLogprobs, Trajectory

if TYPE_CHECKING:
    from numpy import floating, int64
    from numpy.typing import NDArray

_CUT_OFF = {"length", "max_tokens", "truncated", "aborted", "abort", "max_length", "overlong"}
_FINISHED = {"stop", "eos", "tool_calls", "completed", "end_turn", "stop_sequence", "function_call"}
_NUMBER_WORDS = {"nan", "inf", "-inf", "+inf", "infinity", "-infinity", "+infinity"}


class BadRow(Exception):
    """A row that is no trajectory; ``kind`` is a stable word."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def trajectories(row: Any, fields: FieldMap, file: int, number: int) -> Iterator[Trajectory]:
    """Yield the trajectories of row ``number`` (1-based). Raises BadRow."""
    if not isinstance(row, Mapping):
        hint = ": write one object per line" if isinstance(row, list) else ""
        raise BadRow("not-an-object", f"a row must be a JSON object, this is {_kind(row)}{hint}")
    try:
        items = fields.items(row)
    except KeyError as error:
        raise BadRow("no-field", f"no list of trajectories at {error.args[0]!r} ({fields.name})") from None
    for step, item in enumerate(items):
        yield _trajectory(row, item, fields, Origin(file, number, step))


def _trajectory(row: Mapping[str, Any], item: Any, fields: FieldMap, origin: Origin) -> Trajectory:
    import numpy as np

    def get(name: str) -> Any:
        return fields.get(row, name, item)

    ids, prompt, assumed = _ids(get, fields, row if item is None else {**row, **_mapping(item)})
    mask = _mask(get("mask"), len(ids), prompt)
    if mask is None:
        if prompt is None:
            holder = row if item is None else {**row, **_mapping(item)}
            raise BadRow("no-field", missing_message(fields, "mask", holder) + " Without a mask, give prompt_len.")
        mask = np.ones(len(ids), dtype=np.uint8)
        mask[:prompt] = 0
        assumed = "no mask: every token after the prompt counts as sampled"
    keep = _attended(get, len(ids), prompt)
    turn, rollout = get("turn"), get("rollout")
    made = Trajectory(
        origin=origin,
        ids=ids,
        mask=mask,
        logprobs=_logprobs("logprobs", get("logprobs"), len(ids), prompt),
        trainer_logprobs=_logprobs("trainer_logprobs", get("trainer_logprobs"), len(ids), prompt),
        prompt_length=prompt,
        rollout=f"row {origin.row}" if rollout is None and fields.name == "verifiers" else _name(rollout),
        turn=turn if isinstance(turn, int) else origin.step if item is not None else None,
        messages=_messages(get("messages")),
        tools=_list_of_objects(get("tools")),
        kwargs=_mapping(get("kwargs")) or None,
        truncated=_truncated(get("truncated")),
        temperature=_number(get("temperature")),
        top_p=_number(get("top_p")),
        top_k=_whole(get("top_k")),
        top=_top("top_logprobs", get("top_logprobs"), len(ids), prompt),
        trainer_top=_top("trainer_top_logprobs", get("trainer_top_logprobs"), len(ids), prompt),
        assumed=assumed,
    )
    return made if keep is None else _without_padding(made, keep)


def _ids(get: Any, fields: FieldMap, row: Mapping[str, Any]) -> tuple[NDArray[int64], int | None, str]:
    """The ids of the buffer, and how many of them are the prompt's."""
    import numpy as np

    whole = get("ids")
    if whole is not None:
        ids = whole_numbers("ids", whole)
        prompt, completion = _whole(get("prompt_len")), _whole(get("completion_len"))
        if prompt is None and completion is not None:
            prompt = len(ids) - completion
        if prompt is not None and not 0 <= prompt <= len(ids):
            raise BadRow("prompt-length", f"a prompt of {prompt} tokens does not fit into {len(ids)} ids")
        return ids, prompt, ""
    completion_ids = get("completion_ids")
    if completion_ids is None:
        wanted = "ids" if "ids" in fields.paths and "completion_ids" not in fields.paths else "completion_ids"
        raise BadRow("no-field", missing_message(fields, wanted, row))
    prompt_ids = get("prompt_ids")
    if prompt_ids is None:
        raise BadRow("no-field", missing_message(fields, "prompt_ids", row))
    first = whole_numbers("prompt_ids", prompt_ids)
    return np.concatenate([first, whole_numbers("completion_ids", completion_ids)]), len(first), ""


def whole_numbers(name: str, values: Any) -> NDArray[int64]:
    """A list or array of integers as int64 [T]. Raises BadRow that shows the first value that is none."""
    import numpy as np

    if isinstance(values, list):
        try:
            return np.frombuffer(array("q", values), dtype=np.int64)
        except (TypeError, OverflowError):
            at, value = next(
                ((at, value) for at, value in enumerate(values) if not _is_id(value)),
                (0, values[0] if values else None),
            )
            hint = ": write one row per trajectory" if isinstance(value, list) else ""
            raise BadRow("not-ids", f"{name}[{at}] is {_shown(value)}, not a token id{hint}") from None
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iu":
        return values.astype(np.int64)
    raise BadRow("not-ids", f"{name} is {_kind(values)}, not a list of token ids")


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and -(1 << 63) <= value < 1 << 63


def _mask(values: Any, length: int, prompt: int | None) -> NDArray[Any] | None:
    import numpy as np

    if values is None:
        return None
    mask: NDArray[Any]
    if isinstance(values, list):
        try:
            mask = np.frombuffer(bytes(values), dtype=np.uint8)
        except (TypeError, ValueError):
            mask = real_numbers("mask", values)
    else:
        mask = real_numbers("mask", values)
        if bool(np.isin(mask, (0, 1)).all()):
            mask = mask.astype(np.uint8)
    return _aligned(mask, length, prompt)


def _logprobs(name: str, values: Any, length: int, prompt: int | None) -> NDArray[floating] | None:
    if values is None:
        return None
    return _aligned(real_numbers(name, values), length, prompt)


def real_numbers(name: str, values: Any) -> NDArray[floating]:
    """A list or array of numbers as float64 [T]; null is NaN, and words such as "-inf" count. Raises BadRow."""
    import numpy as np

    if isinstance(values, list):
        try:
            return np.frombuffer(array("d", values), dtype=np.float64)
        except (TypeError, OverflowError):
            return np.array([_real(name, at, value) for at, value in enumerate(values)], dtype=np.float64)
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iufb":
        return values.astype(np.float64)
    raise BadRow("not-numbers", f"{name} is {_kind(values)}, not a list of numbers")


def _real(name: str, at: int, value: Any) -> float:
    if value is None:
        return math.nan
    if isinstance(value, (int, float)):
        try:
            return float(value)
        except OverflowError:
            return math.inf
    if isinstance(value, str) and value.strip().lower() in _NUMBER_WORDS:
        return float(value)
    raise BadRow("not-numbers", f"{name}[{at}] is {_shown(value)}, not a number")


def _aligned(values: NDArray[Any], length: int, prompt: int | None) -> NDArray[Any]:
    """Values for what follows the prompt, with zeros for the prompt; any other length stays as it is."""
    import numpy as np

    if prompt is None or len(values) == length or len(values) != length - prompt:
        return values
    return np.concatenate([np.zeros(prompt, dtype=values.dtype), values])


def _attended(get: Any, length: int, prompt: int | None) -> NDArray[Any] | None:
    """Which ids are no padding; None where the row does not say."""
    import numpy as np

    whole, first = get("attention_mask"), get("prompt_mask")
    if whole is not None:
        attended = real_numbers("attention_mask", whole) != 0
        return attended if len(attended) == length else None
    if first is None or prompt is None:
        return None
    # What the trainer left out of the loss as a whole is no padding.
    rest = real_numbers("completion_mask", get("completion_mask") or []) != 0
    parts = [real_numbers("prompt_mask", first) != 0, rest if rest.any() else np.ones(length - prompt, dtype=bool)]
    return np.concatenate(parts) if [len(part) for part in parts] == [prompt, length - prompt] else None


def _without_padding(whole: Trajectory, keep: NDArray[Any]) -> Trajectory:
    from dataclasses import replace

    def cut(values: Any) -> Any:
        return values[keep] if values is not None and len(values) == len(keep) else values

    def cut_top(top: TopLogprobs | None) -> TopLogprobs | None:
        return None if top is None else TopLogprobs(ids=cut(top.ids), logprobs=cut(top.logprobs))

    prompt = whole.prompt_length
    return replace(
        whole,
        ids=cut(whole.ids),
        mask=cut(whole.mask),
        logprobs=cut(whole.logprobs),
        trainer_logprobs=cut(whole.trainer_logprobs),
        prompt_length=None if prompt is None else int(keep[:prompt].sum()),
        top=cut_top(whole.top),
        trainer_top=cut_top(whole.trainer_top),
    )


def _top(name: str, values: Any, length: int, prompt: int | None) -> TopLogprobs | None:
    """Lists of [id, log-probability], of objects with ``logprob``, or objects id -> log-probability, per position."""
    import numpy as np

    if not isinstance(values, list):
        return None
    per_position = [_entries(name, at, entry) for at, entry in enumerate(values)]
    widest = max((len(entries) for entries in per_position), default=0)
    ids = np.full((len(values), widest), -1, dtype=np.int64)
    logprobs = np.full((len(values), widest), np.nan)
    for at, entries in enumerate(per_position):
        for rank, (token_id, value) in enumerate(entries):
            ids[at, rank], logprobs[at, rank] = token_id, value
    if prompt is not None and len(values) == length - prompt != length:
        before = (prompt, widest)
        ids = np.concatenate([np.full(before, -1, dtype=np.int64), ids])
        logprobs = np.concatenate([np.full(before, np.nan), logprobs])
    return TopLogprobs(ids=ids, logprobs=logprobs) if len(ids) == length and widest else None


def _entries(name: str, at: int, entry: Any) -> list[tuple[int, float]]:
    if entry is None:
        return []
    pairs: Any = entry.items() if isinstance(entry, Mapping) else entry
    if not isinstance(entry, (list, Mapping)):
        raise BadRow("not-numbers", f"{name}[{at}] is {_kind(entry)}, not a list of tokens with log-probabilities")
    found = []
    for pair in pairs:
        if isinstance(pair, Mapping):
            token, value = pair.get("token_id", pair.get("id", pair.get("token"))), pair.get("logprob")
        elif isinstance(pair, (list, tuple)) and len(pair) == 2:
            token, value = pair
        else:
            raise BadRow("not-numbers", f"{name}[{at}] holds {_shown(pair)}, not a token with its log-probability")
        value = value.get("logprob") if isinstance(value, Mapping) else value
        found.append((_token_id(token), _real(name, at, value)))
    return found


def _token_id(token: Any) -> int:
    """An id, or the words vLLM writes for one (``token_id:42``); -1 for a text."""
    if isinstance(token, int):
        return token if _is_id(token) else -1
    digits = str(token).removeprefix("token_id:")
    return int(digits) if digits.isdecimal() and len(digits) < 18 else -1


def _messages(value: Any) -> list[Any] | None:
    """Messages, also as JSON text. Parquet gives every message the keys of all: those that are null are dropped."""
    if isinstance(value, str) and value.startswith("["):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
        return None
    return [{key: item for key, item in message.items() if item is not None or key == "content"} for message in value]


def _list_of_objects(value: Any) -> list[Any] | None:
    return value if isinstance(value, list) and all(isinstance(item, dict) for item in value) and value else None


def _mapping(value: Any) -> dict[str, Any]:
    return {str(key): item for key, item in value.items()} if isinstance(value, Mapping) else {}


def _truncated(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    word = str(value).lower()
    return True if word in _CUT_OFF else False if word in _FINISHED else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, (int, float)) and math.isfinite(value) and value == int(value) else None


def _name(value: Any) -> str | None:
    return None if value is None else str(value)


def _kind(value: Any) -> str:
    names = {
        dict: "an object",
        list: "a list",
        str: "a text",
        int: "a number",
        float: "a number",
        bool: "true or false",
    }
    return "null" if value is None else names.get(type(value), type(value).__name__)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."

"""The defects that a sample can hold: each makes one row wrong in one way, as real pipelines get it wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from template_lint.audit.auditor import Auditor
from template_lint.audit.sample.conversations import Conversation
from template_lint.audit.sample.distributions import Drawn

if TYPE_CHECKING:
    from numpy.random import Generator


class Planted(NamedTuple):
    """A sound row to be spoiled, and what it was made from."""

    row: dict[str, Any]
    conversation: Conversation
    drawn: Drawn
    auditor: Auditor
    random: Random
    generator: Generator


def _always(_: Auditor) -> bool:
    return True


class Plant(NamedTuple):
    """One defect. ``expected``: the rule that names it, or the word in the drift counts.

    ``sampler``: settings that the row is drawn with. ``possible``: whether a target allows it. ``pairs``: it concerns
    two rows of one rollout. ``also``: rules that rightly find it too.
    """

    expected: str
    what: str
    change: Callable[[Planted], None]
    sampler: Mapping[str, Any] = {}
    needs_tools: bool = False
    top_lists: bool = False
    pairs: bool = False
    also: tuple[str, ...] = ()
    possible: Callable[[Auditor], bool] = _always


def _drop_logprob(it: Planted) -> None:
    it.row["logprobs"] = it.row["logprobs"][:-1]


def _mask_value(it: Planted) -> None:
    it.row["mask"][_some_sampled(it)] = 2


def _sampled_prompt(it: Planted) -> None:
    length = it.row["prompt_len"]
    for at in range(max(0, length - it.random.randint(2, 6)), length):
        it.row["mask"][at] = 1


def _nothing_sampled(it: Planted) -> None:
    it.row["mask"] = [0] * len(it.row["mask"])


def _outside(it: Planted) -> None:
    it.row["ids"][_some_sampled(it)] = len(it.auditor.known) + it.random.randint(0, 5000)


def _unreachable(it: Planted) -> None:
    unknown = (~it.auditor.known).nonzero()[0].tolist()
    it.row["ids"][_some_sampled(it)] = it.random.choice(unknown)


def _bad_logprob(it: Planted) -> None:
    it.row["logprobs"][_some_sampled(it)] = it.random.choice((None, 0.25, float("-inf"), float("nan")))


def _second_bos(it: Planted) -> None:
    row = it.row
    row["ids"] = [it.auditor.bos_id, *row["ids"]]
    row["mask"] = [0, *row["mask"]]
    row["prompt_len"] += 1
    for name in ("logprobs", "trainer_logprobs"):
        row[name] = [0.0, *row[name]]


def _no_stop(it: Planted) -> None:
    for name in ("ids", "mask", "logprobs", "trainer_logprobs"):
        it.row[name] = it.row[name][:-1]


def _tool_text_sampled(it: Planted) -> None:
    start = 0
    for piece in it.conversation.pieces:
        end = start + len(piece.ids)
        if start and not piece.sampled:
            it.row["mask"][start:end] = [1] * (end - start)
            return
        start = end


def _other_prompt(it: Planted) -> None:
    last = it.row["messages"][-1]
    it.row["messages"] = [*it.row["messages"][:-1], {**last, "content": last["content"] + " Please."}]


def _resegmented(it: Planted) -> None:
    """Another segmentation of the last sampled turn, as samplers do emit it, scored as such by both."""
    _resegment(it)


def _resegmented_scored_again(it: Planted) -> None:
    """The trainer scored re-encoded tokens: it agrees up to the first that changed and scores others from there on."""
    first = _resegment(it)
    scored = it.row["trainer_logprobs"]
    for at in range(first, len(scored)):
        scored[at] = round(-float(it.generator.uniform(0.2, 9.0)), 6)


def _resegment(it: Planted) -> int:
    from template_lint.tito.segmentation import alternatives

    pieces = it.conversation.pieces
    before = sum(len(piece.ids) for piece in pieces[:-1])
    own = pieces[-1].ids
    seed = it.random.randrange(1 << 30)
    choices = alternatives(it.auditor.tokenization, own, seed=seed, count=8)
    late = [other for other in choices if _same(own, other) >= 5] or choices
    other = it.random.choice(late)
    first = before + _same(own, other)
    row = it.row
    length = len(other) - len(own)
    row["ids"] = [*row["ids"][:before], *other]
    row["mask"] = [*row["mask"][:before], *([1] * len(other))]
    for name in ("logprobs", "trainer_logprobs"):
        row[name] = [*row[name], *row[name][-length:]] if length > 0 else row[name][: len(row["ids"])]
    return first


def _same(one: list[int], other: list[int]) -> int:
    shorter = min(len(one), len(other))
    return next((at for at in range(shorter) if one[at] != other[at]), shorter)


def _nothing_more(_: Planted) -> None:
    """The defect is in how the row was made."""


def _forgotten_settings(it: Planted) -> None:
    """The row does not say how it was sampled."""
    it.row["temperature"], it.row["top_p"], it.row["top_k"] = None, None, None


def _rounded_coarsely(it: Planted) -> None:
    import numpy as np

    sampled = np.flatnonzero(np.array(it.row["mask"]))
    values = np.array(it.row["trainer_logprobs"])
    noise = it.generator.normal(0, 1, len(sampled)) * 0.015 * (0.2 - values[sampled])
    values[sampled] = np.minimum(values[sampled] + noise, 0.0)
    it.row["trainer_logprobs"] = [round(value, 6) for value in values.tolist()]


def _shifted(it: Planted) -> None:
    it.row["logprobs"] = [0.0, *it.row["logprobs"][:-1]]


def _raw_logits(it: Planted) -> None:
    _replace_sampled(it, [18.0 + z for z in _logits(it)])


def _constant_offset(it: Planted) -> None:
    own = it.row["logprobs"]
    it.row["logprobs"] = [value - 2.5 if bit else value for value, bit in zip(own, it.row["mask"], strict=True)]


def _logits(it: Planted) -> list[float]:
    values = it.drawn.logits[range(len(it.drawn.rank)), it.drawn.rank]
    return [float(value) for value in values]


def _replace_sampled(it: Planted, values: list[float]) -> None:
    rest = iter(values)
    it.row["logprobs"] = [
        round(next(rest), 6) if bit else value for value, bit in zip(it.row["logprobs"], it.row["mask"], strict=True)
    ]


def _mask_moved(it: Planted) -> None:
    by = it.random.randint(4, 9)
    it.row["mask"] = [*it.row["mask"][by:], *([0] * by)]


def _another_model(it: Planted) -> None:
    import numpy as np

    values = np.array(it.row["trainer_logprobs"])
    sampled = np.flatnonzero(np.array(it.row["mask"]))
    values[sampled] = np.minimum(values[sampled] + it.generator.normal(0, 0.6, len(sampled)), -1e-4)
    it.row["trainer_logprobs"] = [round(value, 6) for value in values.tolist()]


def _some_sampled(it: Planted) -> int:
    """A sampled token that ends no turn."""
    mask, ids = it.row["mask"], it.row["ids"]
    return it.random.choice([at for at, bit in enumerate(mask) if bit and ids[at] not in it.auditor.stop_ids])


PLANTS: dict[str, Plant] = {
    "unequal-lengths": Plant("TLA01", "one log-probability too few", _drop_logprob),
    "mask-value": Plant("TLA02", "a mask value of 2", _mask_value),
    "sampled-prompt": Plant(
        "TLA03", "mask 1 on the last tokens of the prompt", _sampled_prompt, also=("TLA10", "TLA38")
    ),
    "nothing-sampled": Plant("TLA04", "mask 0 everywhere", _nothing_sampled),
    "id-outside": Plant("TLA05", "an id beyond the vocabulary", _outside),
    "unreachable-id": Plant(
        "TLA06", "the id of a padding row", _unreachable, possible=lambda auditor: not auditor.known.all()
    ),
    "bad-logprob": Plant("TLA07", "a log-probability null, NaN, -inf or above 0", _bad_logprob),
    "second-bos": Plant("TLA08", "BOS added twice", _second_bos, possible=lambda auditor: bool(auditor.bos_count)),
    "no-stop": Plant("TLA09", "the last turn lost its stop token", _no_stop),
    "tool-text-sampled": Plant(
        "TLA10",
        "mask 1 on a tool result",
        _tool_text_sampled,
        needs_tools=True,
        also=("TLA09", "TLA38"),
        possible=lambda auditor: auditor.headers is not None,
    ),
    "other-prompt": Plant("TLA11", "messages that are not those of the prompt", _other_prompt),
    "rewritten-history": Plant("TLA12", "a later turn whose first sampled turn is another", _nothing_more, pairs=True),
    "resegmented": Plant("drift", "another segmentation of a sampled turn", _resegmented),
    "scored-reencoded": Plant(
        "TLA31", "the trainer scored the re-encoded text", _resegmented_scored_again, also=("drift",)
    ),
    "temperature": Plant(
        "TLA32", "sampled at 0.7, scored at 1", _forgotten_settings, sampler={"temperature": 0.7}, top_lists=True
    ),
    "top-p": Plant("TLA33", "top-p 0.9, renormalised by the sampler", _nothing_more, sampler={"top_p": 0.9}),
    "top-k": Plant("TLA33", "top-k 12, renormalised by the sampler", _forgotten_settings, sampler={"top_k": 12}),
    "greedy": Plant("TLA34", "temperature 0: every log-probability is 0", _nothing_more, sampler={"temperature": 0.0}),
    "coarse": Plant("TLA35", "rounding of a few hundredths of a nat", _rounded_coarsely),
    "shifted": Plant("TLA36", "the sampler's list is late by one token", _shifted),
    "logits": Plant("TLA37", "logits in place of log-probabilities", _raw_logits, also=("TLA07",)),
    "constant": Plant("TLA37", "log-probabilities off by a constant", _constant_offset),
    "moved-mask": Plant("TLA38", "a mask some tokens off", _mask_moved, also=("TLA03", "TLA09", "TLA10")),
    "another-model": Plant("TLA39", "scores of another model", _another_model),
}

"""Rows of a sample: sound rollouts, and planted defects at known rates, the same for the same seed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from template_lint.audit.auditor import Auditor
from template_lint.audit.sample.conversations import Conversation, Talker
from template_lint.audit.sample.distributions import Drawn, draw, top_lists
from template_lint.audit.sample.plants import PLANTS, Plant, Planted

if TYPE_CHECKING:
    from numpy.random import Generator

_PAIR_EVERY = 25
_TOP_LISTS = 0.03


def make_sample(
    auditor: Auditor,
    count: int,
    *,
    seed: int = 0,
    rate: float = 0.0,
    plants: Sequence[str] | None = None,
    start: int = 0,
    end: int | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield rows [start, end) of a sample of ``count`` rows, in the layout ``template-lint``.

    Each of ``plants`` (all that the target allows, where None) is planted into a share ``rate`` of the rows, in no row
    two. Its name stands in ``planted``, which an audit does not read.
    """
    wanted = PLANTS if plants is None else plants
    names = [name for name in wanted if PLANTS[name].possible(auditor)]
    maker = _Maker(Talker(auditor), count, seed, rate, names)
    for index in range(start, count if end is None else end):
        yield maker.row(index)


class _Maker:
    """Knows which row holds what before it is made: rows depend on the seed and their index alone."""

    def __init__(self, talker: Talker, count: int, seed: int, rate: float, names: list[str]) -> None:
        self.talker, self.count, self.seed, self.rate, self.names = talker, count, seed, rate, names

    def _plant(self, index: int) -> str | None:
        """The defect of a row. A later turn can be wrong only where the row before it can be the earlier one."""
        name = _chosen(index, self.names, self.rate, self.seed)
        if name is not None and PLANTS[name].pairs and not self._is_free(index - 1):
            return None
        return name

    def _is_free(self, index: int) -> bool:
        return index >= 0 and _chosen(index, self.names, self.rate, self.seed) is None

    def _is_later_turn(self, index: int) -> bool:
        """Whether a row is the second turn of the rollout whose first turn is the row before it."""
        if index >= self.count or not self._is_free(index - 1):
            return False
        name = self._plant(index)
        if name is not None:
            return PLANTS[name].pairs
        return index % _PAIR_EVERY == 1 and not self._is_later_turn(index - 1) and not self._is_later_turn(index + 1)

    def row(self, index: int) -> dict[str, Any]:
        """The row, sound or spoiled."""
        import numpy as np

        name = self._plant(index)
        plant = PLANTS[name] if name is not None else None
        later = self._is_later_turn(index)
        earlier = not later and plant is None and self._is_later_turn(index + 1)
        random = Random(f"{self.seed} {index}")
        conversation = self._conversation(index + earlier, plant)
        if earlier:
            conversation = conversation._replace(pieces=conversation.pieces[:2])
        elif plant is not None and plant.pairs:
            again = self.talker.turn(random)
            conversation = conversation._replace(pieces=[conversation.pieces[0], again, *conversation.pieces[2:]])
        generator = np.random.default_rng([self.seed & 0xFFFFFFFF, index])
        row = _row(conversation, plant.sampler if plant is not None else {})
        if later or earlier:
            row |= {"rollout": f"rollout-{index + earlier}", "turn": int(later)}
        wants_top = plant.top_lists if plant is not None else random.random() < _TOP_LISTS
        drawn = _add_logprobs(row, generator, self.talker.auditor, wants_top)
        if plant is not None:
            plant.change(Planted(row, conversation, drawn, self.talker.auditor, random, generator))
            row["planted"] = name
        return {key: value for key, value in row.items() if value is not None}

    def _conversation(self, index: int, plant: Plant | None) -> Conversation:
        """The conversation of a row, one that its defect can be planted into."""
        random = Random(f"{self.seed} {index} talk")
        conversation = self.talker.conversation(random)
        for _ in range(20):
            if plant is None or not plant.needs_tools or len(conversation.pieces) > 2:
                break
            conversation = self.talker.conversation(random)
        return conversation


def _row(conversation: Conversation, sampler: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "ids": conversation.ids,
        "mask": conversation.mask,
        "prompt_len": len(conversation.pieces[0].ids),
        "messages": conversation.messages,
        "tools": conversation.tools,
        "truncated": False,
        "temperature": 1.0,
        "top_p": 1.0,
        **sampler,
    }


def _chosen(index: int, names: Sequence[str], rate: float, seed: int) -> str | None:
    """Which defect row ``index`` gets: within each stretch of 1 / rate rows, every defect once, at a random place."""
    if not names or rate <= 0:
        return None
    stretch = max(len(names), round(1 / rate))
    part, offset = divmod(index, stretch)
    places = Random(f"{seed} places {part}").sample(range(stretch), len(names))
    return names[places.index(offset)] if offset in places else None


def _add_logprobs(row: dict[str, Any], generator: Generator, auditor: Auditor, wants_top: bool) -> Drawn:
    """Log-probabilities of the sampled tokens; the trainer scores the rest too."""
    import numpy as np

    mask = np.array(row["mask"])
    sampled = np.flatnonzero(mask)
    temperature = float(row["temperature"])
    drawn = draw(
        len(sampled), generator, temperature=temperature, top_p=float(row["top_p"]), top_k=int(row.get("top_k") or 0)
    )
    own, scored = np.zeros(len(mask)), np.zeros(len(mask))
    own[sampled] = drawn.sampler
    scored[1:] = -generator.uniform(0.5, 6.0, len(mask) - 1)
    noise = generator.normal(0, 1, len(sampled)) * 2e-4 * (1 - drawn.trainer)
    scored[sampled] = np.minimum(drawn.trainer + noise, 0.0)
    row["logprobs"] = rounded(own)
    row["trainer_logprobs"] = rounded(scored)
    if wants_top:
        ids = [row["ids"][at] for at in sampled.tolist()]
        lists = iter(top_lists(drawn, ids, generator, len(auditor.known)))
        row["top_logprobs"] = [next(lists) if bit else [] for bit in row["mask"]]
    return drawn


def rounded(values: Any) -> list[float]:
    """As single precision writes them, about."""
    return [round(value, 6) for value in values.tolist()]


def dump(row: dict[str, Any]) -> str:
    """One line of JSON; NaN and infinities as Python writes them."""
    return json.dumps(row, separators=(",", ":"), ensure_ascii=False)

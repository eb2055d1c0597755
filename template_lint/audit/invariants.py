"""What must hold of every buffer, whatever the model and the trainer. Each broken invariant is a Flaw with its values.

``lengths`` decides which rows can be looked at closer; ``flaws_of`` looks at those.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from template_lint.audit.auditor import Auditor
from template_lint.audit.batch import Batch
from template_lint.audit.model import Flaw, Trajectory

if TYPE_CHECKING:
    from numpy import bool_, int64
    from numpy.typing import NDArray

_BEHIND = 8
"""How many tokens behind a stop id may be the template's, in a mask that is late or too long."""
ROUNDING = 1e-4
"""A log-probability of a token that is all but certain may round to slightly more than 0, by this much."""

UNEQUAL, MASK, IN_PROMPT, NOTHING, OUTSIDE, UNREACHABLE, LOGPROBS, BOS, UNFINISHED, FOREIGN, PROMPT, HISTORY = (
    f"TLA{number:02d}" for number in range(1, 13)
)
ALWAYS = (UNEQUAL, MASK, NOTHING, OUTSIDE, UNREACHABLE)


def length_flaw(row: Trajectory) -> Flaw | None:
    """TLA01, or TLA04 for an empty buffer: such a row cannot be looked at any closer."""
    expected = len(row.ids)
    lists = {"mask": row.mask, "logprobs": row.logprobs, "trainer_logprobs": row.trainer_logprobs}
    wrong = [
        f"{len(values)} {name}" for name, values in lists.items() if values is not None and len(values) != expected
    ]
    if wrong:
        after = "" if row.prompt_length is None else f" ({expected - row.prompt_length} after the prompt)"
        return Flaw(UNEQUAL, f"{expected} ids{after}, {', '.join(wrong)}")
    return Flaw(NOTHING, "the buffer is empty") if not expected else None


class Found:
    """Flaws and questions asked, by row of a batch; ``strangers`` hold no token that opens or ends a turn."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.flaws: list[list[Flaw]] = [[] for _ in batch.rows]
        self.asked: list[list[str]] = [list(ALWAYS) for _ in batch.rows]
        self.strangers: list[bool] = [False] * len(batch)

    def add(self, rule: str, flat: NDArray[int64], say: str) -> None:
        """A flaw per row that ``flat`` (ascending) touches; ``say`` may use {count}, {at}, {id}, {value}."""
        for row, (position, count) in self.batch.first_per_row(flat).items():
            token_id = int(self.batch.ids[self.batch.starts[row] + position])
            more = f" (and {count - 1} more)" if count > 1 else ""
            self.flaws[row].append(Flaw(rule, say.format(count=count, at=position, id=token_id) + more, position))

    def ask(self, rule: str, rows: NDArray[bool_]) -> None:
        """Note that a rule could be asked of these rows (indices, or an array of truth values)."""
        import numpy as np

        for row in np.flatnonzero(rows).tolist():
            self.asked[row].append(rule)


def flaws_of(batch: Batch, auditor: Auditor) -> Found:
    """All invariants but those of prompts and of neighbouring turns."""
    import numpy as np

    found = Found(batch)
    _mask_values(batch, found)
    _prompt_not_sampled(batch, found)
    _something_sampled(batch, found)
    inside = _ids(batch, auditor, found)
    _logprob_values(batch, found)
    _bos(batch, auditor, found)
    _turn_ends(batch, auditor, inside, found)
    _turn_beginnings(batch, auditor, found)
    _behind_stops(batch, auditor, inside, found)
    if auditor.borders.any():
        found.strangers = (~np.logical_or.reduceat(auditor.borders[inside], batch.starts)).tolist()
    for index, flaws in enumerate(found.flaws):
        if any(flaw.rule == MASK for flaw in flaws):
            # What a wrong value of the mask makes of runs and turns is no news.
            found.flaws[index] = [flaw for flaw in flaws if flaw.rule not in (UNFINISHED, FOREIGN, IN_PROMPT)]
    return found


def _mask_values(batch: Batch, found: Found) -> None:
    import numpy as np

    for index, row in enumerate(batch.rows):
        if row.mask.dtype == np.uint8 and not (row.mask > 1).any():
            continue
        odd = np.flatnonzero(~np.isin(row.mask, (0, 1)))
        if len(odd):
            at, value = int(odd[0]), float(row.mask[odd[0]])
            more = f" (and {len(odd) - 1} more)" if len(odd) > 1 else ""
            found.flaws[index].append(Flaw(MASK, f"mask {value:g} at token {at}{more}", at))


def _prompt_not_sampled(batch: Batch, found: Found) -> None:
    import numpy as np

    lengths = np.array([-1 if row.prompt_length is None else row.prompt_length for row in batch.rows], dtype=np.int64)
    found.ask(IN_PROMPT, lengths >= 0)
    prompt_ends = batch.starts + np.maximum(lengths, 0)
    early = batch.sampled[batch.sampled < prompt_ends[batch.sampled_row]]
    for row, (position, count) in batch.first_per_row(early).items():
        message = f"{count} of the {int(lengths[row])} prompt tokens have mask 1, the first is token {position}"
        found.flaws[row].append(Flaw(IN_PROMPT, message, position))


def _something_sampled(batch: Batch, found: Found) -> None:
    for row in (batch.sampled_counts == 0).nonzero()[0].tolist():
        found.flaws[row].append(Flaw(NOTHING, f"none of the {len(batch.rows[row].ids)} tokens has mask 1"))


def _ids(batch: Batch, auditor: Auditor, found: Found) -> NDArray[int64]:
    """TLA05 and TLA06. Returns the ids with those outside the tables replaced by 0."""
    import numpy as np

    size = len(auditor.known)
    outside = (batch.ids < 0) | (batch.ids >= size)
    inside = batch.ids
    if outside.any():
        say = f"id {{id}} at token {{at}} is outside the vocabulary of {size}"
        found.add(OUTSIDE, np.flatnonzero(outside), say)
        inside = np.where(outside, 0, batch.ids)
    unknown = ~auditor.known[inside] & ~outside
    if unknown.any():
        found.add(UNREACHABLE, np.flatnonzero(unknown), "no token has id {id}, at token {at}")
    return inside


def _logprob_values(batch: Batch, found: Found) -> None:
    import numpy as np

    for whose, get in (("the sampler's", "logprobs"), ("the trainer's", "trainer_logprobs")):
        values, has = batch.flat(attrgetter(get))
        if not has.any():
            continue
        found.ask(LOGPROBS, has & ~np.array([LOGPROBS in asked for asked in found.asked]))
        sampled = values[batch.sampled]
        wrong = ~(sampled <= ROUNDING)
        if get == "logprobs":
            wrong |= np.isneginf(sampled)
        for row, (position, count) in batch.first_per_row(batch.sampled[wrong]).items():
            value = values[batch.starts[row] + position]
            more = f" (and {count - 1} more)" if count > 1 else ""
            message = f"{whose} log-probability of token {position} is {value:.6g}{more}"
            found.flaws[row].append(Flaw(LOGPROBS, message, position))


def _bos(batch: Batch, auditor: Auditor, found: Found) -> None:
    import numpy as np

    if auditor.bos_id is None or auditor.bos_count is None:
        return
    found.ask(BOS, np.ones(len(batch), dtype=np.bool_))
    at = np.flatnonzero(batch.ids == auditor.bos_id)
    counts = np.bincount(batch.rows_of(at), minlength=len(batch))
    leading = batch.ids[batch.starts] == auditor.bos_id
    wrong = (counts != auditor.bos_count) | (leading != (auditor.bos_count > 0))
    for row in np.flatnonzero(wrong).tolist():
        begins = "begins with" if leading[row] else "does not begin with"
        expected = f"the template writes {auditor.bos_count}"
        message = f"{int(counts[row])} BOS tokens (id {auditor.bos_id}), {expected}; the buffer {begins} it"
        found.flaws[row].append(Flaw(BOS, message, 0))


def _turn_ends(batch: Batch, auditor: Auditor, inside: NDArray[int64], found: Found) -> None:
    """TLA09: a sampled turn ends with a stop id, or is the last one and marked truncated."""
    import numpy as np

    if not auditor.stop_ids:
        return
    found.ask(UNFINISHED, batch.sampled_counts > 0)
    open_ends, stop_at = _open_ends(batch, auditor, inside)
    if auditor.headers is not None:
        open_ends = open_ends[stop_at < 0]  # what the mask takes in behind a stop id is TLA10's affair
    if not len(open_ends):
        return
    rows = batch.rows_of(open_ends)
    cut_off = np.array([row.truncated is True for row in batch.rows], dtype=np.bool_)
    last_of_row = np.full(len(batch), -1, dtype=np.int64)
    np.maximum.at(last_of_row, batch.sampled_row, batch.sampled)
    excused = cut_off[rows] & (open_ends == last_of_row[rows])
    stops = ", ".join(str(stop) for stop in auditor.stop_ids[:4])
    say = f"a sampled turn ends at token {{at}} with id {{id}}, no stop id ({stops}), and is not marked truncated"
    open_ends = open_ends[~excused]
    following = np.minimum(open_ends + 1, len(batch.ids) - 1)
    rows = batch.rows_of(open_ends)
    masked = (batch.rows_of(following) == rows) & auditor.stops[inside[following]]
    # A row is said to be what its first open end is.
    early = masked[np.searchsorted(rows, rows)]
    found.add(UNFINISHED, open_ends[early], "a sampled turn ends at token {at}, and the stop id behind it has mask 0")
    found.add(UNFINISHED, open_ends[~early], say)


def _open_ends(batch: Batch, auditor: Auditor, inside: NDArray[int64]) -> tuple[NDArray[int64], NDArray[int64]]:
    """Ends of runs of sampled tokens that are no stop id, and the stop id shortly before each in its run, else -1."""
    import numpy as np

    firsts, lasts = batch.runs()
    ends_open = ~auditor.stops[inside[lasts]]
    firsts, lasts = firsts[ends_open], lasts[ends_open]
    stop_at = np.full(len(lasts), -1, dtype=np.int64)
    for back in range(_BEHIND, 0, -1):
        at = np.maximum(lasts - back, firsts)
        stop_at = np.where(auditor.stops[inside[at]], at, stop_at)
    return lasts, stop_at


def _behind_stops(batch: Batch, auditor: Auditor, inside: NDArray[int64], found: Found) -> None:
    """TLA10: a mask that goes on behind the stop id, by a few tokens, is late, or takes in the template's text."""
    if auditor.headers is None:
        return
    _, stop_at = _open_ends(batch, auditor, inside)
    for row, (position, count) in batch.first_per_row(stop_at[stop_at >= 0]).items():
        if any(flaw.rule == FOREIGN for flaw in found.flaws[row]):
            continue
        more = f" (and {count - 1} more)" if count > 1 else ""
        token_id = int(batch.ids[batch.starts[row] + position + 1])
        what = f"token {position + 1} (id {token_id}) has mask 1 and stands behind the stop id of its turn"
        message = f"{what}: padding, or a late mask{more}"
        found.flaws[row].append(Flaw(FOREIGN, message, position + 1))


def _turn_beginnings(batch: Batch, auditor: Auditor, found: Found) -> None:
    """TLA10: what is sampled stands in a turn of the model, and nothing behind a stop id of the same turn is."""
    import numpy as np

    headers = auditor.headers
    if headers is None or not len(batch.sampled):
        return
    found.ask(FOREIGN, batch.sampled_counts > 0)
    openers = np.flatnonzero(np.isin(batch.ids, headers.openers))
    if not len(openers):
        return
    own = np.ones(len(openers), dtype=np.bool_)
    for offset, token_id in enumerate(headers.assistant):
        at = np.minimum(openers + offset, len(batch.ids) - 1)
        own &= batch.ids[at] == token_id
    before = np.searchsorted(openers, batch.sampled, side="right") - 1
    opened = openers[np.maximum(before, 0)]
    in_row = (before >= 0) & (opened >= batch.starts[batch.sampled_row])
    # An opener may be cut off at the end of a buffer: what cannot be read is not blamed.
    whole = opened + len(headers.assistant) <= batch.ends[batch.sampled_row]
    foreign = in_row & whole & ~own[np.maximum(before, 0)]
    say = "token {at} (id {id}) has mask 1 and stands in a turn that is not the model's"
    found.add(FOREIGN, batch.sampled[foreign], say)

"""What re-encoding would do to buffers whose turns were sampled in other segmentations of the same text.

The ratios are those of a toy policy, seeded: they say how far off the tokens are, not what a model would do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from template_lint.tito.buffer import Buffer
from template_lint.tito.deltas import first_difference
from template_lint.tito.drift import Drift, Verdict, measure_many
from template_lint.tito.engines import Engine
from template_lint.tito.evidence import Check, Status, first_clash
from template_lint.tito.pieces import pieces_of
from template_lint.tito.policy import HashPolicy, importance_ratios, outside_clip, score
from template_lint.tito.segmentation import alternatives
from template_lint.tito.simulate import Script, Step, play

PPO_CLIP = 0.2
_MOST_EXAMPLES = 5
_MOST_TOKENS = 8
_Window = tuple[tuple[int, ...], tuple[int, ...]]


class Example(NamedTuple):
    """Sampled tokens and what the same text is re-encoded to (the first few); ``times`` buffers drift there first."""

    sampled: list[int]
    reencoded: list[int]
    sampled_texts: list[str]
    reencoded_texts: list[str]
    times: int


class DriftSummary(NamedTuple):
    """Counts over all buffers with sampled tokens, one for each conversation and segmentation.

    ``drifted_tokens`` of ``tokens``; ``silent`` buffers have other ids but as many; ``straddling`` tokens belong to
    both sides of a border of the mask; ``worst`` is one example, silent drift before other; ``examples`` the commonest.
    """

    buffers: int
    tokens: int
    drifted_tokens: int
    silent: int
    straddling: int
    clean: int
    realign: int
    fork: int
    worst: Example | None
    examples: list[Example]


class RatioSummary(NamedTuple):
    """Importance ratios of sampled tokens under the toy policy.

    ``tito_maximum_error`` is the largest |ratio - 1| on the buffer's own ids. The others are of re-encoded buffers as
    long as the original (for the rest there is no ratio per token): ``tokens`` of them, their largest ratio, and the
    share outside 1 +- PPO_CLIP. None where no buffer drifts silently.
    """

    tito_maximum_error: float
    tokens: int
    reencoded_maximum: float | None
    reencoded_outside_clip: float | None


def drift_report(
    engine: Engine, scripts: Sequence[Script], *, seed: int, segmentations: int
) -> tuple[DriftSummary, RatioSummary, Check]:
    """Play every script in ``segmentations`` segmentations and re-encode the buffers; check that their text holds.

    Raises CannotCheckError (``no-bytes``) for a tokenizer whose tokens have no bytes of their own.
    """
    tally = _Tally(engine, HashPolicy(seed, max(engine.tokenization.vocab_size, 2)))
    others: dict[tuple[int, ...], list[list[int]]] = {}

    def resegmented(step: Step) -> list[list[int]]:
        key = tuple(step.ids)
        if key not in others:
            others[key] = alternatives(engine.tokenization, step.ids, seed=seed, count=segmentations)
        return others[key] or [step.ids]

    seen = set()
    for script in scripts:
        key = tuple(tuple(step.ids) for step in script.steps)
        if not script.turns or key in seen:
            continue
        seen.add(key)
        count = max(len(resegmented(step)) for step in script.turns)
        buffers = [
            play(script, lambda _, step, number=number: _nth(resegmented(step), number), policy=tally.policy)  # type: ignore[misc]
            for number in range(count)
        ]
        tally.add(script, buffers)
    return tally.drift(), tally.ratios(), tally.text_check()


def _nth(options: list[list[int]], number: int) -> list[int]:
    return options[number % len(options)]


class _Tally:
    """Adds up what the buffers of one script after another give."""

    def __init__(self, engine: Engine, policy: HashPolicy) -> None:
        self.engine = engine
        self.policy = policy
        self._pieces = pieces_of(engine.tokenization)
        self._counts: Counter[str] = Counter()
        self._windows: Counter[_Window] = Counter()
        self._worst: tuple[tuple[int, int, int], _Window] | None = None
        self._tito_error = 0.0
        self._ratios: list[float] = []
        self._texts_compared = 0
        self._text_failure: Check | None = None

    def add(self, script: Script, buffers: Sequence[Buffer]) -> None:
        """Measure the buffers of one script."""
        self._compare_texts(script, buffers)
        for buffer, drift in zip(buffers, measure_many(self.engine.tokenization, buffers), strict=True):
            self._counts.update(
                buffers=1,
                tokens=len(buffer),
                drifted=drift.drifted,
                silent=int(drift.same_length),
                straddling=len(drift.straddling),
            )
            self._counts[drift.verdict] += 1
            own = _at_mask(score(self.policy, buffer.ids), buffer.mask)
            sampled = _at_mask(buffer.logprobs, buffer.mask)
            self._tito_error = max([self._tito_error, *(abs(ratio - 1) for ratio in importance_ratios(sampled, own))])
            if drift.same_length:
                other = _at_mask(score(self.policy, drift.reencoded), buffer.mask)
                self._ratios += importance_ratios(sampled, other)
            if drift.first is not None:
                self._note(buffer, drift, drift.first)

    def _note(self, buffer: Buffer, drift: Drift, first: int) -> None:
        window = self._window(buffer.ids, drift.reencoded, first)
        self._windows[window] += 1
        rank = (len(drift.straddling), int(drift.same_length), -len(window[0]) - len(window[1]))
        if self._worst is None or rank > self._worst[0]:
            self._worst = rank, window

    def _window(self, ids: Sequence[int], other: Sequence[int], first: int) -> _Window:
        """The tokens of both from their first difference until both have said the same bytes; the first few of
        them.
        """
        end = other_end = first
        said = other_said = b""
        while end < len(ids) or other_end < len(other):
            if end < len(ids) and (len(said) <= len(other_said) or other_end == len(other)):
                said += self._pieces.surface(ids[end])
                end += 1
            else:
                other_said += self._pieces.surface(other[other_end])
                other_end += 1
            if said == other_said and other_end > first:
                break
        last = first + _MOST_TOKENS
        return tuple(ids[first : min(end, last)]), tuple(other[first : min(other_end, last)])

    def _compare_texts(self, script: Script, buffers: Sequence[Buffer]) -> None:
        """decode(buffer) is the full render, whatever the segmentation; only where the canonical buffer is right."""
        canonical = play(script)
        if first_clash(self.engine, script, canonical) is not None:
            return
        render = self.engine.decode(canonical.ids)
        texts = self.engine.tokenization.decode_batch([buffer.ids for buffer in buffers])
        self._texts_compared += len(texts)
        for buffer, text in zip(buffers, texts, strict=True):
            if text != render and self._text_failure is None:
                at = first_difference(list(map(ord, text)), list(map(ord, render)))
                message = (
                    f"character {at} of {script.scenario.name}: {text[at : at + 20]!r}, not {render[at : at + 20]!r}"
                )
                evidence = {"scenario": script.scenario.name, "position": at, "ids": buffer.ids}
                self._text_failure = Check("text-of-segmentations", Status.FAIL, message, "TL305", "", evidence)

    def text_check(self) -> Check:
        """The check of decoded texts."""
        if self._text_failure is not None:
            return self._text_failure
        if not self._texts_compared:
            return Check("text-of-segmentations", Status.SKIPPED, "no canonical buffer equals its full render")
        return Check("text-of-segmentations", Status.PASS, f"{self._texts_compared} buffers decode to the full render")

    def drift(self) -> DriftSummary:
        """The counts."""
        counts = self._counts
        common = sorted(self._windows.items(), key=lambda item: (-item[1], len(item[0][0]), item[0]))
        return DriftSummary(
            buffers=counts["buffers"],
            tokens=counts["tokens"],
            drifted_tokens=counts["drifted"],
            silent=counts["silent"],
            straddling=counts["straddling"],
            clean=counts[Verdict.CLEAN],
            realign=counts[Verdict.REALIGN],
            fork=counts[Verdict.FORK],
            worst=self._example(self._worst[1]) if self._worst else None,
            examples=[self._example(window) for window, _ in common[:_MOST_EXAMPLES]],
        )

    def _example(self, window: _Window) -> Example:
        texts = [[self._pieces.surface(token_id).decode(errors="replace") for token_id in ids] for ids in window]
        return Example(list(window[0]), list(window[1]), texts[0], texts[1], self._windows[window])

    def ratios(self) -> RatioSummary:
        """The importance ratios."""
        return RatioSummary(
            tito_maximum_error=self._tito_error,
            tokens=len(self._ratios),
            reencoded_maximum=max(self._ratios, default=None),
            reencoded_outside_clip=outside_clip(self._ratios, PPO_CLIP) if self._ratios else None,
        )


def _at_mask(values: Sequence[float], mask: Sequence[int]) -> list[float]:
    return [value for value, sampled in zip(values, mask, strict=True) if sampled]

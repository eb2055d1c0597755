"""From generation spans to a token mask, as ``return_assistant_tokens_mask`` of each transformers line makes it."""

from __future__ import annotations

from collections.abc import Sequence

from template_lint.rendering.profiles import Profile

Range = tuple[int, int]


def token_mask(spans: Sequence[Range], offsets: Sequence[Range], profile: Profile) -> list[int]:
    """1 for each token that the model wrote, else 0.

    ``spans`` are [start, end) code points in render order, ``offsets`` those of the tokens. Source:
    tokenization_utils_base.py of 4.57.6 and 5.24.0.
    """
    return _by_overlap(spans, offsets) if profile.masks_by_overlap else _by_end_characters(spans, offsets)


def _by_overlap(spans: Sequence[Range], offsets: Sequence[Range]) -> list[int]:
    mask = [0] * len(offsets)
    current = 0
    for token, (start, end) in enumerate(offsets):
        while current < len(spans) and start >= spans[current][1]:
            current += 1
        if current == len(spans):
            break
        if end > spans[current][0]:
            mask[token] = 1
    return mask


def _by_end_characters(spans: Sequence[Range], offsets: Sequence[Range]) -> list[int]:
    # 4.57 asks for the first token of the last character, so the other tokens of an emoji stay outside; and it takes
    # token 0 for no token, which masks to the end.
    mask = [0] * len(offsets)
    for start, end in spans:
        first, last = _token_at(offsets, start), _token_at(offsets, end - 1)
        if first is None:
            break
        stop = last + 1 if last else len(offsets)
        for token in range(first, stop):
            mask[token] = 1
    return mask


def _token_at(offsets: Sequence[Range], character: int) -> int | None:
    return next((token for token, (start, end) in enumerate(offsets) if start <= character < end), None)

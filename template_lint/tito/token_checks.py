"""Checks of single tokens: masks, BOS, stop tokens, odd endings of a turn, texts that do not survive a round trip."""

from __future__ import annotations

from template_lint.facts.prefix import Appended
from template_lint.tito.deltas import first_difference, token_at
from template_lint.tito.drift import Verdict, measure
from template_lint.tito.evidence import REMEDIES, Check, Rollouts, Status
from template_lint.tito.simulate import play

ADVERSARIAL = {
    "leading space": " one",
    "leading newline": "\none",
    "trailing space": "one ",
    "several spaces": "a  b   c",
    "tabs and carriage return": "a\tb\r\nc",
    "CJK": "一二三、テスト。",
    "emoji with joiners": "👩‍👩‍👧‍👦 🏳️‍🌈",
    "NFD text": "cafe\u0301 A\u030angstro\u0308m",
    "combining marks": "e\u0323\u0301",
    "JSON": '{"a": [1, null, "\\u00e9\\n"], "b": {}}',
    "right-to-left": "שלום",
}
"""Kind of text -> text whose ids should decode to it."""


def mask_on_sampled(rollouts: Rollouts) -> Check:
    """The mask is 1 on every sampled id and 0 on all others."""
    compared = 0
    for script, buffer in zip(rollouts.scripts, rollouts.buffers, strict=True):
        expected = [int(step.appended is Appended.ASSISTANT) for step in script.steps for _ in step.ids]
        if buffer.mask != expected:
            at = first_difference(buffer.mask, expected)
            message = f"the mask is wrong from token {at} of {script.scenario.name}"
            return Check("mask-on-sampled", Status.FAIL, message, evidence={"position": at})
        compared += len(expected)
    if not any(1 in buffer.mask for buffer in rollouts.buffers):
        return Check("mask-on-sampled", Status.SKIPPED, "no turn could be played")
    return Check("mask-on-sampled", Status.PASS, f"{compared} tokens")


def mask_of_markers(rollouts: Rollouts) -> Check:
    """The mask of the buffer is the one that ``{% generation %}`` gives."""
    compared = 0
    for script, buffer, marked in zip(rollouts.scripts, rollouts.buffers, rollouts.markers, strict=True):
        if marked is None:
            continue
        steps = zip(buffer.turns, script.steps, strict=True)
        end = max(turn.end for turn, step in steps if step.appended is Appended.ASSISTANT)
        full = script.turns[-1].full_ids
        if buffer.ids[:end] != full[:end]:
            continue
        compared += 1
        mask = [*buffer.mask[:end], *[0] * (len(full) - end)]
        if mask != marked:
            at = first_difference(mask, marked)
            rule = "TL402" if at < len(mask) and not mask[at] and 1 in mask[at:] else "TL403"
            token = token_at(rollouts.engine, full, at)
            ours, theirs = mask[at : at + 1], marked[at : at + 1]
            message = (
                f"token {at} of {script.scenario.name}, {token['text']!r}, has mask {ours} in the buffer and {theirs} "
                "by the markers"
            )
            evidence = {"scenario": script.scenario.name, "position": at, "token": token}
            return Check("mask-of-markers", Status.FAIL, message, rule, REMEDIES["TL402"], evidence)
    if not compared:
        marked_any = any(marked is not None for marked in rollouts.markers)
        reason = "no buffer equals its render" if marked_any else "the template has no {% generation %} markers"
        return Check("mask-of-markers", Status.SKIPPED, reason)
    return Check("mask-of-markers", Status.PASS, f"{compared} buffers")


def one_bos(rollouts: Rollouts) -> Check:
    """The buffer begins with one BOS and has no other."""
    bos = rollouts.engine.bos_id
    if bos is None:
        return Check("one-bos", Status.SKIPPED, "the tokenizer has no BOS")
    prompts = [script.steps[0].ids for script in rollouts.scripts if script.steps]
    if not any(bos in ids for ids in prompts):
        return Check("one-bos", Status.SKIPPED, "the template writes no BOS, and apply_chat_template adds none")
    for ids in prompts:
        if ids[:1] != [bos] or ids.count(bos) != 1:
            places = [index for index, token_id in enumerate(ids) if token_id == bos]
            message = f"the prompt has BOS at {places}, not once at 0"
            return Check("one-bos", Status.FAIL, message, "TL301", "Write BOS once, first.", {"positions": places})
    for script in rollouts.scripts:
        step = next((step for step in script.steps[1:] if bos in step.ids), None)
        if step is not None:
            message = f"a delta of {script.scenario.name} brings another BOS; Llama 2 is meant to be like that"
            return Check("one-bos", Status.WARN, message, evidence={"scenario": script.scenario.name})
    return Check("one-bos", Status.PASS, f"{len(prompts)} buffers")


def stop_token(rollouts: Rollouts) -> Check:
    """Every sampled turn that goes on ends with the template's stop token, whose mask is 1."""
    stops: dict[int, str] = {}
    for script, buffer in zip(rollouts.scripts, rollouts.buffers, strict=True):
        for turn, following in zip(buffer.turns, script.steps[1:], strict=False):
            if following.delta is None:
                continue
            stop = following.delta.stop_id
            if stop is None:
                message = "nothing ends the assistant's turn, so the model's stop token has no place in the render"
                remedy = "End every assistant turn with the stop token."
                return Check("stop-token", Status.FAIL, message, "TL304", remedy, {"scenario": script.scenario.name})
            if turn.end and (buffer.ids[turn.end - 1], buffer.mask[turn.end - 1]) != (stop, 1):
                message = f"the turn before a delta of {script.scenario.name} does not end with the stop token {stop}"
                return Check("stop-token", Status.FAIL, message, "TL304")
            stops[stop] = following.delta.stop_text
    if not stops:
        return Check("stop-token", Status.SKIPPED, "no delta could be computed")
    shown = ", ".join(f"{text} ({token_id})" for token_id, text in sorted(stops.items()))
    return Check("stop-token", Status.PASS, f"inside the mask: {shown}", evidence={"stop_ids": sorted(stops)})


def odd_endings(rollouts: Rollouts) -> Check:
    """A turn cut off, ended by another stop, or with an id outside the vocabulary leaves the rest of the buffer
    right.
    """
    tokenization = rollouts.engine.tokenization
    others = sorted(rollouts.engine.special_ids)
    beyond = max(tokenization.vocab_size, *others) + 7
    compared = 0
    for script, buffer in zip(rollouts.scripts, rollouts.buffers, strict=True):
        step = next((step for step in script.steps[1:] if step.delta is not None), None)
        if step is None or step.delta is None or step.delta.stop_id is None:
            continue
        stop = step.delta.stop_id
        cut = play(script, lambda n, turn: turn.ids if n else turn.ids[:-1])
        stray = play(script, lambda n, turn: turn.ids if n else [beyond, *turn.ids])
        # An id that decodes to nothing may still leave the text, and so the other ids, as they were.
        problem = ""
        if cut.ids != buffer.ids or sum(cut.mask) != sum(buffer.mask) - 1:
            problem = "a turn cut off before its stop token"
        elif [token_id for token_id in stray.ids if token_id != beyond] != buffer.ids or beyond not in stray.ids:
            problem = "an id outside the vocabulary"
        elif measure(tokenization, stray.ids, stray.mask).verdict is Verdict.CLEAN:
            problem = "an id outside the vocabulary, which re-encoding keeps"
        wrong = next((token_id for token_id in others if token_id != stop and token_id not in buffer.ids), None)
        if not problem and wrong is not None:
            other = play(script, lambda n, turn, wrong=wrong: turn.ids if n else [*turn.ids[:-1], wrong])  # type: ignore[misc]
            if [token_id for token_id in other.ids if token_id != wrong] != buffer.ids:
                problem = "a turn ended by another stop token"
        if problem:
            return Check("odd-endings", Status.FAIL, f"{problem} spoils the buffer of {script.scenario.name}")
        compared += 1
    if not compared:
        return Check("odd-endings", Status.SKIPPED, "no turn with a stop token is followed by a delta")
    return Check("odd-endings", Status.PASS, f"{compared} conversations: cut off, wrong stop, unknown id")


def round_trip(rollouts: Rollouts) -> Check:
    """Text that templates and tools emit survives encode and decode."""
    engine = rollouts.engine
    markers = [text for text in map(engine.decode, [[i] for i in sorted(engine.special_ids)[:4]]) if text]
    texts = {**ADVERSARIAL, **{f"control token {text}": f"a {text} b" for text in markers}}
    lost = {kind: text for kind, text in texts.items() if engine.decode(engine.ids(text)) != text}
    if not lost:
        return Check("round-trip", Status.PASS, f"{len(texts)} texts")
    kind, text = next(iter(lost.items()))
    message = f"{kind}: {text!a} becomes {engine.decode(engine.ids(text))!a} ({len(lost)} of {len(texts)} change)"
    remedy = "Never compare texts: compare ids. What the model sampled is safe as long as it is not re-encoded."
    return Check("round-trip", Status.WARN, message, "TL305", remedy, {"kinds": sorted(lost)})

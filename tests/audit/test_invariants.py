"""Invariants and causes in small, where a sample would hide the edge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from template_lint.audit.auditor import AuditOptions, Auditor
from template_lint.audit.causes import diagnose
from template_lint.audit.fields import preset
from template_lint.audit.headers import Headers
from template_lint.audit.model import Trajectory
from template_lint.audit.rollouts import audit_many, audit_one
from template_lint.audit.rows import trajectories
from template_lint.audit.sample.make import make_sample
from tests.inputs import tokenizer_dir


def row(auditor: Auditor, index: int = 0, seed: int = 11) -> dict[str, Any]:
    return next(make_sample(auditor, index + 1, seed=seed, start=index))


def read(made: dict[str, Any]) -> Trajectory:
    [trajectory] = trajectories(made, preset("template-lint"), 0, 1)
    return trajectory


def codes(made: dict[str, Any], auditor: Auditor) -> list[str]:
    return [flaw.rule for flaw in audit_one(read(made), auditor).flaws]


def test_one_and_many_say_the_same(auditor: Auditor) -> None:
    made = [read(item) for item in make_sample(auditor, 30, rate=0.03, seed=4)]
    assert audit_many(made, auditor).results == [audit_one(item, auditor) for item in made]


def test_a_truncated_turn_is_excused_and_only_the_last_one(auditor: Auditor) -> None:
    made = row(auditor)
    for name in ("ids", "mask", "logprobs", "trainer_logprobs"):
        made[name] = made[name][:-1]
    assert codes(made, auditor) == ["TLA09"]
    assert codes({**made, "truncated": True}, auditor) == []
    assert codes({**made, "truncated": "length"}, auditor) == []


def test_more_stop_ids_may_be_named(auditor: Auditor) -> None:
    made = row(auditor)
    for name in ("ids", "mask", "logprobs", "trainer_logprobs"):
        made[name] = made[name][:-1]
    stop = made["ids"][-1]
    other = Auditor(auditor.options._replace(stop_ids=(stop,)))
    assert codes(made, other) == []


def test_messages_may_be_the_whole_conversation(auditor: Auditor) -> None:
    made = row(auditor)
    answer = {"role": "assistant", "content": "Seven metres."}
    assert codes({**made, "messages": [*made["messages"], answer]}, auditor) == []


def test_template_kwargs_of_a_row_count() -> None:
    real = Auditor(AuditOptions(str(tokenizer_dir("qwen3")), preset("template-lint"), transformers="5.24"))
    if not real.has_template:
        pytest.skip("qwen3 comes without a template")
    messages = [{"role": "user", "content": "Tide?"}]
    text = real.render(messages, kwargs={"enable_thinking": False}).text
    assert text is not None
    prompt = real.tokenization.encode(text)
    made = {
        "ids": [*prompt, *real.tokenization.encode("Seven."), real.stop_ids[0]],
        "prompt_len": len(prompt),
        "messages": messages,
        "truncated": False,
    }
    # Without the kwarg, the prompt is the beginning of this one.
    assert codes(made, real) == []
    assert codes({**made, "kwargs": {"enable_thinking": False}}, real) == []
    assert codes({**made, "messages": [{"role": "user", "content": "Depth?"}]}, real) == ["TLA11"]


def test_headers_of_real_templates() -> None:
    expected = {
        "qwen3": Headers((151644,), (151644, 77091)),
        "llama3_1": Headers((128006,), (128006, 78191)),
        "gemma3": Headers((105,), (105, 4368)),
        "deepseek_v3": None,  # nothing opens the model's turn after a tool result
    }
    for name, headers in expected.items():
        real = Auditor(AuditOptions(str(tokenizer_dir(name)), preset("template-lint"), transformers="5.24"))
        assert real.headers == headers, name


def test_an_empty_buffer_has_one_flaw(auditor: Auditor) -> None:
    assert codes({"ids": [], "mask": []}, auditor) == ["TLA04"]


def test_negative_ids_are_no_crash(auditor: Auditor) -> None:
    made = row(auditor)
    made["ids"][-5] = -100
    assert "TLA05" in codes(made, auditor)


def test_a_value_just_above_0_is_rounding(auditor: Auditor) -> None:
    made = row(auditor)
    at = made["mask"].index(1)
    made["logprobs"][at] = 5e-5
    assert codes(made, auditor) == []
    made["logprobs"][at] = 2e-4
    assert codes(made, auditor) == ["TLA07"]


def test_a_disagreement_of_too_few_tokens_proves_nothing(auditor: Auditor) -> None:
    made = read(row(auditor))
    mask = np.zeros_like(made.mask)
    mask[np.flatnonzero(made.mask)[:8]] = 1
    assert made.trainer_logprobs is not None
    assert diagnose(replace(made, mask=mask, trainer_logprobs=made.trainer_logprobs - 3), None) is None


def test_a_trainer_that_cuts_off_what_was_sampled(auditor: Auditor) -> None:
    made = row(auditor)
    at = made["mask"].index(1) + 3
    made["trainer_logprobs"][at] = "-inf"
    result = audit_one(read(made), auditor)
    assert result.diagnosis is not None
    assert (result.diagnosis.cause, result.diagnosis.note) == ("TLA33", "trainer")


def test_a_temperature_without_distributions_is_suspected_not_said(auditor: Auditor) -> None:
    made = list(make_sample(auditor, 60, rate=0.04, plants=["temperature"], seed=1))
    rows = [read({**item, "top_logprobs": None}) for item in made if item.get("planted")]
    found = [result.diagnosis for result in audit_many(rows, auditor).results]
    assert found and {diagnosis.cause for diagnosis in found if diagnosis} == {"TLA39"}
    assert {diagnosis.note for diagnosis in found if diagnosis} == {"temperature?"}


def test_ratios_are_those_of_the_definition(auditor: Auditor) -> None:
    made = [read(item) for item in make_sample(auditor, 20, rate=0.04, plants=["another-model"], seed=9)]
    health = audit_many(made, auditor).health
    d = np.concatenate([(r.trainer_logprobs - r.logprobs)[r.mask == 1] for r in made])  # type: ignore[operator]
    ratio = np.exp(d)
    assert health.tokens == len(d)
    assert health.mean("ratio") == pytest.approx(ratio.mean())
    assert health.mean("k3") == pytest.approx((ratio - 1 - d).mean(), abs=1e-8)
    assert health.mean("log") == pytest.approx(d.mean(), abs=1e-8)
    assert health.outside == pytest.approx(((ratio < 0.8) | (ratio > 1.2)).mean())
    assert health.largest == d.max()
    document = health.as_json()
    assert document is not None
    assert document["ratio"]["percentiles"]["50"] == pytest.approx(np.median(ratio), rel=1e-3)
    sums = sorted(float((r.trainer_logprobs - r.logprobs)[r.mask == 1].sum()) for r in made)  # type: ignore[operator]
    assert health.sequence_logs.percentile(0.5) == pytest.approx(sums[9], abs=0.0051)

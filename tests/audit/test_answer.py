"""What a trainer's mistake is called on the first line, with Qwen3's real tokenizer and template."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from template_lint.audit.auditor import AuditOptions, Auditor
from template_lint.audit.fields import preset
from template_lint.cli.support.program import program
from tests.inputs import tokenizer_dir

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "tide",
            "parameters": {"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]},
        },
    }
]
CALL = '<think>\nI ask the tide table.\n</think>\n\n<tool_call>\n{"name": "tide", "arguments": {"port": "Brest"}}\n'
CALL += "</tool_call><|im_end|>"
RESULT = "\n<|im_start|>user\n<tool_response>\n{}\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
ANSWER = "High water at Brest is at seven, {} metres above the datum of the chart, so you may leave.<|im_end|>"
COMPLETION = ("completion_ids", "tool_mask", "sampling_per_token_logps", "old_per_token_logps")


@pytest.fixture(scope="module")
def qwen() -> Auditor:
    auditor = Auditor(AuditOptions(str(tokenizer_dir("qwen3")), preset("trl"), transformers="5.24"))
    if not auditor.has_template:
        pytest.skip("qwen3 comes without a template")
    return auditor


def batch(auditor: Auditor, *, padded_left: bool = True) -> list[dict[str, Any]]:
    """A batch as TRL holds it: prompts of several lengths, completions of two turns, padded to one length."""
    rows = []
    pad, generator = auditor.tokenization.encode("<|endoftext|>"), np.random.default_rng(5)
    for number in range(8):
        messages = [{"role": "user", "content": "Tide at Brest, please. " * (number % 3 + 1)}]
        text = auditor.render(messages, tools=TOOLS).text
        assert text is not None
        parts = [auditor.tokenization.encode(part) for part in (CALL, RESULT.format(number), ANSWER.format(number * 7))]
        ids = [token for part in parts for token in part]
        mask = [int(index != 1) for index, part in enumerate(parts) for _ in part]
        trainer = (-generator.exponential(0.8, len(ids))).tolist()
        sampler = [value if bit else 0.0 for value, bit in zip(trainer, mask, strict=True)]
        prompt = auditor.tokenization.encode(text)
        fill, tail = 260 - len(prompt), 120 - len(ids)
        assert min(fill, tail) >= 0
        sides = (pad * fill, prompt) if padded_left else (prompt, pad * fill)
        bits = ([0] * fill, [1] * len(prompt)) if padded_left else ([1] * len(prompt), [0] * fill)
        rows.append(
            {
                "prompt": messages,
                "tools": TOOLS,
                "prompt_ids": sides[0] + sides[1],
                "prompt_mask": bits[0] + bits[1],
                "completion_ids": ids + pad * tail,
                "completion_mask": [1] * len(ids) + [0] * tail,
                "tool_mask": mask + [1] * tail,
                "sampling_per_token_logps": sampler + [0.0] * tail,
                "old_per_token_logps": trainer + [-9.0] * tail,
            }
        )
    return rows


def first_line(rows: list[dict[str, Any]], path: Path, *words: str, target: str = "qwen3", line: int = 0) -> str:
    file = path / "batch.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    arguments = ["audit", str(file), "--tokenizer", str(tokenizer_dir(target)), "--transformers", "5.24", "--jobs", "1"]
    done = CliRunner().invoke(program, [*arguments, *words], env={"COLUMNS": "400"}, prog_name="template-lint")
    return (done.stdout + done.stderr).splitlines()[line]


@pytest.mark.parametrize("padded_left", [True, False])
def test_a_healthy_batch_is_sound(padded_left: bool, qwen: Auditor, tmp_path: Path) -> None:
    assert first_line(batch(qwen, padded_left=padded_left), tmp_path) == "SOUND: no error in 8 trajectories"


def _mask_late(row: dict[str, Any]) -> None:
    row["tool_mask"] = [0, *row["tool_mask"][:-1]]


def _mask_early(row: dict[str, Any]) -> None:
    row["tool_mask"] = [*row["tool_mask"][1:], 1]


def _tool_sampled(row: dict[str, Any]) -> None:
    row["tool_mask"] = [1] * len(row["tool_mask"])


def _stop_dropped(row: dict[str, Any]) -> None:
    row["completion_mask"][sum(row["completion_mask"]) - 1] = 0


def _sampler_of_other_ids(row: dict[str, Any]) -> None:
    values = row["sampling_per_token_logps"]
    row["sampling_per_token_logps"] = [*values[:10], -0.4, *values[10:-1]]


def _other_temperature(row: dict[str, Any]) -> None:
    generator = np.random.default_rng(len(row["prompt"][0]["content"]))
    for at, bit in enumerate(row["tool_mask"]):
        logits = generator.normal(0, 3, 200)
        cool, warm = logits / 0.7, logits
        chances = np.exp(cool - cool.max()) / np.exp(cool - cool.max()).sum()
        token = int(generator.choice(200, p=chances))
        row["sampling_per_token_logps"][at] = float(np.log(chances[token])) if bit else 0.0
        row["old_per_token_logps"][at] = float(warm[token] - np.log(np.exp(warm).sum()))


@pytest.mark.parametrize(
    ("mistake", "named"),
    [
        (_mask_late, "foreign-text-sampled in 8"),
        (_mask_early, "unfinished-turn in 8"),
        (_tool_sampled, "foreign-text-sampled in 8"),
        (_stop_dropped, "unfinished-turn in 8"),
        (_sampler_of_other_ids, "drift-in-scores in 8"),
        (_other_temperature, "unexplained-mismatch (like another temperature) in 8"),
    ],
)
def test_a_mistake_is_named_first(
    mistake: Callable[[dict[str, Any]], None], named: str, qwen: Auditor, tmp_path: Path
) -> None:
    rows = batch(qwen)
    for row in rows:
        mistake(row)
    line = first_line(rows, tmp_path)
    assert line.startswith(f"NOT SOUND: {named}"), line
    assert mistake in (_other_temperature,) or "unexplained-mismatch" not in line


def test_tools_that_rows_do_not_record_are_no_error_and_are_said(qwen: Auditor, tmp_path: Path) -> None:
    rows = batch(qwen)
    for row in rows:
        del row["tools"]
    expected = "SOUND: no error in 8 trajectories as far as it can be told without the tools of the prompts"
    assert first_line(rows, tmp_path) == expected
    other = [{**row, "prompt": [{"role": "user", "content": "Depth?"}], "tools": TOOLS} for row in rows]
    assert "prompt-differs in 8" in first_line(other, tmp_path)


def test_another_models_tokenizer_is_said_first(qwen: Auditor, tmp_path: Path) -> None:
    for target in ("llama3_1", "gptoss", "gemma3"):
        line = first_line(batch(qwen), tmp_path, target=target)
        assert line.startswith("NOT SOUND: another model's tokens, it seems"), (target, line)


def test_the_selected_rules_are_named_and_must_be_of_the_audit(qwen: Auditor, tmp_path: Path) -> None:
    assert first_line(batch(qwen), tmp_path, "--select", "TLA36") == "SOUND: no error of TLA36 in 8 trajectories"
    assert first_line(batch(qwen), tmp_path, "--select", "TL101,TLA36").startswith(
        "template-lint: --select TL101: no rule of the audit."
    )


def test_a_preset_that_does_not_fit_names_the_one_that_does(qwen: Auditor, tmp_path: Path) -> None:
    assert "It looks like trl: --preset trl" in first_line(batch(qwen), tmp_path, "--preset", "verl")


def test_warnings_alone_are_a_doubt(qwen: Auditor, tmp_path: Path) -> None:
    rows = batch(qwen)
    for row in rows:
        row["sampling_per_token_logps"][3] -= 0.9
    line = first_line(rows, tmp_path)
    assert (
        line == "DOUBTFUL: no error, but unexplained-mismatch in 7 of 8 trajectories"
    )  # the eighth looks like rounding
    (tmp_path / "more.jsonl").write_text("no json\n", encoding="utf-8")
    line = first_line(rows, tmp_path, str(tmp_path / "more.jsonl"))
    assert line.startswith("NOT ALL READ: no error in 8 trajectories, but 1 bad row could not be read; unexplained")


def test_padding_without_a_mask_is_said_to_be_that(qwen: Auditor, tmp_path: Path) -> None:
    rows = batch(qwen)
    for row in rows:
        row["completion_ids"] = row["completion_ids"][: sum(row.pop("completion_mask")) + 3]
        for name in ("tool_mask", "sampling_per_token_logps", "old_per_token_logps"):
            row[name] = row[name][: len(row["completion_ids"])]
    assert first_line(rows, tmp_path).startswith("NOT SOUND: foreign-text-sampled in 8")
    text = first_line(rows, tmp_path, "-o", "markdown", "--select", "TLA10", line=8)
    assert "(id 151643) has mask 1 and stands behind the stop id of its turn: padding, or a late mask" in text

"""``--score``: a tiny model draws at 0.7; the audit finds that, and nothing once the trainer applies it too."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="scoring needs torch: pip install 'template-lint[score]'")

from template_lint.audit.auditor import Auditor  # noqa: E402
from tests.audit.conftest import EMBEDDING_ROWS  # noqa: E402
from tests.audit.scoring.models import tiny_model  # noqa: E402
from tests.audit.test_command import run  # noqa: E402

TEMPERATURE = 0.7
LETTERS = "abcfghjklmnopqrsuvwxyz"  # none of them is a part of a merge: text of these comes back as it was
MESSAGES = [{"role": "user", "content": "Say some letters."}]


def letters_only(auditor: Auditor) -> Any:
    """A random model that gives all but nothing to what is no letter, so that drawn text drifts nowhere."""
    model = tiny_model(vocabulary=EMBEDDING_ROWS)
    letters = auditor.tokenization.encode(LETTERS)
    assert len(letters) == len(LETTERS)
    with torch.no_grad():
        # One dimension is large for every token: its output weight is a bias.
        model.model.embed_tokens.weight[:, 0] = 2.0
        head = torch.zeros_like(model.lm_head.weight)
        head[:, 0] = -10.0
        head[letters] = torch.randn(len(letters), head.shape[1], generator=torch.Generator().manual_seed(5))
        head[letters, 1:] *= 4
        head[letters, 0] = 0.0
        model.lm_head.weight.copy_(head)
    return model


def draw(model: Any, prompt: list[int], rows: int, length: int) -> tuple[list[list[int]], list[list[float]]]:
    """Completions drawn by transformers itself, and the log-probabilities of what was drawn from."""
    torch.manual_seed(3)
    drawn = model.generate(
        torch.tensor([prompt]),
        attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
        do_sample=True,
        temperature=TEMPERATURE,
        top_k=0,
        top_p=1.0,
        num_return_sequences=rows,
        max_new_tokens=length,
        eos_token_id=None,
        pad_token_id=0,
        output_scores=True,
        return_dict_in_generate=True,
    )
    ids = drawn.sequences[:, len(prompt) :]
    log_p = torch.stack(drawn.scores, dim=1).log_softmax(dim=-1)
    return ids.tolist(), log_p.gather(-1, ids.unsqueeze(-1)).squeeze(-1).tolist()


@pytest.fixture(scope="module")
def recorded(auditor: Auditor, target: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the model, its tokenizer, and ``rollouts.jsonl``."""
    folder = tmp_path_factory.mktemp("scored")
    model = letters_only(auditor)
    model.save_pretrained(folder)
    for file in target.iterdir():
        if file.name != "config.json":
            shutil.copy(file, folder)
    prompt = auditor.encoder.encode(auditor.render_text(MESSAGES, None, True) or "")
    rows = []
    for ids, logprobs in zip(*draw(model, prompt, 30, 64), strict=True):
        rows.append(
            {
                "ids": prompt + ids,
                "mask": [0] * len(prompt) + [1] * len(ids),
                "logprobs": [0.0] * len(prompt) + logprobs,
                "prompt_len": len(prompt),
                "messages": MESSAGES,
                "temperature": TEMPERATURE,
                "truncated": True,
            }
        )
    (folder / "rollouts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


def scored(folder: Path, *words: str) -> Any:
    name = str(folder)
    return run(str(folder / "rollouts.jsonl"), "--tokenizer", name, "--score", name, "--transformers", "5.24", *words)


def test_the_temperature_is_found_and_measured(recorded: Path) -> None:
    done = scored(recorded)
    assert done.exit_code == 1, done.output
    assert done.stdout.startswith("NOT SOUND: temperature-mismatch in 30 of 30 trajectories")
    fitted = re.search(r"at (0\.\d+), \d+ positions are", done.stdout)
    assert fitted is not None
    assert float(fitted[1]) == pytest.approx(TEMPERATURE, abs=0.02)
    assert "the trainer's log-probabilities are those of" in done.stdout


def test_it_is_sound_once_the_trainer_applies_the_temperature_too(recorded: Path) -> None:
    done = scored(recorded, "--score-apply-sampling", "--output", "json")
    document = json.loads(done.stdout)
    assert (done.exit_code, document["sound"], document["findings"]) == (0, True, [])
    assert document["score"] == {"model": str(recorded), "dtype": "float32", "apply_sampling": True}
    assert document["health"]["tokens"] == 30 * 64
    assert math.isclose(document["health"]["ratio"]["max"], 1, abs_tol=1e-3)


def test_small_batches_and_stretches_say_the_same(recorded: Path) -> None:
    plain, small = (
        json.loads(scored(recorded, "--output", "json", *words).stdout)
        for words in ((), ("--score-batch-tokens", "100", "--score-chunk", "7"))
    )
    assert small["findings"][0]["evidence"]["found"] == plain["findings"][0]["evidence"]["found"] == 30
    assert small["health"]["ratio"]["mean"] == pytest.approx(plain["health"]["ratio"]["mean"], abs=1e-4)


def test_a_row_that_the_model_cannot_score_is_named_and_not_compared(recorded: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (recorded / "rollouts.jsonl").read_text(encoding="utf-8").splitlines()[:3]]
    rows[1]["ids"][-1] = EMBEDDING_ROWS + 7
    rows[1]["trainer_logprobs"] = rows[1]["logprobs"]
    file = tmp_path / "rollouts.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = run(str(file), "--tokenizer", str(recorded), "--score", str(recorded), "-o", "json")
    document = json.loads(done.stdout)
    assert document["counts"]["with_trainer_logprobs"] == 2
    assert any(f"outside the {EMBEDDING_ROWS} rows" in note for note in document["assumed"])


def test_without_recorded_sampling_nothing_is_applied_and_that_is_said(recorded: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (recorded / "rollouts.jsonl").read_text(encoding="utf-8").splitlines()[:3]]
    for row in rows:
        del row["temperature"]
    file = tmp_path / "rollouts.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = run(str(file), "--tokenizer", str(recorded), "--score", str(recorded), "--score-apply-sampling")
    assert "temperature-mismatch in 3 of 3" in done.stdout
    assert "is recorded: scored at temperature 1 (3 trajectories)" in done.stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--score", "nobody/nothing-here"), 3, "nobody/nothing-here cannot be loaded"),
        (("--score-chunk", "5"), 2, "add --score MODEL"),
        (("--score", "{folder}", "--score-device", "nothing"), 2, "--score-device nothing"),
    ],
)
def test_what_cannot_be_done_is_said(recorded: Path, words: tuple[str, ...], code: int, said: str) -> None:
    named = [word.format(folder=recorded) for word in words]
    done = run(str(recorded / "rollouts.jsonl"), "--tokenizer", str(recorded), "--offline", *named)
    assert done.exit_code == code, done.output
    assert said in done.stderr

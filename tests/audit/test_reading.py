"""Files, layouts and bad rows: what is read, what is refused and with which words."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest
import zstandard
from pyarrow import parquet

from template_lint.audit import sources
from template_lint.audit.auditor import Auditor
from template_lint.audit.fields import PRESETS, choose, parse_fields, preset
from template_lint.audit.model import NothingToAuditError, StrictRowError, Trajectory
from template_lint.audit.rollouts import audit_many
from template_lint.audit.rows import BadRow, trajectories
from template_lint.audit.run import Audit, Request, audit
from template_lint.audit.sample.make import dump, make_sample
from template_lint.audit.sources import Block, Source, blocks
from template_lint.errors import UsageError
from template_lint.report.audit.json import document

PROMPT, COMPLETION = [1, 2, 3], [7, 8, 9, 10]
MASK, LOGPROBS, TRAINER = [1, 1, 0, 1], [-0.5, -1.0, 0.0, -2.0], [-0.25, -1.5, 0.0, -2.5]
MESSAGES = [{"role": "user", "content": "x"}]

LAYOUTS: dict[str, dict[str, Any]] = {
    "template-lint": {
        "ids": PROMPT + COMPLETION,
        "mask": [0, 0, 0, *MASK],
        "logprobs": [0.0, 0.0, 0.0, *LOGPROBS],
        "trainer_logprobs": [0.0, 0.0, 0.0, *TRAINER],
        "prompt_len": 3,
        "messages": MESSAGES,
        "truncated": True,
    },
    "trl": {
        "prompt_ids": PROMPT,
        "completion_ids": COMPLETION,
        "completion_mask": [1, 1, 1, 1],
        "tool_mask": MASK,
        "sampling_per_token_logps": LOGPROBS,
        "old_per_token_logps": TRAINER,
        "prompt": MESSAGES,
        "is_truncated": True,
    },
    "verl": {
        "prompts": [0, 0, *PROMPT],
        "responses": [*COMPLETION, 0],
        "response_mask": [*MASK, 0],
        "attention_mask": [0, 0, 1, 1, 1, 1, 1, 1, 1, 0],
        "rollout_log_probs": [*LOGPROBS, 0.0],
        "old_log_probs": [*TRAINER, 0.0],
        "raw_prompt": MESSAGES,
        "truncated": True,
    },
    "slime": {
        "tokens": PROMPT + COMPLETION,
        "response_length": 4,
        "loss_mask": MASK,
        "rollout_log_probs": LOGPROBS,
        "log_probs": TRAINER,
        "prompt": MESSAGES,
        "status": "truncated",
    },
    "verifiers": {
        "trajectory": [
            {
                "prompt": MESSAGES,
                "tokens": {
                    "prompt_ids": PROMPT,
                    "completion_ids": COMPLETION,
                    "completion_mask": MASK,
                    "completion_logprobs": LOGPROBS,
                    "is_truncated": True,
                },
            }
        ],
        "prompt": MESSAGES,
    },
    "prime-rl": {
        "input_ids": PROMPT + COMPLETION,
        "loss_mask": [False, False, False, *map(bool, MASK)],
        "inference_logprobs": [0.0, 0.0, 0.0, *LOGPROBS],
        "trainer_logprobs": [0.0, 0.0, 0.0, *TRAINER],
    },
    "openai": {
        "messages": MESSAGES,
        "prompt_token_ids": PROMPT,
        "choices": [
            {
                "token_ids": COMPLETION,
                "token_mask": MASK,
                "finish_reason": "length",
                "logprobs": {
                    "content": [
                        {"logprob": value, "top_logprobs": [{"token": "token_id:7", "logprob": value}]}
                        for value in LOGPROBS
                    ]
                },
            }
        ],
    },
}


def read(row: dict[str, Any], fields: Any = None) -> list[Trajectory]:
    return list(trajectories(row, fields or preset("template-lint"), 0, 1))


PADDED_TRL = {
    "prompt_ids": [0, 0, *PROMPT],
    "prompt_mask": [0, 0, 1, 1, 1],
    "completion_ids": [*COMPLETION, 0, 0],
    "completion_mask": [1, 1, 1, 1, 0, 0],
    "tool_mask": [*MASK, 1, 1],
    "sampling_per_token_logps": [*LOGPROBS, 0.0, 0.0],
    "old_per_token_logps": [*TRAINER, 0.0, 0.0],
    "advantages": 0.5,
}


def test_the_batch_of_trl_is_read_without_its_padding() -> None:
    fields = choose([PADDED_TRL], None, {})
    assert fields is not None and fields.name == "trl"
    [made] = read(PADDED_TRL, fields)
    assert (made.ids.tolist(), made.prompt_length) == (PROMPT + COMPLETION, 3)
    assert made.mask.tolist() == [0, 0, 0, *MASK]
    assert made.logprobs is not None and made.logprobs.tolist() == [0, 0, 0, *LOGPROBS]


def test_a_completion_that_trl_left_out_of_the_loss_is_no_padding() -> None:
    row = {**PADDED_TRL, "completion_mask": [0] * 6}
    del row["tool_mask"]
    [made] = read(row, preset("trl"))
    assert made.ids.tolist() == [*PROMPT, *COMPLETION, 0, 0]
    assert not made.mask.any()


def test_masks_of_other_lengths_say_nothing_about_padding() -> None:
    [made] = read({**PADDED_TRL, "prompt_mask": [1, 1]}, preset("trl"))
    assert made.ids.tolist() == [0, 0, *PROMPT, *COMPLETION, 0, 0]


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_is_known_by_its_fields_and_gives_the_same_trajectory(name: str) -> None:
    row = json.loads(json.dumps(LAYOUTS[name]))
    fields = choose([row], None, {})
    assert fields is not None and fields.name == name
    [made] = read(row, fields)
    assert made.ids.tolist() == PROMPT + COMPLETION
    assert made.mask.tolist() == [0, 0, 0, *MASK]
    assert made.logprobs is not None and made.logprobs.tolist() == [0, 0, 0, *LOGPROBS]
    if made.trainer_logprobs is not None:
        assert made.trainer_logprobs.tolist() == [0, 0, 0, *TRAINER]
    if name != "prime-rl":
        assert (made.prompt_length, made.messages, made.truncated) == (3, MESSAGES, True)


def test_every_preset_has_a_layout_here() -> None:
    assert {known.name for known in PRESETS} == set(LAYOUTS)


def test_steps_of_a_row_are_turns_of_one_rollout() -> None:
    row = json.loads(json.dumps(LAYOUTS["verifiers"]))
    row["trajectory"].append(row["trajectory"][0])
    assert [(made.rollout, made.turn) for made in read(row, preset("verifiers"))] == [("row 1", 0), ("row 1", 1)]


def test_lists_of_another_length_are_kept_as_they_are() -> None:
    [made] = read({"ids": [1, 2, 3], "mask": [0, 1], "logprobs": [0.0] * 4})
    assert made.logprobs is not None
    assert (len(made.mask), len(made.logprobs)) == (2, 4)


def test_without_a_mask_what_follows_the_prompt_counts_as_sampled() -> None:
    [made] = read({"ids": [1, 2, 3], "prompt_len": 2})
    assert (made.mask.tolist(), bool(made.assumed)) == ([0, 0, 1], True)


@pytest.mark.parametrize(
    ("row", "kind", "words"),
    [
        ([1], "not-an-object", "write one object per line"),
        ({"mask": [1]}, "no-field", "no field 'ids'"),
        ({"ids": [1, "a"], "mask": [0, 1]}, "not-ids", "ids[1] is 'a', not a token id"),
        ({"ids": [1, 2.5], "mask": [0, 1]}, "not-ids", "ids[1] is 2.5"),
        ({"ids": [[1, 2]], "mask": [1]}, "not-ids", "one row per trajectory"),
        ({"ids": [1 << 70], "mask": [1]}, "not-ids", "not a token id"),
        ({"ids": "1 2", "mask": [1]}, "not-ids", "ids is a text"),
        ({"ids": [1, 2]}, "no-field", "Without a mask, give prompt_len"),
        ({"ids": [1, 2], "prompt_len": 3}, "prompt-length", "a prompt of 3 tokens"),
        ({"ids": [1], "mask": [1], "logprobs": ["x"]}, "not-numbers", "logprobs[0] is 'x'"),
        ({"ids": [1], "masks": [1]}, "no-field", "Did you mean --fields mask=masks?"),
    ],
)
def test_a_bad_row_says_why(row: Any, kind: str, words: str) -> None:
    with pytest.raises(BadRow) as caught:
        read(row)
    assert caught.value.kind == kind
    assert words in str(caught.value)


@pytest.mark.parametrize("value", [None, "-inf", float("nan"), 10**400])
def test_odd_numbers_are_numbers(value: Any) -> None:
    [made] = read({"ids": [1], "mask": [1], "logprobs": [value]})
    assert made.logprobs is not None and not -1e9 < made.logprobs[0] < 1e9


def test_a_mapping_over_a_preset_wins() -> None:
    row = {"tokens": [1, 2], "my_mask": [0, 1], "response_length": 1}
    fields = choose([row], "slime", {"mask": "my_mask"})
    assert fields is not None
    assert read(row, fields)[0].mask.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("text", "words"), [("ids", "is not FIELD=PATH"), ("idz=x", "Did you mean 'ids'?"), ("quux=x", "Fields: ids")]
)
def test_a_wrong_mapping_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words.replace("?", r"\?")):
        parse_fields(text)


def test_an_unknown_preset_is_told_the_nearest() -> None:
    with pytest.raises(UsageError, match="Did you mean 'slime'"):
        preset("slim")


def test_messages_may_be_text_and_have_nulls() -> None:
    messages = [{"role": "user", "content": "x", "tool_calls": None}, {"role": "assistant", "content": None}]
    expected = [{"role": "user", "content": "x"}, {"role": "assistant", "content": None}]
    row = {"ids": [1], "mask": [1]}
    assert read({**row, "messages": messages})[0].messages == expected
    assert read({**row, "messages": json.dumps(messages)})[0].messages == expected
    assert read({**row, "messages": "plain text"})[0].messages is None


# Files.


@pytest.fixture(scope="module")
def rows(auditor: Auditor) -> list[str]:
    return [dump(row) for row in make_sample(auditor, 30, rate=0.03, seed=5)]


def write(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)


def run(auditor: Auditor, *paths: str, **more: Any) -> Audit:
    return audit(Request(paths, auditor.options.target, transformers="5.24", **{"jobs": 1, **more}))


def comparable(result: Audit) -> dict[str, Any]:
    """The JSON document without names of files."""
    text = json.dumps(document(result))
    for name in result.files:
        text = text.replace(json.dumps(name), '"FILE"')
    return json.loads(text)  # type: ignore[no-any-return]


def test_compressed_files_and_parquet_give_the_same(auditor: Auditor, rows: list[str], tmp_path: Path) -> None:
    plain = ("\n".join(rows) + "\n").encode()
    # Parquet has one type per column: what a defect made odd is left out, and gone where it is missing.
    columns = ("ids", "mask", "logprobs", "trainer_logprobs", "prompt_len", "truncated")
    tidy = [{name: json.loads(row)[name] for name in columns} for row in rows]
    lines = "".join(json.dumps(row) + "\n" for row in tidy).encode()
    parquet.write_table(pyarrow.Table.from_pylist(tidy), tmp_path / "a.parquet", row_group_size=7)
    expected = comparable(run(auditor, write(tmp_path / "t.jsonl", lines)))
    assert comparable(run(auditor, str(tmp_path / "a.parquet"))) == expected
    whole = comparable(run(auditor, write(tmp_path / "a.jsonl", plain)))
    assert comparable(run(auditor, write(tmp_path / "b.jsonl.gz", gzip.compress(plain)))) == whole
    assert comparable(run(auditor, write(tmp_path / "c.jsonl.zst", zstandard.compress(plain)))) == whole
    halves = zstandard.compress(plain[:1000]) + zstandard.compress(plain[1000:])
    assert comparable(run(auditor, write(tmp_path / "d.jsonl.zst", halves))) == whole


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress], ids=["gz", "zst"])
def test_a_cut_off_file_is_read_up_to_there(pack: Any, auditor: Auditor, rows: list[str], tmp_path: Path) -> None:
    data = pack("".join(row + "\n" for row in rows * 4).encode())
    result = run(auditor, write(tmp_path / "cut.jsonl", data[: len(data) * 2 // 3]))
    assert 0 < result.summary.trajectories < 120
    [(_, reason)] = result.summary.unreadable
    assert "ends too early" in reason


def test_a_damaged_file_says_so(auditor: Auditor, rows: list[str], tmp_path: Path) -> None:
    data = bytearray(gzip.compress("".join(row + "\n" for row in rows * 4).encode()))
    data[len(data) // 2 :] = b"\x00" * (len(data) - len(data) // 2)
    result = run(auditor, write(tmp_path / "damaged.jsonl.gz", bytes(data)))
    assert result.summary.unreadable


def test_bad_rows_are_counted_and_the_rest_goes_on(auditor: Auditor, rows: list[str], tmp_path: Path) -> None:
    lines = [rows[0], "[1]", "not json", "", rows[1], '{"ids": ["a"], "mask": [1]}', '"' + "[" * 5000]
    result = run(auditor, write(tmp_path / "a.jsonl", "\n".join(lines).encode()))
    summary = result.summary
    assert (summary.rows, summary.trajectories, summary.bad_rows) == (6, 2, 4)
    assert [(error.origin.row, error.kind) for error in summary.errors] == [
        (2, "not-an-object"),
        (3, "not-json"),
        (6, "not-ids"),
        (7, "not-json"),
    ]


def test_strict_stops_at_a_bad_row(auditor: Auditor, rows: list[str], tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", f"{rows[0]}\nnot json\n".encode())
    with pytest.raises(StrictRowError, match=r"a.jsonl, row 2: not valid JSON"):
        run(auditor, path, strict=True)


def test_an_overlong_line_is_a_bad_row(
    auditor: Auditor, rows: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MAX_LINE", 6 << 20)
    long = '{"ids": [' + "1," * (4 << 20) + "1]}"
    result = run(auditor, write(tmp_path / "a.jsonl", f"{rows[0]}\n{long}\n{rows[1]}\n".encode()))
    assert (result.summary.trajectories, result.summary.rows) == (2, 3)
    [error] = result.summary.errors
    assert (error.origin.row, error.kind) == (2, "too-long")


@pytest.mark.parametrize(("name", "data"), [("a.jsonl", b""), ("a.jsonl", b"\n\n"), ("a.parquet", b""), ("a.gz", b"")])
def test_nothing_to_audit(name: str, data: bytes, auditor: Auditor, tmp_path: Path) -> None:
    with pytest.raises(NothingToAuditError, match="nothing to audit"):
        run(auditor, write(tmp_path / name, data))


def test_text_only_logs_are_told_what_is_missing(auditor: Auditor, tmp_path: Path) -> None:
    row = {"step": 1, "prompt": "x", "completion": "y", "reward": 1.0}
    with pytest.raises(NothingToAuditError, match="text only"):
        run(auditor, write(tmp_path / "a.jsonl", json.dumps(row).encode()))


def test_unknown_names_are_guessed_by_their_values(auditor: Auditor, tmp_path: Path) -> None:
    row = {"my_tokens": [5, 6], "flags": [0, 1], "lp": [0.0, -0.5]}
    with pytest.raises(NothingToAuditError, match="--fields ids=my_tokens,mask=flags,logprobs=lp"):
        run(auditor, write(tmp_path / "a.jsonl", json.dumps(row).encode()))


def test_folders_and_patterns(auditor: Auditor, rows: list[str], tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "notes.txt"):
        write(tmp_path / name, (rows[0] + "\n").encode())
    assert [Path(name).name for name in run(auditor, str(tmp_path)).files] == ["a.jsonl", "b.jsonl"]
    assert [Path(name).name for name in run(auditor, str(tmp_path / "b*")).files] == ["b.jsonl"]
    with pytest.raises(NothingToAuditError, match="no file matches"):
        run(auditor, str(tmp_path / "z*"))
    with pytest.raises(UsageError, match="no such file"):
        run(auditor, str(tmp_path / "z"))


def cut(data: bytes, size: int, step: int) -> Iterator[Block]:
    view = [data[start : start + step] for start in range(0, len(data), step)] + [b""]
    return sources._line_blocks(Source(0, "x", "x", "lines"), iter(view).__next__, size)


@pytest.mark.parametrize(("size", "step"), [(1, 1), (5, 3), (17, 4), (1000, 7)])
def test_blocks_are_whole_lines_with_the_right_numbers(size: int, step: int) -> None:
    data = b"one\ntwo\n\nfour four\nfive"
    lines: dict[int, bytes] = {}
    for block in cut(data, size, step):
        for number, line in enumerate(block.data.split(b"\n")[:-1], block.first_row):
            lines[number] = line
    assert lines == {1: b"one", 2: b"two", 3: b"", 4: b"four four", 5: b"five"}


def test_a_missing_file_is_no_crash(tmp_path: Path) -> None:
    [block] = blocks(Source(0, "gone", str(tmp_path / "gone"), "lines"))
    assert block.unreadable == "No such file or directory"


def test_a_row_that_needs_too_much_memory_is_a_bad_row(
    auditor: Auditor, rows: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from template_lint.audit import block

    def scarce(chunk: list[Trajectory], _: Auditor) -> Any:
        if any(len(row.ids) > 50_000 for row in chunk):
            raise MemoryError
        return audit_many(chunk, auditor)

    monkeypatch.setattr(block, "audit_many", scarce)
    long = json.dumps({"ids": [65] * 60_000, "mask": [1] * 60_000})
    data = f"{rows[0]}\n{long}\n{rows[1]}\n".encode()
    summary = block.audit_block(Block(Source(0, "a", "a", "lines"), 1, data), auditor)
    assert (summary.trajectories, [(error.origin.row, error.kind) for error in summary.errors]) == (
        2,
        [(2, "too-large")],
    )

"""Buffer: what grows together, what is refused, and that nothing switches the checks off."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from template_lint.errors import TemplateLintError, UsageError
from template_lint.tito import Buffer
from template_lint.tito.buffer import BufferInvariantError, NoSampledTokensError, Turn


def conversation() -> Buffer:
    buffer = Buffer()
    buffer.extend([5, 6, 7], sampled=False)
    buffer.extend([8, 9], sampled=True, logprobs=[-0.5, -1.5])
    buffer.extend([10], sampled=False)
    return buffer


def test_everything_grows_together() -> None:
    buffer = conversation()
    assert buffer.ids == [5, 6, 7, 8, 9, 10]
    assert buffer.mask == [0, 0, 0, 1, 1, 0]
    assert buffer.logprobs == [0.0, 0.0, 0.0, -0.5, -1.5, 0.0]
    assert buffer.turns == [Turn(0, 3, "prompt"), Turn(3, 5, "completion"), Turn(5, 6, "delta")]
    assert buffer.prompt_length == 3
    assert len(buffer) == 6
    assert repr(buffer) == "Buffer(6 tokens, 2 sampled, 3 turns)"


def test_extend_returns_the_turn_and_takes_any_kind() -> None:
    buffer = conversation()
    assert buffer.extend([], sampled=False, kind="tool result") == Turn(6, 6, "tool result")
    assert buffer.extend([1], sampled=True, logprobs=[0.0], kind="retry") == Turn(6, 7, "retry")


def test_any_iterable_of_whole_numbers_will_do() -> None:
    numpy = pytest.importorskip("numpy")
    buffer = Buffer()
    buffer.extend(numpy.array([1, 2]), sampled=True, logprobs=numpy.array([-1.0, -2.0]))
    buffer.extend(iter((3,)), sampled=False)
    assert buffer.ids == [1, 2, 3]
    assert [type(item) for item in (*buffer.ids, *buffer.mask)] == [int] * 6
    with pytest.raises(TypeError):
        buffer.extend([1.5], sampled=False)  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"ids": [1], "sampled": True, "logprobs": [0.1]}, UsageError, "log-probability 0.1 of sampled token 0"),
        ({"ids": [1, 2], "sampled": True, "logprobs": [0.0, float("nan")]}, UsageError, "nan of sampled token 1"),
        ({"ids": [1], "sampled": True, "logprobs": [float("-inf")]}, UsageError, "-inf of sampled token 0"),
        ({"ids": [1], "sampled": True, "logprobs": [-1.0, -1.0]}, BufferInvariantError, "1 token ids came with 2"),
        ({"ids": [1], "sampled": False, "logprobs": [-1.0]}, UsageError, "did not sample"),
        ({"ids": [1], "sampled": True}, UsageError, "for all or none"),
        ({"ids": [3, -1], "sampled": False}, UsageError, "cannot be negative, got -1"),
    ],
)
def test_a_refused_turn_leaves_the_buffer_as_it_was(arguments: Any, error: type[Exception], message: str) -> None:
    buffer = conversation()
    with pytest.raises(error, match=message):
        buffer.extend(**arguments)
    assert buffer.ids == [5, 6, 7, 8, 9, 10]
    assert len(buffer.mask) == len(buffer.logprobs) == 6
    assert len(buffer.turns) == 3
    buffer.extend([1], sampled=False)


def test_log_probabilities_may_be_left_out_of_every_turn() -> None:
    buffer = Buffer()
    buffer.extend([1], sampled=True)
    buffer.extend([], sampled=True, logprobs=[])
    assert buffer.logprobs == [0.0]
    with pytest.raises(UsageError, match="for all or none"):
        buffer.extend([1], sampled=True, logprobs=[-1.0])


@pytest.mark.parametrize("name", ["ids", "mask", "logprobs"])
def test_a_list_changed_from_outside_is_noticed(name: str) -> None:
    buffer = conversation()
    getattr(buffer, name).append(0)
    for use in (
        lambda: buffer.extend([1], sampled=False),
        lambda: buffer.masked_mean([0.0] * 6),
        lambda: buffer.copy(),
    ):
        with pytest.raises(BufferInvariantError, match="changed from outside"):
            use()


def test_lists_that_are_all_cut_are_noticed_too() -> None:
    buffer = conversation()
    for values in (buffer.ids, buffer.mask, buffer.logprobs):
        values.pop()
    with pytest.raises(BufferInvariantError, match="5 ids, 5 mask values, 5 log-probabilities, turns up to 6"):
        buffer.extend([1], sampled=False)


def test_optimised_bytecode_checks_as_well() -> None:
    program = (
        "from template_lint.tito import Buffer\n"
        "from template_lint.tito.buffer import BufferInvariantError\n"
        "buffer = Buffer()\n"
        "buffer.extend([1], sampled=False)\n"
        "buffer.mask.clear()\n"
        "try:\n    buffer.extend([2], sampled=False)\n"
        "except BufferInvariantError:\n    print('refused')\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-OO", "-c", program], capture_output=True, text=True, cwd=root, timeout=60)
    assert (done.stdout, done.stderr) == ("refused\n", "")


def test_masked_mean() -> None:
    buffer = conversation()
    assert buffer.masked_mean([9.0, 9.0, 9.0, 1.0, 2.0, 9.0]) == 1.5
    with pytest.raises(BufferInvariantError, match="the buffer has 6 tokens, but 5 values"):
        buffer.masked_mean([1.0] * 5)


def test_masked_mean_without_sampled_tokens() -> None:
    buffer = Buffer()
    with pytest.raises(NoSampledTokensError):
        buffer.masked_mean([])
    buffer.extend([1, 2], sampled=False)
    with pytest.raises(NoSampledTokensError, match="none of the 2 tokens was sampled"):
        buffer.masked_mean([1.0, 1.0])
    assert issubclass(NoSampledTokensError, TemplateLintError)
    assert buffer.prompt_length == 2


def test_a_copy_is_independent() -> None:
    buffer = conversation()
    twin = buffer.copy()
    twin.extend([1], sampled=True, logprobs=[-2.0])
    assert (len(buffer), len(twin)) == (6, 7)
    assert twin.logprobs[:6] == buffer.logprobs
    with pytest.raises(UsageError, match="for all or none"):
        twin.copy().extend([1], sampled=True)


def test_the_package_loads_nothing_heavy() -> None:
    heavy = ("tokenizers", "transformers", "numpy", "yaml", "jinja2")
    program = f"import sys, template_lint.tito as t; t.Buffer; print([m for m in {heavy} if m in sys.modules])"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=root, timeout=60)
    assert (done.stdout, done.stderr) == ("[]\n", "")

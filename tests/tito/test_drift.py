"""Drift of a re-encoded buffer: counts, verdicts, mismatch classes and tokens that have no mask value."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from template_lint.errors import CannotCheckError
from template_lint.tito.buffer import Buffer, BufferInvariantError
from template_lint.tito.drift import Drift, measure, measure_many
from template_lint.tito.segmentation import alternatives
from template_lint.tokenization import Tokenization
from tests.tito.toys import byte_level, plain, sentencepiece

BYTES = byte_level(["ab", "ĊĊ", "Ã©", "éx"], [("a", "b"), ("Ċ", "Ċ"), ("Ã", "©")])
A, B, AB, NEWLINES, E_ACUTE, END, TOOL = 97, 98, 256, 257, 258, 260, 261
SENTENCE = sentencepiece(["▁", "a", "b", "▁a", "é"], [("▁", "a")])


def drift(ids: list[int], mask: list[int], tokenization: Tokenization = BYTES) -> Drift:
    return measure(tokenization, ids, mask)


def test_clean() -> None:
    assert drift([AB, END, A], [0, 0, 1]) == Drift(
        reencoded=[AB, END, A],
        drifted=0,
        same_length=False,
        first=None,
        straddling=[],
        verdict="CLEAN",
        mismatch=None,
    )
    assert drift([], []).verdict == "CLEAN"


def test_the_tail_of_the_last_sampled_span() -> None:
    """Two sampled newlines become one token; what stands before and after is as it was."""
    assert drift([A, END, B, 10, 10, END], [0, 0, 1, 1, 1, 0]) == Drift(
        reencoded=[A, END, B, NEWLINES, END],
        drifted=2,
        same_length=False,
        first=3,
        straddling=[],
        verdict="REALIGN",
        mismatch="assistant",
    )


@pytest.mark.parametrize(
    ("ids", "mask", "verdict", "mismatch"),
    [
        ([A, B, END], [1, 1, 1], "REALIGN", "assistant"),
        ([A, B, END, A], [1, 1, 0, 1], "FORK", "assistant"),  # an earlier sampled span
        ([A, B, END, A], [0, 0, 0, 1], "FORK", "non-assistant"),  # the prompt
        ([A, END, A, B], [0, 1, 0, 0], "FORK", "non-assistant"),  # what follows the last sampled span
        ([A, B], [0, 0], "FORK", "non-assistant"),  # nothing is sampled
        ([A, B, END, 10, 10], [1, 1, 0, 1, 1], "FORK", "assistant"),  # the last span and another one
    ],
)
def test_verdict_and_mismatch(ids: list[int], mask: list[int], verdict: str, mismatch: str) -> None:
    found = drift(ids, mask)
    assert (found.verdict, found.mismatch, found.straddling) == (verdict, mismatch, [])


def test_a_special_token_spelled_in_text() -> None:
    spelled = list(b"<end>")
    found = drift([A, *spelled, A], [0, 1, 1, 1, 1, 1, 0])
    assert found.reencoded == [A, END, A]
    assert (found.drifted, found.verdict, found.mismatch) == (5, "REALIGN", "special-count")


def test_an_added_token_that_is_not_special_is_text() -> None:
    found = drift([A, *b"<tool>"], [0, 1, 1, 1, 1, 1, 1])
    assert (found.reencoded, found.mismatch) == ([A, TOOL], "assistant")


def test_as_many_special_tokens_of_another_kind() -> None:
    """`<x><y>` reads as the one token `<x><y>`, and `<` `y>` as `<y>`: two special tokens each time."""
    tokenization = plain(["<", "y>"], [], special=["<y>", "<x>", "<x><y>"])
    assert tokenization.encode("<x><y><y>") == [4, 2]
    found = drift([3, 2, 0, 1], [0, 0, 1, 1], tokenization)
    assert (found.reencoded, found.mismatch) == ([4, 2], "special-type")


def test_silent_drift_has_the_same_length() -> None:
    tokenization = plain(["a", "b", "ab", "ba"], [("a", "b"), ("b", "a")])
    found = drift([0, 3], [1, 1], tokenization)
    assert (found.reencoded, found.same_length, found.drifted, found.first) == ([2, 0], True, 2, 0)


def test_only_tokens_that_lost_their_place_are_drifted() -> None:
    found = drift([A, B, AB, A, END, 10, 10], [1] * 7)
    assert found.reencoded == [AB, AB, A, END, NEWLINES]
    assert found.drifted == 4


def test_straddling() -> None:
    found = drift([A, END, A, B, B], [0, 0, 0, 1, 1])
    assert found.reencoded == [A, END, AB, B]
    assert found.straddling == [(2, AB, "ab")]
    assert (found.drifted, found.verdict, found.mismatch) == (2, "FORK", "non-assistant")


def test_several_straddling_tokens() -> None:
    found = drift([A, B, 10, 10, A, B], [0, 1, 1, 0, 0, 1])
    assert found.straddling == [(0, AB, "ab"), (1, NEWLINES, "\n\n"), (2, AB, "ab")]


def test_a_character_split_over_tokens() -> None:
    """The second byte of é is the tool's: the token for all of é straddles. The text before it does not count."""
    found = drift([*"日".encode(), 0xC3, 0xA9, B], [0, 0, 0, 1, 0, 0])
    assert found.reencoded == [*"日".encode(), E_ACUTE, B]
    assert found.straddling == [(3, E_ACUTE, "é")]
    assert found.drifted == 2


def test_a_completion_cut_inside_a_character() -> None:
    """Half a character decodes to U+FFFD, which is three bytes: the text changed, so places are those of characters."""
    found = drift([A, 0xF0, 0x9F, END, 10, 10], [0, 1, 1, 0, 0, 0])
    assert found.reencoded == [A, *"\ufffd".encode(), END, NEWLINES]
    assert found.first == 1
    assert found.drifted == 4, "both bytes and both newlines, not the <end> that moved"
    assert found.straddling == []


def test_two_halves_that_make_one_replacement_character() -> None:
    """A sampled F0 and a 9F of the tool decode to one U+FFFD: its three tokens belong to both."""
    found = drift([0xF0, 0x9F], [1, 0])
    assert found.reencoded == [0xEF, 0xBF, 0xBD]
    assert [place for place, _, _ in found.straddling] == [0, 1, 2]


def test_a_normaliser_that_changes_the_text() -> None:
    """NFC makes é of a sampled e and the accent of the tool."""
    tokenization = byte_level(["Ã©"], [("Ã", "©")], nfc=True)
    accent = "\u0301".encode()
    found = drift([ord("e"), *accent, B], [1, 0, 0, 0], tokenization)
    assert found.reencoded == [256, B]
    assert (found.first, found.drifted, found.verdict) == (0, 3, "FORK")


def test_the_space_that_sentencepiece_adds() -> None:
    found = drift([0, 260, 258], [0, 1, 1], SENTENCE)
    assert SENTENCE.decode([0, 260, 258]) == "<s> aa"
    assert found.reencoded == [0, 257, 260, 258]
    assert (found.first, found.drifted, found.straddling) == (1, 0, [])
    assert found.verdict == "REALIGN"


def test_a_token_added_after_the_last_sampled_span() -> None:
    found = drift([0, 260, 258], [1, 0, 0], SENTENCE)
    assert (found.first, found.verdict, found.mismatch) == (1, "FORK", "non-assistant")


def test_the_space_that_decoding_removes_moves_nothing() -> None:
    """The text begins `a`, its first token stands for a space and `a`."""
    assert SENTENCE.decode([260, 0, 260, 258]) == "a<s> aa"
    found = drift([260, 0, 260, 258], [0, 0, 1, 1], SENTENCE)
    assert (found.reencoded, found.drifted) == ([260, 0, 257, 260, 258], 0)


def test_a_token_that_kept_its_place_keeps_its_mask() -> None:
    """The first byte of 日 is sampled, the others are not. They come back as they were; half a character does not."""
    sun = [*"日".encode()]
    found = drift([*sun, 0xF0], [1, 0, 0, 0])
    assert found.reencoded == [*sun, *"\ufffd".encode()]
    assert (found.drifted, found.straddling) == (1, [])


def test_offsets_that_leave_out_spaces() -> None:
    """Some tokenizers trim the space off the place of ` a`: it is still text of the tool."""
    tokenization = byte_level(["Ġa"], [("Ġ", "a")], trim_offsets=True)
    assert tokenization.encode_with_offsets("b a") == ([B, 256], [(0, 1), (2, 3)])
    found = drift([0xF0, 32, A], [0, 0, 1], tokenization)
    assert found.straddling == [(3, 256, " a")]


def test_byte_fallback_tokens_of_an_unfinished_character() -> None:
    half = [1 + 0xF0, 1 + 0x9F]
    assert SENTENCE.decode([260, *half, 258]) == "a\ufffd\ufffda"
    found = drift([260, *half, 258], [0, 1, 1, 0], SENTENCE)
    assert found.reencoded == [260, *(1 + byte for byte in "\ufffd\ufffd".encode()), 258]
    assert (found.first, found.drifted, found.straddling) == (1, 2, [])


def test_ids_beyond_the_vocabulary_vanish() -> None:
    found = drift([A, 5000, B], [1, 0, 1])
    assert found.reencoded == [AB]
    assert (found.drifted, found.straddling) == (3, [])
    found = drift([A, 5000, B], [0, 0, 1])
    assert found.straddling == [(0, AB, "ab")]


def test_the_mask_must_fit() -> None:
    with pytest.raises(BufferInvariantError, match="2 token ids came with 1 mask values"):
        drift([A, B], [1])


def test_without_bytes_only_clean_buffers_can_be_judged() -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"a": 0, "b": 1, "[UNK]": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.WordPiece()
    tokenization = Tokenization(tokenizer)
    assert drift([0, 1], [1, 1], tokenization).verdict == "CLEAN"
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    with pytest.raises(CannotCheckError, match="no bytes of their own"):
        drift([0, 9, 2], [1, 1, 1], tokenization)


@settings(max_examples=100, deadline=None)
@given(
    text=st.text(st.sampled_from("ab \né🎉<end>"), min_size=1, max_size=30),
    seed=st.integers(0, 5),
    masks=st.lists(st.integers(0, 1), min_size=90, max_size=90),
)
def test_a_batch_gives_what_single_calls_give(text: str, seed: int, masks: list[int]) -> None:
    for tokenization in (BYTES, SENTENCE):
        ids = tokenization.encode(text)
        buffers = []
        for sequence in (ids, *alternatives(tokenization, ids, seed=seed, count=3), [*ids, 0xF0]):
            buffer = Buffer()
            for token_id, sampled in zip(sequence, masks, strict=False):
                buffer.extend([token_id], sampled=bool(sampled))
            buffers.append(buffer)
        assert measure_many(tokenization, buffers) == [measure(tokenization, b.ids, b.mask) for b in buffers]


@settings(max_examples=200, deadline=None)
@given(
    data=st.lists(st.sampled_from([A, B, AB, 10, NEWLINES, 0xC3, 0xA9, 0xF0, END, TOOL]), max_size=12),
    cut=st.integers(0, 12),
)
def test_straddling_against_a_slow_definition(data: list[int], cut: int) -> None:
    """A re-encoded token straddles if no cut of the text by the mask leaves it whole."""
    cut = min(cut, len(data))
    found = drift(data, [0] * cut + [1] * (len(data) - cut))
    texts = BYTES.decode(data[:cut]), BYTES.decode(data[cut:])
    if "\ufffd" in "".join(texts):
        return
    edge, end = len(texts[0].encode()), 0
    expected = []
    for index, token_id in enumerate(found.reencoded):
        start, end = end, end + len(BYTES.decode([token_id]).encode() if token_id > 255 else b"x")
        if start < edge < end:
            expected.append(index)
    assert [place for place, _, _ in found.straddling] == expected

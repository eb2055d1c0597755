"""Other segmentations of the same bytes, on toy tokenizers whose segmentations can be counted by hand."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models

from template_lint.errors import CannotCheckError
from template_lint.tito.pieces import pieces_of
from template_lint.tito.segmentation import alternatives, bytes_of
from template_lint.tokenization import Tokenization
from tests.tito.toys import byte_level, plain, sentencepiece

BYTES = byte_level(["ab", "bc", "aa", "ĊĊ", "en", "Ġa"], [("a", "b"), ("a", "a"), ("Ċ", "Ċ"), ("Ġ", "a")])
AB, BC, AA, NEWLINES, EN, SPACE_A, END, TOOL = range(256, 264)
SENTENCE = sentencepiece(["▁", "a", "b", "▁a", "é"], [("▁", "a")])


def of_text(text: str) -> list[int]:
    return list(text.encode())


def test_bytes_of_byte_level_tokens() -> None:
    assert [bytes_of(BYTES, byte) for byte in range(256)] == [bytes([byte]) for byte in range(256)]
    assert bytes_of(BYTES, SPACE_A) == b" a"
    assert bytes_of(BYTES, NEWLINES) == b"\n\n"
    assert [bytes_of(BYTES, token_id) for token_id in (END, TOOL, TOOL + 1, -1)] == [None] * 4


def test_bytes_of_sentencepiece_tokens() -> None:
    assert SENTENCE.token(11) == "<0x0A>"
    assert bytes_of(SENTENCE, 11) == b"\n"
    assert [bytes_of(SENTENCE, token_id) for token_id in (257, 260, 261)] == [b" ", b" a", "é".encode()]
    assert bytes_of(SENTENCE, 0) is None


def test_a_piece_that_looks_like_a_byte_is_text_without_byte_fallback() -> None:
    assert bytes_of(plain(["<0x0A>"], []), 0) == b"<0x0A>"


def test_two_newlines_where_the_tokenizer_has_one_token() -> None:
    assert BYTES.encode("\n\n") == [NEWLINES]
    assert alternatives(BYTES, [NEWLINES], seed=0, count=8) == [[10, 10]]


def test_every_other_segmentation_is_found() -> None:
    a, b, c = of_text("abc")
    found = alternatives(BYTES, [AB, c], seed=0, count=8)
    assert sorted(found) == [[a, b, c], [a, BC]]
    found = alternatives(BYTES, [AA, a], seed=1, count=8)
    assert sorted(found) == [[a, a, a], [a, AA]]


def test_long_pieces_are_found() -> None:
    tokenization = plain(["a", "aa", "aaa", "aaaa"], [])
    found = alternatives(tokenization, [0, 0, 0, 0], seed=0, count=8)
    assert sorted(found) == [[0, 0, 1], [0, 1, 0], [0, 2], [1, 0, 0], [1, 1], [2, 0], [3]]


def test_an_ascii_character_is_a_piece_and_a_byte() -> None:
    """With byte fallback the same text has a piece and a byte token: 1 + ord is the id of the byte."""
    assert SENTENCE.encode("a") == [260]
    assert sorted(alternatives(SENTENCE, [260], seed=0, count=8)) == [[33, 98], [33, 258], [257, 98], [257, 258]]
    assert alternatives(SENTENCE, [261], seed=0, count=8) == [[1 + 0xC3, 1 + 0xA9]]


def test_added_tokens_stay_and_are_never_made() -> None:
    spelled = of_text("<end>") + of_text("<tool>")
    found = alternatives(BYTES, [*spelled, END, AB, TOOL], seed=0, count=8)
    a, b = of_text("ab")
    in_pieces = [*of_text("<"), EN, *of_text("d>"), *of_text("<tool>")]
    assert sorted(found) == sorted(
        [[*spelled, END, a, b, TOOL], [*in_pieces, END, AB, TOOL], [*in_pieces, END, a, b, TOOL]]
    )
    assert alternatives(BYTES, [END, TOOL, END], seed=0, count=8) == []


def test_added_tokens_of_white_space_are_ordinary_text() -> None:
    """As the newline runs of Gemma 3 are."""
    tokenizer = Tokenizer(models.BPE(vocab={"\n": 0, "x": 1}, merges=[]))
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_tokens([AddedToken("\n\n", normalized=False)])
    tokenizer.add_special_tokens(["\t"])
    tokenization = Tokenization(tokenizer)
    assert tokenization.encode("\n\nx\t") == [2, 1, 3]
    assert alternatives(tokenization, [2, 1, 3], seed=0, count=8) == [[0, 0, 1, 3]]
    assert alternatives(tokenization, [0, 0], seed=0, count=8) == [[2]]
    assert bytes_of(tokenization, 3) is None


def test_no_way_that_ends_nowhere() -> None:
    """Without byte tokens some beginnings cannot be completed: here `a` before `bd`, as `b` is no piece."""
    tokenization = plain(["a", "ab", "bc", "c", "d"], [])
    assert alternatives(tokenization, [1, 4, 1, 3], seed=0, count=8) == [[1, 4, 0, 2]]
    found = alternatives(tokenization, [1, 4, 1, 3] * 12, seed=0, count=20)
    assert len(found) == 20
    for ids in found:
        assert ids[::4] + ids[1::4] == [1] * 12 + [4] * 12
        assert set(zip(ids[2::4], ids[3::4], strict=True)) <= {(1, 3), (0, 2)}


def test_ids_beyond_the_vocabulary_stay() -> None:
    assert alternatives(BYTES, [NEWLINES, 5000, NEWLINES], seed=0, count=8) != []
    for ids in alternatives(BYTES, [NEWLINES, 5000, NEWLINES], seed=0, count=8):
        assert ids.count(5000) == 1


def test_bytes_that_make_no_character_keep_their_text() -> None:
    """A lone byte token decodes to one U+FFFD, beside another byte token to two: the same bytes, another text."""
    lone = 1 + 0xE4
    assert SENTENCE.decode([lone, 258]) == "\ufffda"
    assert SENTENCE.decode([lone, 1 + ord("a")]) == "\ufffd\ufffd"
    assert alternatives(SENTENCE, [lone, 258], seed=0, count=8) == []


def test_nothing_to_cut() -> None:
    assert alternatives(BYTES, [], seed=0, count=8) == []
    assert alternatives(BYTES, of_text("z"), seed=0, count=8) == []
    assert alternatives(BYTES, [AB], seed=0, count=0) == []


def test_the_second_is_made_of_shortest_pieces() -> None:
    text = "ab aa abc\n\n é" * 5
    ids = BYTES.encode(text)
    assert alternatives(BYTES, ids, seed=3, count=16)[1] == of_text(text)


def test_from_one_place_to_all() -> None:
    ids = BYTES.encode("ab aa abc\n\n" * 20)
    found = alternatives(BYTES, ids, seed=0, count=32)
    assert len(found) == 32
    places = [changed(ids, path) for path in found]
    assert len(places[0]) == 1
    assert sum(map(len, places[1])) == 80, "every token of several bytes"
    assert any(2 <= len(runs) <= 4 for runs in places)
    assert any(len(runs) > 10 for runs in places[2:])


def changed(ids: list[int], path: list[int]) -> list[list[int]]:
    """Runs of neighbouring tokens of ``ids`` that are not in the same place of the text in ``path``."""
    placed = []
    for sequence in (ids, path):
        starts = accumulate((len(bytes_of(BYTES, token_id) or b"") for token_id in sequence[:-1]), initial=0)
        placed.append(list(zip(starts, sequence, strict=True)))
    lost = [index for index, place in enumerate(placed[0]) if place not in set(placed[1])]
    runs: list[list[int]] = []
    for index in lost:
        if runs and runs[-1][-1] == index - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return runs


def test_the_seed_alone_decides() -> None:
    """The expected ids are written down: no process, platform or version of Python may draw others."""
    ids = BYTES.encode("ab aa abc\n\n" * 3)
    found = alternatives(BYTES, ids, seed=7, count=12)
    assert found == alternatives(BYTES, ids, seed=7, count=12)
    assert found != alternatives(BYTES, ids, seed=8, count=12)
    first = [AB, 32, AA, 32, AB, 99, NEWLINES]
    assert found[0] == [*first[:6], 10, 10, *first, *first]


def test_a_table_is_built_once() -> None:
    assert pieces_of(BYTES) is pieces_of(BYTES)


@pytest.mark.parametrize(
    "decoder", [None, decoders.WordPiece(), decoders.Sequence([decoders.Replace(" ", "_"), decoders.CTC()])]
)
def test_tokens_without_bytes_of_their_own(decoder: object) -> None:
    tokenizer = Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
    if decoder is not None:
        tokenizer.decoder = decoder
    with pytest.raises(CannotCheckError, match="no bytes of their own") as caught:
        alternatives(Tokenization(tokenizer), [0, 1], seed=0, count=1)
    assert caught.value.kind == "no-bytes"


@pytest.mark.parametrize("tokenization", [BYTES, SENTENCE], ids=["byte level", "byte fallback"])
@settings(max_examples=150, deadline=None)
@given(text=st.text(st.sampled_from("ab c\nén🎉<>\u0301") | st.characters(exclude_categories=["Cs"]), max_size=40))
def test_every_alternative_reads_the_same(tokenization: Tokenization, text: str) -> None:
    ids = tokenization.encode(f"{text}<end><s>{text}")
    found = alternatives(tokenization, ids, seed=1, count=8)
    assert ids not in found
    assert len({tuple(path) for path in found}) == len(found)
    added = [token_id for token_id in ids if token_id in tokenization.added_ids]
    for path in found:
        assert tokenization.decode(path) == tokenization.decode(ids)
        assert [token_id for token_id in path if token_id in tokenization.added_ids] == added

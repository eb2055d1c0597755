"""A text that is cut before an added token has the ids of its pieces, whatever it holds; else it is not cut there."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from template_lint.audit.cuts import Cuts
from template_lint.snapshot.load import load_snapshot
from template_lint.target import parse_target
from template_lint.tokenization import Tokenization, load_tokenization
from tests.inputs import tokenizer_dir

REAL = ["qwen3", "gptoss", "llama3_1", "llama2", "gemma3", "deepseek_v3"]
PLAIN = [
    " ",
    "  ",
    "\n",
    "\n\n\n",
    "\t",
    "tide",
    "'s",
    "1234567",
    "<",
    "<|",
    "|>",
    "_",
    "é",
    "e\u0301",
    "ﬁ",
    "潮汐",
    "🌊",
]


@lru_cache(maxsize=2)
def real(name: str) -> tuple[Tokenization, Cuts, list[str]]:
    """A tokenizer, cuts before its turn tokens (and others of the same kind), and what texts are made of."""
    tokenization = load_tokenization(load_snapshot(parse_target(str(tokenizer_dir(name)))))
    added = tokenization.added_tokens()
    some = random.Random(0).sample(sorted(added), min(40, len(added)))
    return tokenization, Cuts(tokenization, some), [*PLAIN, *(added[token_id]["content"] for token_id in some)]


def joined(tokenization: Tokenization, pieces: list[str]) -> list[int]:
    return [token_id for piece in pieces for token_id in tokenization.encode(piece)]


@pytest.mark.parametrize("name", REAL)
@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_the_ids_of_a_text_are_those_of_its_pieces(name: str, data: st.DataObject) -> None:
    tokenization, cuts, parts = real(name)
    text = "".join(data.draw(st.lists(st.sampled_from(parts) | st.text(max_size=3), max_size=12)))
    pieces = cuts.pieces(text)
    assert "".join(pieces) == text
    assert joined(tokenization, pieces) == tokenization.encode(text)


@pytest.mark.parametrize(
    ("name", "token"),
    [
        ("qwen3", "<|im_start|>"),
        ("llama3_1", "<|start_header_id|>"),
        ("gemma3", "<start_of_turn>"),
        ("gptoss", "<|start|>"),
        ("deepseek_v3", "<｜User｜>"),
        ("llama2", "<s>"),
    ],
)
def test_turn_tokens_of_real_models_allow_a_cut(name: str, token: str) -> None:
    tokenization = real(name)[0]
    token_id = tokenization.token_id(token)
    assert token_id is not None
    cuts = Cuts(tokenization, [token_id])
    assert cuts.pieces(f"x{token}a{token}") == ["x", f"{token}a", token]


def toy(*added: AddedToken, first: str = "never", normalizer: Any = None, processor: Any = None) -> Tokenizer:
    """A character-level tokenizer with a merge over each pair of the letters that the tests below put side by side."""
    letters = [*"▁abcdSTUV<>|_-", *(a + b for a in "ab▁" for b in "ab"), "▁ab"]
    merges = [(a, b) for a in "ab▁" for b in "ab"] + [("▁", "ab")]
    model = models.BPE({piece: index for index, piece in enumerate(letters)}, merges, unk_token=None)
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=first, split=False)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme=first, split=False)
    tokenizer.normalizer = normalizer
    if processor is not None:
        tokenizer.post_processor = processor
    tokenizer.add_tokens(list(added))
    return tokenizer


def special(text: str, **flags: bool) -> AddedToken:
    return AddedToken(text, special=True, normalized=flags.pop("normalized", False), **flags)


def cut_before(tokenizer: Tokenizer, token: str) -> tuple[Tokenization, Cuts]:
    tokenization = Tokenization(tokenizer)
    token_id = tokenization.token_id(token)
    assert token_id is not None
    return tokenization, Cuts(tokenization, [token_id])


TWICE = processors.TemplateProcessing(single="$A $A", pair="$A $B", special_tokens=[])
SPLIT = toy(special("<S>"), first="always")
SPLIT.encode_special_tokens = True
REFUSED = {
    "a token before it takes its beginning": (toy(special("<S>"), special("ab<")), "<S>", "ab<S>ab"),
    "a longer token contains it": (toy(special("<S>"), special("a<S>")), "<S>", "ba<S>b"),
    "it contains another, which begins earlier": (toy(special("<S>"), special("-<S")), "<S>", "a-<S>"),
    "it overlaps itself": (toy(special("<<")), "<<", "a<<<"),
    "it strips to the left": (toy(special("<S>", lstrip=True)), "<S>", "a  <S>b"),
    "it must be a word of its own": (toy(special("<S>", single_word=True)), "<S>", "ab<S>"),
    "it is looked for in the normalised text": (
        toy(special("<S>", normalized=True), normalizer=normalizers.Replace("b<", "<")),
        "<S>",
        "ab<S>",
    ),
    "it continues a word": (toy(special("_S"), special("cd", single_word=True)), "_S", "cd_S"),
    "special tokens are plain text": (SPLIT, "<S>", "a<S>b"),
    "the post-processor repeats the text": (toy(special("<S>"), processor=TWICE), "<S>", "a<S>b"),
    "it ends with a space that another strips": (
        toy(special("<S ", normalized=True), special("<T>", lstrip=True), first="always"),
        "<S ",
        "a<S <T>",
    ),
}


@pytest.mark.parametrize("why", REFUSED)
def test_no_cut_where_it_would_change_ids(why: str) -> None:
    tokenizer, token, text = REFUSED[why]
    assert cut_before(tokenizer, token)[1].pieces(text) == [text]


def test_the_refusals_are_needed() -> None:
    for why, (tokenizer, token, text) in REFUSED.items():
        tokenization = Tokenization(tokenizer)
        at = text.index(token, 1) if why != "it overlaps itself" else 2
        assert joined(tokenization, [text[:at], text[at:]]) != tokenization.encode(text), why


ALPHABET = ["a", "b", "ab", " ", "  ", "<", ">", "S", "_", "-", "<S>", "<T>", "<U>", "<V>", "<S", "T>"]


@pytest.mark.parametrize("first", ["never", "first", "always"])
@given(text=st.lists(st.sampled_from(ALPHABET), max_size=14).map("".join))
@settings(max_examples=300, deadline=None)
def test_neighbours_that_strip_or_want_words_do_no_harm(first: str, text: str) -> None:
    others = [special("<T>", lstrip=True, rstrip=True), special("<U>", rstrip=True), special("ab", single_word=True)]
    for normalized in (False, True):
        tokenizer = toy(special("<S>", normalized=normalized), *others, first=first)
        tokenization, cuts = cut_before(tokenizer, "<S>")
        assert cuts.tokens == ["<S>"]
        assert joined(tokenization, cuts.pieces(text)) == tokenization.encode(text)

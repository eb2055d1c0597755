"""Small tokenizers that run offline, and the ids of their pieces."""

from __future__ import annotations

from collections.abc import Sequence

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from template_lint.tokenization import Tokenization


def plain(pieces: Sequence[str], merges: Sequence[tuple[str, str]], *, special: Sequence[str] = ()) -> Tokenization:
    """BPE over whole characters; a piece's id is its place in ``pieces``, special tokens follow."""
    vocabulary = {piece: token_id for token_id, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=list(merges)))
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens(list(special))
    return Tokenization(tokenizer)


def byte_level(
    pieces: Sequence[str] = (),
    merges: Sequence[tuple[str, str]] = (),
    *,
    nfc: bool = False,
    trim_offsets: bool = False,
) -> Tokenization:
    """Byte-level BPE: ids 0 to 255 are the bytes, ``pieces`` follow; then <end> (special) and <tool> (only added)."""
    alphabet = byte_alphabet()
    vocabulary = {piece: token_id for token_id, piece in enumerate([*alphabet, *pieces])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=list(merges)))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=trim_offsets)
    if nfc:
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.add_special_tokens(["<end>"])
    tokenizer.add_tokens([AddedToken("<tool>", normalized=False)])
    return Tokenization(tokenizer)


def byte_alphabet() -> list[str]:
    """The character that stands for each byte, as the library itself writes texts that hold them.

    Bytes that no text holds (C0, C1, F5 to FF) get what is left of its alphabet.
    """
    words = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    found: dict[int, str] = {}
    for code in (*range(0x800), *range(0x800, 0xD800, 0x800), *range(0xE000, 0x110000, 0x1000)):
        [(written, _)] = words.pre_tokenize_str(chr(code))
        found.update(zip(chr(code).encode(), written, strict=True))
    rest = iter(sorted(set(words.alphabet()) - set(found.values())))
    return [found[byte] if byte in found else next(rest) for byte in range(256)]


def sentencepiece(pieces: Sequence[str], merges: Sequence[tuple[str, str]] = ()) -> Tokenization:
    """BPE as in Llama 2: <s> is 0, bytes are 1 to 256, ``pieces`` follow; a text begins with an added space."""
    names = ["<s>", *(f"<0x{byte:02X}>" for byte in range(256)), *pieces]
    vocabulary = {piece: token_id for token_id, piece in enumerate(names)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=list(merges), byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    tokenizer.decoder = decoders.Sequence(steps)
    tokenizer.add_special_tokens(["<s>"])
    return Tokenization(tokenizer)

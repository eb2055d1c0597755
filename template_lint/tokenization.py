"""Text <-> token ids as ``tokenizer(text, add_special_tokens=False)`` of transformers gives them, without importing it.

Built on the ``tokenizers`` library. Of the classes of 5.x that ignore the pipeline of tokenizer.json and build their
own, only LlamaTokenizer is mirrored; the others build what their models' files hold. Decoding never cleans up spaces.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from template_lint.errors import CannotCheckError, TemplateLintError
from template_lint.snapshot.model import Snapshot, TokenizerFiles
from template_lint.snapshot.special_tokens import DeclaredTokens, declared_tokens, token_text
from template_lint.snapshot.tokenizer_class import tokenizer_class
from template_lint.snapshot.tokenizer_habits import Habits, habits_of

if TYPE_CHECKING:
    from tokenizers import AddedToken, Tokenizer

NEWEST_PROFILE = (5, 24)

_CACHE_SIZE = 4
_cache: dict[tuple[object, ...], Tokenization] = {}


class Tokenization:
    """A tokenizer with truncation and padding off that never adds special tokens by itself.

    ``special_ids``: ids of tokens that decode(skip_special_tokens=True) leaves out. ``added_ids``: ids of tokens that
    are cut out of a text before the model of the tokenizer sees it, special or not. ``eos_ids``: ids at which
    generation stops, the tokenizer's own eos token first. ``habits``: what the files around the tokenizer say.
    """

    def __init__(self, tokenizer: Tokenizer, *, eos_ids: tuple[int, ...] = (), habits: Habits = Habits()) -> None:  # noqa: B008  (immutable)
        """Take over ``tokenizer``: its truncation and padding are switched off."""
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self.vocab_size: int = tokenizer.get_vocab_size(with_added_tokens=True)
        added = tokenizer.get_added_tokens_decoder()
        self.special_ids: frozenset[int] = frozenset(token_id for token_id, token in added.items() if token.special)
        self.added_ids: frozenset[int] = frozenset(added)
        self.eos_ids = eos_ids
        self.habits = habits

    def encode(self, text: str) -> list[int]:
        """Text -> token ids."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def encode_with_offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Text -> token ids and, for each, its 0-based [start, end) in code points of ``text``.

        Neighbours may share an offset: a character of several byte-level tokens belongs to all of them.
        """
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        return encoding.ids, encoding.offsets

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """As encode() for each text, on all processors (TOKENIZERS_PARALLELISM=false forbids that)."""
        encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)  # no offsets
        return [encoding.ids for encoding in encodings]

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = False) -> str:
        """Token ids -> text. Not the inverse of encode(): normalisers and invalid UTF-8 lose information."""
        text: str = self._tokenizer.decode(list(ids), skip_special_tokens=skip_special_tokens)
        return text

    def decode_batch(self, batch: Sequence[Sequence[int]]) -> list[str]:
        """As decode() for each sequence of ids, special tokens kept, on all processors."""
        texts: list[str] = self._tokenizer.decode_batch(batch, skip_special_tokens=False)
        return texts

    @property
    def splits_special_tokens(self) -> bool:
        """Whether special tokens in a text are taken for plain text (``split_special_tokens``)."""
        return bool(self._tokenizer.encode_special_tokens)

    def vocabulary(self) -> dict[str, int]:
        """Every vocabulary piece and added token -> its id, in no particular order."""
        return self._tokenizer.get_vocab(with_added_tokens=True)

    def decoder_steps(self) -> list[dict[str, Any]]:
        """What turns pieces into text, as in ``decoder`` of tokenizer.json, sequences unrolled; empty without one."""
        decoder = self._tokenizer.decoder
        return [] if decoder is None else _unrolled(json.loads(decoder.__getstate__()))

    def added_tokens(self) -> dict[int, dict[str, Any]]:
        """Id -> the added token as tokenizer.json writes it: ``content``, ``special`` and the flags of its match."""
        flags = ("content", "special", "normalized", "lstrip", "rstrip", "single_word")
        added = self._tokenizer.get_added_tokens_decoder()
        return {token_id: {flag: getattr(token, flag) for flag in flags} for token_id, token in sorted(added.items())}

    def pipeline(self) -> dict[str, Any]:
        """``normalizer``, ``pre_tokenizer``, ``post_processor`` and ``decoder`` as in tokenizer.json, None for none."""
        parts = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
        found = {name: getattr(self._tokenizer, name) for name in parts}
        return {name: None if part is None else json.loads(part.__getstate__()) for name, part in found.items()}

    def model_state(self) -> bytes:
        """The model as tokenizer.json has it: type, settings, vocabulary, merges. Some 5 to 30 MB of JSON."""
        state: bytes = self._tokenizer.model.__getstate__()
        return state

    def token(self, token_id: int) -> str:
        """The vocabulary piece of an id, such as ``Ġhello``. Raises KeyError for an id outside the vocabulary."""
        piece = self._tokenizer.id_to_token(token_id)
        if piece is None:
            raise KeyError(token_id)
        return str(piece)

    def token_id(self, token: str) -> int | None:
        """The id of a vocabulary piece or added token, None where there is none."""
        found: int | None = self._tokenizer.token_to_id(token)
        return found


def _unrolled(decoder: dict[str, Any]) -> list[dict[str, Any]]:
    if decoder["type"] != "Sequence":
        return [decoder]
    return [step for part in decoder["decoders"] for step in _unrolled(part)]


def load_tokenization(snapshot: Snapshot, *, profile_version: tuple[int, int] = NEWEST_PROFILE) -> Tokenization:
    """Build the tokenizer of a snapshot; a small cache makes the second call for the same files immediate.

    ``profile_version`` is the (major, minor) of transformers whose rules say which tokens are added to those of
    tokenizer.json. Without tokenizer.json, transformers itself loads the folder (never running code from it). Raises
    CannotCheckError (``no-tokenizer``, ``tokenizer-unloadable``) with the reason.
    """
    files = snapshot.tokenizer
    if files is None:
        reason = snapshot.tokenizer_missing or "the target has no tokenizer"
        raise CannotCheckError(f"no token ids for {snapshot.target.text}: {reason}.", kind="no-tokenizer")
    declared = declared_tokens(snapshot, profile_version)
    source = files.gguf or files.tokenizer_json
    if source is None and files.folder is None:
        raise CannotCheckError(f"no token ids for {snapshot.target.text}: no vocabulary file.", kind="no-tokenizer")
    key = (
        *_identity(source or files.folder),
        profile_version >= (5, 0),
        repr(files.config),
        repr(declared),
        snapshot.stop_ids,
        repr(snapshot.model_config),
    )
    if key not in _cache:
        while len(_cache) >= _CACHE_SIZE:
            del _cache[next(iter(_cache))]
        _cache[key] = _build(snapshot, files, declared, profile_version)
    return _cache[key]


def _identity(path: Path | None) -> tuple[object, ...]:
    if path is None:
        return ()
    status = path.stat()
    return str(path.absolute()), status.st_mtime_ns, status.st_size


def _build(
    snapshot: Snapshot, files: TokenizerFiles, declared: DeclaredTokens, profile_version: tuple[int, int]
) -> Tokenization:
    try:
        if files.gguf is not None:
            from template_lint.snapshot.gguf_tokenizer import build_tokenizer

            tokenizer = build_tokenizer(files.gguf)
        elif files.tokenizer_json is not None:
            from tokenizers import Tokenizer

            tokenizer = Tokenizer.from_file(str(files.tokenizer_json))
            if profile_version >= (5, 0) and tokenizer_class(snapshot, profile_version) == "LlamaTokenizer":
                _use_llama_pipeline(tokenizer, files.config)
            tokenizer.add_tokens(_missing_tokens(tokenizer, files, declared))
            tokenizer.encode_special_tokens = bool(files.config.get("split_special_tokens", False))
        else:
            tokenizer = _load_with_transformers(files)
        habits = habits_of(tokenizer, snapshot, declared, profile_version)
    except TemplateLintError:
        raise
    except BaseException as error:
        # The Rust library signals a defect of its input by Exception or by a panic, which is no Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise CannotCheckError(
            f"the tokenizer of {snapshot.target.text} cannot be loaded: {error}. Check its tokenizer files.",
            kind="tokenizer-unloadable",
        ) from error
    eos = declared.named.get("eos_token")
    eos_id = tokenizer.token_to_id(token_text(eos)) if eos is not None else None
    own = () if eos_id is None else (eos_id,)
    eos_ids = tuple(dict.fromkeys((*own, *snapshot.stop_ids)))
    return Tokenization(tokenizer, eos_ids=eos_ids, habits=habits)


def _use_llama_pipeline(tokenizer: Tokenizer, config: Mapping[str, Any]) -> None:
    """Split words as LlamaTokenizer of 5.x does whatever tokenizer.json says (tokenization_llama.py of 5.24.0).

    Against 4.57 it changes the ids of texts, and with ``legacy`` of segments after a special token, that begin with a
    space.
    """
    from tokenizers import decoders, pre_tokenizers

    prefix_space = config.get("add_prefix_space") in (None, True)
    scheme = "never" if not prefix_space else "always" if config.get("legacy", False) else "first"
    tokenizer.normalizer = None
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme=scheme, split=False)
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence([*steps, decoders.Strip(content=" ", left=1)] if prefix_space else steps)


def _missing_tokens(tokenizer: Tokenizer, files: TokenizerFiles, declared: DeclaredTokens) -> list[AddedToken]:
    """The tokens that transformers adds on top of tokenizer.json, in its order.

    First those of added_tokens_decoder (or, where the configuration has none, of added_tokens.json) by id, then named
    and extra special tokens that are not yet added tokens. Ids are given by the library: a token of the vocabulary
    keeps its id, a new one goes to the end.
    """
    from tokenizers import AddedToken

    present = tokenizer.get_added_tokens_decoder()
    if "added_tokens_decoder" in files.config:
        by_id = {int(index): _added(token) for index, token in files.config["added_tokens_decoder"].items()}
    else:
        by_id = {index: token for index, token in _legacy_added(files, declared).items() if index not in present}
    names = {token_text(token) for token in declared.named.values()} - {""}
    missing = [token for _, token in sorted(by_id.items())]
    for token in missing:
        token.special = token.special or token.content in names
    known = {token.content for token in (*present.values(), *missing)}
    for declared_token in (*declared.named.values(), *declared.extra):
        text = token_text(declared_token)
        if text not in known:
            known.add(text)
            is_text = isinstance(declared_token, str)
            token = AddedToken(text, special=True) if is_text else _added(declared_token)
            token.special = token.special or text in names
            missing.append(token)
    return missing


def _legacy_added(files: TokenizerFiles, declared: DeclaredTokens) -> dict[int, AddedToken]:
    """The tokens of added_tokens.json (text -> id) by id."""
    from tokenizers import AddedToken

    from template_lint.snapshot.files import is_file, read_json_object

    name = "added_tokens.json"
    if files.folder is None or not is_file(files.folder / name, name):
        return {}
    special = {token_text(token) for token in (*declared.named.values(), *declared.extra)}
    return {
        int(index): AddedToken(text, normalized=text not in special, special=text in special)
        for text, index in read_json_object(files.folder / name, name).items()
    }


def _added(token: Any) -> AddedToken:
    from tokenizers import AddedToken

    return AddedToken(**{key: value for key, value in token.items() if key != "__type"})


def _load_with_transformers(files: TokenizerFiles) -> Tokenizer:
    """Let transformers convert other vocabulary files; the result must be backed by the tokenizers library."""
    from transformers import AutoTokenizer

    loaded = AutoTokenizer.from_pretrained(str(files.folder), trust_remote_code=False, local_files_only=True)
    if not loaded.is_fast:
        raise CannotCheckError(
            f"the tokenizer has only a Python implementation ({type(loaded).__name__}), which gives no offsets. "
            "Save a tokenizer.json beside it.",
            kind="no-tokenizer",
        )
    return loaded.backend_tokenizer

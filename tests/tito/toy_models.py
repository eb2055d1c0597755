"""Small models for token-in-token-out tests: chat templates written here, a byte-level tokenizer with a few merges."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from tests.tito.toys import byte_alphabet

SPECIAL = ["<s>", "<|start|>", "<|end|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|system|>", "<|halt|>"]
MERGES = [("Ċ", "Ċ"), ("t", "i"), ("ti", "d"), ("tid", "e"), ("Ġ", "t"), ('"', ":"), ("{", '"')]
TOOL = {
    "type": "function",
    "function": {"name": "get_tide", "parameters": {"type": "object", "properties": {"port": {"type": "string"}}}},
}

_TOOLS = "{% if tools %}{{ '<|start|>tools\n' ~ tools | tojson ~ '<|end|>\n' }}{% endif %}"
CALLS = "{% for call in m.tool_calls or [] %}{{ '<call>' ~ call.function | tojson ~ '</call>' }}{% endfor %}"
_PROMPT = "{% if add_generation_prompt %}{{ '<|start|>assistant\n' }}{% endif %}"


def chatml(turn: str, *, before: str = "", prompt: str = _PROMPT) -> str:
    """A template of turns <|start|>role, newline, text, <|end|>, newline; ``turn`` writes the text."""
    opening = "{% for m in messages %}{{ '<|start|>' ~ m.role ~ '\n' }}"
    return f"{_TOOLS}{before}{opening}{turn}{{{{ '<|end|>\n' }}}}{{% endfor %}}{prompt}"


SOUND = chatml("{{ m.content or '' }}" + CALLS)
THINKS_LAST = chatml(
    "{% if m.role == 'assistant' and loop.last %}{{ '<think></think>' }}{% endif %}{{ m.content or '' }}" + CALLS
)
THINKS_IF_NEW = chatml(
    "{% if m.role == 'assistant' and m.reasoning_content and not messages[loop.index0:] | selectattr('role', "
    "'equalto', 'user') | list %}{{ '<think>' ~ m.reasoning_content ~ '</think>' }}{% endif %}{{ m.content or '' }}"
    + CALLS
)
FIRST_RESULT_ONLY = chatml(
    "{% if m.role == 'tool' and not seen.tool %}{{ 'RESULTS ' }}{% set seen.tool = true %}{% endif %}"
    "{{ m.content or '' }}" + CALLS,
    before="{% set seen = namespace(tool=false) %}",
)
NAMES_RESULTS = (
    "{% set ns = namespace(name='') %}{% for m in messages %}{% if m.role == 'tool' %}"
    "{{ '<|tool|>' ~ ns.name ~ ':' ~ m.content ~ '<|end|>' }}{% else %}"
    "{{ '<|' ~ m.role ~ '|>' ~ (m.content or '') }}{% for call in m.tool_calls or [] %}"
    "{% set ns.name = call.function.name %}{{ '<call>' ~ call.function | tojson ~ '</call>' }}{% endfor %}"
    "{{ '<|end|>' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
ROLE_TOKENS = (
    "{% for m in messages %}{{ '<|' ~ m.role ~ '|>' ~ (m.content or '') }}" + CALLS + "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
NOTHING_ENDS = (
    "{% for m in messages %}{{ m.role ~ ': ' ~ (m.content or '') }}" + CALLS + "{{ '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}"
)
MERGES_AT_BORDER = (
    "{% for m in messages %}{{ ('' if loop.first else '\n') ~ '<|start|>' ~ m.role ~ '\n' ~ (m.content or '') }}"
    + CALLS
    + "{{ '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '\n<|start|>assistant\n' }}{% endif %}"
)
DROPS_RESULTS = chatml("{% if m.role != 'tool' %}{{ m.content or '' }}" + CALLS + "{% endif %}")
NO_TOOLS = chatml("{{ m.content or '' }}", before="").replace(_TOOLS, "")
REFUSES_TOOLS = NO_TOOLS.replace(
    "{{ '<|start|>'", "{% if m.role == 'tool' %}{{ raise_exception('no tools') }}{% endif %}{{ '<|start|>'"
)
MARKED = (
    _TOOLS + "{% for m in messages %}{{ '<|start|>' ~ m.role ~ '\n' }}{% if m.role == 'assistant' %}{% generation %}"
    "{{ m.content or '' }}" + CALLS + "{{ '<|end|>' }}{% endgeneration %}{% else %}{{ (m.content or '') ~ '<|end|>' }}"
    "{% endif %}{{ '\n' }}{% endfor %}" + _PROMPT
)
MARKED_TOO_FAR = MARKED.replace("{{ '<|end|>' }}{% endgeneration %}", "{% endgeneration %}{{ '<|end|>' }}")
TWO_BOS = "{{ '<s><s>' }}" + SOUND


def backend() -> Tokenizer:
    """Byte-level BPE with MERGES; ids 0 to 255 are the bytes, merged pieces follow, then SPECIAL."""
    pieces = [*byte_alphabet(), *(left + right for left, right in MERGES)]
    vocabulary = {piece: token_id for token_id, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=MERGES))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(SPECIAL)
    return tokenizer


def tokenizer(template: str, *, eos: str = "<|end|>") -> Any:
    """A tokenizer object of transformers with a chat template."""
    made = PreTrainedTokenizerFast(tokenizer_object=backend(), bos_token="<s>", eos_token=eos)
    made.chat_template = template
    return made


def folder(path: Path, template: str, *, eos: str = "<|end|>") -> Path:
    """Write the model's files into ``path``."""
    backend().save(str(path / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": eos}
    (path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    (path / "chat_template.jinja").write_text(template, encoding="utf-8")
    return path


def call(name: str = "get_tide", call_id: str = "call00001") -> dict[str, Any]:
    """A tool call without arguments."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": {}}}


def result(content: str = "12:04", name: str | None = "get_tide", call_id: str = "call00001") -> dict[str, Any]:
    """A tool message."""
    message = {"role": "tool", "tool_call_id": call_id, "content": content}
    return message if name is None else {**message, "name": name}

"""A small model as it lies on a Hub: a byte-level tokenizer and a template that keeps the prefix, or loses it."""

from __future__ import annotations

import json

STABLE = (
    "{% for tool in tools or [] %}tool {{ tool.function.name }} {% endfor %}"
    "{% for m in messages %}<s> {{ m.role }} {{ m.content or '' }}"
    "{% for call in m.tool_calls or [] %}"
    " call {{ call.function.name }} {{ call.function.arguments | tojson }}{% endfor %}"
    " </s>{% endfor %}{% if add_generation_prompt %}<s> assistant{% endif %}"
)
UNSTABLE = STABLE.replace(" </s>{% endfor %}", "{% if loop.last %} end{% endif %} </s>{% endfor %}")


def tokenizer_json(*more: str) -> str:
    """A byte-level tokenizer without merges; ``more`` are words that are one token each."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({character: index for index, character in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<s>", "</s>"])
    tokenizer.add_tokens(list(more))
    text: str = tokenizer.to_str()
    return text


def model(template: str = STABLE, *, words: tuple[str, ...] = (), readme: str = "# A model") -> dict[str, str]:
    """The files of a repository; weights and code are there to be left alone."""
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "</s>"}
    return {
        "README.md": readme,
        "chat_template.jinja": template,
        "config.json": json.dumps({"model_type": "llama"}),
        "modeling_custom.py": "raise SystemExit",
        "model.safetensors": "weights",
        "tokenizer.json": tokenizer_json(*words),
        "tokenizer_config.json": json.dumps(config),
    }

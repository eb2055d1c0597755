"""Token ids and assistant masks against the installed transformers, with real tokenizers and real templates."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import transformers
from transformers import AutoTokenizer
from transformers.utils import chat_template_utils

from template_lint.rendering.api import make_context, outcome_of
from template_lint.rendering.masks import token_mask
from template_lint.rendering.profiles import parse_profile
from template_lint.rendering.template import ChatTemplate
from template_lint.snapshot.load import load_snapshot
from template_lint.snapshot.special_tokens import special_tokens
from template_lint.target import parse_target
from template_lint.tokenization import Tokenization, load_tokenization
from tests.conformance.conversations import CASES, Case
from tests.conformance.test_parity import PinnedClock
from tests.inputs import corpus_dir, tokenizer_dir

PROFILE = parse_profile(transformers.__version__)

TEMPLATES = {
    "qwen3": ["Qwen-Qwen3-0.6B@a55ee1.jinja", "Qwen-Qwen2.5-7B-Instruct.jinja"],
    "gptoss": ["openai-gpt-oss-120b.jinja"],
    "llama3_1": ["meta-llama-Llama-3.1-8B-Instruct.jinja", "NousResearch-Hermes-3-Llama-3.1-8B.jinja"],
    "gemma3": ["unsloth-gemma-3-270m-it.jinja", "google-gemma-4-31B-it.jinja"],
    "deepseek_v3": ["microsoft-MAI-DS-R1.jinja"],
    "llama2": ["mistralai-Mistral-7B-Instruct-v0.2.jinja"],
}
OWN = ("qwen3", "llama3_1", "gemma3", "deepseek_v3")
"""Tokenizers that bring a template of their own."""

MARKED = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'assistant' %}<|assistant|>\n{% generation %}"
    "{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function|tojson }}{% endfor %}{{ eos_token }}"
    "{% endgeneration %}\n{% else %}<|{{ m.role }}|>\n{{ m.content }}\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)

SPANS = {
    "marked": MARKED,
    "emoji-at-the-end": "{% for m in messages %}<{{ m.role }}>{% generation %}{{ m.content }}🎉{% endgeneration %}"
    "{% endfor %}",
    "emoji-at-the-beginning": "{% for m in messages %}<{{ m.role }}>"
    "{% generation %}👩‍👩‍👧{{ m.content }}{% endgeneration %}{% endfor %}",
    "only-emoji": "{% for m in messages %}x{% generation %}☕🎉{% endgeneration %}y{% endfor %}",
    "rare-characters": "{% for m in messages %}{{ m.role }}{% generation %}港 Ǆ 𝒳{% endgeneration %}{% endfor %}",
    "at-the-beginning": "{% generation %}ab{% endgeneration %}{% for m in messages %}{{ m.content }}{% endfor %}",
    "at-the-end": "{% for m in messages %}{{ m.content }}{% endfor %}{% generation %}the end{% endgeneration %}",
    "one-token-first": "a{% generation %} b{% endgeneration %} c{% for m in messages %}{% endfor %}",
    "everything": "{% generation %}{% for m in messages %}{{ m.content }}{% endfor %}{% endgeneration %}",
    "empty-spans": "{% for m in messages %}hello{% generation %}{% endgeneration %} world{% endfor %}",
    "empty-span-inside-a-token": "{% for m in messages %}hel{% generation %}{% endgeneration %}lo{% endfor %}",
    "edges-inside-tokens": "{% for m in messages %}hel{% generation %}lo wor{% endgeneration %}ld{% endfor %}",
    "neighbours": "x{% for m in messages %}{% generation %}a{% endgeneration %}{% generation %}b{% endgeneration %}"
    "{% endfor %}",
    "nested": "x{% for m in messages %}{% generation %}a{% generation %}b{% endgeneration %}c{% endgeneration %}"
    "{% endfor %}",
    "in-a-macro": "{% macro f(t) %}<{% generation %}{{ t }}{% endgeneration %}>{% endmacro %}{% for m in messages %}"
    "{{ m.role }}{{ f('hello world') }}{% endfor %}",
    "in-a-set-block": "{% for m in messages %}abc{% set x %}d{% generation %}e f{% endgeneration %}{% endset %}{{ x }}"
    "{% endfor %}",
    "whitespace-control": "{% for m in messages %}\n  {%- generation -%}  hi  {%- endgeneration -%}\n{% endfor %}",
    "none": "{% for m in messages %}{{ m.content }}{% endfor %}",
}


@lru_cache(maxsize=2)
def pair(model: str) -> tuple[Any, Tokenization, dict[str, Any]]:
    """transformers' tokenizer, ours, and our special tokens."""
    folder = tokenizer_dir(model)
    snapshot = load_snapshot(parse_target(str(folder)))
    ours = load_tokenization(snapshot, profile_version=PROFILE.version)
    return AutoTokenizer.from_pretrained(folder), ours, special_tokens(snapshot, PROFILE.version)


@pytest.fixture(autouse=True)
def pinned(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(chat_template_utils, "datetime", PinnedClock)
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def own_template(model: str) -> str:
    [template] = load_snapshot(parse_target(str(tokenizer_dir(model)))).templates
    return template.source


def sources(model: str) -> dict[str, str]:
    found = {name: (corpus_dir() / name).read_text(encoding="utf-8") for name in TEMPLATES[model]}
    return found | ({"own": own_template(model)} if model in OWN else {}) | {"marked": MARKED}


def theirs(tokenizer: Any, source: str, case: Case, **more: Any) -> Any:
    kwargs = dict(case.kwargs)
    return tokenizer.apply_chat_template(
        case.messages,
        tools=case.tools,
        documents=kwargs.pop("documents", None),
        chat_template=source,
        add_generation_prompt=case.generation_prompt,
        continue_final_message=case.continue_final,
        tokenize=True,
        return_dict=True,
        **more,
        **kwargs,
    )


@pytest.mark.parametrize("model", TEMPLATES)
def test_ids(model: str) -> None:
    tokenizer, tokenization, special = pair(model)
    compared = 0
    for name, source in sources(model).items():
        template = ChatTemplate(source, PROFILE)
        for case in CASES:
            if not case.messages:
                continue
            kwargs = dict(case.kwargs)
            ours = outcome_of(
                template,
                case.messages,
                tools=case.tools,
                documents=kwargs.pop("documents", None),
                add_generation_prompt=case.generation_prompt,
                continue_final_message=case.continue_final,
                variables={**special, **kwargs},
            )
            try:
                expected: Any = theirs(tokenizer, source, case)["input_ids"]
            except Exception as error:
                assert ours.error == type(error).__name__, (name, case.name)
                continue
            assert ours.text is not None, (name, case.name, ours)
            assert tokenization.encode(ours.text) == expected, (name, case.name)
            compared += 1
    assert compared >= 30


def mask_of(template: ChatTemplate, case: Case, tokenization: Tokenization, special: dict[str, Any]) -> list[int] | str:
    """Our mask, or the name of what the template raises."""
    kwargs = dict(case.kwargs)
    try:
        context = make_context(
            case.messages,
            PROFILE,
            tools=case.tools,
            documents=kwargs.pop("documents", None),
            add_generation_prompt=case.generation_prompt,
            variables={**special, **kwargs},
        )
    except Exception as error:
        return type(error).__name__
    outcome, spans = template.render_with_spans(context)
    if outcome.text is None:
        return str(outcome.error)
    ids, offsets = tokenization.encode_with_offsets(outcome.text)
    mask = token_mask(spans, offsets, PROFILE)
    assert len(mask) == len(ids)
    return mask


def compare_masks(model: str, source: str) -> tuple[int, int]:
    """Compare over all conversations; how many masks were compared, and how many of them mark anything."""
    tokenizer, tokenization, special = pair(model)
    template = ChatTemplate(source, PROFILE)
    compared = marked = 0
    for case in CASES:
        if case.continue_final or not case.messages:
            continue
        ours = mask_of(template, case, tokenization, special)
        try:
            found = theirs(tokenizer, source, case, return_assistant_tokens_mask=True)
        except Exception as error:
            assert ours == type(error).__name__, case.name
            continue
        assert ours == list(found["assistant_masks"]), case.name
        compared += 1
        marked += 1 in ours
    return compared, marked


@pytest.mark.parametrize("name", SPANS)
@pytest.mark.parametrize("model", ["qwen3", "gemma3", "llama2"])
def test_masks_of_templates_written_here(model: str, name: str) -> None:
    compared, marked = compare_masks(model, SPANS[name])
    assert compared >= 10
    if name == "none":
        assert marked == 0
    elif name == "empty-spans":
        assert marked == 0 or PROFILE.version < (5, 0)  # 4.57 looks at the character before an empty span
    elif PROFILE.version >= (5, 0):
        assert marked >= 1
    elif name in ("at-the-beginning", "everything"):
        assert marked == 0  # 4.57 loses a span at offset 0


def tagged() -> list[Path]:
    pattern = re.compile(r"\{%[-+]?\s*generation\s*[-+]?%\}")
    return [file for file in sorted(corpus_dir().glob("*.jinja")) if pattern.search(file.read_text(encoding="utf-8"))]


def test_masks_of_the_corpus() -> None:
    files = tagged()
    assert len(files) == 32
    marks = {}
    for file in files:
        marks[file.name] = compare_masks("llama3_1", file.read_text(encoding="utf-8"))[1]
    # Emu3's mask is empty and MiniMax-Text fails.
    assert {name for name, marked in marks.items() if not marked} == {
        "BAAI-Emu3-Chat-hf.jinja",
        "MiniMaxAI-MiniMax-Text-01-hf.jinja",
    }


@pytest.mark.skipif(PROFILE.version >= (5, 0), reason="what 4.57 does")
def test_4_57_masks_only_the_first_token_of_a_last_emoji() -> None:
    _, tokenization, special = pair("qwen3")
    case = Case("x", [{"role": "user", "content": "a"}])
    source = "a{% for m in messages %}{% generation %}b🪵{% endgeneration %}{% endfor %}c"
    mask = mask_of(ChatTemplate(source, PROFILE), case, tokenization, special)
    _, offsets = tokenization.encode_with_offsets("ab🪵c")
    tokens_of_emoji = [index for index, (start, end) in enumerate(offsets) if start <= 2 < end]
    assert len(tokens_of_emoji) > 1
    assert [mask[index] for index in tokens_of_emoji] == [1] + [0] * (len(tokens_of_emoji) - 1)

"""What the audit remembers changes no result, and is bounded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, normalizers

from template_lint.audit.auditor import AuditOptions, Auditor
from template_lint.audit.cuts import Cuts
from template_lint.audit.encoding import CutText, Encoder
from template_lint.audit.fields import preset
from template_lint.audit.model import Trajectory
from template_lint.audit.remembered import Remembered
from template_lint.audit.rendered import Prompts
from template_lint.audit.rollouts import audit_many, audit_one
from template_lint.audit.rows import trajectories
from template_lint.audit.sample.make import dump, make_sample
from template_lint.tokenization import Tokenization
from tests.inputs import tokenizer_dir

FIELDS = preset("template-lint")
TEXTS = st.lists(
    st.sampled_from(["tide ", " ", "\n\n", "<", "<|start|>", "<|end|>\n", "<|im_start|>", "<|im_end|>", "é", "e\u0301"])
    | st.text(max_size=4),
    max_size=6,
).map("".join)
HOW = st.sampled_from(["as rendered", "encoded at once", "cut off", "by character", "other text"])


def read(row: dict[str, Any]) -> Trajectory:
    [made] = trajectories(json.loads(dump(row)), FIELDS, 0, 1)
    return made


def without_cuts(auditor: Auditor) -> Auditor:
    """An auditor that encodes every text as a whole."""
    plain = Auditor(auditor.options)
    plain.__dict__["encoder"] = Encoder(plain.tokenization, Cuts(plain.tokenization, ()))
    return plain


@pytest.fixture(scope="module", params=["toy", "qwen3"])
def both(request: pytest.FixtureRequest, auditor: Auditor) -> tuple[Auditor, Auditor]:
    made = auditor
    if request.param != "toy":
        made = Auditor(AuditOptions(str(tokenizer_dir(request.param)), FIELDS, transformers="5.24"))
        if not made.has_template:
            pytest.skip(f"{request.param} comes without a template")
    assert made.encoder.cut("".join(f"{token}x" for token in made.encoder.cuts.tokens * 2)).known[1:]
    return made, without_cuts(made)


def buffer(auditor: Auditor, messages: list[Any], answer: str, how: str) -> dict[str, Any]:
    """A row whose ids come from the render in one of several ways, right and wrong."""
    encode = auditor.tokenization.encode
    text = auditor.render_text(messages, None, True) or ""
    prompt = {
        "by character": [token_id for character in text for token_id in encode(character)],
        "other text": encode(answer + " x"),
    }.get(how, encode(text))
    ids = encode(text + answer) if how == "encoded at once" else [*prompt, *encode(answer)]
    ids = prompt[:-1] if how == "cut off" else ids
    return {"ids": [*ids, auditor.stop_ids[0]], "prompt_len": min(len(prompt), len(ids)), "messages": messages}


@given(turns=st.lists(st.tuples(TEXTS, TEXTS, HOW), min_size=1, max_size=4), whole=st.booleans())
@settings(max_examples=120, deadline=None)
def test_results_are_those_of_texts_encoded_as_a_whole(
    both: tuple[Auditor, Auditor], turns: list[tuple[str, str, str]], whole: bool
) -> None:
    cutting, plain = both
    rows = []
    for said, answer, how in turns:
        messages = [{"role": "user", "content": said}]
        row = buffer(plain, messages, answer, how)
        row["messages"] = [*messages, {"role": "assistant", "content": answer}] if whole else messages
        rows += [read(row), read(row)]
    expected = [audit_one(row, plain) for row in rows]
    assert audit_many(rows, cutting).results == expected
    assert audit_many(rows, cutting).results == expected  # and with all of it remembered


def test_a_sample_with_every_defect_is_found_the_same(both: tuple[Auditor, Auditor]) -> None:
    cutting, plain = both
    rows = [read(row) for row in make_sample(plain, 120, rate=0.03, seed=8)]
    assert audit_many(rows, cutting).results == audit_many(rows, plain).results


def test_what_recurs_is_rendered_and_encoded_once(auditor: Auditor, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = Auditor(auditor.options)
    rendered: list[Any] = []
    encoded: list[str] = []
    assert fresh.prompts is not None
    render, encode = fresh.prompts._render, fresh.tokenization.encode_batch
    monkeypatch.setattr(fresh.prompts, "_render", lambda m, **k: rendered.append(m) or render(m, **k))
    monkeypatch.setattr(fresh.tokenization, "encode_batch", lambda texts: encoded.extend(texts) or encode(texts))
    messages = [{"role": "system", "content": "A pilot."}, {"role": "user", "content": "Tide?"}]
    rows = [read(buffer(fresh, messages, f"{metres} metres", "as rendered")) for metres in range(6)]
    for row in rows:
        assert audit_one(row, fresh).flaws[1:] == ()
    assert len(rendered) == 1
    assert sum("Tide?" in text for text in encoded) == 1
    other = [{"role": "system", "content": "A pilot."}, {"role": "user", "content": "Depth?"}]
    audit_one(read(buffer(fresh, other, "Deep", "as rendered")), fresh)
    assert len(rendered) == 2
    assert sum("A pilot." in text for text in encoded) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"enable_thinking": True}, {"enable_thinking": 1}),
        ({"depth": 1}, {"depth": 1.0}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"text": "1"}, {"text": 1}),
    ],
)
def test_what_a_template_can_tell_apart_is_not_taken_for_the_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    from template_lint.rendering.template import Outcome

    def render(messages: Any, **given: Any) -> Outcome:
        return Outcome(repr(given["kwargs"]))

    class Whole:
        def cut(self, text: str) -> Any:
            return None

    prompts = Prompts(render, Whole())  # type: ignore[arg-type]
    row = {"ids": [1], "prompt_len": 1, "messages": [{"role": "user", "content": "x"}]}
    texts = [next(prompts.candidates(read({**row, "kwargs": kwargs}))).text for kwargs in (one, other, one, other)]
    assert texts == [repr(one), repr(other)] * 2


def test_ids_are_not_read_off_a_text_that_holds_more_of_them_than_tokens() -> None:
    # The normaliser makes the token's text of something else, and the model has a piece for it.
    pieces = ["<", "S", ">", "x", "<S", "<S>"]
    tokenizer = Tokenizer(models.BPE({piece: n for n, piece in enumerate(pieces)}, [("<", "S"), ("<S", ">")]))
    tokenizer.normalizer = normalizers.Replace("(", "<")
    tokenizer.add_tokens([AddedToken("<S>", special=True, normalized=False)])
    tokenization = Tokenization(tokenizer)
    encoder = Encoder(tokenization, Cuts(tokenization, [5]))
    assert encoder.cuts.tokens == ["<S>"]
    assert tokenization.encode("(S>x<S>") == [5, 3, 5]
    texts = ["(S>x<S>xx<S>", "(S>x<S>x<S>"]
    for text in texts:
        cut = encoder.cut(text)
        both = [CutText(cut.known[:-1], cut.known[-1]), cut]
        assert [encoder.encode_batch([one])[0] for one in both] == [tokenization.encode(text)] * 2


def test_memory_is_bounded_and_the_longest_unasked_goes_first() -> None:
    memory: Remembered[int, str] = Remembered(100)
    for number in range(50):
        memory.put(number, str(number), 10)
        assert memory.get(0) == "0"
        assert memory.weight <= 100
    assert [number for number in range(50) if memory.get(number)] == [0, *range(41, 50)]
    memory.put(99, "heavy", 51)
    assert memory.get(99) is None
    assert len(memory) == 10


def test_an_encoder_keeps_little_of_many_texts(auditor: Auditor) -> None:
    encoder = Encoder(auditor.tokenization, auditor.encoder.cuts)
    for number in range(40):
        encoder.encode(f"<|start|>user\n{number} " + "tide " * 40_000)
    assert 4 << 20 < encoder.remembered_bytes <= 8 << 20

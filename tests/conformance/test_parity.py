"""Our renderer against the installed transformers: every corpus template, every conversation, text or exception
class.
"""

from __future__ import annotations

import contextlib
import datetime
import logging
from typing import Any

import pytest
import transformers
from transformers import PreTrainedTokenizerFast
from transformers.utils import chat_template_utils

from template_lint.rendering.api import make_context, outcome_of
from template_lint.rendering.environment import pinned_now
from template_lint.rendering.profiles import parse_profile
from template_lint.rendering.template import ChatTemplate
from tests.conformance.conversations import CASES, SPECIAL_TOKENS, Case
from tests.inputs import corpus_dir

PROFILE = parse_profile(transformers.__version__)


class PinnedClock(datetime.datetime):
    @classmethod
    def now(cls, tz: Any = None) -> datetime.datetime:
        return pinned_now()


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> PreTrainedTokenizerFast:
    from tokenizers import Tokenizer, models

    vocab = {token: index for index, token in enumerate(SPECIAL_TOKENS.values())}
    model = models.WordLevel(vocab, unk_token="<unk>")
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(model), **SPECIAL_TOKENS)


def theirs(tokenizer: PreTrainedTokenizerFast, source: str, case: Case) -> tuple[str | None, str | None]:
    kwargs = dict(case.kwargs)
    try:
        text = tokenizer.apply_chat_template(
            case.messages,
            tools=case.tools,
            documents=kwargs.pop("documents", None),
            chat_template=source,
            add_generation_prompt=case.generation_prompt,
            continue_final_message=case.continue_final,
            tokenize=False,
            **kwargs,
        )
        return text, None
    except Exception as error:
        return None, type(error).__name__


def ours(template: ChatTemplate, case: Case) -> tuple[str | None, str | None]:
    kwargs = dict(case.kwargs)
    outcome = outcome_of(
        template,
        case.messages,
        tools=case.tools,
        documents=kwargs.pop("documents", None),
        add_generation_prompt=case.generation_prompt,
        continue_final_message=case.continue_final,
        variables={**SPECIAL_TOKENS, **kwargs},
    )
    return outcome.text, outcome.error


def test_text_and_exception_class(tokenizer: PreTrainedTokenizerFast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_template_utils, "datetime", PinnedClock)
    logging.disable(logging.WARNING)
    files = sorted(corpus_dir().glob("*.jinja"))
    assert len(files) == 786
    different = []
    traced_different = []
    outcomes = 0
    for file in files:
        source = file.read_text(encoding="utf-8")
        template = ChatTemplate(source, PROFILE)
        for case in CASES:
            if not case.messages and PROFILE.version < (5, 0):
                continue  # 4.57 indexes the first message before anything else
            outcomes += 1
            expected, got = theirs(tokenizer, source, case), ours(template, case)
            if expected != got:
                different.append((file.name, case.name, expected, got))
            if got[0] is not None and not case.continue_final and case.name in ("call-result", "reasoning-content"):
                kwargs = {k: v for k, v in case.kwargs.items() if k != "documents"}
                context = make_context(
                    case.messages,
                    PROFILE,
                    tools=case.tools,
                    add_generation_prompt=case.generation_prompt,
                    variables={**SPECIAL_TOKENS, **kwargs},
                )
                if template.trace(context)[0].text != got[0]:
                    traced_different.append((file.name, case.name))
    assert outcomes > 786 * 13
    assert different == []
    assert traced_different == []
    with contextlib.suppress(AttributeError):
        logging.disable(logging.NOTSET)

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.report.samples import expect

Run = Callable[..., Result]
HERE = Path(__file__).parent

TEMPLATE = """\
{%- for message in messages -%}
<|{{ message.role }}|>
{%- if message.role == "assistant" %}{% generation %}{{ message.content }}<|end|>{% endgeneration %}
{%- else %}{{ message.content }}<|end|>
{%- endif %}
{{- "\\n" }}
{%- endfor %}
{%- if add_generation_prompt %}<|assistant|>{{ mode }}{% endif %}"""

CONVERSATIONS = [
    {"name": "short", "messages": [{"role": "user", "content": "Hi 港"}, {"role": "assistant", "content": "Hey\tyou"}]},
    {"name": "nasty", "messages": [{"role": "user", "content": "\u001b[31mred\u202e"}]},
]


@pytest.fixture
def template(tmp_path: Path) -> str:
    path = tmp_path / "t.jinja"
    path.write_text(TEMPLATE)
    return str(path)


@pytest.fixture
def own(tmp_path: Path) -> str:
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(conversation) + "\n" for conversation in CONVERSATIONS))
    return str(path)


def test_a_pipe_gets_the_text_as_rendered(run: Run, template: str, own: str) -> None:
    result = run("render", template, "--conversation", own)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == "<|user|>Hi 港<|end|>\n<|assistant|>Hey\tyou<|end|>\n"
    assert run("render", template, "--conversation", own, "--scenario", "nasty").stdout == (
        "<|user|>\x1b[31mred\u202e<|end|>\n"
    )


def test_colour_means_a_person_is_looking_so_control_characters_are_escaped(run: Run, template: str, own: str) -> None:
    result = run("render", template, "--conversation", own, "--scenario", "nasty", FORCE_COLOR="1")
    assert result.stdout == ("\x1b[1;34m<|user|>\x1b[0m\x1b[32m\\x1b[31mred\\u202e\x1b[0m\x1b[1;34m<|end|>\x1b[0m\n")


def test_generation_prompt_and_kwargs(run: Run, template: str, own: str) -> None:
    result = run(
        "render", template, "--conversation", own, "--scenario", "nasty", "--generation-prompt", "--kwargs", 'mode="hm"'
    )
    assert result.stdout.endswith("<|assistant|>hm")


def test_mask(run: Run, template: str, own: str) -> None:
    expect(HERE, "mask.txt", run("render", template, "--conversation", own, "--mask").stdout)


def test_mask_without_markers_says_so(run: Run, tmp_path: Path, own: str) -> None:
    path = tmp_path / "plain.jinja"
    path.write_text("{{ messages[0].content }}")
    result = run("render", str(path), "--conversation", own, "--mask")
    assert result.exit_code == 0
    assert "nothing is marked" in result.stderr


def test_lines(run: Run, template: str, own: str) -> None:
    expect(HERE, "lines.txt", run("render", template, "--conversation", own, "--lines").stdout)


def test_tokens(run: Run, tmp_path: Path, own: str) -> None:
    (tmp_path / "chat_template.jinja").write_text(TEMPLATE)
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "<|end|>"}')
    _byte_tokenizer().save(str(tmp_path / "tokenizer.json"))
    result = run("render", str(tmp_path), "--conversation", own, "--tokens", "--mask")
    assert result.exit_code == 0, result.stderr
    expect(HERE, "tokens.txt", result.stdout)


def _byte_tokenizer():  # type: ignore[no-untyped-def]
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: index for index, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(text) for text in ("<|user|>", "<|assistant|>", "<|end|>")])
    return tokenizer


def test_tokens_need_a_tokenizer(run: Run, template: str) -> None:
    result = run("render", template, "--tokens")
    assert result.exit_code == 3
    assert "no token ids" in result.stderr


def test_json(run: Run, template: str, own: str) -> None:
    data = json.loads(run("render", template, "--conversation", own, "-o", "json").stdout)
    assert data["scenario"] == "short"
    assert data["text"] == "<|user|>Hi 港<|end|>\n<|assistant|>Hey\tyou<|end|>\n"
    assert [data["text"][start:end] for start, end in data["generation_spans"]] == ["Hey\tyou<|end|>"]
    assert "".join(data["text"][piece["start"] : piece["end"]] for piece in data["lines"]) == data["text"]
    assert {"line": 3, "column": 8, "source": 'message.role == "assistant"', "outcome": True} in data["branches"]


def test_standard_input(run: Run) -> None:
    result = run("render", "-", "--scenario", "chat", stdin="{{ messages[0].role }}")
    assert result.stdout == "user"


def test_list(run: Run, own: str) -> None:
    assert run("render", "--list", "--conversation", own).stdout == (
        "name   messages  tools  what\n"
        "short  2         no     your conversation\n"
        "nasty  1         no     your conversation\n"
    )  # fmt: skip
    assert "two-rounds" in run("render", "--list").stdout


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ([], 2, "no target. Name a template file"),
        (["missing.jinja"], 2, "no such file or folder: 'missing.jinja'"),
        (["T", "--scenario", "two-round"], 2, "no scenario 'two-round'. Did you mean 'two-rounds'?"),
        (["T", "--lines", "--mask"], 2, "--lines cannot be combined"),
        (["T", "--template", "rag"], 2, "has no template 'rag'. It has: default."),
        (["T", "--kwargs", "x"], 2, "write KEY=JSON"),
        (["T", "--kwargs", "messages=1"], 2, "write KEY=JSON"),
        (["T", "--kwargs", "x=high"], 2, "'high' is not JSON. Quote a string: 'x=\"...\"'."),
        (["T", "--transformers", "old"], 2, "is not a version"),
    ],
)
def test_wrong_requests(run: Run, template: str, args: list[str], code: int, message: str) -> None:
    result = run("render", *(template if arg == "T" else arg for arg in args))
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_template_that_raises(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.jinja"
    path.write_text("{{ raise_exception('no\\x1b tools') }}")
    result = run("render", str(path))
    assert result.exit_code == 3
    assert result.stderr == "template-lint: TemplateError: no\\x1b tools (template line 1)\n"

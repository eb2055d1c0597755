"""The languages in which model families write a tool call, read back: text -> name and arguments.

Each grammar is what the family's own serving parser accepts, no more: JSON in tags, a name and then JSON, XML
parameters, a Python call, Gemma's braces.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

_DECODER = json.JSONDecoder()
_PYTHON_NAMES = {"true": True, "false": False, "null": None}


class Raw(str):
    """A value of a grammar that writes no types: what it stands for is decided by the tool's schema."""


class ReadCall(NamedTuple):
    """One call: where its arguments begin, and what they are; or None, and ``problem`` says why they are unreadable."""

    offset: int
    arguments: dict[str, Any] | None
    problem: str = ""


class Grammar(NamedTuple):
    """``read`` yields every call of a function in a text, in order. ``typed`` says that values carry their types."""

    name: str
    read: Callable[[str, str], Iterator[ReadCall]]
    typed: bool = True


def same_value(sent: Any, read: Any) -> bool:
    """Whether an argument came back. Python's ``True`` and ``None`` count as JSON's: another rule reports them."""
    if not isinstance(read, Raw):
        return bool(sent == read) and isinstance(sent, bool) == isinstance(read, bool)
    if isinstance(sent, str) and read == sent:
        return True
    for parse in (json.loads, ast.literal_eval):
        try:
            if parse(read) == sent:
                return True
        except (ValueError, SyntaxError, RecursionError):
            continue
    return False


def _decode(text: str, start: int) -> ReadCall:
    try:
        value, _ = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        return ReadCall(start, None, f"not JSON: {error.msg if isinstance(error, json.JSONDecodeError) else error}")
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return ReadCall(start, None, "a JSON string that holds no JSON")
    if not isinstance(value, dict):
        return ReadCall(start, None, f"JSON, but no object: a {type(value).__name__}")
    return ReadCall(start, value)


# JSON in tags: Qwen, Hermes, Llama 3.1, Granite, Mistral's arrays, Command R, xLAM, Phi-4-mini.


def _json_object(text: str, name: str) -> Iterator[ReadCall]:
    """``{"name": NAME, "arguments": {...}}``, alone, in tags or in an array; ``parameters`` as well."""
    key = re.compile(rf'"(?:tool_)?name"\s*:\s*"{re.escape(name)}"\s*,\s*"(?:arguments|parameters)"\s*:\s*')
    for match in key.finditer(text):
        brace = text.rfind("{", 0, match.start())
        call = _decode(text, match.end())
        if call.arguments is not None and brace >= 0:
            whole = _decode(text, brace)
            if whole.arguments is None:
                call = ReadCall(match.end(), None, whole.problem)
        yield call


# A name and then JSON.

_NAME_THEN_JSON = {
    "harmony": r"to=functions\.{name}(?:<\|channel\|>commentary)?(?: ?<\|constrain\|>| )?json<\|message\|>",
    "DeepSeek fence": r"{name}\n```json\n",
    "DeepSeek separator": r"{name}<｜tool▁sep｜>",
    "Mistral arguments": r"{name}(?:\[CALL_ID\]\w+)?\[ARGS\]",
    "Kimi": r"(?:{name}:\d+|<\|tool_call_begin\|>[^<{{]*)<\|tool_call_argument_begin\|>",
    "function tag": r"<function={name}>",
    "Solar": r"<\|tool_call:name\|>{name}<\|tool_call:args\|>",
    "recipient line": r"(?:>>>|function ){name}\n",
    "object by name": r'\{{"{name}": ',
}


def _name_then_json(pattern: str) -> Callable[[str, str], Iterator[ReadCall]]:
    def read(text: str, name: str) -> Iterator[ReadCall]:
        for match in re.finditer(pattern.format(name=re.escape(name)) + r"(?=[{\"])", text):
            yield _decode(text, match.end())

    return read


# XML parameters.

_XML = {
    "Qwen3-Coder parameters": (
        r"<function={name}>\s*(?=<parameter=)(?P<body>.*?)</function>",
        r"<parameter=(?P<key>[^>\n]+)>\n?(?P<value>.*?)\n?</parameter>",
    ),
    "GLM argument pairs": (
        r"{name}(?:<tool_sep(?::\w+)?>)?\s*(?=<(?:\w+_)?arg_key)(?P<body>.*?)</(?:\w+_)?tool_calls?(?::\w+)?>",
        r"<(?:\w+_)?arg_key(?::\w+)?>(?P<key>.*?)</(?:\w+_)?arg_key(?::\w+)?>\s*"
        r"<(?:\w+_)?arg_value(?::\w+)?>(?P<value>.*?)</(?:\w+_)?arg_value(?::\w+)?>",
    ),
    "invoke parameters": (
        r"<(?:\w+:|｜DSML｜)?(?:invoke|function) name=\"{name}\">(?P<body>.*?)</(?:\w+:|｜DSML｜)?(?:invoke|function)>",
        r"<(?:\w+:|｜DSML｜)?param(?:eter)? name=\"(?P<key>[^\"]+)\"[^>]*>(?P<value>.*?)"
        r"</(?:\w+:|｜DSML｜)?param(?:eter)?>",
    ),
    "Solar argument pairs": (
        r"<\|tool_call:start\|>{name}\s*(?=<\|tool_arg:start\|>)(?P<body>.*?)<\|tool_call:end\|>",
        r"<\|tool_arg:start\|>(?P<key>.*?)<\|tool_arg:value\|>(?P<value>.*?)<\|tool_arg:end\|>",
    ),
}


def _xml(call: str, parameter: str) -> Callable[[str, str], Iterator[ReadCall]]:
    def read(text: str, name: str) -> Iterator[ReadCall]:
        for match in re.finditer(call.format(name=re.escape(name)), text, re.DOTALL):
            values = {
                found["key"]: _cdata(found["value"]) for found in re.finditer(parameter, match["body"], re.DOTALL)
            }
            yield ReadCall(match.start("body"), {key: Raw(value) for key, value in values.items()})

    return read


def _cdata(value: str) -> str:
    return value[9:-3] if value.startswith("<![CDATA[") and value.endswith("]]>") else value


# A Python call: Llama 3.x pythonic, LFM2, OLMo 3.

_MOST_CLOSERS = 40


def _python_call(text: str, name: str) -> Iterator[ReadCall]:
    """``NAME(key=value, ...)`` with Python or JSON literals."""
    for match in re.finditer(rf"(?<![\w.]){re.escape(name)}\((?=\w+=)", text):
        yield ReadCall(match.end(), *_python_arguments(text, match.start(), match.end()))


def _python_arguments(text: str, start: int, inside: int) -> tuple[dict[str, Any] | None, str]:
    end = inside
    for _ in range(_MOST_CLOSERS):
        end = text.find(")", end) + 1
        if end == 0:
            break
        try:
            tree = ast.parse(text[start:end], mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if not isinstance(tree, ast.Call):
            break
        try:
            return {str(word.arg): _python_value(word.value) for word in tree.keywords}, ""
        except ValueError:
            return None, "a value is no literal: strings need quotes"
    return None, "not a Python call"


def _python_value(node: ast.expr) -> Any:
    if isinstance(node, ast.Name) and node.id in _PYTHON_NAMES:
        return _PYTHON_NAMES[node.id]
    if isinstance(node, ast.List | ast.Tuple):
        return [_python_value(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        return {
            ast.literal_eval(key): _python_value(item) for key, item in zip(node.keys, node.values, strict=True) if key
        }
    return ast.literal_eval(node)


# Gemma: call:NAME{key:value,...}, strings between quote tokens.

_GEMMA_QUOTES = ('<|"|>', "<escape>")
_GEMMA_WORD = re.compile(r"[^,{}\[\]:]+")
_GEMMA_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}


def _gemma(text: str, name: str) -> Iterator[ReadCall]:
    for match in re.finditer(rf"call:{re.escape(name)}(?=\{{)", text):
        try:
            arguments, _ = _gemma_value(text, match.end())
        except ValueError as error:
            yield ReadCall(match.end(), None, str(error))
        else:
            yield ReadCall(match.end(), arguments)


def _gemma_value(text: str, at: int) -> tuple[Any, int]:
    for quote in _GEMMA_QUOTES:
        if text.startswith(quote, at):
            end = text.find(quote, at + len(quote))
            if end < 0:
                raise ValueError("a string is not closed")
            return text[at + len(quote) : end], end + len(quote)
    if text.startswith("{", at):
        return _gemma_items(text, at, "}")
    if text.startswith("[", at):
        return _gemma_items(text, at, "]")
    match = _GEMMA_WORD.match(text, at)
    if match is None:
        raise ValueError(f"no value at {text[at : at + 12]!r}")
    word = match[0].strip()
    if word in _GEMMA_WORDS:
        return _GEMMA_WORDS[word], match.end()
    try:
        return json.loads(word), match.end()
    except ValueError:
        raise ValueError(f"{word[:24]!r} is neither quoted nor a number") from None


def _gemma_items(text: str, at: int, closer: str) -> tuple[Any, int]:
    found: dict[str, Any] = {}
    items: list[Any] = []
    at += 1
    while not text.startswith(closer, at):
        if closer == "}":
            if any(text.startswith(quote, at) for quote in _GEMMA_QUOTES):
                key, at = _gemma_value(text, at)
            else:
                colon = text.find(":", at)
                if colon < 0:
                    raise ValueError("a key has no value")
                key, at = text[at:colon], colon
            value, at = _gemma_value(text, at + 1)
            found[key] = value
        else:
            value, at = _gemma_value(text, at)
            items.append(value)
        if text.startswith(",", at):
            at += 1
        elif not text.startswith(closer, at):
            raise ValueError(f"expected , or {closer} at {text[at : at + 12]!r}")
    return (found if closer == "}" else items), at + 1


GRAMMARS = (
    Grammar("JSON object", _json_object),
    *(Grammar(name, _name_then_json(pattern)) for name, pattern in _NAME_THEN_JSON.items()),
    *(Grammar(name, _xml(call, parameter), typed=False) for name, (call, parameter) in _XML.items()),
    Grammar("Gemma call", _gemma),
    Grammar("Python call", _python_call),
)
"""In the order in which they are tried."""


def find_grammar(text: str, name: str, arguments: dict[str, Any]) -> tuple[Grammar, int] | None:
    """The grammar in which ``text`` holds this call, and which of the grammar's calls it is.

    Where none can be read back, one that is recognised: the grammar is known, the call is broken.
    """
    broken = None
    for grammar in GRAMMARS:
        for number, call in enumerate(grammar.read(text, name)):
            read = call.arguments
            if read is None:
                broken = broken or (grammar, number)
            elif all(key in read and same_value(value, read[key]) for key, value in arguments.items()):
                return grammar, number
    return broken


def read_call(grammar: Grammar, text: str, name: str, number: int) -> ReadCall | None:
    """The call of ``name`` with this number, or None."""
    return next((call for index, call in enumerate(grammar.read(text, name)) if index == number), None)

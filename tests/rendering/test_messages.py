"""What each profile does to messages before the template sees them."""

from __future__ import annotations

import dataclasses
import enum
from collections import OrderedDict
from typing import Any

import pytest

from template_lint.rendering.api import make_context
from template_lint.rendering.messages import normalise_messages, plain_data
from template_lint.rendering.profiles import parse_profile

P457, P519, P521, P523, P524 = (parse_profile(text) for text in ("4.57", "5.19", "5.21", "5.23", "5.24"))
ALL = (P457, P519, P521, P523, P524)


@dataclasses.dataclass
class Message:
    role: str
    content: str | None
    name: str | None = None


class Model:
    """Like a pydantic model."""

    def model_dump(self) -> dict[str, Any]:
        return {"role": "user", "content": Message("a", None)}


class Text(str):
    def __str__(self) -> str:
        return "overridden"


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    HIGH = 3


@pytest.mark.parametrize("profile", ALL)
def test_plain_messages_are_untouched_by_every_profile(profile: Any) -> None:
    messages = [{"role": "user", "content": "Hi", "odd": [1, {"x": None}]}]
    assert normalise_messages(messages, profile) == messages


def test_top_level_none_is_dropped_from_5_24() -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [{"id": None}]}
    for profile in (P457, P519, P521, P523):
        assert normalise_messages([message], profile) == [message]
    assert normalise_messages([message], P524) == [{"role": "assistant", "tool_calls": [{"id": None}]}]


def test_reasoning_is_aliased_from_5_21() -> None:
    message = {"role": "assistant", "reasoning": "Hm", "content": "x"}
    assert normalise_messages([message], P457) == [message]
    assert normalise_messages([message], P519) == [message]
    for profile in (P521, P523, P524):
        [seen] = normalise_messages([message], profile)
        assert list(seen.items()) == [
            ("thinking", "Hm"), ("role", "assistant"), ("reasoning", "Hm"), ("content", "x"),
            ("reasoning_content", "Hm"),
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "reasoning", "thinking"),
    [
        ({"reasoning_content": "a", "thinking": "b", "reasoning": "c"}, "a", "b"),
        ({"thinking": "b", "reasoning": "c"}, "b", "b"),
        ({"reasoning_content": None, "reasoning": "c"}, "c", "c"),
        ({"reasoning_content": "", "reasoning": "c"}, "", ""),
    ],
)
def test_the_first_reasoning_field_wins(fields: dict[str, Any], reasoning: str, thinking: str) -> None:
    [seen] = normalise_messages([{"role": "assistant", **fields}], P521)
    assert (seen["reasoning_content"], seen["thinking"]) == (reasoning, thinking)


def test_the_callers_messages_are_not_changed() -> None:
    message = {"role": "assistant", "content": None, "reasoning": "Hm"}
    before = dict(message)
    for profile in ALL:
        normalise_messages([message], profile)
    assert message == before


def test_an_empty_conversation_is_refused_from_5_24() -> None:
    for profile in (P457, P519, P521, P523):
        assert normalise_messages([], profile) == []
    with pytest.raises(ValueError, match="empty conversation"):
        normalise_messages([], P524)


def test_a_message_that_is_no_mapping() -> None:
    assert normalise_messages(["hello"], P457) == ["hello"]
    assert normalise_messages(["hello"], P521) == ["hello"]
    for profile in (P523, P524):
        with pytest.raises(TypeError):
            normalise_messages(["hello"], profile)


def test_objects_become_plain_data_from_5_23() -> None:
    odd = {
        "role": "user",
        "content": Text("t"),
        "a": Colour.RED,
        "b": Level.HIGH,
        "c": {1, 2},
        "d": OrderedDict(k=(1, None)),
    }
    assert normalise_messages([odd], P521)[0]["a"] is Colour.RED
    [seen] = normalise_messages([odd], P523)
    assert seen == {"role": "user", "content": "t", "a": "<Colour>", "b": 3, "c": "<set>", "d": {"k": (1, None)}}
    assert [type(seen[key]) for key in ("content", "b", "d")] == [str, int, dict]


def test_dataclasses_and_models_from_5_24_lose_their_none_too() -> None:
    assert normalise_messages([Message("user", "Hi")], P524) == [{"role": "user", "content": "Hi"}]
    [seen] = normalise_messages([Model()], P524)
    assert seen == {"role": "user", "content": {"role": "a", "content": None, "name": None}}


def test_plain_data_copies() -> None:
    value = {"a": [1, 2.5, True, None, "x", {"b": ()}]}
    rebuilt = plain_data(value)
    assert rebuilt == value
    assert rebuilt is not value
    assert rebuilt["a"] is not value["a"]


def test_plain_data_of_numpy_scalars() -> None:
    numpy = pytest.importorskip("numpy")
    assert plain_data({"a": numpy.float32(0.5), "b": numpy.int64(3)}) == {"a": 0.5, "b": 3}
    assert plain_data(numpy.zeros(2)) == "<ndarray>"


def test_the_context_has_tools_and_documents_as_none() -> None:
    context = make_context([{"role": "user", "content": "x"}], P524)
    assert context == {
        "messages": [{"role": "user", "content": "x"}],
        "tools": None,
        "documents": None,
        "add_generation_prompt": False,
    }


def test_variables_do_not_replace_what_the_call_passes() -> None:
    context = make_context([{"role": "user", "content": "x"}], P524, variables={"tools": 1, "bos_token": "<s>"})
    assert context["tools"] is None
    assert context["bos_token"] == "<s>"


@pytest.mark.parametrize("profile", ALL)
def test_wrong_tools_and_documents(profile: Any) -> None:
    with pytest.raises(ValueError, match="tool"):
        make_context([{"role": "user"}], profile, tools=["x"])
    with pytest.raises(TypeError, match="document"):
        make_context([{"role": "user"}], profile, documents=["x"])

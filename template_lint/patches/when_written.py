"""When a statement prints what the model wrote, and when the end of the generation prompt: a condition that says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from template_lint.patches.marking import Occurrence
from template_lint.rendering.messages import REASONING_FIELDS

_Test = Callable[[Occurrence], bool]


class Condition(NamedTuple):
    """A Jinja condition on the message ``M`` and the template's switches, and the same as a function."""

    text: str
    holds: _Test


def condition_for(
    occurrences: Sequence[Occurrence], switches: Sequence[Mapping[str, Any]], *, in_loop: bool
) -> str | None:
    """The simplest condition that is true for every occurrence that the model wrote and false for the others.

    ``in_loop`` says that the statement stands in an inner loop, whose ``loop.first`` may be asked.
    """
    for candidate in _candidates(switches, in_loop):
        if all(candidate.holds(occurrence) is occurrence.inside for occurrence in occurrences):
            return candidate.text
    return None


def _candidates(switches: Sequence[Mapping[str, Any]], in_loop: bool) -> Iterator[Condition]:
    atoms = list(_atoms(switches, in_loop))
    yield from atoms
    for a, b in combinations(atoms, 2):
        yield Condition(f"({a.text} or {b.text})", lambda o, a=a, b=b: a.holds(o) or b.holds(o))  # type: ignore[misc]
    for a, b in combinations(atoms, 2):
        yield Condition(f"({a.text} and {b.text})", lambda o, a=a, b=b: a.holds(o) and b.holds(o))  # type: ignore[misc]


def _atoms(switches: Sequence[Mapping[str, Any]], in_loop: bool) -> Iterator[Condition]:
    def key(name: str) -> _Test:
        return lambda occurrence: bool(occurrence.message.get(name))

    def reasons(occurrence: Occurrence) -> bool:
        return any(occurrence.message.get(name) for name in REASONING_FIELDS)

    yield Condition("M['content']", key("content"))
    yield Condition("M['reasoning_content']", reasons)
    yield Condition("M['tool_calls']", key("tool_calls"))
    yield Condition("not M['content']", lambda o: not key("content")(o))
    yield Condition("not M['reasoning_content']", lambda o: not reasons(o))
    yield Condition("not M['tool_calls']", lambda o: not key("tool_calls")(o))
    if in_loop:
        yield Condition("not loop.first", lambda o: o.nth > 0)
    for name in dict.fromkeys(
        name for setting in switches for name, value in setting.items() if value in (True, False)
    ):
        yield Condition(f"{name} | default(true)", lambda o, name=name: bool(o.kwargs.get(name, True)))  # type: ignore[misc]
        yield Condition(f"{name} | default(false)", lambda o, name=name: bool(o.kwargs.get(name, False)))  # type: ignore[misc]
        yield Condition(f"not {name} | default(true)", lambda o, name=name: not o.kwargs.get(name, True))  # type: ignore[misc]
        yield Condition(f"not {name} | default(false)", lambda o, name=name: not o.kwargs.get(name, False))  # type: ignore[misc]

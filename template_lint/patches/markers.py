"""``insert_markers()``: put ``{% generation %}`` around what the model wrote, and prove that the mask law holds.

A statement that prints the header and the reply is taken apart first. Then the statements that print what the model
wrote are enclosed: in the largest blocks that keep the text, else in smaller ones. Adjacent blocks make one span.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from template_lint.facts import TemplateFacts
from template_lint.facts.shapes import SHAPES
from template_lint.patches.edits import Edit, add_edits, apply_edits, changes_of
from template_lint.patches.marking import Role, observe, printing_statements, roles
from template_lint.patches.outline import Body, Statement, outline, path_to
from template_lint.patches.pair import sibling
from template_lint.patches.proof import Expectation, default_expectation, prove
from template_lint.patches.repair import Repair, Result
from template_lint.patches.strategies.pieces import quoted
from template_lint.patches.when_written import condition_for
from template_lint.rendering.positions import SourceMap
from template_lint.scenarios.model import Scenario

_MOST_ROUNDS = 4
_SHAPED = frozenset({"two-rounds", "call-with-reasoning", "parallel-calls"})
_LOOP = re.compile(r"\{%[-+]?\s*for\s+(\w+)\s+in\b")


def insert_markers(facts: TemplateFacts) -> Repair:
    """Mark what the model wrote; nothing to do where the mask law holds already."""
    if facts.static.has_generation_tag:
        held = prove(facts, facts, expect=Expectation(laws=frozenset({"mask"}))).ok
        reason = "" if held else "it has {% generation %} in other places; take these out first"
        return Repair(Result.NOTHING_TO_DO if held else Result.UNREPAIRED, facts.source, reason=reason)
    state = facts
    edits: list[Edit] = []
    for _ in range(_MOST_ROUNDS):
        turns = observe(state, facts)
        if not turns:
            return _not_marked(facts, "no finished turn could be followed through the template")
        parts = roles(turns)
        apart = list(_taken_apart(state, parts))
        if not apart:
            break
        edits = add_edits(edits, apart, state.template.source_map.text)
        state = sibling(facts, apply_edits(state.source, apart))
        if state.compile_error is not None:
            return _not_marked(facts, "an expression that prints header and reply cannot be taken apart")
    reason = "nothing that the model wrote is printed by a statement of its own"
    for blocks in _candidates(state, parts):
        source = apply_edits(state.source, blocks)
        problem = _problem(facts, sibling(facts, source))
        if problem is None:
            every = add_edits(edits, blocks, state.template.source_map.text)
            trial = sibling(facts, source)
            laws = default_expectation(facts).laws - {"prefix-tool"} | {"mask"}
            proof = prove(facts, trial, expect=Expectation(laws=laws))
            what = ("`{% generation %}` marks what the model wrote",)
            changes = changes_of(facts.source, every)
            return Repair(Result.REPAIRED, source, changes, what, ("mask",), (), proof.problems, proof)
        reason = problem
    return _not_marked(facts, reason)


def _not_marked(facts: TemplateFacts, reason: str) -> Repair:
    return Repair(Result.UNREPAIRED, facts.source, remaining=("mask",), reason=f"mask: {reason}")


def _problem(original: TemplateFacts, trial: TemplateFacts) -> str | None:
    """Why a candidate will not do: it does not compile, prints another text, or marks something else."""
    if trial.compile_error is not None:
        return f"does not compile: {trial.compile_error.message}"
    for scenario in original.scenarios:
        for count in scenario.cuts:
            for prompt in (False, True):
                before = original.render_scenario(scenario, count, prompt)
                if before.ok and before.text != trial.render_scenario(scenario, count, prompt).text:
                    return f"{scenario.name} is printed otherwise"
    proof = prove(original, trial, expect=Expectation(laws=frozenset({"mask"})), stop_at_first=True)
    if proof.problems:
        return proof.problems[0]
    shaped = next((s.name for s in original.scenarios if s.base_name in _SHAPED and _marks_differ(trial, s)), None)
    return shaped and f"in {shaped} the marks depend on the form of arguments or content, the text does not"


def _marks_differ(facts: TemplateFacts, scenario: Scenario) -> bool:
    """Whether two legal shapes of a conversation give one text with different marks."""
    seen: dict[str, set[int]] = {}
    for shape in SHAPES:
        context = facts.context(shape.apply(scenario.messages), scenario.tools, scenario.kwargs, False)
        outcome, spans = facts.template.render_with_spans(context)
        marked = {at for start, end in spans for at in range(start, end)}
        if outcome.text is not None and seen.setdefault(outcome.text, marked) != marked:
            return True
    return False


# Taking expressions apart.


def _taken_apart(facts: TemplateFacts, parts: Mapping[int, Role]) -> Iterator[Edit]:
    """Edits that split every statement which prints both: at operands, or inside a constant."""
    source = facts.template.source_map
    for index, statement in enumerate(printing_statements(facts)):
        role = parts.get(index)
        if role is None or not role.cuts:
            continue
        text = source.text[statement.start : statement.end]
        if statement.keyword == "text":
            yield from _split_text(statement, text, role.cuts)
            continue
        operands = _operands(source, statement)
        if len(operands) > 1:
            yield Edit(statement.start, statement.end, _prints(text, operands))
            continue
        condition = _condition(source, statement)
        if condition is not None:
            yield Edit(statement.start, statement.end, _branches(text, *condition))
            continue
        expression = operands[0] if operands else ""
        constant = _constant(expression)
        if constant is None and len(role.heads) == 1:
            yield Edit(statement.start, statement.end, _prints(text, _beheaded(expression, next(iter(role.heads)))))
            continue
        if constant is not None and len(role.cuts) <= 2:
            pieces = _cut(constant, role.cuts)
            if len(pieces) > 1:
                yield Edit(statement.start, statement.end, _prints(text, [quoted(piece) for piece in pieces]))


def _beheaded(expression: str, head: str) -> list[str]:
    """A value that begins with what the generation prompt prints, in two: that beginning, and the rest."""
    begins = f"({expression})[:{len(head)}] == {quoted(head)}"
    return [f"{quoted(head)} if {begins}", f"({expression})[{len(head)}:] if {begins} else ({expression})"]


def _split_text(statement: Statement, text: str, cuts: frozenset[int]) -> Iterator[Edit]:
    pieces = _cut(text, cuts)
    if len(pieces) > 1:
        yield Edit(statement.start, statement.end, "".join(f"{{{{ {quoted(piece)} }}}}" for piece in pieces))


def _cut(text: str, cuts: frozenset[int]) -> list[str]:
    at = sorted({cut % len(text) if cut < 0 else cut for cut in cuts if 0 < abs(cut) < len(text)})
    borders = [0, *at, len(text)]
    return [text[a:b] for a, b in itertools.pairwise(borders) if b > a]


def _prints(text: str, operands: Sequence[str]) -> str:
    """One print for each operand, with the white space control of the whole."""
    first = "{{-" if text.startswith("{{-") else "{{"
    last = "-}}" if text.endswith("-}}") else "}}"
    prints = [f"{{{{ {operand} }}}}" for operand in operands]
    prints[0] = first + prints[0].removeprefix("{{")
    prints[-1] = prints[-1].removesuffix("}}") + last
    return "".join(prints)


def _branches(text: str, test: str, then: str, otherwise: str) -> str:
    first = "{%-" if text.startswith("{{-") else "{%"
    last = "-%}" if text.endswith("-}}") else "%}"
    other = f"{{% else %}}{{{{ {otherwise} }}}}" if otherwise else ""
    return f"{first} if {test} %}}{{{{ {then} }}}}{other}{{% endif {last}"


def _inner(source: SourceMap, statement: Statement) -> tuple[int, int]:
    """Token range [first, last) of the expression of a print."""
    first = source.token_index(statement.start) + 1
    last = first
    while source.tokens[last].kind != "variable_end":
        last += 1
    return first, last


def _operands(source: SourceMap, statement: Statement) -> list[str]:
    """The texts that a chain of ``+`` and ``~`` joins; the whole expression alone where it is no such chain."""
    first, last = _inner(source, statement)
    depth = 0
    starts = [first]
    ends: list[int] = []
    for index in range(first, last):
        text = source.tokens[index].text
        depth += (text in "([{") - (text in ")]}")
        if depth == 0 and source.tokens[index].kind == "name" and text in ("if", "or", "and", "not", "in", "is"):
            starts, ends = [first], []
            break
        if depth == 0 and text in ("+", "~") and index > first:
            ends.append(index)
            starts.append(index + 1)
    ends.append(last)
    tokens = source.tokens
    parts = [source.text[tokens[a].offset : tokens[b - 1].end] for a, b in zip(starts, ends, strict=True) if b > a]
    return parts


def _condition(source: SourceMap, statement: Statement) -> tuple[str, str, str] | None:
    """(test, then, otherwise) of an inline ``if``."""
    first, last = _inner(source, statement)
    depth = 0
    at: dict[str, int] = {}
    for index in range(first, last):
        text = source.tokens[index].text
        depth += (text in "([{") - (text in ")]}")
        if depth == 0 and source.tokens[index].kind == "name" and text in ("if", "else"):
            if text in at:
                return None
            at[text] = index
    if "if" not in at:
        return None
    tokens, end = source.tokens, at.get("else", last)

    def cut(a: int, b: int) -> str:
        return source.text[tokens[a].offset : tokens[b - 1].end] if b > a else ""

    return cut(at["if"] + 1, end), cut(first, at["if"]), cut(end + 1, last) if "else" in at else ""


def _constant(expression: str) -> str | None:
    """The value of a string constant, or None."""
    if not re.fullmatch(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", expression, re.DOTALL):
        return None
    try:
        # As Jinja's lexer reads it.
        return expression[1:-1].encode("ascii", "backslashreplace").decode("unicode-escape")
    except UnicodeDecodeError:
        return None


# Enclosing statements.


def _candidates(facts: TemplateFacts, parts: Mapping[int, Role]) -> Iterator[list[Edit]]:
    """Sets of blocks, the largest blocks first."""
    source = facts.template.source_map.text
    statements = printing_statements(facts)
    marked = {s.start for i, s in enumerate(statements) if i in parts and parts[i].inside and not parts[i].outside}
    shared = [s for i, s in enumerate(statements) if i in parts and parts[i].inside and parts[i].outside]
    never = {s.start for i, s in enumerate(statements) if i in parts and (not parts[i].inside or parts[i].outside)}
    if not marked and not shared:
        return
    root = outline(facts.template.source_map)
    switches = facts.static.switches()
    for lenient in (False, True):
        edits: list[Edit] = []
        for statement in shared:
            edits += _if_written(source, root, statement, parts[statements.index(statement)], switches, lenient)
        for with_sets, unseen in ((True, True), (False, True), (False, False)):
            yield [*_enclosed(root, source, marked, never, with_sets, unseen), *edits]
        yield [*(edit for s in statements if s.start in marked for edit in _block(source, s, s)), *edits]


def _enclosed(
    body: Body, source: str, marked: set[int], never: set[int], with_sets: bool, unseen: bool
) -> Iterator[Edit]:
    run: list[Statement] = []

    def close() -> Iterator[Edit]:
        while run and not _marks(run[-1], marked):
            run.pop()
        if run:
            yield from _block(source, run[0], run[-1])
        run.clear()

    for statement in body.statements:
        whole = _is_whole(statement, marked, never, with_sets, unseen)
        if whole and (run or _marks(statement, marked)):
            run.append(statement)
            continue
        yield from close()
        if not whole:
            for inner in statement.bodies if statement.keyword in ("if", "for") else ():
                yield from _enclosed(inner, source, marked, never, with_sets, unseen)
    yield from close()


def _marks(statement: Statement, marked: set[int]) -> bool:
    return any(inner.start in marked for inner in statement.walk())


def _is_whole(statement: Statement, marked: set[int], never: set[int], with_sets: bool, unseen: bool) -> bool:
    """Whether a block may enclose all of a statement."""
    for inner in statement.walk():
        if inner.keyword in ("text", "print"):
            if inner.start in never or not (inner.start in marked or unseen):
                return False
        elif inner.keyword == "set":
            if not with_sets:
                return False
        elif inner.keyword not in ("if", "for"):
            return False
    return True


def _block(source: str, first: Statement, last: Statement) -> tuple[Edit, Edit]:
    """The two tags around a run of statements; the text keeps its white space."""
    opening = "{%- generation %}" if source.startswith(("{{-", "{%-"), first.start) else "{% generation %}"
    line = source[source.rfind("\n", 0, first.start) + 1 : first.start]
    if opening.startswith("{% ") and line and not line.strip() and source.startswith("{{", first.start):
        opening = "{{ '' }}" + opening  # a tag would strip the indentation that a print keeps
    if source.startswith("\n", first.start):
        opening += "{{ '' }}"
    if source.startswith(("-}}", "-%}"), last.end - 3):
        closing = "{% endgeneration -%}"
    elif last.keyword in ("print", "text") and source.startswith("\n", last.end):
        closing = "{% endgeneration +%}"
    else:
        closing = "{% endgeneration %}"
    return Edit(first.start, first.start, opening), Edit(last.end, last.end, closing)


def _if_written(
    source: str,
    root: Body,
    statement: Statement,
    part: Role,
    switches: Sequence[Mapping[str, Any]],
    lenient: bool,
) -> Iterator[Edit]:
    """A statement that also prints what the model did not write, marked where it did; nothing where none can say when.

    A ``lenient`` choice leaves out the occurrences that may count as either.
    """
    loops = [
        match[1]
        for body, index in path_to(root, statement.start)
        if (match := _LOOP.match(source, body.statements[index].start))
    ]
    if not loops:
        return
    tests = [f"{loops[0]}['role'] == 'assistant'"] if part.foreign else []
    if part.before:
        decided = [occurrence for occurrence in part.occurrences if not (lenient and occurrence.open)]
        if not all(occurrence.inside for occurrence in decided):
            condition = condition_for(decided, switches, in_loop=len(loops) > 1)
            if condition is None:
                return
            tests.append(condition.replace("M[", f"{loops[0]}["))
    if not tests:
        yield from _block(source, statement, statement)
        return
    text = source[statement.start : statement.end]
    inner_text = text if statement.keyword == "print" else f"{{{{ {quoted(text)} }}}}"
    before = "-" if inner_text.startswith("{{-") else ""
    after = "-" if inner_text.endswith("-}}") else ("+" if source.startswith("\n", statement.end) else "")
    yield Edit(
        statement.start,
        statement.end,
        f"{{%{before} if {' and '.join(tests)} %}}{{% generation %}}{inner_text}{{% endgeneration %}}"
        f"{{% else %}}{inner_text}{{% endif {after}%}}",
    )

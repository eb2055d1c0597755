"""Replace a condition, or the term of it that looks ahead, by the outcome the model saw."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import cast

from jinja2 import nodes

from template_lint.facts import TemplateFacts
from template_lint.facts.cause import Cause
from template_lint.facts.lookaheads import lookaheads
from template_lint.patches.edits import Edit
from template_lint.patches.strategies import Candidate, shorten
from template_lint.rendering.positions import SourceMap, offset_of, walk

LOOKS_AHEAD = re.compile(
    r"\bloop\.(last|nextitem|revindex0?|length)\b|\[-\d|\b(length|count)\b|last|add_generation_prompt"
)
_MOST_TERMS = 8
_OR, _AND, _NOT, _LEAF = range(4)
_AFTER_TERM = frozenset({"and", "or", ")", "]", "}", ",", "if", "else"})
_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")


def from_cause(facts: TemplateFacts, cause: Cause) -> Iterator[Candidate]:
    """Candidates for a condition that changed: its terms, what is assigned to the names it reads, all of it."""
    node = _tests(facts).get(cause.site)
    if node is None:
        return
    source = facts.template.source_map
    span = cause.place.offset, cause.place.end_offset
    seen = cause.outcome_earlier
    if seen is None and cause.outcome_later is not None:
        seen = not cause.outcome_later  # what restored the prefix, where the model's turn did not reach the condition
    yield from _with_terms_fixed(node, span, source, seen)
    for name in [child.name for child in walk(node) if isinstance(child, nodes.Name)]:
        yield from _from_assignments(facts, name)
    if seen is not None:
        yield _constant(span, seen, source)
        yield _constant(span, not seen, source)


def from_lookaheads(facts: TemplateFacts) -> Iterator[Candidate]:
    """Candidates for every condition and every assigned value of the template that looks ahead, proven or not."""
    source = facts.template.source_map
    sites = facts.template.sites
    ahead = {offset_of(node) for node in lookaheads(facts.template.tree)}
    for number, node in _tests(facts).items():
        span = sites[number].start, sites[number].end
        if any(span[0] <= offset < span[1] for offset in ahead) or LOOKS_AHEAD.search(source.text[slice(*span)]):
            yield from _with_terms_fixed(node, span, source, None)
            yield _constant(span, True, source)
            yield _constant(span, False, source)
    for name in sorted({target for target, _ in _assignments(facts)}):
        yield from _from_assignments(facts, name)


def _constant(span: tuple[int, int], value: bool, source: SourceMap) -> Candidate:
    text = "true" if value else "false"
    return Candidate((Edit(*span, text),), f"`{shorten(source.text[slice(*span)])}` is taken as {text}")


def _tests(facts: TemplateFacts) -> dict[int, nodes.Expr]:
    """Site number -> the condition that is tested there, in source order."""
    _ = facts.template.sites
    found = {
        node.__dict__["_branch_site"]: node
        for node in walk(facts.template.tree)
        if isinstance(node, nodes.Expr) and "_branch_site" in node.__dict__
    }
    return dict(sorted(found.items(), key=lambda item: facts.template.sites[item[0]].start))


def _assignments(facts: TemplateFacts) -> Iterator[tuple[str, nodes.Expr]]:
    """(name, value) of every assignment of one expression to one name or namespace attribute."""
    for node in walk(facts.template.tree):
        if isinstance(node, nodes.Assign) and isinstance(node.target, nodes.Name | nodes.NSRef):
            yield node.target.name, cast(nodes.Expr, node.node)


def _from_assignments(facts: TemplateFacts, name: str) -> Iterator[Candidate]:
    source = facts.template.source_map
    values = [value for target, value in _assignments(facts) if target == name]
    for value in sorted(values, key=offset_of):
        span = source.expression_range(value)
        if span[1] > span[0] and LOOKS_AHEAD.search(source.text[slice(*span)]):
            yield from _with_terms_fixed(value, span, source, None)
    # What decides whether such an assignment is reached is as good a place.
    for test, span in _guards(facts, name):
        if LOOKS_AHEAD.search(source.text[slice(*span)]):
            yield from _with_terms_fixed(test, span, source, None)
            yield _constant(span, True, source)
            yield _constant(span, False, source)


def _guards(facts: TemplateFacts, name: str) -> Iterator[tuple[nodes.Expr, tuple[int, int]]]:
    sites = facts.template.sites
    for node in walk(facts.template.tree):
        if isinstance(node, nodes.If):
            assigned = [child for child in node.body if isinstance(child, nodes.Assign)]
            if any(isinstance(a.target, nodes.Name | nodes.NSRef) and a.target.name == name for a in assigned):
                site = sites[node.test.__dict__["_branch_site"]]
                yield cast(nodes.Expr, node.test), (site.start, site.end)


def _with_terms_fixed(
    node: nodes.Expr, span: tuple[int, int], source: SourceMap, outcome: bool | None
) -> Iterator[Candidate]:
    """Fix one term of a condition (every occurrence of it) to true or to false; terms that look ahead come first."""
    terms = list(dict.fromkeys(_terms(node, source)))
    if len(terms) < 2:
        return
    terms.sort(key=lambda term: not LOOKS_AHEAD.search(term))
    for term in terms[:_MOST_TERMS]:
        for value in (True, False):
            fixed = _simplify(node, {term: value}, source)
            if isinstance(fixed, bool):
                if outcome is not None and fixed is not outcome:
                    continue
                text = "true" if fixed else "false"
            else:
                text = fixed[0]
            word = "true" if value else "false"
            yield Candidate((Edit(*span, text),), f"`{shorten(term)}` is taken as {word}")


def _terms(node: nodes.Expr, source: SourceMap) -> Iterator[str]:
    if isinstance(node, nodes.And | nodes.Or):
        yield from _terms(node.left, source)
        yield from _terms(node.right, source)
    elif isinstance(node, nodes.Not):
        yield from _terms(node.node, source)
    else:
        yield _text(node, source)


def _text(node: nodes.Expr, source: SourceMap) -> str:
    start, end = source.expression_range(node)
    first, last = source.token_index(start), source.token_index(end - 1)
    # A term may begin with a bracket that belongs to none of its nodes: (messages | last).role == 'tool'.
    while source.tokens[first - 1].text == "(" and source.tokens[last + 1].text == ")":
        after = source.tokens[last + 2]
        if after.kind in ("block_end", "variable_end") or after.text in _AFTER_TERM:
            break
        first -= 1
        last = _term_end(source, first)
    return source.text[source.tokens[first].offset : source.tokens[last].end]


def _term_end(source: SourceMap, first: int) -> int:
    """Index of the last token of the term that begins at ``first``."""
    depth = 0
    index = first
    while True:
        token = source.tokens[index]
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
        after = source.tokens[index + 1]
        if depth == 0 and (after.kind in ("block_end", "variable_end") or after.text in _AFTER_TERM):
            return index
        index += 1


def _simplify(node: nodes.Expr, fixed: Mapping[str, bool], source: SourceMap) -> bool | tuple[str, int]:
    """The condition with terms fixed: its value, or its shortest text and the binding strength of that text."""
    if isinstance(node, nodes.And | nodes.Or):
        decisive = isinstance(node, nodes.Or)
        sides = [_simplify(side, fixed, source) for side in (node.left, node.right)]
        if decisive in sides:
            return decisive
        rest = [side for side in sides if not isinstance(side, bool)]
        if len(rest) < 2:
            return rest[0] if rest else not decisive
        level = _OR if decisive else _AND
        return (" or " if decisive else " and ").join(_bracketed(side, level) for side in rest), level
    if isinstance(node, nodes.Not):
        inner = _simplify(node.node, fixed, source)
        return not inner if isinstance(inner, bool) else (f"not {_bracketed(inner, _NOT)}", _NOT)
    text = _text(node, source)
    if text in fixed:
        return fixed[text]
    return text, _OR - 1 if isinstance(node, nodes.CondExpr) else _LEAF


def _bracketed(side: tuple[str, int], level: int) -> str:
    return f"({side[0]})" if side[1] < level else side[0]

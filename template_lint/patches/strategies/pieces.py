"""Print a piece elsewhere: in the turn it ends, with the generation prompt only, or before what follows the turn."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.cause import Cause
from template_lint.facts.divergences import Divergence
from template_lint.facts.prefix import wants_generation_prompt
from template_lint.patches.edits import Edit
from template_lint.patches.outline import Body, outline, path_to
from template_lint.patches.strategies import Candidate, shorten

_WITH_PROMPT = "`{}` is printed only with add_generation_prompt"
_IN_TURN = "`{}` ends every turn of its kind, not only the last one"
_MOST_PASSED = 4
_MOST_BACK = 3


def from_piece(facts: TemplateFacts, divergence: Divergence, cause: Cause) -> Iterator[Candidate]:
    """Candidates for a piece that only one render prints."""
    root = outline(facts.template.source_map)
    path = path_to(root, cause.place.offset)
    if not path:
        return
    if _is_terminator(facts, divergence, cause):
        yield from _into_the_turn(facts, divergence, cause, root)
    for edits in _guards(facts, cause, root):
        yield Candidate(edits, _WITH_PROMPT.format(shorten(cause.source)))


def _is_terminator(facts: TemplateFacts, divergence: Divergence, cause: Cause) -> bool:
    """Whether the piece ends a turn: what the later prompt prints too belongs to the generation prompt."""
    scenario, later = divergence.question.scenario, divergence.question.later
    _, trace = facts.template.trace(facts.scenario_context(scenario, later, wants_generation_prompt(scenario, later)))
    printed = [segment.text for segment in trace.segments if segment.occurrence[0] == cause.site]
    return not "".join(printed).strip()


def _guards(facts: TemplateFacts, cause: Cause, root: Body) -> Iterator[tuple[Edit, ...]]:
    """Ways to print the piece with add_generation_prompt only: an inline condition, a block, a block to the end."""
    source = facts.template.source_map.text
    body, index = path_to(root, cause.place.offset)[-1]
    statement = body.statements[index]
    start, end = cause.place.offset, cause.place.end_offset
    if statement.keyword == "print":
        yield (Edit(end, end, " if add_generation_prompt"),)
        yield (Edit(start, end, f"({source[start:end]}) if add_generation_prompt"),)
    else:
        text = source[statement.start : statement.end]
        yield (Edit(statement.start, statement.end, f"{{% if add_generation_prompt %}}{text}{{% endif %}}"),)
        yield (Edit(statement.start, statement.end, f"{{{{ {quoted(text)} if add_generation_prompt }}}}"),)
    if body is root:
        strip = "-" if source.startswith("{{-", statement.start) else ""
        opening = Edit(statement.start, statement.start, f"{{%{strip} if add_generation_prompt %}}")
        yield opening, Edit(len(source), len(source), "{%- endif %}")


def _into_the_turn(facts: TemplateFacts, divergence: Divergence, cause: Cause, root: Body) -> Iterator[Candidate]:
    """Print the piece right after one of the last things that the turn prints itself, and not after the last turn."""
    question = divergence.question
    prompt = wants_generation_prompt(question.scenario, question.earlier)
    _, trace = facts.template.trace(facts.scenario_context(question.scenario, question.earlier, prompt))
    sites = [segment.occurrence[0] for segment in trace.segments if segment.text and segment.occurrence[0] >= 0]
    if cause.site not in sites:
        return
    what = _IN_TURN.format(shorten(cause.source))
    source = facts.template.source_map.text
    piece, removed = _as_statement(source, root, cause.place.offset)
    last = sites.index(cause.site)
    for site in sites[max(0, last - _MOST_BACK) : last][::-1]:
        path = path_to(root, facts.template.sites[site].start)
        if path:
            body, index = path[-1]
            end = body.statements[index].end
            yield Candidate((Edit(end, end, piece), removed), what)
            for guard in _guards(facts, cause, root):
                yield Candidate((Edit(end, end, piece), *guard), what)


def _as_statement(source: str, root: Body, offset: int) -> tuple[str, Edit]:
    """The statement that prints a piece, on its own, and the edit that takes it out."""
    body, index = path_to(root, offset)[-1]
    statement = body.statements[index]
    text = source[statement.start : statement.end]
    if statement.keyword == "print":
        inner = text.removeprefix("{{").removesuffix("}}").strip("-+").strip()
        return f"{{{{- {inner} }}}}", Edit(statement.start, statement.end, "{{- '' }}" if text[2] == "-" else "")
    if text != text.strip():  # white space beside a tag may be stripped
        return f"{{{{ {quoted(text)} }}}}", Edit(statement.start, statement.end, "")
    return text, Edit(statement.start, statement.end, "")


def quoted(text: str) -> str:
    """A Jinja string constant."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


def from_order(facts: TemplateFacts, cause: Cause) -> Iterator[Candidate]:
    """Candidates that move a statement around the cause behind its neighbours: the turn first, then what answers it."""
    source = facts.template.source_map.text
    root = outline(facts.template.source_map)
    for body, index in reversed(path_to(root, cause.place.offset)):
        moved = body.statements[index]
        others = [statement for statement in body.statements[index + 1 :] if statement.keyword != "text"]
        for other in others[:_MOST_PASSED]:
            between = source[moved.end : others[0].start]
            reordered = source[others[0].start : other.end] + between + source[moved.start : moved.end]
            yield Candidate((Edit(moved.start, other.end, reordered),), "the turn is printed before what answers it")

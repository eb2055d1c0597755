"""TL208: a rendered call does not parse back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from template_lint.facts import TemplateFacts
from template_lint.facts.call_grammars import Grammar, find_grammar
from template_lint.facts.literals import pastes_mappings
from template_lint.facts.probes import ARGUMENT, ASK, CALL_NAME, RESULT, TOOL
from template_lint.facts.schemas import HARD_SCHEMA
from template_lint.facts.variants import JSON_RESULT, Conversation, hard_variant, tool_conversation
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule, Skip
from template_lint.rules.places import value_printed_at
from template_lint.rules.tl2_messages.tl208_call_round_trip.by_grammar import broken_call
from template_lint.rules.wording import around, shorten

if TYPE_CHECKING:
    from template_lint.facts.response_parser import ResponseParser

_OPENED = re.compile(r'\{\s*"\w+"\s*:')
_DECODER = json.JSONDecoder()
_MOST_BEFORE = 200
_PARSERS = {"response_template", "response_schema"}


class CallRoundTrip(Rule):
    """A rendered call does not parse back to its arguments, or text that looks like JSON is not JSON.

    What: a call with strings that hold quotes, a newline, ``<`` and other scripts, with numbers, booleans, null, a list
    and a mapping is rendered and read back in the language that the model writes calls in: JSON in tags, a name and
    then JSON, XML parameters, a Python call. Then the same is asked of JSON-looking text around a tool result, and
    around the description of a tool, where that holds quotes and a newline.

    A model whose tokenizer_config.json has a ``response_template`` brings its own parser. Then finished turns of every
    kind (an answer, calls, several calls, with content or reasoning before them) are given to ``parse_response`` of the
    installed transformers, with the prompt before them and the tools, and the message that comes back is compared with
    the one that was rendered: number of calls, names, arguments with their types, content and reasoning. This is asked
    of templates without tools, too. A ``response_template`` that transformers does not accept is a finding, as is one
    that has to be stopped. A ``response_schema``, which only transformers 5.0 to 5.14 read, is not applied.

    Why it matters: the model learns to write calls that its own parser refuses or misreads. What comes back from a
    wrong ``response_template`` is appended to the conversation, and renders to another prompt.

    How to fix: print arguments with ``tojson``, whole, instead of pasting values between quotes. Let the patterns of
    ``response_template`` match what the template prints: white space between two calls is a content of its own, which
    takes the place of the real one, unless a pattern takes it in.
    """

    code = "TL208"
    name = "call-round-trip"
    severity = Severity.WARNING
    needs = ("template", "syntax")

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Ask the model's own parser where there is one, our grammars where there is none."""
        why_not, asked, calls = "", 0, 0
        if facts.snapshot is not None and facts.snapshot.config.keys() & _PARSERS:
            # Imported for the few models that bring a parser.
            from template_lint.facts.response_parser import load_response_parser

            parser = load_response_parser(facts)
            if isinstance(parser, str):
                why_not = parser
            elif parser is not None:
                findings, asked, calls = self._by_response_template(facts, parser)
                yield from findings
                if not asked and not findings:
                    why_not = "response_template is not asked: no finished turn begins with the prompt that it answers"
        if facts.tool_rules_apply:
            try:
                yield from self._by_grammar(facts, call_too=not calls)
            except Skip as skip:
                raise Skip(f"{why_not}; {skip}" if why_not else str(skip)) from None
        elif not asked:
            why_not = why_not or "the template knows no tools (TL200)"
        if why_not:
            raise Skip(why_not)

    def _by_response_template(self, facts: TemplateFacts, parser: ResponseParser) -> tuple[list[Finding], int, int]:
        """What the model's own parser misreads, the number of turns that it was given, and of those with calls."""
        from template_lint.facts.response_parser import TEMPLATE_KEY, config_file

        invalid = parser.invalid()
        if invalid is not None:
            what = "checking it was" if invalid.stopped else f"transformers {parser.version} refuses it:"
            finding = self.finding(
                facts,
                f"{TEMPLATE_KEY} cannot be used: {what} {invalid.problem}",
                remedy=f"Repair {TEMPLATE_KEY} in the config, or remove it: parse_response fails with it.",
                file=config_file(facts),
                evidence={"parser": f"transformers {parser.version}", "problem": invalid.problem},
            )
            return [finding], 0, 0
        from template_lint.rules.tl2_messages.tl208_call_round_trip.by_response_template import Reading

        reading = Reading(facts, parser)
        findings = [
            self.finding(
                facts,
                f"{TEMPLATE_KEY} misreads {misread.turn.sent.title}: {misread.text}"
                + (" (it renders to the same turn)" if misread.harmless else ""),
                remedy=f"Let {TEMPLATE_KEY} in {config_file(facts)} read back what the template prints here.",
                place=misread.turn.place(facts, misread.offset),
                evidence=misread.evidence(parser),
                severity=Severity.INFO if misread.harmless else None,
            )
            for misread in reading.misread()
        ]
        return findings, reading.asked, reading.calls

    def _by_grammar(self, facts: TemplateFacts, call_too: bool) -> Iterator[Finding]:
        """Read the schema, the probe's call, then the hard one; and look at what stands around the result."""
        schema = self._schema(facts)
        if schema is not None:
            yield schema
        usual = tool_conversation(facts)
        text = usual.render(facts).text
        if text is None:
            failed = usual.render(facts)
            raise Skip(f"a tool conversation does not render: {failed.error}: {failed.message[:120]}")
        hard = hard_variant(facts).conversation
        result = self._result(facts, usual, RESULT) or self._result(facts, hard, JSON_RESULT)
        if result is not None:
            yield result
        if not call_too:
            return
        if ARGUMENT not in text:
            if result is None:
                raise Skip("the call is not in the prompt (TL201)")
            return
        known = find_grammar(text, CALL_NAME, {"zqkey": ARGUMENT})
        if known is None:
            if result is None:
                at = text.rfind(ARGUMENT)
                raise Skip(f"the language of this call is not known: {shorten(text[max(0, at - 40) : at + 20], 70)}")
            return
        yield from self._call(facts, *known)

    def _call(self, facts: TemplateFacts, grammar: Grammar, number: int) -> Iterator[Finding]:
        hard = hard_variant(facts)
        if pastes_mappings(facts):
            return
        broken = broken_call(facts, grammar, number, hard)
        if broken is None:
            return
        excerpt, at = around(broken.conversation.render(facts).text or "", broken.offset)
        yield self.finding(
            facts,
            f"the call does not parse back ({grammar.name}): {broken.text}",
            remedy=broken.remedy,
            place=value_printed_at(facts, broken.conversation, broken.offset, broken.value),
            evidence={
                "grammar": grammar.name,
                "lost": broken.lost,
                "prompt": excerpt,
                "excerpt_offset": at,
            },
        )

    def _schema(self, facts: TemplateFacts) -> Finding | None:
        """A schema in text that looks like JSON and is none, at all or where the description holds quotes."""
        for tool in (TOOL, HARD_SCHEMA):
            conversation = Conversation([ASK], tool=tool)
            at = (conversation.render(facts).text or "").find(tool["function"]["description"].partition("\n")[0])
            remedy = "Print the schema, or each value of it, with tojson."
            found = self._no_json(facts, conversation, at, "a tool's schema", remedy)
            if found is not None:
                return found
        return None

    def _result(self, facts: TemplateFacts, conversation: Conversation, result: str) -> Finding | None:
        at = (conversation.render(facts).text or "").rfind(result)
        remedy = "Print the result with tojson inside a JSON object."
        return self._no_json(facts, conversation, at, "a tool result", remedy)

    def _no_json(
        self, facts: TemplateFacts, conversation: Conversation, at: int, what: str, remedy: str
    ) -> Finding | None:
        """Text that begins like a JSON object, holds what stands at this offset, and is not JSON."""
        text = conversation.render(facts).text or ""
        start = _broken_json(text, at)
        if start is None:
            return None
        return self.finding(
            facts,
            f"{what} stands in text that looks like JSON and is none: {shorten(text[start:], 56)}",
            remedy=remedy,
            place=value_printed_at(facts, conversation, at),
            evidence={"grammar": "JSON object", "lost": [what.split()[-1]], "prompt": text[start : at + 40]},
        )


def _broken_json(text: str, at: int) -> int | None:
    """Where the text begins that looks like a JSON object, holds this offset and is not JSON; None where none does."""
    opened = list(_OPENED.finditer(text, max(0, at - _MOST_BEFORE), max(at, 0)))
    if at < 0 or not opened or "}" in text[opened[-1].start() : at]:
        return None
    start = opened[-1].start()
    try:
        _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return start
    return None

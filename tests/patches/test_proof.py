"""Every law: a sound training template holds all, and for each law there is a template that breaks exactly it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

import template_lint
from template_lint.facts import TemplateFacts
from template_lint.patches import Expectation, prove, sibling
from template_lint.patches.proof import LAWS, Counterexample, Difference, Status
from template_lint.snapshot.load import load_snapshot
from template_lint.target import parse_target
from template_lint.tokenization import load_tokenization
from tests.patches import toys
from tests.patches.toys import ORIGINAL, SOUND, both, changed, failing, proof

AHEAD = "{{% if loop.nextitem is defined and loop.nextitem.role == '{0}' %}}~{{% endif %}}<|end|>{{% endgeneration %}}"
HEAD_START = "{% if tools %}"
MARKED_END = "<|end|>{% endgeneration %}"
GO = "{% if add_generation_prompt %}<|assistant|>\n<go>"


def ahead(role: str) -> tuple[str, str]:
    """Both print a piece in a reply once a message of this role follows."""
    piece = AHEAD.format(role)
    return changed(ORIGINAL, "<|end|>{{ '\\n' }}", piece.removesuffix("{% endgeneration %}") + "{{ '\\n' }}"), changed(
        SOUND, MARKED_END, piece
    )


def opening(in_turn: str) -> tuple[str, str]:
    """The original prompts with a word that its own turns lack; the candidate's turns begin with ``in_turn``."""
    start = "{% if add_generation_prompt %}<|assistant|>\n"
    candidate = changed(changed(SOUND, start, GO), "<|assistant|>\n{% generation %}", "<|assistant|>\n" + in_turn)
    return changed(ORIGINAL, start, GO), candidate


BREAKS: dict[str, tuple[tuple[str, str], set[str]]] = {
    "prefix-tool": (ahead("tool"), {"prefix-tool"}),
    "prefix-user": (ahead("user"), {"prefix-user"}),
    "prefix-system": (ahead("system"), {"prefix-system"}),
    "as-last": (opening("<go>{% generation %}"), {"as-last"}),
    "first-prompt": (
        (
            ORIGINAL,
            changed(SOUND, "{% else %}<|{{ m.role }}|>", "{% else %}<|{{ m.role | replace('developer', 'x') }}|>"),
        ),
        {"first-prompt"},
    ),
    "unchanged": ((ORIGINAL, changed(SOUND, "</think>", "</think>\n")), {"as-last", "unchanged"}),
    "generation-prompt": (opening("{% generation %}"), {"generation-prompt"}),
    "delta-history": (
        both("{% else %}<|{{ m.role }}|>", "{% else %}<|{{ m.role }}|>{{ 'again' if loop.index > 4 }}"),
        {"delta-history"},
    ),
    "mask": (
        (ORIGINAL, changed(SOUND, "<|assistant|>\n{% generation %}", "{% generation %}<|assistant|>\n")),
        {"mask"},
    ),
    "mask-end": (
        (ORIGINAL, changed(SOUND, "{% endgeneration %}{{ '\\n' }}", "{{ '\\n' }}{% endgeneration %}")),
        {"mask-end"},
    ),
    "arguments": ((ORIGINAL, changed(SOUND, toys.ARGUMENTS, "{{ a | tojson }}")), {"arguments"}),
    "null-content": (
        (ORIGINAL, changed(SOUND, toys.CONTENT, "{{ m.content if m.content is defined else 'None' }}")),
        {"null-content"},
    ),
    "parses-back": (
        both(toys.ARGUMENTS, "{{ (a if a is string else a | tojson) | replace('☕', '') }}"),
        {"parses-back"},
    ),
}


def test_the_sound_template_holds_every_law() -> None:
    proven = proof(ORIGINAL, SOUND)
    assert proven.problems == ()
    assert proven.ok and proven.safe
    statuses = {law: result.status for law, result in proven.results.items()}
    assert statuses.pop("prefix-ids") is Status.NOT_APPLICABLE
    assert set(statuses.values()) == {Status.HOLDS}
    assert list(proven.results) == list(LAWS)


@pytest.mark.parametrize("version", ["4.57", "5.24"])
def test_under_both_profiles(version: str) -> None:
    assert proof(ORIGINAL, SOUND, profile=toys.parse_profile(version)).ok


@pytest.mark.parametrize("law", BREAKS)
def test_what_breaks_a_law_breaks_only_that(law: str) -> None:
    (original, candidate), expected = BREAKS[law]
    proven = proof(original, candidate)
    assert failing(proven) == expected
    assert law in expected
    assert any(problem.startswith(f"{law} fails in ") for problem in proven.problems)
    first = proven.results[law].first
    assert first is not None and first.scenario in proven.results[law].scenarios


def test_every_law_has_a_template_that_breaks_it() -> None:
    assert set(BREAKS) | {"prefix-ids"} == set(LAWS)


def test_a_counterexample_shows_both_texts() -> None:
    proven = proof(ORIGINAL, changed(SOUND, "</think>", "</thought>"))
    first = proven.results["as-last"].first
    assert first is not None
    assert (first.scenario, first.messages) == ("call-with-reasoning", 2)
    assert "</think>" in first.expected
    assert "</thought>" in first.found
    assert not proven.safe


def test_ids_can_break_where_the_text_holds() -> None:
    folder = Path(template_lint.__file__).parent / "rules/tl1_prefix/tl102_tool_prefix_tokens/bad"
    snapshot = load_snapshot(parse_target(str(folder)))
    original = TemplateFacts(
        snapshot.templates[0].source, toys.PROFILE, tokenization=partial(load_tokenization, snapshot)
    )
    proven = prove(original, original, expect=Expectation(laws=frozenset({"prefix-ids", "prefix-tool"})))
    assert {"prefix-ids"} == failing(proven) & {"prefix-ids", "prefix-tool"}


def test_a_listed_difference_is_no_problem_where_it_occurs() -> None:
    shouts = changed(SOUND, "</think>", "</think>!")
    listed = [Difference(law, ("*reasoning*", "after-plain-turn"), "It shouts.") for law in ("as-last", "unchanged")]
    proven = proof(ORIGINAL, shouts, Expectation(differences=tuple(listed)))
    assert proven.ok and not proven.safe
    assert proven.results["as-last"].status is Status.DIFFERS
    partly = Difference("as-last", ("chat-reasoning",), "It shouts.")
    assert not proof(ORIGINAL, shouts, Expectation(differences=(partly,))).ok


def test_a_listed_difference_must_occur() -> None:
    listed = Difference("as-last", ("chat*",), "It shouts.")
    proven = proof(ORIGINAL, SOUND, Expectation(differences=(listed,)))
    assert proven.problems == ("as-last: the listed difference in chat* does not occur",)
    whole = toys.facts(ORIGINAL)
    expect = Expectation(differences=(listed,))
    assert prove(whole, sibling(whole, SOUND), expect=expect, forgive_missing=True).ok


def test_only_a_star_is_special_in_a_pattern() -> None:
    difference = Difference("as-last", ("chat[a=b]", "*.x"), "")
    seen = Counterexample("", 1, 0, "", "", "")
    assert all(difference.covers(seen._replace(scenario=name)) for name in ("chat[a=b]", "one.x"))
    assert not any(difference.covers(seen._replace(scenario=name)) for name in ("chata", "oneyx"))


def test_a_difference_can_be_pinned_to_its_pieces() -> None:
    shouts = changed(SOUND, "</think>", "</think>!")
    listed = [Difference(law, ("*",), "It shouts.", ("!",)) for law in ("as-last", "unchanged")]
    assert proof(ORIGINAL, shouts, Expectation(differences=tuple(listed))).ok
    quotes = changed(SOUND, "</think>", "</think>'{{ m.reasoning_content }}'")
    listed = [difference._replace(only=("'*'",)) for difference in listed]
    assert proof(ORIGINAL, quotes, Expectation(differences=tuple(listed))).ok
    also = changed(quotes, "<call>", "<cell>")
    assert failing(proof(ORIGINAL, also, Expectation(differences=tuple(listed)))) == {"as-last", "unchanged"}


def test_what_cannot_be_asked_must_be_listed() -> None:
    proven = proof(ORIGINAL, ORIGINAL)
    assert [problem.partition(" ")[0] for problem in proven.problems] == ["mask", "mask-end"]
    listed = Expectation(not_applicable=frozenset({"mask", "mask-end"}))
    assert proof(ORIGINAL, ORIGINAL, listed).ok
    assert "mask is listed as not applicable and can be asked" in proof(ORIGINAL, SOUND, listed).problems


def test_arguments_that_are_refused_are_not_asked() -> None:
    refuses = changed(SOUND, toys.ARGUMENTS, "{{ raise_exception('no') if a is string else a | tojson }}")
    result = proof(ORIGINAL, refuses).results["arguments"]
    assert result.status is Status.NOT_APPLICABLE
    assert result.reason == "refuses arguments as a JSON string: no"


def test_without_an_expectation_nothing_may_get_worse() -> None:
    original, _ = ahead("tool")
    whole = toys.facts(original)
    repaired = changed(original, "loop.nextitem is defined", "false")
    assert prove(whole, sibling(whole, repaired)).ok
    assert not prove(whole, whole).ok
    worse = changed(repaired, toys.ARGUMENTS, "{{ a | tojson }}")
    problems = prove(whole, sibling(whole, worse), stop_at_first=True).problems
    assert len(problems) == 1 and problems[0].startswith("arguments fails")


def test_a_candidate_that_does_not_compile() -> None:
    proven = proof(ORIGINAL, "{% if %}")
    assert proven.results == {}
    assert proven.problems[0].startswith("does not compile: TemplateSyntaxError")


def test_template_kwargs_are_obeyed() -> None:
    greets = changed(ORIGINAL, HEAD_START, "{{ greeting | default('') }}" + HEAD_START)
    proven = proof(greets, SOUND)
    assert failing(proven) == {"first-prompt"}
    assert proven.results["first-prompt"].scenarios[0] == "fresh[greeting=true]"

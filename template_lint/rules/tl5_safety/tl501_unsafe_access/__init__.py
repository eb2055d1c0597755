"""TL501: the template reaches for the inside of Python objects."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule
from template_lint.rules.places import line_place
from template_lint.rules.tl5_safety.tl501_unsafe_access.accesses import Access, refused, unsafe_accesses
from template_lint.rules.wording import listed, shorten


class UnsafeAccess(Rule):
    """The template reaches for the inside of Python objects.

    What: a name that begins with an underscore, or one of the known ways out of a sandbox (``mro``, ``gi_frame``,
    ``f_globals`` ...), read by ``.name``, ``['name']``, ``| attr``, ``map(attribute=...)`` or a format string; also
    where the name is assembled from constants: ``'__cl' ~ 'ass__'``, ``join``, ``replace``, ``reverse``, slices, ``%``,
    a variable. A function such as ``lipsum`` that is reached into. ``str.format`` taken as a value instead of called.
    Read from the source: that such a template renders well proves nothing. A template whose names take too many steps
    to follow is reported too.

    Why it matters: this is how a template leaves Jinja's sandbox and runs code in your server. No chat template needs
    it.

    How to fix: do not use the template. If it is yours: read only what is in messages and tools.
    """

    code = "TL501"
    name = "unsafe-access"
    severity = Severity.ERROR

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """One finding per tag of the template; then what only a render asked for."""
        tags: dict[int, list[Access]] = {}
        seen: set[str] = set()
        for access in unsafe_accesses(facts):
            tags.setdefault(access.tag, []).append(access)
            seen.add(access.name)
        for accesses in tags.values():
            first, names = accesses[0], list(dict.fromkeys(access.name for access in accesses))
            assembled = [access for access in accesses if access.assembled]
            yield self.finding(
                facts,
                f"{first.how} {listed([shorten(name) for name in names])}"
                + (", assembled from constants" if assembled else "")
                + ": a way out of the sandbox",
                remedy="Do not use this template.",
                place=facts.template.source_map.place(first.start, max(access.end for access in accesses)),
                evidence={"names": names, "assembled": bool(assembled)},
            )
        asked = [access for access in refused(facts) if not any(access[0] in found for found in seen)]
        for name, kind, line in asked:
            yield self.finding(
                facts,
                f"a render asked a {kind} for {shorten(name)}, a name that is not in the source: "
                "a way out of the sandbox",
                remedy="Do not use this template.",
                place=line_place(facts, line),
                evidence={"names": [name], "assembled": True},
            )
        if not tags and not asked and not facts.is_followed:
            yield self.finding(
                facts,
                "the names that it reads are assembled in so many steps that they were not followed to the end: "
                "it may reach for anything",
                remedy="Do not use this template.",
                evidence={"names": [], "assembled": True},
            )

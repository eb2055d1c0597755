"""TL702: another engine renders the template differently, or not at all."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.prefix import common_prefix_length
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule, Skip
from template_lint.rules.tl7_portability.tl702_other_engine.causes import Cause, causes
from template_lint.rules.tl7_portability.tl702_other_engine.engine import Disagreement, disagreements, is_installed
from template_lint.rules.wording import listed, shorten, word_start

_EXCERPT = 28


class OtherEngine(Rule):
    """Another template engine renders the template differently, or not at all.

    What: text-generation servers in Rust, C++ and JavaScript do not run Jinja2 but minijinja, minja or
    @huggingface/jinja. Known differences are read from the source: ``{% generation %}``; ``tools is iterable``, true
    for none in minijinja; ``{% raw %}``; text added to what is ``| safe``; ``map(...) | tojson``; attributes of
    ``dict``. As information: what engines have as an optional part (``{% break %}``, Python methods with an index
    from the end, arguments of ``tojson``). With ``--select TL702`` (or ``TL7``) and
    ``pip install template-lint[portability]`` a few conversations are rendered in minijinja too and compared.

    Why it matters: the model is trained with one prompt and served with another, or the server refuses the template.

    How to fix: write what all engines agree on: ``{% if tools %}``, a copy for serving without ``{% generation %}``.
    """

    code = "TL702"
    name = "other-engine"
    severity = Severity.WARNING

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Causes in the source first; then, where it was asked for, the second engine."""
        found = causes(facts)
        for partial in (False, True):
            group = [cause for cause in found if cause.partial == partial]
            if group:
                yield self._of_source(facts, group, partial=partial)
        if not facts.compare_engines:
            return
        if not is_installed():
            if not found:
                raise Skip("not compared: minijinja is not installed; pip install 'template-lint[portability]'")
            return
        different = list(disagreements(facts))
        if different and all(cause.partial for cause in found):
            yield self._of_engine(facts, different)

    def _of_source(self, facts: TemplateFacts, group: list[Cause], *, partial: bool) -> Finding:
        texts = [f"{cause.text} (line {cause.place.line})" for cause in group]
        return self.finding(
            facts,
            f"the template {'; '.join(texts)}",
            remedy=" ".join(dict.fromkeys(cause.remedy for cause in group)),
            place=group[0].place,
            severity=Severity.INFO if partial else None,
            evidence={"causes": [cause.text for cause in group]},
        )

    def _of_engine(self, facts: TemplateFacts, different: list[Disagreement]) -> Finding:
        first = different[0]
        if first.error:
            what = f"minijinja does not render {first.title}: {first.error}"
        else:
            start = word_start(first.jinja2, common_prefix_length(first.jinja2, first.other))
            one, other = first.jinja2[start : start + _EXCERPT], first.other[start : start + _EXCERPT]
            titles = listed([disagreement.title for disagreement in different])
            what = f"Jinja2 prints {shorten(one)} and minijinja {shorten(other)} for {titles}"
        return self.finding(
            facts,
            what,
            remedy="Write it so that both engines agree, or serve the model with Jinja2 only.",
            evidence={"conversations": [disagreement.title for disagreement in different], "error": first.error},
        )

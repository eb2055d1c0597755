"""TL606: a Hub model that is not pinned to a commit."""

from __future__ import annotations

from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule


class Unpinned(Rule):
    """A Hub target names no revision, and no lock pins it.

    What: the target is a repository without a revision, or with its moving branch `main`, and no entry of
    `template-lint.lock` names a commit for it.

    Why it matters: its owner can change the template, the tokenizer or the special tokens at any time. The next run
    then checks other files than the last one, and a training run reads other prompts than the one before.

    How to fix: write the commit behind the target, `org/name@COMMIT`, or pin it with `template-lint lock`.
    """

    code = "TL606"
    name = "unpinned"
    severity = Severity.INFO
    stage = "target"
    needs = ()

    def about(self, repo: str, revision: str | None, commit: str | None) -> Finding:
        """The finding for a repository that was asked for as ``revision`` and is at ``commit`` today."""
        named = f"@{revision} moves" if revision else "names no revision"
        today = f"; today it is {commit[:12]}" if commit else ""
        return self.finding(
            None,
            f"{repo} {named}, and no lock pins it{today}",
            remedy=f"Write {repo}@{commit or 'COMMIT'}, or run `template-lint lock {repo}`.",
            evidence={"repo": repo, "revision": revision, "commit": commit},
        )

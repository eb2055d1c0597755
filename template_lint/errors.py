"""The one exception hierarchy. Every message says what was asked, what happened and what to do."""

from __future__ import annotations


class TemplateLintError(Exception):
    """Base of everything template-lint raises on purpose. ``kind`` is the stable word used in JSON output."""

    kind = "error"


class UsageError(TemplateLintError):
    """The request itself is wrong: a missing file, an unknown rule code, options that exclude each other. Exit 2."""

    kind = "usage"


class CannotCheckError(TemplateLintError):
    """The target may be fine, but it could not be looked at: unreachable, gated, unreadable, too large. Exit 3."""

    kind = "unreadable"

    def __init__(self, message: str, *, kind: str | None = None) -> None:
        super().__init__(message)
        if kind is not None:
            self.kind = kind


class TemplateSelectionError(TemplateLintError):
    """The snapshot has no template that transformers would pick. Becomes finding TL001."""

    kind = "no-chat-template"

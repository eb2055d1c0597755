"""The program of a template, whatever its comments, quotes and white space inside tags: what near copies share."""

from __future__ import annotations

import hashlib
import json

import jinja2

from template_lint.rendering.environment import chat_lexer

NORMALISED = "normalised:"
"""Marks a digest as that of the program, where digests of both kinds are kept together."""


def normalised_digest(source: str) -> str | None:
    """sha256 of the program that the lexer hands on: None where there is none.

    Equal for templates that differ in comments, in white space inside tags, in white space that the tags' own control
    removes, and in the quotes of strings. Anything printed counts.
    """
    tokens: list[tuple[str, str]] = []
    try:
        for _, kind, value in chat_lexer().tokeniter(source, None):
            if kind in ("whitespace", "comment_begin", "comment", "comment_end", "linecomment"):
                continue
            if kind == "string":
                value = _unquoted(value)
            elif kind.endswith(("_begin", "_end")):
                value = ""
            if kind == "data" and tokens and tokens[-1][0] == "data":
                tokens[-1] = "data", tokens[-1][1] + value
            elif kind != "data" or value:
                tokens.append((kind, value))
    except jinja2.TemplateSyntaxError:
        return None
    return hashlib.sha256(json.dumps(tokens).encode("ascii")).hexdigest()


def _unquoted(literal: str) -> str:
    """The value of a string literal, as Jinja's lexer reads it."""
    try:
        return literal[1:-1].encode("ascii", "backslashreplace").decode("unicode-escape")
    except UnicodeDecodeError:
        return literal

"""A finished assistant turn, read off renders: what ends it, and what follows the end."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

from template_lint.facts.marks import Ending, closes, ending_of, marks_of
from template_lint.scenarios.model import in_text_part

if TYPE_CHECKING:
    from template_lint.facts.template_facts import TemplateFacts

ASK: dict[str, Any] = {"role": "user", "content": "zqquestion"}
REPLY: dict[str, Any] = {"role": "assistant", "content": "zqreply"}
NEXT: dict[str, Any] = {"role": "user", "content": "zqnext"}
_PROSE = 4
_LONG_PROSE = 20


class Turn(NamedTuple):
    """The turn of a plain reply.

    ``text`` is the finished conversation, ``reply_end`` the offset at which the reply's own words end in it. ``last``
    is what follows them when the turn is last, ``middle`` what stands between them and the next user's words (None
    where that does not render). ``opening`` is what stands before the user's words in a conversation of one message.
    """

    text: str
    reply_end: int
    last: Ending
    middle: str | None
    opening: str

    @property
    def is_chat(self) -> bool:
        """Whether the template writes anything but white space around messages, and no prose after a reply."""
        return bool(self.opening.strip() or self.last.marks or (self.middle or "").strip())

    @property
    def is_judged(self) -> bool:
        """Whether prose follows a finished reply: a judge's template quotes the conversation and asks about it.

        Marks may stand between, and a header has words of its own: then it takes more of them.
        """
        return len(self.last.rest.split()) >= (_LONG_PROSE if self.last.marks else _PROSE)

    @property
    def next_header(self) -> str | None:
        """The mark that opens the next user's turn right after the reply, where nothing ends the reply before it."""
        marks = ending_of(self.middle or "").marks
        if not marks or closes(marks[0]) or marks[0] not in marks_of(self.opening):
            return None
        at = (self.middle or "").index(marks[0])
        return marks[0] if self.opening.endswith((self.middle or "")[at:].rstrip()) or len(marks) == 1 else None


_TURNS: weakref.WeakKeyDictionary[TemplateFacts, Turn | None] = weakref.WeakKeyDictionary()


def plain_turn(facts: TemplateFacts) -> Turn | None:
    """The turn of a plain reply; None where no conversation with one renders and shows the reply."""
    if facts not in _TURNS:
        _TURNS[facts] = _read(facts, ASK, REPLY, NEXT)
    return _TURNS[facts]


def turn_in_parts(facts: TemplateFacts) -> Turn | None:
    """The same of messages whose content is one text part, for templates that print only those."""
    return _read(facts, *map(in_text_part, (ASK, REPLY, NEXT)))


def _read(facts: TemplateFacts, ask: dict[str, Any], reply: dict[str, Any], following: dict[str, Any]) -> Turn | None:
    finished = facts.render([ask, reply]).text
    asked = facts.render([ask]).text
    if finished is None or REPLY["content"] not in finished:
        return None
    reply_end = finished.rindex(REPLY["content"]) + len(REPLY["content"])
    middle = None
    followed = facts.render([ask, reply, following]).text
    if followed is not None and REPLY["content"] in followed and NEXT["content"] in followed:
        middle = followed.partition(REPLY["content"])[2].partition(NEXT["content"])[0]
    opening = (asked or "").partition(ASK["content"])[0]
    eos = facts.variables.get("eos_token")
    last = ending_of(finished[reply_end:], eos if isinstance(eos, str) else "")
    return Turn(finished, reply_end, last, middle, opening)

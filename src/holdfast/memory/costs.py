"""Costs: what replies put into the model's context, counted for each conversation, event and handler."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.memory.rows import Cost

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.project import OpenProject

CHARACTERS_PER_TOKEN = 4  # UTF-16 units that count as a token; about right for English prose and code
RULE = (
    f"characters are UTF-16 units, as Claude Code counts; tokens are estimated: characters / {CHARACTERS_PER_TOKEN}, "
    "rounded up"
)


def tokens(characters: int) -> int:
    """Return the estimated number of tokens of a number of characters (`RULE`)."""
    return -(-characters // CHARACTERS_PER_TOKEN)


def note(project: OpenProject, conversation: str, event: str, characters: Mapping[str, int], *, agent: bool) -> None:
    """Count what the reply to an event put into the context, for an agent or not. Raises LedgerError.

    `characters` has the number of characters by `place/name` of the handler's file.
    """
    table, now = project.ledger.table(Cost), clock.stamp()
    with project.ledger.transaction():
        for handler, count in characters.items():
            cost = table.one(conversation=conversation, event=event, handler=handler, agent=agent)
            cost = cost or Cost(conversation, event, handler, agent, 0, 0, now)
            table.put(replace(cost, characters=cost.characters + count, replies=cost.replies + 1, last_at=now))


def totals(project: OpenProject, *, conversation: str = "", since: str = "") -> list[Cost]:
    """Return the costs of one conversation, or of all: the one that was active last first, and its largest cost first.

    They are those that grew at the UTC stamp `since` or later, with all of their replies. Raises LedgerError.
    """
    about: dict[str, Any] = {"conversation": conversation} if conversation else {}
    found = project.ledger.table(Cost).where("last_at >= ?", since, **about)
    latest: dict[str, str] = {}
    for each in found:
        latest[each.conversation] = max(latest.get(each.conversation, ""), each.last_at)
    found.sort(key=lambda each: (each.characters, each.last_at, each.event, each.handler), reverse=True)
    return sorted(found, key=lambda each: (latest[each.conversation], each.conversation), reverse=True)

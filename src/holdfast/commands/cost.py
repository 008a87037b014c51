"""`holdfast cost`: show what Holdfast put into the model's context."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.commands import options
from holdfast.commands.verb import Json, SessionId, Since, verb
from holdfast.memory import costs
from holdfast.sessions import conversations
from holdfast.sessions.workspace import Workspace
from holdfast.workflow.wording import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.memory.rows import Cost


@verb("cost")
def command(project: Workspace, *, session_id: SessionId = None, since: Since = None, as_json: Json = False) -> None:
    """Show what Holdfast put into the model's context, by session, event and handler.

    It counts what the model is told: guidance, advice, reasons of refusals,
    changed results of tools, and what PreCompact adds to the instructions of the
    summariser. What only you see costs nothing.

    With --since you see what has grown since then, each with its whole sum.

    \b
    Example:
      holdfast cost --since 2h
    """
    options.insist_on_ledger(project)
    start = clock.stamp(since) if since else ""
    found = costs.totals(project, conversation=session_id or "", since=start)
    if session_id and not found:  # raises for an unknown session; a known one may just have cost nothing
        found = costs.totals(project, conversation=conversations.resolve(project, session_id), since=start)
    names = conversations.session_ids(project, [each.conversation for each in found])
    found = [replace(each, conversation=names[each.conversation]) for each in found]
    if as_json:
        options.print_json(_whole(found))
        return
    for each, parts in groupby(found, key=lambda cost: cost.conversation):
        options.say("\n".join(_lines(f"Session {each}", list(parts))) + "\n")
    if not found:
        options.note("nothing was put into a model's context in this project yet")
        return
    total = sum(cost.characters for cost in found)
    options.say(f"Total: {_sum(total)}.")
    options.say(f"({costs.RULE[0].upper()}{costs.RULE[1:]}.)")


def _lines(heading: str, parts: Sequence[Cost]) -> list[str]:
    total = sum(each.characters for each in parts)
    rows = [(f"{each.event}{_AGENT * each.agent}", each.handler, _sum(each.characters), _times(each)) for each in parts]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    lines = [f"  {event:<{widths[0]}}  {handler:<{widths[1]}}  {size}, {often}" for event, handler, size, often in rows]
    return [f"{heading}: {_sum(total)}", *lines]


_AGENT = " (of a subagent)"


def _times(cost: Cost) -> str:
    return "once" if cost.replies == 1 else f"{cost.replies} times"


def _sum(characters: int) -> str:
    return f"{count(characters, 'character')}, about {count(costs.tokens(characters), 'token')}"


def _whole(found: Sequence[Cost]) -> dict[str, Any]:
    listed = []
    for session, group in groupby(found, key=lambda cost: cost.conversation):
        parts = list(group)
        names = ("characters", "event", "handler", "agent", "replies", "last_at")
        rows = [
            {name: getattr(each, name) for name in names} | {"tokens": costs.tokens(each.characters)} for each in parts
        ]
        listed.append({"session": session} | _size(parts) | {"parts": rows})
    return {"rule": costs.RULE} | _size(found) | {"sessions": listed}


def _size(parts: Sequence[Cost]) -> dict[str, int]:
    total = sum(each.characters for each in parts)
    return {"characters": total, "tokens": costs.tokens(total)}

"""`holdfast cost`: show what Holdfast put into the model's context."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.commands import options
from holdfast.commands.verb import Json, SessionId, Since, verb
from holdfast.memory import context_costs
from holdfast.sessions import conversations
from holdfast.sessions.workspace import Workspace
from holdfast.workflow.wording import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.memory.context_costs import Cost


@verb("cost")
def command(project: Workspace, *, session_id: SessionId = None, since: Since = None, as_json: Json = False) -> None:
    """Show what Holdfast put into the model's context, by session, event and handler.

    It counts what the model is told: guidance, advice, reasons of refusals,
    changed results of tools, and what PreCompact adds to the instructions of the
    summariser. What only you see costs nothing.

    \b
    Example:
      holdfast cost --since 2h
    """
    options.insist_on_ledger(project)
    start = clock.stamp(since) if since else ""
    found = context_costs.totals(project, session=session_id or "", since=start)
    if session_id and not found:  # raises for an unknown session; a known one may just have cost nothing
        found = context_costs.totals(project, session=conversations.resolve(project, session_id), since=start)
    names = conversations.session_ids(project, [each.session for each in found])
    found = [replace(each, session=names[each.session]) for each in found]
    if as_json:
        options.print_json(_whole(found))
        return
    for each, costs in groupby(found, key=lambda cost: cost.session):
        options.say("\n".join(_lines(f"Session {each}", list(costs))) + "\n")
    if not found:
        options.note("nothing was put into a model's context in this project yet")
        return
    total = sum(cost.units for cost in found)
    options.say(f"Total: {_sum(total)}.")
    options.say(f"({context_costs.RULE[0].upper()}{context_costs.RULE[1:]}.)")


def _lines(heading: str, costs: Sequence[Cost]) -> list[str]:
    total = sum(cost.units for cost in costs)
    rows = [(f"{each.event}{_AGENT * each.agent}", each.handler, _sum(each.units), _times(each)) for each in costs]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    lines = [f"  {event:<{widths[0]}}  {handler:<{widths[1]}}  {size}, {often}" for event, handler, size, often in rows]
    return [f"{heading}: {_sum(total)}", *lines]


_AGENT = " (of a subagent)"


def _times(cost: Cost) -> str:
    return "once" if cost.replies == 1 else f"{cost.replies} times"


def _sum(units: int) -> str:
    return f"{count(units, 'character')}, about {count(context_costs.tokens(units), 'token')}"


def _whole(found: Sequence[Cost]) -> dict[str, Any]:
    listed = []
    for session, costs in groupby(found, key=lambda cost: cost.session):
        parts = list(costs)
        total = sum(each.units for each in parts)
        names = ("event", "handler", "agent", "replies", "last_at", "tokens")
        rows = [{"characters": each.units} | {name: getattr(each, name) for name in names} for each in parts]
        listed.append({"session": session, "characters": total, "tokens": context_costs.tokens(total), "parts": rows})
    total = sum(each.units for each in found)
    return {"rule": context_costs.RULE, "characters": total, "tokens": context_costs.tokens(total), "sessions": listed}

"""Check that each guard was asked about the tool calls that it selects."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.checks import notice, ok
from holdfast.clients.claude import claude
from holdfast.plugins import activity, discovery

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from holdfast.checks import Finding
    from holdfast.sessions.workspace import Workspace

IDLE_LIMIT = timedelta(days=7)
"""A guard that last ran longer ago than this was asleep, if a call that it selects was made since then."""


def findings(project: Workspace) -> Iterator[Finding]:
    """Compare when each guard last ran with the tool calls in the transcripts of the project's newest sessions."""
    calls: Sequence[tuple[str, datetime]] | None = None
    asleep = False
    for call in activity.guards(discovery.find(claude, project), claude.CALL_EVENT):
        last = activity.last_run(call)
        since = last or clock.from_mtime(call.file.path.stat().st_mtime)
        if clock.now() - since < IDLE_LIMIT:
            continue
        if calls is None:
            calls = claude.reader().tool_calls(project.root)
        missed = [
            (tool, at) for tool, at in calls if at > since and claude.matches(call.route.match, tool, call.route.event)
        ]
        if missed:
            tool, at = max(missed, key=lambda each: each[1])
            ran = "hasn't run since" if last else "has never run, and was written on"
            text = f"{call.label} {ran} {since:%Y-%m-%d}, although Claude called {tool} on {at:%Y-%m-%d}"
            asleep = True
            yield notice(text, "holdfast doctor --fire")
    if not asleep:
        yield ok("every guard ran in the last week, or nothing that it selects was called")

"""What a session's guidance says of its agents: which still run, and whose results it has not used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.workflow import wording

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.sessions.agents.agent_status import Agent

MOST = 10  # agents that ended of which all is said; the last ones


def lines(listed: Iterable[Agent]) -> list[str]:
    """Return lines for the agents that run, then for those that ended and whose results are not known to be used.

    The same agents give the same lines: no time stands in them.
    """
    given = list(listed)
    running = [_running(each) for each in given if each.fate == "running"]
    ended = sorted((each for each in given if each.unused), key=lambda each: each.ended_at or "", reverse=True)
    more = [f"{len(ended) - MOST} more have ended unused: `holdfast show` names them"] if len(ended) > MOST else []
    return [*running, *(line for each in ended[:MOST] for line in _ended(each)), *more]


def _running(agent: Agent) -> str:
    return f"{_name(agent)} was started and has not reported its end; it runs already{_task(agent)}"


def _ended(agent: Agent) -> list[str]:
    how = "has finished" if agent.fate == "finished" else "has failed"
    said = [f"{_name(agent)} {how}; nothing shows that its result has reached this conversation{_task(agent)}"]
    who = wording.one_line(agent.agent_id, 80)
    words = [f"last words of {who}: {wording.quoted(agent.words, wording.LONGEST)}"] if agent.words.strip() else []
    places = [("output", agent.output), ("transcript", agent.transcript)]
    return [*said, *words, *(f"{what} of {who}: {wording.clean(path)}" for what, path in places if path)]


def _name(agent: Agent) -> str:
    phase = f" for {wording.one_line(agent.phase, 80)}" if agent.phase else ""
    return f"{wording.one_line(agent.agent_type, 80)} ({wording.one_line(agent.agent_id, 80)}){phase}"


def _task(agent: Agent) -> str:
    return f" (launched for {wording.quoted(agent.description)})" if agent.description.strip() else ""

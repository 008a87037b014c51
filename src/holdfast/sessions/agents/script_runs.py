"""Runs of scripts that start agents (the client's Workflow tool), as the ledger and the client's files know them."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from holdfast import clock
from holdfast.sessions import conversations
from holdfast.sessions.agents import lifecycle

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from holdfast.files.agent_runs import Journal
    from holdfast.files.transcript import Notice
    from holdfast.project import OpenProject
    from holdfast.sessions.conversations import Request
    from holdfast.sessions.hook import Call, Context, Event, Returned

Status = Literal["running", "elsewhere", "interrupted", "partial", "completed", "no journal"]
FAMILY = 50  # earlier runs that are looked through for one of the same script
_LAST = 64  # runs of a project that may still be open at a Stop


class ScriptRun:
    """One run of a script.

    Attributes:
        row: its row in the ledger.
        process: the client process that asks, which decides whether the run is alive.
    """

    def __init__(self, project: OpenProject, row: Mapping[str, Any], process: int | None) -> None:
        self.project, self.row, self.process = project, row, process

    def __getattr__(self, name: str) -> Any:
        try:
            return self.row[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def path(self) -> Path:
        """The folder with its journal."""
        return Path(self.row["folder"])

    @cached_property
    def journal(self) -> Journal | None:
        """What the client noted of its agents; None if that can't be read."""
        return self.project.client.agent_runs().journal(self.path) if self.row["folder"] else None

    @property
    def done(self) -> int:
        """How many of its agents have finished with a result."""
        return self.journal.done if self.journal else 0

    @property
    def total(self) -> int:
        """How many agents it has started."""
        return len(self.journal.agents) if self.journal else 0

    @cached_property
    def status(self) -> Status:
        """Where it stands, for the client process that asks.

        `running` in that process, `elsewhere` in another one that lives, `completed` with a result of each agent,
        `partial` with agents that failed, `interrupted` if it was killed or stopped before its end, `no journal` if it
        is over and the client has deleted what it noted of the agents.
        """
        ending = self.row["ending"] or self.project.client.agent_runs().ended(self.path)
        if not ending:
            if conversations.is_in(self.project, self.session, self.row["process"], self.process):
                return "running"
            if not conversations.is_gone(self.project, self.session, self.row["process"]):
                return "elsewhere"
        if self.journal is None:
            return "no journal"
        if ending == "completed":
            return "completed" if self.done == self.total else "partial"
        return "interrupted"

    @property
    def counted(self) -> str:
        """How many of its agents have finished, in words."""
        return f"{self.done} of {self.total} agents finished" if self.journal else "its journal is gone"


def digests(given: Mapping[str, Any], script: str | None) -> tuple[str, str]:
    """Return what identifies a call's script and its arguments."""
    text = script if script is not None else json.dumps([given.get("name"), given.get("scriptPath")])
    args = json.dumps(given.get("args"), sort_keys=True, default=str)
    return _digest(" ".join(text.split())), _digest(args)


def asked(event: Call, context: Context, asking: Request, script: str | None) -> None:
    """Note that a run is asked for, before it has an id."""
    project, given = context.project, event.tool_input
    name = project.client.agent_runs().script_name(script) if script else str(given.get("name") or "")
    path = given.get("scriptPath") if isinstance(given.get("scriptPath"), str) else ""
    project.ledger.run(
        "INSERT INTO script_runs (project, session, tool_use_id, worktree, host, client, name, script, digest, args,"
        " prompt, epoch, process, launched_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (project, session, tool_use_id) DO NOTHING",
        *(
            project.key,
            conversations.of(project, event.session_id),
            _call(event),
            project.worktree,
            project.host,
            project.client.NAME,
        ),
        *(name, path, *digests(given, script), asking.prompt, asking.epoch, process(context), clock.stamp()),
    )


def reuses(event: Call, project: OpenProject, earlier: ScriptRun, said: str) -> None:
    """Note that a run that is asked for uses what an earlier one left; `answers` has that one's folder."""
    project.ledger.run(
        "UPDATE script_runs SET reused = ?, answers = ? WHERE project = ? AND session = ? AND tool_use_id = ?",
        *(said, earlier.folder, project.key, conversations.of(project, event.session_id), _call(event)),
    )


def launched(event: Returned, context: Context) -> None:
    """Note which run a call started.

    Args:
        event: the `PostToolUse` of the Workflow tool.
        context: its context.
    """
    project, said = context.project, event.tool_response
    if not isinstance(said, dict) or not isinstance(said.get("runId"), str) or said.get("error"):
        return
    runs = project.client.agent_runs()
    script = runs.script(event.transcript_path, event.tool_input, context.root)
    asked(event, context, conversations.current_request(project, conversations.of(project, event.session_id)), script)
    folder = said.get("transcriptDir") or runs.folder(event.transcript_path, said["runId"]) or ""
    project.ledger.run(
        "UPDATE script_runs SET run = ?, task = ?, folder = ?, script = ?,"
        " name = CASE WHEN ? = '' THEN name ELSE ? END WHERE project = ? AND session = ? AND tool_use_id = ?",
        *(said["runId"], str(said.get("taskId") or ""), str(folder), str(said.get("scriptPath") or "")),
        *(str(said.get("workflowName") or ""),) * 2,
        *(project.key, conversations.of(project, event.session_id), _call(event)),
    )


def note_agent(project: OpenProject, session: str, agent: str, transcript: str) -> None:
    """Note which run an agent belongs to, as the path of its transcript tells."""
    if run := project.client.agent_runs().run_of(transcript):
        _agent(project, session, agent, run)


def note_notice(event: Event, project: OpenProject, notice: Notice) -> bool:
    """Note that the main conversation was told how a run ended, and store its agents' results; False for no run."""
    row = project.ledger.one(
        "SELECT * FROM script_runs WHERE project = ? AND session = ? AND task = ? AND task <> ''",
        *(project.key, conversations.of(project, event.session_id), notice.task_id),
    )
    if row and notice.status != "running":
        project.ledger.run(
            "UPDATE script_runs SET ending = ?, used_at = ? WHERE project = ? AND session = ? AND tool_use_id = ?",
            *(
                notice.status or "stopped",
                clock.stamp(),
                project.key,
                conversations.of(project, event.session_id),
                row["tool_use_id"],
            ),
        )
        keep(ScriptRun(project, row, None))
    return row is not None


def still_there(project: OpenProject, session: str, listed: Collection[str]) -> None:
    """Note that the runs of a session have ended that the client no longer lists at a Stop."""
    # Each Stop does this, so a run that is still open is among the project's last.
    for row in project.ledger.rows(
        "SELECT * FROM (SELECT * FROM script_runs WHERE project = ? ORDER BY launched_at DESC LIMIT ?)"
        " WHERE session = ? AND task <> '' AND ending = ''",
        *(project.key, _LAST, session),
    ):
        if row["task"] not in listed:
            ending = project.client.agent_runs().ended(Path(row["folder"])) or "stopped"
            project.ledger.run(
                "UPDATE script_runs SET ending = ? WHERE project = ? AND session = ? AND tool_use_id = ?",
                *(ending, project.key, session, row["tool_use_id"]),
            )


def keep(run: ScriptRun) -> None:
    """Store what a run's journal says of its agents that no event has said."""
    project, session = run.project, run.row["session"]
    known = {
        row["agent_id"]
        for row in project.ledger.rows(
            "SELECT agent_id FROM script_agents WHERE project = ? AND session = ? AND run = ? AND key <> ''",
            *(project.key, session, run.row["run"]),
        )
    }
    for agent in run.journal.agents if run.journal else ():
        if not agent.agent_id or agent.state == "started" or agent.agent_id in known:
            continue
        _agent(project, session, agent.agent_id, run.row["run"], agent.key, agent.label)
        state: lifecycle.State = "completed" if agent.state == "finished" else "failed"
        lifecycle.reported(project, session, agent.agent_id, "", state, agent.result, used=True)


def named(project: OpenProject, run: str, process: int | None) -> ScriptRun | None:
    """Return the latest run with an id or a name; None if none is known."""
    row = project.ledger.one(
        "SELECT * FROM script_runs WHERE project = ? AND run = ? ORDER BY launched_at DESC LIMIT 1", project.key, run
    ) or project.ledger.one(
        "SELECT * FROM script_runs WHERE project = ? AND name = ? AND run <> '' ORDER BY launched_at DESC LIMIT 1",
        *(project.key, run),
    )
    return ScriptRun(project, row, process) if row else None


def newest(run: ScriptRun) -> ScriptRun:
    """Return the last run that a run was carried on in, which has all its results and more; the run itself if none."""
    project = run.project
    for _ in range(FAMILY):
        later = project.ledger.one(
            "SELECT run FROM script_runs WHERE project = ? AND answers = ? AND answers <> ''"
            " AND folder NOT IN ('', answers) ORDER BY launched_at DESC LIMIT 1",
            *(project.key, run.row["folder"]),
        )
        if not later:
            break
        run = named(project, later["run"], run.process) or run
    return run


def latest(context: Context, *, call: str, name: str, digest: str, path: str) -> list[ScriptRun]:
    """Return the earlier runs of a script, the latest first: by its content, its path or its own name."""
    return [
        each
        for each in recent(context.project, process(context), days=context.config.freshness_days)
        if each.row["tool_use_id"] != call
        and (each.row["digest"] == digest or (name and each.name == name) or (path and each.script == path))
    ]


def recent(project: OpenProject, process: int | None, *, days: float) -> list[ScriptRun]:
    """Return the latest runs of this worktree, the latest first."""
    since = clock.stamp(clock.now() - timedelta(days=min(days, 36_500)))
    rows = project.ledger.rows(
        "SELECT * FROM script_runs WHERE project = ? AND launched_at >= ? AND worktree = ?"
        " AND run <> '' AND folder <> '' ORDER BY launched_at DESC LIMIT ?",
        *(project.key, since, project.worktree, FAMILY),
    )
    return [ScriptRun(project, row, process) for row in rows]


def every(project: OpenProject, most: int) -> list[ScriptRun]:
    """Return the latest `most` runs of all worktrees, the latest first; all of them if `most` is -1."""
    rows = project.ledger.rows(
        "SELECT * FROM script_runs WHERE project = ? AND run <> '' AND folder <> '' ORDER BY launched_at DESC LIMIT ?",
        *(project.key, most),
    )
    return [ScriptRun(project, row, None) for row in rows]


def process(context: Context) -> int | None:
    """Return the number of the client's process that sent an event; None if unknown."""
    return conversations.client_process(context)


def _agent(project: OpenProject, session: str, agent: str, run: str, key: str = "", label: str = "") -> None:
    project.ledger.run(
        "INSERT INTO script_agents (project, session, agent_id, worktree, host, client, run, key, label, noted_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project, session, agent_id) DO UPDATE SET"
        " key = CASE WHEN excluded.key = '' THEN key ELSE excluded.key END,"
        " label = CASE WHEN excluded.label = '' THEN label ELSE excluded.label END",
        *(project.key, session, agent, project.worktree, project.host, project.client.NAME, run, key, label),
        clock.stamp(),
    )


def _call(event: Call) -> str:
    return lifecycle.call_id(event.tool_use_id, event.tool_input)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]

"""What speaks against a state outside it: a checkpoint that is further, commits, agents that can't run any more."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.errors import StateError, command_line
from holdfast.formats.orchestrator import bounds, commit, plan, schema, snapshots
from holdfast.workflow import values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.formats.orchestrator.run import Run
    from holdfast.workflow.records import Records

_NAMED = re.compile(r"\btask\s+(\d{1,6}\.\d{1,6})(?![\d.]*\d)", re.IGNORECASE)


def drift(project: Records, run: Run) -> Iterator[str]:
    """Yield what a checkpoint, git or the clock says otherwise than the state (R003-29, R003-30), as sentences."""
    done = {id_ for id_, status in run.statuses().items() if status == "completed"}
    yield from _checkpoint(project, run, done)
    yield from _commits(project, run, done)
    for entry in schema.objects(run.data.get("active_agents")):
        if not run.terminal and entry.get("status") != "blocked" and bounds.elapsed(run, entry) >= bounds.STALE_S:
            task = schema.task_of(entry)
            who = f"{values.text(entry.get('type'))} of task {task}"
            since = f"was started on {values.text(entry.get('started'))}"
            yield f"the {who} {since}; `holdfast orchestrator agents prune {task}` removes it"


def document(project: Records, run: Run) -> Iterator[str]:
    """Yield what is wrong with the task document; nothing once the run is over."""
    if run.terminal:
        return
    try:
        doc, _ = plan.load(project, run)
    except StateError as error:
        remedy = "move it into the project" if error.reason == plan.OUTSIDE else "put it back"
        yield (
            f"the task document can't be read: {error}; {remedy}, or correct "
            '"orchestrator.task_doc" in .claude/agent-state.json'
        )
        return
    name = plan.path(project, run).name
    if not doc.tasks:
        yield f"{name} names no task any more; put its headings back, such as `#### Task 1.1: Name`"
    yield from (f"{name}: {each}" for each in doc.faults)


def _checkpoint(project: Records, run: Run, done: set[str]) -> Iterator[str]:
    for snapshot in snapshots.newest(project, snapshots.listed(run.data), schema.run_id(run.data)):
        there = {schema.task_of(each) for each in schema.objects(snapshot.document.data.get("completed_tasks"))}
        if ahead := sorted(there - done, key=schema.key):
            name = snapshot.document.path.name
            back = f"`{command_line('orchestrator', 'restore', name)}` goes back to it"
            yield f"{', '.join(ahead[:5])} {_is(ahead)} completed in {name}; {back}"
        return


def _commits(project: Records, run: Run, done: set[str]) -> Iterator[str]:
    moves = commit.moves(project.root)
    started = clock.parse(values.text(run.head.get("start_time")))
    known = run.statuses()
    said = dict[str, str]()
    for move in moves:
        if move.message.startswith("commit") and started and move.at >= started.timestamp():
            said.update(dict.fromkeys(_NAMED.findall(move.message), move.sha))
    for id_, sha in said.items():
        if id_ in known and id_ not in done:
            yield f"commit {sha[:12]} names task {id_}, which is {run.task(id_).status}"
    entries = schema.objects(run.data.get("checkpoints"))
    last = values.text(entries[-1].get("git_sha")) if entries else ""
    if moves and commit.is_sha(last) and not commit.is_known(project.root, last):
        name = values.text(entries[-1].get("state_snapshot"))
        yield f"commit {last[:12]} of {name} isn't in this clone's log: history was rewritten, or it is another clone"


def _is(ids: list[str]) -> str:
    return "is" if len(ids) == 1 else "are"

"""Whether every registered command, really run with a recorded payload, answers as the client wants it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast import accepted, events, launcher, matching, recorded, registered, stage, trial
from holdfast.checks import notice, ok, problem
from holdfast.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.checks import Finding
    from holdfast.project import Project
    from holdfast.registered import Entry
    from holdfast.stage import Stage

LONGEST = 60.0  # seconds a command is waited for, where the client would wait longer
# What makes a handler say something, in an order in which it can: a workflow, saved before it is asked for.
_FIRST = ("PreCompact", "SessionStart")
_PAYLOADS = {"SessionStart": "SessionStart-compact", "PreCompact": "PreCompact-manual"}
_MEMORY = """\
# Current Workflow State

Workflow: Trial
Phase: 2/3 - Fire
"""
_GIVEN_ENV_FILE = frozenset({"SessionStart", "Setup", "CwdChanged", "FileChanged"})  # client fact §4.5
_WITNESS = "fired"  # the file in which the handler below notes that it was reached
_HEAD = "from holdfast import hookimpl\n"
_FUNCTION = '''

@hookimpl(tryfirst=True)
def on_{name}(event, context):
    """Note that the event came."""
    with (context.root / "{file}").open("a") as witness:
        witness.write(event.hook_event_name + "\\n")
'''


def look(project: Project) -> Iterator[Finding]:
    """Run each registered command for each of its events in a home and a project that are thrown away.

    The user's ledger, project, configuration and own handlers have no part in it: the shipped handlers answer, and
    one that only notes that it was reached.
    """
    entries = _entries(project)
    if not entries:
        yield notice("no command is registered, so there is nothing to run", "holdfast install")
        return
    with stage.opened() as place:
        _prepare(place, {entry.event for entry in entries})
        for entry in entries:
            yield _fire(place, entry)


def _entries(project: Project) -> list[Entry]:
    """Return the registered commands, each once for an event, in the order in which they are run."""
    found: dict[tuple[str, str], Entry] = {}
    for target in registered.targets(project, everywhere=True):
        try:
            listed = registered.entries(target)
        except StateError:
            continue  # the registration check says so
        for entry in listed:
            if entry.ours:
                found.setdefault((entry.event, entry.command), entry)
    order = [*_FIRST, *(event for event in events.EVENTS if event not in _FIRST)]
    return sorted(found.values(), key=lambda entry: order.index(entry.event) if entry.event in order else len(order))


def _prepare(place: Stage, names: set[str]) -> None:
    """Put the launcher, a workflow and the witness where the command looks for them."""
    for program in launcher.programs():
        beside = place.home / program.relative_to(Path.home())
        beside.parent.mkdir(parents=True, exist_ok=True)
        beside.symlink_to(program)
    place.write("CLAUDE.local.md", _MEMORY)
    functions = [_FUNCTION.format(name=events.snake(name), file=_WITNESS) for name in events.EVENTS if name in names]
    for folder in (".config", "Library/Application Support"):  # where each system keeps configuration
        witness = place.home / folder / "holdfast" / "handlers" / "witness.py"
        witness.parent.mkdir(parents=True)
        witness.write_text(_HEAD + "".join(functions), "utf-8")


def _fire(place: Stage, entry: Entry) -> Finding:
    event = entry.event
    if event not in events.EVENTS:
        return problem(f"{entry.target.settings} registers {event}, which is no event", entry.target.redo)
    name, payload = _payload(place, entry)
    limit = entry.seconds or events.model(event).deadline
    environ = place.environ | ({"CLAUDE_ENV_FILE": str(place.home / "env.sh")} if event in _GIVEN_ENV_FILE else {})
    before, logged = _noted(place.root, event), len(_errors(place))
    command = ["/bin/sh", "-c", entry.command]
    ended = trial.run(command, json.dumps(payload).encode() + b"\n", environ, place.root, min(limit, LONGEST))
    faults = [*_faults(event, ended, min(limit, LONGEST)), *_errors(place)[logged:]]
    if not faults and _noted(place.root, event) == before:
        faults = ["it ended with 0, but no handler was reached"]
    said = f"{len(ended.stdout)} characters" if ended.stdout else "silence"
    if faults:
        text = f"{event} ({name}), registered in {entry.target.settings}: {'; '.join(faults)}"
        return problem(text, "holdfast doctor" if faults[0].startswith("it ended") else "holdfast status")
    return ok(f"{event} ({name}): {said}, after {ended.seconds:.2f} of {limit:g} seconds")


def _payload(place: Stage, entry: Entry) -> tuple[str, dict[str, Any]]:
    """Return a recorded payload that the entry is registered for, as if of the throw-away project; its name, too."""
    event = entry.event
    known = [name for name in recorded.names() if name.partition("-")[0] == event and "subagent" not in name]
    mine = {"session_id": stage.SESSION, "cwd": str(place.root), "transcript_path": ""}
    if not known:
        return "never recorded", {"hook_event_name": event, **mine}
    field = events.model(event).matcher_field or ""
    payloads = {name: recorded.load(name, **mine) for name in known}
    chosen = [name for name in known if matching.matches(entry.matcher, payloads[name].get(field), event)]
    name = _PAYLOADS[event] if _PAYLOADS.get(event) in chosen else next(iter(chosen), known[0])
    listed = matching.alternatives(entry.matcher or "", event)
    if not chosen and listed:  # nothing that the matcher selects was recorded
        return f"{name} as {listed[0]}", payloads[name] | {field: listed[0]}
    return name, payloads[name]


def _faults(event: str, ended: trial.Ended, limit: float) -> Iterator[str]:
    if ended.exit_code is None:
        yield f"it did not end within {limit:g} seconds"
        return
    if ended.exit_code:
        yield f"exit code {ended.exit_code}"
    if ended.stderr.strip():
        yield f"it writes to stderr: {ended.stderr.strip().splitlines()[-1]}"
    if fault := accepted.fault(event, ended.stdout):
        yield f"it prints {fault}"


def _noted(root: Path, event: str) -> int:
    """Return how often the witness was reached for an event."""
    file = root / _WITNESS
    return file.read_text("utf-8").splitlines().count(event) if file.exists() else 0


def _errors(place: Stage) -> Sequence[str]:
    return [line.partition(" error ")[2] for line in place.log() if " error " in line]

"""Run every registered command with a recorded payload, and check that the client would accept its answer."""

from __future__ import annotations

import json
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from holdfast.checks import notice, ok, problem
from holdfast.clients.claude import events, matchers
from holdfast.install import launcher, plugin, registrations
from holdfast.testkit import place, recorded
from holdfast.testkit.client import Client

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from holdfast.checks import Finding
    from holdfast.install.registrations import Entry
    from holdfast.process.run_program import CompletedProgram
    from holdfast.sessions.workspace import Workspace
    from holdfast.testkit.place import Place

# These run first and in this order, so that there is something to answer: a workflow, saved before it is restored.
_FIRST = ("PreCompact", "SessionStart")
_PAYLOADS = {"SessionStart": "SessionStart-compact", "PreCompact": "PreCompact-manual"}
_MEMORY = """\
# Current Workflow State

Workflow: Trial
Phase: 2/3 - Fire
"""


def findings(project: Workspace) -> Iterator[Finding]:
    """Run each registered command for each of its events in a temporary home and project.

    The user's ledger, project, configuration and handlers are not used: the shipped handlers answer. The plugin's hooks
    run in another temporary home than the settings', so none of them leaves its event to the settings.
    """
    commands, copies = _of_settings(project), plugin.copies(project.root)
    if not commands and not any(copy.commands() for copy in copies):
        yield notice("no command is registered, so there is nothing to run", "holdfast install")
    yield from _run(commands, {})
    for copy in copies:
        if copy.ready:
            yield from _run(_ordered(registrations.of_plugin(copy)), copy.environ, f" of {copy}")
        else:  # running it would start the build
            text = f"the hooks of {copy} weren't run, because its Python environment isn't ready"
            yield notice(text, "holdfast doctor")


def canary(commands: Iterable[Entry], environ: Mapping[str, str] = MappingProxyType({})) -> Finding | None:
    """Run the first of some commands as `findings` does, with more variables; return None without any."""
    return next(_run(_ordered(commands)[:1], environ), None)


def _run(commands: Sequence[Entry], environ: Mapping[str, str], whose: str = "") -> Iterator[Finding]:
    """Run commands in one temporary home; `whose` is added to each finding."""
    if commands:
        with place.opened() as made:
            made.variables.update(environ)
            _prepare(made)
            client = Client(made, made.root)
            for command in commands:
                yield _fire(client, command, whose)


def _of_settings(project: Workspace) -> list[Entry]:
    """Return the commands that settings files register, each once per event, in the order in which to run them."""
    found: dict[tuple[str, str], Entry] = {}
    for entry in registrations.of_settings(project, everywhere=True):
        if entry.ours:
            found.setdefault((entry.event, entry.command), entry)
    return _ordered(found.values())


def _ordered(commands: Iterable[Entry]) -> list[Entry]:
    order = [*_FIRST, *(event for event in events.EVENTS if event not in _FIRST)]
    return sorted(commands, key=lambda each: order.index(each.event) if each.event in order else len(order))


def _prepare(made: Place) -> None:
    """Put the launcher and a workflow where the commands look for them, and have the log name each event that came."""
    for program in launcher.present():
        link = made.home / program.relative_to(Path.home())
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(program)
    made.write("CLAUDE.local.md", _MEMORY)
    for folder in (".config", "Library/Application Support"):  # on Linux and on macOS
        made.write(made.home / folder / "holdfast" / "holdfast.toml", 'log_level = "debug"\n')


def _fire(client: Client, command: Entry, whose: str) -> Finding:
    event = command.event
    if event not in events.EVENTS:
        return problem(
            f"{command.source.settings} registers {event}, which isn't an event of Claude Code", command.source.redo
        )
    name, payload = _payload(client, command)
    limit = command.limit_s
    waited = min(limit, client.place.limit_s)
    before = len(client.place.log())
    ended = client.run(command.command, payload, waited)
    logged = [line.split(" ", 2)[1:] for line in client.place.log()[before:]]
    faults = [*_faults(event, ended, waited), *(text for level, text in logged if level == "error")]
    if not faults and not any(text.startswith(f"{command.name} came ") for _, text in logged):
        faults = ["it ended with 0, but Holdfast never got the event"]
    reply = f"{len(ended.stdout)} characters" if ended.stdout else "silence"
    if faults:
        text = f"{command.name} ({name}), registered in {command.source.settings}: {'; '.join(faults)}"
        return problem(text, "holdfast doctor" if faults[0].startswith("it ended") else "holdfast status")
    return ok(f"{command.name} ({name}){whose}: answered with {reply} in {ended.seconds:.2f} of {limit:g} seconds")


def _payload(client: Client, command: Entry) -> tuple[str, dict[str, Any]]:
    """Return the name and content of a recorded payload that the command's matcher selects, for the temporary project.

    If nothing that the matcher selects was recorded, a recorded payload is adapted.
    """
    event = command.event
    known = [name for name in recorded.names_of(event) if "subagent" not in name]
    if not known:
        return "never recorded", client.payload(event)
    field = events.EVENTS[event].matcher or ""
    payloads = {name: client.payload(name) for name in known}
    chosen = [name for name in known if matchers.matches(command.matcher, payloads[name].get(field), event)]
    name = _PAYLOADS.get(event) or next(iter(chosen), known[0])
    listed = matchers.alternatives(command.matcher or "", event)
    if not chosen and listed:  # use the matcher's first name
        return f"{name} as {listed[0]}", payloads[name] | {field: listed[0]}
    return name, payloads[name]


def _faults(event: str, ended: CompletedProgram, limit: float) -> Iterator[str]:
    if ended.exit_code is None:
        yield f"it didn't end within {limit:g} seconds"
        return
    if ended.exit_code:
        yield f"exit code {ended.exit_code}"
    if ended.stderr.strip():
        yield f"it writes to stderr: {ended.stderr.strip().splitlines()[-1]}"
    if ended.stdout and events.EVENTS[event].reply != "text":
        try:
            json.loads(ended.stdout)
        except ValueError:
            yield f"it prints plain text, which goes nowhere: {ended.stdout[:60]!r}"

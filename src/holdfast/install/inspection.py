"""Find what is wrong with handler files, by loading them and from their recorded faults."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from shlex import quote
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from holdfast import clock, paths
from holdfast.clients.claude import claude, events, settings_schema
from holdfast.dispatch import background, notices
from holdfast.dispatch.run import Run
from holdfast.errors import command_line
from holdfast.install import register, registrations
from holdfast.plugins import activity, executables, kinds, loader, packages, rules, statics
from holdfast.plugins.context import Context
from holdfast.plugins.loader import Call

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from holdfast.plugins.discovery import HandlerFile
    from holdfast.project import OpenProject, Project

FILE_TIMEOUT_S = 5.0


def complaints(
    project: OpenProject, files: Sequence[HandlerFile], *, loading: bool = True
) -> list[tuple[HandlerFile, str]]:
    """Find what is wrong with handler files.

    Args:
        project: the project they belong to.
        files: what `discovery.find` found. Inactive files are read but not loaded.
        loading: whether to load the files, which takes up to `FILE_TIMEOUT_S` for each.

    Returns:
        Pairs of a file and a sentence: faults in its text, also those that show only in a call (`statics`); faults
        when loading it (in a process of its own); and its latest fault when it ran.
    """
    found: list[tuple[HandlerFile, str]] = []
    for file in files:
        sentences = [*file.faults, *statics.faults(file.source, file.routes, claude), *_never_holds(file)]
        sentences += _load(project, file) if loading and file.active else []
        found += [(file, each) for each in dict.fromkeys(sentences)]
        fault, _ = activity.latest_fault(file)
        if fault and not file.refuses:
            found.append((file, fault))  # one that refuses says already why it can't be called
    return found


def _never_holds(file: HandlerFile) -> Iterator[str]:
    """Yield the conditions of a rule that never hold."""
    if file.path.suffix == kinds.RULE_SUFFIX and file.routes and not file.faults and file.source:
        fields = events.model(file.routes[0].event).model_fields
        yield from rules.never_holds(file.source, fields, get_args(settings_schema.Mode))


def withheld(project: Project, files: Sequence[HandlerFile]) -> dict[str, register.LeftOut]:
    """Find the events that handlers want but that aren't registered because not every client knows them.

    Returns:
        Event -> the reason and the command that registers it. An event that a settings file does register is left
        out. Empty if nothing of Holdfast's is registered.
    """
    routes = [route for file in files if file.active for route in file.routes]
    newer = [route for route in routes if route.event not in events.OLDEST_CLIENT_EVENTS]
    known = registered_events(project) if newer else {}
    missing = [route.event for route in newer if known and register.name(route) not in known]
    return {event: register.why_left_out(event) for event in missing}


def remarks(project: Project, files: Sequence[HandlerFile]) -> list[tuple[HandlerFile, str]]:
    """Return possible surprises for the author of a valid handler, as pairs of a file and a sentence.

    Args:
        project: the project they belong to.
        files: what `discovery.find` found, or a part of it.
    """
    known = registered_events(project)
    found = [(file, each) for file in files for each in filter(None, (file.notice, *file.doubts))]
    found += [(file, each) for file in files if file.active for each in _unregistered(file, known)]
    return found + [(file, f"{text}. {remedy}") for file, text, remedy in unexpected(project, files)]


def unexpected(project: Project, files: Sequence[HandlerFile]) -> list[tuple[HandlerFile, str, str]]:
    """Return how the registration or the event affects active handlers, and what changes that."""
    silent, limits = withheld(project, files), dict[str, float]()
    for entry in registrations.registered(project):
        if entry.ours and entry.event in events.EVENTS:
            limits[entry.name] = max(entry.limit_s, limits.get(entry.name, entry.limit_s))
    found = []
    for file in files:
        routes = {route.event: route.function for route in file.routes} if file.active else {}
        for event, name in routes.items():
            if event in silent and claude.HOOK_NAMES.get(name) == event:  # `holdfast doctor` tells what a guard misses
                text = f"{name} doesn't run: {event} is not registered: {silent[event].why}"
                found.append((file, text, f"To register it: {silent[event].command}"))
        for event, wanted in register.entries(register.wishes_of([file]), events.EVENTS).items():
            if wanted.timeout_s and wanted.timeout_s > limits.get(event, wanted.timeout_s):
                text = f"{routes[background.event(event)]} {_CUT_OFF.format(event, limits[event])}"
                found.append((file, text, f"To register {wanted.timeout_s} s: holdfast install"))
        if "WorktreeCreate" in routes:
            remedy = f"If you don't want that: {command_line('handlers', 'off', file.name)}"
            found.append((file, f"{routes['WorktreeCreate']} {_REPLACES_GIT}", remedy))
    return found


_CUT_OFF = (
    "is cut off: it asks for more time than Claude Code gives the registered {} hook ({:g} s), and a"
    " plugin's can't have more"
)
_REPLACES_GIT = (
    "makes worktrees instead of Claude Code, which then doesn't use git for them; if it names no folder, no worktree is"
    " made and the session is told"
)


def listing(
    files: Sequence[HandlerFile], withheld: Mapping[str, str] = MappingProxyType({})
) -> dict[str, list[dict[str, Any]]]:
    """Return the output of `holdfast handlers list --json`: for each event the functions that want it.

    The functions that run come first, in calling order; then those of inactive files, each with its `inactive_reason`.

    Args:
        files: what `discovery.find` found.
        withheld: the events that aren't registered, each with the reason.
    """
    listed: dict[str, list[dict[str, Any]]] = {}
    for event in events.EVENTS:
        running = loader.plan(claude, files, event, None)
        inactive = [
            Call(file, route) for file in files if not file.active for route in file.routes if route.event == event
        ]
        if running or inactive:
            listed[event] = [_row(call, withheld.get(event, "")) for call in (*running, *inactive)]
    return listed


class Idle(NamedTuple):
    """Why a file doesn't run, and what changes that; empty if it runs, or if nothing short does."""

    why: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        return "; ".join(filter(None, self))

    def __bool__(self) -> bool:
        return bool(self.why)


def idle(file: HandlerFile) -> Idle:
    """Return why a file doesn't run, and what changes that."""
    if file.off and file.runs_when:
        conditions = [f"{key} = {' or '.join(map(repr, values))}" for key, values in file.runs_when]
        runs = f"it runs if the configuration has {', '.join(conditions)} and handlers.off doesn't name it"
        return Idle("switched off", runs)
    if file.off:
        return Idle("switched off", command_line("handlers", "on", file.name))
    if file.faults and not file.routes:
        return Idle(file.faults[0])
    if not file.trusted:
        how, verb = ("changed since you trusted it" if file.changed else "not trusted"), "trust"
        if not file.path.exists():
            how, verb = "gone since you trusted it", "untrust"
        refuses = ", so what it guarded is refused" if file.active else ""
        command = command_line("handlers", verb, "--project", str(file.path.parents[2]), file.path.name)
        return Idle(f"{how}{refuses}", command)
    if file.replaced_by:
        return Idle(f"replaced by {file.replaced_by}" + (f" ({file.notice})" if file.notice else ""))
    if file.routes:
        return Idle()
    if file.path.suffix == ".py":
        return Idle("answers no event, because none of its functions is marked with @hookimpl")
    return Idle(executables.UNDECLARED)


def unused(project: Project, files: Sequence[HandlerFile]) -> list[tuple[Path, Idle]]:
    """Return the files that aren't used, each with the reason and what changes that.

    Args:
        project: the project they belong to.
        files: what `discovery.find` found; other files in your folder and the project's are included.
    """
    reasons = {file.path: idle(file) for file in files}
    for folder in (paths.user_handlers(), paths.project_handlers(project.root)):
        if folder not in reasons:  # otherwise the folder itself has a fault
            with suppress(OSError):
                reasons.update((path, _stray(path)) for path in sorted(folder.iterdir()) if path not in reasons)
    return [(path, why) for path, why in reasons.items() if why]


HELPER = Idle("a helper file, because its name begins with _")


def _stray(path: Path) -> Idle:
    """Return why something in a handlers folder is no handler; empty for a folder without Python files."""
    if path.is_dir() and not any(map(kinds.is_handler, path.iterdir())):
        return Idle()
    if path.name[0] in "_.":
        return HELPER if path.name[0] == "_" else Idle("hidden, because its name begins with a dot")
    if path.is_dir():
        return Idle("a folder, and handlers in it don't run", f"move them into {path.parent}")
    if kinds.is_handler(path):
        return Idle()
    why = "its name doesn't end in .py or .toml, and it can't be executed"
    return Idle(why, f"chmod +x {quote(str(path))}")


def _unregistered(file: HandlerFile, known: Mapping[str, Sequence[str | None]]) -> list[str]:
    """Return a sentence for each function of a file whose event or values aren't registered, with the command.

    Args:
        file: the handler file.
        known: what `registered_events` returned; if empty, events are not compared.
    """
    sentences = []
    for route in file.routes if known else ():
        name = register.name(route)
        matchers = known.get(name, [])
        if not matchers and route.event not in events.OLDEST_CLIENT_EVENTS:
            continue  # `unexpected` says why
        if not matchers:
            sentences.append(f"{route.function} doesn't run: {name} isn't registered. Run holdfast install")
        elif not any(register.covers(route.event, matcher, route.match) for matcher in matchers):
            values = f"all of {route.match}" if route.match else "every value"
            sentences.append(
                f"{route.function} doesn't run for {values}: {name} is registered only for "
                f"{', '.join(map(str, matchers))}. Run holdfast install"
            )
    return sentences


def registered_events(project: Project) -> dict[str, list[str | None]]:
    """Return event -> matchers of every registration of Holdfast that a session of the project has.

    Events have the names of `register.Wish`. Settings files that can't be read are left out.
    """
    known: dict[str, list[str | None]] = {}
    for entry in registrations.registered(project):
        known.setdefault(entry.name, []).append(entry.matcher)
    return known


def _load(project: OpenProject, file: HandlerFile) -> list[str]:
    """Load a file in a child process and return its faults, without those that its text shows already."""
    plan = [Call(file, route) for route in file.routes if not route.broken]
    if not plan:
        return []
    event = events.parse({"hook_event_name": "SessionEnd", "session_id": "check"})
    deadline = time.monotonic() + FILE_TIMEOUT_S
    with Run(claude, event, Context(project, os.environ), FILE_TIMEOUT_S, deadline) as run:
        answers = run.loads(plan)
    return [f"{answer.label}: {answer.fault}" for answer in answers if answer.fault]


def _row(call: Call, withheld: str) -> dict[str, Any]:
    route = call.route
    return {
        "file": str(call.file.path),
        "place": call.file.place,
        "package": packages.of(call.file.path),
        "function": route.function,
        "match": route.match,
        "timeout": route.timeout,
        "strict": route.strict,
        "on_failure": route.on_failure,
        "once": route.once,
        "background": route.background,
        "trusted": call.file.trusted,
        "broken": route.broken or None,
        "off": call.file.off,
        "last_run": clock.stamp(last) if (last := activity.last_run(call)) else None,
        "inactive_reason": str(idle(call.file)) or withheld or notices.left_out(call) or None,
    }

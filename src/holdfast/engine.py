"""Answer one event: from stdin to a reply on stdout. Only here do exceptions become exit codes."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast import log, paths
from holdfast.clients.claude import claude
from holdfast.dispatch import background, faults, intake, notices, output, reply_log, strict
from holdfast.dispatch.interrupts import EventEnded, EventOverdue, interrupt_at
from holdfast.dispatch.reply import conclude
from holdfast.dispatch.run import Run
from holdfast.errors import EventError, HoldfastError
from holdfast.files import atomic, trust
from holdfast.plugins import deadlines, discovery, loader, strict_memory
from holdfast.plugins.context import Context
from holdfast.process import reset_signals
from holdfast.project import OpenProject
from holdfast.server import control

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import FrameType

    from holdfast.config import HandlersSection
    from holdfast.dispatch.client import Event
    from holdfast.plugins.discovery import HandlerFile
    from holdfast.plugins.loader import Call

CLIENT = claude
"""The client whose events are answered."""
PREPARE_LIMIT_S = 20.0
"""Time until an event's handlers must be chosen: reading stdin, configuration, trust and handler files."""
WATCH_GRACE_S = 5.0
"""Time for merging and writing the answers after the handlers' own deadline."""


def main(argument: str | None = None, entry: str = "") -> int:
    """Answer one event in this process, because no server did ("cold"), and start a server.

    Args:
        argument: the event name on the command line, if any; the payload's own name wins.
        entry: the entrypoint's path, if a relay looked for a server and found none.

    Returns:
        The exit code: 0 whatever happens inside, or 2 if a handler blocks TeammateIdle or TaskCompleted.

    Raises:
        BaseException: not even a refusal was possible (`dispatch`).
    """
    code = dispatch(argument, output.Streams, time.monotonic())
    if entry:
        control.start(entry)
    return code


def dispatch(argument: str | None, take: Callable[[], output.Streams], started: float) -> int:
    """Answer the event on stdin. On a failure, refuse the event if a strict handler is known for it; else stay silent.

    Args:
        argument: the event name on the command line, if any; the payload's own name wins. It may be the `entry` of the
            event's handlers in the background.
        take: takes over the client's streams.
        started: `time.monotonic()` when the event came; its deadline runs from here.

    Returns:
        The exit code: the reply's, also if something fails after it.

    Raises:
        BaseException: not even a refusal was possible, so the registered command must refuse.
    """
    payload: dict[str, Any] = {}
    streams = None
    try:
        reset_signals()
        log.set_project(os.environ.get(CLIENT.ROOT_VARIABLE))
        signal.signal(signal.SIGTERM, end_event)
        streams = take()
        _dispatch(argument, payload, started, streams)
    except BaseException as error:  # a bug of ours never blocks a session, and never opens a guard
        _fail(error, argument, payload, streams)
        if streams is None:
            raise
    streams.close()
    return streams.exit_code


def _dispatch(argument: str | None, payload: dict[str, Any], started: float, streams: output.Streams) -> None:
    """Read the event into `payload`, and answer it if a handler wants it and no other installation does."""
    aside = background.is_entry(argument or "")
    with interrupt_at(started + PREPARE_LIMIT_S, EventOverdue):
        if not _read(argument and background.event(argument), payload) or _is_left_to_settings(payload):
            return
        project = open_project(os.environ)
        log.write("debug", f"{argument or payload[CLIENT.EVENT_KEY]} came")  # `holdfast doctor --fire` looks for it
        files = discovery.find(CLIENT, project, for_event=True)
        plan, event = prepare(payload, project, files, background=aside)
        if aside and event and (file := CLIENT.edited_file(event)):
            plan = background.newest(project, event.session_id, file, plan)
    if event and (plan or not aside):
        answer(project, plan, event, os.environ, started, streams)
    _keep_registered(project, files, payload.get(CLIENT.SESSION_KEY), streams)


def answer(
    project: OpenProject,
    plan: Sequence[Call],
    event: Event,
    environ: Mapping[str, str],
    started: float,
    streams: output.Streams,
) -> None:
    """Make the planned calls and write the reply.

    Args:
        project: the event's project.
        plan: the calls to make, in the order in which their answers are merged.
        event: the event.
        environ: the hook's environment.
        started: `time.monotonic()` when the event came.
        streams: where the reply goes.
    """
    limits = project.config.handlers
    until = deadline(event, limits, started, plan)
    streams.expect(until + WATCH_GRACE_S)
    run = Run(CLIENT, event, Context(project, environ), limits.timeout, until, streams.private)
    with run, atomic.syncing_later():  # nobody waits for this process once the reply is written
        with interrupt_at(until + WATCH_GRACE_S, EventOverdue):
            answers = run.answers(plan)
            answers += strict.recheck(CLIENT, run.call_again, event, plan, answers)
            noticed = notices.of_answers(plan, answers, run.printed)
            if aside := any(call.route.background for call in plan):
                answers = notices.keep_for_user(event.session_id, answers)
            conclusion = conclude(CLIENT, event, plan, answers + notices.tell(CLIENT, event, noticed, now=not aside))
            output.write_environment(conclusion.reply, environ.get(CLIENT.ENVIRONMENT_VARIABLE))
        streams.write(conclusion.reply)
        if run.awaits_delivery and streams.delivered():
            run.deliver(conclusion.delivered)
        streams.release()
        notices.note_activity(plan, answers, noticed)
        notices.record(event.hook_event_name, noticed, session=event.session_id)
        reply_log.note(project, event, conclusion)
        if event.hook_event_name == CLIENT.END_EVENT and project.config.telemetry.endpoint:
            control.flush_at_end()


def end_event(signum: int, frame: FrameType | None) -> None:
    """Handle a signal by which the client ends the event."""
    raise EventEnded


def _keep_registered(
    project: OpenProject, files: Sequence[HandlerFile], session: object, streams: output.Streams
) -> None:
    """Register what new, changed or removed handler files want, after the reply. A later event tells the user.

    If no file changed, this only reads one small file.
    """
    if not discovery.files_changed(project.root, files):
        return
    streams.release()
    try:
        from holdfast.install import upkeep

        lines = upkeep.keep_registered(project, files)
        if isinstance(session, str):
            faults.unseen(session, {line: line for line in lines}, now=False)
    except Exception as error:  # noqa: BLE001 - the event is answered, and must not be refused now
        log.write("error", f"the registered events couldn't be updated: {type(error).__name__}: {error}")


def open_project(environ: Mapping[str, str], *, tell: bool = True) -> OpenProject:
    """Open the project that the environment names, whatever the working directory is (I000-19).

    Its configuration counts as far as it is trusted.

    Args:
        environ: the hook's environment.
        tell: whether to log what is wrong with the configuration.

    Raises:
        KeyError: the environment names no project.
        HoldfastError: the name is longer than a path can be.
    """
    root = Path(environ[CLIENT.ROOT_VARIABLE])
    if len(os.fsencode(root)) >= paths.PATH_LIMIT_BYTES:
        raise HoldfastError(f"{CLIENT.ROOT_VARIABLE} is longer than any path can be")
    return OpenProject.open(root, trusted=trust.config_trusted(root), tell=tell, client=CLIENT)


def is_plugin(environ: Mapping[str, str]) -> bool:
    """Return whether this process answers for the plugin, and not for an entry in settings.

    The plugin's environment variable alone doesn't show it: a client that a plugin's hook starts passes the variable on
    to its own hooks.
    """
    root = environ.get(CLIENT.PLUGIN_VARIABLE, "")
    return root != "" and os.path.realpath(sys.argv[0]) == f"{os.path.realpath(root)}/hooks/dispatch.py"


def _is_left_to_settings(payload: Mapping[str, Any]) -> bool:
    """Return whether this is the plugin's process, and an installation in settings has one of its own for the event.

    So no event is handled twice where both are registered.
    """
    if not is_plugin(os.environ):
        return False
    from holdfast.install import plugin, registrations

    name = payload[CLIENT.EVENT_KEY]
    root, process = Path(os.environ[CLIENT.ROOT_VARIABLE]), CLIENT.process(os.environ)
    matchers = registrations.installed_matchers(name, root, process)
    if not matchers:
        return False
    value = CLIENT.matched(name, payload) or CLIENT.matcher_value(CLIENT.parse(payload))
    left = any(CLIENT.matches(matcher, value, name) for matcher in matchers)
    if left and name == CLIENT.START_EVENT:
        plugin.keep()  # the other process may run from an earlier copy, which can't do that
    return left


def deadline(event: Event, limits: HandlersSection, started: float, plan: Sequence[Call]) -> float:
    """Return the `time.monotonic()` by which an event that came at `started` must be answered.

    A handler's own timeout extends it as far as the client waits. For a plugin's hooks the client waits no longer than
    by default.
    """
    hook = CLIENT.EVENTS[event.hook_event_name]
    seconds = deadlines.of_event(hook, limits.deadline, [call.route.timeout for call in plan if call.route.timeout])
    if is_plugin(os.environ):
        seconds = min(seconds, hook.timeout_s * deadlines.MARGIN)
    return started + seconds


def prepare(
    payload: Mapping[str, Any], project: OpenProject, files: Sequence[HandlerFile], *, background: bool = False
) -> tuple[list[Call], Event | None]:
    """Choose the handlers that a payload calls, and record the ones of its event that can't be used.

    Args:
        payload: one JSON object, as the client sent it.
        project: the project whose handlers may answer.
        files: its handler files.
        background: whether to choose among the functions that run in the background, or among the others.

    Returns:
        The plan and the event; an empty plan and None if no handler wants it and no message waits for its user.

    Raises:
        EventError: the payload lacks a field that its event requires.
    """
    name, session = payload[CLIENT.EVENT_KEY], payload.get(CLIENT.SESSION_KEY)
    notices.note_unusable(CLIENT, name, CLIENT.matched(name, payload), files, project, session)
    plan, event = choose(payload, files, background=background)
    if not (plan or background) and faults.waiting(session):
        event = CLIENT.parse(payload)
    return plan, event


def choose(
    payload: Mapping[str, Any], files: Sequence[HandlerFile], *, background: bool = False
) -> tuple[list[Call], Event | None]:
    """Choose from `files` the handlers that a payload calls (`prepare`).

    The event is parsed only if a handler may want it, because loading its model takes longest.
    """
    name, event = payload[CLIENT.EVENT_KEY], None
    value = CLIENT.matched(name, payload)
    if value is None:
        routes = (route for file in files if file.active for route in file.routes)
        if not any(route.event == name and route.background == background for route in routes):
            return [], None
        event = CLIENT.parse(payload)
        value = CLIENT.matcher_value(event)
    calls = [call for call in loader.plan(CLIENT, files, name, value) if call.route.background == background]
    plan = [call for call in calls if not notices.left_out(call)]
    return plan, (event or CLIENT.parse(payload)) if plan else None


def _read(argument: str | None, payload: dict[str, Any]) -> bool:
    """Read the payload from stdin. Return whether it is an event for Holdfast; the log says why it isn't.

    Raises:
        IntakeError: it can't be read.
        EventError: it is the client's, but names no known event, and a strict handler may be registered for it.
    """
    try:
        payload.update(intake.read(0))
    except intake.IntakeError:
        if argument in CLIENT.STRICT_EVENTS and os.environ.get(CLIENT.ROOT_VARIABLE):
            discovery.find(CLIENT, open_project(os.environ), for_event=True)  # records strict handlers not seen before
        raise
    reason = CLIENT.foreign(payload, os.environ)
    named = payload.get(CLIENT.EVENT_KEY)
    if not reason and _name(payload, None) is None:
        if argument in CLIENT.STRICT_EVENTS:
            raise EventError(f"the payload's {CLIENT.EVENT_KEY!r} is {named!r}, but {argument} is registered")
        reason = f"unknown event {named!r}"
    if reason:
        log.write("info", f"{argument or 'event'} ignored: {reason}")
    return not reason


def _name(payload: Mapping[str, Any], argument: str | None) -> str | None:
    """Return the event's name: the payload's if it is a known one, else the command line's."""
    named = payload.get(CLIENT.EVENT_KEY)
    return named if isinstance(named, str) and named in CLIENT.EVENTS else argument


def _fail(error: BaseException, argument: str | None, payload: dict[str, Any], streams: output.Streams | None) -> None:
    """Log why an event wasn't answered, and have it refused if a strict handler is known for it.

    If the payload couldn't be read, every matcher counts as selecting it.

    Raises:
        OSError: it must be refused, and can't be here.
    """
    what = argument or "an event"
    if isinstance(error, EventEnded):
        why = "the client ended it before it was answered"
        log.write("warning", f"{what} was stopped before it was answered")
    elif isinstance(error, EventOverdue):
        why = "its time was up before it was answered"
        log.write("warning", f"{what} wasn't answered in time")
    elif isinstance(error, HoldfastError):
        why = str(error)
        log.write("warning", f"{what} not dispatched: {error}")
    else:
        why = f"Holdfast failed ({type(error).__name__})"
        log.write("error", f"{what} failed inside Holdfast: {type(error).__name__}: {error}")
    if streams is None or streams.answered or background.is_entry(what):
        return
    name = _name(payload, argument)
    if name is None or name not in CLIENT.STRICT_EVENTS or CLIENT.foreign(payload, os.environ):
        return
    guards = strict_memory.guarding(CLIENT, name, CLIENT.matched(name, payload), os.environ[CLIENT.ROOT_VARIABLE])
    if guards:
        streams.refuse(name, output.plain(why), ", ".join(guards))

"""From an event on stdin to a reply on stdout; the one boundary that turns exceptions into exit codes."""

from __future__ import annotations

import gc
import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast import log, paths
from holdfast.clients import claude
from holdfast.dispatch import costs, duplicates, faults, intake, output
from holdfast.errors import EventError, HoldfastError
from holdfast.plugins import deadlines, loader
from holdfast.project import OpenProject

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from holdfast.config import HandlersSection
    from holdfast.dispatch.calls import Answer
    from holdfast.dispatch.client import Client, Event
    from holdfast.dispatch.output import Reply
    from holdfast.plugins.loader import Call, HandlerFile
    from holdfast.plugins.outcomes import Outcome
    from holdfast.process.spare import Spare

CLIENT: Client = claude
"""The client whose events are answered."""
PREPARE_LIMIT_S = 20.0
"""How long an event may take until its handlers are chosen: reading stdin, configuration, trust and handler files."""
WATCH_GRACE_S = 5.0
"""How long after the handlers' own deadline their answers may take to be merged and written."""
LONGEST_START_S = 1.0  # seconds of a process's age that count; one that is older was not started for this event
_AGAIN_S = 0.2  # after which an alarm that somebody swallowed comes again


class _Ended(BaseException):
    """The client ended us."""


class _Overdue(BaseException):
    """The event's time is up."""


def main(argument: str | None = None, entry: str = "") -> int:
    """Answer one event in this process, and have a server started for those to come.

    Args:
        argument: the event name on the command line, if any; the payload's own name wins.
        entry: the entrypoint's path, where it is one that a server can answer for.

    Returns:
        The exit code: 0 whatever happens inside, or 2 where a handler blocks TeammateIdle or TaskCompleted.

    Raises:
        BaseException: not even a refusal could be given (`dispatch`).
    """
    gc.disable()  # there is little to collect in a process this short, and much to look through while modules load
    code = dispatch(argument, output.Streams, time.monotonic() - min(age(), LONGEST_START_S))
    passed("over")
    if entry:
        from holdfast import relay

        if not relay.off(os.environb):  # what else switches the server off is `standby`'s to find out
            from holdfast.server import standby

            standby.start(entry)
    return code


def dispatch(
    argument: str | None,
    take: Callable[[], output.Streams],
    started: float,
    spare: Spare | None = None,
) -> int:
    """Answer the event on stdin. What fails is a refusal if a strict handler is known for it, else silence.

    Args:
        argument: the event name on the command line, if any; the payload's own name wins.
        take: takes the client's streams.
        started: `time.monotonic()` when the event came; its deadline runs from here.
        spare: a child for its handlers that waits for the payload (`ahead`).

    Returns:
        The exit code.

    Raises:
        BaseException: not even the refusal could be given. The client's streams are the standard ones again, for the
            relay to try it with the shell.
    """
    data = bytearray()
    streams: output.Streams | None = None
    try:
        passed("begun")
        signal.signal(signal.SIGTERM, _end)
        _watch(started + PREPARE_LIMIT_S)
        streams = take()
        payload = _read(argument, data)
        passed("read")
        if payload is None:
            return 0
        with duplicates.once(CLIENT, payload, os.environ) as mine:
            return answer(payload, os.environ, started, streams, spare) if mine else 0
    except BaseException as error:  # noqa: BLE001 - a bug of ours never blocks a session, and never opens a guard
        _unwatch()
        if spare:
            spare.child.kill()
        try:
            _fail(error, argument, data, streams)
        except BaseException:
            if streams:
                streams.give_back()
            raise
    finally:
        _unwatch()
    return 0


def answer(
    payload: dict[str, Any],
    environ: Mapping[str, str],
    started: float,
    streams: output.Streams,
    spare: Spare | None = None,
) -> int:
    """Dispatch a payload to the handlers that want it and write the reply.

    Args:
        payload: one JSON object, as the client sent it.
        environ: the hook's environment.
        started: `time.monotonic()` when the event came.
        streams: where the reply goes.
        spare: a child for the handlers that waits for the payload (`ahead`).

    Returns:
        The exit code.
    """
    if spare:
        spare.tell(payload)  # it finds by itself what to call; we do so meanwhile, to judge what comes of it
    project = open_project(environ)
    plan, event = prepare(payload, project)
    passed("found")
    if not plan or event is None:
        return 0
    from holdfast.dispatch.isolation import Isolated
    from holdfast.plugins.context import Context

    limits = project.config.handlers
    until = deadline(event, limits, started, plan)
    _watch(until + WATCH_GRACE_S)
    streams.expect(until + WATCH_GRACE_S)
    isolated = Isolated(
        *(CLIENT, event, Context(project, environ), limits.timeout, until),
        private=streams.private,
        spare=spare.child if spare else None,
    )
    try:
        answers = isolated.run(plan)
        answers += judge_again(isolated.judge, event, plan, answers)
        passed("answered", answers)
        answers += faults.tell(event, plan, answers, isolated.printed)
        reply, said = conclude(event, plan, answers)
        output.write_environment(reply, environ.get(CLIENT.ENVIRONMENT_VARIABLE))
        _unwatch()
        streams.write(reply)
        passed("written")
        isolated.deliver([said[position] for position in reply.delivered])
        passed("delivered")
        faults.note_printed(event, plan, isolated.printed, project)
        faults.note_answers(event, plan, answers, project)
        faults.note_conflicts(event, plan, answers, project)
        costs.note_after(project, event, costs.of(reply, labels(event, plan, answers)), streams, reply.exit_code)
        isolated.close()
    except BaseException:
        isolated.abandon()
        raise
    return reply.exit_code


def passed(point: str, answers: Sequence[Answer] = (), at: float | None = None) -> None:
    """Note, where somebody wants to know (`tracing`, for `holdfast profile`), that the event came to a point.

    Args:
        point: one of `trace.POINTS`; nothing is noted after the last one.
        answers: what its handlers have answered so far.
        at: when it came there (`time.monotonic()`); now by default.
    """
    if "HOLDFAST_TRACE" in os.environ:
        from holdfast.dispatch import trace

        trace.note(point, [(given.label, given.moments, given.fault) for given in answers], at)


def open_project(environ: Mapping[str, str], *, tell: bool = True) -> OpenProject:
    """Open the project that the environment names, whatever the working directory is (I000-19).

    Its configuration counts as far as it is trusted.

    Args:
        environ: the hook's environment.
        tell: whether what is wrong with the configuration goes to the log.

    Raises:
        KeyError: the environment names no project.
        HoldfastError: what it names cannot be a folder.
    """
    from holdfast import trust

    log.begin_event()
    root = Path(environ[CLIENT.ROOT_VARIABLE])
    if len(os.fsencode(root)) >= paths.PATH_LIMIT_BYTES:
        raise HoldfastError(f"{CLIENT.ROOT_VARIABLE} is longer than any path can be")
    return replace(OpenProject.open(root, trusted=trust.config_trusted(root), tell=tell), reader=CLIENT.reader)


def deadline(event: Event, limits: HandlersSection, started: float, plan: Sequence[Call]) -> float:
    """Return `time.monotonic()` at which an event that came at `started` is to be answered.

    A handler's own timeout extends it, as far as the client waits: for a plugin's hooks no longer than by default.
    """
    patience = type(event).deadline
    asked = [call.route.timeout for call in plan if call.route.timeout]
    seconds = deadlines.of_event(CLIENT.longest_limit_s(event.hook_event_name), patience, limits.deadline, asked)
    if duplicates.source(CLIENT, os.environ) != duplicates.SETTINGS:
        seconds = min(seconds, patience * deadlines.MARGIN)
    return started + seconds


def prepare(payload: Mapping[str, Any], project: OpenProject) -> tuple[list[Call], Event | None]:
    """Choose the handlers a payload calls, and remember those of its event that cannot be used.

    Args:
        payload: one JSON object, as the client sent it.
        project: whose handlers.

    Returns:
        The plan and the event; an empty plan and None when nobody wants it.

    Raises:
        EventError: the payload lacks what its event cannot be without.
    """
    name = payload[CLIENT.EVENT_KEY]
    found = loader.find(CLIENT, project, name, CLIENT.matched(name, payload))
    faults.note_unusable(name, found, project, payload.get(CLIENT.SESSION_KEY))
    return choose(payload, found)


def choose(payload: Mapping[str, Any], found: Sequence[HandlerFile]) -> tuple[list[Call], Event | None]:
    """Choose of the handlers that were found those a payload calls; only if there are any read it as a typed event."""
    name = payload[CLIENT.EVENT_KEY]
    files = [file for file in found if any(route.event == name for route in file.routes)]
    if not any(file.active for file in files):
        return [], None
    event = CLIENT.parse(payload)
    return loader.plan(CLIENT, files, name, event.matcher_value), event


def conclude(event: Event, plan: Sequence[Call], answers: Sequence[Answer]) -> tuple[Reply, list[Outcome]]:
    """Merge answers into the reply; a strict handler's fault becomes a refusal.

    Args:
        event: the event that was answered.
        plan: the calls it made.
        answers: what came of them.

    Returns:
        The reply, and the outcomes it was merged from, in order.
    """
    said = [outcome for _, outcome in _said(event, plan, answers)]
    reply = CLIENT.merge(event.hook_event_name, said)
    missing = "" if reply.stdout else CLIENT.unanswered(event.hook_event_name)
    if missing:  # the registered command fails with these words
        reply = replace(reply, stderr="".join(f"{given.label} {given.fault or missing}\n" for given in answers))
    return reply, said


def labels(event: Event, plan: Sequence[Call], answers: Sequence[Answer]) -> list[str]:
    """Return who said each of the outcomes that `conclude` merges, in the same order."""
    return [label for label, _ in _said(event, plan, answers)]


def _said(event: Event, plan: Sequence[Call], answers: Sequence[Answer]) -> list[tuple[str, Outcome]]:
    strict = {call.label: call.file.path for call in plan if call.route.strict}
    changes = _changes(event, answers)
    said: list[tuple[str, Outcome]] = []
    for position, given in enumerate(answers):
        # An approval holds for the input that its handler saw, not for what another one made of it afterwards.
        stale = any(later > position and answers[later].label != given.label for later in changes)
        said += [(given.label, one) for one in given.outcomes if not (stale and one.kind == "allow")]
        if given.fault and given.label in strict:
            root = strict[given.label].parent.parent.parent  # of ROOT/.claude/handlers/x.py
            said.append((given.label, refusal(event.hook_event_name, f"{given.label} {given.fault}", str(root))))
    return said


def refusal(event: str, fault: str, root: str) -> Outcome:
    """Say no in a strict handler's place (only on the four events where strict is possible).

    Args:
        event: the event's name.
        fault: which handler could not check it, and why: `user/guard.py: on_pre_tool_use raised ValueError`.
        root: the root of the project, if it is a project's handler.
    """
    from shlex import join

    from holdfast.plugins import strictness

    place, _, name = fault.partition(":")[0].partition("/")
    lift = ["untrust", "--project", root, name] if place == "project" else ["off", name.removesuffix(".py")]
    # Without a name nobody knows which handlers are strict: their memory cannot be read (`strictness.guarding`).
    lift = ["holdfast", "handlers", *lift] if name else ["rm", "-r", str(strictness.memory_file())]
    reason = f"Refused, because a strict handler could not check it: {fault}."
    if "holdfast handlers " not in fault:  # a handler that is gone or broken names what lifts it
        reason += f" To see more, run in a terminal: holdfast handlers check. To do without it: {join(lift)}."
    reason += f" Log: {paths.log_file()}"
    return CLIENT.refusal(event, reason)


def judge_again(
    judge: Callable[[Sequence[Call]], Sequence[Answer]],
    event: Event,
    plan: Sequence[Call],
    answers: Sequence[Answer],
) -> list[Answer]:
    """Have strict handlers judge the final input where another handler changed it after they had judged.

    One that changes the input in its turn has the others judge again, until every strict handler has seen what will
    run. If they never agree, those that have not seen it refuse.

    Args:
        judge: calls some of the plan again, on the event as changed so far.
        event: the event as it came.
        plan: the calls that were made.
        answers: what came of them, in the plan's order.

    Returns:
        What the further judgements add to the answers.
    """
    strict = [call for call in plan if call.route.strict]
    added: list[Answer] = []
    unaware = _unaware(event, strict, answers)
    for _ in range(len(strict) + 1):
        if not unaware:
            return added
        added += [_without_repeats(given) for given in judge(unaware)]
        unaware = _unaware(event, strict, [*answers, *added])
    from holdfast.dispatch.calls import Answer

    never = "was not asked about the final input: strict handlers kept changing each other's"
    return added + [Answer(call.label, fault=never, ran=False) for call in unaware]


def _unaware(event: Event, strict: Sequence[Call], answers: Sequence[Answer]) -> list[Call]:
    """Return the strict calls whose last judgement came before another handler's change of the input."""
    changes = _changes(event, answers)
    if not changes:
        return []
    judged = {given.label: position for position, given in enumerate(answers)}
    return [call for call in strict if judged[call.label] < changes[-1]]


def _changes(event: Event, answers: Sequence[Answer]) -> list[int]:
    """Return the positions of the answers that made another input of the one before them."""
    present, found = CLIENT.given_input(event), []
    for position, given in enumerate(answers):
        values = [outcome.value for outcome in given.outcomes if outcome.kind == "change_input"]
        if values and values[-1] != present:
            found.append(position)
            present = values[-1]
    return found


def _without_repeats(given: Answer) -> Answer:
    """Keep of a further judgement what decides the call: what was told once is not told again."""
    repeats = ("advise", "tell_user", "terminal")
    return replace(given, outcomes=tuple(one for one in given.outcomes if one.kind not in repeats))


def _read(argument: str | None, data: bytearray) -> dict[str, Any] | None:
    """Read the payload into `data`, too; None, with a log line that says what came, when it is not for us.

    Raises:
        IntakeError: it cannot be read.
        EventError: it is the client's and names no event.
    """
    try:
        payload = intake.read(0, data)
    except intake.IntakeError:
        name = _name(intake.head(data), argument)
        if name in CLIENT.STRICT_EVENTS and os.environ.get(CLIENT.ROOT_VARIABLE):
            loader.find(CLIENT, open_project(os.environ), name)  # remembers the guards that no event has shown us yet
        raise
    reason = CLIENT.foreign(payload, os.environ)
    named = payload.get(CLIENT.EVENT_KEY)
    if not reason and _name(payload, None) is None:
        if argument in CLIENT.STRICT_EVENTS:
            raise EventError(f"the payload's {CLIENT.EVENT_KEY!r} is {named!r}, but {argument} is registered")
        reason = f"unknown event {named!r}"
    if reason:
        log.write("info", f"{argument or 'event'} ignored: {reason}")
        return None
    return payload


def _name(head: Mapping[str, Any], argument: str | None) -> str | None:
    """Return the event's name, by the payload if it names one we know, else by the command line."""
    named = head.get(CLIENT.EVENT_KEY)
    return named if isinstance(named, str) and named in CLIENT.EVENTS else argument


def _fail(error: BaseException, argument: str | None, data: bytearray, streams: output.Streams | None) -> None:
    """Log what kept an event from being answered, and refuse the event if a strict handler is known for it.

    Raises:
        BaseException: the refusal could not be given.
    """
    what = argument or "an event"
    if isinstance(error, _Ended):
        why = "the client ended it before it was answered"
        log.write("warning", f"{what} was ended before it was answered")
    elif isinstance(error, _Overdue):
        why = "its time was up before it was answered"
        log.write("warning", f"{what} was not answered: its time was up")
    elif isinstance(error, HoldfastError):
        why = str(error)
        log.write("warning", f"{what} not dispatched: {error}")
    else:
        why = f"Holdfast failed ({type(error).__name__})"
        log.write("error", f"{what} failed inside Holdfast: {type(error).__name__}: {error}")
    head = intake.head(data)
    name = _name(head, argument)
    if name is None or name not in CLIENT.STRICT_EVENTS or CLIENT.foreign(head, os.environ, whole=False):
        return
    if streams and not streams.answerable():
        return
    from holdfast.plugins import strictness

    root = os.environ[CLIENT.ROOT_VARIABLE]
    guards = strictness.guarding(CLIENT, name, CLIENT.matched(name, head), root)
    if guards:
        reply = CLIENT.merge(name, [refusal(name, f"{', '.join(guards)}: {why}", paths.real_root(root))])
        (streams or output.Streams()).write(reply)


def age() -> float:
    """Return the seconds since this process was started, for the client's time runs from then on."""
    try:
        ticks = Path("/proc/self/stat").read_text("utf-8").rpartition(")")[2].split()[19]  # proc(5): starttime
        return time.clock_gettime(time.CLOCK_BOOTTIME) - int(ticks) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError, IndexError):  # no Linux
        return time.process_time()


def _watch(at: float) -> None:
    """Interrupt this process with `_Overdue` at a moment of `time.monotonic()`, in place of an earlier one."""
    signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, max(at - time.monotonic(), 0.001), _AGAIN_S)


def _unwatch() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)


def _ring(signum: int, frame: object) -> None:
    raise _Overdue


def _end(signum: int, frame: object) -> None:
    raise _Ended

"""From an event on stdin to a reply on stdout; the one boundary that turns exceptions into exit codes."""

from __future__ import annotations

import gc
import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast import costs, events, faults, intake, loader, log, pairing, paths, replying
from holdfast.events.errors import EventError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from holdfast.calls import Answer
    from holdfast.config import HandlersSection
    from holdfast.events.event import Event
    from holdfast.loader import Call, HandlerFile
    from holdfast.merging import Reply
    from holdfast.outcomes import Outcome
    from holdfast.project import Project
    from holdfast.spare import Spare

READ_LIMIT = 20.0  # seconds the client has to write the payload and close stdin
LONGEST_START = 1.0  # seconds of a process's age that count; one that is older was not started for this event
MARGIN = 0.8  # the share of the client's own time limit that we use, so that our reply comes before its end


class _Ended(BaseException):
    """The client ended us, or stdin never came."""


def main(argument: str | None = None, entry: str = "") -> int:
    """Answer one event in this process, and have a server started for those to come; never raises.

    Args:
        argument: the event name on the command line, if any; the payload's own name wins.
        entry: the entrypoint's path, where it is one that a server can answer for.

    Returns:
        The exit code: 0 whatever happens inside, or 2 where a handler blocks TeammateIdle or TaskCompleted.
    """
    gc.disable()  # there is little to collect in a process this short, and much to look through while modules load
    code = dispatch(argument, replying.Streams, time.monotonic() - min(age(), LONGEST_START))
    passed("over")
    if entry:
        from holdfast import relay

        if not relay.off(os.environb):  # what else switches the server off is `standby`'s to find out
            from holdfast import standby

            standby.start(entry)
    return code


def dispatch(
    argument: str | None,
    take: Callable[[], replying.Streams],
    started: float,
    spare: Spare | None = None,
) -> int:
    """Answer the event on stdin; never raises.

    Args:
        argument: the event name on the command line, if any; the payload's own name wins.
        take: takes the client's streams.
        started: `time.monotonic()` when the event came.
        spare: a child for its handlers that waits for the payload (`ahead`).

    Returns:
        The exit code.
    """
    try:
        passed("begun")
        streams = take()
        signal.signal(signal.SIGTERM, _end)
        payload = _read(argument, streams)
        passed("read")
        if not payload:
            return 0
        try:
            with pairing.once(payload, os.environ) as mine:
                return answer(payload, os.environ, started, streams, spare) if mine else 0
        except EventError as error:
            log.write("warning", f"{argument or 'event'} not dispatched: {error}")
            _refuse_unseen(str(error), payload, argument, streams)
    except _Ended:
        log.write("warning", f"{argument or 'an event'} was ended before it was answered")
    except BaseException as error:  # noqa: BLE001 - fail open: our own bug never blocks a session
        log.write("error", f"{argument or 'an event'} failed inside Holdfast: {type(error).__name__}: {error}")
    return 0


def answer(
    payload: dict[str, Any],
    environ: Mapping[str, str],
    started: float,
    streams: replying.Streams,
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
    from holdfast.context import Context
    from holdfast.isolation import Isolated

    limits = project.config.handlers
    isolated = Isolated(
        *(event, Context(project, environ), limits.timeout, deadline(event, limits, started)),
        private=streams.private,
        spare=spare.child if spare else None,
    )
    try:
        answers = isolated.run(plan)
        answers += judge_again(isolated.judge, plan, answers)
        passed("answered", answers)
        reply, said = conclude(event, plan, answers)
        replying.write_environment(reply, environ)
        streams.write(reply)
        passed("written")
        isolated.deliver([said[position] for position in reply.delivered])
        passed("delivered")
        faults.note_printed(event, plan, isolated.printed, project)
        faults.note_answers(event, plan, answers, project)
        costs.note_after(project, event, costs.of(reply, labels(event, plan, answers)), streams, reply.exit_code)
        isolated.close()
    except BaseException:
        isolated.abandon()
        raise
    return reply.exit_code


def passed(point: str, answers: Sequence[Answer] = (), at: float | None = None) -> None:
    """Note, where somebody wants to know (`tracing`, for `holdfast profile`), that the event came to a point.

    Args:
        point: one of `tracing.POINTS`; nothing is noted after the last one.
        answers: what its handlers have answered so far.
        at: when it came there (`time.monotonic()`); now by default.
    """
    if "HOLDFAST_TRACE" in os.environ:
        from holdfast import tracing

        tracing.note(point, [(given.label, given.moments, given.fault) for given in answers], at)


def open_project(environ: Mapping[str, str], *, tell: bool = True) -> Project:
    """Open the project of `CLAUDE_PROJECT_DIR`, with its configuration as far as it is trusted.

    Args:
        environ: the hook's environment.
        tell: whether what is wrong with the configuration goes to the log.

    Raises:
        KeyError: the environment names no project.
    """
    from holdfast import trust
    from holdfast.project import Project

    root = Path(environ["CLAUDE_PROJECT_DIR"])
    return Project.open(root, trusted=trust.config_trusted(root), tell=tell)


def deadline(event: Event, limits: HandlersSection, started: float) -> float:
    """Return `time.monotonic()` at which an event that came at `started` is to be answered."""
    return started + min(limits.deadline, type(event).deadline * MARGIN)


def prepare(payload: Mapping[str, Any], project: Project) -> tuple[list[Call], Event | None]:
    """Choose the handlers a payload calls, and remember those of its event that cannot be used.

    Args:
        payload: one JSON object, as the client sent it.
        project: whose handlers.

    Returns:
        The plan and the event; an empty plan and None when nobody wants it.

    Raises:
        EventError: the payload lacks what its event cannot be without.
    """
    name, tool = payload["hook_event_name"], payload.get("tool_name")
    found = loader.find(project, name, tool if isinstance(tool, str) else None)
    faults.note_unusable(name, found, project)
    return choose(payload, found)


def choose(payload: Mapping[str, Any], found: Sequence[HandlerFile]) -> tuple[list[Call], Event | None]:
    """Choose of the handlers that were found those a payload calls; only if there are any read it as a typed event."""
    name = payload["hook_event_name"]
    files = [file for file in found if any(route.event == name for route in file.routes)]
    if not any(file.active for file in files):
        return [], None
    event = events.parse(payload)
    return loader.plan(files, name, event.matcher_value), event


def conclude(event: Event, plan: Sequence[Call], answers: Sequence[Answer]) -> tuple[Reply, list[Outcome]]:
    """Merge answers into the reply; a strict handler's fault becomes a refusal.

    Args:
        event: the event that was answered.
        plan: the calls it made.
        answers: what came of them.

    Returns:
        The reply, and the outcomes it was merged from, in order.
    """
    from holdfast.merging import merge

    said = [outcome for _, outcome in _said(event, plan, answers)]
    return merge(event.hook_event_name, said), said


def labels(event: Event, plan: Sequence[Call], answers: Sequence[Answer]) -> list[str]:
    """Return who said each of the outcomes that `conclude` merges, in the same order."""
    return [label for label, _ in _said(event, plan, answers)]


def _said(event: Event, plan: Sequence[Call], answers: Sequence[Answer]) -> list[tuple[str, Outcome]]:
    strict = {call.label for call in plan if call.route.strict}
    said: list[tuple[str, Outcome]] = []
    for given in answers:
        said += [(given.label, outcome) for outcome in given.outcomes]
        if given.fault and given.label in strict:
            said.append((given.label, refusal(event.hook_event_name, f"{given.label} {given.fault}")))
    return said


def refusal(event: str, fault: str) -> Outcome:
    """Say no in a strict handler's place (only on the four events where strict is possible)."""
    from holdfast.outcomes import block, deny

    reason = f"refused because a strict handler could not judge it: {fault}; see {paths.log_file()}"
    return deny(reason) if event in ("PreToolUse", "PermissionRequest") else block(reason)


def judge_again(
    judge: Callable[[Sequence[Call]], Sequence[Answer]], plan: Sequence[Call], answers: Sequence[Answer]
) -> list[Answer]:
    """Let strict handlers judge the final input if a later handler changed it after they had judged.

    Args:
        judge: calls some of the plan again, on the event as changed so far.
        plan: the calls that were made.
        answers: what came of them, in the plan's order.

    Returns:
        What a second judgement may add to the answers.
    """
    labels = [given.label for given in answers]
    changes = [i for i, given in enumerate(answers) if any(o.kind == "change_input" for o in given.outcomes)]
    if not changes:
        return []
    last = changes[-1]
    earlier = [call for call in plan if call.route.strict and labels.index(call.label) < last]
    return [_refusals_only(given) for given in judge(earlier)]


def _refusals_only(given: Answer) -> Answer:
    """Keep what a second judgement may add: a refusal, a question, a corrected input; not the same advice twice."""
    return replace(
        given, outcomes=tuple(o for o in given.outcomes if o.kind in ("deny", "ask", "defer", "change_input"))
    )


def _read(argument: str | None, streams: replying.Streams) -> dict[str, Any] | None:
    """Read the payload; None, with a log line that says what came, when it is not for us."""
    signal.signal(signal.SIGALRM, _end)
    signal.setitimer(signal.ITIMER_REAL, READ_LIMIT)
    try:
        payload = intake.read(0)
    except intake.Oversize as error:
        log.write("warning", f"{argument or 'event'} not dispatched: {error}")
        _refuse_unseen(str(error), error.head, argument, streams)
        return None
    except intake.IntakeError as error:
        log.write("warning", f"{argument or 'event'} not dispatched: {error}")
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    reason = intake.foreign(payload, os.environ)
    if not reason and str(payload.get("hook_event_name")) not in events.EVENTS:
        reason = f"unknown event {payload.get('hook_event_name')!r}"
    if reason:
        log.write("info", f"{argument or 'event'} ignored: {reason}")
        return None
    return payload


def _refuse_unseen(reason: str, head: Mapping[str, Any], argument: str | None, streams: replying.Streams) -> None:
    """A call that cannot be shown to a strict handler which would have judged it is refused; any other passes."""
    from holdfast.merging import merge
    from holdfast.scan import STRICT_EVENTS

    name = head.get("hook_event_name") or argument
    if name not in STRICT_EVENTS or not os.environ.get("CLAUDE_PROJECT_DIR"):
        return
    tool = head.get("tool_name")
    plan = loader.plan(loader.find(open_project(os.environ)), name, tool if isinstance(tool, str) else None)
    guards = [call.label for call in plan if call.route.strict]
    if guards:
        streams.write(merge(name, [refusal(name, f"{', '.join(guards)}: {reason}")]))


def age() -> float:
    """Return the seconds since this process was started, for the client's time runs from then on."""
    try:
        ticks = Path("/proc/self/stat").read_text("utf-8").rpartition(")")[2].split()[19]  # proc(5): starttime
        return time.clock_gettime(time.CLOCK_BOOTTIME) - int(ticks) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError, IndexError):  # no Linux
        return time.process_time()


def _end(signum: int, frame: object) -> None:
    raise _Ended

"""Faults and actions of the handlers that an event called: what is logged, and what the user sees."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from holdfast import log
from holdfast.dispatch import faults
from holdfast.dispatch.calls import Answer
from holdfast.errors import command_line
from holdfast.plugins import activity, discovery, strict_memory
from holdfast.plugins.outcomes import tell_user

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from holdfast.dispatch.client import Client, Event
    from holdfast.plugins.discovery import HandlerFile
    from holdfast.plugins.hooks import Hooks
    from holdfast.plugins.loader import Call
    from holdfast.project import Project

_MESSAGES_AT_ONCE = 5
_SAYS = " says: "


class Notice(NamedTuple):
    """Something that a handler did and that goes into the log.

    Attributes:
        level: the level of its line in the log.
        label: the call's or file's name in messages.
        text: what it did, as a sentence without a subject.
        file: the handler file in the message to the user; None if the log is enough.
        detail: more for the log.
        about: distinguishes its message from others about the same file; the user gets each once.
    """

    level: log.Level
    label: str
    text: str
    file: HandlerFile | None = None
    detail: str = ""
    about: str = ""


def of_answers(plan: Sequence[Call], answers: Sequence[Answer], printed: Mapping[str, bytearray]) -> list[Notice]:
    """Return the notices about an event's handlers.

    | what | logged as | user sees |
    |---|---|---|
    | it was called | debug, with its time | no |
    | an outcome was dropped | info | no |
    | it printed, which would break the reply | warning | yes |
    | it failed | error | yes |
    | no time was left for it, which is another's fault | error | no |
    | it has failed so often that it is left out | warning | yes |

    Args:
        plan: the event's calls.
        answers: their answers.
        printed: label → what the handler printed.
    """
    files = {call.label: call.file for call in plan}
    found: list[Notice] = []
    for label, raw in printed.items():
        if label in files and (text := raw.decode(errors="replace").strip()):
            found.append(
                Notice(
                    "warning",
                    label,
                    "printed text, which nobody sees; use context.log()",
                    files[label],
                    text,
                )
            )
    for answer in answers:
        if answer.seconds is not None:
            found.append(Notice("debug", answer.label, f"took {answer.seconds * 1000:.0f} ms"))
        for kind, reason in answer.dropped:
            found.append(Notice("info", answer.label, f"returned {kind}, which is dropped: {reason}"))
        if answer.fault:
            found.append(Notice("error", answer.label, answer.fault, files[answer.label] if answer.ran else None))
    for call in plan:
        failed = any(answer.fault and answer.ran and answer.label == call.label for answer in answers)
        if (
            failed
            and call.route.on_failure == "skip"
            and activity.failures(call) + 1 == activity.FAILURES_IN_A_ROW
            and not call.route.strict
        ):
            rest = f"has failed {activity.FAILURES_IN_A_ROW} times in a row, so it is left out for"
            again = command_line("handlers", "on", call.file.name)
            text = f"{rest} {activity.REST_S / 60:.0f} minutes; to run it now: {again}"
            found.append(Notice("warning", call.label, text, call.file, about="rest"))
    return found


def left_out(call: Call) -> str:
    """Return why a call isn't made, if its file has failed too often in a row and no failure of it refuses; else ""."""
    if call.route.strict or call.route.on_failure != "skip" or call.file.place == "shipped":
        return ""
    end = activity.rests_until(call)
    if end is None:
        return ""
    pause = f"left out until {end:%H:%M} UTC, after {activity.FAILURES_IN_A_ROW} failures in a row"
    return f"{pause}; to run it now: {command_line('handlers', 'on', call.file.name)}"


def note_activity(plan: Sequence[Call], answers: Sequence[Answer], found: Sequence[Notice]) -> None:
    """Note which functions ran, and what they did wrong; of shipped ones only that.

    Args:
        plan: the event's calls.
        answers: their answers.
        found: what `of_answers` returned.
    """
    ran = {answer.label for answer in answers if answer.ran}
    failed = {answer.label for answer in answers if answer.ran and answer.fault}
    for call in plan:
        wrong = [each.text for each in found if each.label == call.label and each.file and not each.about]
        if call.label in ran and (wrong or call.file.place != "shipped" or activity.last_run(call)):
            activity.note(call, wrong, failed=call.label in failed)


def record(event: str, found: Iterable[Notice], **fields: object) -> None:
    """Log the notices about an event's handlers; `fields` are more fields of the lines."""
    for notice in found:
        detail = f": {notice.detail}" if notice.detail else ""
        log.write(notice.level, f"{event}: {notice.label} {notice.text}{detail}", **fields)


def keep_for_user(session: str, answers: Iterable[Answer]) -> list[Answer]:
    """Queue the messages to the user that came from the background, because the client shows those to the model.

    The session's next event shows them. Returns the answers without them.
    """
    left, messages = [], dict[str, str]()
    for answer in answers:
        texts = [outcome.text for outcome in answer.outcomes if outcome.kind == "tell_user"]
        messages |= {
            f"{faults.REPEATABLE}{time.time_ns()} {len(messages)}": f"{answer.label}{_SAYS}{text}" for text in texts
        }
        left.append(replace(answer, outcomes=tuple(each for each in answer.outcomes if each.kind != "tell_user")))
    faults.unseen(session, messages, now=False)
    return left


def tell(client: Client, event: Event, found: Iterable[Notice], *, now: bool = True) -> list[Answer]:
    """Return an answer that tells the user about handlers' faults, once per session and file; empty if there are none.

    If the event's reply doesn't reach the user, the message waits for the session's next event. Without faults, this
    only looks for one file.

    Args:
        client: the client that sent the event.
        event: the event that was answered.
        found: what `of_answers` returned.
        now: whether this event may tell the user.
    """
    messages = {f"{faults.key(each.file)}{each.about}": f"{each.label} {each.text}" for each in found if each.file}
    now = now and "tell_user" in client.EVENTS[event.hook_event_name].accepts
    lines = faults.unseen(event.session_id, messages, now=now)
    if not lines:
        return []
    shown = [f"Holdfast: {line}" for line in lines[:_MESSAGES_AT_ONCE]]
    if len(lines) > len(shown):
        shown.append(f"Holdfast: {len(lines) - len(shown)} more messages")
    if not all(_SAYS in line for line in lines):
        shown.append("More: holdfast handlers check")
    return [Answer("holdfast", (tell_user("\n".join(shown)),))]


def note_unusable(
    hooks: Hooks, event: str, value: str | None, files: Sequence[HandlerFile], project: Project, session: object
) -> None:
    """Queue a message for the session's user about handler files that can't be called as they are.

    A fault in a file's text is also logged and remembered, once for each content. A trusted file that changed is only
    worth a message if it would have been called, and if it doesn't refuse: its refusal says so already.

    Args:
        hooks: the client's hooks.
        event: the event's name.
        value: the value of its matcher field; None if it isn't known.
        files: the handler files that matter for the event.
        project: the event's project.
        session: the session's id.
    """
    messages: dict[str, str] = {}
    for file in files:
        if file.active and file.faults and not faults.is_known(session, file):
            label = f"{file.place}/{file.path.name}"
            record(event, [Notice("error", label, "; ".join(file.faults))])
            messages[faults.key(file)] = f"{label}: {file.faults[0]}"
        elif file.changed and not file.active and not faults.is_known(session, file):
            routes = discovery.trusted_routes(hooks, file)
            if any(strict_memory.selects(hooks, route, event, value) for route in routes):
                changed = file.untrusted_helper or file.path.name
                command = command_line("handlers", "trust", "--project", str(file.path.parents[2]), changed)
                messages[faults.key(file)] = (
                    f"project/{file.path.name} {file.distrust}. To see the change and trust it: {command}"
                )
    if isinstance(session, str):
        faults.unseen(session, messages, now=False)

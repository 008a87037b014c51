"""How an event ends: the handlers' answers become one reply, in which nothing passes a strict handler unseen."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import paths
from holdfast.errors import command_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from holdfast.dispatch.calls import Answer
    from holdfast.dispatch.client import Client, Event
    from holdfast.dispatch.output import Reply
    from holdfast.plugins.loader import Call
    from holdfast.plugins.outcomes import Outcome

REPEATS = ("advise", "tell_user", "terminal")  # what a handler that is called again has said the first time
NAMED = ("deny", "ask", "block")  # the reasons that end with the handler's name
CHANGES = ("change_input", "change_output")  # the last one in running order includes the others
DECISIONS = ("deny", "ask", "allow", "defer", "block", "change_input", "change_output")
STALE = "another handler changed the input afterwards"
ADVICE = ("advise", "force_turn")  # what the client's size limit may cut
CUT = "cut to fit the client's size limit"


def conclude(
    client: Client, event: Event, plan: Sequence[Call], answers: Sequence[Answer]
) -> tuple[Reply, list[tuple[str, Outcome]], list[dict[str, Any]]]:
    """Merge answers into the reply; a strict handler's fault becomes a refusal.

    Args:
        client: the client that sent the event.
        event: the event that was answered.
        plan: its calls.
        answers: their answers, in running order.

    Returns:
        The reply; what it was merged from, in order: each outcome after the label of its handler; and the decisions
        for the log (`costs.note`).
    """
    said, decided = _said(client, event, plan, answers)
    reply = client.merge(event.hook_event_name, [outcome for _, outcome in said])
    missing = "" if reply.stdout else client.unanswered(event.hook_event_name)
    if missing:  # the registered command fails with this text
        reply = replace(reply, stderr="".join(f"{given.label} {given.fault or missing}\n" for given in answers))
    for position, (label, outcome) in enumerate(said):
        if outcome.kind in ADVICE and position not in reply.delivered:
            decided.append(_Decision(_name(label), outcome.kind, dropped=CUT))
    return reply, said, _as_json(plan, answers, decided)


class _Decision(NamedTuple):
    """What a handler decided: its name, the outcome's kind, its reason, and why it doesn't count, or empty."""

    handler: str
    outcome: str
    reason: str = ""
    dropped: str = ""


def _said(
    client: Client, event: Event, plan: Sequence[Call], answers: Sequence[Answer]
) -> tuple[list[tuple[str, Outcome]], list[_Decision]]:
    """Return the outcomes to merge, each after the label of its handler, and what was decided, both as planned."""
    strict = {call.label: call.file.path for call in plan if call.route.strict}
    changes = _changes(client, event, answers)
    said: list[tuple[str, Outcome]] = []
    decided: list[_Decision] = []
    for position, given in enumerate(answers):
        name = _name(given.label)
        # An approval holds for the input that its handler saw, not for another handler's later change.
        stale = any(later > position and answers[later].label != given.label for later in changes)
        for one in given.outcomes:
            if stale and one.kind == "allow":
                decided.append(_Decision(name, one.kind, dropped=STALE))
                continue
            said.append((given.label, _named(name, one)))
            if one.kind in DECISIONS:
                decided.append(_Decision(name, one.kind, one.text))
        decided += [_Decision(name, kind, dropped=why) for kind, why in given.dropped]
        fault = given.fault or ("changed the input, which it can't do here" if _lost_change(given) else "")
        if fault and given.label in strict:
            root = strict[given.label].parent.parent.parent  # of ROOT/.claude/handlers/x.py
            named = f"{given.label} {fault}"
            said.append((given.label, refusal(client, event.hook_event_name, named, str(root))))
            decided.append(_Decision(name, "refusal", fault))
    order = {call.label: position for position, call in reversed(list(enumerate(plan)))}
    names = {_name(label): position for label, position in order.items()}
    said.sort(key=lambda each: len(plan) if each[1].kind in CHANGES else order.get(each[0], len(plan)))
    decided.sort(key=lambda each: names[each.handler])
    return said, decided


def _lost_change(given: Answer) -> bool:
    """Return whether a changed input was dropped, so that what a strict handler made safe would run as it was."""
    return any(kind == "change_input" for kind, _ in given.dropped)


def _name(label: str) -> str:
    """Return the name of a call's handler: `user/guard.py`."""
    return label.partition(":")[0]


def _named(name: str, outcome: Outcome) -> Outcome:
    """Return an outcome with its handler's name at the end of the reason if it refuses or asks."""
    if outcome.kind not in NAMED:
        return outcome
    separator = "\n" if "\n" in outcome.text else " "
    return replace(outcome, text=f"{outcome.text}{separator}({name})".lstrip())


def _as_json(plan: Sequence[Call], answers: Sequence[Answer], decided: Sequence[_Decision]) -> list[dict[str, Any]]:
    """Return decisions as JSON values; the same decision of a handler that was called twice is one."""
    strict = {_name(call.label): call.route.strict for call in plan}
    moments = {_name(given.label): given.moments[-2:] for given in answers if given.moments}
    durations = {handler: round((ended - began) * 1000, 1) for handler, (began, ended) in moments.items()}
    return [
        {
            **each._asdict(),
            "place": each.handler.partition("/")[0],
            "strict": strict[each.handler],
            "duration_ms": durations.get(each.handler),
        }
        for each in dict.fromkeys(decided)
    ]


def refusal(client: Client, event: str, fault: str, root: str) -> Outcome:
    """Return the outcome that refuses an event in place of a strict handler that failed.

    Args:
        client: the client that sent the event.
        event: the event's name, one of the client's STRICT_EVENTS.
        fault: which handler failed, and why: `user/guard.py: on_pre_tool_use raised ValueError`.
        root: the project's root, for a project's handler.
    """
    from shlex import join

    from holdfast.plugins import strict_memory

    place, _, name = fault.partition(":")[0].partition("/")
    lift = ["untrust", "--project", root, name] if place == "project" else ["off", name.removesuffix(".py")]
    # No name means that the memory of strict handlers can't be read (`strict_memory.guarding`).
    command = command_line("handlers", *lift) if name else join(["rm", "-r", str(strict_memory.memory_file())])
    reason = f"Refused, because a strict handler could not check it: {fault}."
    if "holdfast handlers " not in fault:  # the fault of a missing or broken handler names the command already
        reason += f" To see more, run in a terminal: holdfast handlers check. To do without it: {command}."
    reason += f" Log: {paths.shown(str(paths.log_file()))}"
    return client.refusal(event, reason)


def judge_again(
    client: Client,
    judge: Callable[[Sequence[Call]], Sequence[Answer]],
    event: Event,
    plan: Sequence[Call],
    answers: Sequence[Answer],
) -> list[Answer]:
    """Call strict handlers again if another handler changed the input after they had judged it.

    A strict handler that changes the input itself makes the others judge again, until every strict handler has seen
    the final input. If that never happens, those that haven't seen it refuse.

    Args:
        client: the client that sent the event.
        judge: makes some of the plan's calls again, on the event as changed so far.
        event: the event as it came.
        plan: the calls that were made.
        answers: their answers, in running order.

    Returns:
        The answers to add.
    """
    strict = [call for call in plan if call.route.strict]
    added: list[Answer] = []
    unaware = _unaware(client, event, strict, answers)
    for _ in range(len(strict) + 1):
        if not unaware:
            return added
        added += [_without_repeats(given) for given in judge(unaware)]
        unaware = _unaware(client, event, strict, [*answers, *added])
    from holdfast.dispatch.calls import Answer

    never = "was not asked about the final input: strict handlers kept changing each other's"
    return added + [Answer(call.label, fault=never, ran=False) for call in unaware]


def _unaware(client: Client, event: Event, strict: Sequence[Call], answers: Sequence[Answer]) -> list[Call]:
    """Return the strict calls whose last judgement came before another handler's change of the input."""
    changes = _changes(client, event, answers)
    if not changes:
        return []
    judged = {given.label: position for position, given in enumerate(answers)}
    return [call for call in strict if judged[call.label] < changes[-1]]


def _changes(client: Client, event: Event, answers: Sequence[Answer]) -> list[int]:
    """Return the positions of the answers that changed the input."""
    present, found = client.given_input(event), []
    for position, given in enumerate(answers):
        values = [outcome.value for outcome in given.outcomes if outcome.kind == "change_input"]
        if values and values[-1] != present:
            found.append(position)
            present = values[-1]
    return found


def _without_repeats(given: Answer) -> Answer:
    """Drop messages from an answer to a repeated call, because they were given the first time."""
    return replace(given, outcomes=tuple(one for one in given.outcomes if one.kind not in REPEATS))

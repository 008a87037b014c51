"""How an event ends: the handlers' answers become one reply, and a strict handler's failure a refusal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.dispatch import strict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdfast.dispatch.calls import Answer
    from holdfast.dispatch.client import Client, Event
    from holdfast.dispatch.output import Reply
    from holdfast.plugins.loader import Call
    from holdfast.plugins.outcomes import Outcome

NAMED = ("deny", "ask", "block")  # the reasons that end with the handler's name
CHANGES = ("change_input", "change_output")  # the last one in running order includes the others
DECISIONS = ("deny", "ask", "allow", "defer", "block", "change_input", "change_output")
ADVICE = ("advise", "force_turn")  # what the client's size limit may cut
STALE = "another handler changed the input afterwards"
CUT = "cut to fit Claude Code's size limit"


class Conclusion(NamedTuple):
    """How an event ends.

    Attributes:
        reply: the merged reply.
        merged: the outcomes it was merged from, each after the label of its handler.
        decisions: what the handlers decided, as rows for the log.
    """

    reply: Reply
    merged: list[tuple[str, Outcome]]
    decisions: list[dict[str, Any]]

    @property
    def delivered(self) -> list[Outcome]:
        """The advice and messages that the reply contains in full."""
        return [self.merged[position][1] for position in self.reply.delivered]

    @property
    def units(self) -> dict[str, int]:
        """The UTF-16 units of the reply that come from each handler, by `place/name` of its file."""
        found: dict[str, int] = {}
        for position, units in self.reply.shares.items():
            if units:
                name = str(PurePath(_name(self.merged[position][0])).with_suffix(""))
                found[name] = found.get(name, 0) + units
        return found


class _Decision(NamedTuple):
    """What a handler decided: its call's label, the outcome's kind, its reason, and why it doesn't count, or empty."""

    label: str
    outcome: str
    reason: str = ""
    dropped: str = ""


def conclude(client: Client, event: Event, plan: Sequence[Call], answers: Sequence[Answer]) -> Conclusion:
    """Merge answers into the reply; a strict handler's failure becomes a refusal.

    Args:
        client: the client that sent the event.
        event: the event that was answered.
        plan: its calls.
        answers: their answers, in running order.
    """
    merged, decisions = _outcomes(client, event, plan, answers)
    reply = client.merge(event.hook_event_name, [outcome for _, outcome in merged])
    missing = "" if reply.stdout else client.unanswered(event.hook_event_name)
    if missing:  # the registered command fails with this text
        reply = replace(reply, stderr="".join(f"{answer.label} {answer.fault or missing}\n" for answer in answers))
    for position, (label, outcome) in enumerate(merged):
        if outcome.kind in ADVICE and position not in reply.delivered:
            decisions.append(_Decision(label, outcome.kind, dropped=CUT))
    return Conclusion(reply, merged, _rows(plan, answers, decisions))


def _outcomes(
    client: Client, event: Event, plan: Sequence[Call], answers: Sequence[Answer]
) -> tuple[list[tuple[str, Outcome]], list[_Decision]]:
    """Return the outcomes to merge, each after the label of its handler, in planned order; and the decisions."""
    failures = {call.label: "strict" if call.route.strict else call.route.on_failure for call in plan}
    files = {call.label: call.file.path for call in plan}
    changes = strict.input_changes(client, event, answers)
    merged: list[tuple[str, Outcome]] = []
    decisions: list[_Decision] = []
    for position, answer in enumerate(answers):
        label = answer.label
        # An approval holds for the input that its handler saw, not for another handler's later change.
        stale = any(later > position and answers[later].label != label for later in changes)
        for outcome in answer.outcomes:
            if stale and outcome.kind == "allow":
                decisions.append(_Decision(label, outcome.kind, dropped=STALE))
                continue
            merged.append((label, _named(label, outcome)))
            if outcome.kind in DECISIONS:
                decisions.append(_Decision(label, outcome.kind, outcome.text))
        decisions += [_Decision(label, kind, dropped=why) for kind, why in answer.dropped]
        policy = failures.get(label, "skip")
        if policy != "skip" and (failure := strict.failure(answer)):
            root = str(files[label].parents[2])  # of ROOT/.claude/handlers/x.py
            refusal = strict.refusal(client, event.hook_event_name, f"{label} {failure}", root, policy)
            merged.append((label, refusal))
            decisions.append(_Decision(label, "refusal", failure))
    order = _positions(plan)
    merged.sort(key=lambda each: len(plan) if each[1].kind in CHANGES else order.get(each[0], len(plan)))
    return merged, decisions


def _rows(plan: Sequence[Call], answers: Sequence[Answer], decisions: Iterable[_Decision]) -> list[dict[str, Any]]:
    """Return decisions as rows, in planned order; the same decision of a handler that was called twice is one."""
    calls, order = {call.label: call for call in plan}, _positions(plan)
    durations = {each.label: round(each.seconds * 1000, 1) for each in answers if each.seconds is not None}
    return [
        {
            "handler": _name(each.label),
            "outcome": each.outcome,
            "reason": each.reason,
            "dropped": each.dropped,
            "place": calls[each.label].file.place,
            "strict": calls[each.label].route.strict,
            "duration_ms": durations.get(each.label),
        }
        for each in sorted(dict.fromkeys(decisions), key=lambda each: order[each.label])
    ]


def _positions(plan: Sequence[Call]) -> dict[str, int]:
    return {call.label: position for position, call in enumerate(plan)}


def _name(label: str) -> str:
    """Return the name of a call's handler: `user/guard.py`."""
    return label.partition(":")[0]


def _named(label: str, outcome: Outcome) -> Outcome:
    """Return an outcome with its handler's name at the end of the reason if it refuses or asks."""
    if outcome.kind not in NAMED:
        return outcome
    separator = "\n" if "\n" in outcome.text else " "
    return replace(outcome, text=f"{outcome.text}{separator}({_name(label)})".lstrip())

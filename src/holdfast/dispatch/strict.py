"""Strict handlers: each judges the final input, and one that can't do so refuses the event."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from shlex import join
from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.dispatch.calls import Answer
from holdfast.errors import command_line
from holdfast.plugins import strict_memory
from holdfast.plugins.outcomes import ask

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from holdfast.dispatch.client import Client, Event
    from holdfast.plugins.loader import Call
    from holdfast.plugins.outcomes import Outcome

MESSAGES = ("advise", "tell_user", "terminal")  # a handler that is called again gave these the first time


def recheck(
    client: Client,
    call_again: Callable[[Sequence[Call]], Sequence[Answer]],
    event: Event,
    plan: Sequence[Call],
    answers: Sequence[Answer],
) -> list[Answer]:
    """Call strict handlers again if another handler changed the input after they had judged it.

    A strict handler that changes the input itself makes the others judge again, until every strict handler has seen
    the final input. If that never happens, those that haven't seen it refuse.

    Args:
        client: the client that sent the event.
        call_again: makes some of the plan's calls again, on the event as changed so far.
        event: the event as it came.
        plan: the calls that were made.
        answers: their answers, in running order.

    Returns:
        The answers to add.
    """
    strict = [call for call in plan if call.route.strict]
    added: list[Answer] = []
    outdated = _outdated(client, event, strict, answers)
    for _ in range(len(strict) + 1):
        if not outdated:
            return added
        for answer in call_again(outdated):
            outcomes = tuple(outcome for outcome in answer.outcomes if outcome.kind not in MESSAGES)
            added.append(replace(answer, outcomes=outcomes))
        outdated = _outdated(client, event, strict, [*answers, *added])
    never = "didn't see the final input: strict handlers kept changing each other's"
    return added + [Answer(call.label, fault=never, ran=False) for call in outdated]


def _outdated(client: Client, event: Event, strict: Sequence[Call], answers: Sequence[Answer]) -> list[Call]:
    """Return the strict calls whose last judgement came before another handler's change of the input."""
    changes = input_changes(client, event, answers)
    if not changes:
        return []
    judged = {answer.label: position for position, answer in enumerate(answers)}
    return [call for call in strict if judged[call.label] < changes[-1]]


def input_changes(client: Client, event: Event, answers: Sequence[Answer]) -> list[int]:
    """Return the positions of the answers that changed the input."""
    current = client.given_input(event)
    positions: list[int] = []
    for position, answer in enumerate(answers):
        values = [outcome.value for outcome in answer.outcomes if outcome.kind == "change_input"]
        if values and values[-1] != current:
            positions.append(position)
            current = values[-1]
    return positions


def failure(answer: Answer) -> str:
    """Return why a strict handler didn't check the event; empty if it did.

    If a changed input is dropped, what the handler made safe would run as it was.
    """
    dropped = any(kind == "change_input" for kind, _ in answer.dropped)
    return answer.fault or ("changed the input, which it can't do here" if dropped else "")


def refusal(client: Client, event: str, fault: str, root: str, on_failure: str = "strict") -> Outcome:
    """Return the outcome that refuses an event, or asks about it, in place of a handler that failed.

    Args:
        client: the client that sent the event.
        event: the event's name, one of the client's STRICT_EVENTS.
        fault: which handler failed, and why: `user/guard.py: on_pre_tool_use raised ValueError`.
        root: the project's root, for a project's handler.
        on_failure: `strict`, `deny` or `ask`.
    """
    place, _, name = fault.partition(":")[0].partition("/")
    lift = ["untrust", "--project", root, name] if place == "project" else ["off", PurePath(name).stem]
    # No name means that the memory of strict handlers can't be read (`strict_memory.guarding`).
    command = command_line("handlers", *lift) if name else join(["rm", "-r", str(strict_memory.memory_file())])
    kind = "strict handler" if on_failure == "strict" else "handler"
    refused = "Nobody has checked this, because a" if on_failure == "ask" else "Refused, because a"
    reason = f"{refused} {kind} could not check it: {fault}."
    if "holdfast handlers " not in fault:  # the fault of a missing or broken handler names the command already
        reason += f" To see more, run in a terminal: holdfast handlers check. To do without it: {command}."
    reason += f" Log: {paths.shown(str(paths.log_file()))}"
    return ask(reason) if on_failure == "ask" else client.refusal(event, reason)

"""From answers to a reply: faults of strict handlers, and judging again what was changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast import log, paths
from holdfast.clients import claude
from holdfast.clients.claude import STRICT_EVENTS
from holdfast.dispatch import conclusion, faults
from holdfast.dispatch.calls import Answer
from holdfast.events import EVENTS, parse
from holdfast.plugins import outcomes
from holdfast.plugins.loader import Call, HandlerFile
from holdfast.plugins.scan import Route
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Sequence

EVENT = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}


def planned(name: str, event: str, *, strict: bool = False) -> Call:
    """Return a planned call without a file on disk."""
    file = HandlerFile("user", name, paths.user_handlers() / f"{name}.py", b"", "", True, False)
    return Call(file, Route(event, f"on_{name}", strict=strict))


@each_row("event", EVENTS)
def test_a_fault_is_logged_on_every_event(event: str) -> None:
    """Whatever the event, a fault is one line in the log with event, handler, fault and session.

    Nothing is said, except on WorktreeCreate, which fails without a folder: there the client shows why.
    """
    smallest = {"session_id": "s1", "hook_event_name": event, "tool_name": "Bash", "tool_input": {}, "prompt": "p"}
    call = planned("a", event)

    answers = [Answer(call.label, fault="broke down")]
    reply, said, _ = conclusion.conclude(claude, parse(smallest), [call], answers)
    faults.note_answers(parse(smallest), [call], answers)

    shown = "user/a.py: on_a broke down\n" if event == "WorktreeCreate" else ""
    assert (reply.stdout, reply.stderr, reply.exit_code, said) == ("", shown, 0, [])
    assert f"error {event}: user/a.py: on_a broke down session=s1" in log.tail(1)[0]


@pytest.mark.parametrize("ran", [True, False])
def test_a_strict_handlers_fault_is_said_in_its_place_among_the_others(ran: bool) -> None:
    """What handlers said stays in their order; a strict one's refusal stands where it would have answered.

    One that had no turn, for no time was left, refuses as well.
    """
    calls = [planned("a", "PreToolUse"), planned("b", "PreToolUse", strict=True), planned("c", "PreToolUse")]
    answers = [
        Answer(calls[0].label, (outcomes.advise("first"),)),
        Answer(calls[1].label, fault="broke", ran=ran),
        Answer(calls[2].label, (outcomes.advise("last"),)),
    ]

    reply, said, _ = conclusion.conclude(claude, parse(EVENT), calls, answers)

    assert [outcome.kind for _, outcome in said] == ["advise", "deny", "advise"]
    assert [said[position][1].text for position in reply.delivered] == ["first", "last"]


@each_row("event", sorted(STRICT_EVENTS))
def test_a_refusal_has_the_form_of_its_event(event: str) -> None:
    """Tool calls and permissions are denied, prompts blocked."""
    wanted = "block" if event.startswith("UserPrompt") else "deny"

    refusal = conclusion.refusal(claude, event, "user/a.py: on_x raised ValueError", "/x")

    assert refusal.kind == wanted
    assert "user/a.py: on_x raised ValueError" in refusal.text
    assert paths.shown(str(paths.log_file())) in refusal.text


def test_of_a_second_judgement_only_what_decides_the_call_is_kept() -> None:
    """Neither the model nor the user nor the terminal is told the same once more."""
    strict, other = plan = [planned("a", "PreToolUse", strict=True), planned("b", "PreToolUse")]
    answers = [Answer(strict.label), Answer(other.label, (outcomes.change_input({"command": "pwd"}),))]
    repeated = (outcomes.advise("x"), outcomes.tell_user("y"), outcomes.terminal("\a"), outcomes.ask("sure?"))

    added = conclusion.judge_again(
        claude, lambda asked: [Answer(call.label, repeated) for call in asked], parse(EVENT), plan, answers
    )

    assert added == [Answer(strict.label, (outcomes.ask("sure?"),))]


def test_a_guard_is_asked_about_a_change_back_to_what_came() -> None:
    """It judged only what another handler had made of it in between; a value that stays the same is no change."""
    plan = [planned("a", "PreToolUse"), planned("b", "PreToolUse", strict=True), planned("c", "PreToolUse")]
    there, back = ((outcomes.change_input({"command": command}),) for command in ("pwd", "ls"))
    asked: list[list[str]] = []

    def judge(calls: Sequence[Call]) -> list[Answer]:
        asked.append([call.label for call in calls])
        return [Answer(call.label) for call in calls]

    for last in (back, there):
        answers = [Answer(plan[0].label, there), Answer(plan[1].label), Answer(plan[2].label, last)]
        conclusion.judge_again(claude, judge, parse(EVENT), plan, answers)

    assert asked == [[plan[1].label]]

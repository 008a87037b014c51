"""Several handlers of one event become one reply; each handler sees what those before it changed."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.events import EVENTS, snake
from tests import client_output
from tests.api.author import Author, handler

if TYPE_CHECKING:
    from holdfast.testing import Fired
    from tests.api.author import Authors
    from tests.processes import Place

FIELDS: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "prompt": "p", "task_id": "1"}
LINE = "x" * 99 + "\\n"
BELL, TITLE = "terminal('\\a')", "terminal('\\x1b]0;' + {0!r} * {1} + '\\a')"
# event, what the handlers answer, and what then stands in hookSpecificOutput
SPECIFIC: list[tuple[str, list[str], dict[str, Any]]] = [
    ("PostToolUse", ["advise('a')", "None", "advise('b', priority=9)"], {"additionalContext": "a\n\nb"}),
    ("PostToolUse", ["advise('Grüße ✓')"], {"additionalContext": "Grüße ✓"}),
    ("PostToolUse", ["advise('half \\ud83d')"], {"additionalContext": "half \ud83d"}),
    ("PostToolUse", ["change_output('one')", "change_output({'two': 2})"], {"updatedToolOutput": {"two": 2}}),
    ("PreToolUse", ["change_input({'a': 1})", "change_input({'b': None})"], {"updatedInput": {"b": None}}),
    ("PreToolUse", ["change_input({'a': 1})", "defer()"], {"permissionDecision": "defer"}),
    ("PreToolUse", ["[change_input({'a': 1}), allow()]"], {"updatedInput": {"a": 1}, "permissionDecision": "allow"}),
    ("PreToolUse", ["allow(' \\n')"], {"permissionDecision": "allow"}),
    (
        "PreToolUse",
        ["allow(' ')", "allow('fine')", "allow('fine')", "allow()"],
        {"permissionDecision": "allow", "permissionDecisionReason": "fine"},
    ),
    (
        "PreToolUse",
        ["deny('no')", "change_input({'a': 1})", "advise('x')"],
        {
            "permissionDecision": "deny",
            "permissionDecisionReason": "no (user/h0.py)",
            "additionalContext": "x",
        },
    ),
    (
        "PreToolUse",
        ["block('two\\nlines')", "ask('sure?')"],
        {"permissionDecision": "deny", "permissionDecisionReason": "two\nlines\n(user/h0.py)"},
    ),
    ("PermissionRequest", ["change_input({'a': 1})"], {}),
    (
        "PermissionRequest",
        ["[change_input({'a': 1}), allow(permissions=[{'type': 'x'}])]", "allow(permissions=[{'type': 'y'}])"],
        {
            "decision": {
                "behavior": "allow",
                "updatedInput": {"a": 1},
                "updatedPermissions": [{"type": "x"}, {"type": "y"}],
            }
        },
    ),
    (
        "PermissionRequest",
        ["allow()", "deny('no')"],
        {"decision": {"behavior": "deny", "message": "no (user/h1.py)"}},
    ),
    (
        "PermissionRequest",
        ["deny('no', interrupt=True)", "deny('never')", "change_input({'a': 1})"],
        {"decision": {"behavior": "deny", "message": "no (user/h0.py)\n\nnever (user/h1.py)", "interrupt": True}},
    ),
    (
        "SessionStart",
        [
            "[watch(['/a', '/b']), title('one'), initial_message('first')]",
            "[watch(['/b', '/c']), title('two'), initial_message('second'), reload_skills()]",
        ],
        {
            "watchPaths": ["/a", "/b", "/c"],
            "sessionTitle": "two",
            "initialUserMessage": "first\n\nsecond",
            "reloadSkills": True,
        },
    ),
    ("SessionStart", ["watch([])"], {}),
    ("Stop", ["force_turn('go on')"], {"additionalContext": "go on"}),
    ("Elicitation", ["answer('decline', {'a': 1})"], {"action": "decline"}),
    ("Elicitation", ["answer('accept', {})"], {"action": "accept", "content": {}}),
    ("Elicitation", ["answer('cancel')", "answer('accept', {'a': 1})"], {"action": "cancel"}),
    ("Elicitation", ["answer('cancel')", "answer('decline')", "answer('accept')"], {"action": "decline"}),
    (
        "ElicitationResult",
        ["answer('accept', {'a': 1})", "answer('accept')"],
        {"action": "accept", "content": {"a": 1}},
    ),
]
# The same for what stands beside it; the user's terminal shows what could move its cursor as an escape.
BESIDE: list[tuple[str, list[str], dict[str, Any]]] = [
    ("SessionStart", ["tell_user('plain')", "tell_user('b\\x9b')"], {"systemMessage": "plain\n\nb\\u009b"}),
    (
        "SessionStart",
        ["tell_user('a\\x1b[31m\\u202e\\u2066\\u3164')"],
        {"systemMessage": "a\\u001b[31m\\u202e\\u2066\\u3164"},
    ),
    ("Stop", ["stop('enough')"], {"continue": False, "stopReason": "enough"}),
    ("TeammateIdle", ["stop('enough')"], {"continue": False, "stopReason": "enough"}),
    (
        "Stop",  # all sequences together have room in 4,096 bytes
        [BELL, *[TITLE.format("x", 4_000)] * 2, TITLE.format("ä", 2_000), BELL],
        {"terminalSequence": f"\a\x1b]0;{'x' * 4_000}\a\a"},
    ),
    *(
        (
            event,
            ["block('one')", "block('two')"],
            {"decision": "block", "reason": "one (user/h0.py)\n\ntwo (user/h1.py)"},
        )
        for event in sorted(client_output.BLOCKABLE)
    ),
]
# Where the reply is plain text, or none
TEXT = [
    ("PreCompact", ["instruct_summary('keep A')", "instruct_summary('keep B')"], "keep A\n\nkeep B"),
    ("PreCompact", ["instruct_summary('{\"continue\": true}')"], 'Note: {"continue": true}'),
    ("PreCompact", ["instruct_summary(' \\ufeff\\u2028\\u00a0{}')"], "Note:  \ufeff\u2028\u00a0{}"),
    (
        "PreCompact",
        ["instruct_summary('x')", "block('not now')"],
        '{"decision": "block", "reason": "not now (user/h1.py)"}',
    ),
    ("PostCompact", ["tell_user('saved')"], "saved"),
    ("PostCompact", ["tell_user('{}')"], "Note: {}"),
    ("WorktreeCreate", ["worktree('/a')", "worktree('/b')"], "/b"),
    *((event, ["None", "environment({'A': '1'})"], "") for event in ("SessionStart", "Setup", "CwdChanged")),
]


@pytest.fixture
def project(author: Authors) -> Author:
    """A project with five handlers of every event, each of which answers what the event says for it."""
    body = "return eval(event.says[{0}]) if len(event.says) > {0} else None"
    return author(
        {f"h{number}": "\n".join(handler(body.format(number), snake(event)) for event in EVENTS) for number in range(5)}
    )


def fire(project: Author, event: str, says: list[str], **changes: Any) -> Fired:
    """Have the handlers answer, none of them with a fault and all with what the client accepts."""
    fired = project.fire(event, **(FIELDS | {"says": says} | changes))
    assert fired.faults == []
    client_output.assert_acceptable(event, fired.stdout)
    return fired


def test_answers_are_merged_into_one_reply(project: Author) -> None:
    """The strictest decision with its reasons and their handlers' names; texts in order; of a value the last one."""
    wrong = []
    for event, says, expected in SPECIFIC:
        fired = fire(project, event, says)
        name = {"hookEventName": event} if expected else {}
        if fired.specific != name | expected or (expected and fired.reply.keys() != {"hookSpecificOutput"}):
            wrong.append(f"{event}, {says}: {fired.stdout}")
    for event, says, expected in BESIDE:
        fired = fire(project, event, says)
        if (fired.reply, fired.exit_code) != (expected, 0):
            wrong.append(f"{event}, {says}: {fired.stdout}")
    for event, says, text in TEXT:
        fired = fire(project, event, says)
        if (fired.stdout, fired.exit_code) != (text, 0):
            wrong.append(f"{event}, {says}: {fired.stdout}")
    assert not wrong, "\n".join(wrong)


def test_the_strictest_decision_wins_in_any_order(project: Author) -> None:
    """deny > defer > ask > allow, with that decision's reasons only."""
    kinds = {
        "PreToolUse": ("deny", "defer", "ask", "allow"),
        "PreModelSwitch": ("deny", "ask", "allow"),
        "PreSkillShellCommand": ("deny", "defer", "ask"),
    }
    wrong = []
    for event, order in kinds.items():
        for says in itertools.chain(itertools.permutations(order, 2), [order[::-1]]):
            fired = fire(project, event, [f"{kind}('{kind}')" for kind in says])
            strictest = min(says, key=order.index)
            reason = fired.specific["permissionDecisionReason"].partition(" ")[0]
            if (fired.specific["permissionDecision"], reason) != (strictest, strictest):
                wrong.append(f"{event}, {says}: {fired.specific}")
    assert not wrong, "\n".join(wrong)


def test_environments_are_merged_and_the_later_value_wins(project: Author) -> None:
    """Folders keep their order, each once."""
    says = ["environment({'A': '1', 'B': '1'}, path=['/x', '/y'])", "environment({'A': '2'}, path=['/x'])"]
    fired = fire(project, "SessionStart", says)
    assert (fired.variables, fired.path, fired.stdout) == ({"A": "2", "B": "1"}, ("/x", "/y"), "")


def test_two_events_are_blocked_by_exit_code_2(place: Place) -> None:
    """The reason goes to stderr; what the user gets stands beside it. No other event ends like that."""
    for event in sorted(client_output.EXIT_CODE):
        text = "return [block('not done'), tell_user('look'), terminal('\\a')]"
        place.user_handler("h0", handler(text, snake(event)))
        place.user_handler("h1", handler("return block('really')", snake(event)))
        ended = place.fire({"hook_event_name": event, "session_id": "s", "task_id": "1", "teammate_name": "t"})
        assert (ended.exit_code, ended.stderr) == (2, "not done (user/h0.py)\n\nreally (user/h1.py)")
        assert ended.reply == {"systemMessage": "look", "terminalSequence": "\a"}


def test_a_worktree_that_nobody_made_is_explained(place: Place) -> None:
    """Each handler that named no folder is named on stderr, which the client shows with the command's failure."""
    place.user_handler("a", handler("return None", "worktree_create"))
    place.user_handler("b", handler("1 / 0", "worktree_create"))
    ended = place.fire(place.payload("WorktreeCreate"))
    assert (ended.exit_code, ended.stdout) == (0, "")
    assert ended.stderr.splitlines() == [
        "user/a.py: on_worktree_create named no folder; it has to return worktree(path)",
        "user/b.py: on_worktree_create raised ZeroDivisionError: division by zero (line 7)",
    ]


# --- how much advice fits -------------------------------------------------------------------------------------------

LONG = "{0!r} + '\\n' + '" + LINE + "' * {1}"  # of `lines + 1` lines


def advice(name: str, lines: int, options: str = "") -> str:
    """Return an answer of that many lines of 100 characters below its name."""
    return f"advise({LONG.format(name, lines)}{options})"


def test_advice_has_10000_units_in_whole_lines(project: Author) -> None:
    """What must be kept first, then by priority, then the earlier; in order, with a note of what is left out."""
    high, must = ", priority=5", ", must_keep=True"
    rows: list[tuple[list[str], list[str]]] = [
        ([advice("a", 40), advice("b", 40)], ["a", "b"]),
        ([advice("a", 90), advice("b", 90)], ["a"]),
        ([advice("a", 90), advice("b", 90, high)], ["b"]),
        ([advice("a", 90, high), advice("b", 90, must)], ["b"]),
        ([advice("a", 90, must), advice("b", 90, f"{must}, priority=1")], ["b"]),
        ([advice("a", 40, high), advice("b", 40), advice("c", 40, must)], ["a", "c"]),
        ([advice("a", 1), advice("b", 120)], ["a"]),
        (["advise('😀' * 4_700)"], ["😀"]),
        (["advise('😀' * 5_001)"], []),
        (["advise('x' * 10_001)"], []),
    ]
    wrong = []
    for says, whole in rows:
        noted = f"on_delivered=lambda: note({str(project.root / 'noted')!r}, "
        marked = [f"{text[:-1]}, {noted}'{index}'))" for index, text in enumerate(says)]
        (project.root / "noted").write_text("")
        context = fire(project, "PostToolUse", marked).context
        delivered = [says[int(index)][8:9] for index in (project.root / "noted").read_text()]
        lines = context.splitlines()
        left_out = "left out" in lines[-1]
        cut = [line for line in lines[:-1] if line and line != "x" * 99 and len(set(line)) > 1]
        if delivered != whole or left_out == (len(whole) == len(says)) or cut:
            wrong.append(f"{[text[:30] for text in says]}: {delivered}, {lines[-1]!r}, {cut}")
    assert not wrong, "\n".join(wrong)


def test_a_message_that_must_be_kept_is_kept_when_it_is_delivered(project: Author) -> None:
    """`deliver` makes outcomes of messages of `holdfast.sessions`, such as a workflow's guidance."""
    message = f"__import__('holdfast.sessions').sessions.Message({LONG.format('b', 90)}, must_keep=True)"
    context = fire(project, "PostToolUse", [advice("a", 90, ", priority=5"), f"deliver([{message}])"]).context
    assert "\n".join(["b", *["x" * 99] * 90]) in context


def test_of_advice_that_is_cut_the_first_lines_stand(project: Author) -> None:
    """And the note counts the others; a line that doesn't fit ends its text."""
    context = fire(project, "PostToolUse", ["advise('\\n'.join(f'row {n:03}' for n in range(3_000)))"]).context
    rows = context.splitlines()
    shown = [row for row in rows if row.startswith("row")]
    assert shown == [f"row {number:03}" for number in range(len(shown))]
    assert f"(+{3_000 - len(shown)} " in rows[-1]
    assert 9_000 < client_output.units(context) <= 10_000
    context = fire(project, "PostToolUse", ["advise('first\\n' + 'x' * 10_000 + '\\nlast')"]).context
    assert context.startswith("first\n") and "last" not in context


def test_notes_to_the_classifier_have_2000_units(project: Author) -> None:
    """In whole lines."""
    says = [f"classify('{name} note\\n' * 150)" for name in ("first", "second")]
    text = fire(project, "PostToolUse", says).specific["classifierContext"]
    assert 1_800 < client_output.units(text) <= 2_000
    assert text.startswith("first note\n")


# --- what the next handler sees -------------------------------------------------------------------------------------

SEEN: list[tuple[str, dict[str, Any], str, str, str]] = [
    # event, its own fields, what the first handler answers, what the second one looks at, and what it finds
    (
        "PreToolUse",
        {},
        "change_input({'command': event.tool_input['command'] + ' -l'})",
        "tool_input['command']",
        "ls -l",
    ),
    ("PreToolUse", {}, "event.tool_input.update(command='stolen')", "tool_input['command']", "ls"),
    (
        "PostToolUse",
        {"tool_response": {"stdout": "key hunter2"}},
        "change_output({'stdout': event.tool_response['stdout'].replace('hunter2', '***')})",
        "tool_response",
        "{'stdout': 'key ***'}",
    ),
    ("PostToolUse", {"tool_response": "x"}, "change_output({})", "tool_response", "{}"),
    ("PostToolUse", {"tool_response": "x"}, "change_output(0)", "tool_response", "0"),
    ("MessageDisplay", {"delta": "key hunter2"}, "display(event.delta.replace('hunter2', '*'))", "delta", "key *"),
    ("SessionStart", {"session_title": "old"}, "title('new')", "session_title", "new"),
    ("UserPromptSubmit", {"session_title": "old"}, "title('new')", "session_title", "new"),
    ("Elicitation", {}, "answer('accept', {'name': 'x'})", "content", "{'name': 'x'}"),
    (
        "ElicitationResult",
        {"action": "accept", "content": {"name": "y"}},
        "answer('decline', {**event.content, 'age': 3})",
        "content",
        "{'name': 'y', 'age': 3}",
    ),
]


def test_each_handler_sees_what_those_before_it_changed(project: Author) -> None:
    """Only as they answered it: what one does to its own copy of the event reaches nobody."""
    wrong, seen = [], project.root / "seen"
    for event, fields, first, looked_at, found in SEEN:
        seen.unlink(missing_ok=True)
        fire(project, event, [first, f"note({str(seen)!r}, str(event.{looked_at}))"], **fields)
        if seen.read_text() != found:
            wrong.append(f"{event}, {first}: {seen.read_text()}")
    assert not wrong, "\n".join(wrong)


def test_an_answer_at_fault_changes_nothing(project: Author) -> None:
    """A handler whose answer is at fault is at fault as a whole: its changed input is not seen either."""
    says = ["[change_input({'command': 'rm'}), force_turn('x')]", "advise(event.tool_input['command'])"]
    fired = project.fire("PreToolUse", **FIELDS, says=says)
    assert (fired.context, len(fired.faults)) == ("ls", 1)
    assert "updatedInput" not in fired.specific

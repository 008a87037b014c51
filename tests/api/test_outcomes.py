"""What a handler may answer: each outcome on each event, what its constructor takes, and what is no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import holdfast
from holdfast.events import EVENTS, snake
from tests import client_output
from tests.api.author import HEAD, handler

if TYPE_CHECKING:
    from holdfast.testing import Fired
    from tests.api.author import Authors

# Every constructor in use, as a handler writes it.
EXAMPLES = {
    "advise": "advise('a fact', priority=2, must_keep=True)",
    "allow": "allow('fine', permissions=[{'type': 'setMode', 'mode': 'default', 'destination': 'session'}])",
    "answer": "answer('accept', {'name': 'x'})",
    "ask": "ask('sure?')",
    "block": "block('not yet')",
    "change_input": "change_input({'command': 'ls'})",
    "change_output": "change_output({'stdout': ''})",
    "classify": "classify('harmless')",
    "defer": "defer('later')",
    "deny": "deny('no', interrupt=True)",
    "display": "display('other words')",
    "environment": "environment({'NAME': 'value'}, path=['/opt/bin'])",
    "force_turn": "force_turn('go on')",
    "initial_message": "initial_message('hello')",
    "instruct_summary": "instruct_summary('keep the phase')",
    "reload_skills": "reload_skills()",
    "retry": "retry()",
    "stop": "stop('enough')",
    "suppress_prompt": "suppress_prompt()",
    "tell_user": "tell_user('note')",
    "terminal": "terminal('\\x07')",
    "title": "title('Name')",
    "watch": "watch(['/a', '/b'])",
    "worktree": "worktree('/tmp/tree')",
}
TURNS = {*("UserPromptSubmit", "UserPromptExpansion", "PreToolUse", "PostToolUse", "PostToolUseFailure")} | {
    *("PostToolBatch", "Stop", "SubagentStop", "TaskCompleted", "TeammateIdle"),
}
# Each kind of outcome with the events on which the client honours it: the client facts §1.3, §1.4, §1.6, §1.7, §2.3,
# §4.5, and what clients 2.1.197 and 2.1.329 do with a hook's JSON, by their code.
HONOURED: dict[str, set[str]] = {
    "advise": {
        *("SessionStart", "Setup", "UserPromptSubmit", "UserPromptExpansion", "PreToolUse", "PostToolUse"),
        *("PostToolUseFailure", "PostToolBatch", "SubagentStart", "PostModelSwitch"),
    },
    "force_turn": {"Stop", "SubagentStop"},
    "instruct_summary": {"PreCompact"},
    "deny": {"PreToolUse", "PreSkillShellCommand", "PermissionRequest", "PreModelSwitch"},
    "allow": {"PreToolUse", "PermissionRequest", "PreModelSwitch"},
    "ask": {"PreToolUse", "PreSkillShellCommand", "PreModelSwitch"},
    "defer": {"PreToolUse", "PreSkillShellCommand"},
    "block": (TURNS - {"PreToolUse"}) | {"TaskCreated", "PreCompact", "ConfigChange"},
    "stop": TURNS | {"PreSkillShellCommand"},
    "change_input": {"PreToolUse", "PermissionRequest"},
    "change_output": {"PostToolUse"},
    "classify": {"PostToolUse"},
    "tell_user": TURNS
    | {"SessionStart", "Setup", "PermissionRequest", "SubagentStart", "TaskCreated", "PreModelSwitch"}
    | {"PostModelSwitch", "CwdChanged", "FileChanged", "DirectoryAdded", "PostCompact", "PreSkillShellCommand"},
    "terminal": set(EVENTS) - {"PreCompact", "PostCompact", "WorktreeCreate"},
    "environment": {"SessionStart", "Setup", "CwdChanged", "FileChanged"},
    "watch": {"SessionStart", "CwdChanged", "FileChanged"},
    "title": {"SessionStart", "UserPromptSubmit"},
    "initial_message": {"SessionStart"},
    "reload_skills": {"SessionStart"},
    "retry": {"PermissionDenied"},
    "suppress_prompt": {"UserPromptSubmit", "UserPromptExpansion"},
    "answer": {"Elicitation", "ElicitationResult"},
    "display": {"MessageDisplay"},
    "worktree": {"WorktreeCreate"},
}
# Dropped with a line in the log instead of a fault, because a handler of PreToolUse gets a skill's commands too.
# To block a call is the client's own older word for denying it.
DROPPED = {"PreSkillShellCommand": {"allow", "advise", "change_input", "block"}, "PreToolUse": {"block"}}
FIELDS: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "prompt": "p", "task_id": "1"}


def test_each_event_takes_the_outcomes_that_the_client_honours(author: Authors) -> None:
    """Each that the client honours is heard, alone too; each other is at fault, by name, with a list of those."""
    wrong = []
    for event in EVENTS:
        project = author({kind: handler(f"return {text}", snake(event)) for kind, text in EXAMPLES.items()})
        fired = project.fire(event, **FIELDS)
        accepts = {kind for kind, events in HONOURED.items() if event in events}
        faulty = {fault.partition("/")[2].partition(".")[0]: fault for fault in fired.faults}
        if set(faulty) != set(EXAMPLES) - accepts - DROPPED.get(event, set()):
            wrong.append(f"{event}, at fault: {sorted(faulty)}")
        named = {kind: f"user/{kind}.py: on_{snake(event)}: {kind}() is not accepted on {event}" for kind in faulty}
        names = f"(accepted: {', '.join(sorted(accepts))})" if accepts else ""
        wrong += [fault for kind, fault in faulty.items() if not fault.startswith(named[kind]) or names not in fault]
        wrong += unacceptable(event, fired)
    assert not wrong, "\n".join(wrong)


def test_each_outcome_is_heard_alone(author: Authors) -> None:
    """Whatever the event; only a permission's changed input needs an approval beside it."""
    wrong = []
    for event in EVENTS:
        project = author({"a": handler("return eval(event.say)", snake(event))})
        for kind in [kind for kind, events in HONOURED.items() if event in events]:
            fired = project.fire(event, **FIELDS, say=EXAMPLES[kind])
            heard = fired.stdout or fired.exit_code or fired.variables
            if bool(heard) == ((event, kind) == ("PermissionRequest", "change_input")) or fired.faults:
                wrong.append(f"{event}, {kind}: {fired}")
            wrong += unacceptable(event, fired)
    assert not wrong, "\n".join(wrong)


def unacceptable(event: str, fired: Fired) -> list[str]:
    """Return what the client would not take of a reply."""
    try:
        client_output.assert_acceptable(event, fired.stdout)
    except AssertionError as error:
        return [f"{event}: {error}: {fired.stdout}"]
    return [] if (fired.exit_code == 0 or event in client_output.EXIT_CODE) else [f"{event}: {fired}"]


def test_each_outcome_is_public_and_has_a_row() -> None:
    """A new constructor or event is missing here until its row says where the client honours it."""
    others = {"hookimpl", "command_dir", "deliver", "matches", "redact"}
    made = {name for name in holdfast.__all__ if name[0].islower()} - others
    assert made == set(EXAMPLES) == set(HONOURED)
    assert {event for events in HONOURED.values() for event in events} == set(EVENTS)
    assert {kind for event in EVENTS for kind in EVENTS[event].accepts} == set(EXAMPLES)


GOOD: dict[str, dict[str, object]] = {
    "terminal('\\a\\a')": {"terminalSequence": "\a\a"},
    "terminal('\\x1b]9;4;1;50\\a')": {"terminalSequence": "\x1b]9;4;1;50\a"},
    "terminal('\\x1b]777;notify;a;b\\x1b\\\\')": {"terminalSequence": "\x1b]777;notify;a;b\x1b\\"},
    "terminal('\\x1b]0;title\\a\\x1b]99;;x\\a')": {"terminalSequence": "\x1b]0;title\a\x1b]99;;x\a"},
    "watch([__import__('pathlib').Path('/a')])": {"hookSpecificOutput": {"watchPaths": ["/a"]}},
    "[advise('1'), None, (advise('2'), [advise('3')])]": {"hookSpecificOutput": {"additionalContext": "1\n\n2\n\n3"}},
    "None": {},
    "[]": {},
    "([None], (None,))": {},
}
TEXTS = ("advise", "tell_user", "title", "initial_message", "terminal")
BAD = {
    **{f"{kind}({text})": f"{kind}() takes" for kind in TEXTS for text in ("''", "' \\n\\t '", "None", "5", "b'x'")},
    **{
        f"terminal({text})": "Claude Code would drop"
        for text in (
            *("'hello'", "'\\x1b[2J'", "'\\x1b]52;c;eA==\\a'", "'\\x1b]9;5 done\\a'", "'\\x1b]0;open'", "'\\a\\n'"),
            *("'\\x1b]0;' + 'x' * 4_096 + '\\a'", "'\\x1b]0;' + 'ä' * 2_048 + '\\a'"),
        )
    },
    "allow(5)": "takes a string, not int",
    "display(5)": "takes a string, not int",
    "change_input({'a': object()})": "change_input() takes JSON values only",
    "change_input({'a': float('nan')})": "change_input()",
    "change_input({'a': {1, 2}})": "change_input()",
    "change_input([('a', 1)])": "change_input()",
    "change_output(None)": "change_output()",
    "change_output(float('inf'))": "change_output()",
    "allow(permissions=[object()])": "allow()",
    "answer('accept', {'a': object()})": "answer()",
    "answer('maybe')": "answer()",
    "environment({'1BAD': 'x'})": "environment()",
    "environment({'A B': 'x'})": "environment()",
    "environment({'A=B': 'x'})": "environment()",
    "environment({'Ä': 'x'})": "environment()",
    "environment({'A': 5})": "environment()",
    "environment({}, path='/one')": "environment()",
    "environment({}, path=[''])": "environment()",
    "watch('/one')": "watch()",
    "watch([''])": "watch()",
    "worktree('/a\\n/b')": "worktree()",
    "watch([1])": "watch() takes a path, not int",
    "force_turn('x', at_most=0)": "force_turn() takes a positive whole number as at_most, not 0",
    "force_turn('x', within=0)": "force_turn() takes a positive number of seconds as within, not 0",
    "advise('x', priority='high')": "advise()",
    "advise('x', on_delivered='no')": "advise()",
    "Outcome('advise', None)": "takes a string, not NoneType",
    "Outcome('nonsense')": "nonsense() is not accepted on SessionStart",
    "Outcome([])": "raised TypeError",
    "'text'": "returned str; a handler returns None, an outcome such as advise",
    "5": "returned int",
    "True": "returned bool",
    "{'decision': 'block'}": "returned dict",
    "{'set'}": "returned set",
    "iter([])": "returned list_iterator",
    "[advise('x'), 5]": "returned int",
    "advise": "returned function",
    "[advise('x'), force_turn('x')]": "force_turn() is not accepted on SessionStart",
}


def test_what_a_constructor_takes_and_what_is_no_answer(author: Authors) -> None:
    """A value that the client can't take, or that is no outcome, is the fault of that handler, and of nobody else."""
    rows = list(BAD)
    files = {f"row{number:03}": handler(f"return {text}", "session_start") for number, text in enumerate(rows)}
    fired = author(files | {"z": handler("return title('heard')", "session_start")}).fire("SessionStart")
    assert fired.specific == {"hookEventName": "SessionStart", "sessionTitle": "heard"}
    faults = {fault.partition(".py: on_session_start: ")[0]: fault for fault in fired.faults}
    wrong = [
        f"{text}: {fault}"
        for number, text in enumerate(rows)
        if not (fault := faults.get(f"user/row{number:03}", "")) or BAD[text] not in fault
    ]
    assert not wrong, "\n".join(wrong)


def test_an_answer_may_be_nothing_one_outcome_or_lists_of_them(author: Authors) -> None:
    """Nested as its author likes; and what a constructor takes stands in the reply."""
    project = author({"a": handler("return eval(event.say)", "session_start")})
    wrong = []
    for text, expected in GOOD.items():
        fired = project.fire("SessionStart", say=text)
        specific = {key: value for key, value in fired.specific.items() if key != "hookEventName"}
        got = (fired.reply | {"hookSpecificOutput": specific}) if fired.stdout else {}
        if fired.faults or got != ({"hookSpecificOutput": {}} | expected if expected else {}):
            wrong.append(f"{text}: {fired}")
    assert not wrong, "\n".join(wrong)


def test_a_fault_says_which_outcome_to_use_instead(author: Authors) -> None:
    """Where a word of another event is the usual mistake."""
    rows = {
        ("Stop", "advise('x')"): "say force_turn",
        ("SubagentStop", "advise('x')"): "say force_turn",
        ("PreCompact", "advise('x')"): "say instruct_summary",
        ("PreCompact", "tell_user('x')"): "say instruct_summary",
        ("PostCompact", "terminal('\\a')"): "whose output is plain text",
        ("WorktreeCreate", "terminal('\\a')"): "whose output is plain text",
    }
    wrong = []
    for (event, text), words in rows.items():
        faults = author({"a": handler(f"return {text}", snake(event))}).fire(event).faults
        if words not in "".join(faults):
            wrong.append(f"{event}, {text}: {faults}")
    assert not wrong, "\n".join(wrong)


def test_a_value_that_changes_after_it_was_answered_is_sent_as_it_was(author: Authors) -> None:
    """A handler may go on with its own dictionary."""
    change = f"{HEAD}@hookimpl\ndef on_pre_tool_use(event):\n    value = {{'command': 'ls', 'more': [1]}}\n"
    change += "    said = change_input(value)\n    value['more'].append(2)\n    return said\n"
    assert author({"a": change}).bash().specific["updatedInput"] == {"command": "ls", "more": [1]}

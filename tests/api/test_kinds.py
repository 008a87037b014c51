"""Handlers that aren't Python: rules in TOML, and scripts in any language."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.commandline import holdfast
from tests.torture.scratch import report

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject

    Make = Callable[..., HoldfastProject]

FOLDER = ".claude/handlers"
SCRIPT = """#!/bin/sh
# holdfast: event={event}
{body}
"""


def script(event: str, body: str) -> str:
    """Return a script that answers an event."""
    return SCRIPT.format(event=event, body=body)


ANSWERS = {
    "exit 2 refuses a call": ("PreToolUse", "echo no >&2; exit 2", "no"),
    "exit 2 blocks a prompt": ("UserPromptSubmit", "echo no >&2; exit 2", '"decision": "block", "reason": "no'),
    "JSON asks": (
        "PreToolUse",
        """echo '{"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "sure?"}}'""",
        '"permissionDecision": "ask", "permissionDecisionReason": "sure?',
    ),
    "a permission is denied": (
        "PermissionRequest",
        """echo '{"hookSpecificOutput": {"decision": {"behavior": "deny", "message": "no", "interrupt": true}}}'""",
        '"behavior": "deny", "message": "no (project/tried.sh)", "interrupt": true',
    ),
    "a permission is given with another input": (
        "PermissionRequest",
        """echo '{"hookSpecificOutput": {"decision": {"behavior": "allow", "updatedInput": {"command": "ls"}}}}'""",
        '"behavior": "allow", "updatedInput": {"command": "ls"}',
    ),
    "everything stops": (
        "PreToolUse",
        """echo '{"continue": false, "stopReason": "enough"}'""",
        '"continue": false, "stopReason": "enough',
    ),
    "context for a call": (
        "PreToolUse",
        """echo '{"hookSpecificOutput": {"additionalContext": "careful"}}'""",
        '"additionalContext": "careful"',
    ),
    "context at a stop forces a turn": (
        "Stop",
        """echo '{"hookSpecificOutput": {"additionalContext": "go on"}}'""",
        '"additionalContext": "go on',
    ),
    "text is context at a prompt": ("UserPromptSubmit", "echo hello", '"additionalContext": "hello"'),
    "silence": ("PreToolUse", "exit 0", ""),
    "it gets the event": (
        "PreToolUse",
        """grep -q '"tool_name": "Bash"' && { echo yes >&2; exit 2; }""",
        '"permissionDecision": "deny", "permissionDecisionReason": "yes',
    ),
    "its folder is named": (
        "PreToolUse",
        """[ -f "$HOLDFAST_HANDLER_DIR/tried.sh" ] && { echo there >&2; exit 2; }""",
        "there",
    ),
    "exit 1 is a fault": ("PreToolUse", "echo broken >&2; exit 1", "FAULT ended with exit code 1: broken"),
    "broken JSON is a fault": ("PreToolUse", "echo '{'", "FAULT printed something that begins like JSON"),
    "an unknown key is a fault": ("PreToolUse", """echo '{"decison": "block"}'""", "FAULT did you mean decision?"),
    "what it leaves behind holds nobody up": ("PreToolUse timeout=15", "sleep 30 & echo no >&2; exit 2", "no"),
    "text that nobody reads is a fault": ("PreToolUse", "echo hello", "FAULT print JSON"),
}


def test_a_script_answers_as_a_hook_of_the_client(holdfast_project: Make) -> None:
    """With exit code 2 and a reason, or with JSON; anything else is a fault that says what to do."""
    found = []
    for name, (event, body, expected) in ANSWERS.items():
        project = holdfast_project({".claude/handlers/tried.sh": script(event, body)})
        project.trust()
        event = event.partition(" ")[0]
        fired = project.fire(event, "PreToolUse-Bash" if event == "PreToolUse" else None)
        said = "".join(f"FAULT {fault}" for fault in fired.faults) or fired.stdout
        if (expected.removeprefix("FAULT ") not in said) or bool(said) != bool(expected):
            found.append(f"{name}: {said!r}")
    report(found)


def test_a_script_that_hangs_is_ended_at_its_limit(holdfast_project: Make) -> None:
    """Nobody waits for it, and it doesn't go on."""
    text = script("PreToolUse timeout=0.2", 'sleep 8; touch "$HOLDFAST_HANDLER_DIR/ended"')
    project = holdfast_project({".claude/handlers/tried.sh": text})
    project.trust()
    assert "took longer than its 0.2 s" in project.fire("PreToolUse", "PreToolUse-Bash").faults[0]
    assert not (project.root / ".claude/handlers/ended").exists()


def test_a_script_that_was_changed_after_it_was_hashed_does_not_run(holdfast_project: Make) -> None:
    """Neither the file itself nor the private copy of it that runs."""
    from holdfast import paths

    project = holdfast_project({".claude/handlers/tried.sh": script("PreToolUse", "echo no >&2; exit 2")})
    project.trust()
    project.fire("PreToolUse", "PreToolUse-Bash").assert_denied("no")
    copies = list(paths.state_dir().rglob("*.handler"))
    assert copies
    for path in copies:
        path.write_text(script("PreToolUse", "exit 0"))
    project.fire("PreToolUse", "PreToolUse-Bash").assert_denied("no")


RULE = """
event = "{event}"
answer = "{answer}"
text = "the rule"
{more}
"""
RULES: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "a field by glob": (
        "PreToolUse",
        'match = "Bash"\nwhen = { input.command = "rm *" }',
        {"tool_input": {"command": "rm -rf x"}},
        "deny",
    ),
    "another value": (
        "PreToolUse",
        'match = "Bash"\nwhen = { input.command = "rm *" }',
        {"tool_input": {"command": "ls"}},
        "",
    ),
    "a field by regex": (
        "UserPromptSubmit",
        "when = { field.prompt = { regex = 'secret\\d+' } }",
        {"prompt": "use secret42"},
        "block",
    ),
    "one of a list": (
        "PreToolUse",
        'when = { input.command = ["ls", "pwd"] }',
        {"tool_input": {"command": "pwd"}},
        "deny",
    ),
    "all keys must hold": (
        "PreToolUse",
        'when = { input.command = "ls", mode = "plan" }',
        {"tool_input": {"command": "ls"}, "permission_mode": "default"},
        "",
    ),
    "a mode": ("PreToolUse", 'when = { mode = ["plan", "dontAsk"] }', {"permission_mode": "plan"}, "deny"),
    "in an agent": ("PreToolUse", "when = { agent = true }", {"agent_id": "a1", "agent_type": "Explore"}, "deny"),
    "not in an agent": ("PreToolUse", "when = { agent = true }", {}, ""),
    "in the main conversation": ("PreToolUse", "when = { agent = false }", {}, "deny"),
    "not in the main conversation": (
        "PreToolUse",
        "when = { agent = false }",
        {"agent_id": "a1", "agent_type": "Explore"},
        "",
    ),
    "a type of agent": ("PreToolUse", 'when = { agent = "Exp*" }', {"agent_id": "a", "agent_type": "Explore"}, "deny"),
    "unless": (
        "PreToolUse",
        'when = { input.command = "rm *" }\nunless = { input.command = "*/tmp/*" }',
        {"tool_input": {"command": "rm /tmp/x"}},
        "",
    ),
    "no condition": ("UserPromptSubmit", "", {}, "block"),
    "a path of a command": (
        "PreToolUse",
        'when = { path = "**/.env*" }\nunless = { path = "**/.env.example" }',
        {"tool_input": {"command": "cd x && cat .env.local"}},
        "deny",
    ),
    "a path that is excepted": (
        "PreToolUse",
        'when = { path = "**/.env*" }\nunless = { path = "**/.env.example" }',
        {"tool_input": {"command": "cat .env.example"}},
        "",
    ),
    "a command with its words": (
        "PreToolUse",
        'when = { command = ["git push --force", "rm -f"] }',
        {"tool_input": {"command": "true; sudo /bin/rm -rf x"}},
        "deny",
    ),
    "another command": (
        "PreToolUse",
        'when = { command = "git push --force" }',
        {"tool_input": {"command": "git commit -m 'push --force'"}},
        "",
    ),
    "a command that can't be read": (
        "PreToolUse",
        'when = { command = "git push --force" }',
        {"tool_input": {"command": "$TOOL push --force"}},
        "ask",
    ),
    "an exception that can't be read": (
        "PreToolUse",
        'when = { input.command = "*push*" }\nunless = { command = "git push --dry-run" }',
        {"tool_input": {"command": "$TOOL push"}},
        "ask",
    ),
    "a command that can't be read, where another key doesn't hold": (
        "PreToolUse",
        'when = { command = "git push --force", mode = "plan" }',
        {"tool_input": {"command": "$TOOL push --force"}, "permission_mode": "default"},
        "",
    ),
}


def test_a_rule_answers_where_its_condition_holds(holdfast_project: Make) -> None:
    """Fields by glob or regular expression, agent or main conversation, permission mode; and exceptions."""
    found = []
    for name, (event, more, changes, expected) in RULES.items():
        answer = "deny" if event == "PreToolUse" else "block"
        project = holdfast_project({".claude/handlers/rule.toml": RULE.format(event=event, answer=answer, more=more)})
        project.trust()
        fired = project.fire(event, "PreToolUse-Bash" if event == "PreToolUse" else None, **changes)
        decision = fired.specific.get("permissionDecision") or json.loads(fired.stdout or "{}").get("decision", "")
        if decision != expected or fired.faults or ("the rule" in fired.stdout) != bool(expected):
            found.append(f"{name}: {fired.stdout!r} {fired.faults}")
    report(found)


UNREADABLE = {
    ("PreToolUse", "deny"): "ask",
    ("PreToolUse", "ask"): "ask",
    ("PreToolUse", "advise"): "",
    ("PermissionRequest", "deny"): "",  # the client asks there
    ("PostToolUse", "block"): "",
}


def test_what_a_rule_makes_of_a_command_that_can_not_be_read(holdfast_project: Make) -> None:
    """One that refuses asks, where a handler can ask; another one says nothing."""
    found = {}
    for event, answer in UNREADABLE:
        text = RULE.format(event=event, answer=answer, more='when = { command = "git push" }')
        project = holdfast_project({".claude/handlers/rule.toml": text})
        project.trust()
        fired = project.fire(event, tool_name="Bash", tool_input={"command": "$TOOL push"})
        assert not fired.faults
        found[event, answer] = fired.specific.get("permissionDecision", fired.stdout)
    assert found == UNREADABLE


FAULTS = {
    "no TOML": ("rule.toml", "event", "cannot be read as TOML"),
    "a misspelt key": ("rule.toml", RULE.format(event="Stop", answer="block", more="wen = {}"), "did you mean when?"),
    "a misspelt condition": (
        "rule.toml",
        RULE.format(event="PreToolUse", answer="deny", more='when = { paht = "x" }'),
        "when.paht: no such key; did you mean path?",
    ),
    "no regular expression": (
        "rule.toml",
        RULE.format(event="PreToolUse", answer="deny", more='when = { input.x = { regex = "(" } }'),
        "isn't a regular expression",
    ),
    "a key that is missing": ("rule.toml", 'answer = "deny"\ntext = "x"\n', "event is missing"),
    "a condition that is no table": (
        "rule.toml",
        RULE.format(event="PreToolUse", answer="deny", more='when = "x"'),
        "when is a table, such as when = { path =",
    ),
    "a misspelt regex": (
        "rule.toml",
        RULE.format(event="PreToolUse", answer="deny", more='when = { input.x = { regx = "y" } }'),
        "no such key; did you mean regex?",
    ),
    "no UTF-8": ("rule.toml", b"text = '\xff'", "isn't text in UTF-8"),
    "a field that the event lacks": (
        "rule.toml",
        RULE.format(event="UserPromptSubmit", answer="block", more='when = { field.promt = "x" }'),
        "UserPromptSubmit has no field 'promt'; did you mean prompt?",
    ),
    "no permission mode": (
        "rule.toml",
        RULE.format(event="PreToolUse", answer="deny", more='when = { mode = "plann" }'),
        "there is no mode 'plann'; did you mean plan?",
    ),
    "strict once": (
        "rule.toml",
        RULE.format(event="PreToolUse", answer="deny", more='strict = true\nonce = "turn"'),
        "strict and once exclude each other",
    ),
    "an example without an answer": (
        "tried.sh",
        "#!/bin/sh\n# holdfast: event=PreToolUse match=Bash\n# holdfast-example: ls\n",
        "line 3: an example is TEXT => ANSWER, not 'ls'",
    ),
    "an unknown event": ("rule.toml", RULE.format(event="PreTool", answer="deny", more=""), "did you mean PreToolUse?"),
    "an answer that the event refuses": (
        "rule.toml",
        RULE.format(event="PostToolUse", answer="deny", more=""),
        "deny() is not accepted on PostToolUse",
    ),
    "a matcher that selects nothing": (
        "rule.toml",
        RULE.format(event="PreToolUse", answer="deny", more='match = "bash"'),
        "never runs",
    ),
    "a tool's condition on a prompt": (
        "rule.toml",
        RULE.format(event="UserPromptSubmit", answer="block", more='when = { path = "x" }'),
        "path is of a tool's input, and UserPromptSubmit has none",
    ),
    "a tool's exception on a prompt": (
        "rule.toml",
        RULE.format(event="UserPromptSubmit", answer="block", more='unless = { command = "x" }'),
        "command is of a tool's input, and UserPromptSubmit has none",
    ),
    "a script with a misspelt option": (
        "tried.sh",
        "#!/bin/sh\n# holdfast: event=Stop mach=x\n",
        "line 2: there is no option 'mach'",
    ),
    "a script with comments of another kind": (
        "tried.js",
        "#!/usr/bin/env node\n// holdfast: event=Stop mach=x\n",
        "line 2: there is no option 'mach'",
    ),
    "an option without a value": ("tried.sh", "#!/bin/sh\n# holdfast: event=Stop match\n", "neither NAME=VALUE"),
    "a timeout that is no number": ("tried.sh", "#!/bin/sh\n# holdfast: event=Stop timeout=5s\n", "number of seconds"),
    "an event twice": (
        "tried.sh",
        "#!/bin/sh\n# holdfast: event=PreToolUse match=Bash\n# holdfast: event=PreToolUse match=Read\n",
        "PreToolUse is declared twice",
    ),
}


def test_what_is_wrong_with_a_file_is_named(holdfast_project: Make) -> None:
    """By `handlers check`, and in a script with the line."""
    found = []
    for name, (file, text, expected) in FAULTS.items():
        project = holdfast_project({f".claude/handlers/{file}": text})
        project.trust()
        checked = holdfast("handlers", "check", root=project.root, code=None)
        if expected not in checked.out or checked.code != 1:
            found.append(f"{name}: {checked.out!r}")
        (project.root / ".claude/handlers" / file).unlink()
    report(found)


def test_a_program_that_declares_no_event_is_no_handler(holdfast_project: Make) -> None:
    """It may be what a handler runs, so nothing is wrong with it; `handlers check` says that it isn't used."""
    readme = "no script\n# holdfast: event=PreToolUse match=Bash\n"
    project = holdfast_project({f"{FOLDER}/tool.sh": "#!/bin/sh\necho hello\n", f"{FOLDER}/README": readme})
    (project.root / ".claude/handlers/README").chmod(0o755)
    project.trust()
    checked = holdfast("handlers", "check", root=project.root)
    assert checked.out.count("not used: a program without a line such as `# holdfast:") == 2
    project.fire("PreToolUse", "PreToolUse-Bash").assert_not_called()


def test_a_program_that_cannot_start_is_named(holdfast_project: Make) -> None:
    """With what is wrong with its first line."""
    starts = {"#!/no/such/sh\n": "#!/no/such/sh can't be started: no such", "#!/bin/sh\r\n": "its lines end in CR LF"}
    for first, expected in starts.items():
        project = holdfast_project({".claude/handlers/tried.sh": f"{first}# holdfast: event=PreToolUse\n"})
        project.trust()
        assert expected in project.fire("PreToolUse", "PreToolUse-Bash").faults[0]


def test_a_strict_script_that_cannot_run_any_more_says_why(holdfast_project: Make) -> None:
    """And refuses."""
    project = holdfast_project({".claude/handlers/tried.sh": "#!/bin/sh\n# holdfast: event=PreToolUse strict\n"})
    project.trust()
    project.checked = False
    script = project.root / ".claude/handlers/tried.sh"
    assert project.fire("PreToolUse", "PreToolUse-Bash").stdout == ""
    script.chmod(0o644)
    assert "can't be executed any more; run chmod +x" in project.fire("PreToolUse", "PreToolUse-Bash").stdout
    script.unlink()
    script.mkdir()
    assert "is a folder now" in project.fire("PreToolUse", "PreToolUse-Bash").stdout

"""Handlers that aren't Python: rules in TOML, and scripts in any language."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.commandline import holdfast
from tests.tables import each_row
from tests.torture.scratch import report

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import Fired, HoldfastProject

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
    "a server's question is answered": (
        "Elicitation",
        """echo '{"hookSpecificOutput": {"action": "accept", "content": {"name": "x"}}}'""",
        '"action": "accept", "content": {"name": "x"}',
    ),
    "a result is blocked": ("PostToolUse", """echo '{"decision": "block"}'""", '"reason": "blocked by a hook'),
    "a call is approved": ("PreToolUse", """echo '{"decision": "approve"}'""", '"permissionDecision": "allow"'),
    "the user learns of it": ("Stop", """echo '{"systemMessage": "look"}'""", '"systemMessage": "look'),
    "a title for the terminal": (
        "Stop",
        r"""echo '{"terminalSequence": "\u001b]0;done\u0007"}'""",
        r'"terminalSequence": "\u001b]0;done\u0007"',
    ),
    "text is an instruction for the summary": ("PreCompact", "echo keep names", "keep names"),
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
    "an unknown decision is a fault": (
        "PreToolUse",
        """echo '{"hookSpecificOutput": {"permissionDecision": "block"}}'""",
        "FAULT printed permissionDecision 'block'; it is one of deny, defer, ask, allow",
    ),
    "a list is a fault": (
        "PreToolUse",
        """echo '{"hookSpecificOutput": [1]}'""",
        "FAULT printed a hookSpecificOutput that isn't an object",
    ),
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


def rule(more: str, event: str = "PreToolUse", answer: str = "deny") -> str:
    """Return a rule with some keys."""
    return f'event = "{event}"\nanswer = "{answer}"\ntext = "the rule"\n{more}\n'


PROMPT = ("UserPromptSubmit", "block")
AGENT = {"agent_id": "a1", "agent_type": "Explore"}
PLAN, DEFAULT = {"permission_mode": "plan"}, {"permission_mode": "default"}
ENV = 'when = { path = "**/.env*" }\nunless = { path = "**/.env.example" }'
PUSH = 'command = "git push --force"'
UNLESS = 'when = { input.command = "rm *" }\nunless = { input.command = "*/tmp/*" }'
RULES: list[tuple[str, str | dict[str, str], str]] = [
    ('when = { input.command = "rm *" }', "rm -rf x", "deny"),
    ('when = { input.command = "rm *" }', "ls", ""),
    ('when = { input.command = ["ls", "pwd"] }', "pwd", "deny"),
    ('when = { input.command = "*", mode = "plan" }', DEFAULT, ""),
    ('when = { mode = ["plan", "dontAsk"] }', PLAN, "deny"),
    ("when = { agent = true }", AGENT, "deny"),
    ("when = { agent = true }", {}, ""),
    ("when = { agent = false }", {}, "deny"),
    ("when = { agent = false }", AGENT, ""),
    ('when = { agent = "Exp*" }', AGENT, "deny"),
    (UNLESS, "rm /tmp/x", ""),
    (ENV, "cd x && cat .env.local", "deny"),
    (ENV, "cat .env.example", ""),
    ('when = { field.transcript = "*" }', {"transcript_path": "/no/such/file"}, "deny"),
    ('when = { field.transcript = "?*" }', {"transcript_path": "/no/such/file"}, ""),
    ('when = { command = ["git push --force", "rm -f"] }', "true; sudo /bin/rm -rf x", "deny"),
    (f"when = {{ {PUSH} }}", "git commit -m 'push --force'", ""),
    (f"when = {{ {PUSH} }}", "$TOOL push --force", "ask"),  # it can't be read
    ('when = { input.command = "*push*" }\nunless = { command = "git push --dry-run" }', "$TOOL push", "ask"),
    (f'when = {{ {PUSH}, mode = "plan" }}', "$TOOL push --force", ""),  # the other key doesn't hold
]


@each_row("more, changes, expected", RULES)
def test_a_rule_answers_where_its_condition_holds(
    holdfast_project: Make, more: str, changes: str | dict[str, str], expected: str
) -> None:
    """Fields by glob, paths and commands, agent or main conversation, permission mode; all keys hold; exceptions."""
    fired = fire(holdfast_project, rule(more), changes)
    assert fired.faults == []
    assert fired.specific.get("permissionDecision", "") == expected
    assert ("the rule" in fired.stdout) == bool(expected)


def fire(holdfast_project: Make, text: str, changes: str | dict[str, str]) -> Fired:
    """Return how a rule answers a Bash command, or one with other fields."""
    project = holdfast_project({".claude/handlers/rule.toml": text})
    project.trust()
    more: dict[str, Any] = {"tool_input": {"command": changes}} if isinstance(changes, str) else dict(changes)
    return project.fire("PreToolUse", "PreToolUse-Bash", **more)


@each_row("more", ["", r"when = { field.prompt = { regex = 'secret\d+' } }"])
def test_a_rule_blocks_a_prompt(holdfast_project: Make, more: str) -> None:
    """Without a condition, or by a field's regular expression."""
    project = holdfast_project({".claude/handlers/rule.toml": rule(more, "UserPromptSubmit", "block")})
    project.trust()
    assert json.loads(project.fire("UserPromptSubmit", prompt="use secret42").stdout)["decision"] == "block"


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
        text = rule('when = { command = "git push" }', event, answer)
        project = holdfast_project({".claude/handlers/rule.toml": text})
        project.trust()
        fired = project.fire(event, tool_name="Bash", tool_input={"command": "$TOOL push"})
        assert not fired.faults
        found[event, answer] = fired.specific.get("permissionDecision", fired.stdout)
    assert found == UNREADABLE


FAULTS: list[tuple[str, str | bytes, str]] = [
    ("rule.toml", "event", "cannot be read as TOML"),
    ("rule.toml", rule("wen = {}"), "did you mean when?"),
    ("rule.toml", rule('when = { paht = "x" }'), "when.paht: no such key; did you mean path?"),
    ("rule.toml", rule('when = { input.x = { regex = "(" } }'), "isn't a regular expression"),
    ("rule.toml", 'answer = "deny"\ntext = "x"\n', "event is missing"),
    ("rule.toml", rule('when = "x"'), "when is a table, such as when = { path ="),
    ("rule.toml", rule('when = { input.x = { regx = "y" } }'), "no such key; did you mean regex?"),
    ("rule.toml", b"text = '\xff'", "isn't text in UTF-8"),
    ("rule.toml", rule('when = { field.promt = "x" }', *PROMPT), "has no field 'promt'; did you mean prompt?"),
    ("rule.toml", rule('when = { mode = "plann" }'), "there is no mode 'plann'; did you mean plan?"),
    ("rule.toml", rule('strict = true\nonce = "turn"'), "strict and once exclude each other"),
    ("rule.toml", rule("", "PreTool"), "did you mean PreToolUse?"),
    ("rule.toml", rule("", "PostToolUse"), "deny() is not accepted on PostToolUse"),
    ("rule.toml", rule('match = "bash"'), "never runs"),
    ("rule.toml", rule('when = { path = "x" }', *PROMPT), "path is of a tool's input, and UserPromptSubmit has none"),
    ("rule.toml", rule('unless = { command = "x" }', *PROMPT), "command is of a tool's input, and UserPromptSubmit"),
    ("tried.sh", "# holdfast: event=PreToolUse\n# holdfast-example: ls\n", "an example is TEXT => ANSWER, not 'ls'"),
    ("rule.toml", rule('when = { command = "" }'), "a command has at least one word, such as `git push`"),
    ("tried.sh", "# holdfast: event='Stop\n", "cannot be read: No closing quotation"),
    ("tried.sh", "# holdfast: event=Stop mach=x\n", "line 2: there is no option 'mach'"),
    ("tried.js", "// holdfast: event=Stop mach=x\n", "line 2: there is no option 'mach'"),
    ("tried.sh", "# holdfast: event=Stop match\n", "neither NAME=VALUE"),
    ("tried.sh", "# holdfast: event=Stop timeout=5s\n", "number of seconds"),
    ("tried.sh", "# holdfast: event=Stop\n# holdfast: event=Stop match=x\n", "Stop is declared twice"),
]


@each_row("file, text, expected", FAULTS)
def test_what_is_wrong_with_a_file_is_named(
    holdfast_project: Make, file: str, text: str | bytes, expected: str
) -> None:
    """By `handlers check`, and in a script with the line."""
    if file.startswith("tried"):
        text = f"#!/bin/sh\n{text!s}"
    project = holdfast_project({f"{FOLDER}/{file}": text})
    project.trust()
    checked = holdfast("handlers", "check", root=project.root, code=1)
    assert expected in checked.out


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

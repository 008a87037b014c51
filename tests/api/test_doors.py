"""A guard on shell commands is asked at every door: tool calls of each shell, Monitor, and commands inside skills."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests import processes
from tests.processes import SOURCE, Place

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

ANSWER = """
    from holdfast import *

    @hookimpl({options})
    def {function}(event):
        return {answer}
    """
SAW = "deny(f'{event.tool_name} {event.tool_input} {event.invoked_by} {event.command_name} {event.command_source}')"
COMMAND = {"command": "touch x", "description": "Touch"}
MONITOR = COMMAND | {"timeout_ms": 5000}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A home whose only handlers are the test's."""
    return processes.make(tmp_path)


def write(place: Place, name: str, answer: str, options: str = "", function: str = "on_pre_tool_use") -> None:
    place.user_handler(name, ANSWER.format(options=options, answer=answer, function=function))


def skill(place: Place, **changes: Any) -> dict[str, Any]:
    """Return the event before a skill's inline command."""
    return place.payload("PreSkillShellCommand", tool_input={"command": "touch x"}, **changes)


def tool(place: Place, name: str, given: dict[str, Any], event: str = "PreToolUse") -> dict[str, Any]:
    """Return the event before a tool call."""
    return place.payload("PreToolUse-Bash", hook_event_name=event, tool_name=name, tool_input=given)


def said(place: Place, payload: dict[str, Any]) -> str:
    """Return why a call was refused; empty if it may go on."""
    ended = place.fire(payload, payload["hook_event_name"])
    assert (ended.exit_code, ended.stderr) == (0, "")
    if not ended.stdout:
        return ""
    specific = ended.specific
    assert specific["hookEventName"] == payload["hook_event_name"]
    decision = specific.get("decision") or {
        "behavior": specific.get("permissionDecision"),
        "message": specific.get("permissionDecisionReason"),
    }
    assert set(specific) <= {"hookEventName", "permissionDecision", "permissionDecisionReason", "decision"}, specific
    return re.sub(r" \(user/\w+\.py\)", "", f"{decision['behavior']}: {decision['message']}")  # without handlers' names


def test_each_matcher_selects_the_doors_it_should(place: Place) -> None:
    """Each handler gets what the client would have sent it alone, though the event was registered for all tools."""
    bash, command = (
        f"deny: Bash {COMMAND} None None None",
        "deny: Bash {'command': 'touch x'} user peek projectSettings",
    )
    power, monitor = f"deny: PowerShell {COMMAND} None None None", f"deny: Monitor {MONITOR} None None None"
    socket = "deny: Bash {'command': '', 'description': 'Listen'} None None None"
    doors = {
        "Bash": tool(place, "Bash", COMMAND),
        "PowerShell": tool(place, "PowerShell", COMMAND),
        "Monitor": tool(place, "Monitor", MONITOR),
        "Monitor without a command": tool(place, "Monitor", {"ws": {"url": "ws://x"}, "description": "Listen"}),
        "skill command": skill(place),
        "Read": tool(place, "Read", {"file_path": "x"}),
        "skill command of PowerShell": skill(place, tool_name="PowerShell"),
    }
    other = "deny: PowerShell {'command': 'touch x'} user peek projectSettings"
    listen = "deny: Monitor {'ws': {'url': 'ws://x'}, 'description': 'Listen'} None None None"
    read = "deny: Read {'file_path': 'x'} None None None"
    table = {
        "'Bash'": (bash, "", bash, socket, command, "", ""),
        "'^Bash$'": (bash, "", bash, socket, command, "", ""),
        "'Monitor'": ("", "", monitor, listen, "", "", ""),
        "'Bash|Monitor'": (bash, "", monitor, listen, command, "", ""),
        "'PowerShell'": ("", power, "", "", "", "", other),
        "'shell'": (bash, power, monitor, listen, command, "", other),
        "'shell|Read'": (bash, power, monitor, listen, command, read, other),
        "'Read, shell'": (bash, power, monitor, listen, command, read, other),
        "None": (bash, power, monitor, listen, command, read, other),
        "'Read'": ("", "", "", "", "", read, ""),
        "'shell|^Read$'": (bash, power, monitor, listen, command, read, other),
        "'mcp__.*|^shell$'": (bash, power, monitor, listen, command, "", other),
        "'mcp__shell__.*'": ("", "", "", "", "", "", ""),
    }
    for number, matcher in enumerate(table):
        write(place, f"guard{number:02}", f"{SAW[:-2]} by {number}')", f"match={matcher}, strict=True")
    wrong = []
    for column, (door, payload) in enumerate(doors.items()):
        answers = said(place, payload).removeprefix("deny: ").split("\n\n")
        for number, (matcher, row) in enumerate(table.items()):
            got = "".join(each.removesuffix(f" by {number}") for each in answers if each.endswith(f" by {number}"))
            if got != row[column].removeprefix("deny: "):
                wrong.append(f"match={matcher}, {door}: {got!r}, not {row[column]!r}")
    assert not wrong, "\n".join(wrong)


def test_a_permission_for_monitor_is_asked_of_a_bash_handler(place: Place) -> None:
    """As the client does it; after the call it names the tool that ran."""
    write(place, "a", "deny(event.tool_name)", "match='Bash'", "on_permission_request")
    write(place, "b", "block(event.tool_name)", "match='Bash'", "on_post_tool_use")
    assert said(place, tool(place, "Monitor", MONITOR, "PermissionRequest")) == "deny: Bash"
    after = place.payload("PostToolUse-Bash", tool_name="Monitor", tool_input=MONITOR)
    assert place.fire(after, "PostToolUse").stdout == ""


def test_what_a_handler_may_answer_to_a_skills_command(place: Place) -> None:
    """A refusal counts; everything that the client ignores or takes for a refusal is dropped, and logged."""
    change = "change_input({'command': 'echo changed'})"
    lost_change = "deny: Refused, because a strict handler could not check it"  # the command would run unchanged
    table = {
        "deny('R')": ("deny: R", ""),
        "block('R')": ("deny: R", ""),
        "ask('R')": ("ask: R", ""),
        "defer()": ("defer: None", ""),
        "allow('R')": ("", "allow"),
        "advise('R')": ("", "advise"),
        change: (lost_change, "change_input"),
        f"[{change}, allow('R'), advise('A')]": (lost_change, "change_input allow advise"),
        f"[{change}, deny('R')]": ("deny: R", "change_input"),
        "advise_nothing()": ("deny: Refused, because a strict handler could not check it", ""),
        "title('T')": ("deny: Refused, because a strict handler could not check it", ""),
    }
    wrong = []
    for answer, (expected, dropped) in table.items():
        for options, function in (
            ("match='shell', strict=True", "on_pre_tool_use"),
            ("strict=True", "on_pre_skill_shell_command"),
        ):
            (place.home / ".local/state/holdfast/strict").unlink(missing_ok=True)
            write(place, "guard", answer, options, function)
            before = len(place.log())
            got = said(place, skill(place))
            log = place.log()[before:]
            lost = [kind for kind in dropped.split() if f"{function} returned {kind}, which is dropped: " not in log]
            if not got.startswith(expected) or bool(got) != bool(expected) or lost:
                wrong.append(f"{function}, {answer}: {got!r}, not {expected!r}; not in the log: {lost}\n{log}")
    assert not wrong, "\n".join(wrong)


def test_a_dropped_change_isnt_seen_by_the_next_handler(place: Place) -> None:
    """A guard must judge what runs: the client runs the skill's own command, and Monitor's own."""
    change = "change_input({'command': 'echo harmless'})"
    write(place, "a_style", change, "match='Bash', tryfirst=True")
    write(place, "guard", "deny(event.tool_input['command'])", "match='shell', strict=True")
    assert said(place, skill(place)) == "deny: touch x"
    assert said(place, tool(place, "Monitor", MONITOR)) == "deny: touch x"
    assert "a_style.py: on_pre_tool_use returned change_input, which is dropped: " in place.log()
    assert said(place, tool(place, "Bash", COMMAND)) == "deny: echo harmless"  # there the change counts
    write(place, "guard", "None", "match='shell', strict=True")
    write(place, "a_style", f"[{change}, allow('harmless now')]", "match='Bash', tryfirst=True")
    assert said(place, tool(place, "Monitor", MONITOR)) == ""  # what it allowed isn't what would run


def test_both_functions_of_a_file_get_a_skills_command(place: Place) -> None:
    """One that is only for skills doesn't open what the other guards."""
    both = ANSWER.format(options="match='Read|Bash', strict=True", function="on_pre_tool_use", answer="deny('guard')")
    own = ANSWER.format(options="match='PowerShell'", function="on_pre_skill_shell_command", answer="deny('own')")
    place.user_handler("guard", f"{both}{own.replace('from holdfast import *', '')}")
    write(place, "other", "deny('other')", "", "on_pre_skill_shell_command")
    assert said(place, skill(place)) == "deny: guard\n\nother"
    assert said(place, skill(place)) == "deny: guard\n\nother"  # now read from the cache
    assert said(place, skill(place, tool_name="PowerShell")) == "deny: own\n\nother"
    assert said(place, tool(place, "Bash", COMMAND)) == "deny: guard"


def test_in_another_client_a_guard_is_silent_and_says_so_once(place: Place) -> None:
    """Claude Code is told by CLAUDECODE or AI_AGENT; others set CLAUDE_PROJECT_DIR too. All readers agree."""
    write(place, "guard", "deny('no')", "match='shell', strict=True")
    place.write(place.home / ".config/holdfast/holdfast.toml", "")  # the shipped handlers tell the user
    call = tool(place, "Bash", COMMAND)
    assert said(place, call) == "deny: no"
    refuse = ["/bin/sh", str(SOURCE / "holdfast" / "refuse.sh"), "PreToolUse"]
    table: dict[str, tuple[dict[str, str | None], bool]] = {
        "both": ({"AI_AGENT": "claude-code_2-1-332_harness"}, True),
        "CLAUDECODE alone": ({}, True),
        "AI_AGENT alone": ({"CLAUDECODE": None, "AI_AGENT": "claude-code_2-1-197_harness"}, True),
        "neither": ({"CLAUDECODE": None}, False),
        "another agent": ({"CLAUDECODE": None, "AI_AGENT": "other_1-2-3"}, False),
        "no project": ({"CLAUDE_PROJECT_DIR": None}, False),
    }
    wrong = []
    for name, (changes, ours) in table.items():
        environ = place.environ(**changes)
        event = place.fire(call, "PreToolUse", environ=environ)
        broken = place.fire(b'{"tool_name": "Bash", \xff', "PreToolUse", environ=environ)
        shell = processes.run(refuse, b"", environ, place.root)
        wrong += [
            f"{name}, {which}: {ended.stdout!r}"
            for which, ended in (("event", event), ("unreadable", broken), ("refuse.sh", shell))
            if (ended.exit_code, "deny" in ended.stdout) != (0, ours)
        ]
    assert not wrong, "\n".join(wrong)


def test_a_guard_that_names_only_bash_is_advised_once(place: Place) -> None:
    """`handlers check` and `handlers list` tell; `handlers new` writes what covers every shell."""
    table = {
        "Bash": "shell",
        "Bash|Read": "shell|Read",
        "Monitor|Bash": "shell",
        "Bash|PowerShell": "",
        "shell": "",
        "Read": "",
        "^Bash$": "",
    }
    environ = place.environ(PYTHONPATH=str(SOURCE))
    command = [processes.INTERPRETER[0], "-m", "holdfast", "handlers"]
    wrong = []
    for matcher, advised in table.items():
        write(place, "guard", "None", f"match={matcher!r}")
        out = processes.run([*command, "check", "guard"], b"", environ, place.root).stdout
        line = f'match={matcher!r} leaves out PowerShell. To check the commands of every shell, write match="{advised}"'
        if out.count("leaves out PowerShell") != bool(advised) or (advised and line not in out):
            wrong.append(f"{matcher}: {out}")
    assert not wrong, "\n".join(wrong)
    processes.run([*command, "new", "mine", "--event", "PreToolUse"], b"", environ, place.root)
    assert '@hookimpl(match="shell")' in (place.home / ".config/holdfast/handlers/mine.py").read_text()


def test_doctor_shows_at_which_doors_a_guard_is_asked(place: Place) -> None:
    """And the reason with a command where it isn't: here nobody knows the client's version, then it is new enough."""
    write(place, "guard", "None", "match='shell', strict=True")
    write(place, "half", "None", "match='Bash'")
    environ = place.environ(PYTHONPATH=str(SOURCE), PATH="/usr/bin:/bin")
    command = [processes.INTERPRETER[0], "-m", "holdfast"]

    def doors(**changes: str) -> dict[str, str]:
        for words in (["install"], ["doctor", "--verbose", "--json"]):
            out = processes.run([*command, *words], b"", environ | changes, place.root).stdout
        found = [each for each in json.loads(out)["findings"] if each["check"] == "guards"]
        return {each["text"].partition(" guards ")[2]: each["level"] for each in found}

    why = ". It isn't asked about commands in skills, because PreSkillShellCommand isn't registered: "
    assert {text.partition(why)[0]: level for text, level in doors().items() if why in text} == {
        "Bash, PowerShell, Monitor": "notice",
        "Bash, Monitor; its matcher leaves out PowerShell": "notice",
    }
    assert doors(AI_AGENT="claude-code_2-1-332_harness") == {
        "Bash, PowerShell, Monitor, commands in skills": "ok",
        "Bash, Monitor, commands in skills; its matcher leaves out PowerShell": "ok",
    }

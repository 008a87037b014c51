"""Which events call a handler: its event, its matcher, and what `handlers check` says of a matcher."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.api.author import HEAD, handler
from tests.commandline import holdfast

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.api.author import Authors

# matcher: the values that it selects, of those in its table (client fact §4.2)
TOOLS: dict[str | None, str] = {
    None: "*",
    "": "*",
    "*": "*",
    "Bash": "Bash",
    "bash": "",
    "Edit|Write": "Edit Write",
    "Edit, Write": "Edit Write",
    "Edit,Write": "Edit Write",
    "  Edit |  Write ": "Edit Write",
    "mcp__demo__echo": "mcp__demo__echo",
    "mcp__demo": "",
    "mcp__demo__.*": "mcp__demo__echo",
    "Ba.h": "Bash BashOutput MyBash TaskStop",
    "^Bash$": "Bash",
    "^(?!Bash$)[BM]": "BashOutput MyBash MultiEdit",
    "(Edit|Write)": "Edit Write MultiEdit NotebookEdit",
    "^(?:Edit|Write)$": "Edit Write",
    "Notebook.*": "NotebookEdit",
    "(?<tool>Ba)sh$": "Bash MyBash TaskStop",
    "(?<=Multi)Edit": "MultiEdit",
    "(?<!Multi)Edit": "Edit NotebookEdit",
    # A tool that was renamed is found by both names, in lists and in expressions.
    "Task": "Agent",
    "Agent": "Agent",
    "task": "",
    "Ag": "",
    "Ag.*": "Agent",
    "^Task$": "Agent",
    "Task.*": "Agent TaskCreate TaskStop",
    "Task|Bash": "Agent Bash",
    "Task, Bash": "Agent Bash",
    "KillBash": "TaskStop",
    "KillShell": "TaskStop",
    "^KillShell$": "TaskStop",
    # What JavaScript can't compile selects nothing, also where Python could compile it.
    "[": "",
    "(Bash": "",
    "*Bash": "",
    "Bash)": "",
    "(?P<x>Bash)": "",
    "(?i)bash": "",
    "B*+ash": "",
    "(?#x)Bash": "",
    "[*]+Bash|.": "*",
}
VALUES = (
    *("Bash", "BashOutput", "MyBash", "Edit", "Write", "MultiEdit", "NotebookEdit", "Agent", "TaskCreate"),
    *("TaskStop", "mcp__demo__echo", "mcp__other__echo"),
)
# Two events know only `|`; elsewhere a name is no tool's, so it has no other names.
OTHERS: dict[str, tuple[str, tuple[object, ...], dict[str, str]]] = {
    "FileChanged": (
        "file_path",
        ("/p/a.py", "/p/lock-file", "/p/package-lock-file.json", "/p/.env", "/p/b.py"),
        {
            "a.py|b.py": "/p/a.py /p/b.py",
            ".env": "/p/.env",
            "p": "",
            "a.py, b.py": "",
            "lock-file": "/p/lock-file /p/package-lock-file.json",
        },
    ),
    "StopFailure": (
        "error",
        ("rate_limit", "rate_limit_x", "overloaded"),
        {"rate_limit|overloaded": "rate_limit overloaded", "rate_limit,overloaded": "", "[": ""},
    ),
    "SessionStart": ("source", ("startup", "compact"), {"startup, clear": "startup", "^comp": "compact", "[": ""}),
    "SubagentStop": ("agent_type", ("Agent", "Task", "my-agent", "my"), {"Task": "Task", "my-agent": "my-agent"}),
    "Stop": ("stop_hook_active", (False,), {"Bash": "False", "x|y": "False"}),  # has nothing to match
}


def called(
    author: Authors, event: str, function: str, field: str, values: tuple[object, ...], rows: Iterable[object]
) -> list[set[int]]:
    """Return for each value which of the handlers were called that have these matchers."""
    made = author(
        {
            f"h{number:02}": handler(f"note(context.root / 'called', '{number} ')", function, f"match={text!r}")
            for number, text in enumerate(rows)
        }
    )
    found = []
    for value in values:
        (made.root / "called").write_text("")
        fields: dict[str, Any] = {"tool_input": {}, field: value}
        fired = made.fire(event, **fields)
        assert fired.faults == []
        found.append({int(number) for number in (made.root / "called").read_text().split()})
    return found


def test_a_matcher_selects_what_the_client_selects(author: Authors) -> None:
    """Lists of names, JavaScript's expressions found anywhere, former names of tools; what is invalid: nothing."""
    wrong = []
    for event, function in (("PreToolUse", "pre_tool_use"), ("PostToolUse", "post_tool_use")):
        for value, numbers in zip(
            VALUES, called(author, event, function, "tool_name", VALUES, list(TOOLS)), strict=True
        ):
            for number, (matcher, selected) in enumerate(TOOLS.items()):
                if (number in numbers) != (selected == "*" or value in selected.split()):
                    wrong.append(f"{event}, match={matcher!r}, {value}: {number in numbers}")
    functions = {"FileChanged": "file_changed", "StopFailure": "stop_failure", "SessionStart": "session_start"}
    for event, (field, values, rows) in OTHERS.items():
        function = functions.get(event, "subagent_stop" if field == "agent_type" else "stop")
        for one, numbers in zip(values, called(author, event, function, field, values, list(rows)), strict=True):
            for number, (matcher, selected) in enumerate(rows.items()):
                if (number in numbers) != (str(one) in selected.split()):
                    wrong.append(f"{event}, match={matcher!r}, {one}: {number in numbers}")
    assert not wrong, "\n".join(wrong)


# What `handlers check` says of a function; empty where nothing is to be said
REFUSED = {
    "Bash(rm *)": 'Use match="shell" and look at event.tool_input["command"]',
    "Bash(git:*)": 'Use match="shell"',
    "Edit(*.py)": 'Use match="Edit" and look at event.tool_input["file_path"]',
    "WebFetch(domain:example.com)": 'event.tool_input["url"]',
    "Bash(rm *)|Bash(mv *)": 'Use match="shell"',
    "Skill(x)": 'Use match="Skill" and look at event.tool_input in the function',
    "bash": 'tool names are case-sensitive. Use match="Bash"',
    "edit | WRITE": 'Use match="Edit|Write"',
    "todowrite": 'Use match="TodoWrite"',
    "[": "",
}
DOUBTED = {
    ("pre_tool_use", "Bsh"): "'Bsh' is no tool of Claude Code; did you mean Bash?",
    ("pre_tool_use", "Bash|edit"): "'edit' is no tool of Claude Code; did you mean Edit?",
    ("pre_tool_use", "Shell"): "'Shell' is no tool of Claude Code; did you mean shell?",
    ("pre_tool_use", "Frobnicate"): "'Frobnicate' is no tool of Claude Code",
    ("pre_tool_use", "mcp__github"): "for all tools of a server write mcp__github__.*",
    ("pre_tool_use", "^bash$"): "match='^bash$' selects no tool of Claude Code",
    ("pre_tool_use", "Edit|Bash(rm *)"): "selects nothing for Bash(…)",
    ("session_start", "compactt"): "'compactt' is no value that SessionStart is known to have; did you mean compact?",
    ("pre_compact", "^(x|y)$"): "selects no value that PreCompact is known to have",
    ("stop", "Bash"): "has no effect, because Stop has nothing to match",
    ("file_changed", "a.py | b.py"): "has spaces around a name",
    **{
        ("pre_tool_use", match): ""
        for match in (
            *(" shell ", "shell", "Edit | Write", "Task", "mcp__github__create", "*", "", "Bash|PowerShell|"),
            *("mcp__github__.*", "Task(Create|Update)", "^Notebook", "mcp__(a|b)__.*"),
        )
    },
    ("session_start", "startup|compact"): "",
    ("session_start", "^comp"): "",
    ("notification", "anything"): "",
    ("file_changed", "a.py|b.py"): "",
}


def test_a_matcher_that_selects_nothing_is_named(author: Authors) -> None:
    """As a fault if no tool can have such a name, else as a doubt with the function's line: tools may be newer."""
    rows = {("pre_tool_use", match): words for match, words in REFUSED.items()} | DOUBTED
    texts = {
        f"row{number:02}": handler("return None", event, f"match={match!r}", head=HEAD)
        for number, (event, match) in enumerate(rows)
    }
    made = author(texts)
    out = holdfast("handlers", "check", root=made.root, code=1).out
    wrong = []
    for number, ((event, match), words) in enumerate(rows.items()):
        said = "\n".join(line for line in out.splitlines() if f"row{number:02}.py" in line and "match" in line)
        never = f"line 6: on_{event} never runs" in said if match in REFUSED and event == "pre_tool_use" else True
        if match != "[" and (words not in said or not never or (said and not words)):
            wrong.append(f"{event}, {match!r}: {said!r}, not {words!r}")
    assert not wrong, "\n".join([*wrong, out])

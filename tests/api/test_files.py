"""What a handler file may hold: it is read without being run, and `handlers check` names what will never run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.events import EVENTS, HOOK_NAMES, snake
from tests.api.author import handler
from tests.commandline import holdfast

if TYPE_CHECKING:
    import pytest

    from tests.api.author import Authors

LOST = "so it never runs; handlers are found without running the file, so write the function at its top level, once"
NEWLINE = "\n"
MARKED, BARE = "@hookimpl\ndef on_stop(event): ...\n", "def on_stop(event): ...\n"
IMPORTED = "from holdfast import hookimpl\n" + MARKED
# A file, and what is said of it; in all these, no function runs.
FAULTY: dict[str, str] = {
    "def on_stop(:\n": "line 1: cannot be read as Python (invalid syntax)",
    "x = 1\n  y = 2\n": "line 2: cannot be read as Python (unexpected indent)",
    "x = 1\x00\n": "cannot be read as Python",
    "# coding: no-such-codec\n": "cannot be read as Python",
    "(" * 10_000: "cannot be read as Python",
    "-" * 20_000 + "1": "cannot be read as Python",
    "@hookimpl(match='Bash')\ndef on_event(event): ...\n": "line 2: on_event answers every event, so it has",
    MARKED + MARKED: "line 2: on_stop is defined in lines 2 and 4, and",
    MARKED + BARE: "line 2: on_stop is defined in lines 2 and 3, and",
    BARE + MARKED: "line 1: on_stop is defined in lines 1 and 3, and",
    MARKED + "x = 1\n" + MARKED + MARKED: "line 2: on_stop is defined in lines 2 and 5 and 7, and",
    **{
        MARKED
        + after: f"line 2: on_stop is bound by line {after.count(NEWLINE, 0, after.rindex('on_stop')) + 3}, not by"
        for after in (
            "on_stop = None",
            "on_stop: object = None",
            "from x import on_stop",
            "import on_stop.x",
            "from x import y as on_stop",
            "class on_stop: ...",
        )
    },
    **dict.fromkeys(
        (
            "if x:\n    @hookimpl\n    def on_stop(event): ...",
            "if x: ...\nelse:\n    if y:\n        @hookimpl\n        def on_stop(event): ...",
            "try:\n    @hookimpl\n    def on_stop(event): ...\nfinally: ...",
            "try: ...\nexcept* OSError:\n    @hookimpl\n    def on_stop(event): ...",
            "with x:\n    @hookimpl\n    def on_stop(event): ...",
            "for x in y:\n    @hookimpl\n    def on_stop(event): ...",
            "match x:\n  case 1:\n    @hookimpl\n    def on_stop(event): ...",
            "if x:\n    @hookimpl\n    def on_tool(event): ...",
            "class Guard:\n    @hookimpl\n    def on_stop(self, event): ...",
            "def make():\n    @hookimpl(strict=True)\n    def on_stop(event): ...",
            "if x:\n  class Guard:\n    @hookimpl\n    async def other(self): ...",
        ),
        f"isn't at the top level, {LOST}",
    ),
    **dict.fromkeys(
        ("from guards import on_stop", "on_stop = hookimpl(make())", "class on_stop: ..."),
        f"is bound by line 1, not by a function, {LOST}",
    ),
    **dict.fromkeys(
        (
            IMPORTED + "a, (on_stop, *b) = 1, [2]",
            IMPORTED + "if (on_stop := 1): ...",
            IMPORTED + "for on_stop in (1,): ...",
            IMPORTED + "if True:\n    from os import path as on_stop",
        ),
        "on_stop is not marked with holdfast's hookimpl",
    ),
    "def on_stop(event): ...": "line 1: on_stop is named like a handler but has no @hookimpl",
    "@hookimpl\nasync def on_stop(event): ...": "line 2: on_stop is async; a handler is a plain function",
    "@hookimpl\ndef on_stopp(event): ...": "on_stopp isn't the name of an event; did you mean on_stop?",
    "@hookimpl\ndef on_pre_tool(event): ...": "did you mean on_pre_tool_use",
    "@hookimpl\ndef frobnicate(event): ...": "frobnicate isn't the name of an event",
    "@hookimpl\ndef on_stop(payload): ...": "asks for 'payload'; a handler may ask for event, context, options, state",
    "@hookimpl\ndef on_stop(event, extra): ...": "asks for 'extra'",
    "@hookimpl\ndef on_stop(*args): ...": "takes only arguments among",
    "@hookimpl\ndef on_stop(**kwargs): ...": "takes only arguments among",
    "@hookimpl\ndef on_stop(*, event): ...": "takes only arguments among",
    "@hookimpl\ndef on_stop(event=None): ...": "without defaults",
    "@hookimpl('Bash')\ndef on_stop(event): ...": "takes its options by name",
    "@hookimpl(**options)\ndef on_stop(event): ...": "must be written out",
    "@hookimpl(match=NAMES)\ndef on_stop(event): ...": "match must be a literal",
    "@hookimpl(match='A' + 'B')\ndef on_stop(event): ...": "match must be a literal",
    "@hookimpl(timeout=60 * 60)\ndef on_stop(event): ...": "timeout must be a literal",
    "@hookimpl(matcher='Bash')\ndef on_stop(event): ...": "has no option 'matcher'",
    "@hookimpl(wrapper=True)\ndef on_stop(event): ...": "has no option 'wrapper'",
    "@hookimpl(match=5)\ndef on_stop(event): ...": "match=5 has the wrong type",
    "@hookimpl(match=['Bash'])\ndef on_pre_tool_use(event): ...": "has the wrong type",
    "@hookimpl(timeout='5')\ndef on_stop(event): ...": "timeout='5' has the wrong type",
    "@hookimpl(timeout=True)\ndef on_stop(event): ...": "timeout=True has the wrong type",
    "@hookimpl(timeout=0)\ndef on_stop(event): ...": "timeout must be more than 0 seconds",
    "@hookimpl(timeout=-1.5)\ndef on_stop(event): ...": "timeout must be more than 0 seconds",
    "@hookimpl(strict=True)\ndef on_pre_tool_use(event): 'refuses'": "is strict but returns nothing",
    "@hookimpl(strict=1)\ndef on_pre_tool_use(event): ...": "strict=1 has the wrong type",
    "@hookimpl(tryfirst=None)\ndef on_stop(event): ...": "tryfirst=None has the wrong type",
    "@hookimpl(tryfirst=True, trylast=True)\ndef on_stop(event): ...": "choose tryfirst or trylast",
    "@hookimpl(match='[')\ndef on_pre_tool_use(event): ...": "match='[' is neither a list of names nor",
    "@hookimpl(match='(?i)bash')\ndef on_pre_tool_use(event): ...": "regular expression of Claude Code's",
    "@hookimpl(timeout=2701)\ndef on_stop(event): ...": "allows: at most 2700 seconds",
    "@hookimpl(timeout=45.5)\ndef on_session_end(event): ...": "allows: at most 45 seconds",
    **{
        f"RUNS_WHEN = {value}\n{MARKED}": "line 1: RUNS_WHEN must be a literal"
        for value in ("M", '["hold"]', '{"reading": "hold"}', '{"reading": 3}', "{**{}}", "dict()", "{[]: []}")
    },
    **{
        f"@hookimpl(strict=True)\ndef on_{snake(event)}(event): ...": f"strict is not possible on {event}"
        for event in set(EVENTS)
        - {*("PreToolUse", "PreSkillShellCommand", "PermissionRequest", "UserPromptSubmit", "UserPromptExpansion")}
    },
}
# Nothing is to be said of these, and each answers Stop.
SOUND = [
    MARKED,
    "@hookimpl()\ndef on_stop(): ...",
    "@holdfast.hookimpl\ndef on_stop(context): ...",
    "@markers.hookimpl(match=None, timeout=None)\ndef on_stop(context, event): ...",
    "@hookimpl(timeout=2.5, tryfirst=True, trylast=False)\ndef on_stop(event, /): ...",
    "OFF_BY_DEFAULT = False\n" + MARKED,
    "if True:\n    OFF_BY_DEFAULT = True\n" + MARKED,
    "RUNS_WHEN = {}\n" + MARKED,
    'RUNS_WHEN: dict = {"format": ("compaction", "wfs")}\n' + MARKED,
    "# coding: latin-1\n" + MARKED,
    "\ufeff" + MARKED,
    "L = 3\ndef helper(anything, *more): ...\nclass Thing:\n    def on_stop(self): ...\n" + MARKED,
    "on_stop = None\non_setup: object\n@cache\n" + MARKED,
    *(
        MARKED + after
        for after in (
            *("x = [on_stop for on_stop in y]", "print(on_stop)", "def f():\n    on_stop = 1"),
            *("on_stop.x = 1", "on_stop[0] = 1"),
        )
    ),
]


def test_what_will_never_run_is_named_with_its_line(author: Authors) -> None:
    """Without running any of the files: most end the process if they are run."""
    deadly = "import os\nos._exit(9)\n"
    made = author({f"row{number:03}": text for number, text in enumerate(FAULTY)})
    out = holdfast("handlers", "check", root=made.root, code=1).out
    wrong = []
    for number, (text, words) in enumerate(FAULTY.items()):
        said = "\n".join(line for line in out.splitlines() if f"row{number:03}.py" in line)
        if words not in said:
            wrong.append(f"{text[:60]!r}: {said!r}, not {words!r}")
    assert not wrong, "\n".join(wrong)
    assert made.fire("Stop").stdout == "", "none of them runs"
    made = author({"deadly": f"{MARKED}{deadly}"})
    assert "Stop" in holdfast("handlers", "list", root=made.root).out


def test_a_sound_file_has_no_fault(author: Authors) -> None:
    """Whatever else stands in it; and one bad function costs the others nothing."""
    made = author({f"row{number:03}": text for number, text in enumerate(SOUND)})
    listed = holdfast("handlers", "list", "--json", root=made.root).json
    text = str(listed)
    assert [number for number in range(len(SOUND)) if f"row{number:03}" not in text] == []
    assert "line " not in str([each.get("faults") for each in listed if isinstance(each, dict)])
    made = author(
        {"half": f"from holdfast import *\n@hookimpl\ndef on_setup(x): ...\n{handler('return stop(chr(33))', 'stop')}"}
    )
    assert made.fire("Stop").reply["stopReason"] == "!"
    assert "line 3: on_setup asks for 'x'" in holdfast("handlers", "check", root=made.root, code=1).out


def test_every_event_calls_the_function_of_its_name(author: Authors, monkeypatch: pytest.MonkeyPatch) -> None:
    """`on_` and the event's name in snake case, with the arguments that it names, in any order."""
    assert sorted(HOOK_NAMES.values()) == sorted(EVENTS)
    assert HOOK_NAMES["on_post_tool_use_failure"] == "PostToolUseFailure"
    note = "note(os.environ['CALLED'], {0!r} + repr(sorted(locals())) + '\\n')"
    arguments = ["", "event", "context", "event, context", "context, event"]
    wrong = []
    made = author(
        {
            f"h{number}": "\n".join(handler(note.format(event), snake(event), "", named) for event in EVENTS)
            for number, named in enumerate(arguments)
        }
    )
    called = made.root / "called"
    monkeypatch.setenv("CALLED", str(called))
    for event in EVENTS:
        called.write_text("")
        made.fire(event, tool_name="Bash", tool_input={}, prompt="p", task_id="1")
        lines = called.read_text().splitlines()
        expected = [event + repr(sorted(name for name in named.split(", ") if name)) for named in arguments]
        if event == "PreSkillShellCommand":  # which functions for tool calls get too
            lines = [line for line in lines if not line.startswith("PreToolUse")]
        if lines != expected:
            wrong.append(f"{event}: {lines}")
    assert not wrong, "\n".join(wrong)

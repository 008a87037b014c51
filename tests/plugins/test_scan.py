"""Routes are read from a handler file's text, which is never run."""

from __future__ import annotations

from textwrap import dedent

from holdfast.clients import claude
from holdfast.clients.claude import STRICT_EVENTS
from holdfast.events import EVENTS, HOOK_NAMES, model
from holdfast.plugins.scan import Route, Scan
from holdfast.plugins.scan import scan as scanned
from tests.tables import each_row


def scan(source: bytes) -> Scan:
    """Read a handler file that answers Claude Code's events."""
    return scanned(source, claude)


def fault(text: str) -> str:
    """Return the only fault of a file that has no routes."""
    found = scan(dedent(text).encode())
    assert found.routes == ()
    assert len(found.faults) == 1
    return next(iter(found.faults.values()))


def test_options_are_read_from_the_text() -> None:
    """match, timeout, strict, tryfirst and trylast are taken over, with the line the function stands in."""
    text = b"""
from holdfast import hookimpl

@hookimpl(match="Bash|Edit", timeout=2.5, strict=True, tryfirst=True, trylast=False)
def on_pre_tool_use(event, context):
    return None
"""
    assert scan(text).routes == tuple(
        Route(event, "on_pre_tool_use", "Bash|Edit", 2.5, strict=True, tryfirst=True, line=5)
        for event in ("PreToolUse", "PreSkillShellCommand")
    )


def test_the_defaults() -> None:
    """Without options a function wants everything and is not strict."""
    for marker in ("@hookimpl", "@hookimpl()", "@holdfast.hookimpl", "@markers.hookimpl(match=None, timeout=None)"):
        found = scan(f"{marker}\ndef on_stop(event): ...\n".encode())
        assert found.routes == (Route("Stop", "on_stop", line=2),)
        assert found.faults == {}


def test_reading_runs_nothing() -> None:
    """A file that would end the process when run is read like any other."""
    found = scan(b"import os\nos._exit(9)\nraise SystemExit\n@hookimpl\ndef on_stop(): ...\n")

    assert [route.event for route in found.routes] == ["Stop"]


@each_row("function", HOOK_NAMES)
def test_every_event_has_its_function(function: str) -> None:
    """`on_<event>` is known for every event."""
    found = scan(f"@hookimpl\ndef {function}(event, context): ...\n".encode())

    also = ["PreSkillShellCommand"] if function == "on_pre_tool_use" else []
    assert [route.event for route in found.routes] == [HOOK_NAMES[function], *also]


@each_row("arguments", ["", "event", "context", "event, context", "context, event", "event, /"])
def test_a_handler_takes_the_arguments_it_names(arguments: str) -> None:
    """Any of event and context may be left out."""
    assert scan(f"@hookimpl\ndef on_stop({arguments}): ...\n".encode()).routes


def test_several_functions_and_what_is_not_a_handler() -> None:
    """Other functions, classes and constants of a file are its own business."""
    text = b"""
LIMIT = 3
def helper(anything, *more): ...
class Thing:
    def on_stop(self): ...
on_stop = None
on_setup: object
@hookimpl
def on_stop(): ...
@cache
@hookimpl(match="compact")
def on_session_start(event): ...
on_setup: object
"""
    found = scan(text)

    assert [(route.event, route.match) for route in found.routes] == [("Stop", None), ("SessionStart", "compact")]
    assert found.faults == {}


MARKED, BARE = "@hookimpl\ndef on_stop(event): ...\n", "def on_stop(event): ...\n"


@each_row("text", [MARKED + MARKED, MARKED + BARE, BARE + MARKED, MARKED + "x = 1\n" + MARKED + MARKED])
def test_two_functions_of_one_name_are_refused(text: str) -> None:
    """Python would keep the last one without a word, so none runs, and the message names all lines."""
    lines = [number for number, line in enumerate(text.splitlines(), 1) if line.startswith("def ")]
    assert f"line {lines[0]}: on_stop is defined in lines {' and '.join(map(str, lines))}, and" in fault(text)


@each_row(
    "after, words",
    [
        ("on_stop = None", "assigned in line 3"),
        ("on_stop: object = None", "assigned in line 3"),
        ("a, (on_stop, *b) = x", "assigned in line 3"),
        ("if (on_stop := 1): ...", "assigned in line 3"),
        ("on_stop += 1", "assigned in line 3"),
        ("for on_stop in x: ...", "assigned in line 3"),
        ("with x as on_stop: ...", "assigned in line 3"),
        ("try: ...\nexcept OSError as on_stop: ...", "assigned in line 4"),
        ("match x:\n case [*on_stop]: ...\n case {'a': on_stop}: ...", "assigned in line 4"),
        ("del on_stop", "deleted in line 3"),
        ("from x import on_stop", "imported in line 3"),
        ("import on_stop.x", "imported in line 3"),
        ("from x import y as on_stop", "imported in line 3"),
        ("if x:\n    import on_stop", "imported in line 4"),
        ("class on_stop: ...", "defined as a class in line 3"),
    ],
)
def test_a_name_that_is_bound_again_is_refused(after: str, words: str) -> None:
    """Whatever stands there afterwards, it is not the function that was found."""
    assert f"line 2: on_stop is {words}, so the function never runs" in fault(MARKED + after)


@each_row(
    "after",
    [
        "x = [on_stop for on_stop in y]",
        "print(on_stop)",
        "def f():\n    on_stop = 1",
        "on_stop.x = 1",
        "on_stop[0] = 1",
    ],
)
def test_what_leaves_the_function_in_place_is_no_fault(after: str) -> None:
    """A name of the same spelling in another scope, or a use of the function, takes nothing away."""
    assert scan((MARKED + after).encode()).faults == {}


@each_row(
    "text, words",
    [
        ("if x:\n    @hookimpl\n    def on_stop(event): ...", "inside an if in line 3"),
        ("if x: ...\nelse:\n    if y:\n        @hookimpl\n        def on_stop(event): ...", "inside an if in line 5"),
        ("try:\n    @hookimpl\n    def on_stop(event): ...\nfinally: ...", "inside a try in line 3"),
        ("try: ...\nexcept* OSError:\n    @hookimpl\n    def on_stop(event): ...", "inside a try in line 4"),
        ("with x:\n    @hookimpl\n    def on_stop(event): ...", "inside a with in line 3"),
        ("for x in y:\n    @hookimpl\n    def on_stop(event): ...", "inside a loop in line 3"),
        ("match x:\n  case 1:\n    @hookimpl\n    def on_stop(event): ...", "inside a match in line 4"),
        ("if x:\n    def on_stop(event): ...", "inside an if in line 2"),
        ("if x:\n    @hookimpl\n    def on_tool(event): ...", "inside an if in line 3"),
        (MARKED + "if x:\n    @hookimpl\n    def on_stop(event): ...", "inside an if in line 5"),
        ("class Guard:\n    @hookimpl\n    def on_stop(self, event): ...", "inside class Guard"),
        ("def make():\n    @hookimpl(strict=True)\n    def on_stop(event): ...", "inside function make"),
        ("if x:\n  class Guard:\n    @hookimpl\n    async def other(self): ...", "inside class Guard"),
    ],
)
def test_a_function_that_is_out_of_reach_is_a_fault(text: str, words: str) -> None:
    """Handlers are found at the top level alone; anywhere else they would never run, and nobody would be told."""
    assert words in fault(text)
    assert "move it to the top level" in fault(text)


def test_a_method_costs_the_function_of_its_name_nothing() -> None:
    """The function at the top level runs, and the method beside it is named."""
    found = scan(f"{MARKED}class Guard:\n    @hookimpl\n    def on_stop(self): ...\n".encode())
    assert [route.line for route in found.routes] == [2]
    assert list(found.faults.values()) == [
        "line 5: on_stop stands inside class Guard, so it never runs; handlers are found without running the file, so"
        " move it to the top level"
    ]


@each_row("how", ["from guards import on_stop", "on_stop = hookimpl(make())", "class on_stop: ..."])
def test_an_events_name_without_a_function_is_a_fault(how: str) -> None:
    """What is imported or made is not found without running the file."""
    assert "so it never runs; handlers are found without running the file, so write the function in it" in fault(how)


@each_row(
    "match, words",
    [
        ("Bash(rm *)", 'Use match="shell" and look at event.tool_input["command"]'),
        ("Bash(git:*)", 'Use match="shell"'),
        ("Edit(*.py)", 'Use match="Edit" and look at event.tool_input["file_path"]'),
        ("WebFetch(domain:example.com)", 'event.tool_input["url"]'),
        ("Bash(rm *)|Bash(mv *)", 'Use match="shell"'),
        ("Skill(x)", 'Use match="Skill" and look at event.tool_input in the function'),
        ("bash", 'tool names are case-sensitive. Use match="Bash"'),
        ("edit | WRITE", 'Use match="Edit|Write"'),
        ("todowrite", 'Use match="TodoWrite"'),
    ],
)
def test_a_matcher_that_selects_no_tool_is_refused(match: str, words: str) -> None:
    """The client would compare it with the tool's name, and nothing would ever run."""
    text = f"@hookimpl(match={match!r})\ndef on_pre_tool_use(event): ...\n"
    assert fault(text).startswith("line 2: on_pre_tool_use never runs: ")
    assert words in fault(text)


@each_row(
    "event, match",
    [
        *(
            ("pre_tool_use", match)
            for match in ("shell", " shell ", "Edit | Write", "Task", "mcp__github__create", "*", "")
        ),
        *(
            ("pre_tool_use", match)
            for match in ("mcp__github__.*", "Task(Create|Update)", "^Notebook", "mcp__(a|b)__.*")
        ),
        ("pre_tool_use", "Bash|PowerShell|"),
        ("post_tool_use", "Bash"),
        ("session_start", "startup|compact"),
        ("session_start", "^comp"),
        ("notification", "anything"),
        ("file_changed", "a.py|b.py"),
    ],
)
def test_a_matcher_that_selects_something_is_not_doubted(event: str, match: str) -> None:
    """Known names, names of MCP tools, and expressions that select one of them."""
    found = scan(f"@hookimpl(match={match!r})\ndef on_{event}(event): ...\n".encode())
    assert (len({route.function for route in found.routes}), found.doubts) == (1, ())


@each_row(
    "event, match, words",
    [
        ("pre_tool_use", "Bsh", "'Bsh' is no tool of Claude Code; did you mean Bash?"),
        ("pre_tool_use", "Bash|edit", "'edit' is no tool of Claude Code; did you mean Edit?"),
        ("pre_tool_use", "Shell", "'Shell' is no tool of Claude Code; did you mean shell?"),
        ("pre_tool_use", "Frobnicate", "'Frobnicate' is no tool of Claude Code"),
        ("pre_tool_use", "mcp__github", "for all tools of a server write mcp__github__.*"),
        ("pre_tool_use", "^bash$", "match='^bash$' selects no tool of Claude Code"),
        ("pre_tool_use", "Edit|Bash(rm *)", "selects nothing for Bash(…)"),
        (
            "session_start",
            "compactt",
            "'compactt' is no value that SessionStart is known to have; did you mean compact?",
        ),
        ("pre_compact", "^(x|y)$", "selects no value that PreCompact is known to have"),
        ("stop", "Bash", "has no effect, because Stop has nothing to match"),
        ("file_changed", "a.py | b.py", "has spaces around a name"),
    ],
)
def test_a_matcher_that_may_be_meant_otherwise_is_doubted(event: str, match: str, words: str) -> None:
    """A tool or a value may be newer than this list, so the function stays; the doubt is said with its line."""
    found = scan(f"@hookimpl(match={match!r})\ndef on_{event}(event): ...\n".encode())
    assert len({route.function for route in found.routes}) == 1
    assert found.faults == {}
    (doubt,) = found.doubts
    assert doubt.startswith(f"line 2: on_{event}: match=")
    assert words in doubt


@each_row(
    "text, words",
    [
        ("def on_stop(event): ...", "line 1: on_stop is named like a handler but has no @hookimpl"),
        ("@hookimpl\nasync def on_stop(event): ...", "line 2: on_stop is async; a handler is a plain function"),
        ("@hookimpl\ndef on_stopp(event): ...", "on_stopp isn't the name of an event; did you mean on_stop?"),
        ("@hookimpl\ndef on_pre_tool(event): ...", "did you mean on_pre_tool_use"),
        ("@hookimpl\ndef frobnicate(event): ...", "frobnicate isn't the name of an event"),
        ("@hookimpl\ndef on_stop(payload): ...", "asks for 'payload'; a handler may ask for event and context"),
        ("@hookimpl\ndef on_stop(event, extra): ...", "asks for 'extra'"),
        ("@hookimpl\ndef on_stop(*args): ...", "takes only the arguments it names"),
        ("@hookimpl\ndef on_stop(**kwargs): ...", "takes only the arguments it names"),
        ("@hookimpl\ndef on_stop(*, event): ...", "takes only the arguments it names"),
        ("@hookimpl\ndef on_stop(event=None): ...", "without defaults"),
        ("@hookimpl('Bash')\ndef on_stop(event): ...", "takes its options by name"),
        ("@hookimpl(**options)\ndef on_stop(event): ...", "must be written out"),
        ("@hookimpl(match=NAMES)\ndef on_stop(event): ...", "match must be a literal"),
        ("@hookimpl(match='A' + 'B')\ndef on_stop(event): ...", "match must be a literal"),
        ("@hookimpl(timeout=60 * 60)\ndef on_stop(event): ...", "timeout must be a literal"),
        ("@hookimpl(matcher='Bash')\ndef on_stop(event): ...", "has no option 'matcher'"),
        ("@hookimpl(wrapper=True)\ndef on_stop(event): ...", "has no option 'wrapper'"),
        ("@hookimpl(match=5)\ndef on_stop(event): ...", "match=5 has the wrong type"),
        ("@hookimpl(match=['Bash'])\ndef on_pre_tool_use(event): ...", "has the wrong type"),
        ("@hookimpl(timeout='5')\ndef on_stop(event): ...", "timeout='5' has the wrong type"),
        ("@hookimpl(timeout=True)\ndef on_stop(event): ...", "timeout=True has the wrong type"),
        ("@hookimpl(timeout=0)\ndef on_stop(event): ...", "timeout must be more than 0 seconds"),
        ("@hookimpl(timeout=-1.5)\ndef on_stop(event): ...", "timeout must be more than 0 seconds"),
        ("@hookimpl(strict=1)\ndef on_pre_tool_use(event): ...", "strict=1 has the wrong type"),
        ("@hookimpl(tryfirst=None)\ndef on_stop(event): ...", "tryfirst=None has the wrong type"),
        ("@hookimpl(tryfirst=True, trylast=True)\ndef on_stop(event): ...", "choose tryfirst or trylast"),
        ("@hookimpl(match='[')\ndef on_pre_tool_use(event): ...", "match='[' is neither a list of names nor"),
        ("@hookimpl(match='(?i)bash')\ndef on_pre_tool_use(event): ...", "regular expression of the client's"),
    ],
)
def test_a_function_that_cannot_be_used_is_a_fault(text: str, words: str) -> None:
    """Each mistake is told in a sentence that names the function and its line."""
    assert words in fault(text)


def test_one_bad_function_costs_only_itself() -> None:
    """The other functions of the file keep their routes, and the fault stands under the bad one's name."""
    found = scan(b"@hookimpl\ndef on_stop(x): ...\n@hookimpl\ndef on_setup(event): ...\n")

    assert [route.function for route in found.routes] == ["on_setup"]
    assert list(found.faults) == ["on_stop"]


@each_row(
    "source, words",
    [
        (b"def on_stop(:\n", "line 1: cannot be read as Python (invalid syntax)"),
        (b"x = 1\n  y = 2\n", "line 2: cannot be read as Python (unexpected indent)"),
        (b"x = '\xff\xfe'\n", "cannot be read as Python"),
        (b"x = 1\x00\n", "cannot be read as Python"),
        (b"# coding: no-such-codec\n", "cannot be read as Python"),
        (b"(" * 10_000, "cannot be read as Python"),
        (b"-" * 100_000 + b"1", "cannot be read as Python"),
    ],
)
def test_a_file_that_is_not_python_has_one_fault(source: bytes, words: str) -> None:
    """Whatever the bytes, reading them never raises; the fault stands for the whole file."""
    found = scan(source)

    assert found.routes == ()
    assert list(found.faults) == [""]
    assert words in found.faults[""]


def test_an_empty_file_is_no_fault() -> None:
    """A file without handlers is fine."""
    assert scan(b"") == scan(b"# nothing here\n")
    assert scan(b"").faults == {}


def test_other_encodings_are_read_as_python_reads_them() -> None:
    """A declared encoding and a BOM count, as when Python runs the file."""
    assert scan(b"# coding: latin-1\n@hookimpl\ndef on_stop():\n    '\xe9'\n").routes
    assert scan(b"\xef\xbb\xbf@hookimpl\ndef on_stop(): ...\n").routes


@each_row("event", EVENTS)
def test_strict_is_possible_on_four_events(event: str) -> None:
    """strict is legal exactly where a refusal is possible, as the events' models say."""
    function = next(name for name, known in HOOK_NAMES.items() if known == event)
    found = scan(f"@hookimpl(strict=True)\ndef {function}(event): ...\n".encode())

    assert (event in STRICT_EVENTS) is model(event).strictable
    if event in STRICT_EVENTS:
        assert found.routes[0].strict
    else:
        assert f"strict is not possible on {event}" in found.faults[function]


@each_row(
    "text, off",
    [
        ("OFF_BY_DEFAULT = True", True),
        ("OFF_BY_DEFAULT: bool = True", True),
        ("OTHER = OFF_BY_DEFAULT = True", True),
        ("OFF_BY_DEFAULT = False", False),
        ("OFF_BY_DEFAULT = 1", False),
        ("if True:\n    OFF_BY_DEFAULT = True", False),
        ("", False),
    ],
)
def test_a_file_may_be_off_by_default(text: str, off: bool) -> None:
    """Only the literal line at the top level switches a file off."""
    assert scan(f"{text}\n@hookimpl\ndef on_stop(): ...\n".encode()).off_by_default is off


@each_row(
    "text, conditions",
    [
        ('RUNS_WHEN = {"reading": ["hold"]}', (("reading", ("hold",)),)),
        (
            'RUNS_WHEN: dict = {"reading": ("remind", "hold"), "todos": []}',
            (("reading", ("remind", "hold")), ("todos", ())),
        ),
        ("RUNS_WHEN = {}", ()),
        ("", ()),
        ('if True:\n    RUNS_WHEN = {"reading": ["hold"]}', ()),
    ],
)
def test_a_file_may_wait_for_the_configuration(text: str, conditions: object) -> None:
    """The literal line at the top level names keys and values."""
    assert scan(f"{text}\n@hookimpl\ndef on_stop(): ...\n".encode()).runs_when == conditions


@each_row("value", ["MODES", '["hold"]', '{"reading": "hold"}', '{"reading": 3}', "{**{}}", "dict()", "{[]: []}"])
def test_conditions_that_cannot_be_read_are_a_fault(value: str) -> None:
    """What a file waits for is read without running it; one that does not say it runs never."""
    found = scan(f"\nRUNS_WHEN = {value}\n@hookimpl\ndef on_stop(): ...\n".encode())
    assert found.routes == ()
    assert "line 2: RUNS_WHEN must be a literal" in found.faults[""]


@each_row("event, timeout, most", [("session_end", 45, None), ("session_end", 45.5, "45"), ("stop", 2701, "2700")])
def test_a_timeout_that_the_client_cannot_give_is_refused(event: str, timeout: float, most: str | None) -> None:
    """With the largest that is possible on that event, instead of being cut without a word."""
    text = f"from holdfast import hookimpl\n\n@hookimpl(timeout={timeout})\ndef on_{event}(event): ...\n"
    found = scan(text.encode())
    if most is None:
        assert found.routes[0].timeout == timeout
        return
    assert not found.routes
    (fault,) = found.faults.values()
    assert fault.startswith(f"line 4: on_{event} timeout={timeout} is more than ")
    assert fault.endswith(f"allows: at most {most} seconds")

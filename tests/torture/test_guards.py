"""Whatever fails, a call that a strict handler guards is refused, and no other handler's trouble blocks anything."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import events
from holdfast.clients.claude.replies import EXIT_CODE_EVENTS
from holdfast.install.register import NO_WORKTREE
from tests import processes
from tests.processes import Ended
from tests.torture import scratch
from tests.torture.scratch import Scratch, changed, lifting, reason, report
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

pytestmark = [pytest.mark.slow, scratch.ON_LINUX]

HANDLER = '''
"""Do what the call's command says: the trouble comes with the call."""
import os, signal, sys, time
from holdfast import *

def note(path):
    chain, pid = [], os.getpid()
    while pid > 1:
        chain.append(str(pid))
        with open(f"/proc/{{pid}}/stat") as file:
            pid = int(file.read().rpartition(")")[2].split()[1])
    with open(path + ".new", "w") as file:
        file.write(" ".join(chain))
    os.rename(path + ".new", path)

@hookimpl({options})
def on_pre_tool_use(event):
    if path := event.tool_input.get("description"):
        note(path)
    scope = {{"event": event}}
    exec(event.tool_input["command"], globals(), scope)
    return scope.get("answer")
'''
GUARDS = {
    "guard": "strict=True, match='Bash', timeout=300",
    "slow": "strict=True, match='Slow', timeout=2",
}
CONFIG = "timeout = 300.0\ndeadline = 300.0\n"  # a busy machine takes its time
PARALLEL = 4


@pytest.fixture(scope="module")
def place() -> Iterator[Scratch]:
    """A home with guards, whose events a server answers."""
    made = scratch.make(config=CONFIG)
    for name, options in GUARDS.items():
        made.user_handler(name, HANDLER.format(options=options))
    scratch.install(made, native=True)
    yield made
    made.close()


def serve(place: Scratch) -> None:
    """Have a server run, and answer an event."""
    place.start_server()

    def warm() -> bool:
        process, chain = watched(place)
        process.communicate(timeout=processes.PATIENCE)
        return process.pid not in chain

    until(warm, "a server answers")


def watched(
    place: Scratch, command: str = "", tool: str = "Bash", **changes: Any
) -> tuple[subprocess.Popen[bytes], list[int]]:
    """Start a guarded call; return it and the guard's process with all its parents, once the guard runs."""
    note = place.home / f"chain-{time.monotonic_ns()}"
    payload = place.call(command, tool)
    payload["tool_input"]["description"] = str(note)
    process = place.begin(payload, **changes)
    until(lambda: note.exists() or process.poll() is not None, "the guard runs")
    chain = [int(pid) for pid in note.read_text().split()]
    note.unlink()
    return process, chain


def ended(process: subprocess.Popen[bytes]) -> Ended:
    """Wait for an event's end."""
    out, err = process.communicate(timeout=processes.PATIENCE)
    return Ended(process.returncode, out.decode(), err.decode(), 0.0)


def refusal(got: Ended, guard: str = "guard") -> str:
    """Return what is wrong with a refusal: it names the guard and a command that lifts it, and is all that is said."""
    if (got.exit_code, got.stderr) != (0, ""):
        return f"exit code {got.exit_code}, {got.stderr!r}"
    try:
        said = reason(got)
    except ValueError:
        return f"no JSON object: {got.stdout!r}"
    if not said:
        return f"it passes: {got.stdout!r}"
    if f"{guard}.py" not in said or not lifting(said):
        return f"it doesn't name the guard and what lifts it: {said!r}"
    return ""


def passes(got: Ended) -> str:
    """Return what is wrong with an event that nothing blocks; the user may be told something."""
    ended_well = (got.exit_code, got.stderr) == (0, "") and set(got.reply) <= {"systemMessage"}
    return "" if ended_well else f"it doesn't pass: {got}"


def at_once(rows: dict[str, Callable[[], str]]) -> list[str]:
    """Play rows, a few at a time; return the problems by name."""
    with ThreadPoolExecutor(PARALLEL) as pool:
        found = dict(zip(rows, pool.map(lambda row: row(), rows.values()), strict=True))
    return [f"{name}: {problem}" for name, problem in found.items() if problem]


# --- a handler in trouble -----------------------------------------------------------------------------------------

ORPHANED = "kills its parent"  # then nobody knows the tool, so a guard of the event refuses
TROUBLES = {
    "raises": "raise ValueError('no')",
    "raises what nobody catches": "raise type('Odd', (BaseException,), {})()",
    "raises what can't be printed": "raise type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})()",
    "interrupted": "raise KeyboardInterrupt",
    "exits with 0": "sys.exit(0)",
    "exits with 2": "sys.exit(2)",
    "ends its process with 0": "os._exit(0)",
    "ends its process with 3": "os._exit(3)",
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "terminated": "os.kill(os.getpid(), signal.SIGTERM)",
    "crashes": "import ctypes; ctypes.string_at(0)",
    "aborts": "os.abort()",
    "recurses": "f = lambda: g(); g = lambda: f(); scope = {}; exec('def f(): f()\\nf()', scope)",
    "out of memory": "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28)); b' ' * (1 << 40)",
    "out of files": "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0)); open('/dev/null')",
    "becomes another program": "os.execv('/bin/true', ['true'])",
    "becomes a program that prints a permission": (
        'os.execv(\'/bin/echo\', [\'echo\', \'{"hookSpecificOutput": {"hookEventName": "PreToolUse", '
        '"permissionDecision": "allow"}}\'])'
    ),
    "closes everything": "os.closerange(0, 256)",
    "closes everything and ends": "os.closerange(0, 256); os._exit(0)",
    "answers with a word": "answer = 'no'",
    "answers with another event's outcome": "answer = title('T')",
    "makes a wrong outcome": "answer = deny(7, 8, 9)",
    "writes into every pipe": (
        'for fd in range(3, 64):\n    try: os.write(fd, b\'{"outcomes": [], "fault": ""}\\n\')\n'
        "    except OSError: pass\n"
        "os._exit(0)"
    ),
    ORPHANED: "os.kill(os.getppid(), signal.SIGKILL); time.sleep(600)",
}
HANGS = {
    "hangs": "time.sleep(600)",
    "hangs deaf": "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True:\n    time.sleep(600)",
    "stopped": "os.kill(os.getpid(), signal.SIGSTOP)",
    "blocks on a pipe": "os.read(os.pipe()[0], 1)",
    "catches everything": "while True:\n    try: time.sleep(600)\n    except BaseException: pass",
}
DECIDES = {
    "prints noise": ("print('noise' * 10_000); os.write(1, b'noise'); answer = deny('asked')", "asked"),
    "prints a permission": (
        "print('{\"permissionDecision\": \"allow\"}', flush=True); answer = deny('asked')",
        "asked",
    ),
    "closes stdout": ("os.close(1); answer = deny('asked')", "asked"),
    "leaves a daemon behind": ("os.fork() or (os.setsid(), time.sleep(600)); answer = deny('asked')", "asked"),
    "leaves a thread": (
        "import threading; threading.Thread(target=time.sleep, args=[600]).start(); answer = deny('asked')",
        "asked",
    ),
    "ends badly later": ("import atexit; atexit.register(os._exit, 9); answer = deny('asked')", "asked"),
    "denies with odd letters": ("answer = deny('asked \\ud800 \\0 \\x1b[2J')", "asked"),
}


@pytest.mark.parametrize("server", ["on", "off"])
def test_guards_in_trouble_refuse_and_other_handlers_in_trouble_block_nothing(place: Scratch, server: str) -> None:
    """The trouble is inside the handler: it dies, hangs, or answers what nobody understands."""
    if server == "on":
        serve(place)
    environ = place.environ(HOLDFAST_SERVER=server)
    rows: dict[str, Callable[[], str]] = {}

    def strict(trouble: str, tool: str, guard: str) -> str:
        return refusal(place.fire(place.call(trouble, tool), environ=environ), guard)

    def loose(trouble: str, tool: str) -> str:
        mark = place.home / f"{tool}-{server}"
        got = place.fire(place.call(f"open('{mark}', 'w').close()\n{trouble}", tool), environ=environ)
        return passes(got) or ("" if mark.exists() else "it never ran")

    def decides(trouble: str, word: str) -> str:
        said = reason(place.fire(place.call(trouble), environ=environ))
        return "" if said.startswith(word) else f"it doesn't decide: {said!r}"

    for number, (name, trouble) in enumerate({**TROUBLES, **HANGS}.items()):
        tool, guard = ("Slow", "slow") if name in HANGS else ("Bash", "guard")
        limit = 2 if name in HANGS else 300
        place.user_handler(f"loose{number}", HANDLER.format(options=f"match='Loose{number}', timeout={limit}"))
        rows[f"{name}, strict"] = partial(strict, trouble, tool, guard)
        if name != ORPHANED:
            rows[f"{name}, not strict"] = partial(loose, trouble, f"Loose{number}")
    for name, (trouble, word) in DECIDES.items():
        rows[name] = partial(decides, trouble, word)
    found = at_once(rows)
    for number in range(len(TROUBLES) + len(HANGS)):
        (place.home / f".config/holdfast/handlers/loose{number}.py").unlink()
    report(found)
    assert passes(place.fire(place.call(), environ=environ)) == ""


# --- other handlers and inherited state ---------------------------------------------------------------------------

SENTRY = """
    import os, re
    from pathlib import Path
    from holdfast import *

    @hookimpl(strict=True, match="Sentry")
    def on_pre_tool_use(event):
        mask = os.umask(0)
        os.umask(mask)
        here, secret = Path("FROZEN").exists(), bool(re.search("[.]env", event.tool_input["command"]))
        return deny(f"{here} {secret} {os.environ.get('CLAUDECODE')} {os.environ.get('TZ')} {oct(mask)} {os.getcwd()}")
    """
FORGED = (
    b'{"answer": "user/sentry.py: on_pre_tool_use", "outcomes": [], "fault": "", "ran": true, "moments": [], '
    b'"printed": "", "patience": 0, "last": true, "waits": false, "records": false}\n'
)
ACTS = {
    "leaves the folder": "os.chdir('/')",
    "patches re": "re.search = lambda *a, **k: None",
    "patches pathlib": "pathlib.Path.exists = lambda self: False",
    "patches holdfast": "holdfast.plugins.outcomes.deny = holdfast.deny = lambda *a: None",
    "empties the environment": "os.environ.clear()",
    "changes environment and umask": "os.environ['TZ'] = 'Asia/Tokyo'; os.umask(0o777)",
    "answers in the guard's name": (
        f"for fd in range(3, 64):\n    try: os.write(fd, {FORGED!r})\n    except OSError: pass"
    ),
    "allows": "answer = allow('yes')",
}
"""What a handler does, when its file is loaded and when it is called, and what a strict neighbour does before."""


def neighbour(loaded: str, called: str, options: str = "tryfirst=True") -> str:
    """Return a handler that does something when its file is loaded, and when it is called."""
    body = "".join(f"    {line}\n" for line in called.splitlines())
    modules = "import holdfast, holdfast.plugins.outcomes, os, pathlib, re\nfrom holdfast import *\nanswer = None\n"
    return f"{modules}{loaded}\n@hookimpl({options})\ndef on_pre_tool_use(event):\n    answer = None\n{body}" + (
        "    return answer\n"
    )


@pytest.mark.parametrize("server", ["on", "off"])
def test_no_other_handler_changes_what_a_guard_sees_or_answers(place: Scratch, server: str) -> None:
    """Yours and the project's, loaded or called before it.

    Strict ones of yours share the guard's process, where folder, environment and umask are what they were.
    """
    if server == "on":
        serve(place)
    place.user_handler("sentry", SENTRY)
    (place.root / "FROZEN").touch()
    mask = os.umask(0o022)
    os.umask(mask)
    wanted = f"True True 1 None {oct(mask)} {place.root}"
    found = []
    for name, act in list(ACTS.items())[:: 1 if server == "on" else 3]:
        tidy = "environment" in name or "folder" in name
        made = []
        for write in (place.user_handler, place.project_handler):
            made += [
                write("a_loaded", neighbour(act.replace("answer = ", ""), "")),
                write("a_called", neighbour("", act)),
            ]
        if tidy:
            made.append(place.user_handler("a_strict", neighbour(act, act, "strict=True, match='Sentry'")))
        alone = neighbour(act.replace("answer = ", ""), act, "strict=True, tryfirst=True, match='Sentry'")
        made.append(place.project_handler("a_strict", alone))
        place.trust()
        got = place.fire(place.call("cat .env", "Sentry"), environ=place.environ(HOLDFAST_SERVER=server))
        if wanted not in reason(got):
            found.append(f"{name}: {got}")
        clear(place, *made)
    clear(place, place.home / ".config/holdfast/handlers/sentry.py")
    report(found)


SCRIPTS = {
    "it refuses": ("strict", "echo no >&2; exit 2", "no"),
    "it gets what others changed": ("strict", "grep -q '\"mv\"' || exit 0; echo moved >&2; exit 2", "moved"),
    "it fails": ("strict", "exit 1", "ended with exit code 1"),
    "it is killed": ("strict", "kill -9 $$", "ended with exit code -9"),
    "it hangs": ("strict timeout=1", "sleep 600", "took longer than its 1 s"),
    "it ignores the end": ("strict timeout=1", "trap '' TERM; while :; do :; done", "took longer"),
    "its program is missing": ("strict", "", "can't be started: no such file"),
    "it allows": ("strict", "exit 0", ""),
    "it isn't strict": ("", "exit 1", ""),
}


@pytest.mark.parametrize("server", ["on", "off"])
def test_a_script_guards_like_any_strict_handler(place: Scratch, server: str) -> None:
    """It refuses in every trouble, and runs only as it was when it was hashed."""
    if server == "on":
        serve(place)
    place.user_handler("change", neighbour("", "answer = change_input({'command': 'mv'})", "match='Scripted'"))
    environ, found = place.environ(HOLDFAST_SERVER=server), []
    for name, (options, body, expected) in list(SCRIPTS.items())[:: 1 if server == "on" else 3]:
        program = "/bin/sh" if body else "/nowhere/sh"
        script = place.home / ".config/holdfast/handlers/script.sh"
        place.write(script, f"#!{program}\n# holdfast: event=PreToolUse match=Scripted {options}\n{body}\n")
        script.chmod(0o755)
        place.holdfast("handlers", "on", "script")
        said = reason(place.fire(place.call("ls", "Scripted"), environ=environ))
        if expected not in said or bool(said) != bool(expected):
            found.append(f"{name}: {said!r}")
        place.holdfast("handlers", "off", "script")
    clear(place, script)
    theirs = place.root / ".claude/handlers/theirs"
    place.write(theirs, "#!/bin/sh\n# holdfast: event=PreToolUse match=Theirs strict\nexit 0\n")
    theirs.chmod(0o755)
    place.trust()
    if said := reason(place.fire(place.call("ls", "Theirs"), environ=environ)):
        found.append(f"trusted: {said!r}")
    theirs.write_text(theirs.read_text() + "touch ran\n")
    said = reason(place.fire(place.call("ls", "Theirs"), environ=environ))
    if "was changed since you trusted it" not in said or (place.root / "ran").exists():
        found.append(f"changed: {said!r}")
    clear(place, theirs)
    report(found)


def test_a_guard_judges_the_input_that_the_tool_gets(place: Scratch) -> None:
    """Also what a handler of the project, before or after it, made of the input; and a second change."""
    place.user_handler(
        "judge",
        """
        from holdfast import *
        @hookimpl(strict=True, match="Judged")
        def on_pre_tool_use(event):
            with open("judged", "a") as file:
                file.write(event.tool_input["command"] + "\\n")
            return deny("no") if "rm" in event.tool_input["command"] else None
        """,
    )
    made = [
        place.project_handler(
            "a", neighbour("", "answer = change_input({'command': 'mv'})", "match='Judged', tryfirst=True")
        ),
        place.project_handler(
            "z", neighbour("", "answer = change_input({'command': 'rm'})", "match='Judged', trylast=True")
        ),
    ]
    place.trust()
    assert reason(place.fire(place.call("ls", "Judged"))) == "no (user/judge.py)"
    assert (place.root / "judged").read_text().splitlines()[-1] == "rm"
    clear(place, *made, place.home / ".config/holdfast/handlers/judge.py")


# --- a handler's file ---------------------------------------------------------------------------------------------

FILE = '''"""No call passes."""
from holdfast import deny, hookimpl

NOTE = "guarded"


@hookimpl(strict=True, match="{tool}")
def on_pre_tool_use(event):
    """Refuse."""
    return deny(NOTE)
'''
RUNS: dict[str, Callable[[str], str]] = {
    "a comment more": lambda text: text + "# more\n",
    "another matcher": lambda text: text.replace('match="', 'match="Edit|'),
    "a timeout": lambda text: text.replace("strict=True", "strict=True, timeout=70"),
    "off by its own word": lambda text: text + "OFF_BY_DEFAULT = True\n",
    "waiting by its own word": lambda text: text + 'RUNS_WHEN = {"reading": ["hold"]}\n',
}
REFUSES: dict[str, Callable[[str], str]] = {
    "blank": lambda text: " \n\n",
    "only a comment": lambda text: "# to do\n",
    "not Python": lambda text: "def on_pre_tool_use(:\n",
    "an import that fails": lambda text: "import nothing_of_this_name\n" + text,
    "an exit when it is loaded": lambda text: "import sys\nsys.exit(0)\n" + text,
    "a null byte": lambda text: text + "\0",
    "another name of the function": lambda text: text.replace("def on_pre_tool_use", "def check"),
    "another event": lambda text: text.replace("on_pre_tool_use", "on_permission_request"),
    "strict=False": lambda text: text.replace("strict=True", "strict=False"),
    "no strict": lambda text: text.replace("strict=True, ", ""),
    "no marker": lambda text: text.replace("@hookimpl", "# hookimpl"),
    **{f"cut at {at}": partial(lambda at, text: text[:at], at) for at in range(0, len(FILE), 32)},
}


def instead(make: Callable[[Path], object], file: Path) -> None:
    """Put something else in a file's place."""
    file.rename(file.with_suffix(".txt"))
    make(file)


def in_a_folder(file: Path) -> None:
    """Put a folder in a file's place, with the file in it."""
    file.mkdir()
    file.with_suffix(".txt").rename(file / file.name)


AWAY: dict[str, Callable[[Path], object]] = {
    "deleted": Path.unlink,
    "renamed": lambda file: file.rename(file.with_suffix(".txt")),
    "a folder in its place": partial(instead, Path.mkdir),
    "in another folder": partial(instead, in_a_folder),
    "a dangling link": partial(instead, lambda file: file.symlink_to("nowhere")),
    "a link to itself": partial(instead, lambda file: file.symlink_to(file.name)),
    "a pipe": partial(instead, os.mkfifo),
    "unreadable": lambda file: file.chmod(0),
}


def test_a_guard_whose_file_changed_runs_or_refuses_with_a_command_that_lifts_it(place: Scratch) -> None:
    """One of yours; tests/api/test_places.py has the project's, of which only what you trusted runs."""
    serve(place)
    edits: dict[str, Callable[[Path], object]] = {
        name: partial(
            lambda edit, file: file.write_bytes(edit(file.read_text()).encode("utf-8", "surrogateescape")), edit
        )
        for name, edit in {**RUNS, **REFUSES}.items()
    } | AWAY
    names = {name: f"yours{number}" for number, name in enumerate(edits)}
    files = {name: place.user_handler(stem, FILE.format(tool=stem)) for name, stem in names.items()}
    unprivileged = tuple(scratch.NO_ROOT) if os.getuid() == 0 and shutil.which("setpriv") else ()
    wanted = {}

    def row(name: str) -> str:
        stem, file = names[name], files[name]
        if name == "unreadable" and os.getuid() == 0 and not unprivileged:
            return ""
        before = tuple(unprivileged) if name == "unreadable" else ()
        environ = place.environ(HOLDFAST_SERVER="off") if before else None
        if not reason(place.fire(place.call("", stem))).startswith("guarded"):
            return "it doesn't run before"
        edits[name](file)
        said = reason(ended(place.begin(place.call("", stem), environ, before)))
        if name in RUNS:
            wanted[name] = f"holdfast handlers off {stem}"
            return "" if said.startswith("guarded") else f"it doesn't run: {said!r}"
        commands = lifting(said)
        if "a strict handler could not check it: " not in said or f"{stem}.py" not in said:
            return f"it isn't refused: {said!r}"
        if len(commands) != 1:
            return f"it doesn't name one command: {said!r}"
        wanted[name] = commands[0]
        return ""

    found = at_once({name: partial(row, name) for name in edits})
    found += [f"{name}: lifted by {wanted[name]}" for name in wanted if f"off {names[name]}" not in wanted[name]]
    for name in {"a comment more", "strict=False", "deleted", "a folder in its place"} & wanted.keys():
        place.holdfast(*shlex.split(wanted[name])[1:])
        found += [f"{name}: {bad}" for bad in [passes(place.fire(place.call("", names[name])))] if bad]
    clear(place, *files.values())
    report(found)


def clear(place: Scratch, *files: Path) -> None:
    """Remove handlers, and have Holdfast remember only the guards that are there."""
    for file in files:
        scratch.remove(file)

    def forgotten() -> bool:
        place.strict.unlink()
        assert passes(place.fire(place.call())) == ""
        return not any(file.name in place.strict.read_text() for file in files)

    until(forgotten, "an earlier event's process no longer notes the handlers")


def test_no_call_passes_while_an_editor_saves_a_guard(place: Scratch) -> None:
    """It empties the file and writes it a moment later; between the two, calls are refused."""
    serve(place)
    text = FILE.format(tool="Edited")
    file, over = place.user_handler("edited", text), Event()
    assert reason(place.fire(place.call("", "Edited"))).startswith("guarded")

    def edit() -> None:
        while not over.wait(0.01):
            file.write_text("")
            over.wait(0.01)
            file.write_text(text)

    editor = Thread(target=edit)
    editor.start()
    try:
        found = [reason(place.fire(place.call("", "Edited"))) for _ in range(8)]
    finally:
        over.set()
        editor.join()
    assert all(found)
    assert reason(place.fire(place.call("", "Edited"))).startswith("guarded")
    clear(place, file)


def test_a_session_that_starts_after_an_edit_names_the_guard_and_keeps_it_registered() -> None:
    """Its start names the command that lifts it; that one command ends it, and then nothing is registered for it."""
    made = scratch.make(config=CONFIG)
    try:
        guard = made.user_handler("edited", FILE.format(tool="Edited"))
        (made.home / ".config/holdfast/holdfast.toml").unlink()  # a shipped handler tells of it
        scratch.install(made, native=False)
        settings = made.home / ".claude/settings.json"
        guard.write_text("")
        said = made.fire(made.payload("SessionStart-startup")).reply["systemMessage"]
        assert "in a terminal: holdfast handlers off edited)" in said
        guard.unlink()
        made.holdfast("handlers", "on", "save_workflow")
        assert "Edited" in settings.read_text()
        made.holdfast("handlers", "off", "edited")
        assert "Edited" not in settings.read_text()
    finally:
        made.close()


# --- the event ----------------------------------------------------------------------------------------------------


def raw(place: Scratch, tool: str, value: bytes) -> bytes:
    """Return a tool call as the client writes it, with some bytes for its input."""
    payload = place.call("", tool)
    del payload["tool_input"]
    return json.dumps(payload).encode()[:-1] + b', "tool_input": ' + value + b"}\n"


UNREADABLE = {
    "5000 digits": b'{"timeout": ' + b"9" * 5_000 + b"}",
    "not UTF-8": b'{"command": "\xff"}',
    "nested": b"[" * 100_000,
    "cut off": b'{"command": "ls',
    "not JSON": b"nonsense",
    "no object": b"5",
}
WHOLE = [b"", b"\xff", b"{", b"[]", b'"PreToolUse"', b'{"tool_name": "Bas']
FIELDS: list[dict[str, Any]] = [
    *({"session_id": 5}, {"session_id": None}, {"session_id": ["x"]}, {"tool_input": 5}, {"tool_input": None}),
    *({"hook_event_name": 5}, {"hook_event_name": "PreCoffee"}, {"hook_event_name": None}),
]
OTHERS: list[dict[str, Any]] = [
    {"cursor_version": "2.1", "conversation_id": "c", "hook_event_name": "PreToolUse", "tool_name": "Bash"},
    {"sessionId": "s", "toolName": "Bash", "cwd": "/"},
]


def test_a_call_that_cannot_be_judged_is_refused_and_others_pass(place: Scratch) -> None:
    """Where the payload can be read, calls that nobody guards pass; other clients hear nothing."""
    other = place.user_handler("a_first", FILE.format(tool="First"))  # a refusal names the guard of the call, not this
    serve(place)
    asked, unasked = place.call("answer = deny('asked')"), place.call("", "Read")

    def fire(payload: Any, **changes: str | None) -> Ended:
        return place.fire(payload, "PreToolUse", environ=place.environ(**changes))

    def refused(payload: Any, guard: str = "guard", **changes: str | None) -> str:
        return refusal(fire(payload, **changes), guard)

    def passed(payload: Any, **changes: str | None) -> str:
        return passes(fire(payload, **changes))

    def decided(payload: Any) -> str:
        return "" if reason(fire(payload)).startswith("asked") else "it isn't asked"

    rows: dict[str, Callable[[], str]] = {}
    for name, value in UNREADABLE.items():
        rows[name] = partial(refused, raw(place, "Bash", value), guard="")  # whose call it is can't be known
        rows[f"{name}, cold"] = partial(refused, raw(place, "Bash", value), guard="", HOLDFAST_SERVER="off")
    for data in WHOLE:
        rows[f"all is {data!r}"] = partial(refused, data, guard="")
    for changes in FIELDS:
        rows[f"{changes}, guarded"] = partial(refused, {**place.call(), **changes})
        rows[f"{changes}, not guarded"] = partial(passed, {**unasked, **changes})
    for key in ("session_id", "tool_name", "tool_input", "hook_event_name"):
        left = {name: value for name, value in place.call().items() if name != key}
        rows[f"no {key}"] = partial(refused, left, guard="" if key == "tool_name" else "guard")
    for key in ("conversation_id", "generation_id", "sessionId", "hookEventName"):
        rows[f"{key} of another client"] = partial(decided, {**asked, key: "x"})
    for payload in OTHERS:
        rows[f"another client's {payload}"] = partial(passed, payload)
    rows["no project"] = lambda: passes(fire(asked, CLAUDE_PROJECT_DIR=None))
    rows["no client"] = lambda: passes(fire(asked, CLAUDECODE=None))
    rows["a client by its second name"] = lambda: refusal(
        fire(b'{"tool_name": "Bash", "x": \xff', CLAUDECODE=None, AI_AGENT="claude-code_2-1-197_harness"), ""
    )
    long = f"{place.root}{'/x' * 50_000}"
    rows["a project that nothing can have"] = lambda: refusal(fire(place.call(), CLAUDE_PROJECT_DIR=long))
    rows["the same, not guarded"] = lambda: passes(fire(unasked, CLAUDE_PROJECT_DIR=long))
    report(at_once(rows))
    assert "/x/x" not in place.log()
    clear(place, other)


REPOSITORIES = {
    "digits": "a = " + "9" * 5_000,
    "digits in a table": "[handlers]\nx = " + "1" * 5_000,
    "nested": "a = [" * 5_000,
    "not UTF-8": "\udcff",
    "dots": "a" + ".a" * 10_000 + "=1",
    "switches it off": '[handlers]\noff = ["guard"]\n',
    "a namesake": "",
    "a namesake that is trusted": "",
}


def test_no_repository_and_no_variable_opens_a_guard(place: Scratch) -> None:
    """Neither a project's configuration, nor its handlers, nor its folders, nor where it says that yours are."""
    serve(place)
    asked = place.call("answer = deny('asked')")
    found = []
    for name, text in REPOSITORIES.items():
        config = place.write(".claude/holdfast.toml", text.encode("utf-8", "surrogateescape"))
        namesake = "namesake" in name and place.project_handler("guard", neighbour("", "answer = allow('yes')"))
        if "trusted" in name:
            place.trust()
        if not (said := reason(place.fire(asked))).startswith("asked"):
            found.append(f"{name}: {said!r}")
        config.unlink()
        if namesake:
            namesake.unlink()
    environ = place.environ(XDG_CONFIG_HOME=str(place.home / "other"))
    place.write(place.home / "other/holdfast/handlers/guard.py", "")
    got = place.fire(place.call(), environ=environ)
    found += [f"another configuration: {bad}" for bad in [refusal(got)] if bad]
    found += [
        f"the same, not guarded: {bad}" for bad in [passes(place.fire(place.call("", "Read"), environ=environ))] if bad
    ]
    place.holdfast(*shlex.split(lifting(reason(got))[0])[-3:], XDG_CONFIG_HOME=str(place.home / "other"))
    if not reason(place.fire(asked)).startswith("asked"):
        found.append("lifted there, it is lifted here too")
    report(found)


def test_each_guard_is_lifted_alone_and_a_broken_record_of_trust_lifts_none(place: Scratch) -> None:
    """`handlers off` names one guard; without a readable trust.json, the project's guard refuses and yours run."""
    serve(place)
    files = [place.user_handler(name, FILE.format(tool="Both")) for name in ("first", "second")]
    project = place.project_handler("theirs", FILE.format(tool="Theirs"))
    place.trust()
    found = []
    for off, left in {"": "first", "first": "second", "second": ""}.items():
        if off:
            place.holdfast("handlers", "off", off)
        said = reason(place.fire(place.call("", "Both")))
        if bool(said) != bool(left) or f"{left}.py" not in f"{said}.py":
            found.append(f"without {off}: {said!r}")
    assert reason(place.fire(place.call("", "Theirs"))).startswith("guarded")
    record = place.home / ".config/holdfast/trust.json"
    for text in ("", "{", "[]", '{"/x": 5}', "[" * 9_999):
        with changed(record, text):
            said = reason(place.fire(place.call("", "Theirs")))
            if "could not check it" not in said or "theirs.py" not in said or not lifting(said):
                found.append(f"trust.json is {text[:9]!r}: {said!r}")
            if not reason(place.fire(place.call("answer = deny('asked')"))).startswith("asked"):
                found.append(f"trust.json is {text[:9]!r}: yours doesn't run")
    clear(place, *files, project)
    report(found)


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives a folder away")
def test_a_state_folder_of_another_user_is_not_believed(place: Scratch) -> None:
    """Guards in your handlers folder still run. What can't be asked is refused, whatever the memory there says."""
    state = place.strict.parent
    memory, found = place.strict.read_bytes(), []
    for text in (b"", None):
        place.strict.unlink()
        if text is not None:
            place.strict.write_bytes(text)
        os.chown(state, 4711, 4711)
        asked, unreadable = place.fire(place.call("answer = deny('asked')")), place.fire(b"nonsense", "PreToolUse")
        os.chown(state, os.getuid(), os.getgid())
        if not reason(asked).startswith("asked") or not reason(unreadable):
            found.append(f"{text!r}: {asked.stdout!r}, {unreadable.stdout!r}")
        place.strict.write_bytes(memory)
    report(found)
    for mode in (0o777, 0o770, 0o707):
        state.chmod(mode)
        assert reason(place.fire(place.call("answer = deny('asked')"))).startswith("asked")
        assert state.stat().st_mode & 0o022 == 0, oct(mode)


# --- the server ---------------------------------------------------------------------------------------------------


def server_of(place: Scratch, chain: list[int]) -> int:
    """Return the server among a handler's parents: the last one of this home."""
    return [pid for pid in chain if pid in place.processes()][-1]


def test_a_server_that_dies_or_stops_opens_no_guard(place: Scratch) -> None:
    """Before an event, and while the guard works on it; the same for the process that answers, and for the client."""
    wait = "time.sleep(600)"
    asked = "answer = deny('asked')"
    found = []

    def check(name: str, got: Ended, word: str = "") -> None:
        said = reason(got) if got.stdout else ""
        if not said or word not in said:
            found.append(f"{name}: {got.stdout!r}, {said!r}")

    def server() -> int:
        process, chain = watched(place)
        process.communicate(timeout=processes.PATIENCE)
        return server_of(place, chain) if process.pid not in chain else 0

    for name, number in {"killed": signal.SIGKILL, "terminated": signal.SIGTERM, "stopped": signal.SIGSTOP}.items():
        serve(place)
        if pid := server():
            os.kill(pid, number)
            check(f"server {name} before the event", place.fire(place.call(asked)), "asked")
            check(f"server {name} before an event that can't be read", place.fire(b"nonsense", "PreToolUse"))
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        serve(place)
        over = place.home / "over"
        over.unlink(missing_ok=True)
        process, chain = watched(place, f"while not os.path.exists({str(over)!r}): time.sleep(0.01)\n{asked}")
        if process.pid not in chain:
            os.kill(pid := server_of(place, chain), number)
            over.touch()
            check(f"server {name} while the guard runs", ended(process))
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        over.touch()
        process.communicate(timeout=processes.PATIENCE)
    for server_is in ("on", "off"):
        serve(place)
        environ = place.environ(HOLDFAST_SERVER=server_is)
        process, chain = watched(place, wait, environ=environ)
        os.kill(chain[1], signal.SIGKILL)
        check(f"the process that answers killed, server {server_is}", ended(process))
        process, chain = watched(place, wait, environ=environ)
        os.killpg(process.pid, signal.SIGTERM)
        check(f"ended by the client, server {server_is}", ended(process), "the client ended it")
    process, chain = watched(
        place, "open('/dev/null'); answer = advise('x', on_delivered=lambda: os.kill(os.getppid(), 9))"
    )
    got = ended(process)
    if "x" not in got.advice or reason(got):
        found.append(f"killed once the reply is out: {got.stdout!r}")
    serve(place)
    folders = place.strict.parent / "server"
    with changed(folders, b"in the way"):
        check("a file for the server's folder", place.fire(place.call(asked)), "asked")
    with changed(folders, link="nowhere"):
        check("a dangling link for it", place.fire(place.call(asked)), "asked")
    report(found)


def test_a_server_that_you_switch_off_answers_no_more(place: Scratch) -> None:
    """From the next event on."""
    serve(place)
    config = place.home / ".config/holdfast/holdfast.toml"
    with changed(config, f"server = false\n{config.read_text()}"):
        process, chain = watched(place)
        process.communicate(timeout=processes.PATIENCE)
    assert process.pid in chain


def test_a_stopped_process_refuses_when_its_time_is_up() -> None:
    """The process that answers an event is stopped for good: the relay refuses, if the event is guarded at all."""
    made = scratch.make(config="timeout = 1.0\ndeadline = 1.0\n")
    try:
        guard = made.user_handler("guard", HANDLER.format(options="strict=True, match='Bash'"))
        scratch.install(made, native=True)
        serve(made)
        ours, theirs = os.pipe()
        os.write(theirs, raw(made, "Bash", b'{"command": "never ')[:-2])
        options: dict[str, Any] = {"stdin": ours, "stdout": subprocess.PIPE, "cwd": made.root}
        endless = subprocess.Popen(made.registered("PreToolUse"), env=made.environ(HOLDFAST_SERVER="off"), **options)

        def struck(number: int) -> Ended:
            """Return the end of a warm event whose process gets a signal; a busy machine answers some without it."""
            while True:
                process, chain = watched(made, "time.sleep(600)")
                with suppress(ProcessLookupError):
                    os.kill(chain[1], signal.SIGKILL if process.pid in chain else number)
                got = ended(process)
                if process.pid not in chain:
                    return got

        assert refusal(struck(signal.SIGSTOP)) == ""
        out, _ = endless.communicate(timeout=processes.PATIENCE)
        assert "its time was up" in reason(Ended(0, out.decode(), "", 0.0)), "the payload never ends"
        os.close(ours)
        os.close(theirs)
        guard.write_text(guard.read_text().replace("strict=True, ", ""))
        made.strict.unlink()
        serve(made)
        assert passes(struck(signal.SIGSTOP)) == ""
        assert passes(struck(signal.SIGKILL)) == ""
    finally:
        made.close()


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("unshare"), reason="makes namespaces")
def test_a_sandboxed_call_is_judged_inside_its_sandbox(place: Scratch) -> None:
    """The server outside isn't asked: what the guard sees is what the tool would see."""
    serve(place)
    look = "answer = deny(os.readlink('/proc/self/ns/net') + os.readlink('/proc/self/ns/mnt'))"
    outside = "".join(str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in ("net", "mnt"))
    assert outside in reason(place.fire(place.call(look)))
    inside = reason(ended(place.begin(place.call(look), before=("unshare", "-n", "-m"))))
    assert inside.startswith("net:")
    assert not {outside.partition("mnt")[0], "mnt" + outside.partition("mnt")[2]} & set(
        inside.split(" ")[0].replace("mnt", " mnt").split()
    )


LIMITS = [
    *(f"ulimit -v {size}" for size in (8_000, 32_000, 64_000, 128_000)),
    *(f"ulimit -n {count}" for count in (12, 20)),
    *("ulimit -f 0", "ulimit -s 256", "exec 2>&-", "exec 0<&-", "cd / && umask 777"),
]


def test_a_guard_holds_where_the_system_gives_little(place: Scratch) -> None:
    """Memory, descriptors, file sizes, or stack run out somewhere in Holdfast, wherever that is."""
    found = []
    for limit in LIMITS:
        before = ("/bin/sh", "-c", f'{limit}; exec "$@"', "sh")
        got = ended(place.begin(place.call("answer = deny('asked')"), place.environ(HOLDFAST_SERVER="off"), before))
        if not got.stdout or not reason(got):
            found.append(f"{limit}: {got}")
        loose = ended(place.begin(place.call("", "Read"), place.environ(HOLDFAST_SERVER="off"), before))
        if loose.exit_code:
            found.append(f"{limit}, not guarded: {loose}")
    report(found)


def test_a_guard_counts_where_no_process_can_be_started(place: Scratch) -> None:
    """Whichever fork fails, also with a new guard that no event has shown yet; and with an inherited `trap '' CHLD`."""
    found = []
    for forks in range(3):
        new = place.user_handler(f"new{forks}", FILE.format(tool=f"New{forks}"))
        environ = place.environ(HOLDFAST_SERVER="off", LD_PRELOAD=str(scratch.preload()), TROUBLE_FORK=str(forks))
        for guard, call in (
            ("guard", place.call("answer = deny('asked by guard.py')")),
            (new.stem, place.call("", f"New{forks}")),
        ):
            got = place.fire(call, environ=environ)
            if not (said := reason(got)) or f"{guard}.py" not in said:
                found.append(f"{guard}, {forks} forks: {got}")
        clear(place, new)
    deaf = ("/bin/sh", "-c", 'trap "" CHLD; exec "$@"', "sh")
    for server in ("on", "off"):
        got = ended(place.begin(place.call("answer = deny('asked')"), place.environ(HOLDFAST_SERVER=server), deaf))
        if not reason(got).startswith("asked"):
            found.append(f"SIGCHLD ignored, server {server}: {got}")
    report(found)


STRUCK: dict[str, dict[str, str]] = {
    "killed": {},
    "ended by the client": {"TROUBLE_SIGNAL": str(signal.SIGTERM.value)},
    "without a disk": {"TROUBLE_ACT": str(errno.EIO)},
}
"""What happens to a process at one of its writes."""
SAYS_NO = """
    from holdfast import *

    @hookimpl(strict=True)
    def on_pre_tool_use(event):
        return deny("asked")

    @hookimpl
    def on_task_completed(event):
        return block("not yet")
    """


def test_a_cold_event_that_is_struck_at_any_write_is_answered_once_or_refused() -> None:
    """Nothing stands behind its reply, and the exit code is the reply's: also if it is struck after it has answered."""
    made = scratch.make(native=False, config=CONFIG)
    try:
        made.user_handler("says", SAYS_NO)
        scratch.install(made, native=False)
        counter = made.home / "counter"
        call = made.call()
        task = made.payload("SessionStart-startup") | {"hook_event_name": "TaskCompleted", "task_id": "1"}

        def strike(payload: dict[str, Any], stop: int, **trouble: str) -> Ended:
            counter.write_bytes((0).to_bytes(8, "little") + stop.to_bytes(8, "little"))
            trouble |= {"LD_PRELOAD": str(scratch.preload()), "TROUBLE_COUNT": str(counter)}
            trouble["TROUBLE_BELOW"] = f"{made.home}/.local/state/"
            return made.fire(payload, environ=made.environ(HOLDFAST_SERVER="off", **trouble))

        found = []
        for payload in (call, task):
            strike(payload, 0)  # makes the ledger
            for way, trouble in STRUCK.items():
                strike(payload, 0, **trouble)
                count = int.from_bytes(counter.read_bytes()[:8], "little")
                assert count, way
                for stop in range(1, count + 1, max(count // 4, 1)):
                    got = strike(payload, stop, **trouble)
                    where = f"{payload['hook_event_name']}, {way} at {stop} of {count}"
                    if payload is call:
                        bad = decision(got, "asked") if "asked" in got.stdout else refusal(got, "says")
                    elif got.exit_code == 0 and way != "without a disk":  # it ended before it was answered
                        bad = f"its answer doesn't count: {got}" if "not yet" in got.stderr else ""
                    else:
                        bad = "" if (got.exit_code, got.stderr) == NOT_YET else f"it isn't blocked: {got}"
                    found += [f"{where}: {bad}"] if bad else []
    finally:
        made.close()
    report(found)


NOT_YET = (2, "not yet (user/says.py)")


def decision(got: Ended, word: str) -> str:
    """Return what is wrong with a decision that is all that is said."""
    try:
        said = reason(got)
    except ValueError:
        return f"no JSON object: {got.stdout!r}"
    return "" if got.exit_code == 0 and said.startswith(word) else f"it doesn't decide: {got}"


# --- the installation ---------------------------------------------------------------------------------------------

AGAIN = "To install it again: "
PACKAGE, LOADS, PYTHON = "Holdfast's package is missing", "Holdfast does not load", "Holdfast's Python is missing"
ANSWERS_NOT = "Holdfast did not answer"
# what goes wrong → how, and why calls are refused then
INSTALLATION: dict[str, tuple[Callable[[Scratch], AbstractContextManager[None]], str]] = {
    "no package": (lambda place: changed(place.tree / "src/holdfast"), PACKAGE),
    "no relay": (lambda place: changed(place.tree / "src/holdfast/relay.py"), PACKAGE),
    "no engine": (lambda place: changed(place.tree / "src/holdfast/engine.py"), LOADS),
    "a syntax error": (lambda place: changed(place.tree / "src/holdfast/engine.py", "def broken(:\n"), LOADS),
    "an import error": (lambda place: changed(place.tree / "src/holdfast/engine.py", "import nothing_of_it\n"), LOADS),
    "an exit": (lambda place: changed(place.tree / "src/holdfast/engine.py", "import os\nos._exit(1)\n"), ANSWERS_NOT),
    "cut short": (lambda place: changed(place.tree / "src/holdfast/__init__.py", "raise MemoryError\n"), LOADS),
    "no dependencies": (lambda place: changed(next((place.home.parent / "venv/lib").glob("*/*/b.pth"))), LOADS),
    "no interpreter": (lambda place: changed(place.python), PYTHON),
    "a dangling interpreter": (lambda place: changed(place.python, link="../base/python3"), PYTHON),
    "an interpreter that crashes": (lambda place: changed(place.python, "#!/bin/sh\nkill -9 $$\n"), ANSWERS_NOT),
    "an interpreter that fails": (lambda place: changed(place.python, "#!/bin/sh\nexit 1\n"), ANSWERS_NOT),
    "an interpreter that can't be executed": (lambda place: changed(place.python, "#!/nowhere\n"), ANSWERS_NOT),
}
MISSING = (PACKAGE, PYTHON)
# event → what a handler's no looks like there, and what it looks like if no handler can be asked (`form`)
REFUSALS = {
    "PreToolUse": ("deny('no')", "denied", "denied"),
    "PreSkillShellCommand": ("deny('no')", "denied", "denied"),
    "PermissionRequest": ("deny('no')", "denied", "denied"),
    "UserPromptSubmit": ("block('no')", "blocked", "blocked"),
    "UserPromptExpansion": ("block('no')", "blocked", "blocked"),
    "TaskCompleted": ("block('no')", "exit code 2", "silence"),
    "TeammateIdle": ("block('no')", "exit code 2", "silence"),
    "WorktreeCreate": ("None", "no folder", "no folder"),
    "Stop": ("block('no')", "blocked", "silence"),
    "PostToolUse": ("block('no')", "blocked", "silence"),
    "SessionStart": ("None", "silence", "silence"),
}
"""A handler can be strict on the first five only. On the next two, refusing would keep an agent at work for ever."""
EVERY = """
    import os, time
    from holdfast import *
    """ + "".join(
    f"""
    @hookimpl({"strict=True" if form in ("denied", "blocked") and form == fallen else ""})
    def on_{events.snake(event)}(event):
        if event.session_id == "no":
            return {answer}
        if event.session_id == "kills":
            os.kill(os.getppid(), 9)
            time.sleep(600)
        raise ValueError
    """
    for event, (answer, form, fallen) in REFUSALS.items()
    if event != "PreToolUse"
)
TOOLS = """
    import os, time
    from holdfast import *

    @hookimpl(strict=True, match="Every")
    def on_pre_tool_use(event):
        if event.session_id == "no":
            return deny("no")
        if event.session_id == "kills":
            os.kill(os.getppid(), 9)
            time.sleep(600)
        raise ValueError
    """
FAULT = (
    *("because Holdfast failed (AttributeError)", "'holdfast doctor' shows why"),
    *("To do without it: holdfast handlers ", "without Holdfast: rm -r "),
)
SILENT = ("Stop", "PostToolUse", "TaskCompleted", "TeammateIdle")


@pytest.fixture(params=["python", "native"])
def own(request: pytest.FixtureRequest) -> Iterator[Scratch]:
    """A home with a copy of the package that may be spoiled, a guard, and handlers that fail at other events."""
    made = scratch.make(copy=True, config=CONFIG)
    made.user_handler("guard", HANDLER.format(options="strict=True, match='Bash'"))
    made.user_handler("every", EVERY)
    scratch.install(made, native=request.param == "native")
    yield made
    made.close()


def test_whatever_is_gone_or_broken_guards_stay_closed_and_a_session_is_told(own: Scratch) -> None:
    """However long ago it was; every other event is silence, and none fails."""
    environ = own.environ(HOLDFAST_SERVER="off")
    start = own.payload("SessionStart-startup")
    assert passes(own.fire(own.call(), environ=environ)) == ""
    found = []
    for number, (name, (spoil, why)) in enumerate(INSTALLATION.items()):
        for long_ago in (False, True) if number % 2 else (False,):
            with spoil(own):
                if long_ago:
                    age(own.tree, own.home / ".local", own.python.parent)
                got = own.fire(own.call(), environ=environ)
                if bad := refusal(got) or ("" if why in reason(got) else f"it says why: {reason(got)!r}"):
                    found.append(f"{name}: {bad}")
                if long_ago:
                    continue
                told = own.fire(start, environ=environ)
                text = told.reply.get("systemMessage", "")
                if passes(told) or (why in (PACKAGE, LOADS, PYTHON) and not (text.startswith(why) and AGAIN in text)):
                    found.append(f"{name}: SessionStart: {told}")
                if why in MISSING and AGAIN not in reason(got):
                    found.append(f"{name}: it doesn't say how to install it again: {reason(got)!r}")
                event = SILENT[number % len(SILENT)]
                got = own.fire(b"{}", event, environ=environ)
                if (got.exit_code, got.stdout) != (0, ""):
                    found.append(f"{name}: {event}: {got}")
                if number % 4:
                    continue
                made = own.fire(b"{}", "WorktreeCreate", environ=environ)
                if made.exit_code != 1 or "no folder for the worktree" not in made.stderr:
                    found.append(f"{name}: WorktreeCreate: {made}")
    assert passes(own.fire(own.call(), environ=environ)) == "", "each trouble is over"
    with changed(own.tree / "src/holdfast"):
        lift = lifting(reason(own.fire(own.call(), environ=environ)))[-1]
        processes.run(["/bin/sh", "-c", lift], b"", environ, own.root)
        if bad := passes(own.fire(own.call(), environ=environ)):
            found.append(f"{lift} doesn't lift it: {bad}")
    own.fire(own.call(), environ=environ)
    with changed(own.launcher):
        if bad := passes(own.fire(own.call(), environ=environ)):
            found.append(f"uninstalled: {bad}")
    report(found)


def age(*tops: Path) -> None:
    """Make it an hour ago that folders or anything in them changed."""
    then = time.time() - 3600
    for top in tops:
        for each in (top, *top.rglob("*")):
            with suppress(OSError):
                os.utime(each, (then, then), follow_symlinks=False)


def form(got: Ended, event: str) -> str:
    """Return what the client takes an answer for; the answer itself if that isn't clear."""
    if got.exit_code == 2 and got.stderr and not got.stdout:
        return "exit code 2"
    if got.exit_code == 1 and NO_WORKTREE in got.stderr and not got.stdout:
        return "no folder"
    if got.exit_code or (got.stderr and event not in EXIT_CODE_EVENTS):  # there the shell says who was killed
        return str(got)
    if not got.stdout or set(got.reply) == {"systemMessage"}:
        return "silence"
    if not reason(got) or got.specific.get("hookEventName", event) != event:
        return str(got)
    return "blocked" if "decision" in got.reply else "denied"


def test_each_event_refuses_and_fails_in_its_own_form(own: Scratch) -> None:
    """The engine's refusal and the shell's are what the client takes for a no; events without a guard never fail."""
    own.user_handler("tools", TOOLS)
    cold = own.launcher.read_bytes()[:2] == b"#!"
    own.holdfast("install", HOLDFAST_RELAY="python" if cold else None)
    own.start_server()
    whole = {
        event: own.payload(
            "PreToolUse-Bash", hook_event_name=event, prompt="x", command_name="x", tool_input={"command": "ls"}
        )
        | {"tool_name": "Every" if event == "PreToolUse" else "Bash", "task_id": "1", "name": "x", "source": "startup"}
        for event in REFUSALS
    }
    assert form(own.fire(whole["PreToolUse"] | {"session_id": "no"}), "PreToolUse") == "denied"  # it is remembered

    def cell(event: str, payload: dict[str, Any] | bytes, server: str, wanted: str) -> str:
        got = own.fire(payload, event, environ=own.environ(HOLDFAST_SERVER=server))
        if (found := form(got, event)) != wanted:
            return f"{wanted}, not {found}"
        if wanted not in ("denied", "blocked") or reason(got).startswith("no ("):
            return ""
        return "" if ".py" in reason(got) and lifting(reason(got)) else f"it names no handler and command: {got}"

    def rows(why: str, server: str, change: Callable[[dict[str, Any]], dict[str, Any] | bytes]) -> list[str]:
        made: dict[str, Callable[[], str]] = {
            f"{event}, {why}, server {server}": partial(
                cell, event, change(payload), server, REFUSALS[event][1 if why == "says no" else 2]
            )
            for event, payload in whole.items()
        }
        return at_once(made)

    found = []
    for server in ("off",) if cold else ("on", "off"):
        found += rows("says no", server, lambda payload: payload | {"session_id": "no"})
        found += rows("fails", server, lambda payload: payload | {"session_id": "fails"})
        found += rows("is killed", server, lambda payload: payload | {"session_id": "kills"})
        found += rows("can't be read", server, lambda payload: b"\xff")
    with changed(own.tree / "src/holdfast"):
        found += rows("has no package", "off", lambda payload: payload)
    with changed(own.python, "#!/bin/sh\nkill -9 $$\n"):
        found += rows("has no interpreter that works", "off", lambda payload: payload)
    report(found)


def test_a_refusal_for_a_fault_of_holdfast_names_what_lifts_it(own: Scratch) -> None:
    """It says what failed and which commands show more, or do without the guard."""
    project = own.project_handler("theirs", FILE.format(tool="Theirs"))
    own.trust()
    found = []
    command = own.registered("PreToolUse")
    module = own.tree / "src/holdfast/dispatch/run.py"

    def ask(tool: str) -> Ended:
        return processes.run(command, processes.encoded(own.call("", tool)), own.environ(), own.root)

    with changed(module, module.read_text().replace("def answers(", "def no_answers(")):
        for tool, guard in (("Bash", "guard"), ("Theirs", "theirs")):
            said = reason(ask(tool))
            if bad := [word for word in (f"{guard}.py", *FAULT) if word not in said]:
                found.append(f"{guard}: {bad} isn't in {said!r}")
                continue
            own.holdfast(*shlex.split(lifting(said)[0])[1:])
            found += [f"{guard}, lifted: {bad}" for bad in [passes(ask(tool))] if bad]
    project.unlink()
    report(found)


@pytest.mark.parametrize("own", ["python"], indirect=True)
def test_the_shell_refuses_in_json_and_names_what_lifts_it(own: Scratch, tmp_path: Path) -> None:
    """Whatever the paths are; for the first guard of the event in this project, by any of its paths."""
    found = []
    quiet = {"HOLDFAST_SERVER": "off"}

    def ask(**changes: str | None) -> Ended:
        return own.fire(own.call(), environ=own.environ(**quiet | changes))

    with changed(own.tree / "src/holdfast"):
        for state in ("it's", 'a"b', "a\\b", "ä b", "$HOME", "`id`"):
            own.write(tmp_path / state / "holdfast/strict", 'PreToolUse\t*\t*\t/x/gu"ard\\.py\tf\n')
            got = ask(XDG_STATE_HOME=str(tmp_path / state))
            if "a strict handler could not check this" not in reason(got):
                found.append(f"state in {state}: {got}")
        (tmp_path / "link").symlink_to(own.root)
        lines = {
            "another event's": ("PermissionRequest\t*\t*\t/x/a.py\tf\n", ""),
            "another project's": ("PreToolUse\tBash\t/elsewhere\t/x/a.py\tf\n", ""),
            "this project's": (f"PreToolUse\t*\t{own.root}\t/x/near.py\tf\nPreToolUse\t*\t*\t/x/b.py\tf\n", "near.py"),
            "one that only Holdfast reads": ("PreToolUse\t*\t/written/as%09only%0Ait\t/x/a.py\tf\n", "a.py"),
            "everybody's": ("PreToolUse\t*\t*\t/x/a.py\tf\n", "a.py"),
        }
        memory = own.strict.read_text()
        for name, (text, word) in lines.items():
            own.strict.write_text(text)
            for project in (own.root, tmp_path / "link"):
                said = reason(ask(CLAUDE_PROJECT_DIR=str(project)))
                if bool(said) != bool(word) or word not in said:
                    found.append(f"{name}, {project}: {said!r}")
        own.strict.unlink()
        own.strict.mkdir()
        said = reason(ask())
        if "a strict handler" not in said:
            found.append(f"a folder for the memory: {said!r}")
        processes.run(["/bin/sh", "-c", lifting(said)[-1]], b"", own.environ(), own.root)
        if bad := passes(ask()):
            found.append(f"a folder for the memory: {lifting(said)[-1]} doesn't lift it: {bad}")
        own.strict.write_text(memory)
        before = sorted(own.root.rglob("*"))
        for nowhere in ("relative", None):
            own.fire(b"{}", "Stop", environ=own.environ(**quiet | {"XDG_STATE_HOME": nowhere}))
        found += [f"written into the project: {path}" for path in sorted(own.root.rglob("*")) if path not in before]
    log = own.home / ".local/state/holdfast/log"
    with changed(own.tree / "src/holdfast/engine.py", "raise ValueError('was\\nlost')\n"):
        ask()
    modes = [each.stat().st_mode & 0o777 for each in (log, log / "holdfast.log")]
    if modes != [0o700, 0o600] or not re.search("error PreToolUse .*ValueError: was lost\n", own.log()):
        found.append(f"the log: {modes}, {own.log()[-500:]!r}")
    report(found)


INSTALLERS = {
    "uvx": {"uvx": 'shift 2; exec "$@"', "uv": ""},
    "pipx": {"pipx": '[ "$1" = install ] || { shift 3; exec "$@"; }'},
    "python3": {"python3": 'mkdir -p "$3/bin"; cp "${0%/*}/pip" "${0%/*}/holdfast" "$3/bin"', "pip": ""},
}
"""Stand-ins for what the named lines run: they install nothing, and run this tree's command."""


@pytest.mark.parametrize("own", ["python"], indirect=True)
def test_the_lines_that_a_refusal_names_for_what_is_gone_work(own: Scratch, tmp_path: Path) -> None:
    """The one that removes Holdfast and the one that installs it again, with each installer; the command names both."""
    found = []
    for installer, scripts in INSTALLERS.items():
        folder = tmp_path / installer
        tools = {name: f'exec {shutil.which(name)} "$@"' for name in ("sh", "uname", "rm", "mkdir", "cp")}
        tools |= scripts | {"holdfast": f'exec {sys.executable} -m holdfast "$@"'}
        for name, script in tools.items():
            own.write(folder / name, f"#!/bin/sh\n{script}\n").chmod(0o755)
        environ = own.environ(PATH=str(folder), HOLDFAST_SERVER="off", HOLDFAST_RELAY="python")
        for lead, there in (("To remove it: ", False), (AGAIN, True)):
            own.holdfast("install", HOLDFAST_RELAY="python")
            settings = own.home / ".claude/settings.json"
            with changed(own.python):
                said = reason(own.fire(own.call(), environ=environ))
                line = said.partition(lead)[2].partition("\n")[0]
                called = processes.run(
                    [str(own.home / ".local/share/holdfast/bin/holdfast"), "status"], b"", environ, own.root
                )
                done = processes.run(["/bin/sh", "-c", line], b"", environ, own.root)
                registered = settings.exists() and "share/holdfast" in settings.read_text()
                if called.exit_code != 1 or f"{lead}{line}" not in called.stderr:
                    found.append(f"{installer}: {lead}: the command says {called}")
                if (done.exit_code, registered) != (0, there):
                    found.append(f"{installer}: {line}: {done}")
    report(found)

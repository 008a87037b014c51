"""`holdfast handlers try`: an author fires an event by hand, sees what everybody gets, and leaves no trace."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

from holdfast import paths
from tests.api.author import handler
from tests.commandline import holdfast
from tests.tables import each_row

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.api.author import Author, Authors
    from tests.commandline import Said

GUARD = handler('if "push" in event.tool_input.get("command", ""): return deny("no push")', options='match="Bash"')
RULE = 'event = "PreToolUse"\nmatch = "Bash"\nwhen = { command = "git push" }\nanswer = "deny"\ntext = "no push"\n'
SCRIPT = "#!/bin/sh\n# holdfast: event=PreToolUse match=Bash\ngrep -q push && { echo no push >&2; exit 2; }\nexit 0\n"
ADVISER = handler('return [advise("mind the gap"), tell_user("seen")]')
CHANGER = handler('return change_input({"command": "ls -l"})', options='match="Bash"')
STALE = handler('return allow("fine")', options='match="Bash", tryfirst=True')


def tried(author: Author, *arguments: str, code: int | None = 0) -> Said:
    """Run `holdfast handlers try` in a project."""
    return holdfast("handlers", "try", *arguments, root=author.root, code=code)


PUSH = ("PreToolUse", "Bash", "git push")
STOP = handler('return force_turn("go on") if event.last_assistant_message == "done" else None', "stop")
PROMPT = handler('return block("not now") if event.prompt == "deploy" else None', "user_prompt_submit")
START = handler("return advise(event.source)", "session_start", 'match="compact"')
NOTE = handler("note(context.root / 'noted', event.message)", "notification", 'match="idle_prompt"')
SUMMARY = handler("return instruct_summary('keep names')", "pre_compact")
TOLD = handler("return tell_user('seen')", "post_compact")
EDIT = handler('return deny(event.tool_input["new_string"]) if event.tool_input["file_path"] == "a.py" else None')
RESPONSE = handler('return block(str(event.tool_response)) if event.tool_name == "Read" else None', "post_tool_use")
TYPES = handler('return advise(repr((event.tool_input["timeout"], event.permission_mode)))')
FAULTS = {
    "raises": handler("raise ValueError('oh')"),
    "hangs": handler("time.sleep(60)", options="timeout=0.2"),
    "exits": handler("os._exit(3)"),
    "text": handler("return 'no'"),
    "refused outcome": handler("return force_turn('no')"),
    "not Python": "def on_pre_tool_use(:",
    "does not load": "import no_such_module\n" + GUARD,
    "twice": GUARD + GUARD.partition("\n\n")[0],
}


@each_row(
    "name, files, arguments, code, shown",
    [
        ("refused", {"g": GUARD}, PUSH, 1, ["deny: no push", "Claude gets: no push (user/g.py)", '"deny"', "Refused."]),
        ("neutral", {"g": GUARD}, ("PreToolUse", "Bash", "ls"), 0, ["1.", "user/g.py: on_pre_tool_use", "nothing"]),
        ("not selected", {"g": GUARD}, ("PreToolUse", "Read", "push"), 0, ["No handler was called."]),
        ("no tool", {"g": GUARD}, ("pretooluse",), 0, ["PreToolUse Bash: echo hi", "tool_input.command"]),
        ("all get", {"a": ADVISER}, PUSH, 0, ["Claude gets: mind the gap", "You get: seen", "ms", "Not refused."]),
        ("input", {"c": CHANGER}, PUSH, 0, ['Claude Code gets: {"updatedInput": {"command": "ls -l"}}']),
        ("dropped", {"a": STALE, "c": CHANGER}, PUSH, 0, ["Dropped: user/a.py: allow: another handler changed"]),
        ("order", {"z": STALE, "a": ADVISER}, PUSH, 0, ["1.  user/z.py", "2.  user/a.py"]),
        ("printed", {"p": handler('os.write(1, b"hello")')}, PUSH, 0, ["Note: user/p.py", "printed text", "hello"]),
        ("recorded", {"g": GUARD}, PUSH, 1, ["From the recorded PreToolUse-Bash:", "permission_mode", "description"]),
        ("stop", {"s": STOP}, ("Stop", "done"), 1, ["force_turn: go on", "Claude gets: go on"]),
        ("never recorded, plain", {"g": GUARD}, ("TeammateIdle",), 0, ["TeammateIdle", "No handler was called."]),
        ("summary", {"c": SUMMARY}, ("PreCompact", "auto"), 0, ["Claude gets: keep names"]),
        ("told", {"c": TOLD}, ("PostCompact", "auto"), 0, ["You get: seen"]),
        ("ends all", {"s": handler("return stop('enough')")}, PUSH, 1, ["stop: enough", "Refused."]),
        ("stop neutral", {"s": STOP}, ("Stop", "more"), 0, ["Stop: more"]),
        ("prompt", {"p": PROMPT}, ("UserPromptSubmit", "deploy"), 1, ["You get: not now (user/p.py)"]),
        ("source", {"s": START}, ("SessionStart", "compact"), 0, ["Claude gets: compact"]),
        ("other source", {"s": START}, ("SessionStart", "startup"), 0, ["No handler was called."]),
        ("value and text", {"n": NOTE}, ("Notification", "idle_prompt", "hey"), 0, ["Notification idle_prompt: hey"]),
        ("text alone", {"n": NOTE}, ("Notification", "hey"), 0, ["Notification elicitation_response: hey"]),
        ("field", {"e": EDIT}, ("PreToolUse", "Edit", "a.py", "new_string=why"), 1, ["deny: why"]),
        ("dotted", {"e": EDIT}, ("PreToolUse", "Edit", "a.py", "tool_input.new_string=1"), 1, ["deny: 1"]),
        (
            "tool field",
            {"e": EDIT},
            ("PreToolUse", "tool_name=Edit", "a.py", "new_string=x"),
            1,
            ["Edit: a.py", "deny: x"],
        ),
        (
            "whole field",
            {"g": GUARD},
            ("PreToolUse", "Bash", 'tool_input={"command": "git push"}'),
            1,
            ["From the recorded PreToolUse-Bash: permission_mode, prompt_id, tool_use_id."],
        ),
        ("unrecorded tool", {"g": GUARD}, ("PreToolUse", "Grep", "src"), 0, ["PreToolUse Grep: src"]),
        ("never recorded", {"g": GUARD}, ("PermissionDenied", "Bash", "ls"), 0, ["PermissionDenied Bash: ls"]),
        ("no text", {"g": GUARD}, ("PreToolUse", "mcp__demo__echo"), 0, ["PreToolUse mcp__demo__echo\n"]),
        ("result", {"r": RESPONSE}, ("PostToolUse", "Read", "x", "tool_response=no"), 1, ["block: no"]),
        ("JSON", {"t": TYPES}, (*PUSH, "tool_input.timeout=5", "permission_mode=7"), 0, ["(5, '7')"]),
        ("strict", {"g": GUARD.replace('"Bash"', '"Bash", strict=True')}, PUSH, 1, ["deny: no push"]),
        *((name, {"f": text}, PUSH, 2, ["user/f.py", "Broken."]) for name, text in FAULTS.items()),
    ],
)
def test_what_an_event_brings_about(
    author: Authors, name: str, files: dict[str, str], arguments: tuple[str, ...], code: int, shown: list[str]
) -> None:
    """Who ran in which order, what was dropped and printed, what model, user and client get; and the exit code."""
    out = tried(author(files), *arguments, code=code).out

    assert not [each for each in shown if each not in out], (name, out)


@each_row(
    "arguments, words",
    [
        (("PreToolUze", "Bash"), ("'PreToolUze'", "PreToolUse")),
        (("PreToolUse", "Bsh", "ls"), ("'Bsh'", "Bash")),
        (("PreToolUse", "Bash", "ls", "-x", "more"), ("No such option",)),
        (("PreToolUse", "Bash", "git", "push"), ("quotes",)),
        ((*PUSH, "tool_inputt=1"), ("'tool_inputt'", "tool_input")),
        ((*PUSH, "comand=ls"), ("'comand'", "command")),
        (("PreToolUse", "mcp__demo__echo", "hi"), ("mcp__demo__echo", "name the field")),
        (("PostToolBatch", "text"), ("quotes",)),
        (("Stop", "a", "b"), ("quotes",)),
        ((*PUSH, "--recorded", "first"), ("--recorded takes last, all or a number",)),
        (("--recorded", "last"), ("0 recorded events", "record_events")),
        ((*PUSH, "--against", "HEAD"), ("git rev-parse", "HEAD")),
        ((*PUSH, "--file", "none.py"), ("none.py",)),
        ((*PUSH, "--payload", "bad.json"), ("JSON",)),
        (("PreToolUse", "--payload", "list.json"), ("JSON object",)),
    ],
)
def test_what_it_can_not_make_an_event_of_is_an_error(
    author: Authors, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    """The message names what is meant; the exit code is that of a usage error, never that of a refusal."""
    made = author({"g": GUARD})
    made.write({"bad.json": "{", "list.json": "[1]"})
    monkeypatch.chdir(made.root)

    error = tried(made, *arguments, code=2).err

    assert all(word in error for word in words), error


def state(author: Author) -> dict[Path, bytes]:
    """Return every file of the home and the project, except the cache, and SQLite's locks and empty logs."""
    files = [path for folder in (author.home, author.root) for path in folder.rglob("*") if path.is_file()]
    kept = [path for path in files if not {"cache", ".git"} & set(path.parts) and path.suffix != ".db-shm"]
    return {path: path.read_bytes() for path in kept if path.suffix != ".db-wal" or path.stat().st_size}


def test_nothing_of_it_is_remembered(author: Authors) -> None:
    """Ledger, faults, log, messages and strict memory stay as they were; what the handler makes itself is made."""
    made = author({"raises": FAULTS["raises"], "own": handler("note(context.root / 'own', event.session_id)")})
    made.ours(team=GUARD)
    holdfast("start", "Release", "--phase", "Build", root=made.root)
    holdfast("handlers", "list", root=made.root)
    before = state(made)
    assert [path for path in before if path.suffix == ".db"], "there is a ledger"

    tried(made, *PUSH, code=2)
    tried(made, *PUSH, "--shipped", code=2)

    after = state(made)
    session = after.pop(made.root / "own").decode()
    before.pop(made.root / "own", None)
    assert after == before
    assert session == session[-36:] * 2, "a session of its own"
    assert session[-36:] != made.session


def test_handlers_know_what_the_ledger_knows(author: Authors) -> None:
    """They read a copy of it."""
    text = "from holdfast import *\nfrom holdfast import workflows\n@hookimpl\ndef on_stop(event, context):\n"
    text += "    found = workflows.find(event, context).workflows\n"
    made = author({"w": text + "    return tell_user(f'{workflows.owner(context, found[0])}')\n"})
    holdfast("start", "Release", "--phase", "Build", root=made.root, session="the-owner")

    assert "You get: the-owner" in tried(made, "Stop", "session_id=the-owner").out


def test_shipped_handlers_run_only_on_request(author: Authors) -> None:
    """One line says that they are left out."""
    made = author()
    (made.config / "holdfast.toml").unlink()

    without, with_them = (
        tried(made, "SessionStart", "startup").out,
        tried(made, "SessionStart", "startup", "--shipped").out,
    )

    assert "left out; --shipped" in without
    assert "shipped/" not in without
    assert "shipped/restore_workflow.py" in with_them
    assert "left out" not in with_them


def test_what_does_not_run_is_named_with_the_reason(author: Authors) -> None:
    """An untrusted handler doesn't run, unless its author names the file."""
    made = author({"off": "OFF_BY_DEFAULT = True\n" + GUARD, "broken": "OFF_BY_DEFAULT = True\n" + FAULTS["twice"]})
    made.ours(team=GUARD, other=STOP)

    out = tried(made, *PUSH).out
    assert "project/team.py: not trusted; holdfast handlers trust" in out
    assert "user/off.py: switched off" in out
    assert "other.py" not in out
    assert "deny: no push" in tried(made, *PUSH, "--file", f"{made.root}/.claude/handlers/team.py", code=1).out


def test_one_file_runs_alone_from_anywhere(author: Authors, tmp_path: Path) -> None:
    """Also one that is off by default or in no handlers folder; yours don't run beside it."""
    made = author({"adviser": ADVISER})
    file = tmp_path / "anywhere.py"
    file.write_text("OFF_BY_DEFAULT = True\n" + GUARD)

    out = tried(made, *PUSH, "--file", str(file), code=1).out

    assert "adviser" not in out
    assert "left out" not in out


def test_handlers_run_where_the_client_runs_them(author: Authors, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the project's folder, with the client's variables."""
    made = author(
        {
            "w": handler(
                "return advise(f\"{os.getcwd()} {os.environ['CLAUDE_PROJECT_DIR']} {os.environ.get('CLAUDECODE')}\")"
            )
        }
    )
    monkeypatch.chdir("/")
    monkeypatch.delenv("CLAUDECODE", raising=False)

    assert f"{made.root} {made.root} 1" in tried(made, *PUSH).out


def test_a_payload_comes_from_a_file(author: Authors) -> None:
    """As it is, but for the session; words and fields change it, and no tool is guessed."""
    made = author({"g": GUARD})
    payload = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "git push"}, "x": 1}
    made.write({"payload.json": payload})
    file = ("--payload", str(made.root / "payload.json"))

    row = tried(made, *file, "--json", code=1).json[0]
    assert row["payload"] == payload | {"session_id": row["payload"]["session_id"], "transcript_path": ""}
    assert row["source"] == ""
    ran = [(each["label"], each["outcomes"][0]["text"], each["fault"]) for each in row["handlers"]]
    assert ran == [("user/g.py: on_pre_tool_use", "no push", "")]
    tried(made, "PreToolUse", "Bash", "ls", *file)


def record(author: Author, *commands: str, event: str = "PreToolUse") -> None:
    """Have events recorded, as the shipped handler does."""
    made = author.config / "holdfast.toml"
    text = made.read_text()
    made.write_text(
        text.replace('"record_events", ', "") + '[handlers]\non = ["record_events"]\n'.replace("[handlers]\n", "")
    )
    for command in commands:
        assert "shipped/record_events.py" in author.bash(command).called[-1]
    made.write_text(text)


def test_recorded_events_are_replayed(author: Authors) -> None:
    """The last, the N-th from the end, or all with a line each; and what redaction touched is said."""
    made = author({"g": GUARD})
    session, made.session = made.session, "f" * 36
    record(made, "git push before")
    made.session = session
    record(made, "git push one", "ls two", "export TOKEN=ghp_" + "a1B2c3D4e5" * 4 + "; ls three")

    for file in made.home.rglob("*.jsonl"):
        with file.open("a") as recording:
            recording.write('{"at": "2026-01-01T00:00:00Z", "payl\n')  # its process was killed

    assert "ls two" in tried(made, "--recorded", "2").out
    assert "git push one" in tried(made, "PreToolUse", "--recorded", "3", code=1).out
    last = tried(made, "PreToolUse", "Bash", "--recorded", "last").out
    assert "redacted in the recording: tool_input.command" in last
    every = tried(made, "--recorded", "all", code=1).out.splitlines()
    assert [line.partition(" → ")[2].partition(" (")[0] for line in every[:-1]] == [
        "deny: no push",
        "deny: no push",
        "nothing",
        "nothing",
    ]
    assert every[-1] == "4 events: 2 neutral, 2 refused."
    assert "redacted" in every[3]
    assert "redacted" not in every[2]
    assert tried(made, "--recorded", "all", "Stop", code=2).err.count("0 recorded events of Stop") == 1
    assert "2 recorded" not in tried(made, "PreToolUse", "Read", "--recorded", "1", code=2).err


def commit(author: Author) -> None:
    """Commit everything in the project."""
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=author.root, check=True)


def test_events_that_an_earlier_revision_answers_differently_are_listed(author: Authors) -> None:
    """What is trusted by content runs at once; other contents only after they were shown and confirmed."""
    made = author()
    made.ours(team=GUARD)
    commit(made)
    record(made, "git push", "git pull", "ls")
    holdfast("handlers", "trust", "--yes", root=made.root)

    assert "0 of 3 events" in tried(made, "--against", "HEAD").out
    made.ours(team=GUARD.replace('"push"', '"pull"'))
    assert "1 of 3 events" in tried(made, "--against", "HEAD", "--yes", code=1).out, "the present content isn't trusted"
    holdfast("handlers", "trust", "--yes", root=made.root)

    asked = tried(made, "--against", "HEAD", code=2)
    assert "no terminal to ask on" in asked.err
    assert '-    if "pull" in' in asked.out
    assert '+    if "push" in' in asked.out
    out = tried(made, "--against", "HEAD", "--yes", code=1).out
    assert "2 of 3 events answered differently than at HEAD." in out
    assert "  HEAD: deny: no push (project/team.py)\n  now: nothing\n" in out
    assert ": ls" not in out
    rows = json.loads(tried(made, *PUSH, "--against", "HEAD", "--yes", "--json", code=1).out)["different"]
    assert [(row["verdict"], row["before"]["verdict"]) for row in rows] == [("neutral", "refused")]


def test_what_is_off_does_not_run_from_a_revision(author: Authors) -> None:
    """As it doesn't run now."""
    made = author()
    made.ours(team=GUARD)
    commit(made)
    holdfast("handlers", "trust", "--yes", root=made.root)
    holdfast("handlers", "off", "team", root=made.root)

    assert "0 of 1 event " in tried(made, *PUSH, "--against", "HEAD").out


def test_a_file_is_compared_with_its_own_revision(author: Authors) -> None:
    """A revision without the file answered nothing; a content that is the present one needs no confirmation."""
    made = author()
    made.write({"first.txt": ""})
    commit(made)
    files = {"g.py": GUARD, "r.toml": RULE, "s.sh": SCRIPT}
    made.write({f"tools/{name}": text for name, text in files.items()})
    wrong = []
    for commits, code, said in ((False, 1, "1 of 1 event answered differently than at HEAD."), (True, 0, "0 of 1 ev")):
        if commits:
            commit(made)
        for name in files:
            file = ("--file", str(made.root / "tools" / name))
            ran = tried(made, *PUSH, *file, "--against", "HEAD", code=None)
            if ran.code != code or said not in ran.out:
                wrong.append(f"{name}: {ran}")
    assert not wrong, "\n".join(wrong)
    assert "--bad" in tried(made, *PUSH, *file, "--against", "--bad", code=2).err


def test_a_handler_that_fails_only_now_answers_differently(author: Authors) -> None:
    """Although nobody gets anything then either; the exit code is that of a failure."""
    made = author()
    made.write({"g.py": handler("return None")})
    commit(made)
    made.write({"g.py": handler("1 / 0")})

    file = ("--file", str(made.root / "g.py"))
    assert "1 of 1 event " in tried(made, *PUSH, *file, "--against", "HEAD", "--yes", code=2).out


def test_what_runs_from_a_revision_is_what_was_shown(author: Authors) -> None:
    """Not what lies in the working tree."""
    made = author()
    marker = made.root / "ran"
    made.write({"g.py": handler(f"note({str(marker)!r}, 'old ')")})
    commit(made)
    made.write({"g.py": handler(f"note({str(marker)!r}, 'new ')")})

    tried(made, *PUSH, "--file", str(made.root / "g.py"), "--against", "HEAD", code=2)
    assert not marker.exists()
    tried(made, *PUSH, "--file", str(made.root / "g.py"), "--against", "HEAD", "--yes")
    assert sorted(marker.read_text().split()) == ["new", "old"]


def test_a_revision_runs_with_its_own_helpers(author: Authors) -> None:
    """The changed one that nobody trusts never runs."""
    made = author()
    source = "from . import _h\nfrom holdfast import deny, hookimpl\n@hookimpl\ndef on_pre_tool_use(event):\n"
    made.write({".claude/handlers/e.py": f"{source}    return deny(_h.V)\n", ".claude/handlers/_h.py": "V = 'old'\n"})
    commit(made)
    holdfast("handlers", "trust", "--yes", root=made.root)
    marker = made.root / "ran"
    made.write({".claude/handlers/_h.py": f"open({str(marker)!r}, 'w')\nV = 'new'\n"})

    out = tried(made, *PUSH, "--against", "HEAD", code=None).out
    assert "HEAD: deny: old" in out
    assert not marker.exists()

    commit(made)
    made.write({".claude/handlers/_h.py": "V = 'old'\n"})
    asked = tried(made, *PUSH, "--against", "HEAD", code=2)
    assert "+V = 'new'" in asked.out
    assert not marker.exists()


def test_the_trust_of_a_project_is_untouched(author: Authors) -> None:
    """Confirming a revision trusts nothing; what nobody trusts isn't run unasked, also if it is as today."""
    made = author()
    made.ours(team=GUARD)
    commit(made)

    assert "no terminal to ask on" in tried(made, *PUSH, "--against", "HEAD", code=2).err
    tried(made, *PUSH, "--against", "HEAD", "--yes", code=1)

    assert not (paths.config_dir() / "trust.json").exists()

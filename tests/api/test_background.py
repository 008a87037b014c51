"""Handlers in the background: an entry of their own, what they may answer, and edits that share a run."""

from __future__ import annotations

import json
import re
import shlex
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from tests.commandline import holdfast
from tests.doctoring import examine, healthy, only
from tests.processes import SOURCE, encoded, run
from tests.torture.scratch import report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import HoldfastProject
    from tests.processes import Ended, Place

    Make = Callable[..., HoldfastProject]

pytestmark = pytest.mark.usefixtures("no_client")

FORMAT = """
import time
from holdfast import *

@hookimpl(match="Edit|Write", background=True, examples={"a.py": "advise"})
def on_post_tool_use(event, context):
    with (context.root / "ran").open("a") as ran:
        ran.write(f"{event.tool_name} {event.tool_input['file_path']}\\n")
    return advise(f"formatted {event.tool_input['file_path']}")
"""
GUARD = """
from holdfast import *

@hookimpl(match="Bash")
def on_post_tool_use(event):
    return advise("guarded")
"""
RULE = """
event = "PostToolUse"
match = "NotebookEdit"
background = true
answer = "advise"
text = "by the rule"
"""
SCRIPT = """#!/bin/sh
# holdfast: event=PostToolUse match=mcp__.* background=true
# holdfast: event=Stop background
echo '{"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "by the script"}}'
"""
OTHERS = '{\n  "model": "x",\n  "hooks": {"PostToolUse": [{"hooks": [{"type": "command", "command": "mine.sh"}]}]}\n}\n'


def written(**files: str) -> Path:
    """Write handlers into the user's folder, and return the user's settings."""
    folder = paths.user_handlers()
    folder.mkdir(parents=True)
    for name, text in files.items():
        path = folder / name.replace("_", ".")
        path.write_text(text)
        path.chmod(0o755)
    settings = paths.home() / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    return settings


def groups(settings: Path, event: str) -> list[dict[str, Any]]:
    """Return an event's matcher groups."""
    found: list[dict[str, Any]] = json.loads(settings.read_text())["hooks"].get(event, [])
    return found


def test_they_have_an_entry_of_their_own_which_uninstall_takes_out(root: Path) -> None:
    """One for each event, with the matchers of all of them and `async`; every other byte is as it was in the end."""
    settings = written(format_py=FORMAT, guard_py=GUARD, rule_toml=RULE, script_sh=SCRIPT)
    settings.write_text(OTHERS)

    said = holdfast("install", root=root).out

    mine, usual, aside = groups(settings, "PostToolUse")
    assert mine["hooks"][0]["command"] == "mine.sh"
    assert "async" not in usual["hooks"][0] and "Bash" in usual["matcher"] and "NotebookEdit" not in usual["matcher"]
    assert aside["matcher"] == "^(?:Edit|NotebookEdit|Write)$|(?:mcp__.*)"
    assert aside["hooks"][0]["async"] is True
    assert "PostToolUse:background  ^(?:Edit" in said and "Stop:background" in said
    assert [group["hooks"][0].get("async") for group in groups(settings, "Stop")] == [None, True]

    once = settings.read_bytes()
    assert "nothing changed" in holdfast("install", root=root).out and settings.read_bytes() == once
    holdfast("uninstall", root=root)
    assert settings.read_text() == OTHERS


def test_install_and_doctor_repair_it(root: Path) -> None:
    """An entry whose `async` was taken out, which would hold Claude up; and one that nothing wants any more."""
    settings = written(format_py=FORMAT)
    holdfast("install", root=root)
    right = settings.read_text()
    assert "as the handlers want" in healthy("registration", root)

    settings.write_text(right.replace(', "async": true', "").replace('"async": true', '"timeout": 60'))
    assert "PostToolUse:background: async" in only("registration", root, "problem").text
    assert "Changed:\n  PostToolUse:background: async" in holdfast("install", root=root).out
    assert groups(settings, "PostToolUse")[-1]["hooks"][0]["async"] is True

    (paths.user_handlers() / "format.py").unlink()
    assert "PostToolUse:background: no longer registered" in holdfast("install", root=root).out
    assert ":background" not in settings.read_text()


def test_a_team_gets_the_entry(root: Path) -> None:
    """Its command is the same in each file. It guards nothing, so a doctor that looks for guards leaves it out."""
    written(format_py=FORMAT, before_py=FORMAT.replace("Edit|Write", "Bash").replace("post_", "pre_"))
    (root / ".claude/handlers").mkdir()
    (root / ".claude/handlers/ours.py").write_text(FORMAT.replace("background=True", "background=True, timeout=900"))
    holdfast("install", root=root)
    printed = json.loads(holdfast("install", "--print", root=root).out)["hooks"]["PostToolUse"]
    assert [group["hooks"][0].get("async") for group in printed] == [None, True]
    assert [group["hooks"][0].get("timeout") for group in printed] == [None, 3600]
    holdfast("install", "--scope", "local", root=root)
    healthy("registration", root)
    assert "no guard of a shell" in healthy("guards", root)


def test_an_async_entry_of_other_handlers_is_still_a_problem(root: Path) -> None:
    """Only the entry of handlers in the background may have it."""
    settings = written(guard_py=GUARD)
    holdfast("install", root=root)
    read = json.loads(settings.read_text())
    read["hooks"]["PostToolUse"][0]["hooks"][0]["async"] = True
    settings.write_text(json.dumps(read))
    assert 'adds "async"' in only("registration", root, "problem").text


def test_doctor_fires_its_entry(root: Path) -> None:
    """With a handler in the background, which no other entry calls."""
    settings = written(format_py=FORMAT)
    holdfast("install", root=root)
    read = json.loads(settings.read_text())
    read["hooks"] = {"PostToolUse": read["hooks"]["PostToolUse"]}
    settings.write_text(json.dumps(read))

    found = examine("fire", root)

    assert {each.level for each in found} == {"ok"}, found
    assert [each.text.partition(" ")[0] for each in found] == ["PostToolUse", "PostToolUse:background"]
    launcher = paths.launcher()
    launcher.write_text(f'#!/bin/sh\nexec {shlex.quote(str(paths.entrypoint()))} "${{1%:*}}"\n')
    assert "never got the event" in only("fire", root, "problem").text


def test_check_says_that_nothing_runs_them(root: Path) -> None:
    """Where the event is registered, but not its handlers in the background."""
    written(guard_py=GUARD)
    holdfast("install", root=root)
    (paths.user_handlers() / "format.py").write_text(FORMAT.replace("Edit|Write", "Bash"))
    said = holdfast("handlers", "check", root=root).out
    assert "on_post_tool_use doesn't run: PostToolUse:background isn't registered. Run holdfast install" in said


def test_each_entry_runs_its_own_handlers(place: Place, holdfast_project: Make) -> None:
    """In a session, and in a test that their author writes."""
    place.user_handler("guard", GUARD.replace("Bash", "Edit"))
    place.user_handler("format", FORMAT)
    edit = place.payload("PostToolUse-Edit", tool_input={"file_path": "a.py"})
    assert place.fire(edit, "PostToolUse").advice == "guarded"
    assert place.fire(edit).advice == "guarded"
    assert place.fire(edit, "PostToolUse:background").advice == "formatted a.py"

    project = holdfast_project({".claude/handlers/format.py": FORMAT, ".claude/handlers/guard.py": GUARD})
    project.trust()
    edit = {"tool_name": "Edit", "tool_input": {"file_path": "a.py"}}
    project.fire("PostToolUse", **edit).assert_not_called()
    aside = project.fire_background("PostToolUse", **edit)
    aside.assert_called("format")
    aside.assert_not_called("guard")
    aside.assert_advised("formatted a.py")
    project.fire_background("PostToolUse", tool_name="Bash", tool_input={"command": "ls"}).assert_not_called()


def test_a_failure_in_the_background_refuses_nothing(place: Place) -> None:
    """Not even where a strict handler is known, which is the other entry's business."""
    place.user_handler(
        "guard", "from holdfast import *\n@hookimpl(strict=True)\ndef on_pre_tool_use(event):\n    1 / 0\n"
    )
    bash = place.payload("PreToolUse-Bash")
    assert place.fire(bash, "PreToolUse").specific["permissionDecision"] == "deny"
    whole = json.dumps(bash).encode()
    for payload in (bash, whole[:-2], b"{", whole.replace(b"PreToolUse", b"Unknown")):
        ended = place.fire(payload, "PreToolUse:background")
        assert (ended.exit_code, ended.stdout) == (0, ""), payload


TELLS = """
from holdfast import *

@hookimpl(background=True)
def on_post_tool_use(event):
    return [advise("to the model"), tell_user("to you")]

@hookimpl(background=True)
def on_post_tool_use_failure(event):
    return 1 / 0
"""


def test_what_is_for_the_user_comes_with_the_next_event(place: Place) -> None:
    """Messages, each time, and faults, once: the client would show the model what comes from the background."""
    place.user_handler("tells", TELLS)
    place.user_handler("guard", GUARD)
    bash = place.payload("PostToolUse-Bash")
    for _ in range(2):
        said = place.fire(bash, "PostToolUse:background")
        assert (said.advice, said.reply.get("systemMessage")) == ("to the model", None)
        told = place.fire(bash, "PostToolUse").reply["systemMessage"]
        assert told == "Holdfast: user/tells.py: on_post_tool_use says: to you"
        assert "systemMessage" not in place.fire(bash, "PostToolUse").reply

    failure = place.payload("PostToolUseFailure-Bash")
    told = []
    for _ in range(2):
        assert place.fire(failure, "PostToolUseFailure:background").stdout == ""
        told.append(place.fire(bash, "PostToolUse").reply.get("systemMessage", ""))
    assert "user/tells.py: on_post_tool_use_failure raised ZeroDivisionError" in told[0]
    assert told[1] == ""
    assert not [file for file in (place.home / ".local/state").rglob("*.messages") if b"again " in file.read_bytes()]


RETURNS = {
    ("on_pre_tool_use", "advise('a')"): "",
    ("on_pre_tool_use", "tell_user('a')"): "",
    ("on_session_start", "environment({'A': 'b'})"): "",
    ("on_pre_tool_use", "deny('a')"): "deny() is not accepted on PreToolUse from the background",
    ("on_pre_tool_use", "ask('a')"): "ask() is not accepted on PreToolUse from the background",
    ("on_pre_tool_use", "allow()"): "allow() is not accepted on PreToolUse from the background",
    ("on_pre_tool_use", "change_input({})"): "change_input() is not accepted on PreToolUse from the background",
    ("on_post_tool_use", "block('a')"): "block() is not accepted on PostToolUse from the background",
    ("on_post_tool_use", "change_output('a')"): "change_output() is not accepted on PostToolUse from the background",
    ("on_stop", "force_turn('a')"): "force_turn() is not accepted on Stop from the background",
    ("on_session_start", "title('a')"): "title() is not accepted on SessionStart from the background",
    ("on_pre_tool_use", "title('a')"): "title() is not accepted on PreToolUse (accepted: advise, tell_user)",
}


def test_what_comes_too_late_is_a_fault(holdfast_project: Make, tmp_path: Path) -> None:
    """When it is returned, and for `check` from the text."""
    found = []
    for (function, answer), expected in RETURNS.items():
        text = f"from holdfast import *\n@hookimpl(background=True)\ndef {function}(event):\n    return {answer}\n"
        project = holdfast_project({".claude/handlers/late.py": text})
        project.trust()
        event = "".join(map(str.title, function.split("_")[1:]))
        faults = "".join(project.fire_background(event).faults)
        (tmp_path / "late.py").write_text(text)
        said = holdfast("handlers", "check", str(tmp_path / "late.py"), code=None).out
        if expected not in faults or expected not in said or bool(expected) != bool(faults):
            found.append(f"{function} {answer}: {faults!r}, {said!r}")
    report(found)


OPTIONS = {
    ("on_pre_tool_use", "strict=True"): "background and strict exclude each other: nobody waits for it",
    ("on_pre_tool_use", "on_failure='deny'"): "background and on_failure exclude each other",
    ("on_pre_tool_use", "on_failure='skip'"): "",
    ("on_pre_tool_use", "strict=False"): "",
    ("on_session_end", "timeout=1"): "background is not possible on SessionEnd: Claude Code ends then",
    ("on_worktree_create", "timeout=1"): "background is not possible on WorktreeCreate: Claude Code waits",
    ("on_worktree_remove", "timeout=1"): "background is not possible on WorktreeRemove: Claude Code takes",
    ("on_stop", "timeout=1"): "",
}
FILES = {
    "rule.toml": (
        'event = "PreToolUse"\nanswer = "deny"\ntext = "no"\nbackground = true\n',
        "deny() is not accepted on",
    ),
    "strict.toml": (
        'event = "PreToolUse"\nanswer = "advise"\ntext = "no"\nbackground = true\nstrict = true\n',
        "background and strict exclude",
    ),
    "one.sh": ("#!/bin/sh\n# holdfast: event=PreToolUse background strict\n", "background and strict exclude"),
    "two.sh": ("#!/bin/sh\n# holdfast: event=PreToolUse background=yes\n", "'background=yes' is neither"),
}


def test_what_can_not_run_in_the_background_is_a_fault(tmp_path: Path) -> None:
    """Whatever refuses, and events whose answer the client needs."""
    cases = {
        f"{function}{number}.py": (
            f"from holdfast import *\n@hookimpl(background=True, {option})\ndef {function}(event):\n    return None\n",
            expected,
        )
        for number, ((function, option), expected) in enumerate(OPTIONS.items())
    }
    found = []
    for name, (text, expected) in {**cases, **FILES}.items():
        (tmp_path / name).write_text(text)
        said = holdfast("handlers", "check", str(tmp_path / name), code=1 if expected else 0).out
        if expected not in said:
            found.append(f"{name}: {said!r}")
    report(found)


def test_rules_and_scripts_run_in_the_background(place: Place) -> None:
    """By `background = true`, and by the word on the declaring line."""
    folder = place.home / ".config/holdfast/handlers"
    place.write(folder / "rule.toml", RULE)
    place.write(folder / "script.sh", SCRIPT).chmod(0o755)
    notebook = place.payload("PostToolUse-Edit", tool_name="NotebookEdit", tool_input={"notebook_path": "a.ipynb"})
    remote = place.payload("PostToolUse-Edit", tool_name="mcp__a__b", tool_input={})
    for payload, advice in ((notebook, "by the rule"), (remote, "by the script")):
        assert place.fire(payload, "PostToolUse").stdout == ""
        assert place.fire(payload, "PostToolUse:background").advice == advice


SLOWLY = """
import sys
sys.path.insert(0, sys.argv[1])
from holdfast import engine
from holdfast.dispatch import background
background.WAIT_S = 8.0
sys.exit(engine.main("PostToolUse:background"))
"""
"""Runs an event with more time for another one to begin, because this machine may be busy."""


def test_two_edits_of_one_file_share_a_run(place: Place) -> None:
    """The newer one's. An edit of another file or in another session has its own, and so has a read."""
    place.user_handler("format", FORMAT)
    place.user_handler("reads", FORMAT.replace("Edit|Write", "Edit|Read").replace('"ran"', '"others"'))
    first = place.payload("PostToolUse-Edit", tool_input={"file_path": "a.py"})
    others = [
        {**first, "tool_input": {"file_path": "b.py"}},
        {**first, "session_id": "another"},
        {**first, "tool_name": "Read"},
    ]

    def fire(payload: dict[str, Any]) -> Ended:
        command = [sys.executable, "-c", SLOWLY, str(SOURCE)]
        return run(command, encoded(payload), place.environ(), place.root)

    with ThreadPoolExecutor(3) as pool:
        ended = list(pool.map(fire, [first] * 3))
    for other in others:
        place.fire(other, "PostToolUse:background")

    assert sorted((place.root / "ran").read_text().splitlines()) == ["Edit a.py"] * 2 + ["Edit b.py"]
    read = sorted((place.root / "others").read_text().splitlines())
    assert read == ["Edit a.py"] * 2 + ["Edit b.py", "Read a.py"]
    assert sum("formatted a.py" in each.advice for each in ended) == 1
    assert " error " not in place.log()

    assert place.fire(first, "PostToolUse:background").advice == "formatted a.py\n\nformatted a.py"


def test_where_nothing_can_be_remembered_each_edit_has_a_run(place: Place) -> None:
    """A run too many is better than none."""
    place.user_handler("format", FORMAT)
    place.write(place.home / ".local/state/holdfast", "in the way")
    for _ in range(2):
        place.fire(place.payload("PostToolUse-Edit", tool_input={"file_path": "a.py"}), "PostToolUse:background")
    assert (place.root / "ran").read_text().splitlines() == ["Edit a.py"] * 2


def test_commands_show_what_runs_in_the_background(root: Path) -> None:
    """`list` marks it, `try` and `test` run it after the others."""
    written(format_py=FORMAT, guard_py=GUARD.replace("Bash", "Edit"))
    assert "match=Edit|Write  in the background" in holdfast("handlers", "list", root=root).out
    said = holdfast("handlers", "try", "PostToolUse", "Edit", "a.py", root=root).out
    assert re.search(r"1\.\s+user/guard\.py: \S+\s+[0-9.]+ ms\s+advise: guarded", said)
    assert re.search(r"2\.\s+user/format\.py: \S+\s+[0-9.]+ ms\s+in the background: advise: formatted", said)
    rows = holdfast("handlers", "try", "PostToolUse", "Edit", "a.py", "--json", root=root).json[0]["handlers"]
    assert [row["background"] for row in rows] == [False, True]
    assert "1 example passed, of 2 handlers." in holdfast("handlers", "test", root=root).out

"""A user's own handlers: the client obeys their outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.client.model import bash, call, say
from tests.client.test_compaction import FACTS, HEADING, SUMMARY, begin, guidance
from tests.environments import ROOT, fresh_environment

if TYPE_CHECKING:
    from tests.client.world import World

DENY = '''
from holdfast import hookimpl, deny
from holdfast.events import PreToolUse

@hookimpl(match="Bash")
def on_pre_tool_use(event: PreToolUse):
    """Refuse."""
    if "forbidden" in event.tool_input.get("command", ""):
        return deny("this is forbidden here")
'''
CHANGE = '''
from holdfast import hookimpl, change_input
from holdfast.events import PreToolUse

@hookimpl(match="Bash")
def on_pre_tool_use(event: PreToolUse):
    """Change."""
    if event.tool_input.get("command") == "echo before":
        return change_input({**event.tool_input, "command": "echo after"})
'''
ADVISE = '''
from holdfast import hookimpl, advise
from holdfast.events import PostToolUse

@hookimpl(match="Bash")
def on_post_tool_use(event: PostToolUse):
    """Advise."""
    return advise("ADVICE-FROM-GOOD")
'''
BLOCK = '''
from holdfast import block, hookimpl

@hookimpl(match="Bash")
def on_pre_tool_use(event):
    """Block."""
    return block("BLOCKED-BEFOREHAND") if "blocked" in event.tool_input.get("command", "") else None
'''
INSTRUCT = '''
from holdfast import hookimpl, instruct_summary

@hookimpl
def on_pre_compact():
    """Tell the summariser."""
    return instruct_summary("WORDS-FROM-GOOD")
'''
CONTEXT = '''
from holdfast import advise, hookimpl

@hookimpl
def on_session_start():
    """Advise."""
    return advise("ADVICE-AT-START")
'''
ASKS = '''
from holdfast import advise, ask, force_turn, hookimpl, tell_user

@hookimpl(match="Bash")
def on_pre_tool_use(event):
    """Ask."""
    return ask("please ask") if "risky" in event.tool_input.get("command", "") else None

@hookimpl
def on_stop(event):
    """Go on, once."""
    return None if event.stop_hook_active else force_turn("ONE-MORE-TURN")

@hookimpl
def on_user_prompt_submit():
    """Say something to both."""
    return [advise("ADVICE-AT-PROMPT"), tell_user("USER-WORDS")]
'''
ALLOW = '''
from holdfast import hookimpl, allow, block
from holdfast.events import PostToolUse, PreToolUse

@hookimpl(match="Bash")
def on_pre_tool_use(event: PreToolUse):
    """Allow what nobody was asked about."""
    return allow("it is fine") if event.tool_input.get("command", "").startswith("touch allowed") else None

@hookimpl(match="Bash")
def on_post_tool_use(event: PostToolUse):
    """Object to what was done."""
    return block("BLOCKED-AFTERWARDS") if "objectionable" in event.tool_input.get("command", "") else None
'''
MASK = '''
from holdfast import hookimpl, change_output

@hookimpl(match="Bash")
def on_post_tool_use(event):
    """Mask one secret in what the handlers before left."""
    return change_output({**event.tool_response, "stdout": event.tool_response["stdout"].replace("%s", "***")})
'''
MAKES = '''
from holdfast import hookimpl, worktree

@hookimpl
def on_worktree_create(event, context):
    """Make every worktree but the first."""
    asked = context.root.parent / "asked"
    if asked.exists():
        folder = context.root.parent / "made"
        folder.mkdir()
        return worktree(folder)
    asked.touch()
'''
BAD = {
    "a_prints": 'print("IMPORT-NOISE")\nimport os\n%s\n'
    '    print("NOISE"); os.system("echo SUBNOISE"); os.write(1, b"RAWNOISE")\n',
    "b_raises": '%s\n    raise RuntimeError("CRASHNOISE")\n',
    "c_exits": "import os\n%s\n    os._exit(2)\n",
    "d_syntax": "def (\n%s\n    pass\n",
    "e_nonsense": '%s\n    return {"hookSpecificOutput": "NONSENSENOISE"}\n',
    "f_segfault": "import ctypes\n%s\n    ctypes.string_at(0)\n",
}
HEAD = "from holdfast import hookimpl\n@hookimpl(match='Bash')\ndef on_post_tool_use(event):"
HEADS = {
    "SessionStart": "from holdfast import hookimpl\n@hookimpl\ndef on_session_start(event):",
    "PreCompact": "from holdfast import hookimpl\n@hookimpl\ndef on_pre_compact(event):",
}
TOUCH = ("--allowedTools", "Bash(touch:*)")


def put(world: World, **sources: str) -> None:
    """Put handlers into the user's folder and register what they want."""
    folder = world.client.home / ".config/holdfast/handlers"
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source)
    world.holdfast("install", "--scope", "user", "--yes")


@pytest.mark.scenario(6)
def test_deny_and_change(world: World) -> None:
    """A refused command does not run and its reason is the result; a changed one runs changed."""
    put(world, no=DENY, other=CHANGE)
    turns = [bash(command) for command in ("touch forbidden", "echo before", "echo untouched", "touch harmless")]
    world.model.turns = [*turns, say("Done.")]
    session = world.client.session(*TOUCH)
    session.prompt("Begin.")
    denied, changed, untouched, _ = (q.last for q in world.model.of("main")[1:])
    print(denied, changed, untouched, sep="\n====\n")
    assert "this is forbidden here" in denied and not (world.project / "forbidden").exists()
    assert (world.project / "harmless").exists()
    assert "after" in changed and "before" not in changed
    assert "untouched" in untouched
    assert not world.complaints


@pytest.mark.scenario(6)
def test_allow_and_block(world: World) -> None:
    """What is allowed runs without a question; what is blocked afterwards is told with its reason."""
    put(world, fine=ALLOW)
    world.model.turns = [bash("touch unasked"), bash("touch allowed"), bash("echo objectionable"), say("Done.")]
    world.client.session().prompt("Begin.")
    asked, allowed, blocked = (q.last for q in world.model.of("main")[1:4])
    print(asked, allowed, blocked, sep="\n====\n")
    assert not (world.project / "unasked").exists()
    assert (world.project / "allowed").exists()
    assert "BLOCKED-AFTERWARDS" in blocked
    assert not world.complaints


@pytest.mark.scenario(6)
def test_block_before(world: World) -> None:
    """A call that is blocked before it does not run, whoever allows it, and the model is told why; others run."""
    put(world, a_fine=ALLOW, b_no=BLOCK)
    world.model.turns = [bash("touch blocked"), bash("touch allowed-blocked"), bash("touch harmless"), say("Done.")]
    world.client.session(*TOUCH).prompt("Begin.")
    *blocked, _ = (q.last for q in world.model.of("main")[1:])
    print(*blocked, *world.log, sep="\n")
    assert (world.project / "harmless").exists()
    assert not (world.project / "blocked").exists() and not (world.project / "allowed-blocked").exists()
    assert all("BLOCKED-BEFOREHAND" in each for each in blocked)
    assert not world.complaints


@pytest.mark.scenario(9)
def test_bad_ones_cost_only_themselves(world: World) -> None:
    """Beside one that prints, raises, exits, does not parse, returns nonsense or crashes, a good one is heard."""
    bad = {name: source % HEAD for name, source in BAD.items()}
    put(world, z_good=ADVISE, **bad)
    world.model.turns = [bash("echo fine"), say("Done.")]
    session = world.client.session()
    session.prompt("Begin.")
    after = world.model.of("main")[-1]
    print(after.last, *world.log, sep="\n")
    print([(a["hook_name"], a.get("exit_code"), a.get("stdout"), a.get("stderr")) for a in world.hooks(session)])
    assert "ADVICE-FROM-GOOD" in after.last and "fine" in after.last
    assert not [q.number for q in world.model.requests if "NOISE" in q.text]
    assert not [name for name in BAD if not any(name in line for line in world.complaints)]


@pytest.mark.scenario(9)
def test_handler_that_hangs_costs_only_its_own_time_limit(world: World) -> None:
    """A handler that never returns costs its own time limit, and its event's other handlers are heard."""
    config = world.client.home / ".config/holdfast/holdfast.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("[handlers]\ntimeout = 1.0\n")
    put(world, a_hangs=f"import time\n{HEAD}\n    time.sleep(600)\n", z_good=ADVISE)
    world.model.turns = [bash("echo fine"), say("Done.")]
    ran = world.client.session().prompt("Begin.")
    assert ran.result == "Done."
    assert "ADVICE-FROM-GOOD" in world.model.of("main")[-1].last
    assert any("a_hangs" in line for line in world.complaints)


@pytest.mark.scenario(9)
@pytest.mark.parametrize("event", HEADS)
def test_bad_ones_around_a_compaction(world: World, event: str) -> None:
    """The summariser still gets our words, the model the guidance and a good handler's words, and nothing else."""
    bad = {name: source % HEADS[event] for name, source in BAD.items()}
    put(world, y_good=INSTRUCT, z_good=CONTEXT, **bad)
    begin(world, "hybrid")
    text = compacted(world)
    (summary,) = world.model.of("summary")
    print(summary.last[-700:], *world.log, sep="\n")
    added = summary.last.split("Additional Instructions:")[1]
    assert added.count(SUMMARY) == 1 and added.count("WORDS-FROM-GOOD") == 1
    assert text.count(HEADING) == 1 and "ADVICE-AT-START" in text
    assert not [fact for fact in FACTS if fact not in guidance(text)]
    assert not [q.number for q in world.model.requests if "NOISE" in q.text + q.system]
    assert not [name for name in BAD if not any(name in line for line in world.complaints)]


@pytest.mark.scenario(9)
@pytest.mark.parametrize("event", ["SessionStart", pytest.param("PreCompact", marks=pytest.mark.nightly)])
def test_handler_that_hangs_around_a_compaction_changes_nothing_else(world: World, event: str) -> None:
    """It costs its own time limit; summariser and model are told what they would be without it."""
    config = world.client.home / ".config/holdfast/holdfast.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("[handlers]\ntimeout = 1.0\n")
    hangs = f"import time\n{HEADS[event]}\n    time.sleep(600)\n"
    put(world, a_hangs=hangs, y_good=INSTRUCT, z_good=CONTEXT)
    begin(world, "hybrid")
    text = compacted(world)
    added = world.model.of("summary")[0].last.split("Additional Instructions:")[1]
    assert added.count(SUMMARY) == 1 and added.count("WORDS-FROM-GOOD") == 1
    assert text.count(HEADING) == 1 and "ADVICE-AT-START" in text
    assert not [fact for fact in FACTS if fact not in guidance(text)]
    assert any("a_hangs" in line for line in world.complaints)


def compacted(world: World) -> str:
    """Have a session with a compaction, in which every prompt is answered; return the request after it."""
    session = world.client.session()
    said = [session.prompt(prompt).result for prompt in ("Begin.", "Work.", "/compact", "Go on.")]
    assert [said[0], said[1], said[3]] == ["Done."] * 3
    assert not session.errors and not session.junk
    return world.model.of("main")[-1].text


@pytest.mark.scenario(6)
def test_dropped_in_handler_is_registered_at_the_next_start(world: World) -> None:
    """A file dropped in without `install` works from the next session on, and the user is told."""
    folder = world.client.home / ".config/holdfast/handlers"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "no.py").write_text(DENY)
    first = world.client.session()
    ran = first.prompt("Begin.")
    print(first.lines[:6], ran.notices)
    first.close()
    world.model.turns = [bash("touch forbidden"), say("Done.")]
    world.client.session().prompt("Begin.")
    assert "this is forbidden here" in world.model.of("main")[-1].last


@pytest.mark.scenario(6)
def test_ask_and_another_turn(world: World) -> None:
    """`ask` is a refusal where nobody can be asked; `force_turn` gives one more turn; `advise` stands at the prompt."""
    put(world, asks=ASKS)
    world.model.turns = [bash("touch risky"), bash("touch harmless"), say("Done."), say("Done twice.")]
    ran = world.client.session(*TOUCH).prompt("Begin.")
    first, asked, *_ = (q.last for q in world.model.of("main"))
    print(asked)
    assert (world.project / "harmless").exists() and not (world.project / "risky").exists()
    assert "UserPromptSubmit hook additional context: ADVICE-AT-PROMPT" in first
    assert "please ask" in asked
    assert sum("ONE-MORE-TURN" in q.last for q in world.model.of("main")) == 1
    assert "USER-WORDS" not in world.model.of("main")[-1].text
    if world.version != "2.1.197":  # which shows it in the terminal only
        assert "USER-WORDS" in str(ran.lines)
    assert not world.complaints


@pytest.mark.scenario(6)
def test_two_maskers_leave_no_secret(world: World) -> None:
    """The model sees a result in which each handler masked what it knows."""
    put(world, a_mask=MASK % "hunter2", b_mask=MASK % "swordfish")
    world.model.turns = [bash("echo hunter2 and swordfish | cat"), say("Done.")]
    world.client.session("--allowedTools", "Bash(echo:*)", "Bash(cat)").prompt("Begin.")
    last = world.model.of("main")[-1].last
    assert "*** and ***" in last


@pytest.mark.scenario(6)
def test_a_worktree_is_made_by_a_handler_or_the_model_hears_why_not(world: World) -> None:
    """A handler without an opinion breaks nothing silently: the tool call fails with Holdfast's own words."""
    put(world, makes=MAKES)
    world.model.turns = [
        call("EnterWorktree"),
        call("EnterWorktree"),
        bash("pwd"),
        say("Done."),
    ]
    world.client.session("--allowedTools", "EnterWorktree", "Bash(pwd)").prompt("Begin.")
    refused, entered, where, *_ = (q.last for q in world.model.of("main")[1:])
    print(refused, entered, where, sep="\n")
    assert "user/makes.py: on_worktree_create named no folder" in refused
    assert "Holdfast named no folder for the worktree" in refused
    assert str(world.project.parent / "made") in entered
    assert str(world.project.parent / "made") in where


RULE = """
event = "PreToolUse"
match = "shell"
when = { command = "touch *.env" }
answer = "deny"
text = "REFUSED-BY-RULE"
"""
SCRIPT = """#!/bin/sh
# holdfast: event=PreToolUse match=shell
grep -q 'touch scripted' && { echo REFUSED-BY-SCRIPT >&2; exit 2; }
exit 0
"""
HOOKIFY = """---
name: no-danger
enabled: true
event: bash
pattern: touch\\s+danger
action: block
---

REFUSED-BY-HOOKIFY
"""


def install_with_package(world: World, name: str, source: str) -> None:
    """Install Holdfast from an environment of its own, which also has a package that brings a handler."""
    home = world.client.home.parent
    python = fresh_environment(home) / "python"
    (site,) = (home / "venv/lib").glob("python*/site-packages")
    (site / "holdfast.pth").write_text(f"{ROOT / 'src'}\n")
    handlers, info = site / "acme_hooks/handlers", site / "acme_hooks-1.2.dist-info"
    for folder in (handlers, info):
        folder.mkdir(parents=True)
    for folder in (handlers.parent, handlers):
        (folder / "__init__.py").touch()
    (handlers / f"{name}.py").write_text(source)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-hooks\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("[holdfast.handlers]\nacme = acme_hooks.handlers\n")
    world.program = python.with_name("holdfast")
    world.program.write_text(f"#!{python}\nfrom holdfast.cli import main\nmain()\n")
    world.program.chmod(0o755)
    world.holdfast("install", "--scope", "user", "--yes")


@pytest.mark.scenario(6)
def test_handlers_of_each_kind_refuse(bare: World) -> None:
    """A rule, a script, a rule of hookify, a Python file and a package's, one after the other in one session."""
    world = bare
    packaged = DENY.replace("forbidden", "packaged").replace("this is", "PACKAGED is")
    install_with_package(world, "acme", packaged)
    folder = world.client.home / ".config/holdfast/handlers"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ruled.toml").write_text(RULE)
    (folder / "scripted.sh").write_text(SCRIPT)
    (folder / "scripted.sh").chmod(0o755)
    (world.project / ".claude").mkdir(exist_ok=True)
    (world.project / ".claude/hookify.no-danger.local.md").write_text(HOOKIFY)
    world.holdfast("handlers", "import")
    put(world, no=DENY)
    touched = {"x.env": "REFUSED-BY-RULE", "scripted": "REFUSED-BY-SCRIPT", "danger": "REFUSED-BY-HOOKIFY"}
    touched |= {"forbidden": "this is forbidden here", "packaged": "PACKAGED is packaged here (package/acme.py)"}
    world.model.turns = [*(bash(f"touch {name}") for name in touched), bash("touch harmless"), say("Done.")]
    world.client.session(*TOUCH).prompt("Begin.")
    answers = [each.last for each in world.model.of("main")[1:]]
    assert [reason in answer for reason, answer in zip(touched.values(), answers, strict=False)] == [True] * 5, answers
    assert [name for name in (*touched, "harmless") if (world.project / name).exists()] == ["harmless"]
    assert not world.complaints

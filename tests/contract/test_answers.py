"""What each command answers where a project has no workflow, several, one of somebody else's or something broken."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import processes
from tests.commandline import holdfast
from tests.handmade import ME, OTHER
from tests.signals import Agent

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject

STATE = ".claude/state/workflow.json"
HOSTILE = "A\x1b]0;pwn\x07B\n[red]C \u202eabc \udcff \u2028"


def start(project: HoldfastProject, title: str, *more: str, session: str = "") -> None:
    """Start a workflow of two phases; without a session it is nobody's."""
    phases = ("--phase", "Draft", "--phase", "Review")
    holdfast("start", title, *phases, *more, root=project.root, session=session)


def nothing(project: HoldfastProject) -> None:
    """An empty project."""


def at_work(project: HoldfastProject) -> None:
    """One workflow, of this session."""
    start(project, "Book", "--remind", "Be kind", "--read", "docs/a.md", "--set", "plan=7", session=ME)


def several(project: HoldfastProject) -> None:
    """Two workflows of two formats, nobody's."""
    start(project, "Book")
    start(project, "Tool", "--format", "hybrid")


def removed(project: HoldfastProject) -> None:
    """A completed workflow, whose file goes with its end."""
    start(project, "Book")
    holdfast("next", root=project.root)
    holdfast("done", "--all", root=project.root)


def finished(project: HoldfastProject) -> None:
    """A completed workflow, whose file stays."""
    start(project, "Tool", "--format", "hybrid")
    holdfast("next", root=project.root)
    holdfast("done", "--all", root=project.root)


def blocked(project: HoldfastProject) -> None:
    """One that waits for a person."""
    start(project, "Book", session=ME)
    holdfast("update", "--status", "blocked", root=project.root, session=ME)


def with_agents(project: HoldfastProject) -> None:
    """One whose agent runs, while the result of another agent was not used."""
    start(project, "Tool", "--format", "hybrid", "--phase", "Print @printer", session=ME)
    project.fire("SessionStart", "SessionStart-startup-tui")
    for number, description in ((1, "Draft"), (2, "Look")):
        agent = Agent(project, description, kind="general-purpose", number=number)
        agent.arguments["run_in_background"] = True  # type: ignore[index]
        agent.about_to()
        agent.launched()
        agent.started()
    agent.stopped("All is well.")


def failed(project: HoldfastProject) -> None:
    """One whose agent failed in the foreground."""
    start(project, "Tool", "--format", "hybrid", session=ME)
    project.fire("SessionStart", "SessionStart-startup-tui")
    agent = Agent(project, "Draft", kind="general-purpose")
    agent.about_to()
    agent.failed("API Error: 529 Overloaded.")


def broken(project: HoldfastProject) -> None:
    """A state file that somebody broke, after Holdfast had seen it whole."""
    start(project, "Tool", "--format", "hybrid")
    project.write({STATE: "[]"})


def never_whole(project: HoldfastProject) -> None:
    """A state file that never was one."""
    project.write({"untracked/workflow-state/x/state-x.json": "{"})


def of_another_session(project: HoldfastProject) -> None:
    """One that a live session works on."""
    project.fire("UserPromptSubmit", session_id=OTHER)
    start(project, "Book", session=OTHER)


def in_another_worktree(project: HoldfastProject) -> None:
    """A workflow that was completed in another worktree of the repository."""
    other = project.root.with_name("other")
    git = ["git", "-C", str(project.root), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in ("init -q", "commit -qm x --allow-empty", f"worktree add -q {other}"):
        subprocess.run([*git, *command.split()], check=True, capture_output=True)
    for command in ("start Book --phase Draft", "next", "done --all"):
        holdfast(*command.split(), root=other)


def in_a_submodule(project: HoldfastProject) -> None:
    """A workflow in a submodule, whose git folder lies in the repository around it."""
    folder = project.root.with_name("around.git") / "modules/project"
    files = {"HEAD": "ref: refs/heads/main\n", "config": f"[core]\n\tworktree = {project.root}\n"}
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    project.write({".git": f"gitdir: {folder}\n"})
    start(project, "Book")


def advised(project: HoldfastProject) -> None:
    """A handler of the project has advised the model once."""
    text = "from holdfast import *\n@hookimpl\ndef on_pre_tool_use(event):\n    return advise('😀 careful')\n"
    project.write({".claude/handlers/guard.py": text})
    project.trust()
    project.fire("PreToolUse", "PreToolUse-Bash")


def changed_by_hand(project: HoldfastProject) -> None:
    """A state file that a person changed, and a command after that."""
    start(project, "Tool", "--format", "hybrid")
    project.write({STATE: (project.root / STATE).read_text().replace('"Review"', '"Reread"')})
    holdfast("next", root=project.root)


def misconfigured(project: HoldfastProject) -> None:
    """A configuration of the project with a wrong value, and a value that counts only once it is trusted."""
    project.write({".claude/holdfast.toml": 'reading = "never"\n[handlers]\noff = ["save_workflow"]\n'})


def over_the_clients_settings(project: HoldfastProject) -> None:
    """A format without code that has the client's settings for its state file."""
    text = (processes.ROOT / "examples/formats/progress.toml").read_text()
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "holdfast/formats"
    folder.mkdir(parents=True)
    for number, place in enumerate((".claude/settings.json", ".claude/settings.local.json", "../x.json")):
        changed = re.sub(r"(?m)^files = .*", f'files = ["{place}"]', text)
        (folder / f"mine{number}.toml").write_text(changed)


def installed(project: HoldfastProject) -> None:
    """Holdfast was installed beside a person's own status line, and a handler wants an event that is too new."""
    start(project, "Book")
    settings = Path.home() / ".claude/settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text('{"statusLine": {"type": "command", "command": "~/mine.sh"}}')
    holdfast("install", "--statusline", root=project.root)
    project.write(
        {".claude/handlers/new.py": "from holdfast import *\n@hookimpl\ndef on_pre_model_switch(event): ...\n"}
    )
    project.trust()


def hostile(project: HoldfastProject) -> None:
    """A stranger's state file, whose texts steer terminals, mark up text and are no UTF-8."""
    start(project, "Tool", "--format", "hybrid", session=ME)
    text = (project.root / STATE).read_text()
    for title in ("Tool", "Draft"):
        text = text.replace(f'"{title}"', json.dumps(HOSTILE))
    project.write({STATE: text})
    start(project, HOSTILE, "--phase", HOSTILE, "--remind", HOSTILE, "--set", f"k={HOSTILE}", session=OTHER)


def without_ledger(project: HoldfastProject) -> None:
    """A file lies where Holdfast keeps what it remembers."""
    start(project, "Book")
    state = Path(os.environ["XDG_STATE_HOME"]) / "holdfast"
    shutil.rmtree(state)
    state.write_text("in the way")


NONE = "Nothing to save here: no workflow is in progress"
NO_NEXT = (1, "no workflow is unfinished", "`holdfast start TITLE` starts one")
CHOICE = (1, "holdfast done --workflow book", "holdfast done --workflow tool")
UNREAD = "holds a JSON array where an object is expected"
HARMLESS = "A]0;pwnB [red]C abc \ufffd"
TAKEN = (1, "no workflow is free for this session; 1 belongs to another live session", "Book")

ANSWERS: dict[Callable[[HoldfastProject], None], dict[str, tuple[int, *tuple[str, ...]]]] = {
    nothing: {
        "status": (0, NONE),
        "status -v": (0, NONE, "Ledger"),
        "status --all": (0, "No workflow of this project has been completed yet."),
        "status X": (1, 'no workflow is named "X"'),
        "status --watch X": (1, 'no workflow is named "X"'),
        "claim X": (1, 'no workflow is named "X"'),
        "status --why": (0, "Nothing to save here", "CLAUDE.local.md: does not exist"),
        "status --todos": NO_NEXT,
        "agents": (0, "No agents are known here."),
        "agents x": (1, "no agent and no run here is called 'x'"),
        "log": (0, "nothing has happened in this project yet"),
        "restore --diff": NO_NEXT,
        "next": NO_NEXT,
        "done": NO_NEXT,
        "restore 1 --workflow X": (1, 'no workflow is named "X"'),
        "install --statusline --dry-run": (0, '+ "statusLine": {'),
        "status --why --todos": (2, "--why and --todos can't be used together; choose one"),
    },
    at_work: {
        "status": (
            *(0, "Not safe: Holdfast isn't registered here", "Book active, phase 1/2, 0%", "[>] 1. Draft"),
            *("[ ] 2. Review", "session 11111111", "Be kind", "docs/a.md", "plan"),
        ),
        "status X": (1, 'no workflow is named "X"; these are here: "Book"', "holdfast status book"),
        "status --why": (
            0,
            "Not safe: Holdfast isn't registered here",
            '"Book": in full',
        ),
        "status --todos": (0, "Draft"),
        "log": (0, 'now owned by this session: "Book"', "version 1 saved"),
        "restore": (0, "1 2", "start"),
        "restore --diff": (0, "No difference between"),
        "next": (0, "active 1/2 Book - Draft", 'Next: go on with phase 1/2 "Draft"'),
        "done": (0, 'Completed phase 1/2 "Draft".', 'Next: go on with phase 2/2 "Review"'),
        "update --status completed": (0,),
        "log --limit 1": (0, "Book"),
    },
    several: {
        "status": (0, "Workflows", "active 1/2 Book - Draft (compaction", "pending 0/2 Tool (hybrid"),
        "status tool": (0, "Tool pending, phase 0/2"),
        "status --why": (0, '"Tool": in full', '"Book": in one line, below "Tool"'),
        "done": CHOICE,
        "done --workflow book": (0, 'Completed phase 1/2 "Draft"'),
    },
    removed: {
        "status": (0, f"{NONE}; Book 1/2 is completed", "Book completed", "Owner none"),
        "status --all": (0, "Archive", "1/2 Book"),
        "restore --diff": (1, "name one that is over", "holdfast restore --diff --workflow book"),
        "restore --diff --workflow book": (0, '- "status": "in_progress" + "status": "completed"'),
        "next": NO_NEXT,
        "done book": (1, "Book"),
    },
    finished: {
        "status": (0, NONE, "Tool completed, 1/2, 50%", "[x] 1. Draft", "[ ] 2. Review"),
        "status --all": (0, "1/2 Tool"),
        "status --why": (0, "Nothing to save here", '"Tool" (hybrid): completed, 2 phases'),
        "done": NO_NEXT,
    },
    blocked: {
        "status": (0, "Book blocked", "[-] 1. Draft"),
        "next": (0, "blocked"),
    },
    with_agents: {
        "status": (
            *(0, "[>] 1. Draft", "[ ] 3. Print @printer"),
            *("Agents", "a0000000000000001 running general-purpose: Draft"),
            "a0000000000000002 finished general-purpose: Look",
        ),
        "agents": (0, "a0000000000000002 finished general-purpose: Look", "a0000000000000001 running"),
        "agents a0000000000000002": (0, "All is well.", "output: /tmp/a0000000000000002.output"),
        "report -": (0, "; its result was not used", "restore_workflow"),
        "agents a0000000000000002 --rerun": (0, "a0000000000000002 won't be used again"),
        "agents a0": (1, "several agents or runs begin with 'a0'"),
        "log": (0, "agent stopped: general-purpose: All is well.", 'phase began: "Tool", phase 1 "Draft"'),
    },
    failed: {
        "status": (0, "Tool failed", "[!] 1. Draft", "failed", "error: API Error: 529 Overloaded."),
        "agents": (0, "failed general-purpose: Draft"),
        "log": (0, 'phase failed: "Tool", phase 1 "Draft"; API Error: 529 Overloaded.'),
    },
    broken: {
        "status": (0, "Tool pending", "Unreadable files", UNREAD, "`holdfast doctor --fix` puts it back"),
        "status --why": (0, '"Tool": in full', "Problems", UNREAD),
        "restore --diff": (0, "+[]"),
        "next": (1, UNREAD, "so it is not overwritten"),
        "done": (1, UNREAD, "so it is not overwritten"),
    },
    never_whole: {
        "status": (0, NONE, "Unreadable files", "is not JSON"),
        "status --why": (0, "Nothing to save here", "Problems", "is not JSON"),
        "next": (1, "no workflow is unfinished;", "is not JSON"),
    },
    of_another_session: {
        "status": (0, "active 1/2 Book - Draft", "owned by session 22222222"),
        "status book": (0, "Owner session 22222222, live"),
        "status --why": (0, '"Book": not restored: it belongs to session 22222222, which is live'),
        "next": TAKEN,
        "done": TAKEN,
        "claim book": (0, "still belongs to session 22222222, which is live. To take it, add --anyway."),
    },
    in_another_worktree: {
        "status": (0, NONE),
        "status --all": (0, "1/1 Book"),
    },
    in_a_submodule: {
        "status": (0, "Book active, phase 1/2"),
    },
    advised: {
        "report -": (0, "project/guard"),
    },
    changed_by_hand: {
        "log": (0, "version 3 saved"),
    },
    misconfigured: {
        "doctor configuration": (1, "key 'reading': input should be 'off', 'remind' or 'hold'"),
        "status": (0, NONE),
    },
    over_the_clients_settings: {
        "formats list": (
            *(0, "'.claude/settings.json' may be a file of Claude Code", "'../x.json' must lie below the project's"),
            "'.claude/settings.local.json' may be a file of Claude Code",
        ),
    },
    installed: {
        "handlers list": (0, "not registered: "),
        "doctor --verbose": (0, "the status line is a program of your own"),
    },
    hostile: {
        "status": (0, HARMLESS),
        "status --why": (0, HARMLESS),
        "log": (0, HARMLESS),
        "next": (0, HARMLESS),
    },
    without_ledger: {
        "status": (0, "Not safe: ", "the ledger cannot be used", "Book active"),
        "status --all": (0, "the ledger cannot be used"),
        "status --why": (0, '"Book": in full'),
        "done": (0, 'Completed phase 1/2 "Draft"'),
    },
}
LOOKING = ("status", "agents", "log")
OF_JSON = ("status", "status --all", "status --why", "agents", "log", "restore")
RAW = {chr(number) for number in (*range(9), *range(11, 32), *range(127, 160), 0x202E, 0x2028)}


def contents(root: Path) -> dict[Path, tuple[bytes, int]]:
    """Return each file of a project with its time of modification."""
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("scene", ANSWERS, ids=lambda scene: scene.__name__)
def test_commands_answer(
    scene: Callable[[HoldfastProject], None], holdfast_project: Callable[..., HoldfastProject]
) -> None:
    """With words and an exit code; those that only look change no file, print valid JSON and steer no terminal."""
    project, found = holdfast_project({}), []
    scene(project)
    for command, (code, *words) in ANSWERS[scene].items():
        before = contents(project.root)
        said = holdfast(*command.split(), root=project.root, session=ME, code=None)
        text = " ".join(f"{said.out} {said.err}".split())
        found += [f"{command}: {word!r} is not in {text}" for word in words if word not in text]
        if said.code != code:
            found.append(f"{command}: exit code {said.code}: {text}")
        if raw := RAW & set(said.out + said.err):
            found.append(f"{command}: {raw} in {text!r}")
        if command.split()[0] in LOOKING and contents(project.root) != before:
            found.append(f"{command}: wrote to the project")
        if command in OF_JSON:
            try:
                json.loads(holdfast(*command.split(), "--json", root=project.root, session=ME, code=code).out or "{}")
            except ValueError as error:
                found.append(f"{command} --json: {error}")
    assert not found, "\n".join(found)


def test_a_reader_that_goes_away_costs_no_traceback(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """As `holdfast status | head -1` does."""
    project = holdfast_project({})
    start(project, "Book", "--remind", "long " * 300)
    command = f"{sys.executable} -m holdfast status | head -n 1"
    done = subprocess.run(["sh", "-c", command], cwd=project.root, capture_output=True, timeout=500, check=False)

    assert (done.stdout[:9], done.stderr) == (b"Not safe:", b"")


def test_forgetting_takes_lines_also_from_a_log_that_was_rotated(
    holdfast_project: Callable[..., HoldfastProject],
) -> None:
    """Where no other file has any, too."""
    project = holdfast_project({".claude/handlers/bad.py": "from holdfast import *\n@hookimpl\ndef on_stop(): 1 / 0\n"})
    project.trust()
    project.fire("Stop")
    file = Path(os.environ["XDG_STATE_HOME"]) / "holdfast/log/holdfast.log"
    rotated = file.rename(file.with_name("holdfast.log.1"))
    assert str(project.root) in rotated.read_text()

    holdfast("forget", "--everything", "--yes", root=project.root)

    assert str(project.root) not in rotated.read_text()


def test_forgetting_reaches_the_reports_of_all_checkouts(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """Each tells of the whole project."""
    mine, other = holdfast_project({}), holdfast_project({}).root.with_name("other")
    for root in (mine.root, other):
        (root / ".claude").mkdir(parents=True, exist_ok=True)
        (root / ".claude/holdfast.toml").write_text('[project]\nid = "shared"\n')
        holdfast("handlers", "trust", "--yes", root=root)
        holdfast("start", "Shared", "--phase", "One", root=root, session=ME)
        holdfast("report", root=root)

    holdfast("forget", "--session", ME, "--yes", root=mine.root)

    assert [(root / ".claude/holdfast/report.html").exists() for root in (mine.root, other)] == [False, False]

"""No file of a project makes Holdfast read, change or delete what it knows of another project."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast import paths
from holdfast.clients.claude import versions
from holdfast.sessions.ownership import former_ledger, sessions
from holdfast.sessions.workspace import Workspace
from tests.commandline import Said, holdfast
from tests.handmade import ME, OTHER

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject

pytestmark = pytest.mark.slow

SECRET = "Kernschmelze"
CONFIG = '[project]\nid = "shop"\n'


@pytest.fixture
def victim(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    """A project with a trusted id and a past: an archived workflow, an unfinished one, a report and a sidecar."""
    made = holdfast_project({".claude/holdfast.toml": CONFIG, ".git/HEAD": "ref: refs/heads/main\n"})
    made.trust()
    made.fire("SessionStart", "SessionStart-startup-tui", session_id=ME)
    holdfast("start", f"{SECRET} old", "--phase", "One", root=made.root, session=ME)
    holdfast("done", root=made.root, session=ME)
    holdfast("start", f"{SECRET} new", "--phase", "One", "--remind", SECRET, root=made.root, session=ME)
    made.fire("PreCompact", "PreCompact-auto", session_id=ME)
    assert SECRET in made.fire("SessionStart", "SessionStart-compact", session_id=ME).context
    holdfast("report", root=made.root)
    assert SECRET in holdfast("list", "--archive", root=made.root).out
    return made


def by_id(clone: Path, victim: Path) -> None:
    (clone / ".claude").mkdir()
    (clone / ".claude/holdfast.toml").write_text(CONFIG)


def by_path(clone: Path, victim: Path) -> None:
    (clone / ".claude").mkdir()
    (clone / ".claude/holdfast.toml").write_text(f'[project]\nid = "{victim}/.git"\n')


def by_git_file(clone: Path, victim: Path) -> None:
    (clone / ".git").write_text(f"gitdir: {victim}/.git\n")


def by_git_link(clone: Path, victim: Path) -> None:
    (clone / ".git").symlink_to(victim / ".git")


def by_claude_link(clone: Path, victim: Path) -> None:
    (clone / ".claude").symlink_to(victim / ".claude")


def by_folder_link(clone: Path, victim: Path) -> None:
    (clone / ".claude").mkdir()
    (clone / ".claude/holdfast").symlink_to(victim / ".claude/holdfast")
    (clone / "untracked").symlink_to(victim / "untracked")


WAYS = (by_id, by_path, by_git_file, by_git_link, by_claude_link, by_folder_link)
LOOKING = (
    *(("list",), ("list", "--archive", "--json"), ("show",), ("show", f"{SECRET} old"), ("status",), ("explain",)),
    *(("resume",), ("log",), ("cost",), ("report", "-o", "-"), ("export",), ("list", "--templates")),
)


@pytest.fixture(params=WAYS, ids=lambda way: way.__name__)
def clone(request: pytest.FixtureRequest, victim: HoldfastProject, tmp_path: Path) -> Path:
    """A folder that was unpacked from an archive, made to join the victim's memory."""
    root = tmp_path / "clone"
    root.mkdir()
    request.param(root, victim.root)
    return root


def said(*arguments: str, root: Path, session: str = "") -> Said:
    """Run a command, whether or not it succeeds."""
    try:
        return holdfast(*arguments, root=root, session=session)
    except AssertionError as failed:
        answer: Said = failed.args[0] if isinstance(failed.args[0], Said) else Said(1, "", str(failed))
        return answer


@pytest.mark.parametrize("verb", LOOKING, ids=" ".join)
def test_nothing_of_another_project_is_read(clone: Path, verb: tuple[str, ...]) -> None:
    """By no verb, neither in a session nor in a terminal."""
    for session in ("", OTHER):
        told = said(*verb, root=clone, session=session)
        assert SECRET not in told.out
        assert SECRET not in told.err.replace(f"{SECRET} old", "")  # the name that was asked for


def test_nothing_of_another_project_is_deleted(clone: Path, victim: HoldfastProject) -> None:
    """`forget` in the clone leaves rows, sidecars and reports of the other project."""
    before = sorted((victim.root / ".claude/holdfast").iterdir())
    assert len(before) > 2
    for scope in (("--everything",), ("--before", "2100-01-01"), ("--session", ME), ("--workflow", f"{SECRET} new")):
        said("forget", *scope, "--yes", root=clone)

    assert sorted((victim.root / ".claude/holdfast").iterdir()) == before
    assert SECRET in holdfast("list", "--archive", root=victim.root).out
    assert SECRET in holdfast("show", root=victim.root).out


def test_a_clone_is_not_told_to_join(clone: Path, victim: HoldfastProject) -> None:
    """Only a project that had used the ledger is told of it."""
    assert former_ledger.find(Workspace.open(clone)) is None
    assert "handlers trust" not in said("status", root=clone).out


def test_an_id_that_counted_before_is_named_until_it_is_trusted(tmp_path: Path, victim: HoldfastProject) -> None:
    """SessionStart, `status` and `doctor` name the old ledger and the command that brings it back."""
    old = Workspace.open(victim.root, trusted=True).ledger_file
    holdfast("handlers", "untrust", root=victim.root)
    command = f"holdfast handlers trust --project {victim.root} {victim.root}/.claude/holdfast.toml"

    started = victim.fire("SessionStart", "SessionStart-startup-tui", session_id=OTHER)
    doctor = said("doctor", root=victim.root).out.replace("~/", f"{Path.home()}/")
    for told in (started.stdout, holdfast("status", root=victim.root).out, doctor):
        assert str(old) in told
        assert command in told
    assert SECRET not in holdfast("list", "--archive", root=victim.root).out

    trusting = holdfast(*command.split()[1:], "--yes").out
    assert f'joins the ledger of project.id "shop": {old}' in trusting
    assert SECRET in holdfast("list", "--archive", root=victim.root).out
    assert "project.id" not in victim.fire("SessionStart", "SessionStart-startup-tui", session_id=OTHER).stdout


def test_a_session_names_no_other_project(tmp_path: Path, victim: HoldfastProject) -> None:
    """Its permission rules allow verbs whatever `--project` says; a person in a terminal may name any."""
    mine = tmp_path / "mine"
    (mine / "packages/a").mkdir(parents=True)
    there = ("list", "--archive", "--project", str(victim.root))

    told = holdfast(*there, root=mine, session=OTHER, code=1)

    assert f"--project names {victim.root}, but this session's project is {mine}" in told.err
    assert SECRET not in told.out
    assert SECRET in holdfast(*there, root=mine).out
    holdfast("list", "--project", str(mine / "packages/a"), root=mine, session=OTHER)


def test_a_session_records_no_file_from_outside(tmp_path: Path, victim: HoldfastProject) -> None:
    """What `wfs task step --output @FILE` records can be printed by a verb that needs no permission."""
    mine = tmp_path / "mine"
    (mine / ".claude").mkdir(parents=True)
    holdfast("wfs", "start", "Shop", root=mine, session=OTHER)
    holdfast("wfs", "task", "add", "Build", root=mine, session=OTHER)
    (task,) = (mine / ".workflow").glob("*/.task/IMPL-*.json")
    flow = {"pre_analysis": [{"step": "look", "command": "x", "output_to": "seen"}]}
    task.write_text(json.dumps(json.loads(task.read_text()) | {"flow_control": flow}))
    (tmp_path / "secret").write_text(SECRET)
    (mine / "link").symlink_to(tmp_path / "secret")
    (mine / "output").write_text("fine")
    record = ("wfs", "task", "step", "IMPL-1", "look", "--output")

    for place in (tmp_path / "secret", mine / "link"):
        told = holdfast(*record, f"@{place}", root=mine, session=OTHER, code=1)
        assert "is outside the project" in told.err
    holdfast(*record, f"@{mine}/output", root=mine, session=OTHER)
    holdfast(*record, f"@{tmp_path}/secret", root=mine)
    complete = ("wfs", "task", "complete", "IMPL-1", "--summary", f"@{tmp_path}/secret")
    assert "is outside the project" in holdfast(*complete, root=mine, session=OTHER, code=1).err


def test_no_link_in_a_workflow_brings_a_file_from_outside(tmp_path: Path) -> None:
    """Memory file, plan, template, and a wfs session's summaries, list and tasks: none is followed out."""
    mine, outside = tmp_path / "mine", tmp_path / "outside"
    (mine / ".claude").mkdir(parents=True)
    (outside / "tasks").mkdir(parents=True)
    holdfast("wfs", "start", "Shop", root=mine, session=OTHER)
    for title in ("Build", "Test"):
        holdfast("wfs", "task", "add", title, root=mine, session=OTHER)
    holdfast("wfs", "task", "complete", "IMPL-1", "--summary", "done", root=mine, session=OTHER)
    (folder,) = (mine / ".workflow").glob("WFS-*")
    files = {
        "memory.md": f"## Workflow State\n\nWorkflow: {SECRET}\nPhase: 1/2 {SECRET}\n",
        "PLAN.md": f"# Plan 1: {SECRET}\n\n**Status**: In Progress\n\n## Phase 1: {SECRET}\n",
        "template.toml": f'phases = ["{SECRET}"]\n',
        "summary.md": SECRET,
        "list.md": f"# Tasks: Shop\n\n## Task Progress\n- [ ] **IMPL-9**: {SECRET}\n",
    }
    for name, text in files.items():
        (outside / name).write_text(text)
    task = json.loads((folder / ".task/IMPL-2.json").read_text()) | {"id": "IMPL-7", "title": SECRET}
    (outside / "tasks/IMPL-7.json").write_text(json.dumps(task))
    links = {
        mine / "CLAUDE.local.md": "memory.md",
        mine / "CLAUDE/Plan/001-x/PLAN.md": "PLAN.md",
        mine / ".claude/templates/x.toml": "template.toml",
        folder / ".summaries/IMPL-1-summary.md": "summary.md",
        folder / "TODO_LIST.md": "list.md",
    }
    looking = (
        *(("show",), ("show", "--json"), ("list", "--templates", "--json"), ("start", "x", "--template", "x")),
        *(("explain", "--all"), ("resume",), ("wfs", "check"), ("wfs", "todo"), ("wfs", "task", "list")),
        *(("wfs", "task", "show", "IMPL-2", "--for-agent"), ("wfs", "task", "next"), ("export",)),
    )
    for link, name in links.items():
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(outside / name)
    for verb in looking:
        told = said(*verb, root=mine, session=OTHER)
        assert SECRET not in told.out + told.err, verb
    (folder / ".task").rename(folder / "kept")
    (folder / ".task").symlink_to(outside / "tasks")
    for verb in looking:
        told = said(*verb, root=mine, session=OTHER)
        assert SECRET not in told.out + told.err, verb


@pytest.mark.parametrize("scope", ["project", "local"])
def test_an_install_into_a_clone_writes_nothing_outside_it(
    tmp_path: Path, scope: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its settings, or the folder of its skills, are a link to yours; whoever means that file can name it."""
    monkeypatch.setattr(versions, "version", lambda: None)
    root, mine = tmp_path / "clone", tmp_path / "mine"
    (root / ".claude").mkdir(parents=True)
    mine.mkdir()
    (mine / "config.json").write_text('{"mine": true}')
    settings = root / ".claude" / ("settings.json" if scope == "project" else "settings.local.json")
    settings.symlink_to(mine / "config.json")
    refused = holdfast("install", "--scope", scope, "--allow-cli", root=root, code=1).err
    assert "leads out of the project through a symbolic link" in refused
    assert f"--settings {mine}/config.json" in refused
    assert (mine / "config.json").read_text() == '{"mine": true}'

    settings.unlink()
    (root / ".claude" / "skills").symlink_to(mine)
    said = holdfast("install", "--scope", scope, "--allow-cli", root=root).out
    assert "leads out of the project through a symbolic link, so nothing was written there" in said
    assert [each.name for each in mine.iterdir()] == ["config.json"]


def moved_on(root: Path) -> None:
    holdfast("start", "Shop", "--phase", "One", root=root)


def completed(root: Path) -> None:
    moved_on(root)
    holdfast("done", root=root)


def completed_long_ago(root: Path) -> None:
    completed(root)
    project = Workspace.open(root, trusted=True)
    for table in ("phases_seen", "attempts", "generations"):
        project.ledger.run(f"DELETE FROM {table}")
    project.close()


@pytest.mark.parametrize("use", [moved_on, completed, completed_long_ago])
def test_a_project_used_only_from_a_terminal_is_told_of_its_ledger(
    holdfast_project: Callable[..., HoldfastProject], tmp_path: Path, use: Callable[[Path], None]
) -> None:
    """No session was ever seen in it; a clone that asks for the same id is told nothing."""
    made = holdfast_project({".claude/holdfast.toml": CONFIG, ".git/HEAD": "ref: refs/heads/main\n"})
    made.trust()
    use(made.root)
    old = Workspace.open(made.root, trusted=True).ledger_file
    with closing(sqlite3.connect(old)) as ledger:
        assert ledger.execute("SELECT count(*) FROM sessions").fetchone() == (0,)
    holdfast("handlers", "untrust", root=made.root)
    (tmp_path / "clone").mkdir()
    by_id(tmp_path / "clone", made.root)

    assert former_ledger.find(Workspace.open(tmp_path / "clone")) is None
    assert str(old) in holdfast("status", root=made.root).out
    assert str(old) in made.fire("SessionStart", "SessionStart-startup-tui", session_id=OTHER).stdout


def test_sessions_of_worktrees_are_told_of_the_ledger_they_shared(tmp_path: Path) -> None:
    """A worktree that never used the ledger belongs to a repository that did, with others that share its id."""
    git, tree = tmp_path / "repo/.git", tmp_path / "tree"
    (git / "worktrees/tree").mkdir(parents=True)
    tree.mkdir()
    for folder in (git, git / "worktrees/tree"):
        (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "worktrees/tree/commondir").write_text("../..\n")
    (git / "worktrees/tree/gitdir").write_text(f"{tree}/.git\n")
    (tree / ".git").write_text(f"gitdir: {git}/worktrees/tree\n")
    for root in (tmp_path / "repo", tree):
        (root / ".claude").mkdir()
        paths.project_config(root).write_text(CONFIG)
    shared = Workspace.open(tmp_path / "repo", trusted=True)
    sessions.note_event(shared, ME)
    shared.ledger.run("DROP INDEX sessions_live")  # as a ledger of an earlier version
    shared.close()
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / ".claude").mkdir(parents=True)
    paths.project_config(elsewhere).write_text(CONFIG)
    another = Workspace.open(elsewhere, trusted=True)
    sessions.note_event(another, OTHER)
    another.close()

    assert former_ledger.find(Workspace.open(tree)) == shared.ledger_file
    shared.ledger_file.write_bytes(b"no database at all, but long enough for one" * 100)
    assert former_ledger.notice(Workspace.open(tree)) == "", "a ledger that cannot be read keeps no event from going on"

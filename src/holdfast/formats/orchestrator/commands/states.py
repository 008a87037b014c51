"""`holdfast orchestrator query|check|repair|restore|import|archive`: the state file as a whole."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import click

from holdfast import paths
from holdfast.commands import options, workflow_commands
from holdfast.errors import command_line
from holdfast.formats.orchestrator import check as checks
from holdfast.formats.orchestrator import commit, evidence, queries, restoration, schema, store
from holdfast.formats.orchestrator import repair as repairs
from holdfast.formats.orchestrator.commands.change import opened
from holdfast.formats.orchestrator.run import Run
from holdfast.workflow import values

_REPAIR = "`holdfast orchestrator repair` repairs it"


@click.command()
@click.argument("question", type=click.Choice(tuple(queries.QUERIES)))
@options.json_option
@options.project_option
def query(question: str, as_json: bool, project_dir: str | None) -> None:
    """Answer a question about the run.

    \b
    Example:
      holdfast orchestrator query progress
    """
    file, _ = store.current(options.open_project(project_dir))
    if file.broken:
        options.note(f"{file.path}: {file.trouble if file.present else file.broken}")
    answer = queries.QUERIES[question](file.data)
    if as_json:
        options.print_json(answer)
        return
    rows = answer if isinstance(answer, list) else [answer]
    options.say("\n".join(_row(each) for each in rows) or "None.")


@click.command()
@options.json_option
@options.project_option
@click.pass_context
def check(context: click.Context, as_json: bool, project_dir: str | None) -> None:
    """Check the state and its task document.

    The exit code is 1 if anything is wrong.

    \b
    Example:
      holdfast orchestrator check
    """
    project = options.open_project(project_dir)
    file, run = store.current(project)
    found = [f"{file.path}: {file.trouble if file.present else file.broken}"] if file.broken else []
    found += [
        *checks.types(file.data),
        *(f"{said}; {way or _REPAIR}" for said, way in checks.contradictions(run)),
        *evidence.drift(project, run),
        *evidence.document(project, run),
    ]
    if as_json:
        options.print_json(found)
    else:
        options.say(paths.shown("\n".join(found)) or "The state and its task document agree.")
    context.exit(1 if found else 0)


@click.command()
@click.option("--dry-run", is_flag=True, help="Print what would be repaired, and change nothing.")
@options.json_option
@options.project_option
def repair(dry_run: bool, as_json: bool, project_dir: str | None) -> None:
    """Repair what can be repaired safely.

    That is overlapping lists, sums, counters, and tasks that are in no list.

    \b
    Example:
      holdfast orchestrator repair --dry-run
    """
    done = list[str]()
    project = options.open_project(project_dir) if dry_run else opened(project_dir)

    def edit(run: Run) -> None:
        done[:] = repairs.repair(project, run)

    if dry_run:
        _, run = store.current(project)
        edit(Run(copy.deepcopy(run.data), copy.deepcopy(run.notes)))
    else:
        done += store.change(project, edit, why="orchestrator repair", repair=True).run.said
    if as_json:
        options.print_json(done)
    else:
        options.say("\n".join(done) or "Nothing to repair.")


@click.command()
@click.argument("name", required=False, default="", metavar="[CHECKPOINT]")
@click.option("--dry-run", is_flag=True, help="Print what would be restored, and change nothing.")
@click.option("--replace", is_flag=True, help="Archive another unfinished run that is in the way.")
@options.json_option
@options.project_option
def restore(name: str, dry_run: bool, replace: bool, as_json: bool, project_dir: str | None) -> None:
    """Restore the state from a checkpoint.

    CHECKPOINT is a name such as checkpoint-003.json. Default: the newest one that
    holds a state.

    Only the state changes. Your project's files stay: Holdfast never runs git.

    \b
    Examples:
      holdfast orchestrator restore --dry-run
      holdfast orchestrator restore checkpoint-003.json
    """
    project = options.open_project(project_dir)
    snapshot = restoration.chosen(project, name)
    head = values.members(snapshot.document.data.get("orchestrator"))
    place = snapshot.document.path.relative_to(project.root).as_posix()
    what = f"{place}: {values.text(head.get('status'))}, task {values.text(head.get('current_task'))} of its phase"
    aside: Path | None = None
    if not dry_run:
        restored = restoration.restore(project, snapshot, replace=replace)
        workflow_commands.take(project, restored.workflow)
        aside = restored.aside
    if as_json:
        options.print_json(
            {
                "checkpoint": place,
                "git_sha": snapshot.git_sha,
                "restored": not dry_run,
                "aside": str(aside) if aside else None,
            }
        )
        return
    lines = [f"{'Would restore' if dry_run else 'Restored'} {what}."]
    again = command_line("orchestrator", "restore", *([name] if name else []))
    lines += [f"`{again}` does it."] if dry_run else []
    if not dry_run:
        undo = "`holdfast log` shows what the state held before, and `holdfast restore N` puts it back."
        lines += [f"What the state held is kept as {aside.name}." if aside else undo]
    options.say("\n".join([*lines, *_advice(project.root, snapshot.git_sha)]))


@click.command(name="import")
@click.argument("file", required=False, default="", metavar="[FILE]")
@click.option("--task-doc", default="", metavar="PATH", help="The task document, if the state names none.")
@click.option("--replace", is_flag=True, help="Archive an unfinished run that is in the way.")
@options.json_option
@options.project_option
def take_over(file: str, task_doc: str, replace: bool, as_json: bool, project_dir: str | None) -> None:
    """Import a state that was kept by hand.

    Without FILE, it is .claude/agent-state.json itself. Tasks may be texts
    ("1.1: Name"), and money and times may be numbers. The original is kept. A
    warning names what can't be imported.

    \b
    Example:
      holdfast orchestrator import old-state.json --task-doc docs/tasks/auth.md
    """
    project = options.open_project(project_dir)
    source = (Path.cwd() / file).resolve() if file else schema.state_path(project.root)
    doc = str((Path.cwd() / Path(task_doc).expanduser()).resolve()) if task_doc else ""
    taken = restoration.take_over(project, source, doc, replace=replace)
    workflow_commands.take(project, taken.workflow)
    news = [f"Imported {paths.shown(str(source))}."]
    news += [f"The original is kept as {taken.aside.name}."] if taken.aside else []
    told = [*(f"left out: {each}" for each in taken.lost), *(f"repaired: {each}" for each in taken.mended)]
    workflow_commands.tell(store.told(taken.workflow, told), as_json, " ".join(news))


@click.command()
@options.json_option
@options.project_option
def archive(as_json: bool, project_dir: str | None) -> None:
    """Move a finished run into .claude/archive/.

    The log of learnings is copied and also stays, because later runs add to it.

    \b
    Example:
      holdfast orchestrator archive
    """
    project = options.open_project(project_dir)
    folder = restoration.put_away(project).relative_to(project.root).as_posix()
    if as_json:
        options.print_json({"folder": folder})
    else:
        options.say(f"Moved the run to {folder}. `holdfast orchestrator start TASK_DOC` starts another.")


def _advice(root: Path, sha: str) -> list[str]:
    """Say how to bring the files back too (R003-29, I003-9), and whether git may have lost the commit."""
    if not sha:
        return []
    lost = (
        "That commit isn't in this clone's log: history was rewritten, or it is another clone. "
        f"`git log -1 {sha[:12]}` shows it if git still has it."
    )
    return [
        f"The project was at commit {sha} then. To bring its files back as well, run: git reset --hard {sha}",
        "That discards uncommitted changes. Commit or stash them first (`git stash -u`). Holdfast never runs it.",
        *([] if commit.is_known(root, sha) else [lost]),
    ]


def _row(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {values.text(each)}" for name, each in value.items())
    return values.text(value)

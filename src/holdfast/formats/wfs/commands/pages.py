"""Output of the wfs format's commands: sessions, tasks, steps and findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.commands import options
from holdfast.formats.wfs import flow
from holdfast.workflow import views

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from holdfast.formats.wfs.board import Board
    from holdfast.formats.wfs.brief import Brief
    from holdfast.formats.wfs.context import Given
    from holdfast.formats.wfs.finding import Finding
    from holdfast.formats.wfs.session import Session
    from holdfast.formats.wfs.steps import Standing


def session_row(session: Session, board: Board) -> dict[str, Any]:
    """Return a session's row for --json."""
    return {
        "session": session.name,
        "project": session.topic,
        "type": session.kind,
        "status": session.standing,
        "phase": session.phase,
        "tasks": len(board.leaves),
        "done": sum(each.status == "completed" for each in board.leaves),
        "current_tasks": [each.id for each in board.current],
        "path": str(session.folder),
    }


def broken_row(name: str, problem: str) -> dict[str, Any]:
    """Return the row for --json of a session that can't be read."""
    row = {"session": name, "project": "", "type": "", "status": "broken", "phase": "", "tasks": 0, "done": 0}
    return row | {"problem": problem}


def task_row(board: Board, each: Brief) -> dict[str, Any]:
    """Return a task's row for --json."""
    return {
        "id": each.id,
        "title": each.title,
        "status": "container" if board.is_container(each) else each.raw_status or each.status,
        "progress": board.status(each),
        "type": each.kind,
        "agent": each.agent,
        "parent": board.parent_id(each) or None,
        "depends_on": list(each.depends_on),
        "waits_for": [] if each.status == "completed" else board.waits_for(each),
    }


def line(board: Board, each: Brief) -> str:
    """Return a task as one line; a subtask is indented."""
    indent = "  " if board.parent(each) else ""
    sign = "[+]" if board.is_container(each) else views.MARKS.get(each.status, views.MARKS["pending"])
    waits = board.waits_for(each) if each.status == "pending" and not board.is_container(each) else []
    behind = f"  (waits for {', '.join(waits)})" if waits else ""
    return f"{indent}{sign} {each.id}  {each.title}  [{board.status(each)}]  {each.agent}{behind}".rstrip()


def page(board: Board, found: Brief, given: Given, steps: Sequence[Standing]) -> list[str]:
    """Return the lines that show a whole task, with what it inherits."""
    data, context = given.task, given.task["context"]
    inherited, shared = context["inherited"], context["shared_context"]
    lines = [line(board, found).strip()]
    lines += _listed("Requirements", context.get("requirements"))
    lines += _listed("Focus paths", context.get("focus_paths"))
    lines += _listed("Acceptance", context.get("acceptance"))
    lines += _listed("Artifacts", _paths(context.get("artifacts")))
    lines += _listed("Inherited", inherited["context"])
    lines += _listed("Acceptance of its parent", inherited.get("acceptance"))
    lines += _listed("Artifacts of its parent", _paths(inherited.get("artifacts")))
    lines += _approach({"flow_control": inherited}, " of its parent")
    for name, heading in (("required_reading", "Reading"), ("key_reminders", "Reminders")):
        lines += _listed(f"{heading} of its session", given.held.get(name))
    held = given.held.get("context")
    lines += _listed("Context of its session", [f"{name}: {each}" for name, each in held.items()] if held else [])
    lines += ["", "Shared:", *(f"- {name}: {value}" for name, value in shared.items())] if shared else []
    if steps:
        lines += ["", "Steps before it (Holdfast records them and runs none):"]
        for number, each in enumerate(steps, 1):
            lines += [step_line(number, each), *(f"   {command}" for command in each.step.commands)]
    lines += _approach(data)
    return [*lines, *_listed("Could not be filled in", list(given.unresolved))]


def _listed(heading: str, listed: Any) -> list[str]:
    return ["", f"{heading}:", *(f"- {each}" for each in listed)] if isinstance(listed, list) and listed else []


def _paths(artifacts: Any) -> list[str]:
    listed = artifacts if isinstance(artifacts, list) else []
    return [f"{each.get('path')} ({each.get('priority')})" for each in listed if isinstance(each, dict)]


def _approach(data: Mapping[str, Any], of: str = "") -> list[str]:
    approach, targets = flow.approach(data), flow.target_files(data)
    said = [approach.description] if approach.description else []
    said += [f"- {each}" for each in (*approach.points, *approach.flow)]
    lines = ["", f"How{of}:", *said] if said else []
    return [*lines, *_listed(f"Target files{of}", list(targets))]


def step_row(each: Standing) -> dict[str, Any]:
    """Return a step's row for --json, with its recorded result."""
    known = each.run._asdict() if each.run else None
    return each.step._asdict() | {"state": each.state, "run": known}


def step_line(number: int, each: Standing) -> str:
    """Return a step as one line, with its state."""
    variable = f" -> [{each.step.output_to}]" if each.step.output_to else ""
    error = f", on error {each.step.on_error}" if each.step.on_error != "fail" else ""
    return f"{number}. {each.step.name}: {each.step.action}{variable} ({each.state}{error})"


def print_findings(found: Iterable[Finding], none: str, *, as_json: bool) -> None:
    """Print findings, or `none` without any. Exits with 1 if one is more than a remark."""
    listed = list(found)
    if as_json:
        options.print_json([each._asdict() | {"text": each.text} for each in listed])
    else:
        options.say("\n".join(each.text for each in listed) or none)
    if any(each.fails for each in listed):
        raise SystemExit(1)

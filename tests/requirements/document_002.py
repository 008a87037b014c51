"""Sessions of document 002, with functions to make and read them, and the document's own task."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.commandline import Said, holdfast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.testing import HoldfastProject

CORE = ["id", "title", "status", "meta", "context", "flow_control"]
CONTEXT = ["requirements", "focus_paths", "acceptance", "parent", "depends_on", "inherited", "shared_context"]
STATE_KEYS = ["session_id", "project", "type", "current_phase", "status", "progress"]
_EXAMPLE = Path(__file__).parent / "data" / "document_002" / "task.json"


def example(**changes: Any) -> dict[str, Any]:
    """Return the document's task with one of each choice it offers, and changes to its top level."""
    data: dict[str, Any] = json.loads(_EXAMPLE.read_text(encoding="utf-8"))
    data["status"] = "pending"
    data["meta"] = {"type": "feature", "agent": "@code-developer"}
    return data | changes


def alone(id_: str, **changes: Any) -> dict[str, Any]:
    """Return the document's task under another id, with no parent and nothing before it."""
    task = changed(example(id=id_, **changes), "context.depends_on", [])
    return changed(task, "context.parent", "")


def changed(data: Mapping[str, Any], field: str, value: Any) -> dict[str, Any]:
    """Return a copy of a task with one field changed, named as in `context.focus_paths`; None takes it out."""
    made = copy.deepcopy(dict(data))
    *path, last = field.split(".")
    inner = made
    for name in path:
        inner = inner[name]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return made


class Workflows:
    """A project's `.workflow/` folder, and the commands that work on it."""

    def __init__(self, project: HoldfastProject) -> None:
        self.project = project
        self.root = project.root
        self.top = project.root / ".workflow"

    def run(self, *arguments: str, code: int = 0) -> Said:
        """Run `holdfast wfs …`."""
        return holdfast("wfs", *arguments, root=self.root, code=code)

    def json(self, *arguments: str, code: int = 0) -> Any:
        """Run `holdfast wfs … --json` and return what it prints."""
        return self.run(*arguments, "--json", code=code).json

    def start(self, topic: str = "User Auth System", *more: str) -> Path:
        """Start a session and return its folder."""
        return self.top / str(self.json("start", topic, *more)["session"])

    def add(self, title: str, *more: str) -> str:
        """Make a task and return its id."""
        return str(self.json("task", "add", title, *more)["tasks"][0]["id"])

    def put(self, folder: Path, *tasks: Mapping[str, Any]) -> None:
        """Write task files as a person or a model does, by hand."""
        for each in tasks:
            path = folder / ".task" / f"{each['id']}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(each, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    def task(self, folder: Path, id_: str) -> dict[str, Any]:
        """Return what a task's file holds."""
        return _load(folder / ".task" / f"{id_}.json")

    def state(self, folder: Path) -> dict[str, Any]:
        """Return what a session's state file holds."""
        return _load(folder / "workflow-session.json")

    def todo(self, folder: Path) -> str:
        """Return the session's list."""
        return (folder / "TODO_LIST.md").read_text(encoding="utf-8")

    def markers(self) -> list[str]:
        """Return the names of the marker files."""
        return sorted(path.name for path in self.top.glob(".active-*"))

    def tree(self) -> list[str]:
        """Return every path below `.workflow/`, relative to it."""
        return sorted(path.relative_to(self.top).as_posix() for path in self.top.rglob("*"))

    def violations(self, code: int = 1) -> list[dict[str, Any]]:
        """Return what `task validate` finds, without the remarks."""
        found: list[dict[str, Any]] = self.json("task", "validate", code=code)
        return [each for each in found if each["rule"]]


def _load(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data

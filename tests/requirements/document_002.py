"""Sessions of document 002, with functions to make and read them, and the document's own task."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.commandline import Said, holdfast
from tests.doctoring import examine, mend

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.checks import Finding
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

    def say(self, *arguments: str, code: int = 0) -> Said:
        """Run `holdfast …`: one of the commands for all formats."""
        return holdfast(*arguments, root=self.root, code=code)

    def start(self, topic: str = "User Auth System", *more: str) -> Path:
        """Start a session, whatever is active, and return its folder."""
        words = ("start", topic, "--format", "wfs", "--replace", *more, "--json")
        return self.top / str(self.say(*words).json["id"])

    def add(self, title: str, *more: str) -> str:
        """Make a task and return its id."""
        return str(self.json("task", "add", title, *more)["tasks"][0]["id"])

    def begin(self, id_: str, *more: str, code: int = 0) -> Said:
        """Begin a task."""
        return self.say("update", *more, "--phase", id_, "--status", "active", code=code)

    def block(self, id_: str, reason: str = "", *more: str, code: int = 0) -> Said:
        """Block a task."""
        error = ("--error", reason) if reason else ()
        return self.say("update", *more, "--phase", id_, "--status", "blocked", *error, code=code)

    def complete(self, id_: str, summary: str = "", *more: str, code: int = 0) -> Said:
        """Complete a task."""
        return self.run("task", "complete", id_, "--summary", summary, *more, code=code)

    def reopen(self, id_: str) -> Said:
        """Make a completed task active again."""
        return self.say("reopen", id_)

    def end(self, *names: str) -> Said:
        """Complete the active session, or the one that is named, as it is."""
        return self.say("done", "--all", *names)

    def claim(self, name: str, *more: str, code: int = 0) -> Said:
        """Make a session active."""
        return self.say("claim", name, *more, code=code)

    def ready(self) -> list[str]:
        """Return the ids of the tasks that can be begun now."""
        rows = [each for each in self.json("task", "show") if each["status"] != "container"]
        return [each["id"] for each in rows if each["progress"] == "pending" and not each["waits_for"]]

    def findings(self) -> list[Finding]:
        """Return what `holdfast doctor wfs` finds."""
        return [each for each in examine("wfs", self.root) if each.level != "ok"]

    def check(self) -> str:
        """Return what `holdfast doctor wfs` finds, as text with the remedies."""
        return "\n".join(f"{each.text}; {each.remedy}" for each in self.findings())

    def repair(self) -> list[str]:
        """Run `holdfast doctor wfs --fix` and return what it did."""
        return mend("wfs", self.root)

    def standing(self, name: str) -> str:
        """Return what Holdfast makes of a session: active, paused or completed."""
        rows = holdfast("status", "--json", root=self.root).json["workflows"]
        (row,) = [each for each in rows if each["id"] == name]
        return "paused" if row["paused"] else str(row["status"])

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

    def violations(self) -> list[Finding]:
        """Return what breaks one of the nine rules."""
        return [each for each in self.findings() if each.code.startswith("rule-")]


def rule(found: Finding) -> int:
    """Return the rule that a finding is about."""
    return int(found.code.removeprefix("rule-"))


def _load(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data

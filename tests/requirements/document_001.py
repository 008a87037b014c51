"""Document 001's own words as data, and a project in which a person, an agent and the client do what it describes."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.client_output import assert_acceptable
from tests.commandline import holdfast
from tests.handmade import ME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.testing import Fired, HoldfastProject
    from tests.commandline import Said

DATA = Path(__file__).parent / "data" / "document_001"
FOLDER = "untracked/workflow-state"
EXAMPLES = ("required-fields", "example-1-start", "example-1-update", "example-2", "example-3")
RESTORED = "ACTION REQUIRED"  # stands in every guidance and nowhere else

_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "enum": str,
    "integer": int,
    "array": list,
    "object": dict,
}
_UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z")  # R001-09


def words(name: str) -> str:
    """Return a piece of the document, word for word."""
    return (DATA / name).read_text(encoding="utf-8")


def example(name: str) -> dict[str, Any]:
    """Return one of the document's state files."""
    data: dict[str, Any] = json.loads(words(f"{name}.json"))
    return data


def rows(name: str) -> list[list[str]]:
    """Return the cells of one of the document's tables, without its heading."""
    lines = words(name).splitlines()[2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def code(text: str) -> list[str]:
    """Return what stands in backticks."""
    found: list[str] = re.findall(r"`([^`]+)`", text)
    return found


def types() -> dict[str, str]:
    """Return the document's workflow types with how many phases each has."""
    return {code(row[0])[0]: row[2] for row in rows("workflow-types.md")}


def statuses() -> list[str]:
    """Return the words the document knows for a phase's status."""
    (cell,) = (row[3] for row in rows("field-descriptions.md") if row[0] == "`phase.status`")
    return code(cell)


def violations(data: Mapping[str, Any]) -> list[str]:
    """Return what the document's field table, types table and timestamp rule have against a state file."""
    found: list[str] = []
    for name, kind, required, _ in rows("field-descriptions.md"):
        value: Any = data
        for part in code(name)[0].split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value is None:
            found += [f"{name} is missing"] if required == "✅" else []
        elif not isinstance(value, _TYPES[kind]) or isinstance(value, bool):
            found.append(f"{name} is no {kind}")
    if found:
        return found
    found += [] if data["workflow_type"] in types() else [f"{data['workflow_type']} is no type"]
    found += [] if data["phase"]["status"] in statuses() else [f"{data['phase']['status']} is no status"]
    found += [] if 1 <= data["phase"]["current"] <= data["phase"]["total"] else ["the phase is out of bounds"]
    found += [f"{entry} has no @" for entry in data["required_reading"] if not str(entry).startswith("@")]
    found += [] if _UTC.fullmatch(data["created_at"]) else [f"{data['created_at']} is no UTC time with Z"]
    return found


def acknowledgement(data: Mapping[str, Any]) -> str:
    """Return the line with which the document has an agent acknowledge that this workflow was restored."""
    line = words("acknowledgement.txt").strip()
    values = {"workflow": data["workflow"], "current": data["phase"]["current"], "total": data["phase"]["total"]}
    return re.sub(r"\{(\w+)\}", lambda field: str(values[field[1]]), line)


def state(name: str, **changes: Any) -> dict[str, Any]:
    """Return a small, valid state of a workflow in its second of three phases; `phase` is merged into its phase."""
    phase = {"current": 2, "total": 3, "name": f"{name} middle", "status": "in_progress"} | changes.pop("phase", {})
    return {
        "workflow": name,
        "workflow_type": "custom",
        "phase": phase,
        "required_reading": ["@docs/a.md"],
        "context": {},
        "key_reminders": [f"{name} reminder"],
        "created_at": "2025-12-09T14:30:52Z",
    } | changes


class Desk:
    """A project in which files are written by hand, commands are run and compactions happen."""

    def __init__(self, project: HoldfastProject) -> None:
        """Sit down in a project."""
        self.project = project
        self.root = project.root

    def put(self, place: str, content: str | bytes | Mapping[str, Any], *, age: float = 0.0) -> Path:
        """Write a file by hand, last changed `age` seconds ago; it is given an editor's line end, not Holdfast's."""
        path = self.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, (str, bytes)) else json.dumps(content, ensure_ascii=False)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        moment = time.time() - age
        os.utime(path, (moment, moment))
        return path

    def keep(self, data: Mapping[str, Any] | str | bytes, folder: str = "by-hand", *, age: float = 0.0) -> Path:
        """Write a state file by hand into a folder of one's own choice."""
        return self.put(f"{FOLDER}/{folder}/state-{folder}-20251209_143052.json", data, age=age)

    def run(self, *arguments: str, session: str = "", code: int = 0) -> Said:
        """Run a command in this project, as the model of a session or, without one, as a person."""
        return holdfast(*arguments, root=self.root, session=session, code=code)

    @property
    def files(self) -> list[Path]:
        """Every file and empty folder below the folder of state files, but for what keeps it out of git."""
        below = (path for path in (self.root / FOLDER).rglob("*") if path != self.root / FOLDER / ".gitignore")
        return sorted(path for path in below if not path.is_dir() or not any(path.iterdir()))

    @property
    def file(self) -> Path:
        """The only state file there is."""
        (path,) = self.files
        return path

    @property
    def state(self) -> dict[str, Any]:
        """What the only state file says."""
        return self.read(self.file)

    def read(self, path: Path) -> dict[str, Any]:
        """Return what a state file says."""
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return data

    def precompact(self, trigger: str = "auto", *, session: str = ME, **changes: Any) -> str:
        """Announce a compaction; return what the summariser is told. It must be allowed (R001-14)."""
        fired = self.project.fire("PreCompact", f"PreCompact-{trigger}", session_id=session, **changes)
        assert fired.exit_code == 0
        assert fired.faults == []
        assert assert_acceptable("PreCompact", fired.stdout) == {}, "JSON at PreCompact would block or be summarised"
        return fired.stdout

    def begin(self, source: str = "compact", *, session: str = ME, **changes: Any) -> Fired:
        """Let a session start; return what it is told. It must be allowed (R001-16)."""
        recorded = "SessionStart-startup-tui" if source == "startup" else f"SessionStart-{source}"
        fired = self.project.fire("SessionStart", recorded, session_id=session, **changes)
        assert fired.exit_code == 0
        assert fired.faults == []
        assert not {"continue", "decision"} & set(assert_acceptable("SessionStart", fired.stdout))
        return fired

    def written(self, place: str, content: str, *, session: str = ME, **changes: Any) -> None:
        """Have the model write a file; a tool's name and arguments may replace those of Write."""
        path = str(self.put(place, content))
        given = {"file_path": path, **changes.pop("tool_input", {"content": content})}
        fields = {"tool_name": "Write", "tool_response": {}, **changes, "tool_input": given}
        assert self.project.fire("PostToolUse", "PostToolUse-Write", session_id=session, **fields).faults == []

    def compaction(self, *, session: str = ME) -> str:
        """Let a whole compaction happen; return what stands in the model's context after it."""
        self.precompact(session=session)
        self.project.fire("SubagentStop", "SubagentStop-compaction", session_id=session)
        return self.begin(session=session).context

    def explain(self) -> dict[str, Any]:
        """Return what `holdfast status --why --json` says."""
        explanation: dict[str, Any] = self.run("status", "--why", "--json").json
        return explanation

    def show(self, name: str = "") -> dict[str, Any]:
        """Return what `holdfast status --json` says."""
        shown: dict[str, Any] = self.run("status", *([name] if name else []), "--json").json
        return shown if name else dict(shown["current"])


def by_command(desk: Desk, name: str) -> None:
    """Have the command line create a state file."""
    desk.run("start", name, "--phase", "One")


def by_memory_file(desk: Desk, name: str) -> None:
    """Have PreCompact create a state file from a memory file."""
    desk.put("CLAUDE.local.md", f"# Workflow State\n\nWorkflow: {name}\nPhase: 1/3 - One\n")
    desk.precompact()


WRITERS = (by_command, by_memory_file)


def untouched(path: Path) -> tuple[bytes, int, int]:
    """Return what must be the same for a file to count as not written: its content, time and inode."""
    return path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino


def assert_order(text: str, parts: Sequence[str]) -> None:
    """Assert that a text holds all parts, one after the other."""
    at = -1
    for part in parts:
        at = text.find(part, at + 1)
        assert at >= 0, f"{part!r} is not there, or not after the parts before it, in {text}"


def under(text: str, heading: str) -> list[str]:
    """Return the list entries that follow a heading of the guidance."""
    lines = iter(text.splitlines())
    assert any(line.startswith(heading) for line in lines), f"{heading!r} is not a heading of {text}"
    found: list[str] = []
    for line in lines:
        if not line.startswith("- "):
            break
        found.append(line[2:])
    return found

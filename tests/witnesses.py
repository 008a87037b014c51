"""A project with a workflow, and the witnesses that report where it is: guidance, commands, state file and view.

Everything happens through hook events, the command line and files, so that nothing here depends on how Holdfast is
built.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from holdfast.testkit import agent, recorded
from tests import processes
from tests.commandline import holdfast
from tests.processes import SESSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import pytest


@dataclass(frozen=True)
class Seen:
    """What one witness reports of a workflow. None stands for "doesn't say".

    Attributes:
        finished: whether it is over.
        active: the title of the unit in progress; empty if none is.
        completed: the titles of the completed units.
        due: the title of the unit to work on next: the active one, or the first to start.
        position: `2/5`.
    """

    finished: bool | None = None
    active: str | None = None
    completed: frozenset[str] | None = None
    due: str | None = None
    position: str | None = None


def at(active: str = "", *completed: str, due: str | None = None, position: str | None = None) -> Seen:
    """Return where an unfinished workflow is."""
    return Seen(False, active, frozenset(completed), active if due is None else due, position)


def over(*completed: str) -> Seen:
    """Return a finished workflow."""
    return Seen(True, "", frozenset(completed))


def disagreements(seen: Mapping[str, Seen]) -> list[str]:
    """Return a line for each fact on which the witnesses that mention it differ."""
    found = []
    for name in Seen.__dataclass_fields__:
        said = {who: getattr(each, name) for who, each in seen.items() if getattr(each, name) is not None}
        if len(set(said.values())) > 1:
            found.append(f"{name}: " + "; ".join(f"{who} {_shown(value)}" for who, value in said.items()))
    return found


def _shown(value: object) -> str:
    return str(sorted(value)) if isinstance(value, frozenset) else repr(value)


@dataclass
class Desk:
    """A project in which one workflow is kept, and what happens there.

    Attributes:
        root: the project's folder.
        title: the workflow's title.
        send: sends a payload to Holdfast and returns what it prints.
        launches: how many agents were launched.
        names: what a reader of the state file remembers.
    """

    root: Path
    title: str
    send: Callable[[dict[str, Any]], str]
    launches: int = 0
    names: dict[str, str] = field(default_factory=dict)

    def put(self, path: str, text: str | Mapping[str, Any]) -> None:
        """Write a file, below folders that are made for it."""
        written = text if isinstance(text, str) else json.dumps(text, indent=2, ensure_ascii=False) + "\n"
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(written, "utf-8")

    def text(self, path: str) -> str:
        """Return a file's text; empty if there is none."""
        file = self.root / path
        return file.read_text("utf-8") if file.exists() else ""

    def json(self, path: str) -> dict[str, Any]:
        """Return a file's JSON object; empty if there is no file."""
        found: dict[str, Any] = json.loads(self.text(path) or "{}")
        return found

    def fire(self, recording: str, **changes: Any) -> str:
        """Send a recorded event, and return what the model gets to read."""
        said = self.send(recorded.sent(recording, SESSION, self.root, **changes))
        if not said.startswith("{"):
            return said
        return str(json.loads(said).get("hookSpecificOutput", {}).get("additionalContext", ""))

    def run(self, *command: str) -> str:
        """Run a command as the model does, and return its output."""
        return holdfast(*command, root=self.root, session=SESSION).out

    def shell(self, script: str, folder: str = "", **variables: str) -> None:
        """Run a document's snippet in a shell, as a person does: no hook sees it."""
        environ = os.environ | variables
        done = subprocess.run(
            ["bash", "-euc", script], cwd=self.root / folder, env=environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    def agent(self, description: str, kind: str = "general-purpose", words: str = "Done.") -> None:
        """Let the model launch an agent and wait for its result: the four events that the client sends."""
        self.launches += 1
        asked = {"description": description, "prompt": description, "subagent_type": kind}
        run, use = f"a{self.launches:016x}", f"toolu_{self.launches}"
        call = agent.Agent(self.fire, self.fire, asked, run, use)
        call.about_to()
        call.started()
        call.stopped(words)
        call.returned(words)

    def edited(self, path: str) -> None:
        """Tell the hooks that the model's Edit changed a file."""
        self.fire("PostToolUse-Edit", tool_input={"file_path": str(self.root / path)})

    def guidance(self) -> str:
        """Let the client compact, and return the guidance that the model gets."""
        self.fire("PreCompact-auto")
        return self.fire("SessionStart-compact")


def desk(folder: Path, title: str, monkeypatch: pytest.MonkeyPatch, branch: str = "main") -> Desk:
    """Make an empty project whose events go through the registered entrypoint, as the client's do.

    The shipped handlers answer them. The home of the place becomes this process's home too, for the commands.
    """
    place = processes.make(folder)
    (place.home / ".config" / "holdfast" / "holdfast.toml").unlink()  # it switches the shipped handlers off
    for name, value in place.environ().items():
        if name.startswith(("HOME", "XDG_")):
            monkeypatch.setenv(name, value)
    subprocess.run(["git", "init", "-q", "-b", branch, str(place.root)], check=True)

    def send(payload: dict[str, Any]) -> str:
        ended = place.fire(payload, payload["hook_event_name"])
        assert (ended.exit_code, ended.stderr) == (0, ""), ended
        return ended.stdout

    return Desk(place.root, title, send)


def recent(text: str) -> str:
    """Return an example with its times moved so that the last one was a minute ago."""
    pattern = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
    last = datetime.fromisoformat(max(pattern.findall(text)) + "+00:00")
    shift = datetime.now(UTC) - last - timedelta(minutes=1)
    return pattern.sub(lambda found: (datetime.fromisoformat(found[0]) + shift).strftime("%Y-%m-%dT%H:%M:%S"), text)


def witnesses(desk: Desk, **files: Callable[[Desk], Seen] | None) -> dict[str, Seen]:
    """Return what guidance, `status`, `show`, the to-do list and then the files report.

    Args:
        desk: the project.
        files: readers of the state file, and of the Markdown view if the format has one.
    """
    found = {"guidance": guided(desk, desk.guidance()), "status": status(desk), "status --json": status_json(desk)}
    show = _show(desk)
    found |= {"show --json": _phases(show), "todos": _todos(show)}
    return found | {name: read(desk) for name, read in files.items() if read}


_POSITION = r"(?P<position>\d+/\d+)"
_HERE = rf"^[A-Z]\w+: {_POSITION}(?: completed)?(?: - (?P<title>.*?))? \((?P<status>\w+)\)$"
_AT = re.compile(_HERE, re.MULTILINE)
_NEXT = re.compile(r"^Next step: (?P<text>.*)$", re.MULTILINE)
_ITEM = re.compile(r"^- \[(?P<mark>[ x])\] \w+ (?P<title>.*?)(?: \(agent .*\))?$", re.MULTILINE)


def guided(desk: Desk, text: str) -> Seen:
    """Read the guidance; if it doesn't restore the workflow, that is over."""
    if f"Workflow: {desk.title}\n" not in text:
        return Seen(True)
    where, step = _AT.search(text), _NEXT.search(text)
    assert where and step, text
    title = plain(where["title"] or "")
    active = title if where["status"] == "in_progress" else ""
    quoted = re.search(r'"(.*?)"', step["text"])
    due = active or (plain(quoted[1]) if quoted else None)
    done = frozenset(plain(each["title"]) for each in _ITEM.finditer(text) if each["mark"] == "x")
    return Seen(False, active, done, due, where["position"])


def plain(title: str) -> str:
    """Return a unit's title without the number or id that is printed before it."""
    return re.sub(r"^(?:\d+/\d+|IMPL-[\d.]+|\d+\.\d+) ", "", title.strip())


def status(desk: Desk) -> Seen:
    """Read what `status` prints for people."""
    page = desk.run("status")
    head = rf"^{re.escape(desk.title)}\n(?P<status>\w+), (?:[\w ]* )?{_POSITION}"
    row = rf"^  {re.escape(desk.title)}: (?P<status>\w+), {_POSITION}(?: .*)? \(\w+"
    found = re.search(head, page, re.MULTILINE) or re.search(row, page, re.MULTILINE)
    return _listed(found.groupdict() if found else {})


def status_json(desk: Desk) -> Seen:
    """Read what `status --json` prints."""
    rows = json.loads(desk.run("status", "--json"))["workflows"]
    return _listed(next((each for each in rows if each["title"] == desk.title), {}))


def _listed(row: Mapping[str, Any]) -> Seen:
    """Return what a row says; a workflow that isn't listed is over, and so is one that is completed or gone."""
    if row.get("status") not in ("pending", "active", "blocked", "failed"):
        return Seen(True)
    return Seen(False, position=row["position"])


def shown(desk: Desk) -> Seen:
    """Read what `show --json` prints; a workflow that it doesn't know is over."""
    return _phases(_show(desk))


def _phases(show: Mapping[str, Any]) -> Seen:
    if not show:
        return Seen(True)
    active = ", ".join(each["title"] for each in show["phases"] if each["status"] == "active")
    here = show["phase"] if show["phase_status"] == "active" else ""
    assert here in ("", active), f"show --json: current is {here!r}, active are {active!r}"
    done = frozenset(each["title"] for each in show["phases"] if each["status"] == "completed")
    return Seen(_listed({**show, "position": None}).finished, active, done)


def _todos(show: Mapping[str, Any]) -> Seen:
    """Read the to-do list that the model is given."""
    items = {each["content"]: each["status"] for each in show.get("todos", [])}
    if not items:
        return Seen()
    active = [title for title, status in items.items() if status == "in_progress"]
    return Seen(None, ", ".join(active), frozenset(title for title, status in items.items() if status == "completed"))


def _show(desk: Desk) -> dict[str, Any]:
    """Return what `show --json` prints; nothing if there is no workflow, nor a completed one."""
    said = holdfast("status", "--json", root=desk.root, session=SESSION, code=None)
    return dict(said.json["current"] or {}) if said.code == 0 else {}

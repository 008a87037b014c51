"""Find out whether the real client, with Holdfast installed, starts a process for an event that isn't registered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.client import model as scripted
from tests.client.runner import Client
from tools.bench import place as places
from tools.bench import server

if TYPE_CHECKING:
    from pathlib import Path

_UNKNOWN = "TaskList"  # neither a shipped handler nor the trivial job wants it


def hooks_run(program: Path, top: Path) -> dict[str, int]:
    """Return how many hooks the client ran for an unregistered tool and for a registered one.

    Args:
        program: the client.
        top: an empty folder.
    """
    place = places.make(top)
    file = place.root / "a.txt"
    file.write_text("one\n")
    with scripted.serve(scripted.Model()) as model:
        client = Client(program, model.url, place.home, place.root)
        client.prepare()
        try:
            session = client.session()
            counts = {}
            for name, reply in (
                ("unregistered", scripted.call(_UNKNOWN)),
                ("registered", scripted.call("Read", file_path=str(file))),
            ):
                model.turns = [reply]
                ran = session.prompt("Go on.")
                events = [line.get("hook_event") for line in ran.lines if line.get("subtype") == "hook_started"]
                counts[name] = sum(str(event).endswith("ToolUse") for event in events)
        finally:
            client.close()
            server.stop(place)
    return counts

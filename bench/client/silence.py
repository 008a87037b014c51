"""Whether the real client starts a process for an event that nobody registered, with Holdfast installed as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench import place as places
from bench import server
from tests.client import model as scripted
from tests.client.runner import Client

if TYPE_CHECKING:
    from pathlib import Path

_UNKNOWN = "TaskList"  # no handler of ours, and not the trivial job, asks for it


def hooks_run(program: Path, top: Path) -> dict[str, int]:
    """Return how many hooks the client ran for a tool that nobody registered, and for one that somebody did.

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

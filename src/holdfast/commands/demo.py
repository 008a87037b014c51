"""`holdfast demo`: run the main job on recorded events and watch it happen."""

from __future__ import annotations

import click

from holdfast.commands.narration import tell
from holdfast.testkit import demo, stage


@click.command(name="demo")
def command() -> None:
    """Run the main job in a throw-away project and home: save, restore, move on when a subagent finishes.

    Every event is a recorded payload of the real client, sent through the registered command as a process of its
    own. Nothing outside the throw-away folders is read or written. Exit code 1 if anything did not happen.
    """
    with stage.opened() as throwaway:
        tell(throwaway, demo.story(throwaway), "Saved, restored and moved on; nothing was left behind.")

"""Refuse a forced push."""

from holdfast import Outcome, deny, hookimpl
from holdfast.events import PreToolUse


@hookimpl(match="shell", examples={"git push --force": "deny", "git push -f": "deny", "git push": None})
def on_pre_tool_use(event: PreToolUse) -> Outcome | None:
    """Say what to do instead."""
    for command in event.commands:
        if command.runs("git", "push", "--force") or command.runs("git", "push", "-f"):
            return deny("no forced push; use --force-with-lease")
    return None

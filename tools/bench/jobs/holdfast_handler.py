"""The trivial job as a handler of Holdfast: refuse what prints secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import deny, hookimpl

if TYPE_CHECKING:
    from holdfast.events import PreToolUse
    from holdfast.plugins.outcomes import Outcome


@hookimpl(match="Bash|Read")
def on_pre_tool_use(event: PreToolUse) -> Outcome | None:
    """Refuse commands that print secrets."""
    wanted = event.tool_input.get("command", "") + event.tool_input.get("file_path", "")
    if "printenv" in wanted:
        return deny("this would print secrets")
    return None

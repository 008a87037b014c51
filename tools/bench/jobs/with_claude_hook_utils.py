"""The trivial job with claude-hook-utils."""

from __future__ import annotations

from claude_hook_utils import HookHandler, PreToolUseInput, PreToolUseResponse


class Secrets(HookHandler):  # type: ignore[misc]
    """Refuses commands that print secrets."""

    def pre_tool_use(self, input: PreToolUseInput) -> PreToolUseResponse | None:
        """Refuse one of them."""
        if "printenv" in (input.command or ""):
            return PreToolUseResponse.deny("this would print secrets")
        return None


if __name__ == "__main__":
    Secrets().run()

"""All that is specific to Claude Code."""

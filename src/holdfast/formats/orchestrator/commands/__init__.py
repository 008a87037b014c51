"""The commands of the orchestrator format: `holdfast orchestrator …`."""

from holdfast.formats.orchestrator.commands.group import command

__all__ = ["command"]

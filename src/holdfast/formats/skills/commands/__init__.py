"""The commands of the skills format: `holdfast skills …`."""

from holdfast.formats.skills.commands.workflows import command

__all__ = ["command"]
